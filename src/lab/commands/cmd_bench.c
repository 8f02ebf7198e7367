/* cmd_bench.c - corgi bench: how fast and how near, measured on this machine */
#include "corgi/commands.h"

#include "base/mem.h"
#include "base/parse.h"
#include "lab/bench/bench_estimate.h"
#include "lab/bench/bench_optimize.h"
#include "lab/bench/bench_plan.h"
#include "lab/bench/bench_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct optimize_args {
    const char *jobs;
    const char *solver;
    const char *throughputs;
    int types;
    uint64_t seed;
    double devices_per_job;
    double multi;
    double progress_watts;
    double host_watts;
    double limit_s;
    int churn;
    int small;
    bool caps, sleep, distinct, no_lp, json;
};

static const struct option_spec optimize_options[] = {
    OPT(struct optimize_args, jobs, STRING, "jobs", 'n', "LIST",
        "sizes to run, with commas between", .default_text = "1000"),
    OPT(struct optimize_args, types, INT, "types", 0, "K",
        "GPU types; 0 is what the table has", .min = 0, .max = 64, .default_text = "0"),
    OPT(struct optimize_args, seed, U64, "seed", 's', "N", "seed of the instance",
        .default_text = "1"),
    OPT(struct optimize_args, throughputs, STRING, "throughputs", 0, "FILE",
        "measured rates as Gavel's JSON, instead of the synthetic world"),
    OPT(struct optimize_args, solver, STRING, "solver", 0, "LIST",
        "corgi, brute, exact, cbc, paper, colgen, gavel, with commas between, or all",
        .default_text = "corgi"),
    OPT(struct optimize_args, devices_per_job, DOUBLE, "devices-per-job", 0, "X",
        "devices there are for each job", .min = 0.01, .max = 100, .default_text = "0.6"),
    OPT(struct optimize_args, multi, DOUBLE, "multi", 0, "SHARE",
        "share of jobs on several devices", .min = 0, .max = 1, .default_text = "0"),
    OPT(struct optimize_args, progress_watts, WATTS, "progress", 0, "WATTS",
        "price of progress; 0 is power alone", .default_text = "0"),
    OPT(struct optimize_args, host_watts, WATTS, "host", 0, "WATTS",
        "host power of nodes of four devices; 0: devices are counted",
        .default_text = "0"),
    OPT(struct optimize_args, caps, FLAG, "caps", 0, NULL, "power caps may be set"),
    OPT(struct optimize_args, sleep, FLAG, "sleep", 0, NULL, "nodes may sleep"),
    OPT(struct optimize_args, distinct, FLAG, "distinct", 0, NULL,
        "every job has factors of its own"),
    OPT(struct optimize_args, no_lp, FLAG, "no-lp", 0, NULL, "prices by sampling, no LP"),
    OPT(struct optimize_args, limit_s, SECONDS, "limit", 0, "TIME",
        "time each reference solver may take", .default_text = "60"),
    OPT(struct optimize_args, churn, INT, "churn", 0, "EVENTS",
        "arrivals, departures and changes to time", .min = 0, .max = 1000000,
        .default_text = "0"),
    OPT(struct optimize_args, small, INT, "small", 0, "COUNT",
        "instances of 10 to 100 jobs to compare with their exact optimum", .min = 0,
        .max = 100000, .default_text = "0"),
    OPT(struct optimize_args, json, FLAG, "json", 'j', NULL,
        "print JSON instead of a table"),
    {0},
};

#undef AT

/* "a,b" in place to pointers into text; false when there are too many or an empty one. */
static bool split(char *text, const char **items, int *count)
{
    char *rest = NULL;

    for (char *item = strtok_r(text, ",", &rest); item;
         item = strtok_r(NULL, ",", &rest)) {
        if (*count == BENCH_OPTIMIZE_MAX_LIST)
            return false;
        items[(*count)++] = item;
    }
    return *count > 0;
}

/* Sizes with commas between into jobs (most); their number, or -1. */
static int fill_sizes(int *jobs, int most, int largest, char *text, struct err *err)
{
    const char *items[BENCH_OPTIMIZE_MAX_LIST];
    int count = 0;

    if (!split(text, items, &count) || count > most)
        return err_set(err, ERR_USAGE, "--jobs wants 1 to %d sizes", most);
    for (int i = 0; i < count; i++)
        if (!parse_int(items[i], &jobs[i]) || jobs[i] < 1 || jobs[i] > largest)
            return err_set(err, ERR_USAGE, "--jobs %s is not within 1 and %d", items[i],
                           largest);
    return count;
}

static int run_optimize(struct command_call *call)
{
    const struct optimize_args *args = call->args;
    char *sizes = mem_strdup(args->jobs), *solvers = mem_strdup(args->solver);
    struct bench_optimize_options o = {
        .types = args->types,
        .seed = args->seed,
        .throughputs = args->throughputs,
        .devices_per_job = args->devices_per_job,
        .multi = args->multi,
        .progress_watts = args->progress_watts,
        .host_watts = args->host_watts,
        .limit_s = args->limit_s,
        .caps = args->caps,
        .sleep = args->sleep,
        .distinct = args->distinct,
        .no_lp = args->no_lp,
        .churn = args->churn,
        .small = args->small,
        .json = args->json,
    };
    struct err err = {0};
    int status = 0;

    o.jobs_count = fill_sizes(o.jobs, BENCH_OPTIMIZE_MAX_LIST, 1000000, sizes, &err);
    if (o.jobs_count < 0)
        status = command_wrong_use(call, "%s", err.text);
    else if (!split(solvers, o.solvers, &o.solver_count))
        status = command_wrong_use(call, "--solver names no solver");
    else if (bench_optimize_main(&o, stdout, &err) < 0)
        status = command_failed(call, &err);
    free(sizes);
    free(solvers);
    return status;
}

static const struct command bench_optimize = {
    .name = "optimize",
    .summary = "time the optimizer and prove how near it is",
    .help = "Draw instances, place their jobs, and print processor time, cost, a proven "
            "lower "
            "bound and the gap; beside it, on the same instances, reference solvers.",
    .examples = "corgi bench optimize --jobs 1000,10000\n"
                "corgi bench optimize --jobs 30 --solver all\n"
                "corgi bench optimize --jobs 1000 --churn 2000\n"
                "corgi bench optimize --small 200",
    .options = optimize_options,
    .args_size = sizeof(struct optimize_args),
    .run = run_optimize,
};

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

static int run_plan(struct command_call *call)
{
    const struct plan_args *args = call->args;
    char *sizes = mem_strdup(args->jobs);
    struct bench_plan_options o = {
        .events = args->events, .seed = args->seed, .json = args->json};
    struct err err = {0};
    int status = 0;

    o.jobs_count =
        fill_sizes(o.jobs, BENCH_PLAN_MAX_SIZES, BENCH_PLAN_MOST_JOBS, sizes, &err);
    if (o.jobs_count < 0)
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

static const struct command *const children[] = {&bench_estimate, &bench_optimize,
                                                 &bench_plan, &bench_store, NULL};

const struct command cmd_bench = {
    .name = "bench",
    .summary = "measure Corgi's own speed",
    .children = children,
};
