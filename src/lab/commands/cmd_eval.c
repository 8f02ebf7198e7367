/* cmd_eval.c - corgi eval: how good the estimates are on measured tables */
#include "corgi/commands.h"

#include "lab/commands/progress.h"
#include "lab/eval/eval.h"

#include <stdio.h>

static const struct option_spec options[] = {
    OPT(struct eval_options, throughputs, STRING, "throughputs", 't', "FILE",
        "the measured table; 'synthetic' draws one from the seed"),
    OPT(struct eval_options, types, INT, "types", 0, "N",
        "GPU types of a synthetic table", .min = 0, .max = 16, .default_text = "3"),
    OPT(struct eval_options, jobs, INT, "jobs", 0, "N",
        "kinds of jobs in a synthetic table at most, 8 or more; 0 is up to 36", .min = 0,
        .max = 100, .default_text = "0"),
    OPT(struct eval_options, format, STRING, "format", 0, "NAME",
        "gavel (JSON) or csv [by the file's name]"),
    OPT(struct eval_options, descriptors, STRING, "descriptors", 'd', "FILE",
        "what users would tell of each job family, as CSV"),
    OPT(struct eval_options, counters, STRING, "counters", 'c', "FILE",
        "what was counted of each job while it ran alone, as CSV; 'watts' takes the draw "
        "that the table has itself"),
    OPT(struct eval_options, sheets, STRING, "sheets", 0, "FILE",
        "data sheets of GPUs that are not in the catalogue, as CSV"),
    OPT(struct eval_options, protocol, STRING, "protocol", 'p', "NAME",
        "lofo and lojo leave a family or a job type out, online plays arrivals, power "
        "predicts watts",
        .default_text = "lofo"),
    OPT(struct eval_options, arch, STRING, "arch", 'a', "NAME",
        "only blend, core, networks or baseline; all leaves each part out in turn too, "
        "models compares P1 and P2 in each architecture as they ship, alone and in the "
        "blend"),
    OPT(struct eval_options, seed, U64, "seed", 's', "N", "seed of all draws",
        .default_text = "1"),
    OPT(struct eval_options, seeds, INT, "seeds", 0, "N",
        "repetitions the spread is taken over", .min = 0, .max = 100,
        .default_text = "3"),
    OPT(struct eval_options, curve, STRING, "curve", 0, "FILE",
        "write the learning curve there as SVG"),
    OPT(struct eval_options, json, FLAG, "json", 'j', NULL,
        "print JSON instead of a table"),
    {0},
};

static int run(struct command_call *call)
{
    struct eval_options *args = call->args;
    struct progress progress;
    struct err err = {0};
    int rc;

    if (!args->throughputs)
        return command_wrong_use(call, "--throughputs names no table");
    progress_init_stderr(&progress, "evaluating");
    args->progress = progress_show;
    args->progress_ctx = &progress;
    rc = eval_main(args, stdout, &err);
    progress_end(&progress);
    return rc < 0 ? command_failed(call, &err) : 0;
}

const struct command cmd_eval = {
    .name = "eval",
    .summary = "score the estimates on a measured table",
    .help =
        "Hold job families, job types or arrivals back, predict them, and print the "
        "error "
        "and the coverage of the intervals beside every baseline.  Tables are split by "
        "family or by job, never by row.",
    .examples = "corgi eval --throughputs rates.json --protocol lojo\n"
                "corgi eval --throughputs rates.csv --protocol online --curve curve.svg",
    .options = options,
    .args_size = sizeof(struct eval_options),
    .run = run,
};
