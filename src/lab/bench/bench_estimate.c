/* bench_estimate.c - `corgi bench estimate`: cmd_bench.c calls it, the times go to its
 * table */
#include "lab/bench/bench_estimate.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/json_out.h"
#include "base/mem.h"
#include "base/rng.h"
#include "lab/eval/estimator_method.h"
#include "model/p2.h"
#include "model/pairs.h"
#include "world/world.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the same networks in libtorch ------------------------------------------------- */

/* bench/torch.cpp is a program of its own beside corgi, built only where libtorch is
 * installed; corgi itself never links it. */

struct torch_times {
    double network_ms;    /* answers for so many cells */
    double train_step_ms; /* one step of the same batch */
};

#define PROGRAM   "corgi-bench-torch"
#define ANSWER    256
#define MS_MAX    1e6
#define ARGUMENTS 3

/* Beside the program that runs: never whatever happens to be in PATH. */
static bool find_program(char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    char *name;

    if (length <= 0)
        return false;
    path[length] = 0;
    name = strrchr(path, '/');
    if (!name || (size_t)(name + 1 - path) + sizeof(PROGRAM) > size)
        return false;
    strcpy(name + 1, PROGRAM);
    return access(path, X_OK) == 0;
}

/* Run it and read what it prints; false unless it ended well. */
static bool run(const char *path, int cells, char answer[ANSWER])
{
    int ends[2], status;
    char count[16];
    size_t used = 0;
    ssize_t got;
    pid_t pid;

    snprintf(count, sizeof(count), "%d", cells);
    if (pipe(ends) < 0)
        return false;
    pid = fork();
    if (pid == 0) {
        char *const arguments[ARGUMENTS] = {(char[]){PROGRAM}, count, NULL};

        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execv(path, arguments);
        _exit(127);
    }
    close(ends[1]);
    while (pid > 0 && used + 1 < ANSWER &&
           (got = read(ends[0], answer + used, ANSWER - 1 - used)) > 0)
        used += (size_t)got;
    answer[used] = 0;
    close(ends[0]);
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

/* False when the program is not there or says nothing sensible. */
static bool torch_measure(int cells, struct torch_times *times)
{
    char path[PATH_MAX], answer[ANSWER];
    const struct json_value *root;
    struct torch_times found;
    struct json_doc *doc;
    bool good;

    if (!find_program(path, sizeof(path)) || !run(path, cells, answer) ||
        json_doc_parse(&doc, answer, strlen(answer), PROGRAM, NULL) < 0)
        return false;
    root = json_doc_root(doc);
    good = json_value_need_number(root, "network_ms", 0, MS_MAX, &found.network_ms,
                                  NULL) == 0 &&
           json_value_need_number(root, "train_step_ms", 0, MS_MAX, &found.train_step_ms,
                                  NULL) == 0;
    if (good)
        *times = found;
    json_doc_destroy(doc);
    return good;
}

/* ---- the benchmark ----------------------------------------------------------------- */

#define GPUS_DEFAULT         8
#define CORUNNERS_DEFAULT    1000
#define OBSERVATIONS_DEFAULT 1000
#define RUNS                 15
#define BATCH                384
#define GAMES                6
#define KNOWN                64
#define RESIDUALS            2000
#define BATCHES_OF_FAMILY    5

struct estimate_bench {
    struct pairs *pairs;
    int gpus, jobs;
    struct rng rng;
};

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

struct timing { /* medians */
    double cpu_ms, wall_ms;
};

/* Starts and stops of one thing that is timed. */
struct stopwatch {
    double cpu_ms[RUNS], wall_ms[RUNS]; /* while it runs: when it started */
    int runs;
};

static void stopwatch_start(struct stopwatch *w)
{
    w->wall_ms[w->runs] = 1000 * clock_wall_s();
    w->cpu_ms[w->runs] = 1000 * clock_cpu_s();
}

static void stopwatch_stop(struct stopwatch *w)
{
    w->cpu_ms[w->runs] = 1000 * clock_cpu_s() - w->cpu_ms[w->runs];
    w->wall_ms[w->runs] = 1000 * clock_wall_s() - w->wall_ms[w->runs];
    w->runs++;
}

static struct timing stopwatch_read(struct stopwatch *w)
{
    qsort(w->cpu_ms, RUNS, sizeof(*w->cpu_ms), by_value);
    qsort(w->wall_ms, RUNS, sizeof(*w->wall_ms), by_value);
    return (struct timing){w->cpu_ms[RUNS / 2], w->wall_ms[RUNS / 2]};
}

static void observe(struct estimate_bench *b)
{
    struct cell cell = {(int)rng_below(&b->rng, (size_t)b->jobs - 1),
                        (int)rng_below(&b->rng, (size_t)b->gpus),
                        (int)rng_below(&b->rng, (size_t)b->jobs - 1)};

    pairs_put(b->pairs, cell, -0.6 + 0.3 * rng_normal(&b->rng), 0);
}

static void setup(struct estimate_bench *b, const struct bench_estimate_options *o)
{
    size_t wanted =
        (size_t)(o->observations > 0 ? o->observations : OBSERVATIONS_DEFAULT);

    b->gpus = o->gpus > 0 ? o->gpus : GPUS_DEFAULT;
    b->jobs = (o->corunners > 0 ? o->corunners : CORUNNERS_DEFAULT) + 1;
    rng_init(&b->rng, o->seed);
    b->pairs = pairs_create();
    for (int g = 0; g < b->gpus; g++)
        pairs_add_gpu(b->pairs, &(struct gpu_trait){0.3 * g - 1, 0.2 * g - 0.7});
    for (int j = 0; j < b->jobs; j++) {
        struct job_trait trait = {j / BATCHES_OF_FAMILY, 2 + 0.5 * (j % 5),
                                  rng_range(&b->rng, 6.5, 9.5), 0};

        pairs_add_job(b->pairs, &trait);
    }
    while (b->pairs->core->count < wanted)
        observe(b);
    pairs_settle(b->pairs);
    eval_pairs_study(b->pairs, o->seed); /* as after any of the loop's lessons */
}

/* One new job on every type beside every other job. */
static struct timing initial_time(struct estimate_bench *b)
{
    size_t count = (size_t)b->jobs - 1;
    size_t cells = PAIR_KINDS * count * (size_t)b->gpus + 1;
    struct pairs_guess *out = mem_array(struct pairs_guess, cells);
    double *sd = mem_array(double, cells);
    struct stopwatch watch = {.runs = 0};

    for (int r = 0; r < RUNS; r++) {
        stopwatch_start(&watch);
        pairs_renew_row(b->pairs, b->jobs - 1, 0, count, false, sd, out);
        stopwatch_stop(&watch);
    }
    free(out);
    free(sd);
    return stopwatch_read(&watch);
}

static struct timing refine_time(struct estimate_bench *b)
{
    struct stopwatch watch = {.runs = 0};

    for (int r = 0; r < RUNS; r++) {
        stopwatch_start(&watch);
        observe(b);
        pairs_settle(b->pairs); /* until it is ready for the next question */
        stopwatch_stop(&watch);
    }
    return stopwatch_read(&watch);
}

/* A job and `cells` cells of it among KNOWN known jobs, all numbers random. */
static void draw_case(struct estimate_bench *b, int cells, struct attention_case *c)
{
    size_t n = (size_t)cells;

    *c = (struct attention_case){
        .known = KNOWN,
        .cells = cells,
        .alike = mem_array(nn_real, KNOWN * ATTENTION_ALIKE),
        .about = mem_array(nn_real, n * ATTENTION_ABOUT + 1),
        .centre = mem_array(nn_real, n + 1),
        .target = mem_array(nn_real, n + 1),
        .residuals = mem_array(struct attention_residual, RESIDUALS),
        .residual_count = RESIDUALS,
    };
    for (int i = 0; i < KNOWN * ATTENTION_ALIKE; i++)
        c->alike[i] = (nn_real)rng_normal(&b->rng);
    for (size_t i = 0; i < n * ATTENTION_ABOUT; i++)
        c->about[i] = (nn_real)rng_normal(&b->rng);
    for (int i = 0; i < RESIDUALS; i++)
        c->residuals[i] = (struct attention_residual){
            (int)rng_below(&b->rng, KNOWN), (int)rng_below(&b->rng, n),
            (nn_real)(0.3 * rng_normal(&b->rng))};
}

/* P2 alone, for as many cells as a new job has. */
static struct timing network_time(struct estimate_bench *b)
{
    int count = (b->jobs - 1) * b->gpus;
    struct attention *net = p2_shipped(network_choice_kind(NETWORKS_AUTO));
    struct attention_guess *out = mem_array(struct attention_guess, (size_t)count + 1);
    struct stopwatch watch = {.runs = 0};
    struct attention_case c;

    draw_case(b, count, &c);
    for (int r = 0; r < RUNS; r++) {
        stopwatch_start(&watch);
        attention_answer(net, &c, out);
        stopwatch_stop(&watch);
    }
    attention_case_fini(&c);
    attention_destroy(net);
    free(out);
    return stopwatch_read(&watch);
}

static struct timing train_step_time(struct estimate_bench *b)
{
    struct attention *net = p2_shipped(network_choice_kind(NETWORKS_AUTO));
    struct attention_trainer *trainer = attention_trainer_create(net, 1e-4, 0);
    struct attention_case games[GAMES], *batch[GAMES];
    struct stopwatch watch = {.runs = 0};

    for (int i = 0; i < GAMES; i++) {
        draw_case(b, BATCH / GAMES, &games[i]);
        batch[i] = &games[i];
    }
    for (int r = 0; r < RUNS; r++) {
        stopwatch_start(&watch);
        attention_train_step(trainer, batch, GAMES);
        stopwatch_stop(&watch);
    }
    for (int i = 0; i < GAMES; i++)
        attention_case_fini(&games[i]);
    attention_trainer_destroy(trainer);
    attention_destroy(net);
    return stopwatch_read(&watch);
}

struct measured_times {
    struct timing initial, refine, train_step, network;
    bool compared;
    struct torch_times torch;
};

static void print_text(const struct estimate_bench *b, const struct measured_times *ms,
                       FILE *out)
{
    fprintf(out,
            "processor time (and on the wall):\n"
            "one new job, %d GPU types, %d co-runners: %.2f ms (%.2f)\n"
            "one measurement absorbed, %zu in memory: %.2f ms (%.2f)\n"
            "one online training step, batch %d: %.2f ms (%.2f)\n"
            "the network alone for as many cells: %.2f ms (%.2f)\n",
            b->gpus, b->jobs - 1, ms->initial.cpu_ms, ms->initial.wall_ms,
            b->pairs->core->count, ms->refine.cpu_ms, ms->refine.wall_ms, BATCH,
            ms->train_step.cpu_ms, ms->train_step.wall_ms, ms->network.cpu_ms,
            ms->network.wall_ms);
    if (ms->compared)
        fprintf(out, "libtorch: training step %.2f ms, network alone %.2f ms\n",
                ms->torch.train_step_ms, ms->torch.network_ms);
    else
        fputs("libtorch: not built here, so not compared\n", out);
}

static void print_json(const struct estimate_bench *b, const struct measured_times *ms,
                       FILE *out)
{
    struct str text = {0};
    struct json_out json;

    json_out_init(&json, &text, true);
    json_out_begin_object(&json);
    json_out_key_int(&json, "gpus", b->gpus);
    json_out_key_int(&json, "corunners", b->jobs - 1);
    json_out_key_int(&json, "observations", (int64_t)b->pairs->core->count);
    json_out_key_number(&json, "initial_ms", ms->initial.cpu_ms);
    json_out_key_number(&json, "initial_wall_ms", ms->initial.wall_ms);
    json_out_key_number(&json, "refine_ms", ms->refine.cpu_ms);
    json_out_key_number(&json, "refine_wall_ms", ms->refine.wall_ms);
    json_out_key_number(&json, "train_step_ms", ms->train_step.cpu_ms);
    json_out_key_number(&json, "train_step_wall_ms", ms->train_step.wall_ms);
    json_out_key_number(&json, "network_ms", ms->network.cpu_ms);
    json_out_key_number(&json, "network_wall_ms", ms->network.wall_ms);
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
    struct estimate_bench b = {0};

    if (o->gpus < 0 || o->gpus > WORLD_MAX_GPUS || o->corunners < 0 ||
        o->corunners > WORLD_MAX_CLASSES || o->observations < 0 ||
        o->observations > PAIRS_MAX - 2 * RUNS)
        return err_set(err, ERR_USAGE,
                       "at most %d GPU types, %d co-runners and %d observations",
                       WORLD_MAX_GPUS, WORLD_MAX_CLASSES, PAIRS_MAX - 2 * RUNS);
    setup(&b, o);
    ms.initial = initial_time(&b);
    ms.refine = refine_time(&b);
    ms.train_step = train_step_time(&b);
    ms.network = network_time(&b);
    ms.compared = torch_measure((b.jobs - 1) * b.gpus, &ms.torch);
    if (o->json)
        print_json(&b, &ms, out);
    else
        print_text(&b, &ms, out);
    pairs_destroy(b.pairs);
    return 0;
}
