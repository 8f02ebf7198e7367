/* classes.c - what is believed of classes: learned_absorb.c tells it what jobs measured,
 * learned_predict.c asks it, mostly through prediction_cache.c */
#include "model/classes.h"

#include "base/map.h"
#include "base/mem.h"
#include "world/power.h"

#include <math.h>
#include <stdlib.h>

static size_t cell_of(const struct classes *c, int cls, int type)
{
    return (size_t)cls * (size_t)c->type_count + (size_t)type;
}

/* Jobs a class remembers: newer ones push older ones out. */
#define JOBS_MEMORY 8.0

/* A mean that moved by less than this, in the log, is not worth telling the core. */
#define MOVED_LOG 0.01

struct classes *classes_create(const struct gpu_sheet *types, int type_count,
                               size_t memory, bool initial)
{
    struct classes *c = mem_new(struct classes);
    struct kernel_params params;

    kernel_default(&params);
    c->type_count = type_count;
    c->types = mem_dup(types, (size_t)type_count, sizeof(*types));
    c->rates = rates_create(&params);
    c->pairs = pairs_create();
    c->pairs->limit = memory < PAIRS_MAX ? memory : PAIRS_MAX;
    c->rates->closed = c->pairs->initial_only = initial;
    c->footprint = footprint_create();
    c->watts = watts_create();
    c->beside_index = map_create();
    c->gang_index = map_create();
    for (int t = 0; t < type_count; t++) {
        struct gpu_trait trait = gpu_trait_of(&types[t]);

        rates_add_gpu(c->rates, &trait);
        gp_add_gpu(c->pairs->core, &trait);
        watts_add_gpu(c->watts, &types[t]);
    }
    return c;
}

void classes_destroy(struct classes *c)
{
    if (!c)
        return;
    rates_destroy(c->rates);
    pairs_destroy(c->pairs);
    footprint_destroy(c->footprint);
    watts_destroy(c->watts);
    map_destroy(c->beside_index);
    map_destroy(c->gang_index);
    vec_free(&c->gangs);
    vec_free(&c->states);
    vec_free(&c->alone);
    vec_free(&c->drawn);
    vec_free(&c->beside);
    free(c->types);
    free(c);
}

/* Room for one more class in what is kept here; the parts get it from their users. */
static void push_class(struct classes *c)
{
    for (int t = 0; t < c->type_count; t++) {
        vec_push(&c->alone, (struct class_tally){.pushed = NAN});
        vec_push(&c->drawn, NAN);
    }
    vec_push(&c->states, (struct class_state){.version = 1, .watts_version = 1});
}

int classes_add(struct classes *c, const struct job *job, int family)
{
    struct job_trait trait = job_trait_of(&job->descriptor, family);

    rates_add_job(c->rates, &trait);
    pairs_add_job(c->pairs, &trait);
    watts_add_job(c->watts);
    push_class(c);
    return (int)c->states.count - 1;
}

void classes_arrive(struct classes *c, int cls, int more)
{
    struct class_state *s = &c->states.items[cls];

    s->here += more;
    c->pairs->idle.items[cls] = s->here <= 0;
}

/* ---- what is told ----------------------------------------------------------------- */

/* True when the mean moved enough for others to know. */
static bool tally_take(struct class_tally *t, const struct class_news *news)
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

void classes_tell_alone(struct classes *c, int cls, int type,
                        const struct class_news *news, bool inferred)
{
    struct class_tally *t = &c->alone.items[cell_of(c, cls, type)];
    bool first = isnan(t->pushed);

    if (inferred && t->jobs > 0 && !t->inferred)
        return;
    if (!inferred && t->inferred)
        *t = (struct class_tally){.pushed = t->pushed};
    t->inferred = inferred;
    if (!tally_take(t, news))
        return;
    t->pushed = t->mean;
    if (first && !inferred)
        rates_learn_weight(c->rates, cls, type, t->mean);
    rates_observe(c->rates, cls, type, t->mean);
    c->news.alone_cells += first;
    c->news.alone++;
    c->states.items[cls].version++;
}

static size_t add_pair(struct classes *c, const struct class_pair *pair)
{
    map_put(c->beside_index, cell_key(pair->cell), c->beside.count);
    vec_push(&c->beside, *pair);
    c->states.items[pair->cell.job].pair_cells++;
    c->states.items[pair->cell.other].pair_cells++;
    return c->beside.count - 1;
}

void classes_tell_beside(struct classes *c, int cls, int type, int other,
                         const struct class_news *news)
{
    struct cell cell = {cls, type, other};
    struct class_tally *t;
    size_t at;

    if (!map_get(c->beside_index, cell_key(cell), &at))
        at = add_pair(c, &(struct class_pair){cell, {.pushed = NAN}});
    t = &c->beside.items[at].tally;
    if (!tally_take(t, news))
        return;
    t->pushed = t->mean;
    pairs_put(c->pairs, cell, fmin(fmax(t->mean, log(CLASSES_RELATIVE_MIN)), 0),
              t->var / t->jobs);
    c->states.items[cls].pair_news++;
    c->states.items[other].pair_news++;
    c->news.pairs++;
}

static uint64_t gang_key(const struct class_gang *g)
{
    return (uint64_t)g->cls << 32 | (uint64_t)g->type << 16 | (uint64_t)g->devices << 1 |
           g->spread;
}

static size_t add_gang(struct classes *c, const struct class_gang_tally *gang)
{
    map_put(c->gang_index, gang_key(&gang->gang), c->gangs.count);
    vec_push(&c->gangs, *gang);
    return c->gangs.count - 1;
}

void classes_tell_gang(struct classes *c, const struct class_gang *gang,
                       const struct class_news *news)
{
    size_t at;

    if (!map_get(c->gang_index, gang_key(gang), &at))
        at = add_gang(c, &(struct class_gang_tally){*gang, {.pushed = NAN}});
    tally_take(&c->gangs.items[at].tally, news);
    c->states.items[gang->cls].version++;
}

bool classes_gang(const struct classes *c, const struct class_gang *gang,
                  struct class_guess *guess)
{
    const struct class_tally *t;
    size_t at;

    if (c->gangs.count == 0 || !map_get(c->gang_index, gang_key(gang), &at))
        return false;
    t = &c->gangs.items[at].tally;
    *guess = (struct class_guess){t->mean, t->var / t->jobs, true, true, (int)t->jobs};
    return true;
}

void classes_rebase(struct classes *c, int cls, double by)
{
    for (int t = 0; t < c->type_count; t++) {
        struct class_tally *tally = &c->alone.items[cell_of(c, cls, t)];

        if (tally->jobs <= 0)
            continue;
        tally->mean += by;
        tally->pushed = tally->mean;
        rates_observe(c->rates, cls, t, tally->mean);
        c->news.alone++;
    }
    vec_each (struct class_gang_tally, g, &c->gangs)
        if (g->gang.cls == cls)
            g->tally.mean += by;
    c->states.items[cls].version++;
}

void classes_tell_watts(struct classes *c, int cls, int type, double device_watts,
                        bool full_load)
{
    double *told = &c->drawn.items[cell_of(c, cls, type)], now;

    watts_observe(c->watts, cls, type, device_watts);
    now = watts_predict(c->watts, cls, type).watts;
    if (full_load)
        rates_observe_busy(c->rates, cls, type, power_busy(&c->types[type], now));
    if (fabs(log(now / *told)) < MOVED_LOG)
        return;
    *told = now;
    c->news.watts++;
    c->states.items[cls].watts_version++;
}

void classes_tell_memory(struct classes *c, int type, const struct footprint_item *items,
                         int count, bool failed)
{
    double memory_gb = c->types[type].memory_gb;

    if (failed)
        footprint_failed(c->footprint, type, memory_gb, items, (size_t)count);
    else
        footprint_ran(c->footprint, memory_gb, items, (size_t)count);
}

/* ---- answers ----------------------------------------------------------------------- */

/* Below this chance of fitting anywhere a footprint is too large for the cluster. */
#define FITS_HOPE 0.02

/* sd of RATES_* bases as calibrated on synthetic worlds: the models' own are narrow. */
static const double basis_factor[RATES_BASIS_COUNT] = {1, 1.25, 1.25, 1.5, 1};

struct class_guess classes_alone(const struct classes *c,
                                 const struct class_guests *guests, int cls, int type)
{
    int guest = cls - (int)c->states.count;
    const struct class_tally *t =
        guest < 0 ? &c->alone.items[cell_of(c, cls, type)] : NULL;
    struct rates_guess g;
    double sd;

    if (t && t->jobs > 0)
        return (struct class_guess){
            .mean = t->mean,
            .var = t->inferred ? t->var : t->var / t->jobs,
            .measured = !t->inferred,
            .of_class = true,
            .observations = (int)t->jobs,
        };
    g = t ? rates_predict(c->rates, cls, type)
          : rates_predict_guest(c->rates, &guests->traits[guest], type);
    sd = g.sd * basis_factor[g.basis];
    return (struct class_guess){.mean = g.mean,
                                .var = sd * sd,
                                .of_class = g.basis <= RATES_ONE,
                                .observations = g.observations};
}

struct class_guess classes_guess_of(const struct pairs_guess *g)
{
    return (struct class_guess){
        .mean = g->mean,
        .var = g->sd * g->sd,
        .measured = g->times > 0,
        .observations = g->times,
    };
}

struct class_guess classes_beside(const struct classes *c,
                                  const struct class_guests *guests, int cls, int type,
                                  int other)
{
    struct gp_guests jobs = {guests->traits, guests->count};
    struct pairs_guess g =
        pairs_predict_guest(c->pairs, &jobs, (struct cell){cls, type, other});

    return classes_guess_of(&g);
}

/* The best chance a job has on any type of the cluster, alone; 0 when it has failed on
 * one: what is believed of its size is no guess then. */
static double best_fit(const struct classes *c, const struct footprint_item *item)
{
    double best = 0;

    if (footprint_failed_alone(c->footprint, item->who))
        return 0;
    for (int t = 0; t < c->type_count; t++)
        best =
            fmax(best, footprint_fits(c->footprint, t, c->types[t].memory_gb, item, 1));
    return best;
}

/* Who submits a job expects it to fit somewhere, and a footprint worked out from a
 * descriptor is a guess: unless it is far too large, or has been seen to fail, the job is
 * taken to fit on the type where it most likely does.  Refusing it would teach nothing.
 */
double classes_fit(const struct classes *c, int type, const struct footprint_item *items,
                   int count)
{
    double fits = footprint_fits(c->footprint, type, c->types[type].memory_gb, items,
                                 (size_t)count);

    for (int i = 0; i < count && fits < 1; i++) {
        double somewhere = best_fit(c, &items[i]);

        if (somewhere >= FITS_HOPE)
            fits /= somewhere;
    }
    return fmin(1, fits);
}

/* ---- for checkpoints ------------------------------------------------------------------
 */

#define CELLS_MAX   (1 << 24)
#define DEVICES_MAX 4096

static void code_tally(struct class_tally *t, struct codec *c)
{
    codec_real(c, &t->mean);
    codec_at_least(c, &t->var, 0);
    codec_at_least(c, &t->jobs, 0);
    codec_or_nan(c, &t->pushed, 1);
    codec_bool(c, &t->inferred);
}

static void code_alone(struct classes *c, struct codec *codec)
{
    size_t types = (size_t)c->type_count, known = c->states.count;
    size_t count = codec_class_count(codec, known, PAIRS_MAX_JOBS, 40 * types);

    for (size_t i = 0; i < (codec->in ? count : known); i++) {
        if (codec->in)
            push_class(c);
        for (size_t t = 0; codec_kept(codec, (int)i) && t < types; t++) {
            struct class_tally *tally = &c->alone.items[i * types + t];

            code_tally(tally, codec);
            if (codec->in)
                c->news.alone_cells += !isnan(tally->pushed);
        }
    }
    if (codec->in)
        c->news.alone = c->news.alone_cells;
}

static void code_pair(struct classes *c, struct class_pair *pair, struct codec *codec)
{
    codec_class(codec, &pair->cell.job, c->states.count);
    codec_int(codec, &pair->cell.gpu, 0, c->type_count - 1);
    codec_class(codec, &pair->cell.other, c->states.count);
    code_tally(&pair->tally, codec);
}

static bool both_kept(const struct codec *codec, struct cell cell)
{
    return codec_kept(codec, cell.job) && codec_kept(codec, cell.other);
}

static void code_beside(struct classes *c, struct codec *codec)
{
    struct class_pair read;
    size_t count = 0;

    vec_each (const struct class_pair, pair, &c->beside)
        count += both_kept(codec, pair->cell);
    count = codec_count(codec, count, CELLS_MAX, 64);
    if (codec->out) {
        vec_each (struct class_pair, pair, &c->beside)
            if (both_kept(codec, pair->cell))
                code_pair(c, pair, codec);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        code_pair(c, &read, codec);
        if (codec->in->bad)
            return;
        add_pair(c, &read);
    }
}

static void code_gangs(struct classes *c, struct codec *codec)
{
    for (size_t i = 0; codec->in || i < c->gangs.count; i++) {
        struct class_gang_tally g = {0};

        if (codec->out)
            g = c->gangs.items[i];
        if (!codec_kept(codec, g.gang.cls))
            continue;
        if (!codec_more(codec, true))
            return;
        codec_class(codec, &g.gang.cls, c->states.count);
        codec_int(codec, &g.gang.type, 0, c->type_count - 1);
        codec_int(codec, &g.gang.devices, 1, DEVICES_MAX);
        codec_bool(codec, &g.gang.spread);
        code_tally(&g.tally, codec);
        if (codec->in)
            add_gang(c, &g);
    }
    codec_more(codec, false);
}

/* Every part numbers the same classes. */
static bool agree(const struct classes *c)
{
    size_t count = c->states.count;

    return (size_t)c->rates->jobs == count &&
           (size_t)c->pairs->core->job_count == count && c->watts->rows.count == count;
}

void classes_code(struct classes *c, struct codec *codec)
{
    rates_code(c->rates, codec);
    pairs_code(c->pairs, codec);
    footprint_code(c->footprint, codec);
    watts_code(c->watts, codec);
    code_alone(c, codec);
    code_beside(c, codec);
    code_gangs(c, codec);
    if (codec->out)
        return;
    if (!agree(c))
        codec->in->bad = true;
}
