/* train_pairs.c - games for P1 and P2 from widened synthetic worlds, for cmd_train.c
 *
 * A family or a job is held out of a catalogue that is full or, as on a cluster, has
 * holes; some of its pairs are shown and others asked for. */
#include "lab/eval/train_pairs.h"

#include "base/mem.h"
#include "base/vec.h"
#include "lab/eval/fold.h"
#include "lab/eval/wide_worlds.h"
#include "model/p2.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CELLS_A_GAME    64
#define GAMES_OF_FAMILY 6
#define GAMES_OF_JOB    3
#define KNOWN_MIN       5 /* jobs */

/* Chances: of a catalogue with holes, of a job or a table without rates, of a table whose
 * work nobody told. */
#define HOLES       0.35
#define RATES_OUT   0.15
#define ALL_UNRATED 0.1
#define ALL_UNTOLD  0.15

struct game_table {
    const struct measured *t;
    double *rates;      /* (jobs, gpus) */
    struct cell *cells; /* what is known of the catalogue */
    double *values;
    size_t count;
    bool *hidden; /* (jobs) */
};

struct game_builder {
    vec_of(struct attention_case *) cases;
    struct rng *rng;
    bool refined;
};

/* Everything outside the held-out jobs; with holes both directions of a pair are there or
 * none. */
static void fill_catalogue(struct game_builder *b, struct game_table *g)
{
    const struct measured *t = g->t;
    double there = rng_uniform(b->rng) < HOLES ? rng_range(b->rng, 0.05, 0.7) : 1;

    g->count = 0;
    for (int j = 0; j < t->jobs; j++)
        for (int k = 0; k <= j; k++)
            for (int type = 0; type < t->gpus; type++) {
                bool kept = rng_uniform(b->rng) < there;
                double value = measured_pair(t, j, type, k);

                if (!kept || isnan(value) || g->hidden[j] || g->hidden[k])
                    continue;
                g->cells[g->count] = (struct cell){j, type, k};
                g->values[g->count++] = value;
                if (j == k)
                    continue;
                g->cells[g->count] = (struct cell){k, type, j};
                g->values[g->count++] = measured_pair(t, k, type, j);
            }
}

/* Show some of the job's pairs; returns how many of `pairs` are gone. */
static size_t show(struct game_builder *b, const struct game_table *g,
                   struct pair_sight *view, int job, size_t *pairs, size_t count)
{
    static const size_t counts[] = {1, 1, 1, 2, 3, 3, 5, 10, 10};
    size_t shown = b->refined ? counts[rng_below(b->rng, 9)] : 0, used = 0;
    bool both = rng_uniform(b->rng) < 0.5;
    struct cell cells[2 * PAIR_SHOWN_MAX];
    double values[2 * PAIR_SHOWN_MAX];

    fold_draw(b->rng, pairs, count, shown);
    for (size_t i = 0; i < shown && i < count; i++) {
        int type = (int)pairs[i] / g->t->jobs, other = (int)pairs[i] % g->t->jobs;

        cells[used] = (struct cell){job, type, other};
        values[used++] = measured_pair(g->t, job, type, other);
        if (!both)
            continue;
        cells[used] = (struct cell){other, type, job};
        values[used++] = measured_pair(g->t, other, type, job);
    }
    pair_view_show(view, cells, values, used);
    return shown;
}

static void add_game(struct game_builder *b, const struct game_table *g,
                     struct pair_sight *view, int job)
{
    const struct measured *t = g->t;
    size_t *pairs = mem_array(size_t, (size_t)t->jobs * (size_t)t->gpus + 1), count = 0;
    int asked[CELLS_A_GAME];
    struct attention_case *c;
    size_t shown, cells = 0;

    for (int k = 0; k < t->jobs; k++)
        for (int type = 0; type < t->gpus; type++)
            if (!g->hidden[k] && !isnan(measured_pair(t, job, type, k)))
                pairs[count++] = (size_t)(type * t->jobs + k);
    shown = show(b, g, view, job, pairs, count);
    if (count < shown + 4) {
        free(pairs);
        return;
    }
    fold_draw(b->rng, pairs + shown, count - shown, CELLS_A_GAME / 2);
    c = mem_new(struct attention_case);
    for (size_t i = shown; i < count && cells + 2 <= CELLS_A_GAME; i++) {
        int type = (int)pairs[i] / t->jobs, other = (int)pairs[i] % t->jobs;

        asked[cells++] = pair_view_cell(view, PAIR_OWN, type, other);
        asked[cells++] = pair_view_cell(view, PAIR_EFFECT, type, other);
    }
    if (b->refined)
        p2_case(view, asked, cells, c);
    else
        p1_case(view, asked, cells, c);
    c->target = mem_array(nn_real, cells + 1);
    for (size_t i = 0; i < cells; i++) {
        size_t pair = pairs[shown + i / 2];
        int type = (int)pair / t->jobs, other = (int)pair % t->jobs;

        c->target[i] = (nn_real)(i % 2 ? measured_pair(t, other, type, job)
                                       : measured_pair(t, job, type, other));
    }
    vec_push(&b->cases, c);
    free(pairs);
}

static void unrate(struct game_table *g, int job)
{
    for (int type = 0; type < g->t->gpus; type++)
        g->rates[job * g->t->gpus + type] = NAN;
}

/* Games with one of the held-out jobs. */
static void play(struct game_builder *b, struct game_table *g, int games)
{
    const struct measured *t = g->t;
    int hidden = 0, at;
    bool none;

    for (int j = 0; j < t->jobs; j++)
        hidden += g->hidden[j];
    if (t->jobs - hidden < KNOWN_MIN)
        return;
    fill_catalogue(b, g);
    for (int i = 0; i < games; i++) {
        struct pair_catalogue from = {.jobs = t->job,
                                      .rates = g->rates,
                                      .gpus = t->gpu,
                                      .job_count = t->jobs,
                                      .gpu_count = t->gpus,
                                      .cells = g->cells,
                                      .values = g->values,
                                      .count = g->count};
        struct pair_sight *view;
        int job = 0;

        at = (int)rng_below(b->rng, (size_t)hidden);
        for (; !g->hidden[job] || at-- > 0;)
            job++;
        memcpy(g->rates, t->alone, (size_t)t->jobs * (size_t)t->gpus * sizeof(double));
        if (rng_uniform(b->rng) < RATES_OUT)
            unrate(g, job);
        none = rng_uniform(b->rng) < ALL_UNRATED;
        for (int j = 0; none && j < t->jobs; j++)
            unrate(g, j);
        view = pair_view_create(&from, job, g->hidden);
        if (view->known_count > 0)
            add_game(b, g, view, job);
        pair_view_destroy(view);
    }
}

static void from_world(struct game_builder *b, struct measured *t)
{
    size_t jobs = (size_t)t->jobs, room = jobs * jobs * (size_t)t->gpus;
    struct game_table g = {.t = t,
                           .rates = mem_array(double, jobs *(size_t)t->gpus + 1),
                           .cells = mem_array(struct cell, room + 1),
                           .values = mem_array(double, room + 1),
                           .hidden = mem_array(bool, jobs + 1)};
    int out = (int)rng_below(b->rng, jobs);

    if (rng_uniform(b->rng) < ALL_UNTOLD)
        for (int j = 0; j < t->jobs; j++)
            t->job[j].untold = true;
    for (int j = 0; j < t->jobs; j++)
        g.hidden[j] = t->job[j].family == t->job[out].family;
    play(b, &g, GAMES_OF_FAMILY);
    out = (int)rng_below(b->rng, jobs);
    for (int j = 0; j < t->jobs; j++)
        g.hidden[j] = j == out;
    play(b, &g, GAMES_OF_JOB);
    free(g.rates);
    free(g.cells);
    free(g.values);
    free(g.hidden);
}

void train_games_init(struct train_games *games, int worlds, bool refined, uint64_t seed,
                      const struct train_listener *listener)
{
    struct game_builder b = {.refined = refined};
    struct rng rng;

    b.rng = &rng;
    rng_stream(&rng, seed, 40 + refined);
    for (int w = 0; w < worlds; w++) {
        struct measured *t = wide_world_draw(&rng);

        if (listener)
            listener->progress(listener->ctx, (double)w / worlds);
        from_world(&b, t);
        measured_destroy(t);
    }
    *games = (struct train_games){b.cases.items, b.cases.count};
}

void train_games_fini(struct train_games *games)
{
    for (size_t i = 0; i < games->count; i++) {
        attention_case_fini(games->cases[i]);
        free(games->cases[i]);
    }
    free(games->cases);
    *games = (struct train_games){0};
}
