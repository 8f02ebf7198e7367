/* eval.c - `corgi eval`: cmd_eval.c calls it; table, protocol, methods, results */
#include "lab/eval/eval.h"

#include "base/str.h"
#include "lab/eval/colocated.h"
#include "lab/eval/curve.h"
#include "lab/eval/isolated.h"
#include "lab/eval/eval_online.h"
#include "lab/eval/eval_power.h"
#include "lab/tables/descriptors.h"
#include "lab/tables/gavel_table.h"
#include "world/generate.h"
#include "lab/tables/world_csv.h"
#include "lab/tables/invented_gpus.h"

#include <string.h>

#define SEEDS_DEFAULT      3
#define SYNTHETIC_JOBS     36
#define SYNTHETIC_JOBS_MIN 8 /* fewer are seldom drawn */

/* Worlds no network or parameter was trained on: those have streams of their own. */
static struct world *draw_world(const struct eval_options *o)
{
    struct generate_options how = {
        .gpu_count = o->types, .draw = invented_gpus, .missing = 0.04};
    int most = o->jobs > SYNTHETIC_JOBS_MIN ? o->jobs
               : o->jobs > 0                ? SYNTHETIC_JOBS_MIN
                                            : SYNTHETIC_JOBS;
    struct world *world = NULL;
    struct rng rng;

    rng_stream(&rng, o->seed, 9000);
    do { /* as large as tables people measure */
        world_destroy(world);
        world = world_generate(&how, &rng);
    } while (world->class_count < most / 3 || world->class_count > most);
    return world;
}

static int load(struct world **world, const struct eval_options *o, struct err *err)
{
    bool json = str_ends(o->throughputs, ".json");
    struct world *w = NULL;

    if (!strcmp(o->throughputs, "synthetic")) {
        *world = draw_world(o);
        return 0;
    }
    if (o->format && strcmp(o->format, "gavel") && strcmp(o->format, "csv"))
        return err_set(err, ERR_USAGE, "format is gavel or csv, not %s", o->format);
    if (o->format)
        json = !strcmp(o->format, "gavel");
    if (json ? gavel_load(&w, o->throughputs, o->seed, err) < 0
             : world_csv_load(&w, o->throughputs, o->sheets, o->seed, err) < 0)
        return -1;
    if (o->descriptors && descriptors_load(w, o->descriptors, err) < 0) {
        world_destroy(w);
        return -1;
    }
    *world = w;
    return 0;
}

static bool wanted(const struct eval_options *o, const char *method)
{
    if (str_starts(method, "baseline:"))
        return true;
    if (!o->arch) /* the slow ones only when asked for */
        return strcmp(method, "p2-gru") && strcmp(method, "p2-transformer");
    if (!strcmp(o->arch, "baseline"))
        return false;
    return !strcmp(o->arch, method) ||
           (str_starts(method, "p2-") && !strcmp(o->arch, method + 3));
}

static size_t choose_methods(const struct eval_options *o, struct method *chosen)
{
    size_t count = 0;

    for (const struct method *m = method_product; m->name; m++)
        if (wanted(o, m->name))
            chosen[count++] = *m;
    for (const struct method *m = method_baselines; m->name; m++)
        chosen[count++] = *m;
    chosen[count++] = method_trees;
    chosen[count] = (struct method){0};
    return count;
}

static int check(const struct eval_options *o, struct err *err)
{
    static const char *const archs[] = {"blend", "core",        "ff",
                                        "gru",   "transformer", "baseline"};

    if (!o->throughputs)
        return err_set(err, ERR_USAGE, "name a table with --throughputs");
    if (o->protocol && strcmp(o->protocol, "lofo") && strcmp(o->protocol, "lojo") &&
        strcmp(o->protocol, "online") && strcmp(o->protocol, "power"))
        return err_set(err, ERR_USAGE, "protocol is lofo, lojo, online or power, not %s",
                       o->protocol);
    for (size_t i = 0; o->arch && i < sizeof(archs) / sizeof(archs[0]); i++)
        if (!strcmp(o->arch, archs[i]))
            return 0;
    if (o->arch)
        return err_set(err, ERR_USAGE, "no architecture is called %s", o->arch);
    return 0;
}

static void run(const struct eval_options *o, const struct measured *table,
                struct results *results)
{
    enum fold_split split =
        o->protocol && !strcmp(o->protocol, "lojo") ? FOLD_JOB : FOLD_FAMILY;
    int seeds = o->seeds > 0 ? o->seeds : SEEDS_DEFAULT;
    bool product = !o->arch || strcmp(o->arch, "baseline");
    struct method methods[24];

    if (o->protocol && !strcmp(o->protocol, "online")) {
        online_run(table, product, o->seed, seeds, results);
        return;
    }
    isolated_run(table, split, product, true, o->seed, results);
    choose_methods(o, methods);
    colocated_run(table, split, methods, o->seed, seeds, results);
}

static int run_table(const struct eval_options *o, struct results *results,
                     struct err *err)
{
    struct world *world = NULL;
    struct measured *table;

    if (load(&world, o, err) < 0)
        return -1;
    table = measured_create(world);
    run(o, table, results);
    measured_destroy(table);
    world_destroy(world);
    return 0;
}

int eval_main(const struct eval_options *o, FILE *out, struct err *err)
{
    struct results *results;
    int rc;

    if (check(o, err) < 0)
        return -1;
    results = results_create(o->protocol ? o->protocol : "lofo");
    if (o->protocol && !strcmp(o->protocol, "power"))
        rc = power_run(o->throughputs, results, err);
    else
        rc = run_table(o, results, err);
    if (rc == 0 && o->json)
        results_json(results, out);
    else if (rc == 0)
        results_print(results, out);
    if (rc == 0 && o->curve)
        rc = curve_write(results, o->curve, err);
    results_destroy(results);
    return rc;
}
