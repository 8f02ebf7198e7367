/* train.c - `corgi train`: cmd_train.c calls it and gets a file of weights */
#include "lab/eval/train.h"

#include "base/file.h"
#include "base/mem.h"
#include "lab/eval/train_alone.h"
#include "nn/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WORLDS_DEFAULT 3000
#define STEPS_DEFAULT  8000
#define BATCH          512
#define RATE           2e-3
#define BAR_WIDTH      40

static void show(const char *name, int done, int all)
{
    int filled = BAR_WIDTH * done / all;

    fprintf(stderr, "\r%s [%.*s%*s] %3d %%%s", name, filled,
            "########################################", BAR_WIDTH - filled, "",
            100 * done / all, done == all ? "\n" : "");
}

static void train(struct statnet *net, const struct train_data *data, const char *name,
                  const struct train_options *o)
{
    int steps = o->steps > 0 ? o->steps : STEPS_DEFAULT;
    struct statnet_trainer *trainer = statnet_trainer_create(net, RATE, steps);
    struct statnet_row *batch = mem_array(struct statnet_row, BATCH);
    struct rng rng;

    rng_stream(&rng, o->seed, 50);
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < BATCH; i++)
            batch[i] = data->rows[rng_below(&rng, data->count)];
        statnet_train_step(trainer, batch, BATCH);
        if (o->progress && (t + 1) % (steps / 50 + 1) == 0)
            show(name, t + 1, steps);
    }
    if (o->progress)
        show(name, steps, steps);
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
    if (lesson == LESSON_ALONE)
        train_alone_init(data, worlds, seed);
    else
        train_data_init(data, worlds, lesson == LESSON_P1, seed);
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

static int train_one(const char *name, enum lesson lesson, const struct train_options *o,
                     FILE *out, struct err *err)
{
    int worlds = o->worlds > 0 ? o->worlds : WORLDS_DEFAULT;
    struct train_data data, test;
    struct statnet *net;
    char path[512];
    struct rng rng;
    int rc = 0;

    rng_stream(&rng, o->seed, 60 + (uint64_t)lesson);
    net = statnet_create(name, &rng);
    draw(&data, lesson, worlds, o->seed);
    draw(&test, lesson, worlds / 10 + 1, o->seed + 1000);
    train(net, &data, name, o);
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

int train_main(const struct train_options *options, FILE *out, struct err *err)
{
    if (options->out && strlen(options->out) > 400)
        return err_set(err, ERR_LIMIT, "the path %.40s... is too long", options->out);
    if (train_one("alone", LESSON_ALONE, options, out, err) < 0 ||
        train_one("p1", LESSON_P1, options, out, err) < 0 ||
        train_one("p2", LESSON_P2, options, out, err) < 0)
        return -1;
    return 0;
}
