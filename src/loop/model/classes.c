/* classes.c - see classes.h */
#include "loop/model/classes.h"

#include "base/mem.h"
#include "loop/core/traits.h"
#include "loop/model/classes_state.h"
#include "loop/refine/pairs_bytes.h"
#include "world/power.h"

#include <math.h>
#include <stdlib.h>

/* Jobs a class remembers: newer ones push older ones out. */
#define JOBS_MEMORY 8.0

/* A mean that moved by less than this, in the log, is not worth telling the core. */
#define MOVED_LOG    0.01

#define RELATIVE_MIN 0.02

struct classes *classes_create(const struct gpu_sheet *types, int type_count,
                               uint64_t seed, size_t memory)
{
    struct classes *c = mem_new(struct classes);
    struct kernel_params params;

    kernel_default(&params);
    c->type_count = type_count;
    c->seed = seed;
    c->types = mem_dup(types, (size_t)type_count, sizeof(*types));
    c->rates = rates_create(&params);
    c->pairs = pairs_create();
    pairs_set_limit(c->pairs, memory);
    c->footprint = footprint_create();
    c->watts = watts_create();
    c->beside_index = map_create();
    c->gang_index = map_create();
    for (int t = 0; t < type_count; t++) {
        struct gpu_trait trait = traits_of_gpu(&types[t]);

        rates_add_gpu(c->rates, &trait);
        pairs_add_gpu(c->pairs, &trait);
        watts_add_gpu(c->watts, &types[t]);
    }
    return c;
}

void classes_destroy(struct classes *c)
{
    if (!c)
        return;
    vec_each (struct class_state, s, &c->states) {
        free(s->row.guesses);
        free(s->row.core_sd);
    }
    rates_destroy(c->rates);
    pairs_destroy(c->pairs);
    footprint_destroy(c->footprint);
    watts_destroy(c->watts);
    map_destroy(c->beside_index);
    map_destroy(c->gang_index);
    vec_free(&c->gangs);
    vec_free(&c->states);
    vec_free(&c->alone);
    vec_free(&c->kept);
    vec_free(&c->drawn);
    vec_free(&c->beside);
    free(c->types);
    free(c);
}

void classes_push(struct classes *c)
{
    for (int t = 0; t < c->type_count; t++) {
        vec_push(&c->alone, (struct tally){.pushed = NAN});
        vec_push(&c->kept, (struct kept_alone){0});
        vec_push(&c->drawn, (struct kept_watts){0});
    }
    vec_push(&c->states, (struct class_state){.version = 1});
}

size_t classes_count(const struct classes *c)
{
    return c->states.count;
}

int classes_add(struct classes *c, const struct job *job, int family)
{
    struct job_trait trait = traits_of_job(&job->descriptor, family);

    rates_add_job(c->rates, &trait);
    pairs_add_job(c->pairs, &trait);
    footprint_add(c->footprint, &job->descriptor, job->memory_gb);
    watts_add_job(c->watts, 0);
    classes_push(c);
    return (int)c->states.count - 1;
}

void classes_arrive(struct classes *c, int cls, int more)
{
    struct class_state *s = &c->states.items[cls];

    s->here += more;
    pairs_set_idle(c->pairs, cls, s->here <= 0);
}

uint64_t classes_version(const struct classes *c, int cls)
{
    return c->states.items[cls].version;
}

size_t classes_pairs(const struct classes *c)
{
    return c->beside.count;
}

/* ---- what is told ----------------------------------------------------------------- */

/* True when the mean moved enough for others to know. */
static bool tally_take(struct tally *t, const struct class_news *news)
{
    if (news->changed)
        t->jobs = fmin(t->jobs, 1);
    if (isnan(news->before) || t->jobs <= 0) {
        t->jobs = fmin(t->jobs + 1, JOBS_MEMORY);
        t->mean += (news->now - t->mean) / t->jobs;
    } else {
        t->mean += (news->now - news->before) / t->jobs;
    }
    t->var += (news->var - t->var) / t->jobs;
    return !(fabs(t->mean - t->pushed) < MOVED_LOG);
}

/* A cell that was carried over until now is measured: who had come nearer? */
static void learn_carry(struct classes *c, int cls, int type, double value)
{
    struct rates_guess said = rates_predict(c->rates, cls, type);

    if (!said.corrected)
        return;
    carry_evidence_add(&c->carry, &said, value, said.basis == RATES_ONE);
    rates_set_weight(c->rates, carry_evidence_weight(&c->carry));
}

void classes_tell_alone(struct classes *c, int cls, int type,
                        const struct class_news *news, bool inferred)
{
    struct tally *t = classes_tally(c, cls, type);
    bool first = isnan(t->pushed);

    if (inferred && t->jobs > 0 && !t->inferred)
        return;
    if (!inferred && t->inferred)
        *t = (struct tally){.pushed = t->pushed};
    t->inferred = inferred;
    if (!tally_take(t, news))
        return;
    t->pushed = t->mean;
    if (first && !inferred)
        learn_carry(c, cls, type, t->mean);
    rates_observe(c->rates, cls, type, t->mean);
    c->alone_cells += first;
    c->alone_news++;
    c->states.items[cls].version++;
}

uint64_t classes_cell_key(struct cell cell)
{
    return (uint64_t)cell.job << 40 | (uint64_t)cell.gpu << 32 | (uint64_t)cell.other;
}

void classes_tell_beside(struct classes *c, int cls, int type, int other,
                         const struct class_news *news)
{
    struct cell cell = {cls, type, other};
    uint64_t key = classes_cell_key(cell);
    struct tally *t;
    size_t at;

    if (!map_get(c->beside_index, key, &at)) {
        at = c->beside.count;
        vec_push(&c->beside, (struct beside){cell, {.pushed = NAN}});
        map_put(c->beside_index, key, at);
        c->states.items[cls].told++;
        c->states.items[other].told++;
    }
    t = &c->beside.items[at].tally;
    if (!tally_take(t, news))
        return;
    t->pushed = t->mean;
    pairs_put(c->pairs, cell, fmin(fmax(t->mean, log(RELATIVE_MIN)), 0),
              t->var / t->jobs);
    c->states.items[cls].row.news++;
    c->states.items[other].row.news++;
    c->pair_news++;
}

uint64_t classes_gang_key(const struct class_gang *g)
{
    return (uint64_t)g->cls << 32 | (uint64_t)g->type << 16 | (uint64_t)g->devices << 1 |
           g->spread;
}

void classes_tell_gang(struct classes *c, const struct class_gang *gang,
                       const struct class_news *news)
{
    size_t at;

    if (!map_get(c->gang_index, classes_gang_key(gang), &at)) {
        at = c->gangs.count;
        vec_push(&c->gangs, (struct gang){*gang, {.pushed = NAN}});
        map_put(c->gang_index, classes_gang_key(gang), at);
    }
    tally_take(&c->gangs.items[at].tally, news);
    c->states.items[gang->cls].version++;
}

bool classes_gang(const struct classes *c, const struct class_gang *gang,
                  struct class_guess *guess)
{
    const struct tally *t;
    size_t at;

    if (c->gangs.count == 0 || !map_get(c->gang_index, classes_gang_key(gang), &at))
        return false;
    t = &c->gangs.items[at].tally;
    *guess = (struct class_guess){t->mean, t->var / t->jobs, true, (int)t->jobs};
    return true;
}

void classes_rebase(struct classes *c, int cls, double by)
{
    for (int t = 0; t < c->type_count; t++) {
        struct tally *tally = classes_tally(c, cls, t);

        if (tally->jobs <= 0)
            continue;
        tally->mean += by;
        tally->pushed = tally->mean;
        rates_observe(c->rates, cls, t, tally->mean);
        c->alone_news++;
    }
    vec_each (struct gang, g, &c->gangs)
        if (g->gang.cls == cls)
            g->tally.mean += by;
    c->states.items[cls].version++;
}

void classes_tell_watts(struct classes *c, int cls, int type, double device_watts,
                        bool full_load)
{
    struct watts_guess before = watts_predict(c->watts, cls, type);
    struct kept_watts *kept =
        &c->drawn.items[(size_t)cls * (size_t)c->type_count + (size_t)type];

    watts_observe(c->watts, cls, type, device_watts);
    if (full_load)
        rates_observe_busy(
            c->rates, cls, type,
            power_busy(&c->types[type], watts_predict(c->watts, cls, type).watts));
    if (fabs(log(watts_predict(c->watts, cls, type).watts / before.watts)) < MOVED_LOG &&
        kept->valid)
        return;
    c->watts_news++;
    for (int t = 0; t < c->type_count; t++)
        c->drawn.items[(size_t)cls * (size_t)c->type_count + (size_t)t].valid = false;
}

void classes_tell_memory(struct classes *c, int type, const int *members, int count,
                         bool failed)
{
    double memory_gb = c->types[type].memory_gb;

    if (failed)
        footprint_failed(c->footprint, type, memory_gb, members, (size_t)count);
    else
        footprint_ran(c->footprint, memory_gb, members, (size_t)count);
    for (int i = 0; i < count; i++)
        c->states.items[members[i]].fits_known = false;
}

void classes_set_initial(struct classes *c)
{
    rates_set_closed(c->rates, true);
    pairs_set_initial(c->pairs, true);
}

void classes_adapt(struct classes *c)
{
    pairs_adapt(c->pairs, c->seed);
    c->adapted++;
}

struct pairs *classes_pairs_dup(struct classes *c)
{
    return pairs_dup(c->pairs);
}

void classes_pairs_take(struct classes *c, struct pairs *learned)
{
    pairs_take(c->pairs, learned);
    c->adapted++;
}
