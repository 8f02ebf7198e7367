/* bench_run.c - one measurement of `corgi bench optimize`: a solver on an instance, or
 * events on its plan, each plan checked */
#include "lab/bench/bench_run.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "lab/bench/reference.h"
#include "lab/solver/check_solution.h"
#include "lab/solver/update.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REPEATS       3
#define REPEAT_UP_TO  20000 /* jobs; larger ones run once */
#define REFERENCE_S   60.0
#define MOVE_WATTS    3.0
#define DEVICES_A_JOB 0.6
#define REPRICE       250 /* events; the time counts as the event's */

struct instance_options bench_instance(const struct bench_optimize_options *o, int jobs)
{
    return (struct instance_options){
        .jobs = jobs,
        .types = o->types,
        .devices_per_job = o->devices_per_job > 0 ? o->devices_per_job : DEVICES_A_JOB,
        .multi = o->multi,
        .caps = o->caps,
        .distinct = o->distinct,
        .progress = o->progress_watts,
        .host_watts = o->host_watts,
        .sleep = o->sleep,
        .seed = o->seed};
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static void describe(struct bench_run *run, const struct problem *p)
{
    run->jobs = p->job_count;
    run->types = p->type_count;
    run->devices = 0;
    for (int t = 0; t < p->type_count; t++)
        run->devices += p->types[t].devices;
    run->times_corgi = NAN;
    run->proven = run->ended && isfinite(run->bound) && isfinite(run->gap) &&
                  run->gap <= BENCH_PROVEN_GAP;
}

int bench_run_corgi(struct solver *solver, const struct problem *p,
                    const struct bench_optimize_options *o, struct bench_run *run,
                    struct err *err)
{
    struct solve_options options = {.no_lp = o->no_lp};
    struct solution s = {0};
    double cpu[REPEATS] = {0}, wall[REPEATS] = {0};
    int repeats = p->job_count <= REPEAT_UP_TO ? REPEATS : 1, rc;

    for (int x = 0; x < repeats; x++) {
        double cpu_start = clock_cpu_s(), wall_start = clock_wall_s();

        solver_run(solver, p, &options, &s);
        cpu[x] = clock_cpu_s() - cpu_start;
        wall[x] = clock_wall_s() - wall_start;
    }
    qsort(cpu, (size_t)repeats, sizeof(double), ascending);
    qsort(wall, (size_t)repeats, sizeof(double), ascending);
    *run = (struct bench_run){.solver = "corgi",
                              .cpu_s = cpu[repeats / 2],
                              .wall_s = wall[repeats / 2],
                              .objective = s.cost,
                              .bound = s.bound,
                              .gap = s.gap,
                              .unserved = s.unserved,
                              .ended = true};
    describe(run, p);
    rc = check_solution(p, &s, err);
    solution_fini(&s);
    return rc;
}

int bench_run_reference(const char *name, const struct problem *p,
                        const struct bench_optimize_options *o, struct bench_run *run,
                        struct err *err)
{
    double limit = o->limit_s > 0 ? o->limit_s : REFERENCE_S;
    double cpu_start = clock_cpu_s(), wall_start = clock_wall_s();
    struct reference_result r;
    struct solution s = {0};
    int rc = reference_run(name, p, limit, &s, &r, err);

    if (rc == 0) {
        *run = (struct bench_run){.solver = name,
                                  .cpu_s = clock_cpu_s() - cpu_start,
                                  .wall_s = clock_wall_s() - wall_start,
                                  .objective = r.objective,
                                  .bound = r.bound,
                                  .gap = r.has_plan && !isnan(r.bound) ? s.gap : NAN,
                                  .unserved = r.has_plan ? s.unserved : -1,
                                  .ended = r.proven};
        describe(run, p);
        /* The paper's form may keep a need to a millionth: its plans are not checked. */
        if (r.has_plan && strcmp(name, "paper") != 0)
            rc = check_solution(p, &s, err);
    }
    solution_fini(&s);
    return rc;
}

/* ---- churn --------------------------------------------------------------------------
 */

struct churn {
    struct problem *p;
    struct update *u;
    bool *here; /* (jobs) */
    int next;
    struct rng rng;
};

/* In turn an arrival, a departure and a need that changes by up to a fifth. */
static void one_event(struct churn *c, int event)
{
    int job;

    if (event % 3 == 0) {
        c->here[c->next] = true;
        update_arrive(c->u, c->next++);
        return;
    }
    do
        job = (int)rng_below(&c->rng, (size_t)c->next);
    while (!c->here[job]);
    if (event % 3 == 1) {
        c->here[job] = false;
        update_depart(c->u, job);
    } else {
        c->p->jobs[job].need *= rng_range(&c->rng, 0.8, 1.2);
        update_change(c->u, job);
    }
}

/* The plan that the events left, as one of all jobs there ever were: those that have left
 * are unserved. */
static int check_updated(struct churn *c, struct err *err)
{
    struct solution s = {0};
    int rc;

    c->p->job_count = c->next;
    c->p->move_watts = 0;
    problem_number_tasks(c->p);
    update_solution(c->u, &s);
    rc = check_solution(c->p, &s, err);
    solution_fini(&s);
    return rc;
}

/* A fresh solve of the jobs that are there at the end. */
static double fresh_cost(struct churn *c, struct solver *solver, int *unserved)
{
    struct solution s = {0};
    struct problem *p = c->p;
    int count = 0;
    double cost;

    for (int j = 0; j < c->next; j++)
        if (c->here[j])
            p->jobs[count++] = p->jobs[j];
    p->job_count = count;
    problem_number_tasks(p);
    solver_run(solver, p, NULL, &s);
    cost = s.cost;
    *unserved = s.unserved;
    solution_fini(&s);
    return cost;
}

static void run_events(struct churn *c, int events, double *ms)
{
    for (int e = 0; e < events; e++) {
        double start = clock_cpu_s();

        one_event(c, e);
        if (e % REPRICE == REPRICE - 1)
            update_reprice(c->u);
        ms[e] = 1e3 * (clock_cpu_s() - start);
    }
}

static void summarize(struct bench_churn *out, double *ms, int events)
{
    double sum = 0;

    qsort(ms, (size_t)events, sizeof(double), ascending);
    for (int e = 0; e < events; e++)
        sum += ms[e];
    out->mean_ms = sum / events;
    out->p50_ms = ms[events / 2];
    out->p99_ms = ms[(int)(events * 0.99)];
    out->max_ms = ms[events - 1];
}

int bench_run_churn(const struct world *world, const struct bench_optimize_options *o,
                    int jobs, struct bench_churn *out, struct err *err)
{
    struct instance_options io = bench_instance(o, jobs);
    struct solver *solver = solver_create(o->seed);
    struct churn c = {.u = update_create(o->seed), .next = jobs};
    double *ms = mem_array(double, (size_t)o->churn), cost;
    struct solution s = {0};
    int rc = 0;

    io.spare_jobs = o->churn;
    io.host_watts = 0; /* on types: where on the nodes comes with the whole plan */
    c.p = instance_create(world, &io);
    c.here = mem_array(bool, (size_t)(jobs + o->churn));
    memset(c.here, 1, (size_t)jobs * sizeof(bool));
    rng_stream(&c.rng, o->seed, 9);
    solver_run(solver, c.p, NULL, &s);
    rc = check_solution(c.p, &s, err);
    c.p->move_watts = o->move_watts > 0 ? o->move_watts : MOVE_WATTS;
    *out = (struct bench_churn){
        .jobs = jobs, .events = o->churn, .move_watts = c.p->move_watts};
    update_load(c.u, c.p, &s, jobs + o->churn, solver_worth(solver),
                solver_price(solver));
    run_events(&c, o->churn, ms);
    summarize(out, ms, o->churn);
    out->moves_per_event = (double)update_moves(c.u) / o->churn;
    out->unserved = update_unserved(c.u);
    cost = update_cost(c.u);
    if (rc == 0)
        rc = check_updated(&c, err);
    out->drift = cost / fresh_cost(&c, solver, &out->fresh_unserved) - 1;
    update_destroy(c.u);
    solver_destroy(solver);
    solution_fini(&s);
    problem_destroy(c.p);
    free(c.here);
    free(ms);
    return rc;
}
