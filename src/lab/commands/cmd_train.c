/* cmd_train.c - corgi train: the networks that ship, from the synthetic world alone
 *
 * Trains alone, and p1 and p2 in each architecture from the same games with as many
 * steps, writes DIR/NAME.bin of each and prints held-out errors. */
#include "corgi/commands.h"

#include "base/file.h"
#include "base/mem.h"
#include "lab/commands/progress.h"
#include "lab/eval/eval.h"
#include "lab/eval/eval_score.h"
#include "lab/eval/train_pairs.h"
#include "lab/eval/wide_worlds.h"
#include "nn/weights.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALONE_WORLDS 3000
#define ALONE_STEPS  8000
#define PAIRS_WORLDS 2500
#define PAIRS_STEPS  6000
#define BATCH        512 /* rows for rates alone, */
#define GAMES_A_STEP 48  /* and games for P1 and P2 */
#define RATE         2e-3
#define SHOWN_WORLDS 150 /* for where a measured table lies */

struct train_args {
    const char *out;
    uint64_t seed;
    int worlds;          /* 0: ALONE_WORLDS */
    int steps;           /* likewise */
    const char *model;   /* architecture of P1 and P2; NULL: all */
    const char *compare; /* only say where this table lies among the worlds */
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
    OPT(struct train_args, model, STRING, "model", 'm', "NAME",
        "only P1 and P2 of this architecture: ff, gru or transformer"),
    OPT(struct train_args, compare, STRING, "compare", 0, "FILE",
        "train nothing: say where this measured table lies among the worlds P1 and P2 "
        "learn from"),
    {0},
};

static void train(struct statnet *net, const struct train_data *data, const char *name,
                  const struct train_args *o)
{
    int steps = o->steps > 0 ? o->steps : ALONE_STEPS;
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

static int save(const struct params *params, const struct train_args *o, const char *name,
                struct err *err)
{
    struct str bytes = {0};
    char path[512];
    int rc;

    if (!o->out)
        return 0;
    snprintf(path, sizeof(path), "%s/%s.bin", o->out, name);
    rc = weights_encode(params, "trained on the synthetic world", &bytes, err);
    if (rc == 0)
        rc = file_write(path, bytes.text, bytes.length, err);
    str_fini(&bytes);
    return rc;
}

static int train_alone(const struct train_args *o, FILE *out, struct err *err)
{
    int worlds = o->worlds > 0 ? o->worlds : ALONE_WORLDS, rc;
    struct train_data data, test;
    struct progress progress;
    const struct train_listener listener = {progress_show, &progress};
    struct statnet *net;
    struct rng rng;

    rng_stream(&rng, o->seed, 62);
    net = statnet_create("alone", &rng);
    progress_init_stderr(&progress, "drawing synthetic worlds");
    train_alone_init(&data, worlds, o->seed, &listener);
    train_alone_init(&test, worlds / 10 + 1, o->seed + 1000, &listener);
    progress_end(&progress);
    train(net, &data, "training the network alone", o);
    report(net, "alone", &test, out);
    rc = save(net->params, o, "alone", err);
    train_data_fini(&data);
    train_data_fini(&test);
    statnet_destroy(net);
    return rc;
}

/* ---- P1 and P2 ----------------------------------------------------------------------
 */

static void train_network(struct attention *net, const struct train_games *games,
                          const char *name, const struct train_args *o)
{
    int steps = o->steps > 0 ? o->steps : PAIRS_STEPS;
    struct attention_trainer *trainer = attention_trainer_create(net, RATE, steps);
    struct attention_case *batch[GAMES_A_STEP];
    struct progress progress;
    char label[64];
    struct rng rng;

    snprintf(label, sizeof(label), "training the network %s", name);
    progress_init_stderr(&progress, label);
    rng_stream(&rng, o->seed, 50);
    for (int t = 0; t < steps && games->count > 0; t++) {
        for (int i = 0; i < GAMES_A_STEP; i++)
            batch[i] = games->cases[rng_below(&rng, games->count)];
        attention_train_step(trainer, batch, GAMES_A_STEP);
        progress_show(&progress, (t + 1.0) / steps);
    }
    attention_repack(net);
    attention_trainer_destroy(trainer);
}

/* Mean |error| of the network and of the column means it starts from. */
static void report_network(const struct attention *net, const char *name,
                           const struct train_games *test, FILE *out)
{
    double error = 0, start = 0;
    size_t cells = 0;

    for (size_t i = 0; i < test->count; i++) {
        const struct attention_case *c = test->cases[i];
        struct attention_guess *said =
            mem_array(struct attention_guess, (size_t)c->cells + 1);

        attention_answer(net, c, said);
        for (int q = 0; q < c->cells; q++, cells++) {
            error += fabs(said[q].mean - (double)c->target[q]);
            start += fabs((double)(c->centre[q] - c->target[q]));
        }
        free(said);
    }
    fprintf(out, "%s: mean log error %.4f, column means %.4f, %zu new cells\n", name,
            error / (double)cells, start / (double)cells, cells);
}

/* The file of a network, without the end; also the head of its line. */
static void name_network(char *name, size_t size, bool refined, int kind)
{
    snprintf(name, size, "%s%s%s", refined ? "p2" : "p1",
             kind == SET_READER_FF ? "" : "-",
             kind == SET_READER_FF ? "" : set_reader_names[kind]);
}

static int train_one(bool refined, enum set_reader_kind kind,
                     const struct train_games *games, const struct train_games *test,
                     const struct train_args *o, FILE *out, struct err *err)
{
    struct attention *net;
    struct rng rng;
    char name[32];
    int rc;

    name_network(name, sizeof(name), refined, (int)kind);
    rng_stream(&rng, o->seed, 60 + (uint64_t)refined);
    net = attention_create(refined ? "p2" : "p1", kind, &rng);
    train_network(net, games, name, o);
    report_network(net, name, test, out);
    rc = save(net->params, o, name, err);
    attention_destroy(net);
    return rc;
}

/* All architectures from the same games, with as many steps. */
static int train_pairs(bool refined, const struct train_args *o, FILE *out,
                       struct err *err)
{
    int worlds = o->worlds > 0 ? o->worlds : PAIRS_WORLDS, rc = 0;
    struct train_games games, test;
    struct progress progress;
    const struct train_listener listener = {progress_show, &progress};

    progress_init_stderr(&progress, "drawing synthetic worlds");
    train_games_init(&games, worlds, refined, o->seed, &listener);
    train_games_init(&test, worlds / 20 + 1, refined, o->seed + 1000, &listener);
    progress_end(&progress);
    for (int kind = 0; kind < SET_READER_KINDS && rc == 0; kind++)
        if (!o->model || kind == set_reader_find(o->model))
            rc = train_one(refined, (enum set_reader_kind)kind, &games, &test, o, out,
                           err);
    train_games_fini(&games);
    train_games_fini(&test);
    return rc;
}

/* ---- where a measured table lies ----------------------------------------------------
 */

static int compare(const struct train_args *o, FILE *out, struct err *err)
{
    double worlds[WIDE_MEASURES][SHOWN_WORLDS], at[WIDE_MEASURES], one[WIDE_MEASURES];
    struct measured *table;
    struct rng rng;

    if (eval_load_measured(&table, o->compare, o->seed, err) < 0)
        return -1;
    wide_world_measure(table, at);
    measured_destroy(table);
    rng_stream(&rng, o->seed, 70);
    for (int w = 0; w < SHOWN_WORLDS; w++) {
        table = wide_world_draw(&rng);
        wide_world_measure(table, one);
        measured_destroy(table);
        for (int m = 0; m < WIDE_MEASURES; m++)
            worlds[m][w] = one[m];
    }
    fprintf(out, "%-24s %8s %8s %8s %8s  percentile\n", "", "5 %", "median", "95 %",
            "table");
    for (int m = 0; m < WIDE_MEASURES; m++) {
        int below = 0;

        for (int w = 0; w < SHOWN_WORLDS; w++)
            below += worlds[m][w] < at[m];
        fprintf(out, "%-24s %8.3f %8.3f %8.3f %8.3f  %d\n", wide_measure_names[m],
                score_error_quantile(worlds[m], SHOWN_WORLDS, 0.05),
                score_error_quantile(worlds[m], SHOWN_WORLDS, 0.5),
                score_error_quantile(worlds[m], SHOWN_WORLDS, 0.95), at[m],
                100 * below / SHOWN_WORLDS);
    }
    return 0;
}

static int run(struct command_call *call)
{
    const struct train_args *args = call->args;
    struct err err = {0};
    int rc = 0;

    if (args->out && strlen(args->out) > 400)
        rc = err_set(&err, ERR_LIMIT, "the path %.40s... is too long", args->out);
    else if (args->compare)
        rc = compare(args, stdout, &err);
    else if (args->model && set_reader_find(args->model) < 0)
        rc = err_set(&err, ERR_USAGE, "no model '%.40s': ff, gru or transformer",
                     args->model);
    else if ((args->model || (rc = train_alone(args, stdout, &err)) == 0) &&
             (rc = train_pairs(false, args, stdout, &err)) == 0)
        rc = train_pairs(true, args, stdout, &err);
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
