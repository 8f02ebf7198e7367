/* eval_power.c - the protocol of watts on a GPU a job never ran on: eval.c runs it */
#include "lab/eval/protocols.h"

#include "base/err.h"
#include "base/normal.h"
#include "lab/tables/power_sweeps.h"
#include "model/watts.h"

#include <math.h>
#include <string.h>

/* Holds out one workload of the sweeps at a time, shows the draw of each of its
 * configurations on one GPU and scores the others. */

/* Mean over the catalogue of ln watts(to) - ln watts(from). */
static double mean_ratio(const struct power_sweeps *z, int workload, int from, int to)
{
    double sum = 0, n = 0;

    vec_each (const struct power_sweep, c, &z->rows)
        if (c->workload != workload && !isnan(c->watts[from]) && !isnan(c->watts[to])) {
            sum += log(c->watts[to] / c->watts[from]);
            n++;
        }
    return n > 0 ? sum / n : 0;
}

static double gpu_mean(const struct power_sweeps *z, int workload, int gpu)
{
    double sum = 0, n = 0;

    vec_each (const struct power_sweep, c, &z->rows)
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

static void score_config(const struct power_sweeps *z, struct watts *watts, size_t at,
                         struct results *results)
{
    const struct power_sweep *c = &z->rows.items[at];

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

static void run_fold(const struct power_sweeps *z, int workload, struct results *results)
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
    struct power_sweeps z;

    if (power_sweeps_load(&z, folder, err) < 0)
        return -1;
    for (int w = 0; w < intern_count(z.workloads); w++)
        run_fold(&z, w, results);
    power_sweeps_fini(&z);
    return 0;
}
