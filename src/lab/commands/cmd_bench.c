/* cmd_bench.c - corgi bench: how fast, measured on this machine */
#include "corgi/commands.h"

#include "base/mem.h"
#include "base/parse.h"
#include "lab/bench/bench_estimate.h"
#include "lab/bench/bench_plan.h"
#include "lab/bench/bench_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option_spec estimate_options[] = {
    OPT(struct bench_estimate_options, gpus, INT, "gpus", 0, "K", "GPU types", .min = 1,
        .max = 64, .default_text = "8"),
    OPT(struct bench_estimate_options, corunners, INT, "corunners", 0, "N",
        "jobs the new one may run beside", .min = 1, .max = 100000,
        .default_text = "1000"),
    OPT(struct bench_estimate_options, observations, INT, "observations", 0, "N",
        "measurements remembered", .min = 1, .max = 100000, .default_text = "1000"),
    OPT(struct bench_estimate_options, seed, U64, "seed", 's', "N", "seed of the jobs",
        .default_text = "1"),
    OPT(struct bench_estimate_options, json, FLAG, "json", 'j', NULL,
        "print JSON instead of a table"),
    {0},
};

static int run_estimate(struct command_call *call)
{
    struct err err = {0};

    return bench_estimate_main(call->args, stdout, &err) < 0 ? command_failed(call, &err)
                                                             : 0;
}

static const struct command bench_estimate = {
    .name = "estimate",
    .summary = "time the estimates of a new job and the learning from a measurement",
    .options = estimate_options,
    .args_size = sizeof(struct bench_estimate_options),
    .run = run_estimate,
};

struct plan_args {
    const char *jobs;
    int events;
    uint64_t seed;
    bool json;
};

static const struct option_spec plan_options[] = {
    OPT(struct plan_args, jobs, STRING, "jobs", 'n', "LIST",
        "how many jobs run, two GPUs for each; sizes with commas between",
        .default_text = "100,1000,10000"),
    OPT(struct plan_args, events, INT, "events", 0, "N",
        "arrivals that are timed, and as many ends", .min = 1, .max = 10000,
        .default_text = "200"),
    OPT(struct plan_args, seed, U64, "seed", 's', "N", "seed of jobs and cluster",
        .default_text = "1"),
    OPT(struct plan_args, json, FLAG, "json", 'j', NULL, "print JSON instead of a table"),
    {0},
};

/* Sizes with commas between into o->jobs; text is cut up. */
static int fill_sizes(struct bench_plan_options *o, char *text, struct err *err)
{
    char *rest = NULL;

    for (char *item = strtok_r(text, ",", &rest); item;
         item = strtok_r(NULL, ",", &rest)) {
        int *jobs = &o->jobs[o->jobs_count];

        if (o->jobs_count == BENCH_PLAN_MAX_SIZES)
            return err_set(err, ERR_USAGE, "--jobs wants at most %d sizes",
                           BENCH_PLAN_MAX_SIZES);
        if (!parse_int(item, jobs) || *jobs < 1 || *jobs > BENCH_PLAN_MOST_JOBS)
            return err_set(err, ERR_USAGE, "--jobs %s is not within 1 and %d", item,
                           BENCH_PLAN_MOST_JOBS);
        o->jobs_count++;
    }
    return o->jobs_count > 0 ? 0 : err_set(err, ERR_USAGE, "--jobs names no size");
}

static int run_plan(struct command_call *call)
{
    const struct plan_args *args = call->args;
    char *sizes = mem_strdup(args->jobs);
    struct bench_plan_options o = {
        .events = args->events, .seed = args->seed, .json = args->json};
    struct err err = {0};
    int status = 0;

    if (fill_sizes(&o, sizes, &err) < 0)
        status = command_wrong_use(call, "%s", err.text);
    else if (bench_plan_main(&o, stdout, &err) < 0)
        status = command_failed(call, &err);
    free(sizes);
    return status;
}

static const struct command bench_plan = {
    .name = "plan",
    .summary = "time the planner that ships, event by event",
    .help =
        "Fill a simulated cluster with jobs, services and gangs, let them be measured, "
        "and print the processor time of the rounds that arrivals, ends and "
        "measurements cause: median, 99th percentile and longest; rounds that also "
        "look for a better placement, one in five minutes, and quotes apart.",
    .examples = "corgi bench plan --jobs 100",
    .options = plan_options,
    .args_size = sizeof(struct plan_args),
    .run = run_plan,
};

static const struct option_spec store_options[] = {
    OPT(struct bench_store_options, dir, STRING, "dir", 'd', "DIR",
        "folder on the disk to measure [the present one]"),
    OPT(struct bench_store_options, seconds, SECONDS, "seconds", 0, "TIME",
        "length of each run", .min = 0.1, .max = 3600, .default_text = "3"),
    OPT(struct bench_store_options, per_s, DOUBLE, "rate", 0, "N",
        "submissions a second of the steady run", .min = 1, .max = 100000,
        .default_text = "200"),
    OPT(struct bench_store_options, keep, FLAG, "keep", 0, NULL,
        "leave the last store there, as bench.db"),
    OPT(struct bench_store_options, json, FLAG, "json", 'j', NULL,
        "print JSON instead of a table"),
    {0},
};

static int run_store(struct command_call *call)
{
    struct err err = {0};

    return bench_store_main(call->args, stdout, &err) < 0 ? command_failed(call, &err)
                                                          : 0;
}

static const struct command bench_store = {
    .name = "store",
    .summary = "time submissions until they are durable on a disk",
    .help =
        "One client and then sixteen submit as fast as they get answers; then sixteen "
        "submit at a steady rate while telemetry is stored and jobs are listed.",
    .examples = "corgi bench store --dir /var/lib/corgi",
    .options = store_options,
    .args_size = sizeof(struct bench_store_options),
    .run = run_store,
};

static const struct command *const children[] = {&bench_estimate, &bench_plan,
                                                 &bench_store, NULL};

const struct command cmd_bench = {
    .name = "bench",
    .summary = "measure Corgi's own speed",
    .children = children,
};
