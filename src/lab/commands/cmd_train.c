/* cmd_train.c - corgi train: pre-train the networks on the synthetic world */
#include "corgi/commands.h"

#include "lab/eval/train.h"

#include <stdio.h>

static const struct option_spec options[] = {
    {.name = "out",
     .letter = 'o',
     .type = OPTION_STRING,
     .argument = "DIR",
     .offset = offsetof(struct train_options, out),
     .help = "write the weights there; without it only the errors are reported"},
    {.name = "seed",
     .letter = 's',
     .type = OPTION_U64,
     .argument = "N",
     .default_text = "1",
     .offset = offsetof(struct train_options, seed),
     .help = "seed of the worlds and the weights"},
    {.name = "worlds",
     .type = OPTION_INT,
     .argument = "N",
     .min = 0,
     .max = 1000000,
     .default_text = "0",
     .offset = offsetof(struct train_options, worlds),
     .help = "synthetic worlds to learn from; 0 is what the shipped weights saw"},
    {.name = "steps",
     .type = OPTION_INT,
     .argument = "N",
     .min = 0,
     .max = 10000000,
     .default_text = "0",
     .offset = offsetof(struct train_options, steps),
     .help = "steps of each network; 0 is what the shipped weights took"},
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
