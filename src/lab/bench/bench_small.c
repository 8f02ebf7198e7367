/* bench_small.c - `corgi bench optimize --small`: our plans beside exact ones on many
 * small instances */
#include "lab/bench/bench_small.h"

#include "base/json_out.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

static const int type_counts[] = {3, 3, 4, 6};

static struct bench_optimize_options options_of(const struct bench_optimize_options *o,
                                                int x)
{
    struct bench_optimize_options one = *o;

    one.seed = o->seed + (uint64_t)x;
    one.devices_per_job = 0.6 + 0.1 * (x % 5);
    one.caps = x % 3 == 2;
    one.types = o->types > 0 ? o->types : type_counts[x / 10 % 4];
    one.multi = one.host_watts = 0; /* the exact form knows neither */
    return one;
}

static int run_one(const struct world *world, struct solver *solver,
                   const struct bench_optimize_options *options, int x,
                   struct bench_small_one *one, struct err *err)
{
    struct bench_optimize_options o = options_of(options, x);
    int jobs = 10 + 10 * (x % 10);
    struct instance_options io = bench_instance(&o, jobs);
    struct problem *p = instance_create(world, &io);
    struct bench_run ours, exact;
    int rc = bench_run_corgi(solver, p, &o, &ours, err);

    if (rc == 0)
        rc = bench_run_reference("exact", p, &o, &exact, err);
    if (rc == 0)
        *one = (struct bench_small_one){.jobs = jobs,
                                        .types = o.types,
                                        .devices_per_job = o.devices_per_job,
                                        .caps = o.caps,
                                        .seed = o.seed,
                                        .cpu_s = ours.cpu_s,
                                        .exact_cpu_s = exact.cpu_s,
                                        .cost = ours.objective,
                                        .exact = exact.objective,
                                        .bound = exact.bound,
                                        .gap = ours.gap,
                                        .proven = exact.proven,
                                        .unserved = ours.unserved,
                                        .exact_unserved = exact.unserved};
    problem_destroy(p);
    return rc;
}

double bench_small_over(const struct bench_small_one *one)
{
    return fmax(one->cost / (one->proven ? one->exact : one->bound) - 1, 0);
}

static void tally(struct bench_small *small, const struct bench_small_one *one)
{
    double over = bench_small_over(one);
    bool near = over <= BENCH_SMALL_NEAR;

    small->count++;
    small->unserved_more +=
        one->exact_unserved >= 0 && one->unserved > one->exact_unserved;
    small->max_cpu_s = fmax(small->max_cpu_s, one->cpu_s);
    small->mean_cpu_s += one->cpu_s;
    if (one->proven) {
        small->proven++;
        small->within += near;
        small->worst = fmax(small->worst, over);
        small->mean += over;
        return;
    }
    small->open_within += near;
    small->open_worst = fmax(small->open_worst, over);
    small->open_better += one->cost > one->exact * (1 + BENCH_SMALL_NEAR);
}

int bench_small_run(const struct world *world, struct solver *solver,
                    const struct bench_optimize_options *options, int count,
                    struct bench_small *small, struct err *err)
{
    *small = (struct bench_small){0};
    small->all = mem_array(struct bench_small_one, (size_t)count);
    for (int x = 0; x < count; x++) {
        if (run_one(world, solver, options, x, &small->all[x], err) < 0) {
            bench_small_fini(small);
            return -1;
        }
        tally(small, &small->all[x]);
    }
    small->mean /= fmax(small->proven, 1);
    small->mean_cpu_s /= count;
    return 0;
}

void bench_small_fini(struct bench_small *small)
{
    free(small->all);
    *small = (struct bench_small){0};
}

static void json_one(struct json_out *j, const struct bench_small_one *one)
{
    json_out_begin_object(j);
    json_out_key_int(j, "jobs", one->jobs);
    json_out_key_int(j, "types", one->types);
    json_out_key_number(j, "devices_per_job", one->devices_per_job);
    json_out_key_bool(j, "caps", one->caps);
    json_out_key_int(j, "seed", (int64_t)one->seed);
    json_out_key_number(j, "cpu_s", one->cpu_s);
    json_out_key_number(j, "exact_cpu_s", one->exact_cpu_s);
    json_out_key_number(j, "objective", one->cost);
    json_out_key_number(j, "exact", one->exact);
    json_out_key_number(j, "exact_bound", one->bound);
    json_out_key_number(j, "over", bench_small_over(one));
    json_out_key_number(j, "gap", one->gap);
    json_out_key_bool(j, "proven", one->proven);
    json_out_end(j);
}

void bench_small_json(const struct bench_small *small, FILE *out)
{
    struct str text = {0};
    struct json_out j;

    json_out_init(&j, &text, true);
    json_out_begin_object(&j);
    json_out_key_int(&j, "instances", small->count);
    json_out_key_int(&j, "exact_proven", small->proven);
    json_out_key_int(&j, "within", small->within);
    json_out_key_int(&j, "open_within_bound", small->open_within);
    json_out_key_number(&j, "open_worst_over_bound", small->open_worst);
    json_out_key_int(&j, "open_exact_better", small->open_better);
    json_out_key_number(&j, "within_of_optimum", BENCH_SMALL_NEAR);
    json_out_key_number(&j, "worst_over", small->worst);
    json_out_key_number(&j, "mean_over", small->mean);
    json_out_key_int(&j, "unserved_more", small->unserved_more);
    json_out_key_number(&j, "max_cpu_ms", 1e3 * small->max_cpu_s);
    json_out_key_number(&j, "mean_cpu_ms", 1e3 * small->mean_cpu_s);
    json_out_key(&j, "all");
    json_out_begin_array(&j);
    for (int x = 0; x < small->count; x++)
        json_one(&j, &small->all[x]);
    json_out_end(&j);
    json_out_end(&j);
    fputs(str_text(&text), out);
    str_fini(&text);
}

void bench_small_print(const struct bench_small *small, FILE *out)
{
    fprintf(out, "%5s %5s %7s %5s %6s %10s %10s %9s\n", "jobs", "types", "devices",
            "caps", "seed", "cpu ms", "exact ms", "over");
    for (int x = 0; x < small->count; x++) {
        const struct bench_small_one *one = &small->all[x];

        if (bench_small_over(one) > BENCH_SMALL_NEAR || !one->proven)
            fprintf(out, "%5d %5d %7.1f %5s %6llu %10.2f %10.2f %8.3f%%%s\n", one->jobs,
                    one->types, one->devices_per_job, one->caps ? "yes" : "no",
                    (unsigned long long)one->seed, 1e3 * one->cpu_s,
                    1e3 * one->exact_cpu_s, 100 * bench_small_over(one),
                    one->proven ? "" : " (of a lower bound)");
    }
    fprintf(
        out,
        "%d of %d proven optima: within %.1f %%, worst %.3f %%, mean %.4f %%; %d leave "
        "out more jobs; at most %.1f ms, %.1f on average\n",
        small->within, small->proven, 100 * BENCH_SMALL_NEAR, 100 * small->worst,
        100 * small->mean, small->unserved_more, 1e3 * small->max_cpu_s,
        1e3 * small->mean_cpu_s);
    if (small->proven < small->count)
        fprintf(out,
                "%d not proven in the time: %d within %.1f %% of the lower bound, worst "
                "%.3f %%; in %d of them the exact solver had a plan that much cheaper\n",
                small->count - small->proven, small->open_within, 100 * BENCH_SMALL_NEAR,
                100 * small->open_worst, small->open_better);
}
