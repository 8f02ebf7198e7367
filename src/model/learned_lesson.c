/* learned_lesson.c - the slower part of learning from pairs: the loop makes a lesson, the
 * planning thread studies it, the loop takes it back between rounds */
#include "model/learned_lesson.h"

#include "base/mem.h"
#include "base/rng.h"
#include "model/kernel_fit.h"
#include "model/pairs.h"

#include <math.h>
#include <stdlib.h>

/* Parameters are adapted from so many observations on; before, the shipped ones stay. */
#define FIT_FROM  80
#define FIT_STEPS 40
#define FIT_ROWS  400
#define FIT_PULL  0.5 /* the pull to the shipped values counts as so many observations */

/* The network learns online from so many on: earlier its intervals collapse. */
#define TRAIN_FROM  120
#define TRAIN_STEPS 100
#define TRAIN_RATE  7e-4
#define TRAIN_BATCH 128

#define GROUPS      3
#define NO_GROUP    (-1)

/* Of the errors inside: a little more than 90 %, they were seen when fitting. */
#define CALIBRATE_SHARE 0.91

struct learned_lesson {
    uint64_t seed;
    struct kernel_params start;
    struct gp *core;
    struct statnet *refined;
    struct gbt *trees; /* NULL: too little for them and for training P2 */
    struct blend_weights weights;
    double width;
};

struct held { /* what the parts say of observed cells without them */
    size_t count;
    struct blend_case *cases; /* (count) */
    struct statnet_row *rows; /* (count) */
    int *group;               /* (count) both directions of a pair together */
};

static bool same_pair(struct cell a, struct cell b)
{
    return a.gpu == b.gpu && ((a.job == b.job && a.other == b.other) ||
                              (a.job == b.other && a.other == b.job));
}

struct blend_belief learned_lesson_leave_out(const struct gp *core,
                                             const double *precision, size_t i)
{
    size_t group[2] = {i, i}, size = 1;
    double mean[2], cov[4];

    for (size_t j = 0; j < core->count && size < 2; j++)
        if (j != i && same_pair(core->cells[i], core->cells[j]))
            group[size++] = j;
    if (gp_leave_out(core, precision, group, size, mean, cov) < 0)
        return (struct blend_belief){core->values[i], 1};
    return (struct blend_belief){mean[0], sqrt(cov[0])};
}

static void leave_out_core(const struct gp *core, struct held *h)
{
    size_t n = core->count;
    double *precision = mem_array(double, n *n + 1);

    gp_precision(core, precision);
    for (size_t i = 0; i < n; i++) {
        h->cases[i].truth = core->values[i];
        h->cases[i].said.core = learned_lesson_leave_out(core, precision, i);
    }
    free(precision);
}

static void leave_out_rows(const struct learned_lesson *l, struct held *h)
{
    struct stats_seen seen = {l->core->cells, l->core->values, l->core->count};

    for (size_t i = 0; i < h->count; i++) {
        struct cell cell = seen.cells[i];
        struct stats_row *row = stats_row_create(l->core, &seen, cell.job, NULL);

        h->rows[i].base =
            (float)stats_features(row, cell.gpu, cell.other, true, h->rows[i].x).base;
        h->rows[i].target = (float)h->cases[i].truth;
        /* The other direction of the same pair is not there for a cell never tried. */
        h->rows[i].x[22] = h->rows[i].x[23] = 0;
        stats_row_destroy(row);
    }
}

static void held_init(const struct learned_lesson *l, struct held *h)
{
    size_t n = l->core->count;

    *h = (struct held){
        .count = n,
        .cases = mem_array(struct blend_case, n + 1),
        .rows = mem_array(struct statnet_row, n + 1),
        .group = mem_array(int, n + 1),
    };
    leave_out_core(l->core, h);
    leave_out_rows(l, h);
}

static void held_fini(struct held *h)
{
    free(h->cases);
    free(h->rows);
    free(h->group);
}

static double choose_width(const struct held *h, const struct blend_weights *w)
{
    double *errors = mem_array(double, h->count + 1), width;

    blend_errors(h->cases, h->count, w, errors);
    width = conformal_width(errors, h->count, CALIBRATE_SHARE);
    free(errors);
    return width;
}

/* P2 from its shipped start and trees, from the rows that are not of one group. */
static void train(const struct held *h, int without, uint64_t seed, struct statnet **net,
                  struct gbt **trees)
{
    struct statnet_trainer *trainer;
    struct statnet_row batch[TRAIN_BATCH];
    struct rng rng;

    *net = statnet_shipped("p2");
    trainer = statnet_trainer_create(*net, TRAIN_RATE, TRAIN_STEPS);
    rng_stream(&rng, seed, h->count * (GROUPS + 1) + (size_t)(without + 1));
    for (int t = 0; t < TRAIN_STEPS; t++) {
        for (int i = 0; i < TRAIN_BATCH; i++) {
            size_t at = rng_below(&rng, h->count);

            while (h->group[at] == without)
                at = rng_below(&rng, h->count);
            batch[i] = h->rows[at];
        }
        statnet_train_step(trainer, batch, TRAIN_BATCH);
    }
    statnet_trainer_destroy(trainer);
    statnet_repack(*net);
    *trees = gbt_from_rows(h->rows, h->group, without, h->count);
}

/* What a network and trees say of the rows of one group; NO_GROUP: of all. */
static void ask(struct held *h, int group, const struct statnet *net,
                const struct gbt *trees)
{
    struct statnet_guess *guesses = mem_array(struct statnet_guess, h->count + 1);

    statnet_predict(net, h->rows, h->count, guesses);
    for (size_t i = 0; i < h->count; i++) {
        struct blend_said *said = &h->cases[i].said;

        if (group != NO_GROUP && h->group[i] != group)
            continue;
        said->net = (struct blend_belief){guesses[i].mean, guesses[i].sd};
        said->trees = trees ? (double)h->rows[i].base + gbt_predict(trees, h->rows[i].x)
                            : guesses[i].mean;
    }
    free(guesses);
}

/* Each group by parts that did not learn from it. */
static void rehearse(struct held *h, uint64_t seed)
{
    for (int g = 0; g < GROUPS; g++) {
        struct statnet *net;
        struct gbt *trees;

        train(h, g, seed, &net, &trees);
        ask(h, g, net, trees);
        statnet_destroy(net);
        gbt_destroy(trees);
    }
}

/* Groups by pair and GPU; false when one of them has everything. */
static bool make_groups(const struct gp *core, struct held *h)
{
    size_t sizes[GROUPS] = {0};

    for (size_t i = 0; i < h->count; i++) {
        struct cell c = core->cells[i];
        uint64_t pair = rng_mix((uint64_t)(c.job < c.other ? c.job : c.other),
                                (uint64_t)(c.job < c.other ? c.other : c.job));

        h->group[i] = (int)(rng_mix(pair, (uint64_t)c.gpu) % GROUPS);
        sizes[h->group[i]]++;
    }
    for (int g = 0; g < GROUPS; g++)
        if (sizes[g] == h->count)
            return false;
    return true;
}

struct learned_lesson *learned_lesson_begin(const struct pairs *p, uint64_t seed)
{
    struct learned_lesson *l = mem_new(struct learned_lesson);

    l->seed = seed;
    l->start = p->start;
    l->core = gp_dup(p->core);
    for (size_t i = 0; i < p->core->count; i++)
        l->core->extra[i] = p->memory[i].extra_var;
    l->refined = statnet_dup(p->refined);
    return l;
}

void learned_lesson_study(struct learned_lesson *l)
{
    size_t n = l->core->count;
    struct held h;

    gp_refactor(l->core); /* of a cell that was seen more often less is unknown */
    if (n >= FIT_FROM) {
        struct kernel_fit_options how = {.steps = FIT_STEPS,
                                         .rate = 0.04,
                                         .pull = FIT_PULL / (double)n,
                                         .max_rows = FIT_ROWS};
        struct kernel_params params = kernel_fit_params(l->core, &l->start, &how);

        gp_set_params(l->core, &params);
    }
    held_init(l, &h);
    if (n >= TRAIN_FROM && make_groups(l->core, &h)) {
        rehearse(&h, l->seed);
        statnet_destroy(l->refined);
        train(&h, NO_GROUP, l->seed, &l->refined, &l->trees);
    } else {
        ask(&h, NO_GROUP, l->refined, NULL);
    }
    l->weights = blend_weights_choose(h.cases, n);
    l->width = choose_width(&h, &l->weights);
    held_fini(&h);
}

void learned_lesson_end(struct learned_lesson *l, struct pairs *p)
{
    for (size_t i = 0; i < p->core->count; i++)
        p->core->extra[i] = p->memory[i].extra_var;
    gp_set_params(p->core, &l->core->params);
    p->stale = false;
    p->weights = l->weights;
    p->width = l->width;
    if (l->trees) {
        statnet_destroy(p->refined);
        gbt_destroy(p->trees);
        p->refined = l->refined;
        p->trees = l->trees;
        l->refined = NULL;
        l->trees = NULL;
    }
    learned_lesson_destroy(l);
}

void learned_lesson_destroy(struct learned_lesson *l)
{
    if (!l)
        return;
    gp_destroy(l->core);
    statnet_destroy(l->refined);
    gbt_destroy(l->trees);
    free(l);
}
