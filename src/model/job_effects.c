/* job_effects.c - windows of single jobs: learned_absorb.c pushes them, learned_predict.c
 * asks what sets a job apart */
#include "model/job_effects.h"

#include "base/map.h"
#include "base/rng.h"
#include "model/doubt.h"

#include <string.h>

/* The noise of windows in general counts as so many surprises of a place's own. */
#define NOISE_PRIOR 6.0

/* One further out than this is an accident; about so many of them count. */
#define SURPRISE_MAX     12.0
#define SURPRISES_MEMORY 20.0

struct job_effects *job_effects_create(void)
{
    struct job_effects *b = mem_new(struct job_effects);

    b->index = map_create();
    return b;
}

void job_effects_destroy(struct job_effects *b)
{
    if (!b)
        return;
    map_destroy(b->index);
    vec_free(&b->items);
    vec_free(&b->unused);
    free(b);
}

void job_effects_begin(struct job_effects *b, uint64_t job, int cls, uint64_t version)
{
    size_t at = b->items.count;

    if (map_get(b->index, job, &at))
        return;
    if (b->unused.count > 0)
        at = b->unused.items[--b->unused.count];
    else
        vec_push(&b->items, (struct job_own){0});
    b->items.items[at] =
        (struct job_own){.job = job, .here = true, .cls = cls, .version = version};
    map_put(b->index, job, at);
}

void job_effects_end(struct job_effects *b, uint64_t job)
{
    size_t at;

    if (!map_get(b->index, job, &at))
        return;
    map_remove(b->index, job);
    b->items.items[at].here = false;
    vec_push(&b->unused, at);
}

struct job_own *job_effects_find(const struct job_effects *b, uint64_t job)
{
    size_t at;

    return map_get(b->index, job, &at) ? &b->items.items[at] : NULL;
}

void job_effects_rebase(struct job_effects *b, int cls, double by)
{
    vec_each (struct job_own, own, &b->items) {
        if (!own->here || own->cls != cls)
            continue;
        own->version++;
        for (int i = 0; i < own->count; i++)
            if (own->places[i].neighbours == 0)
                own->places[i].told += by;
    }
}

uint64_t job_effects_key(int type, const int *others, int neighbours, bool spread)
{
    uint64_t key = rng_mix((uint64_t)type * 2 + spread, (uint64_t)neighbours);
    uint64_t sum = 0;

    for (int i = 0; i < neighbours; i++)
        sum += rng_mix((uint64_t)others[i] + 1, 7); /* a sum: any order is the same */
    return neighbours > 0 ? rng_mix(key, sum) : key;
}

const struct job_place *job_effects_place(const struct job_own *own, uint64_t key)
{
    for (int i = 0; i < own->count; i++)
        if (own->places[i].key == key)
            return &own->places[i];
    return NULL;
}

struct job_place *job_effects_place_take(struct job_own *own, uint64_t key)
{
    const struct job_place *known = job_effects_place(own, key);
    struct job_place *place;

    if (known)
        return &own->places[known - own->places];
    if (own->count < JOB_EFFECTS_MAX_PLACES) {
        place = &own->places[own->count++];
    } else {
        place = &own->places[0];
        for (int i = 1; i < own->count; i++)
            if (own->places[i].stamp < place->stamp)
                place = &own->places[i];
    }
    *place = (struct job_place){.key = key, .told = NAN};
    return place;
}

static double noise_of(const struct job_place *place, const struct window_noise *noise)
{
    return (NOISE_PRIOR * noise->var + place->squares) / (NOISE_PRIOR + place->surprises);
}

/* ---- a window comes ---------------------------------------------------------------- */

/* A window further off than this in the log, and than so many standard deviations, is
 * wrong or a sudden change; nearer ones are at worst odd (running.c). */
#define FAR_LOG 0.7
#define FAR_SD  4.0

/* Windows further apart than this, or than so many standard deviations, do not agree. */
#define AGREE_LOG 0.35
#define AGREE_SD  3.0

/* Nothing is expected more surely than so. */
#define EXPECTED_VAR_LEAST 1e-4

/* A first window that is wrong with more than this chance waits for a second one; with
 * more than that, what is said of the place waits, and nothing of it is told elsewhere.
 */
#define HOLD_CHANCE 0.5
#define TELL_CHANCE 0.2

static int drop_far(struct job_place *place)
{
    int count = place->far_count;

    place->far = 0;
    place->far_count = 0;
    return count;
}

static bool agree(double one, double other, double var)
{
    return fabs(one - other) <= fmax(AGREE_LOG, AGREE_SD * sqrt(2 * var));
}

static bool joins_far(const struct job_place *place, double value, double var)
{
    return place->far_count > 0 && agree(value, place->far / place->far_count, var);
}

/* A window says otherwise: one of them was wrong. */
static int lose_far(struct job_place *place)
{
    if (place->far_count == 0)
        return 0;
    place->far -= place->far / place->far_count;
    place->far_count--;
    return 1;
}

/* It joins those that say the same, or stands against them; returns how many were wrong.
 */
static int add_far(struct job_place *place, double value, double var)
{
    int wrong = 0;

    if (place->far_count > 0 && !joins_far(place, value, var)) {
        wrong = lose_far(place);
        if (place->far_count > 0)
            return wrong;
    }
    place->far += value;
    place->far_count++;
    return wrong;
}

/* What they say is believed; the past is kept until as many say so. */
static void believe_far(struct job_place *place)
{
    place->past = place->drift;
    place->drift =
        (struct drift){.mean = place->far / place->far_count, .times = place->far_count};
    place->sure = true;
    drop_far(place);
}

/* Nothing is believed of the place yet: the window, and those that said the same before
 * it, are believed unless they are likelier to be wrong. */
static struct window_fate push_first(struct job_place *place, double value, double var,
                                     const struct window_prior *prior)
{
    struct window_fate fate = {.surprise = NAN, .wander = NAN};
    struct job_place asked = *place;
    double chance;

    place->expected = prior->mean;
    place->expected_var = prior->var;
    if (!joins_far(place, value, var))
        drop_far(&asked);
    add_far(&asked, value, var);
    chance = doubt_of(prior->wrong, asked.far / asked.far_count - prior->mean, prior->var,
                      asked.far_count);
    fate.kept = chance <= HOLD_CHANCE || asked.far_count >= doubt_run(prior->wrong);
    if (!fate.kept) {
        fate.wrong = add_far(place, value, var);
        return fate;
    }
    if (joins_far(place, value, var))
        drop_far(place); /* else they may be right after all */
    place->drift =
        (struct drift){.mean = asked.far / asked.far_count, .times = asked.far_count};
    place->sure = chance <= TELL_CHANCE || asked.far_count > 1;
    return fate;
}

/* The window was as it is told before a change: it was none. */
static void go_back(struct job_place *place, double value, struct window_fate *fate)
{
    fate->wrong = drop_far(place) + (int)ceil(place->drift.times);
    place->drift = (struct drift){.mean = place->past.mean, .times = place->past.times};
    place->past.times = 0;
    drift_push(&place->drift, value);
    fate->changed = true;
}

/* Windows in a row that are far from what is believed, which few windows said: the more
 * there are, and the nearer they are to what is expected of the place, the likelier it is
 * that the others were wrong. */
static double odds_of_far(const struct job_place *place, double wrong)
{
    double var = fmax(place->expected_var, EXPECTED_VAR_LEAST);
    double before = place->drift.mean - place->expected;
    double far = place->far / place->far_count - place->expected;

    return doubt_density(far, var) - doubt_density(before, var) +
           (place->far_count - ceil(place->drift.times)) * doubt_weight(wrong);
}

static void push_far(struct job_place *place, double value, double var, double wrong,
                     struct window_fate *fate)
{
    int before = place->far_count;

    if (place->past.times > 0 && agree(value, place->past.mean, var)) {
        go_back(place, value, fate);
        return;
    }
    fate->wrong = add_far(place, value, var);
    fate->changed = fate->kept =
        (before == 0 || place->far_count > before) &&
        (place->far_count >= doubt_run(wrong) || odds_of_far(place, wrong) > 0);
    if (fate->kept)
        believe_far(place);
}

static void learn_noise(struct job_place *place, const struct window_fate *fate,
                        double var)
{
    place->squares += fmin(fate->surprise, SURPRISE_MAX * var);
    place->surprises++;
    if (place->surprises > SURPRISES_MEMORY) {
        place->squares *= SURPRISES_MEMORY / place->surprises;
        place->surprises = SURPRISES_MEMORY;
    }
}

struct window_fate job_effects_push(struct job_place *place, double value, double at_s,
                                    const struct window_noise *noise,
                                    const struct window_prior *prior)
{
    struct drift *d = &place->drift;
    double off = value - d->mean, var = noise_of(place, noise), times = d->times, wears;
    struct window_fate fate = {.kept = true, .surprise = NAN, .wander = NAN};

    place->gap_s = times > 0 ? fmax(at_s - place->at_s, 0) : 0;
    place->at_s = at_s;
    if (times <= 0)
        return push_first(place, value, var, prior);
    /* What was known wears off as the rate wanders. */
    wears = noise->drift * place->gap_s / var;
    d->times = 1 / (1 / times + wears);
    if (fabs(off) > fmax(FAR_LOG, FAR_SD * sqrt(var * (1 + 1 / times + wears)))) {
        push_far(place, value, var, prior->wrong, &fate);
        return fate;
    }
    if (d->times >= place->past.times)
        place->past.times = 0;
    fate.wrong = lose_far(place);
    fate.changed = drift_push(d, value);
    place->sure = true;
    if (fate.changed)
        return fate;
    fate.wander = off * off - noise->var * (1 + 1 / times);
    fate.surprise = off * off / (1 + 1 / times + wears);
    learn_noise(place, &fate, var);
    return fate;
}

void job_effects_shift(struct job_place *place, double by)
{
    drift_shift(&place->drift, by);
    drift_shift(&place->past, by);
    place->expected += by;
    place->far += place->far_count * by;
}

void job_effects_set(struct job_place *place, double value, double sd_log, double at_s,
                     const struct window_noise *noise)
{
    place->gap_s = place->drift.times > 0 ? fmax(at_s - place->at_s, 0) : 0;
    place->at_s = at_s;
    place->drift =
        (struct drift){.mean = value,
                       .times = fmax(noise_of(place, noise) / (sd_log * sd_log),
                                     JOB_EFFECTS_TIMES_LEAST)};
    place->sure = true;
}

double job_effects_window_var(const struct job_place *place,
                              const struct window_noise *noise)
{
    double var = noise_of(place, noise);

    return var * (1 + 1 / fmax(place->drift.times, JOB_EFFECTS_TIMES_LEAST)) +
           noise->drift * place->gap_s;
}

struct job_factor job_effects_combine(const struct job_evidence *evidence, int type_count,
                                      int type, double var, double rho)
{
    /* A factor is a level common to all types and a part of the type's own. */
    double common = rho * var, rest = (1 - rho) * var;
    double precision = 0, weighted = 0, level, level_var, share, spread;
    const struct job_evidence *here = &evidence[type];

    for (int t = 0; t < type_count; t++) {
        const struct job_evidence *e = &evidence[t];

        if (e->precision > 0) {
            spread = rest + 1 / e->precision;
            precision += 1 / spread;
            weighted += e->weighted / e->precision / spread;
        }
    }
    level_var = common > 0 ? 1 / (1 / common + precision) : 0;
    level = level_var * weighted;
    if (!(here->precision > 0))
        return (struct job_factor){.mean = level, .var = level_var + rest};
    spread = rest + 1 / here->precision;
    share = rest / spread;
    return (struct job_factor){
        .mean = level + share * (here->weighted / here->precision - level),
        .var = share / here->precision + (1 - share) * (1 - share) * level_var,
    };
}

const struct job_own *job_effects_next(const struct job_effects *b,
                                       const struct job_own *after)
{
    const struct job_own *at = after ? after + 1 : b->items.items;
    const struct job_own *end = b->items.items + b->items.count;

    while (at < end && !at->here)
        at++;
    return at < end ? at : NULL;
}

/* ---- for checkpoints ------------------------------------------------------------------
 */

#define JOBS_MAX 1000000

static bool kept(const struct job_place *p, const struct codec *c)
{
    for (int i = 0; i < p->neighbours; i++)
        if (!codec_kind_kept(c, p->others[i]))
            return false;
    return true;
}

static void code_place(struct job_place *p, int types, size_t kinds, struct codec *c)
{
    codec_int(c, &p->type, 0, types - 1);
    codec_bool(c, &p->spread);
    codec_int(c, &p->neighbours, 0, LOOP_MAX_SHARE - 1);
    for (int i = 0; i < p->neighbours; i++)
        codec_kind(c, &p->others[i], kinds);
    for (int i = 0; i < p->neighbours; i++) {
        codec_at_least(c, &p->busy[i], 0);
        codec_at_least(c, &p->asked[i], 0);
        p->busy[i] = fmin(p->busy[i], 1);
    }
    codec_int(c, &p->drift.odd_count, 0, 1000);
    codec_real(c, &p->drift.mean);
    codec_real(c, &p->drift.times);
    codec_real(c, &p->drift.odd);
    codec_int(c, &p->far_count, 0, 1000);
    codec_real(c, &p->far);
    codec_bool(c, &p->sure);
    codec_real(c, &p->expected);
    codec_at_least(c, &p->expected_var, 0);
    codec_real(c, &p->past.mean);
    codec_at_least(c, &p->past.times, 0);
    codec_real(c, &p->squares);
    codec_real(c, &p->surprises);
    codec_or_nan(c, &p->told, 1);
    codec_real(c, &p->at_s);
    codec_real(c, &p->gap_s);
    codec_u64(c, &p->stamp);
}

/* A job with the places that stay, as a copy. */
static void code_job(struct job_own *own, const struct job_effects_counts *counts,
                     struct codec *c)
{
    int places = 0;

    codec_u64(c, &own->job);
    codec_class(c, &own->cls, counts->classes);
    for (int i = 0; c->out && i < own->count; i++)
        if (kept(&own->places[i], c))
            own->places[places++] = own->places[i];
    own->count = places;
    codec_int(c, &own->count, 0, JOB_EFFECTS_MAX_PLACES);
    for (int i = 0; i < own->count; i++) {
        struct job_place *p = &own->places[i];

        code_place(p, counts->types, counts->kinds, c);
        p->key = job_effects_key(p->type, p->others, p->neighbours, p->spread);
    }
}

void job_effects_code(struct job_effects *b, const struct job_effects_counts *counts,
                      struct codec *c)
{
    const struct job_own *at = c->out ? job_effects_next(b, NULL) : NULL;

    for (int count = 0; count < JOBS_MAX; count++) {
        struct job_own own = {.here = true, .version = 1};

        while (at && !codec_kept(c, at->cls))
            at = job_effects_next(b, at);
        if (!codec_more(c, at != NULL))
            break;
        if (at)
            own = *at;
        code_job(&own, counts, c);
        if (at) {
            at = job_effects_next(b, at);
        } else {
            job_effects_begin(b, own.job, own.cls, 1);
            *job_effects_find(b, own.job) = own;
        }
    }
}
