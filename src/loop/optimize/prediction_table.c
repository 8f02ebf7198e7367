/* prediction_table.c - see prediction_table.h */
#include "loop/optimize/prediction_table.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/rng.h"
#include "loop/estimate/predict.h"
#include "loop/requirement.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS                                                                            \
    (2 * PREDICTION_TABLE_MOST) /* kinds kept, those that left lately included */
#define MAX_TYPES      64
#define CHANGED        0.005 /* a rate alone that moved by this much is news */
#define CHANGED_DEMAND 0.1   /* and so is a demand */

struct slot {
    uint64_t key;
    long round;             /* last used in; 0: never */
    double seen[MAX_TYPES]; /* rate alone when pairs were last forgotten, */
    double demand;          /* and requests asked for */
    struct table_alone alone[MAX_TYPES];
    double spread;
};

struct prediction_table {
    const struct optimize_input *in;
    int types;
    struct slot slots[SLOTS];
    struct map *by_key;       /* key -> slot */
    struct table_pair *pairs; /* (types, SLOTS, SLOTS) upper half: lower slot first */
    bool *known;              /* the same */
    int count;
    int slot_of[PREDICTION_TABLE_MOST];   /* (kinds) */
    size_t job_of[PREDICTION_TABLE_MOST]; /* (kinds) representative, index in the input */
    int *kind_of;                         /* (jobs) */
    size_t room;
    long round;
    int turn; /* slot whose pairs are asked again this round */
};

struct prediction_table *prediction_table_create(void)
{
    struct prediction_table *k = mem_new(struct prediction_table);

    k->by_key = map_create();
    return k;
}

void prediction_table_destroy(struct prediction_table *k)
{
    if (!k)
        return;
    map_destroy(k->by_key);
    free(k->pairs);
    free(k->known);
    free(k->kind_of);
    free(k);
}

static size_t cell(const struct prediction_table *k, int a, int b, int type)
{
    int low = a < b ? a : b, high = a < b ? b : a;

    (void)k;
    return ((size_t)type * SLOTS + (size_t)low) * SLOTS + (size_t)high;
}

static void forget(struct prediction_table *k, int slot)
{
    for (int t = 0; t < k->types; t++)
        for (int other = 0; other < SLOTS; other++)
            k->known[cell(k, slot, other, t)] = false;
}

static uint64_t key_of(const struct job_status *s, bool each)
{
    const struct job_descriptor *d = &s->job.descriptor;
    uint64_t key = rng_mix(s->job.id, 1);

    if (each)
        return key;
    key = rng_mix((uint64_t)d->model, (uint64_t)d->batch);
    for (const char *c = d->family; *c; c++)
        key = rng_mix(key, (uint64_t)*c);
    key = rng_mix(key, (uint64_t)s->job.devices * 2 + (s->job.kind == JOB_TRAINING));
    return key;
}

/* A slot for the key: its own, or that of a kind not seen for longest. */
static int take_slot(struct prediction_table *k, uint64_t key)
{
    size_t at;
    int oldest = 0;

    if (map_get(k->by_key, key, &at))
        return (int)at;
    for (int s = 1; s < SLOTS; s++)
        if (k->slots[s].round < k->slots[oldest].round)
            oldest = s;
    if (k->slots[oldest].round > 0)
        map_remove(k->by_key, k->slots[oldest].key);
    k->slots[oldest] = (struct slot){.key = key};
    map_put(k->by_key, key, (size_t)oldest);
    forget(k, oldest);
    return oldest;
}

static double confidence_of(const struct prediction_table *k,
                            const struct job_status *job)
{
    return requirement_confidence(k->in->settings, &job->job);
}

static struct prediction ask(struct prediction_table *k, const struct job_status *a,
                             const struct job_status *b, int type, int nodes)
{
    struct combination where = {.type = type, .count = b ? 2 : 1};
    struct prediction p;

    where.members[0] = (struct member){&a->job, nodes, requirement_demand(a)};
    if (b)
        where.members[1] = (struct member){&b->job, 1, requirement_demand(b)};
    predict(k->in->model, &where, &p);
    return p;
}

static void ask_alone(struct prediction_table *k, int kind)
{
    struct slot *s = &k->slots[k->slot_of[kind]];
    const struct job_status *job = prediction_table_job(k, kind);
    double demand = requirement_demand(job);
    bool news = !(fabs(demand - s->demand) <= CHANGED_DEMAND * s->demand);

    s->spread = 1;
    for (int t = 0; t < k->types; t++) {
        struct prediction p = ask(k, job, NULL, t, 1);
        double rate = p.rate[0].value;

        s->alone[t] = (struct table_alone){
            .rate = estimate_at_confidence(&p.rate[0], confidence_of(k, job)),
            .expected = rate,
            .hope = estimate_at_confidence(&p.rate[0], PREDICTION_TABLE_HOPE),
            .watts = p.watts.value,
            .fits = p.fits};
        news = news || !(fabs(rate - s->seen[t]) <= CHANGED * s->seen[t]);
        if (job->job.devices > 1) {
            struct prediction apart = ask(k, job, NULL, t, 2);

            s->spread = fmin(s->spread, apart.rate[0].value / rate);
        }
    }
    if (!news)
        return;
    for (int t = 0; t < k->types; t++)
        s->seen[t] = s->alone[t].expected;
    s->demand = demand;
    forget(k, k->slot_of[kind]);
}

static void add_job(struct prediction_table *k, size_t j, bool each)
{
    int slot = take_slot(k, key_of(k->in->jobs[j], each));

    if (k->slots[slot].round == k->round) { /* its kind is here already */
        for (int kind = 0; kind < k->count; kind++)
            if (k->slot_of[kind] == slot)
                k->kind_of[j] = kind;
        return;
    }
    if (k->count ==
        PREDICTION_TABLE_MOST) { /* too many kinds: the last stands for the rest */
        k->kind_of[j] = PREDICTION_TABLE_MOST - 1;
        return;
    }
    k->slots[slot].round = k->round;
    k->slot_of[k->count] = slot;
    k->job_of[k->count] = j;
    k->kind_of[j] = k->count++;
}

/* Two that share now are being measured: what is believed of them changes first. */
static void forget_present_pairs(struct prediction_table *k)
{
    if (k->in->job_count > PREDICTION_TABLE_MOST)
        return; /* kinds of many jobs: no two in particular */
    for (size_t j = 0; j < k->in->job_count; j++) {
        const struct job_status *s = k->in->jobs[j];

        if (s->device_count == 0)
            continue;
        for (size_t i = 0; i < j; i++)
            if (k->in->jobs[i]->device_count > 0 &&
                k->in->jobs[i]->devices[0] == s->devices[0])
                k->known[cell(k, k->slot_of[k->kind_of[i]], k->slot_of[k->kind_of[j]],
                              k->in->cluster->devices[s->devices[0]].type)] = false;
    }
}

static void fit(struct prediction_table *k)
{
    const struct optimize_input *in = k->in;

    assert(in->cluster->type_count <= MAX_TYPES);
    if (k->types != in->cluster->type_count) {
        size_t cells = (size_t)in->cluster->type_count * SLOTS * SLOTS;

        free(k->pairs);
        free(k->known);
        k->types = in->cluster->type_count;
        k->pairs = mem_array(struct table_pair, cells);
        k->known = mem_array(bool, cells);
    }
    if (in->job_count > k->room) {
        free(k->kind_of);
        k->room = 2 * in->job_count;
        k->kind_of = mem_array(int, k->room);
    }
}

void prediction_table_load(struct prediction_table *k, const struct optimize_input *in)
{
    bool each = in->job_count <= PREDICTION_TABLE_MOST;

    k->in = in;
    k->round++;
    k->count = 0;
    fit(k);
    for (size_t j = 0; j < in->job_count; j++)
        add_job(k, j, each);
    for (int kind = 0; kind < k->count; kind++)
        ask_alone(k, kind);
    forget_present_pairs(k);
    k->turn = (k->turn + 1) % SLOTS;
    forget(k, k->turn);
}

int prediction_table_of(const struct prediction_table *k, size_t job)
{
    return k->kind_of[job];
}

const struct job_status *prediction_table_job(const struct prediction_table *k, int kind)
{
    return k->in->jobs[k->job_of[kind]];
}

const struct table_alone *prediction_table_alone_on(const struct prediction_table *k,
                                                    int kind, int type)
{
    return &k->slots[k->slot_of[kind]].alone[type];
}

double prediction_table_spread(const struct prediction_table *k, int kind)
{
    return k->slots[k->slot_of[kind]].spread;
}

/* The pair as seen from a: kept with the lower slot first. */
static struct table_pair turned(struct table_pair pair, bool swap)
{
    struct table_pair other = {.rate = {pair.rate[1], pair.rate[0]},
                               .expected = {pair.expected[1], pair.expected[0]},
                               .hope = {pair.hope[1], pair.hope[0]},
                               .watts = pair.watts};

    return swap ? other : pair;
}

struct table_pair prediction_table_pair_on(struct prediction_table *k, int a, int b,
                                           int type)
{
    int first = k->slot_of[a] <= k->slot_of[b] ? a : b, second = first == a ? b : a;
    size_t at = cell(k, k->slot_of[a], k->slot_of[b], type);
    struct table_pair *pair = &k->pairs[at];
    const struct job_status *x = prediction_table_job(k, first),
                            *y = prediction_table_job(k, second);
    struct prediction p;

    if (k->known[at])
        return turned(*pair, first != a);
    p = ask(k, x, y, type, 1);
    pair->rate[0] = (float)estimate_at_confidence(&p.rate[0], confidence_of(k, x));
    pair->rate[1] = (float)estimate_at_confidence(&p.rate[1], confidence_of(k, y));
    for (int e = 0; e < 2; e++) {
        pair->expected[e] = (float)p.rate[e].value;
        pair->hope[e] = (float)estimate_at_confidence(&p.rate[e], PREDICTION_TABLE_HOPE);
    }
    pair->watts = (float)p.watts.value;
    if (p.fits < PREDICT_FITS_LEAST)
        pair->rate[0] = pair->rate[1] = 0;
    k->known[at] = true;
    return turned(*pair, first != a);
}
