/* pairs_game.c - answers as they would be: learned_lesson.c and lab/eval/eval_product.c
 * play with it */
#include "model/pairs_game.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct pairs_game {
    const struct pairs *pairs;
    struct pair_catalogue from;
    struct pair_sight *view;
    size_t count;
    struct cell *cells;         /* (count) */
    double *values;             /* (count) of held ones; else NULL */
    struct joint fitted, plain; /* of the cells */
};

static struct pairs_game *create(const struct pairs *p, int job, const bool *hidden,
                                 size_t count)
{
    struct pairs_game *g = mem_new(struct pairs_game);

    g->pairs = p;
    g->from = pairs_catalogue(p, NULL);
    g->view = pair_view_create(&g->from, job, hidden);
    g->count = count;
    g->cells = mem_array(struct cell, count + 1);
    return g;
}

struct pairs_game *pairs_game_create(const struct pairs *p, int job,
                                     const struct cell *cells, size_t count)
{
    struct pairs_game *g = create(p, job, NULL, count);

    memcpy(g->cells, cells, count * sizeof(*cells));
    joint_of_cells(&g->fitted, p->core, cells, count);
    joint_of_cells(&g->plain, p->plain, cells, count);
    return g;
}

void pairs_game_destroy(struct pairs_game *g)
{
    if (!g)
        return;
    pair_view_destroy(g->view);
    joint_fini(&g->fitted);
    joint_fini(&g->plain);
    free(g->cells);
    free(g->values);
    free(g);
}

/* ---- jobs that were measured, as if they had not been -------------------------------
 */

static int hold_out(struct joint *joint, const struct gp *gp, const double *precision,
                    const struct pairs_held *h)
{
    *joint = (struct joint){h->count, mem_array(double, h->count + 1),
                            mem_array(double, h->count * h->count + 1)};
    return gp_leave_out(gp, precision, h->which, h->count, joint->mean, joint->cov);
}

int pairs_held_init(struct pairs_held *h, const struct pairs *p,
                    const double *precision_fitted, const double *precision_plain,
                    const bool *hidden)
{
    *h = (struct pairs_held){.pairs = p, .hidden = hidden};
    h->which = mem_array(size_t, p->core->count + 1);
    for (size_t i = 0; i < p->core->count; i++)
        if (hidden[p->core->cells[i].job] || hidden[p->core->cells[i].other])
            h->which[h->count++] = i;
    if (hold_out(&h->fitted, p->core, precision_fitted, h) < 0 ||
        hold_out(&h->plain, p->plain, precision_plain, h) < 0)
        return -1;
    return 0;
}

void pairs_held_fini(struct pairs_held *h)
{
    free(h->which);
    joint_fini(&h->fitted);
    joint_fini(&h->plain);
}

static void part_of(struct joint *out, const struct joint *all, const size_t *which,
                    size_t count)
{
    *out = (struct joint){count, mem_array(double, count + 1),
                          mem_array(double, count *count + 1)};
    for (size_t a = 0; a < count; a++) {
        out->mean[a] = all->mean[which[a]];
        for (size_t b = 0; b < count; b++)
            out->cov[a * count + b] = all->cov[which[a] * all->count + which[b]];
    }
}

struct pairs_game *pairs_game_of_held(const struct pairs_held *h, int job)
{
    const struct gp *core = h->pairs->core;
    size_t *mine = mem_array(size_t, h->count + 1), count = 0;
    struct pairs_game *g = NULL;

    for (size_t i = 0; i < h->count; i++) {
        struct cell cell = core->cells[h->which[i]];

        if ((cell.job == job && !h->hidden[cell.other]) ||
            (cell.other == job && !h->hidden[cell.job]))
            mine[count++] = i;
    }
    if (count > 0) {
        g = create(h->pairs, job, h->hidden, count);
        g->values = mem_array(double, count + 1);
        for (size_t i = 0; i < count; i++) {
            g->cells[i] = core->cells[h->which[mine[i]]];
            g->values[i] = core->values[h->which[mine[i]]];
        }
        part_of(&g->fitted, &h->fitted, mine, count);
        part_of(&g->plain, &h->plain, mine, count);
    }
    free(mine);
    return g;
}

/* ---- playing ------------------------------------------------------------------------
 */

const struct cell *pairs_game_cells(const struct pairs_game *g, size_t *count,
                                    const double **values)
{
    *count = g->count;
    *values = g->values;
    return g->cells;
}

void pairs_game_play(struct pairs_game *g, const size_t *seen, const double *values,
                     size_t seen_count, const size_t *asked, size_t asked_count,
                     struct pairs_guess *out, struct blend_belief *raw)
{
    struct cell *shown = mem_array(struct cell, seen_count + 1);
    int *numbers = mem_array(int, asked_count + 1);
    struct blend_said *said = mem_array(struct blend_said, asked_count + 1);
    struct pairs_mix mix[PAIR_KINDS];
    double *mean = mem_array(double, g->count + 1),
           *var = mem_array(double, g->count + 1);

    for (size_t i = 0; i < seen_count; i++)
        shown[i] = g->cells[seen[i]];
    pair_view_show(g->view, shown, values, seen_count);
    for (size_t i = 0; i < asked_count; i++)
        numbers[i] = pair_view_find(g->view, g->cells[asked[i]]);
    joint_condition(pairs_trusts_fit(g->view) ? &g->fitted : &g->plain, seen, values,
                    seen_count, mean, var);
    pairs_ask_experts(g->pairs, g->view, numbers, asked_count, said);
    for (int kind = 0; kind < PAIR_KINDS; kind++)
        mix[kind] = pairs_mix_of(g->pairs, g->view, kind);
    for (size_t i = 0; i < asked_count; i++) {
        enum pair_kind kind =
            g->cells[asked[i]].job == g->view->job ? PAIR_OWN : PAIR_EFFECT;

        said[i].by[BLEND_CORE] =
            (struct blend_belief){mean[asked[i]], sqrt(var[asked[i]])};
        out[i] = pairs_guess_of(&mix[kind], &said[i], raw ? &raw[i] : NULL);
    }
    free(shown);
    free(numbers);
    free(said);
    free(mean);
    free(var);
}
