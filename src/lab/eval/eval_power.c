/* eval_power.c - the protocol of watts on a GPU a job never ran on: eval.c runs it */
#include "lab/eval/protocols.h"

#include "base/err.h"
#include "base/intern.h"
#include "base/normal.h"
#include "base/vec.h"
#include "lab/tables/csv.h"
#include "model/watts.h"
#include "world/gpu_sheet.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Reads the Zeus tables of a folder (summary_power_<gpu>.csv), holds out one workload at
 * a time, shows the draw of each of its configurations on one GPU and scores the others.
 * Only runs at the highest power limit of each GPU count. */

#define GPUS_MAX 8

struct config {
    int workload;
    double watts[GPUS_MAX]; /* NaN: not measured */
    double limit[GPUS_MAX]; /* of that measurement */
};

struct zeus {
    struct intern *workloads, *configs;
    vec_of(struct config) rows;
    const struct gpu_sheet *sheets[GPUS_MAX];
    int gpus;
};

static struct config *config_of(struct zeus *z, const struct csv *csv, const int *column)
{
    char workload[256], name[512];
    int id;

    snprintf(workload, sizeof(workload), "%s/%s", csv_field(csv, column[0]),
             csv_field(csv, column[1]));
    snprintf(name, sizeof(name), "%s/%s/%s", workload, csv_field(csv, column[2]),
             csv_field(csv, column[3]));
    id = intern_id(z->configs, name);
    if (id == (int)z->rows.count) {
        struct config fresh = {.workload = intern_id(z->workloads, workload)};

        for (int g = 0; g < GPUS_MAX; g++)
            fresh.watts[g] = NAN;
        vec_push(&z->rows, fresh);
    }
    return &z->rows.items[id];
}

static int load_file(struct zeus *z, const char *path, int gpu, struct err *err)
{
    static const char *const names[] = {"dataset",   "network",     "batch_size",
                                        "optimizer", "power_limit", "average_power"};
    struct csv *csv = NULL;
    int column[6], more = -1;

    if (csv_load(&csv, path, err) < 0)
        return -1;
    for (int i = 0; i < 6; i++)
        if (csv_need(csv, names[i], &column[i], err) < 0)
            goto done;
    while ((more = csv_next(csv, err)) > 0) {
        struct config *c = config_of(z, csv, column);
        double limit, watts;

        if (csv_double(csv, column[4], 1, 5000, &limit, err) < 0 ||
            csv_double(csv, column[5], 1, 5000, &watts, err) < 0) {
            more = -1;
            break;
        }
        if (isnan(c->watts[gpu]) || limit > c->limit[gpu]) {
            c->watts[gpu] = watts;
            c->limit[gpu] = limit;
        }
    }
done:
    csv_destroy(csv);
    return more;
}

static int load_power(struct zeus *z, const char *folder, struct err *err)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, alphasort), rc = 0;

    if (count < 0)
        return err_sys(err, "cannot read the folder %s", folder);
    for (int i = 0; i < count; i++) {
        char gpu[64], path[1024];

        if (rc == 0 && z->gpus < GPUS_MAX &&
            sscanf(entries[i]->d_name, "summary_power_%63[^.].csv", gpu) == 1) {
            z->sheets[z->gpus] = gpu_find(gpu);
            snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
            if (!z->sheets[z->gpus])
                rc = err_set(err, ERR_NOT_FOUND, "%s: no data sheet of a %s", path, gpu);
            else
                rc = load_file(z, path, z->gpus++, err);
        }
        free(entries[i]);
    }
    free(entries);
    if (rc == 0 && z->gpus < 2)
        rc = err_set(err, ERR_NOT_FOUND, "%s holds no summary_power_<gpu>.csv tables",
                     folder);
    return rc;
}

/* Mean over the catalogue of ln watts(to) - ln watts(from). */
static double mean_ratio(const struct zeus *z, int workload, int from, int to)
{
    double sum = 0, n = 0;

    vec_each (const struct config, c, &z->rows)
        if (c->workload != workload && !isnan(c->watts[from]) && !isnan(c->watts[to])) {
            sum += log(c->watts[to] / c->watts[from]);
            n++;
        }
    return n > 0 ? sum / n : 0;
}

static double gpu_mean(const struct zeus *z, int workload, int gpu)
{
    double sum = 0, n = 0;

    vec_each (const struct config, c, &z->rows)
        if (c->workload != workload && !isnan(c->watts[gpu])) {
            sum += log(c->watts[gpu]);
            n++;
        }
    return n > 0 ? sum / n : log(z->sheets[gpu]->tdp_watts);
}

static void add(struct results *results, const char *method, double guess, double sd,
                double truth)
{
    int shown = !strcmp(method, "blend") || !strcmp(method, "baseline:mean-ratio");

    score_add(
        results_score(results, "watts", NULL, method, shown), 0,
        (struct guess){guess, guess - sd * NORMAL_90_SHORT, guess + sd * NORMAL_90_SHORT},
        log(truth));
}

static void score_config(const struct zeus *z, struct watts *watts, size_t at,
                         struct results *results)
{
    const struct config *c = &z->rows.items[at];

    for (int from = 0; from < z->gpus; from++)
        for (int to = 0; to < z->gpus; to++) {
            struct watts_guess g;
            int job;

            if (from == to || isnan(c->watts[from]) || isnan(c->watts[to]))
                continue;
            job = watts_add_job(watts);
            watts_observe(watts, job, from, c->watts[from]);
            g = watts_predict(watts, job, to);
            add(results, "blend", log(g.watts), g.sd_log, c->watts[to]);
            add(results, "baseline:mean-ratio",
                log(c->watts[from]) + mean_ratio(z, c->workload, from, to), NAN,
                c->watts[to]);
            add(results, "baseline:gpu-mean", gpu_mean(z, c->workload, to), NAN,
                c->watts[to]);
            add(results, "baseline:tdp", log(z->sheets[to]->tdp_watts), NAN,
                c->watts[to]);
        }
}

static void run_fold(const struct zeus *z, int workload, struct results *results)
{
    struct watts *watts = watts_create();

    for (int g = 0; g < z->gpus; g++)
        watts_add_gpu(watts, z->sheets[g]);
    for (size_t i = 0; i < z->rows.count; i++) {
        int job;

        if (z->rows.items[i].workload == workload)
            continue;
        job = watts_add_job(watts);
        for (int g = 0; g < z->gpus; g++)
            if (!isnan(z->rows.items[i].watts[g]))
                watts_observe(watts, job, g, z->rows.items[i].watts[g]);
    }
    for (size_t i = 0; i < z->rows.count; i++)
        if (z->rows.items[i].workload == workload)
            score_config(z, watts, i, results);
    watts_destroy(watts);
}

int power_run(const char *folder, struct results *results, struct err *err)
{
    struct zeus z = {.workloads = intern_create(), .configs = intern_create()};
    int rc = load_power(&z, folder, err);

    for (int w = 0; rc == 0 && w < intern_count(z.workloads); w++)
        run_fold(&z, w, results);
    intern_destroy(z.workloads);
    intern_destroy(z.configs);
    vec_free(&z.rows);
    return rc;
}
