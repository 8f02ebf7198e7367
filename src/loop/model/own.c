/* own.c - see own.h */
#include "loop/model/own.h"

#include "base/map.h"
#include "base/rng.h"
#include "base/vec.h"

#include <string.h>

/* The noise of windows in general counts as so many surprises of a place's own. */
#define NOISE_PRIOR 6.0

/* One further out than this is an accident; about so many of them count. */
#define SURPRISE_MAX     12.0
#define SURPRISES_MEMORY 20.0

struct own_book {
    int type_count;
    struct map *index; /* job id -> items */
    vec_of(struct own) items;
    vec_of(size_t) unused;
};

struct own_book *own_book_create(int type_count)
{
    struct own_book *b = mem_new(struct own_book);

    b->type_count = type_count;
    b->index = map_create();
    return b;
}

void own_book_destroy(struct own_book *b)
{
    if (!b)
        return;
    vec_each (struct own, own, &b->items)
        free(own->factors);
    map_destroy(b->index);
    vec_free(&b->items);
    vec_free(&b->unused);
    free(b);
}

void own_begin(struct own_book *b, uint64_t job, int cls)
{
    struct own_factor *factors;
    size_t at = b->items.count;

    if (map_get(b->index, job, &at))
        return;
    if (b->unused.count > 0) {
        at = b->unused.items[--b->unused.count];
        factors = b->items.items[at].factors;
        memset(factors, 0, (size_t)b->type_count * sizeof(*factors));
    } else {
        factors = mem_array(struct own_factor, (size_t)b->type_count + 1);
        vec_push(&b->items, (struct own){0});
    }
    b->items.items[at] = (struct own){
        .job = job, .here = true, .cls = cls, .factors = factors, .version = 1};
    map_put(b->index, job, at);
}

void own_end(struct own_book *b, uint64_t job)
{
    size_t at;

    if (!map_get(b->index, job, &at))
        return;
    map_remove(b->index, job);
    b->items.items[at].here = false;
    vec_push(&b->unused, at);
}

struct own *own_find(const struct own_book *b, uint64_t job)
{
    size_t at;

    return map_get(b->index, job, &at) ? &b->items.items[at] : NULL;
}

void own_rebase(struct own_book *b, int cls, double by)
{
    vec_each (struct own, own, &b->items) {
        if (!own->here || own->cls != cls)
            continue;
        own->version++;
        for (int i = 0; i < own->count; i++)
            if (own->places[i].neighbours == 0)
                own->places[i].told += by;
    }
}

uint64_t own_key(int type, const int *others, int neighbours, bool spread)
{
    uint64_t key = rng_mix((uint64_t)type * 2 + spread, (uint64_t)neighbours);
    uint64_t sum = 0;

    for (int i = 0; i < neighbours; i++)
        sum += rng_mix((uint64_t)others[i] + 1, 7); /* a sum: any order is the same */
    return neighbours > 0 ? rng_mix(key, sum) : key;
}

struct own_place *own_place(struct own *own, uint64_t key)
{
    for (int i = 0; i < own->count; i++)
        if (own->places[i].key == key)
            return &own->places[i];
    return NULL;
}

struct own_place *own_place_take(struct own *own, uint64_t key)
{
    struct own_place *place = own_place(own, key);

    if (place)
        return place;
    if (own->count < OWN_MAX_PLACES) {
        place = &own->places[own->count++];
    } else {
        place = &own->places[0];
        for (int i = 1; i < own->count; i++)
            if (own->places[i].stamp < place->stamp)
                place = &own->places[i];
    }
    *place = (struct own_place){.key = key, .told = NAN};
    return place;
}

static double noise_of(const struct own_place *place, const struct own_noise *noise)
{
    return (NOISE_PRIOR * noise->var + place->squares) / (NOISE_PRIOR + place->surprises);
}

bool own_push(struct own_place *place, double value, double at_s,
              const struct own_noise *noise, double *surprise, double *wander)
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

double own_window_var(const struct own_place *place, const struct own_noise *noise)
{
    double var = noise_of(place, noise);

    return var * (1 + 1 / fmax(place->drift.times, 0.1)) + noise->drift * place->gap_s;
}

struct own_factor own_combine(const struct own_evidence *evidence, int type_count,
                              int type, double var, double rho)
{
    /* A factor is a level common to all types and a part of the type's own. */
    double common = rho * var, rest = (1 - rho) * var;
    double precision = 0, weighted = 0, level, level_var, share, spread;
    const struct own_evidence *here = &evidence[type];

    for (int t = 0; t < type_count; t++) {
        const struct own_evidence *e = &evidence[t];

        if (e->precision > 0) {
            spread = rest + 1 / e->precision;
            precision += 1 / spread;
            weighted += e->weighted / e->precision / spread;
        }
    }
    level_var = common > 0 ? 1 / (1 / common + precision) : 0;
    level = level_var * weighted;
    if (!(here->precision > 0))
        return (struct own_factor){.mean = level, .var = level_var + rest};
    spread = rest + 1 / here->precision;
    share = rest / spread;
    return (struct own_factor){
        .mean = level + share * (here->weighted / here->precision - level),
        .var = share / here->precision + (1 - share) * (1 - share) * level_var,
    };
}

int own_type_count(const struct own_book *b)
{
    return b->type_count;
}

const struct own *own_items(const struct own_book *b, size_t *count)
{
    *count = b->items.count;
    return b->items.items;
}
