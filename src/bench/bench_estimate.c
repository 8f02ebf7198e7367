/* bench_estimate.c - see bench_estimate.h */
#include "bench/bench_estimate.h"

#include "base/clock.h"
#include "base/json_out.h"
#include "base/mem.h"
#include "base/rng.h"
#include "bench/torch.h"
#include "loop/core/statnet.h"
#include "loop/refine/pairs.h"
#include "world/world.h"

#include <math.h>
#include <stdlib.h>

#define GPUS_DEFAULT         8
#define CORUNNERS_DEFAULT    1000
#define OBSERVATIONS_DEFAULT 1000
#define RUNS                 15
#define BATCH                384
#define BATCHES_OF_FAMILY    5

struct bench {
    struct pairs *pairs;
    int gpus, jobs;
    int *others; /* (jobs - 1) */
    struct rng rng;
};

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static double median(double times[RUNS])
{
    qsort(times, RUNS, sizeof(*times), by_value);
    return times[RUNS / 2];
}

static void observe(struct bench *b)
{
    struct cell cell = {(int)rng_below(&b->rng, (size_t)b->jobs - 1),
                        (int)rng_below(&b->rng, (size_t)b->gpus),
                        (int)rng_below(&b->rng, (size_t)b->jobs - 1)};

    pairs_observe(b->pairs, cell, -0.6 + 0.3 * rng_normal(&b->rng), 0);
}

static void setup(struct bench *b, const struct bench_estimate_options *o)
{
    size_t wanted =
        (size_t)(o->observations > 0 ? o->observations : OBSERVATIONS_DEFAULT);

    b->gpus = o->gpus > 0 ? o->gpus : GPUS_DEFAULT;
    b->jobs = (o->corunners > 0 ? o->corunners : CORUNNERS_DEFAULT) + 1;
    rng_init(&b->rng, o->seed);
    b->pairs = pairs_create();
    b->others = mem_array(int, (size_t)b->jobs);
    for (int g = 0; g < b->gpus; g++)
        pairs_add_gpu(b->pairs, &(struct gpu_trait){0.3 * g - 1, 0.2 * g - 0.7});
    for (int j = 0; j < b->jobs; j++) {
        struct job_trait trait = {j / BATCHES_OF_FAMILY, 2 + 0.5 * (j % 5),
                                  rng_range(&b->rng, 6.5, 9.5), 0};

        pairs_add_job(b->pairs, &trait);
        b->others[j] = j;
    }
    while (pairs_count(b->pairs) < wanted)
        observe(b);
}

/* One new job on every type beside every other job. */
static double initial_ms(struct bench *b)
{
    size_t count = (size_t)b->jobs - 1;
    double *out = mem_array(double, count *(size_t)b->gpus + 1), times[RUNS];

    for (int r = 0; r < RUNS; r++) {
        double start = clock_cpu_s();

        pairs_predict_row(b->pairs, b->jobs - 1, b->others, count, out);
        times[r] = 1000 * (clock_cpu_s() - start);
    }
    free(out);
    return median(times);
}

static double refine_ms(struct bench *b)
{
    double times[RUNS];

    for (int r = 0; r < RUNS; r++) {
        double start = clock_cpu_s();

        observe(b);
        pairs_core(b->pairs); /* until it is ready for the next question */
        times[r] = 1000 * (clock_cpu_s() - start);
    }
    return median(times);
}

/* P2 alone, for as many cells as a new job has: what libtorch is compared with. */
static double network_ms(struct bench *b)
{
    size_t count = ((size_t)b->jobs - 1) * (size_t)b->gpus;
    struct statnet *net = statnet_shipped("p2");
    struct statnet_row *rows = mem_array(struct statnet_row, count + 1);
    struct statnet_guess *out = mem_array(struct statnet_guess, count + 1);
    double times[RUNS];

    for (size_t i = 0; i < count; i++)
        for (int f = 0; f < STATS_FEATURES; f++)
            rows[i].x[f] = (float)rng_normal(&b->rng);
    for (int r = 0; r < RUNS; r++) {
        double start = clock_cpu_s();

        statnet_predict(net, rows, count, out);
        times[r] = 1000 * (clock_cpu_s() - start);
    }
    statnet_destroy(net);
    free(rows);
    free(out);
    return median(times);
}

static double train_step_ms(struct bench *b)
{
    struct statnet *net = statnet_shipped("p2");
    struct statnet_trainer *trainer = statnet_trainer_create(net, 1e-4, 0);
    struct statnet_row *rows = mem_array(struct statnet_row, BATCH);
    double times[RUNS];

    for (int i = 0; i < BATCH; i++)
        for (int f = 0; f < STATS_FEATURES; f++)
            rows[i].x[f] = (float)rng_normal(&b->rng);
    for (int r = 0; r < RUNS; r++) {
        double start = clock_cpu_s();

        statnet_train_step(trainer, rows, NULL, BATCH);
        times[r] = 1000 * (clock_cpu_s() - start);
    }
    statnet_trainer_destroy(trainer);
    statnet_destroy(net);
    free(rows);
    return median(times);
}

struct measured_times {
    double initial, refine, train_step, network; /* ms */
    bool compared;
    struct torch_times torch;
};

static void print_text(const struct bench *b, const struct measured_times *ms, FILE *out)
{
    fprintf(out,
            "one new job, %d GPU types, %d co-runners: %.2f ms\n"
            "one measurement absorbed, %zu in memory: %.2f ms\n"
            "one online training step, batch %d: %.2f ms\n"
            "the network alone for as many cells: %.2f ms\n",
            b->gpus, b->jobs - 1, ms->initial, pairs_count(b->pairs), ms->refine, BATCH,
            ms->train_step, ms->network);
    if (ms->compared)
        fprintf(out, "libtorch: training step %.2f ms, network alone %.2f ms\n",
                ms->torch.train_step_ms, ms->torch.network_ms);
    else
        fputs("libtorch: not built here, so not compared\n", out);
}

static void print_json(const struct bench *b, const struct measured_times *ms, FILE *out)
{
    struct str text = {0};
    struct json_out json;

    json_out_init(&json, &text, true);
    json_out_begin_object(&json);
    json_out_key_int(&json, "gpus", b->gpus);
    json_out_key_int(&json, "corunners", b->jobs - 1);
    json_out_key_int(&json, "observations", (int64_t)pairs_count(b->pairs));
    json_out_key_number(&json, "initial_ms", ms->initial);
    json_out_key_number(&json, "refine_ms", ms->refine);
    json_out_key_number(&json, "train_step_ms", ms->train_step);
    json_out_key_number(&json, "network_ms", ms->network);
    if (ms->compared) {
        json_out_key_number(&json, "torch_network_ms", ms->torch.network_ms);
        json_out_key_number(&json, "torch_train_step_ms", ms->torch.train_step_ms);
    }
    json_out_end(&json);
    fputs(str_text(&text), out);
    str_fini(&text);
}

int bench_estimate_main(const struct bench_estimate_options *o, FILE *out,
                        struct err *err)
{
    struct measured_times ms;
    struct bench b = {0};

    if (o->gpus < 0 || o->gpus > WORLD_MAX_GPUS || o->corunners < 0 ||
        o->corunners > WORLD_MAX_CLASSES || o->observations < 0 ||
        o->observations > PAIRS_MAX - 2 * RUNS)
        return err_set(err, ERR_USAGE,
                       "at most %d GPU types, %d co-runners and %d observations",
                       WORLD_MAX_GPUS, WORLD_MAX_CLASSES, PAIRS_MAX - 2 * RUNS);
    setup(&b, o);
    ms.initial = initial_ms(&b);
    ms.refine = refine_ms(&b);
    ms.train_step = train_step_ms(&b);
    ms.network = network_ms(&b);
    ms.compared = torch_measure((b.jobs - 1) * b.gpus, &ms.torch);
    if (o->json)
        print_json(&b, &ms, out);
    else
        print_text(&b, &ms, out);
    pairs_destroy(b.pairs);
    free(b.others);
    return 0;
}
