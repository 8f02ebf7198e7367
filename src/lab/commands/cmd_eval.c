/* cmd_eval.c - corgi eval: how good the estimates are on measured tables */
#include "corgi/commands.h"

#include "lab/eval/eval.h"

#include <stdio.h>

static const struct option_spec options[] = {
    {.name = "throughputs",
     .letter = 't',
     .type = OPTION_STRING,
     .argument = "FILE",
     .offset = offsetof(struct eval_options, throughputs),
     .help = "the measured table; 'synthetic' draws one from the seed"},
    {.name = "types",
     .type = OPTION_INT,
     .argument = "N",
     .min = 0,
     .max = 16,
     .default_text = "3",
     .offset = offsetof(struct eval_options, types),
     .help = "GPU types of a synthetic table"},
    {.name = "jobs",
     .type = OPTION_INT,
     .argument = "N",
     .min = 0,
     .max = 100,
     .default_text = "0",
     .offset = offsetof(struct eval_options, jobs),
     .help = "kinds of jobs in a synthetic table at most, 8 or more; 0 is up to 36"},
    {.name = "format",
     .type = OPTION_STRING,
     .argument = "NAME",
     .offset = offsetof(struct eval_options, format),
     .help = "gavel (JSON) or csv [by the file's name]"},
    {.name = "descriptors",
     .letter = 'd',
     .type = OPTION_STRING,
     .argument = "FILE",
     .offset = offsetof(struct eval_options, descriptors),
     .help = "what users would tell of each job family, as CSV"},
    {.name = "sheets",
     .type = OPTION_STRING,
     .argument = "FILE",
     .offset = offsetof(struct eval_options, sheets),
     .help = "data sheets of GPUs that are not in the catalogue, as CSV"},
    {.name = "protocol",
     .letter = 'p',
     .type = OPTION_STRING,
     .argument = "NAME",
     .default_text = "lofo",
     .offset = offsetof(struct eval_options, protocol),
     .help =
         "lofo and lojo leave a family or a job type out, online plays arrivals, power "
         "predicts watts"},
    {.name = "arch",
     .letter = 'a',
     .type = OPTION_STRING,
     .argument = "NAME",
     .offset = offsetof(struct eval_options, arch),
     .help = "only blend, core, ff, gru, transformer or baseline [all]"},
    {.name = "seed",
     .letter = 's',
     .type = OPTION_U64,
     .argument = "N",
     .default_text = "1",
     .offset = offsetof(struct eval_options, seed),
     .help = "seed of all draws"},
    {.name = "seeds",
     .type = OPTION_INT,
     .argument = "N",
     .min = 0,
     .max = 100,
     .default_text = "3",
     .offset = offsetof(struct eval_options, seeds),
     .help = "repetitions the spread is taken over"},
    {.name = "curve",
     .type = OPTION_STRING,
     .argument = "FILE",
     .offset = offsetof(struct eval_options, curve),
     .help = "write the learning curve there as SVG"},
    {.name = "json",
     .letter = 'j',
     .type = OPTION_FLAG,
     .offset = offsetof(struct eval_options, json),
     .help = "print JSON instead of a table"},
    {0},
};

static int run(struct command_call *call)
{
    const struct eval_options *args = call->args;
    struct err err = {0};

    if (!args->throughputs)
        return command_wrong_use(call, "--throughputs names no table");
    return eval_main(args, stdout, &err) < 0 ? command_failed(call, &err) : 0;
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
