/* job_effects.c - see job_effects.h */
#include "model/job_effects.h"

#include "base/map.h"
#include "base/rng.h"
#include "base/vec.h"

#include <string.h>

/* The noise of windows in general counts as so many surprises of a place's own. */
#define NOISE_PRIOR 6.0

/* One further out than this is an accident; about so many of them count. */
#define SURPRISE_MAX     12.0
#define SURPRISES_MEMORY 20.0

struct job_effects {
    int type_count;
    struct map *index; /* job id -> items */
    vec_of(struct job_own) items;
    vec_of(size_t) unused;
};

struct job_effects *job_effects_create(int type_count)
{
    struct job_effects *b = mem_new(struct job_effects);

    b->type_count = type_count;
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
    struct job_place *place;

    for (int i = 0; i < own->count; i++)
        if (own->places[i].key == key)
            return &own->places[i];
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

bool job_effects_push(struct job_place *place, double value, double at_s,
                      const struct window_noise *noise, double *surprise, double *wander)
{
    struct drift *d = &place->drift;
    double off = value - d->mean, var = noise_of(place, noise), times = d->times;
    bool changed;

    *surprise = *wander = NAN;
    place->gap_s = times > 0 ? fmax(at_s - place->at_s, 0) : 0;
    place->at_s = at_s;
    /* What was known wears off as the rate wanders. */
    if (times > 0)
        d->times = 1 / (1 / times + noise->drift * place->gap_s / var);
    changed = drift_push(d, value);
    if (times <= 0 || changed)
        return changed;
    *wander = off * off - noise->var * (1 + 1 / times);
    *surprise = off * off / (1 + 1 / times + noise->drift * place->gap_s / var);
    place->squares += fmin(*surprise, SURPRISE_MAX * var);
    place->surprises++;
    if (place->surprises > SURPRISES_MEMORY) {
        place->squares *= SURPRISES_MEMORY / place->surprises;
        place->surprises = SURPRISES_MEMORY;
    }
    return false;
}

double job_effects_window_var(const struct job_place *place,
                              const struct window_noise *noise)
{
    double var = noise_of(place, noise);

    return var * (1 + 1 / fmax(place->drift.times, 0.1)) + noise->drift * place->gap_s;
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

int job_effects_type_count(const struct job_effects *b)
{
    return b->type_count;
}

const struct job_own *job_effects_items(const struct job_effects *b, size_t *count)
{
    *count = b->items.count;
    return b->items.items;
}

/* ---- for checkpoints ------------------------------------------------------------------
 */

#define JOBS_MAX 1000000

const struct job_own *job_effects_next(const struct job_effects *b,
                                       const struct job_own *after)
{
    size_t count;
    const struct job_own *items = job_effects_items(b, &count);
    const struct job_own *at = after ? after + 1 : items;

    while (at && at < items + count && !at->here)
        at++;
    return at && at < items + count ? at : NULL;
}

static bool kept(const struct job_place *p, const struct bytes_out *out)
{
    for (int i = 0; i < p->neighbours; i++)
        if (bytes_class(out, p->others[i]) < 0)
            return false;
    return true;
}

static void put_place(const struct job_place *p, struct bytes_out *out)
{
    const double reals[] = {p->drift.mean, p->drift.times, p->drift.odd, p->squares,
                            p->surprises,  p->told,        p->at_s,      p->gap_s};

    bytes_put_u64(out, (uint64_t)p->type);
    bytes_put_u64(out, p->spread);
    bytes_put_u64(out, (uint64_t)p->neighbours);
    for (int i = 0; i < p->neighbours; i++)
        bytes_put_u64(out, (uint64_t)bytes_class(out, p->others[i]));
    bytes_put_reals(out, p->busy, (size_t)p->neighbours);
    bytes_put_u64(out, (uint64_t)p->drift.odd_count);
    bytes_put_reals(out, reals, sizeof(reals) / sizeof(reals[0]));
    bytes_put_u64(out, p->stamp);
}

void job_effects_write(const struct job_effects *b, struct bytes_out *out)
{
    for (const struct job_own *own = job_effects_next(b, NULL); own;
         own = job_effects_next(b, own)) {
        int places = 0;

        if (bytes_class(out, own->cls) < 0)
            continue;
        for (int i = 0; i < own->count; i++)
            places += kept(&own->places[i], out);
        bytes_put_u64(out, 1);
        bytes_put_u64(out, own->job);
        bytes_put_u64(out, (uint64_t)bytes_class(out, own->cls));
        bytes_put_u64(out, (uint64_t)places);
        for (int i = 0; i < own->count; i++)
            if (kept(&own->places[i], out))
                put_place(&own->places[i], out);
    }
    bytes_put_u64(out, 0);
}

static void get_place(struct job_place *p, int type_count, int class_count,
                      struct bytes_in *in)
{
    double *const reals[] = {&p->drift.mean, &p->drift.times, &p->drift.odd, &p->squares,
                             &p->surprises,  &p->told,        &p->at_s,      &p->gap_s};

    p->type = bytes_int(in, 0, type_count - 1);
    p->spread = bytes_int(in, 0, 1);
    p->neighbours = bytes_int(in, 0, LOOP_MAX_SHARE - 1);
    for (int i = 0; i < p->neighbours; i++)
        p->others[i] = bytes_int(in, 0, class_count - 1);
    for (int i = 0; i < p->neighbours; i++)
        p->busy[i] = fmin(fmax(bytes_real(in), 0), 1);
    p->drift.odd_count = bytes_int(in, 0, 1000);
    for (size_t i = 0; i < sizeof(reals) / sizeof(reals[0]); i++)
        *reals[i] = reals[i] == &p->told ? bytes_real_or_nan(in) : bytes_real(in);
    p->stamp = bytes_u64(in);
    p->key = job_effects_key(p->type, p->others, p->neighbours, p->spread);
}

void job_effects_read(struct job_effects *b, int class_count, struct bytes_in *in)
{
    int count = 0;

    while (bytes_int(in, 0, 1) && ++count <= JOBS_MAX) {
        uint64_t job = bytes_u64(in);
        int cls = bytes_int(in, 0, class_count - 1);
        struct job_own *own;

        job_effects_begin(b, job, cls, 1);
        own = job_effects_find(b, job);
        own->count = bytes_int(in, 0, JOB_EFFECTS_MAX_PLACES);
        for (int i = 0; i < own->count; i++)
            get_place(&own->places[i], job_effects_type_count(b), class_count, in);
    }
}
