/* prediction_table.c - the planner loads it at the beginning of a round and of an offer,
 * and reads costs from it; it asks the model through estimate/ */
#include "loop/optimize/prediction_table.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/rng.h"
#include "base/vec.h"
#include "loop/estimate/predict.h"
#include "loop/requirement.h"
#include "model/prediction_cache.h"

#include <math.h>
#include <string.h>

#define SLOTS                                                                            \
    (2 * PREDICTION_TABLE_MOST) /* kinds kept, those that left lately included */
#define PAIRS          ((size_t)SLOTS * (SLOTS + 1) / 2)
#define CHANGED        0.005 /* a rate alone that moved by this much is news */
#define CHANGED_DEMAND 0.1   /* and so is a demand */
/* Where jobs share kinds, so many of these are asked for again in a round, in turn. */
#define KINDS_A_ROUND 8
/* And so many answers on pairs are made again; in a round that is not in a hurry, more,
 * and none while somebody waits for a place.  It takes as long as all the rest. */
#define CELLS_A_ROUND 64
#define CELLS_AT_EASE 1536

struct prediction_table {
    const struct optimize_input *in;
    int types;
    struct table_kind kinds[SLOTS];
    struct map *by_key;                          /* key -> index of the kind */
    struct table_pair *pairs;                    /* (types, PAIRS): see cell() */
    bool *known;                                 /* the same */
    int count;                                   /* kinds of this round, */
    struct table_kind *last;                     /* and the newest of them */
    vec_of(const struct table_kind *) of;        /* (jobs) */
    vec_of(const struct table_kind *) of_before; /* (jobs of the last round) */
    bool each;                                   /* a kind a job, in the last round */
    long round;
    int left; /* kinds that may be asked for again this round */
    int turn; /* kind whose pairs are asked again this round */
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
    vec_free(&k->of);
    vec_free(&k->of_before);
    free(k);
}

static size_t cell(int a, int b, int type)
{
    size_t low = (size_t)(a < b ? a : b), high = (size_t)(a < b ? b : a);

    return (size_t)type * PAIRS + high * (high + 1) / 2 + low;
}

static void forget(struct prediction_table *k, int kind)
{
    for (int t = 0; t < k->types; t++)
        for (int other = 0; other < SLOTS; other++)
            k->known[cell(kind, other, t)] = false;
}

static uint64_t key_of(const struct job_status *s, bool each)
{
    const struct job_descriptor *d = &s->job.descriptor;
    uint64_t key;

    if (each)
        return s->job.id;
    key = rng_mix((uint64_t)d->model, (uint64_t)d->batch);
    key = rng_mix(key, hash_bytes(d->family, strlen(d->family)));
    key = rng_mix(rng_mix(key, (uint64_t)s->job.devices), (uint64_t)s->job.kind);
    /* how sure a rate must be */
    key =
        rng_mix(rng_mix(key, (uint64_t)(s->job.need.confidence * 1e6)), s->job.may_move);
    return rng_mix(rng_mix(key, (uint64_t)(s->job.memory_gb * 1e6)),
                   (uint64_t)(int64_t)s->job.owner);
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

static double sure_rate(const struct prediction_table *k, const struct job_status *job,
                        const struct estimate *rate)
{
    return estimate_at_confidence(rate,
                                  requirement_confidence(k->in->settings, &job->job));
}

/* What the model says of the kind alone; its pairs are forgotten when that is news. */
static void ask_alone(struct prediction_table *k, struct table_kind *kind)
{
    const struct job_status *job = kind->job;
    double demand = requirement_demand(job);
    bool news = !(fabs(demand - kind->demand) <= CHANGED_DEMAND * kind->demand);

    kind->spread = 1;
    for (int t = 0; t < k->types; t++) {
        struct prediction p = ask(k, job, NULL, t, 1);
        double rate = p.rate[0].value;

        kind->alone[t] = (struct table_alone){
            .rate = sure_rate(k, job, &p.rate[0]),
            .expected = rate,
            .hope = estimate_at_confidence(&p.rate[0], PREDICTION_TABLE_HOPE),
            .watts = p.watts.value,
            .fits = p.fits};
        news = news || !(fabs(rate - kind->seen[t]) <= CHANGED * kind->seen[t]);
        if (job->job.devices > 1) {
            struct prediction apart = ask(k, job, NULL, t, 2);

            kind->spread = fmin(kind->spread, apart.rate[0].value / rate);
        }
    }
    if (!news)
        return;
    for (int t = 0; t < k->types; t++)
        kind->seen[t] = kind->alone[t].expected;
    kind->demand = demand;
    forget(k, (int)(kind - k->kinds));
}

/* The kind of this key: as it was kept, or in place of one not seen for longest. */
static struct table_kind *find_kind(struct prediction_table *k, uint64_t key)
{
    struct table_kind *oldest = k->kinds;
    size_t at;

    if (map_get(k->by_key, key, &at))
        return &k->kinds[at];
    for (struct table_kind *kind = k->kinds; kind < k->kinds + SLOTS; kind++)
        if (kind->round < oldest->round)
            oldest = kind;
    map_remove(k->by_key, oldest->key);
    *oldest = (struct table_kind){.key = key};
    map_put(k->by_key, key, (size_t)(oldest - k->kinds));
    return oldest;
}

/* before: what it was in the last round, when it was the same job; NULL: nobody knows. */
static const struct table_kind *kind_of(struct prediction_table *k,
                                        const struct job_status *job,
                                        const struct table_kind *before, bool each)
{
    struct table_kind *kind = before && before->round >= k->round - 1
                                  ? (struct table_kind *)(uintptr_t)before
                                  : find_kind(k, key_of(job, each));
    bool old;

    if (kind->round == k->round) /* another job stands for it */
        return kind;
    if (k->count == PREDICTION_TABLE_MOST) /* too many: the last stands for the rest */
        return k->last;
    k->count++;
    k->last = kind;
    old = kind->asked == 0 ||
          k->round - kind->asked >= PREDICTION_TABLE_MOST / KINDS_A_ROUND;
    kind->round = k->round;
    kind->job = job;
    if (each || kind->asked == 0 || (old && k->left-- > 0)) {
        kind->asked = k->round;
        ask_alone(k, kind);
    }
    return kind;
}

/* Two that share now are being measured: what is believed of them changes first. */
static void forget_present_pairs(struct prediction_table *k)
{
    const struct job_status *const *jobs = k->in->jobs;

    for (size_t j = 0; j < k->in->job_count; j++)
        for (size_t i = 0; i < j; i++)
            if (jobs[i]->device_count > 0 && jobs[j]->device_count > 0 &&
                jobs[i]->devices[0] == jobs[j]->devices[0])
                k->known[cell((int)(k->of.items[i] - k->kinds),
                              (int)(k->of.items[j] - k->kinds),
                              k->in->cluster->devices[jobs[i]->devices[0]].type)] = false;
}

static void fit_types(struct prediction_table *k, int types)
{
    size_t cells = (size_t)types * PAIRS;

    if (k->types == types)
        return;
    free(k->pairs);
    free(k->known);
    k->types = types;
    k->pairs = mem_array(struct table_pair, cells);
    k->known = mem_array(bool, cells);
}

static bool somebody_waits(const struct optimize_input *in)
{
    for (size_t j = 0; j < in->job_count; j++)
        if (optimize_input_waits(in, j))
            return true;
    return false;
}

const struct table_kind *const *prediction_table_load(struct prediction_table *k,
                                                      const struct optimize_input *in,
                                                      const int *was, bool at_ease)
{
    bool each = in->job_count <= PREDICTION_TABLE_MOST;
    bool known = was && !each && !k->each && k->count < PREDICTION_TABLE_MOST;

    k->in = in;
    k->each = each;
    k->round++;
    k->count = 0;
    k->left = KINDS_A_ROUND;
    if (in->model->cache)
        prediction_cache_allow(in->model->cache, each      ? PREDICTION_CACHE_ALL
                                                 : at_ease ? CELLS_AT_EASE
                                                 : somebody_waits(in) ? 0
                                                                      : CELLS_A_ROUND);
    fit_types(k, in->cluster->type_count);
    vec_clear(&k->of_before);
    vec_reserve(&k->of_before, k->of.count);
    if (known && k->of.count > 0)
        memcpy(k->of_before.items, k->of.items, k->of.count * sizeof(*k->of.items));
    vec_clear(&k->of);
    for (size_t j = 0; j < in->job_count; j++)
        vec_push(&k->of,
                 kind_of(k, in->jobs[j],
                         known && was[j] >= 0 ? k->of_before.items[was[j]] : NULL, each));
    if (each) /* else kinds of many jobs: no two in particular */
        forget_present_pairs(k);
    k->turn = (k->turn + 1) % SLOTS;
    forget(k, k->turn);
    return k->of.items;
}

/* The pair as seen from a: kept with the lower index first. */
static struct table_pair turned(struct table_pair pair, bool swap)
{
    struct table_pair other = {.fits = pair.fits,
                               .rate = {pair.rate[1], pair.rate[0]},
                               .expected = {pair.expected[1], pair.expected[0]},
                               .hope = {pair.hope[1], pair.hope[0]},
                               .watts = pair.watts};

    return swap ? other : pair;
}

struct table_pair prediction_table_pair_on(struct prediction_table *k,
                                           const struct table_kind *a,
                                           const struct table_kind *b, int type)
{
    const struct job_status *jobs[] = {a <= b ? a->job : b->job,
                                       a <= b ? b->job : a->job};
    size_t at = cell((int)(a - k->kinds), (int)(b - k->kinds), type);
    struct table_pair *pair = &k->pairs[at];
    struct prediction p;

    if (k->known[at])
        return turned(*pair, a > b);
    p = ask(k, jobs[0], jobs[1], type, 1);
    for (int e = 0; e < 2; e++) {
        pair->rate[e] = (float)sure_rate(k, jobs[e], &p.rate[e]);
        pair->expected[e] = (float)p.rate[e].value;
        pair->hope[e] = (float)estimate_at_confidence(&p.rate[e], PREDICTION_TABLE_HOPE);
    }
    pair->fits = p.fits >= PREDICT_FITS_LEAST;
    pair->watts = (float)p.watts.value;
    k->known[at] = true;
    return turned(*pair, a > b);
}
