/* bench_plan.c - `corgi bench plan`: cmd_bench.c calls it; the very loop of the daemon on
 * the simulated engine, its rounds timed one by one */
#include "lab/bench/bench_plan.h"

#include "base/json_out.h"
#include "base/rng.h"
#include "base/table.h"
#include "engine/sim/cluster_file.h"
#include "lab/sim/run_measure.h"
#include "lab/sim/sim_private.h"
#include "lab/traces/told_sizes.h"
#include "loop/cluster.h"

#include <math.h>

#define STREAM_WORLD 21
#define STREAM_ENDS  51
#define GPUS_A_JOB   2
#define GPUS_A_NODE  8
#define INFERENCE    0.3
#define SEVERAL_GPUS 0.2
/* The first jobs come so many a second; then nothing comes until all were measured twice,
 * and limits of power have found their level. */
#define FILL_A_S 64
#define SETTLE_S 2400.0
/* Arrivals and ends are spread over this. */
#define EVENTS_S 1800.0
#define LONG_S   (30 * 86400.0)
#define SHORT_S  300.0 /* of whoever arrives then */

static const char *const gpus[] = {"k80", "p100", "v100", "t4", "a100"};
#define TYPES ((int)(sizeof(gpus) / sizeof(gpus[0])))

/* Processor time of one kind of work, ms. */
struct times {
    size_t count;
    double p50, p99, max;
};

struct size_result {
    int jobs, devices;
    double running; /* on average while it was timed */
    int capped;     /* devices with a limit of power at the end */
    struct times event, improve, quote;
};

static struct cluster *make_cluster(int jobs, struct err *err)
{
    int nodes = jobs * GPUS_A_JOB / (GPUS_A_NODE * TYPES);
    struct cluster *cluster = NULL;
    struct str text = {0};

    str_add(&text, "nodes:\n");
    for (int t = 0; t < TYPES; t++)
        str_addf(&text, "  - {gpu: %s, gpus: %d, count: %d}\n", gpus[t], GPUS_A_NODE,
                 nodes > 0 ? nodes : 1);
    if (cluster_file_parse(&cluster, str_text(&text), text.length, "the cluster", err) <
        0)
        cluster = NULL;
    str_fini(&text);
    return cluster;
}

/* It really takes so long from its start on: more or less, on the GPU it gets. */
static void set_length(struct sim_request *r, double length_s)
{
    if (r->job.kind == JOB_TRAINING)
        r->steps = length_s * r->reference_rate;
    else
        r->serve_s = length_s;
}

/* `jobs` at once that last, but for as many as there are events, and as many others. */
static struct workload *make_workload(const struct bench_plan_options *o, int jobs,
                                      const struct world *world, const int *devices)
{
    const struct workload_options options = {.load = 0.5,
                                             .days = 36500,
                                             .inference = INFERENCE,
                                             .several_gpus = SEVERAL_GPUS,
                                             .seed = o->seed,
                                             .limit = (size_t)(jobs + o->events)};
    struct workload *w = workload_generate(&options, world, devices);
    double filled_s = jobs / FILL_A_S, begin_s = filled_s + SETTLE_S;
    struct rng rng;

    rng_stream(&rng, o->seed, STREAM_ENDS);
    for (size_t i = 0; i < w->count; i++) {
        struct sim_request *r = &w->requests[i];
        bool first = i < (size_t)jobs;

        set_length(r, first ? LONG_S : rng_range(&rng, SHORT_S, 2 * SHORT_S));
        if (first && rng_below(&rng, (size_t)jobs) < (size_t)o->events)
            set_length(r, rng_range(&rng, begin_s, begin_s + 2 * EVENTS_S));
        r->job.submitted_s =
            first ? floor((double)i / FILL_A_S)
                  : begin_s + EVENTS_S * (double)(i - (size_t)jobs) / o->events;
        w->last_arrival_s = r->job.submitted_s;
    }
    told_sizes_apply(w, o->seed);
    return w;
}

static struct times times_of(double *ms, size_t count)
{
    struct times t = {.count = count};

    if (count == 0)
        return t;
    t.p50 = measure_quantile(ms, count, 0.5);
    t.p99 = measure_quantile(ms, count, 0.99);
    t.max = measure_quantile(ms, count, 1);
    return t;
}

static int running_now(const struct sim *sim)
{
    size_t count;
    const struct job_status *const *jobs = loop_jobs(sim->loop, &count);
    int running = 0;

    for (size_t i = 0; i < count; i++)
        running += jobs[i]->state == JOB_RUNNING;
    return running;
}

static int time_events(struct sim *sim, double begin_s, struct size_result *result,
                       struct err *err)
{
    const struct cluster *c = loop_cluster(sim->loop);
    int rc = 0, before;

    while (sim_moment(sim, begin_s - 1, &rc, err))
        continue;
    if (rc < 0)
        return rc;
    vec_clear(&sim->decision_ms);
    vec_clear(&sim->improve_ms);
    vec_clear(&sim->quote_ms);
    before = running_now(sim);
    while (sim_moment(sim, begin_s + EVENTS_S, &rc, err))
        continue;
    result->running = (before + running_now(sim)) / 2.0;
    for (int d = 0; d < c->device_count; d++)
        result->capped += c->devices[d].cap_watts > 0;
    result->event = times_of(sim->decision_ms.items, sim->decision_ms.count);
    result->improve = times_of(sim->improve_ms.items, sim->improve_ms.count);
    result->quote = times_of(sim->quote_ms.items, sim->quote_ms.count);
    return rc;
}

static int run_size(const struct bench_plan_options *o, int jobs,
                    struct size_result *result, struct err *err)
{
    struct cluster *cluster = make_cluster(jobs, err);
    struct sim_options options = sim_default_options();
    int gpu_of_type[TYPES], devices[TYPES];
    struct sim_setup setup = {.cluster = cluster,
                              .gpu_of_type = gpu_of_type,
                              .planner = &corgi_planner_ops,
                              .model = SIM_MODEL_LEARNED};
    struct world *world;
    struct sim sim;
    int rc = -1;

    if (!cluster)
        return -1;
    world = sim_engine_world(cluster->types, TYPES, o->seed, STREAM_WORLD);
    for (int t = 0; t < TYPES; t++) {
        gpu_of_type[t] = world_find_gpu(world, cluster->types[t].name);
        devices[gpu_of_type[t]] = cluster_devices_of_type(cluster, t, false);
    }
    setup.world = world;
    struct workload *w = make_workload(o, jobs, world, devices);

    setup.workload = w;
    options.seed = o->seed;
    options.unquoted = (size_t)jobs;
    *result = (struct size_result){.jobs = jobs, .devices = cluster->device_count};
    if (sim_init(&sim, &options, &setup, err) == 0) {
        rc = time_events(&sim, jobs / FILL_A_S + SETTLE_S, result, err);
        sim_fini(&sim);
    }
    workload_destroy(w);
    world_destroy(world);
    cluster_destroy(cluster);
    return rc;
}

/* How the median grows with the jobs that run: its exponent, from the size before. */
static double growth(const struct size_result *before, const struct size_result *now)
{
    return log(now->event.p50 / before->event.p50) / log(now->running / before->running);
}

static void print_times(struct table *t, const struct times *times)
{
    table_cellf(t, "%.2f", times->p50);
    table_cellf(t, "%.2f", times->p99);
    table_cellf(t, "%.2f", times->max);
}

static int print_text(const struct size_result *results, int count, FILE *out,
                      struct err *err)
{
    struct table *t =
        table_create(">GPUs|>running|>capped|>events|>p50 ms|>p99|>max|>growth|"
                     ">improve p50|>p99|>max|>quote p50|>p99|>max");

    for (int i = 0; i < count; i++) {
        const struct size_result *r = &results[i];

        table_row(t);
        table_cellf(t, "%d", r->devices);
        table_cellf(t, "%.0f", r->running);
        table_cellf(t, "%d", r->capped);
        table_cellf(t, "%zu", r->event.count);
        print_times(t, &r->event);
        if (i > 0)
            table_cellf(t, "n^%.2f", growth(r - 1, r));
        else
            table_cell(t, "");
        print_times(t, &r->improve);
        print_times(t, &r->quote);
    }
    return table_finish(t, TABLE_ALIGNED, out, err);
}

static void json_times(struct json_out *json, const char *name, const struct times *times)
{
    json_out_key(json, name);
    json_out_begin_object(json);
    json_out_key_int(json, "count", (int64_t)times->count);
    json_out_key_number(json, "p50_ms", times->p50);
    json_out_key_number(json, "p99_ms", times->p99);
    json_out_key_number(json, "max_ms", times->max);
    json_out_end(json);
}

static void print_json(const struct size_result *results, int count, FILE *out)
{
    struct str text = {0};
    struct json_out json;

    json_out_init(&json, &text, true);
    json_out_begin_object(&json);
    json_out_key(&json, "sizes");
    json_out_begin_array(&json);
    for (int i = 0; i < count; i++) {
        const struct size_result *r = &results[i];

        json_out_begin_object(&json);
        json_out_key_int(&json, "gpus", r->devices);
        json_out_key_number(&json, "running", r->running);
        json_out_key_int(&json, "capped", r->capped);
        json_times(&json, "event", &r->event);
        json_times(&json, "improve", &r->improve);
        json_times(&json, "quote", &r->quote);
        json_out_key_number(&json, "growth", i > 0 ? growth(r - 1, r) : NAN);
        json_out_end(&json);
    }
    json_out_end(&json);
    json_out_end(&json);
    fputs(str_text(&text), out);
    str_fini(&text);
}

int bench_plan_main(const struct bench_plan_options *o, FILE *out, struct err *err)
{
    struct size_result results[BENCH_PLAN_MAX_SIZES];

    for (int i = 0; i < o->jobs_count; i++)
        if (run_size(o, o->jobs[i], &results[i], err) < 0)
            return -1;
    if (!o->json)
        return print_text(results, o->jobs_count, out, err);
    print_json(results, o->jobs_count, out);
    return 0;
}
