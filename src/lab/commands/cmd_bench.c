/* cmd_bench.c - corgi bench: how fast and how near, measured on this machine */
#include "corgi/commands.h"

#include "base/mem.h"
#include "base/parse.h"
#include "lab/bench/bench_estimate.h"
#include "lab/bench/bench_optimize.h"
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

#define AT(field) .offset = offsetof(struct optimize_args, field)

static const struct option_spec optimize_options[] = {
    {.name = "jobs",
     .letter = 'n',
     .type = OPTION_STRING,
     .argument = "LIST",
     .default_text = "1000",
     AT(jobs),
     .help = "sizes to run, with commas between"},
    {.name = "types",
     .type = OPTION_INT,
     .argument = "K",
     .min = 0,
     .max = 64,
     .default_text = "0",
     AT(types),
     .help = "GPU types; 0 is what the table has"},
    {.name = "seed",
     .letter = 's',
     .type = OPTION_U64,
     .argument = "N",
     .default_text = "1",
     AT(seed),
     .help = "seed of the instance"},
    {.name = "throughputs",
     .type = OPTION_STRING,
     .argument = "FILE",
     AT(throughputs),
     .help = "measured rates as Gavel's JSON, instead of the synthetic world"},
    {.name = "solver",
     .type = OPTION_STRING,
     .argument = "LIST",
     .default_text = "corgi",
     AT(solver),
     .help =
         "corgi, brute, exact, cbc, paper, colgen, gavel, with commas between, or all"},
    {.name = "devices-per-job",
     .type = OPTION_DOUBLE,
     .argument = "X",
     .min = 0.01,
     .max = 100,
     .default_text = "0.6",
     AT(devices_per_job),
     .help = "devices there are for each job"},
    {.name = "multi",
     .type = OPTION_DOUBLE,
     .argument = "SHARE",
     .min = 0,
     .max = 1,
     .default_text = "0",
     AT(multi),
     .help = "share of jobs on several devices"},
    {.name = "progress",
     .type = OPTION_WATTS,
     .argument = "WATTS",
     .default_text = "0",
     AT(progress_watts),
     .help = "price of progress; 0 is power alone"},
    {.name = "host",
     .type = OPTION_WATTS,
     .argument = "WATTS",
     .default_text = "0",
     AT(host_watts),
     .help = "host power of nodes of four devices; 0: devices are counted"},
    {.name = "caps", .type = OPTION_FLAG, AT(caps), .help = "power caps may be set"},
    {.name = "sleep", .type = OPTION_FLAG, AT(sleep), .help = "nodes may sleep"},
    {.name = "distinct",
     .type = OPTION_FLAG,
     AT(distinct),
     .help = "every job has factors of its own"},
    {.name = "no-lp",
     .type = OPTION_FLAG,
     AT(no_lp),
     .help = "prices by sampling, no LP"},
    {.name = "limit",
     .type = OPTION_SECONDS,
     .argument = "TIME",
     .default_text = "60",
     AT(limit_s),
     .help = "time each reference solver may take"},
    {.name = "churn",
     .type = OPTION_INT,
     .argument = "EVENTS",
     .min = 0,
     .max = 1000000,
     .default_text = "0",
     AT(churn),
     .help = "arrivals, departures and changes to time"},
    {.name = "small",
     .type = OPTION_INT,
     .argument = "COUNT",
     .min = 0,
     .max = 100000,
     .default_text = "0",
     AT(small),
     .help = "instances of 10 to 100 jobs to compare with their exact optimum"},
    {.name = "json",
     .letter = 'j',
     .type = OPTION_FLAG,
     AT(json),
     .help = "print JSON instead of a table"},
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

static int fill_sizes(struct bench_optimize_options *o, char *text, struct err *err)
{
    const char *items[BENCH_OPTIMIZE_MAX_LIST];
    int count = 0;

    if (!split(text, items, &count))
        return err_set(err, ERR_USAGE, "--jobs wants 1 to %d sizes",
                       BENCH_OPTIMIZE_MAX_LIST);
    for (int i = 0; i < count; i++)
        if (!parse_int(items[i], &o->jobs[i]) || o->jobs[i] < 1 || o->jobs[i] > 1000000)
            return err_set(err, ERR_USAGE, "--jobs %s is not within 1 and 1000000",
                           items[i]);
    o->jobs_count = count;
    return 0;
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

    if (fill_sizes(&o, sizes, &err) < 0)
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
    {.name = "gpus",
     .type = OPTION_INT,
     .argument = "K",
     .min = 1,
     .max = 64,
     .default_text = "8",
     .offset = offsetof(struct bench_estimate_options, gpus),
     .help = "GPU types"},
    {.name = "corunners",
     .type = OPTION_INT,
     .argument = "N",
     .min = 1,
     .max = 100000,
     .default_text = "1000",
     .offset = offsetof(struct bench_estimate_options, corunners),
     .help = "jobs the new one may run beside"},
    {.name = "observations",
     .type = OPTION_INT,
     .argument = "N",
     .min = 1,
     .max = 100000,
     .default_text = "1000",
     .offset = offsetof(struct bench_estimate_options, observations),
     .help = "measurements remembered"},
    {.name = "seed",
     .letter = 's',
     .type = OPTION_U64,
     .argument = "N",
     .default_text = "1",
     .offset = offsetof(struct bench_estimate_options, seed),
     .help = "seed of the jobs"},
    {.name = "json",
     .letter = 'j',
     .type = OPTION_FLAG,
     .offset = offsetof(struct bench_estimate_options, json),
     .help = "print JSON instead of a table"},
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

static const struct option_spec store_options[] = {
    {.name = "dir",
     .letter = 'd',
     .type = OPTION_STRING,
     .argument = "DIR",
     .offset = offsetof(struct bench_store_options, dir),
     .help = "folder on the disk to measure [the present one]"},
    {.name = "seconds",
     .type = OPTION_SECONDS,
     .argument = "TIME",
     .min = 0.1,
     .max = 3600,
     .default_text = "3",
     .offset = offsetof(struct bench_store_options, seconds),
     .help = "length of each run"},
    {.name = "rate",
     .type = OPTION_DOUBLE,
     .argument = "N",
     .min = 1,
     .max = 100000,
     .default_text = "200",
     .offset = offsetof(struct bench_store_options, per_s),
     .help = "submissions a second of the steady run"},
    {.name = "keep",
     .type = OPTION_FLAG,
     .offset = offsetof(struct bench_store_options, keep),
     .help = "leave the last store there, as bench.db"},
    {.name = "json",
     .letter = 'j',
     .type = OPTION_FLAG,
     .offset = offsetof(struct bench_store_options, json),
     .help = "print JSON instead of a table"},
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
                                                 &bench_store, NULL};

const struct command cmd_bench = {
    .name = "bench",
    .summary = "measure Corgi's own speed",
    .children = children,
};
