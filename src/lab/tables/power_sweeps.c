/* power_sweeps.c - see power_sweeps.h; eval_power.c scores estimates of watts on these
 * tables, scenario.c lets measured jobs draw what they say */
#include "lab/tables/power_sweeps.h"

#include "base/hash.h"
#include "base/rng.h"
#include "lab/tables/csv.h"
#include "lab/tables/utilisation.h"
#include "world/power.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WATTS_MOST 5000
#define BATCH_MOST 100000000

static struct power_sweep *sweep_of(struct power_sweeps *s, const struct csv *csv,
                                    const int *column, int batch)
{
    char workload[256], name[512];
    int id;

    snprintf(workload, sizeof(workload), "%s/%s", csv_field(csv, column[0]),
             csv_field(csv, column[1]));
    snprintf(name, sizeof(name), "%s/%d/%s", workload, batch, csv_field(csv, column[3]));
    id = intern_id(s->configs, name);
    if (id == (int)s->rows.count) {
        struct power_sweep fresh = {.workload = intern_id(s->workloads, workload),
                                    .batch = batch};

        for (int g = 0; g < POWER_SWEEPS_GPUS; g++)
            fresh.watts[g] = NAN;
        vec_push(&s->rows, fresh);
    }
    return &s->rows.items[id];
}

static int load_file(struct power_sweeps *s, const char *path, int gpu, struct err *err)
{
    static const char *const names[] = {"dataset",   "network",     "batch_size",
                                        "optimizer", "power_limit", "average_power"};
    struct csv *csv = NULL;
    int column[6], batch, more = -1;

    if (csv_load(&csv, path, err) < 0)
        return -1;
    for (int i = 0; i < 6; i++)
        if (csv_need(csv, names[i], &column[i], err) < 0)
            goto done;
    while ((more = csv_next(csv, err)) > 0) {
        struct power_sweep *row;
        double limit, watts;

        if (csv_int(csv, column[2], 1, BATCH_MOST, &batch, err) < 0 ||
            csv_double(csv, column[4], 1, WATTS_MOST, &limit, err) < 0 ||
            csv_double(csv, column[5], 1, WATTS_MOST, &watts, err) < 0) {
            more = -1;
            break;
        }
        row = sweep_of(s, csv, column, batch);
        if (isnan(row->watts[gpu]) || limit > row->limit[gpu]) {
            row->watts[gpu] = watts;
            row->limit[gpu] = limit;
        }
    }
done:
    csv_destroy(csv);
    return more;
}

int power_sweeps_load(struct power_sweeps *sweeps, const char *folder, struct err *err)
{
    struct power_sweeps s = {0};
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, alphasort), rc = 0;

    if (count < 0)
        return err_sys(err, "cannot read the folder %s", folder);
    s.workloads = intern_create();
    s.configs = intern_create();
    for (int i = 0; i < count; i++) {
        char gpu[64], path[1024];

        if (rc == 0 && s.gpus < POWER_SWEEPS_GPUS &&
            sscanf(entries[i]->d_name, "summary_power_%63[^.].csv", gpu) == 1) {
            s.sheets[s.gpus] = gpu_find(gpu);
            snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
            if (!s.sheets[s.gpus])
                rc = err_set(err, ERR_NOT_FOUND, "%s: no data sheet of a %s", path, gpu);
            else
                rc = load_file(&s, path, s.gpus++, err);
        }
        free(entries[i]);
    }
    free(entries);
    if (rc == 0 && s.gpus < 2)
        rc = err_set(err, ERR_NOT_FOUND, "%s holds no summary_power_<gpu>.csv tables",
                     folder);
    if (rc < 0)
        power_sweeps_fini(&s);
    else
        *sweeps = s;
    return rc;
}

void power_sweeps_fini(struct power_sweeps *s)
{
    intern_destroy(s->workloads);
    intern_destroy(s->configs);
    vec_free(&s->rows);
    *s = (struct power_sweeps){0};
}

/* ---- what the classes of a world draw ---------------------------------------------- */

/* The families of Gavel's tables and what was swept that computes most like them: only
 * ResNet-50 is the same model on the same data. */
static const struct {
    const char *family, *workload;
} likes[] = {{"ResNet-18", "cifar100/shufflenetv2"},
             {"ResNet-50", "imagenet/resnet50"},
             {"Transformer", "sentiment140/bert_base_uncased"},
             {"LM", "librispeech/deepspeech2"},
             {"Recommendation", "movielens-1m/ncf"},
             {"A3C", "movielens-1m/ncf"},
             {"CycleGAN", "imagenet/resnet50"}};

static int workload_like(const struct power_sweeps *s, const char *family, uint64_t seed)
{
    struct rng rng;

    for (size_t i = 0; i < sizeof(likes) / sizeof(likes[0]); i++)
        if (!strcmp(likes[i].family, family))
            return intern_find(s->workloads, likes[i].workload);
    rng_stream(&rng, seed, hash_text(family));
    return (int)rng_below(&rng, (uint64_t)intern_count(s->workloads));
}

/* The swept card of the nearest year: truth_power.c takes limits from it as well. */
static int card_like(const struct power_sweeps *s, const struct gpu_sheet *gpu)
{
    int best = 0;

    for (int g = 0; g < s->gpus; g++) {
        if (!strcmp(s->sheets[g]->name, gpu->name))
            return g;
        if (abs(s->sheets[g]->year - gpu->year) < abs(s->sheets[best]->year - gpu->year))
            best = g;
    }
    return best;
}

static int by_batch(const void *a, const void *b)
{
    const struct power_sweep *const *x = a, *const *y = b;

    return (*x)->batch - (*y)->batch;
}

/* Of a workload's configurations on a card the one with the nearest batch, the middle one
 * when the batch is not known; NULL: there is none. */
static const struct power_sweep *nearest_batch(const struct power_sweeps *s, int workload,
                                               int card, int batch)
{
    vec_of(const struct power_sweep *) found = {0};
    const struct power_sweep *best = NULL;

    vec_each (const struct power_sweep, row, &s->rows)
        if (row->workload == workload && !isnan(row->watts[card]))
            vec_push(&found, row);
    if (found.count > 1)
        qsort(found.items, found.count, sizeof(found.items[0]), by_batch);
    if (found.count > 0)
        best = found.items[batch > 0 ? 0 : found.count / 2];
    for (size_t i = 1; batch > 0 && i < found.count; i++)
        if (fabs(log((double)found.items[i]->batch / batch)) <
            fabs(log((double)best->batch / batch)))
            best = found.items[i];
    vec_free(&found);
    return best;
}

/* How busy a card is that draws the share of its range that the swept one did. */
static double busy_like(const struct gpu_sheet *gpu, const struct gpu_sheet *swept,
                        double watts)
{
    double share =
        (watts - swept->idle_watts) / fmax(swept->tdp_watts - swept->idle_watts, 1e-9);

    share = fmin(1, fmax(0.01, share));
    return power_busy(gpu, gpu->idle_watts + share * (gpu->tdp_watts - gpu->idle_watts));
}

static int apply_class(const struct power_sweeps *s, struct world *w, int c, int workload,
                       struct err *err)
{
    const struct job_descriptor *d = &w->classes[c].descriptor;

    for (int g = 0; g < w->gpu_count; g++) {
        int card = card_like(s, &w->gpus[g]);
        const struct power_sweep *row = nearest_batch(s, workload, card, d->batch);

        if (!row)
            return err_set(err, ERR_NOT_FOUND,
                           "the power sweeps have nothing like '%s' on a %s", d->family,
                           s->sheets[card]->name);
        *world_busy(w, g, c) =
            (float)(utilisation_scaling(w, g, c) *
                    busy_like(&w->gpus[g], s->sheets[card], row->watts[card]));
    }
    return 0;
}

int power_sweeps_apply(struct world *w, const char *folder, uint64_t seed,
                       struct err *err)
{
    struct power_sweeps s;
    int rc = power_sweeps_load(&s, folder, err);

    if (rc < 0)
        return -1;
    for (int c = 0; rc == 0 && c < w->class_count; c++)
        rc = apply_class(&s, w, c,
                         workload_like(&s, w->classes[c].descriptor.family, seed), err);
    power_sweeps_fini(&s);
    return rc;
}
