/* bench_optimize.c - `corgi bench optimize`: cmd_bench.c calls it; sizes and solvers
 * in turn, then the table or the JSON */
#include "lab/bench/bench_optimize.h"

#include "base/json_out.h"
#include "base/rng.h"
#include "base/vec.h"
#include "lab/bench/bench_run.h"
#include "lab/bench/bench_small.h"
#include "lab/bench/reference.h"
#include "lab/tables/gavel_table.h"
#include "world/generate.h"
#include "lab/tables/invented_gpus.h"

#include <math.h>
#include <string.h>

/* Sizes beyond which `all` leaves a reference out: it would only fill memory. */
static int largest_for(const char *name)
{
    static const struct {
        const char *name;
        int jobs;
    } most[] = {{"brute", 7}, {"exact", 150},   {"paper", 60},
                {"cbc", 400}, {"colgen", 2000}, {"gavel", 520}};

    for (size_t i = 0; i < sizeof(most) / sizeof(most[0]); i++)
        if (strcmp(most[i].name, name) == 0)
            return most[i].jobs;
    return 0;
}

struct optimize_bench {
    const struct bench_optimize_options *o;
    struct world *world;
    struct solver *solver;
    vec_of(struct bench_run) runs;
    vec_of(struct bench_churn) churns;
};

static int load_world(struct optimize_bench *b, struct err *err)
{
    const struct bench_optimize_options *o = b->o;
    struct generate_options g = {.gpu_count = o->types > 0 ? o->types : 3,
                                 .draw = invented_gpus,
                                 .scales = o->multi > 0};
    struct rng rng;

    if (o->throughputs)
        return gavel_load(&b->world, o->throughputs, o->seed, err);
    rng_init(&rng, o->seed);
    b->world = world_generate(&g, &rng);
    return 0;
}

static int run_reference(struct optimize_bench *b, const char *name,
                         const struct problem *p, double corgi_s, struct err *err)
{
    struct bench_run run;

    if (bench_run_reference(name, p, b->o, &run, err) < 0)
        return -1;
    run.times_corgi = run.cpu_s / corgi_s;
    vec_push(&b->runs, run);
    return 0;
}

static bool asked(const struct bench_optimize_options *o, const char *name)
{
    for (int s = 0; s < o->solver_count; s++)
        if (strcmp(o->solvers[s], name) == 0)
            return true;
    return false;
}

static int run_size(struct optimize_bench *b, int jobs, struct err *err)
{
    struct instance_options io = bench_instance(b->o, jobs);
    struct problem *p = instance_create(b->world, &io);
    struct bench_run run;
    int names, rc = bench_run_corgi(b->solver, p, b->o, &run, err);
    const char *const *name = reference_names(&names);
    bool all = asked(b->o, "all");

    if (rc == 0)
        vec_push(&b->runs, run);
    for (int n = 0; n < names && rc == 0; n++)
        if (asked(b->o, name[n]) || (all && jobs <= largest_for(name[n])))
            rc = run_reference(b, name[n], p, run.cpu_s, err);
    problem_destroy(p);
    return rc;
}

/* Exponent of time over jobs, a line through the logarithms; NaN with fewer than two. */
static double growth(const struct optimize_bench *b, int *from, int *to)
{
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;

    *from = *to = 0;
    for (size_t r = 0; r < b->runs.count; r++) {
        const struct bench_run *run = &b->runs.items[r];
        double lx = log(run->jobs), ly = log(run->cpu_s);

        if (strcmp(run->solver, "corgi") != 0 || run->jobs < 1000)
            continue;
        *from = *from == 0 || run->jobs < *from ? run->jobs : *from;
        *to = run->jobs > *to ? run->jobs : *to;
        n += 1;
        x += lx;
        y += ly;
        xx += lx * lx;
        xy += lx * ly;
    }
    return *to > *from ? (n * xy - x * y) / (n * xx - x * x) : NAN;
}

static void json_run(struct json_out *j, const struct bench_run *r)
{
    json_out_begin_object(j);
    json_out_key_string(j, "solver", r->solver);
    json_out_key_int(j, "jobs", r->jobs);
    json_out_key_int(j, "types", r->types);
    json_out_key_int(j, "devices", r->devices);
    json_out_key_number(j, "cpu_s", r->cpu_s);
    json_out_key_number(j, "wall_s", r->wall_s);
    json_out_key_number(j, "objective", r->objective);
    json_out_key_number(j, "bound", r->bound);
    json_out_key_number(j, "gap", r->gap);
    json_out_key(j, "unserved");
    if (r->unserved < 0)
        json_out_null(j);
    else
        json_out_int(j, r->unserved);
    json_out_key_bool(j, "proven", r->proven);
    if (!isnan(r->times_corgi))
        json_out_key_number(j, "times_corgi", r->times_corgi);
    json_out_end(j);
}

static void json_churn(struct json_out *j, const struct bench_churn *c)
{
    json_out_begin_object(j);
    json_out_key_int(j, "jobs", c->jobs);
    json_out_key_int(j, "events", c->events);
    json_out_key_number(j, "move_watts", c->move_watts);
    json_out_key_number(j, "mean_ms", c->mean_ms);
    json_out_key_number(j, "p50_ms", c->p50_ms);
    json_out_key_number(j, "p99_ms", c->p99_ms);
    json_out_key_number(j, "max_ms", c->max_ms);
    json_out_key_number(j, "moves_per_event", c->moves_per_event);
    json_out_key_number(j, "drift", c->drift);
    json_out_key_int(j, "unserved", c->unserved);
    json_out_key_int(j, "fresh_unserved", c->fresh_unserved);
    json_out_end(j);
}

static void print_json(const struct optimize_bench *b, FILE *out)
{
    struct str text = {0};
    struct json_out j;
    int from, to;
    double exponent = growth(b, &from, &to);

    json_out_init(&j, &text, true);
    json_out_begin_object(&j);
    json_out_key(&j, "runs");
    json_out_begin_array(&j);
    for (size_t r = 0; r < b->runs.count; r++)
        json_run(&j, &b->runs.items[r]);
    json_out_end(&j);
    if (to > from) {
        json_out_key(&j, "growth");
        json_out_begin_object(&j);
        json_out_key_int(&j, "from_jobs", from);
        json_out_key_int(&j, "to_jobs", to);
        json_out_key_number(&j, "exponent", exponent);
        json_out_end(&j);
    }
    if (b->churns.count) {
        json_out_key(&j, "churn");
        json_out_begin_array(&j);
        for (size_t c = 0; c < b->churns.count; c++)
            json_churn(&j, &b->churns.items[c]);
        json_out_end(&j);
    }
    json_out_end(&j);
    fputs(str_text(&text), out);
    str_fini(&text);
}

static void print_run(const struct bench_run *r, FILE *out)
{
    fprintf(out, "%-8s %7d %5d %7d %10.4f %14.1f ", r->solver, r->jobs, r->types,
            r->devices, r->cpu_s, r->objective);
    if (!isfinite(r->gap))
        fprintf(out, "%9s ", "-");
    else
        fprintf(out, "%8.3f%% ", 100 * r->gap);
    if (r->unserved < 0)
        fprintf(out, "%8s", "-");
    else
        fprintf(out, "%8d", r->unserved);
    if (!isnan(r->times_corgi))
        fprintf(out, " %8.0fx%s", r->times_corgi, r->ended ? "" : " (time limit)");
    fputc('\n', out);
}

static void print_table(const struct optimize_bench *b, FILE *out)
{
    int from, to;
    double exponent = growth(b, &from, &to);

    fprintf(out, "%-8s %7s %5s %7s %10s %14s %9s %8s %9s\n", "solver", "jobs", "types",
            "devices", "cpu s", "cost W", "gap", "unserved", "by ours");
    for (size_t r = 0; r < b->runs.count; r++)
        print_run(&b->runs.items[r], out);
    if (to > from)
        fprintf(out, "growth from %d to %d jobs: time ~ jobs^%.2f\n", from, to, exponent);
    for (size_t c = 0; c < b->churns.count; c++) {
        const struct bench_churn *x = &b->churns.items[c];

        fprintf(out,
                "churn %d jobs, %d events at %g W a move: mean %.3f ms, p99 %.3f ms, "
                "max %.3f ms, %.2f moves an event, %.2f %% over a fresh solve\n",
                x->jobs, x->events, x->move_watts, x->mean_ms, x->p99_ms, x->max_ms,
                x->moves_per_event, 100 * x->drift);
    }
}

static int check_options(const struct bench_optimize_options *o, struct err *err)
{
    int names;
    const char *const *name = reference_names(&names);

    for (int s = 0; s < o->solver_count; s++) {
        bool known =
            strcmp(o->solvers[s], "corgi") == 0 || strcmp(o->solvers[s], "all") == 0;

        for (int n = 0; n < names; n++)
            known = known || strcmp(o->solvers[s], name[n]) == 0;
        if (!known)
            return err_set(
                err, ERR_USAGE,
                "there is no solver called %s; ask for corgi, brute, exact, cbc, "
                "paper, colgen, gavel or all",
                o->solvers[s]);
    }
    for (int x = 0; x < o->jobs_count; x++)
        if (o->jobs[x] < 1 || o->jobs[x] > 1000000)
            return err_set(err, ERR_USAGE, "%d jobs: ask for 1 to 1,000,000", o->jobs[x]);
    if (o->types < 0 || o->types > 16 || o->churn < 0 || o->churn > 1000000)
        return err_set(err, ERR_USAGE, "types go from 1 to 16, events to 1,000,000");
    return 0;
}

static int run_small(struct optimize_bench *b, FILE *out, struct err *err)
{
    struct bench_small small;

    if (bench_small_run(b->world, b->solver, b->o, b->o->small, &small, err) < 0)
        return -1;
    if (b->o->json)
        bench_small_json(&small, out);
    else
        bench_small_print(&small, out);
    bench_small_fini(&small);
    return 0;
}

int bench_optimize_main(const struct bench_optimize_options *options, FILE *out,
                        struct err *err)
{
    static const int one_size[] = {1000};
    const int *sizes = options->jobs_count ? options->jobs : one_size;
    int count = options->jobs_count ? options->jobs_count : 1, rc = -1;
    struct optimize_bench b = {.o = options};

    if (check_options(options, err) < 0 || load_world(&b, err) < 0)
        return -1;
    b.solver = solver_create(options->seed);
    if (options->small > 0) {
        rc = run_small(&b, out, err);
        goto done;
    }
    for (int x = 0; x < count; x++) {
        struct bench_churn churn;

        if (run_size(&b, sizes[x], err) < 0)
            goto done;
        if (options->churn == 0)
            continue;
        if (bench_run_churn(b.world, options, sizes[x], &churn, err) < 0)
            goto done;
        vec_push(&b.churns, churn);
    }
    if (options->json)
        print_json(&b, out);
    else
        print_table(&b, out);
    rc = 0;
done:
    solver_destroy(b.solver);
    world_destroy(b.world);
    vec_free(&b.runs);
    vec_free(&b.churns);
    return rc;
}
