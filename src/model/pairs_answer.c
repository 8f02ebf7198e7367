/* pairs_answer.c - what is believed of pairs: prediction_cache.c and classes.c ask by the
 * row or by the cell, pairs_game.c what would be believed */
#include "model/pairs.h"

#include "base/mem.h"
#include "base/normal.h"
#include "model/p2.h"
#include "model/pair_experts.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

struct pair_catalogue pairs_catalogue(const struct pairs *p,
                                      const struct gp_guests *guests)
{
    static const struct gp_guests none;

    return (struct pair_catalogue){
        .jobs = p->core->space.jobs,
        .rates = p->rates.items,
        .counters = p->counters.items,
        .gpus = p->core->space.gpus,
        .job_count = p->core->job_count,
        .gpu_count = p->core->gpu_count,
        .guests = guests ? *guests : none,
        .cells = p->core->cells,
        .values = p->core->values,
        .count = p->core->count,
        .common = p->common.count > 0 ? p->common.items : NULL,
        .match = p->common.count > 0 ? p->match.items : NULL,
    };
}

static int told_of(const struct pairs *p, int job)
{
    return job < (int)p->told.count ? p->told.items[job] : 0;
}

int pairs_less_known(const struct pairs *p, struct cell cell)
{
    int own = told_of(p, cell.job), other = told_of(p, cell.other);

    if (own != other)
        return own < other ? cell.job : cell.other;
    return cell.job > cell.other ? cell.job : cell.other;
}

static struct blend_place place_of(const struct pair_sight *v, enum pair_kind kind)
{
    int own = v->measured[PAIR_OWN], effect = v->measured[PAIR_EFFECT];

    return (struct blend_place){kind, own > effect ? own : effect, v->sibling, 1};
}

/* Measurements of a new family's job from which on the fit is better than the start. */
#define FIT_FROM 2

bool pairs_trusts_fit(const struct pair_sight *v)
{
    return v->sibling || place_of(v, PAIR_OWN).measured >= FIT_FROM;
}

/* Measurements from which on nobody listens to the nearest jobs any more. */
#define NEAREST_UNTIL 2

void pairs_ask_experts(const struct pairs *p, const struct pair_sight *v,
                       const int *cells, size_t count, struct blend_said *said)
{
    struct attention_guess *net = mem_array(struct attention_guess, count + 1);

    if (v->shown == 0 || p->initial_only)
        p1_answer(p->p1, v, cells, count, net);
    else
        p2_answer(p->p2, v, cells, count, net);
    for (size_t q = 0; q < count; q++) {
        said[q].by[BLEND_NETWORK] = (struct blend_belief){net[q].mean, net[q].sd};
        said[q].by[BLEND_COLUMN] =
            (struct blend_belief){v->centre[cells[q]], v->spread[cells[q]]};
    }
    free(net);
    if (p->initial_only || v->sibling) /* nobody listens to these there */
        return;
    pair_experts_rows(v, cells, count, said);
    if (place_of(v, PAIR_OWN).measured <= NEAREST_UNTIL)
        pair_experts_nearest(v, cells, count, said);
}

static struct pairs_guess spread_out(struct blend_belief b, double half, int times)
{
    return (struct pairs_guess){
        .mean = fmin(b.mean, 0),
        .low = b.mean - half * b.sd,
        .high = fmin(b.mean + half * b.sd, 0),
        .sd = half * b.sd / NORMAL_90_SHORT,
        .times = times,
    };
}

struct pairs_mix pairs_mix_of(const struct pairs *p, const struct pair_sight *v,
                              enum pair_kind kind)
{
    struct blend_place at = place_of(v, kind);

    if (!v->sibling && !p->initial_only)
        at.below = pair_moments_below(v);
    return (struct pairs_mix){
        blend_weights_at(&at, p->initial_only ? ~(1u << BLEND_NETWORK) : p->without),
        blend_shift_at(&at), blend_width_at(&p->widths, &at)};
}

struct pairs_guess pairs_guess_of(const struct pairs_mix *mix,
                                  const struct blend_said *said, struct blend_belief *raw)
{
    struct blend_belief b = blend_mix(said, &mix->weights, mix->shift);

    if (raw)
        *raw = b;
    return spread_out(b, mix->half, 0);
}

/* Of a measured relative speed, beyond what is not known of the rate alone. */
#define MEASURED_VAR 4e-4

/* What the kernel calls noise is what sets a cell apart from all others, and stays: of
 * how far a measurement is from the core's mean that part is believed which is not the
 * measurement's own error.  P1 alone keeps to the very measurement. */
static struct pairs_guess measured_guess(const struct pairs *p, size_t at,
                                         struct blend_belief core)
{
    double quirk = kernel_noise(&p->core->kernel, p->core->cells[at]);
    double error = p->memory[at].extra_var + MEASURED_VAR;
    double share = p->initial_only ? 1 : quirk / (quirk + error);
    struct blend_belief b = {core.mean + share * (p->core->values[at] - core.mean),
                             sqrt(share * error)};

    return spread_out(b, NORMAL_90_SHORT, (int)p->memory[at].times);
}

/* Cells of one job as it sees them; core: what the core says of each. */
static void answer(const struct pairs *p, const struct pair_sight *v,
                   const struct cell *cells, size_t count,
                   const struct blend_belief *core, struct pairs_guess *out)
{
    struct blend_said *said = mem_array(struct blend_said, count + 1);
    int *numbers = mem_array(int, count + 1);
    struct pairs_mix mix[PAIR_KINDS] = {pairs_mix_of(p, v, PAIR_OWN),
                                        pairs_mix_of(p, v, PAIR_EFFECT)};
    bool known = told_of(p, v->job) > 0;

    for (size_t i = 0; i < count; i++)
        numbers[i] = pair_view_find(v, cells[i]);
    pairs_ask_experts(p, v, numbers, count, said);
    for (size_t i = 0; i < count; i++) {
        enum pair_kind kind = cells[i].job == v->job ? PAIR_OWN : PAIR_EFFECT;
        size_t at;

        said[i].by[BLEND_CORE] = core[i];
        out[i] = known && map_get(p->index, cell_key(cells[i]), &at)
                     ? measured_guess(p, at, core[i])
                     : pairs_guess_of(&mix[kind], &said[i], NULL);
    }
    free(said);
    free(numbers);
}

static const struct gp *core_for(const struct pairs *p, const struct pair_sight *v)
{
    return pairs_trusts_fit(v) ? p->core : p->plain;
}

/* Cells of which `job` is the less known one. */
static void predict_of(const struct pairs *p, int job, const struct cell *cells,
                       size_t count, struct pairs_guess *out)
{
    struct pair_catalogue from = pairs_catalogue(p, NULL);
    struct pair_sight *v = pair_view_create(&from, job, NULL);
    struct blend_belief *core = mem_array(struct blend_belief, count + 1);
    double *mean = mem_array(double, count + 1), *var = mem_array(double, count + 1);

    gp_predict(core_for(p, v), cells, count, mean, var);
    for (size_t i = 0; i < count; i++)
        core[i] = (struct blend_belief){mean[i], sqrt(var[i])};
    answer(p, v, cells, count, core, out);
    pair_view_destroy(v);
    free(core);
    free(mean);
    free(var);
}

void pairs_predict(const struct pairs *p, const struct cell *cells, size_t count,
                   struct pairs_guess *out)
{
    struct cell *some = mem_array(struct cell, count + 1);
    struct pairs_guess *said = mem_array(struct pairs_guess, count + 1);
    bool *done = mem_array(bool, count + 1);

    assert(!p->stale);
    for (size_t first = 0; first < count; first++) {
        int job = pairs_less_known(p, cells[first]);
        size_t n = 0;

        if (done[first])
            continue;
        for (size_t i = first; i < count; i++)
            if (pairs_less_known(p, cells[i]) == job)
                some[n++] = cells[i];
        predict_of(p, job, some, n, said);
        n = 0;
        for (size_t i = first; i < count; i++)
            if (pairs_less_known(p, cells[i]) == job) {
                out[i] = said[n++];
                done[i] = true;
            }
    }
    free(some);
    free(said);
    free(done);
}

struct pairs_guess pairs_predict_guest(const struct pairs *p,
                                       const struct gp_guests *guests, struct cell cell)
{
    int known = p->core->job_count;
    struct pair_catalogue from = pairs_catalogue(p, guests);
    struct blend_belief core;
    struct pair_sight *v;
    struct pairs_guess guess;
    double mean, var;

    if (cell.job < known && cell.other < known) {
        pairs_predict(p, &cell, 1, &guess);
        return guess;
    }
    assert(!p->stale);
    v = pair_view_create(&from, pairs_less_known(p, cell), NULL);
    gp_predict_guest(core_for(p, v), guests, cell, &mean, &var);
    core = (struct blend_belief){mean, sqrt(var)};
    answer(p, v, &cell, 1, &core, &guess);
    pair_view_destroy(v);
    return guess;
}

void pairs_renew_row(const struct pairs *p, int job, int first, size_t count, bool widths,
                     double *core_sd, struct pairs_guess *out)
{
    size_t gpus = (size_t)p->core->gpu_count, total = PAIR_KINDS * gpus * count;
    struct pair_catalogue from = pairs_catalogue(p, NULL);
    struct pair_sight *v = pair_view_create(&from, job, NULL);
    struct cell *cells = mem_array(struct cell, total + 1);
    double *mean = mem_array(double, total + 1), *var = mem_array(double, total + 1);
    double *row = mem_array(double, gpus *count + 1);
    struct blend_belief *core = mem_array(struct blend_belief, total + 1);

    assert(!p->stale);
    for (size_t k = 0; k < count; k++)
        for (size_t g = 0; g < gpus; g++) {
            struct cell *own = &cells[k * PAIR_KINDS * gpus + g];

            own[0] = (struct cell){job, (int)g, first + (int)k};
            own[gpus] = (struct cell){first + (int)k, (int)g, job};
        }
    if (widths) {
        gp_predict(core_for(p, v), cells, total, mean, var);
        for (size_t i = 0; i < total; i++)
            core_sd[i] = sqrt(var[i]);
    } else {
        for (int kind = 0; kind < PAIR_KINDS; kind++) {
            gp_predict_row(core_for(p, v), job, kind == PAIR_EFFECT, first, count, row);
            for (size_t i = 0; i < gpus * count; i++)
                mean[(i / gpus * PAIR_KINDS + (size_t)kind) * gpus + i % gpus] = row[i];
        }
    }
    for (size_t i = 0; i < total; i++)
        core[i] = (struct blend_belief){mean[i], core_sd[i]};
    answer(p, v, cells, total, core, out);
    pair_view_destroy(v);
    free(cells);
    free(mean);
    free(var);
    free(row);
    free(core);
}
