/* cmd_train.c - corgi train: the networks that ship, from the synthetic world alone
 *
 * Trains alone, p1 and p2, writes DIR/NAME.bin of each and prints held-out errors. */
#include "corgi/commands.h"

#include "base/file.h"
#include "base/mem.h"
#include "lab/commands/progress.h"
#include "lab/eval/train_data.h"
#include "nn/weights.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORLDS_DEFAULT 3000
#define STEPS_DEFAULT  8000
#define BATCH          512
#define RATE           2e-3

struct train_args {
    const char *out;
    uint64_t seed;
    int worlds; /* 0: WORLDS_DEFAULT */
    int steps;  /* 0: STEPS_DEFAULT */
};

static const struct option_spec options[] = {
    OPT(struct train_args, out, STRING, "out", 'o', "DIR",
        "write the weights there; without it only the errors are reported"),
    OPT(struct train_args, seed, U64, "seed", 's', "N",
        "seed of the worlds and the weights", .default_text = "1"),
    OPT(struct train_args, worlds, INT, "worlds", 0, "N",
        "synthetic worlds to learn from; 0 is what the shipped weights saw", .min = 0,
        .max = 1000000, .default_text = "0"),
    OPT(struct train_args, steps, INT, "steps", 0, "N",
        "steps of each network; 0 is what the shipped weights took", .min = 0,
        .max = 10000000, .default_text = "0"),
    {0},
};

static void train(struct statnet *net, const struct train_data *data, const char *name,
                  const struct train_args *o)
{
    int steps = o->steps > 0 ? o->steps : STEPS_DEFAULT;
    struct statnet_trainer *trainer = statnet_trainer_create(net, RATE, steps);
    struct statnet_row *batch = mem_array(struct statnet_row, BATCH);
    struct progress progress;
    struct rng rng;

    progress_init_stderr(&progress, name);
    rng_stream(&rng, o->seed, 50);
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < BATCH; i++)
            batch[i] = data->rows[rng_below(&rng, data->count)];
        statnet_train_step(trainer, batch, BATCH);
        progress_show(&progress, (t + 1.0) / steps);
    }
    statnet_repack(net);
    free(batch);
    statnet_trainer_destroy(trainer);
}

/* Mean |error| of the network and of what it starts from. */
static void report(const struct statnet *net, const char *name,
                   const struct train_data *test, FILE *out)
{
    struct statnet_guess *guesses = mem_array(struct statnet_guess, test->count + 1);
    double error = 0, start = 0;

    statnet_predict(net, test->rows, test->count, guesses);
    for (size_t i = 0; i < test->count; i++) {
        error += fabs(guesses[i].mean - (double)test->rows[i].target);
        start += fabs((double)(test->rows[i].base - test->rows[i].target));
    }
    fprintf(out, "%s: mean log error %.4f, without it %.4f, %zu new cells\n", name,
            error / (double)test->count, start / (double)test->count, test->count);
    free(guesses);
}

enum lesson { LESSON_P2, LESSON_P1, LESSON_ALONE };

static void draw(struct train_data *data, enum lesson lesson, int worlds, uint64_t seed)
{
    struct progress progress;
    const struct train_listener listener = {progress_show, &progress};

    progress_init_stderr(&progress, "drawing synthetic worlds");
    if (lesson == LESSON_ALONE)
        train_alone_init(data, worlds, seed, &listener);
    else
        train_data_init(data, worlds, lesson == LESSON_P1, seed, &listener);
    progress_end(&progress);
}

static int save(const struct statnet *net, const char *path, struct err *err)
{
    struct str bytes = {0};
    int rc = weights_encode(net->params, "trained on the synthetic world", &bytes, err);

    if (rc == 0)
        rc = file_write(path, bytes.text, bytes.length, err);
    str_fini(&bytes);
    return rc;
}

static int train_one(const char *name, enum lesson lesson, const struct train_args *o,
                     FILE *out, struct err *err)
{
    int worlds = o->worlds > 0 ? o->worlds : WORLDS_DEFAULT;
    struct train_data data, test;
    struct statnet *net;
    char path[512], label[64];
    struct rng rng;
    int rc = 0;

    snprintf(label, sizeof(label), "training the network %s", name);
    rng_stream(&rng, o->seed, 60 + (uint64_t)lesson);
    net = statnet_create(name, &rng);
    draw(&data, lesson, worlds, o->seed);
    draw(&test, lesson, worlds / 10 + 1, o->seed + 1000);
    train(net, &data, label, o);
    report(net, name, &test, out);
    if (o->out) {
        snprintf(path, sizeof(path), "%s/%s.bin", o->out, name);
        rc = save(net, path, err);
    }
    train_data_fini(&data);
    train_data_fini(&test);
    statnet_destroy(net);
    return rc;
}

static int run(struct command_call *call)
{
    static const char *const names[] = {"alone", "p1", "p2"};
    static const enum lesson lessons[] = {LESSON_ALONE, LESSON_P1, LESSON_P2};
    const struct train_args *args = call->args;
    struct err err = {0};
    int rc = 0;

    if (args->out && strlen(args->out) > 400)
        rc = err_set(&err, ERR_LIMIT, "the path %.40s... is too long", args->out);
    for (int i = 0; i < 3 && rc == 0; i++)
        rc = train_one(names[i], lessons[i], args, stdout, &err);
    return rc < 0 ? command_failed(call, &err) : 0;
}

const struct command cmd_train = {
    .name = "train",
    .summary = "pre-train the networks on the synthetic world",
    .help =
        "The weights Corgi ships were made by this command.  They have seen no measured "
        "data of anyone's: what a cluster is like, Corgi learns there.",
    .examples = "corgi train --seed 1 --out weights",
    .options = options,
    .args_size = sizeof(struct train_args),
    .run = run,
};
