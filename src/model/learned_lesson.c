/* learned_lesson.c - the slower part of learning from pairs: the loop makes a lesson, the
 * planning thread studies it, the loop takes it back between rounds */
#include "model/learned_lesson.h"

#include "base/mem.h"
#include "base/rng.h"
#include "model/kernel_fit.h"
#include "model/network_lesson.h"
#include "model/pairs_game.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Parameters are adapted from so many observations on; before, the shipped ones stay. */
#define FIT_FROM  80
#define FIT_STEPS 50
#define FIT_ROWS  250
#define FIT_RATE  0.05

struct learned_lesson {
    uint64_t seed;
    struct pairs *copy; /* without an index: it is played with, not asked */
};

/* How far parameters fitted to single synthetic worlds lie from the start. */
static const struct {
    enum kernel_param param;
    double sd;
} prior_sds[] = {
    {KERNEL_WF, 0.60}, {KERNEL_WR, 0.55}, {KERNEL_WI, 0.63},  {KERNEL_WS, 0.57},
    {KERNEL_LB, 0.53}, {KERNEL_LW, 0.47}, {KERNEL_LP, 0.60},  {KERNEL_LS, 0.55},
    {KERNEL_VA, 0.40}, {KERNEL_VB, 0.41}, {KERNEL_RAB, 0.40}, {KERNEL_RG, 0.92},
    {KERNEL_VC, 0.36}, {KERNEL_RC, 0.95}, {KERNEL_LN, 0.45},  {KERNEL_WC, 0.57},
    {KERNEL_LC, 0.55},
};

/* ---- parameters of the cores --------------------------------------------------------
 */

static void fit(struct pairs *p)
{
    double sd[KERNEL_PARAM_COUNT] = {0};
    struct kernel_fit_options how = {
        .steps = FIT_STEPS, .rate = FIT_RATE, .prior_sd = sd, .max_rows = FIT_ROWS};
    struct kernel_params start = p->start, params;

    for (size_t i = 0; i < sizeof(prior_sds) / sizeof(prior_sds[0]); i++)
        sd[prior_sds[i].param] = prior_sds[i].sd;
    pairs_standard_units(p, &start);
    params = start;
    if (p->core->count >= FIT_FROM)
        params = kernel_fit_params(p->core, &start, &how);
    gp_set_params(p->core, &params);
    gp_set_params(p->plain, &start);
}

/* ---- widths of intervals ------------------------------------------------------------
 */

#define FAMILIES_MOST 12 /* held out */
#define JOBS_MOST     4  /* of each */
#define SINGLES_MOST  24 /* jobs held out alone */
#define DRAWS         2
#define ASKED_MOST    30
#define MISSES_MIN    20
#define JOBS_LEFT     4

typedef vec_of(struct blend_miss) misses_of;

struct rehearsal {
    struct pairs *p;
    struct rng rng;
    double *fitted, *plain; /* precisions of the two cores */
    misses_of misses[PAIR_KINDS][BLEND_COUNTS][2];
};

struct hand { /* the cells of one game by kind, those of one pair at the same place */
    size_t *own, *effect; /* effect: SIZE_MAX where it was not measured */
    size_t count;
};

static void deal(struct hand *hand, const struct cell *cells, size_t count, int job)
{
    hand->own = mem_array(size_t, count + 1);
    hand->effect = mem_array(size_t, count + 1);
    hand->count = 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = hand->count;

        if (cells[i].job != job)
            continue;
        hand->own[at] = i;
        hand->effect[at] = SIZE_MAX;
        for (size_t k = 0; k < count; k++)
            if (cells[k].other == job && cells[k].job == cells[i].other &&
                cells[k].gpu == cells[i].gpu && k != i)
                hand->effect[at] = k;
        hand->count++;
    }
}

static void shuffle(struct hand *hand, struct rng *rng)
{
    for (size_t i = 0; i + 1 < hand->count; i++) {
        size_t j = i + rng_below(rng, hand->count - i), own = hand->own[i];
        size_t effect = hand->effect[i];

        hand->own[i] = hand->own[j];
        hand->effect[i] = hand->effect[j];
        hand->own[j] = own;
        hand->effect[j] = effect;
    }
}

/* Own speeds are guessed from own speeds, effects from both. */
static void play(struct rehearsal *r, struct pairs_game *game, const struct hand *hand,
                 enum pair_kind kind, int count, int group, bool sibling)
{
    size_t seen[2 * PAIR_SHOWN_MAX], seen_count = 0, asked[ASKED_MOST], asked_count = 0;
    size_t shown = (size_t)blend_counts[count], all;
    double shown_values[2 * PAIR_SHOWN_MAX];
    struct pairs_guess out[ASKED_MOST];
    struct blend_belief raw[ASKED_MOST];
    const double *values;

    pairs_game_cells(game, &all, &values);
    for (size_t i = 0; i < shown; i++) {
        seen[seen_count++] = hand->own[i];
        if (kind == PAIR_EFFECT && hand->effect[i] != SIZE_MAX)
            seen[seen_count++] = hand->effect[i];
    }
    for (size_t i = 0; i < seen_count; i++)
        shown_values[i] = values[seen[i]];
    for (size_t i = shown; i < hand->count && asked_count < ASKED_MOST; i++)
        if (kind == PAIR_OWN)
            asked[asked_count++] = hand->own[i];
        else if (hand->effect[i] != SIZE_MAX)
            asked[asked_count++] = hand->effect[i];
    pairs_game_play(game, seen, shown_values, seen_count, asked, asked_count, out, raw);
    for (size_t i = 0; i < asked_count; i++)
        vec_push(
            &r->misses[kind][count][sibling],
            (struct blend_miss){fabs(values[asked[i]] - raw[i].mean) / raw[i].sd, group});
}

static void rehearse_job(struct rehearsal *r, const struct pairs_held *held, int job,
                         int group, bool sibling)
{
    struct pairs_game *game = pairs_game_of_held(held, job);
    const struct cell *cells;
    const double *values;
    struct hand hand;
    size_t count;

    if (!game)
        return;
    cells = pairs_game_cells(game, &count, &values);
    deal(&hand, cells, count, job);
    for (int n = 0; n < BLEND_COUNTS; n++)
        for (int d = 0; d < (n ? DRAWS : 1); d++) {
            shuffle(&hand, &r->rng);
            if (hand.count <= (size_t)blend_counts[n])
                continue;
            play(r, game, &hand, PAIR_OWN, n, group, sibling);
            play(r, game, &hand, PAIR_EFFECT, n, group, sibling);
        }
    free(hand.own);
    free(hand.effect);
    pairs_game_destroy(game);
}

/* Jobs of one family, or one job, as if nothing of them had been measured. */
static void rehearse(struct rehearsal *r, const bool *hidden, int group, bool sibling)
{
    const struct pairs *p = r->p;
    struct pairs_held held;
    int left = 0, played = 0;

    for (int j = 0; j < p->core->job_count; j++)
        left += !hidden[j] && p->told.items[j] > 0;
    if (left < JOBS_LEFT)
        return;
    if (pairs_held_init(&held, p, r->fitted, r->plain, hidden) == 0)
        for (int j = 0; j < p->core->job_count && played < JOBS_MOST; j++)
            if (hidden[j] && p->told.items[j] > 0) {
                rehearse_job(r, &held, j, group, sibling);
                played++;
            }
    pairs_held_fini(&held);
}

/* Numbers of what is held out together: families, and jobs without one. */
static int group_of(const struct pairs *p, int job)
{
    int family = p->core->space.jobs[job].family;

    return family >= 0 ? family : (int)p->core->newest.count + job;
}

static void rehearse_families(struct rehearsal *r, bool *hidden)
{
    const struct pairs *p = r->p;
    int jobs = p->core->job_count, held = 0;
    bool *done = mem_array(bool, p->core->newest.count + (size_t)jobs + 1);

    for (int j = 0; j < jobs && held < FAMILIES_MOST; j++) {
        int group = group_of(p, j);

        if (p->told.items[j] == 0 || done[group])
            continue;
        done[group] = true;
        held++;
        for (int k = 0; k < jobs; k++)
            hidden[k] = group_of(p, k) == group;
        rehearse(r, hidden, group, false);
    }
    free(done);
}

static void rehearse_singles(struct rehearsal *r, bool *hidden)
{
    const struct pairs *p = r->p;
    int jobs = p->core->job_count, held = 0;

    for (int j = 0; j < jobs && held < SINGLES_MOST; j++) {
        bool sibling = false;

        for (int k = 0; k < jobs; k++)
            sibling = sibling || (k != j && p->told.items[k] > 0 &&
                                  group_of(p, k) == group_of(p, j));
        if (p->told.items[j] == 0 || !sibling)
            continue;
        held++;
        memset(hidden, 0, (size_t)jobs * sizeof(*hidden));
        hidden[j] = true;
        rehearse(r, hidden, j, true);
    }
}

static void choose_widths(struct pairs *p, uint64_t seed)
{
    size_t n = p->core->count;
    struct rehearsal r = {.p = p,
                          .fitted = mem_array(double, n *n + 1),
                          .plain = mem_array(double, n *n + 1)};
    bool *hidden = mem_array(bool, (size_t)p->core->job_count + 1);

    rng_stream(&r.rng, seed, 100 + n);
    gp_precision(p->core, r.fitted);
    gp_precision(p->plain, r.plain);
    rehearse_families(&r, hidden);
    rehearse_singles(&r, hidden);
    for (int kind = 0; kind < PAIR_KINDS; kind++)
        for (int c = 0; c < BLEND_COUNTS; c++)
            for (int s = 0; s < 2; s++) {
                struct blend_place at = {(enum pair_kind)kind, blend_counts[c], s, 1};
                misses_of *m = &r.misses[kind][c][s];

                if (m->count >= MISSES_MIN)
                    p->widths.half[kind][c][s] =
                        blend_width_choose(m->items, m->count, &at);
                vec_free(m);
            }
    free(r.fitted);
    free(r.plain);
    free(hidden);
}

/* ---- the lesson ---------------------------------------------------------------------
 */

static void take_rates(struct pairs *p, int job, const double *rates)
{
    int gpus = p->core->gpu_count;

    if (!memcmp(p->rates.items + job * gpus, rates, (size_t)gpus * sizeof(*rates)))
        return;
    memcpy(p->rates.items + job * gpus, rates, (size_t)gpus * sizeof(*rates));
    gp_set_rates(p->core, job, rates);
    gp_set_rates(p->plain, job, rates);
}

static void take_counters(struct pairs *p, int job, const struct job_counters *counters)
{
    if (!memcmp(&p->counters.items[job], counters, sizeof(*counters)))
        return;
    p->counters.items[job] = *counters;
    gp_set_counters(p->core, job, counters);
    gp_set_counters(p->plain, job, counters);
}

struct learned_lesson *learned_lesson_begin(const struct pairs *p, uint64_t seed)
{
    struct learned_lesson *l = mem_new(struct learned_lesson);
    int gpus = p->core->gpu_count;

    l->seed = seed;
    l->copy = pairs_dup(p);
    for (size_t i = 0; i < p->core->count; i++)
        l->copy->core->extra[i] = l->copy->plain->extra[i] = p->memory[i].extra_var;
    for (int j = 0; j < p->core->job_count; j++) {
        take_rates(l->copy, j, p->rates_now.items + j * gpus);
        take_counters(l->copy, j, &p->counters_now.items[j]);
    }
    return l;
}

/* How rows vary together, once for all views until the next lesson. */
static void take_moments(struct pairs *p)
{
    size_t types = PAIR_KINDS * (size_t)p->core->gpu_count;
    struct pair_catalogue from;
    struct pair_sight *all;

    vec_clear(&p->common);
    vec_clear(&p->match);
    if (p->core->job_count == 0)
        return;
    from = pairs_catalogue(p, NULL);
    all = pair_view_create(&from, PAIR_NO_JOB, NULL);
    for (size_t i = 0; i < types * types; i++) {
        vec_push(&p->common, all->common[i]);
        vec_push(&p->match, all->match[i]);
    }
    pair_view_destroy(all);
}

void learned_lesson_study(struct learned_lesson *l)
{
    fit(l->copy);
    take_moments(l->copy);
    network_lesson_study(l->copy, l->seed);
    choose_widths(l->copy, l->seed);
}

static void take_network(struct attention **into, struct attention **from)
{
    attention_destroy(*into);
    *into = *from;
    *from = NULL;
}

void learned_lesson_end(struct learned_lesson *l, struct pairs *p)
{
    int gpus = p->core->gpu_count;

    for (size_t i = 0; i < p->core->count; i++)
        p->core->extra[i] = p->plain->extra[i] = p->memory[i].extra_var;
    for (int j = 0; j < l->copy->core->job_count; j++) {
        take_rates(p, j, l->copy->rates.items + j * gpus);
        take_counters(p, j, &l->copy->counters.items[j]);
    }
    gp_set_params(p->core, &l->copy->core->params);
    gp_set_params(p->plain, &l->copy->plain->params);
    p->stale = false;
    p->widths = l->copy->widths;
    take_network(&p->p1, &l->copy->p1);
    take_network(&p->p2, &l->copy->p2);
    memcpy(p->progress, l->copy->progress, sizeof(p->progress));
    vec_clear(&p->common);
    vec_clear(&p->match);
    for (size_t i = 0; i < l->copy->common.count; i++) {
        vec_push(&p->common, l->copy->common.items[i]);
        vec_push(&p->match, l->copy->match.items[i]);
    }
    learned_lesson_destroy(l);
}

void learned_lesson_destroy(struct learned_lesson *l)
{
    if (!l)
        return;
    pairs_destroy(l->copy);
    free(l);
}
