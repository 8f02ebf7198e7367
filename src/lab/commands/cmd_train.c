/* cmd_train.c - corgi train: pre-train the networks on the synthetic world */
#include "corgi/commands.h"

#include "lab/eval/train.h"

#include <stdio.h>

static const struct option_spec options[] = {
    OPT(struct train_options, out, STRING, "out", 'o', "DIR",
        "write the weights there; without it only the errors are reported"),
    OPT(struct train_options, seed, U64, "seed", 's', "N",
        "seed of the worlds and the weights", .default_text = "1"),
    OPT(struct train_options, worlds, INT, "worlds", 0, "N",
        "synthetic worlds to learn from; 0 is what the shipped weights saw", .min = 0,
        .max = 1000000, .default_text = "0"),
    OPT(struct train_options, steps, INT, "steps", 0, "N",
        "steps of each network; 0 is what the shipped weights took", .min = 0,
        .max = 10000000, .default_text = "0"),
    {0},
};

static int run(struct command_call *call)
{
    struct train_options *args = call->args;
    struct err err = {0};

    args->progress = true;
    return train_main(args, stdout, &err) < 0 ? command_failed(call, &err) : 0;
}

const struct command cmd_train = {
    .name = "train",
    .summary = "pre-train the networks on the synthetic world",
    .help =
        "The weights Corgi ships were made by this command.  They have seen no measured "
        "data of anyone's: what a cluster is like, Corgi learns there.",
    .examples = "corgi train --seed 1 --out weights",
    .options = options,
    .args_size = sizeof(struct train_options),
    .run = run,
};
