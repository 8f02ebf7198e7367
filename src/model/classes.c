/* classes.c - what is believed of classes: learned_absorb.c tells it what jobs measured,
 * learned_predict.c asks it, mostly through prediction_cache.c */
#include "model/classes.h"

#include "model/classes_private.h"

#include "base/map.h"
#include "base/mem.h"
#include "model/dense.h"
#include "world/power.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

static size_t cell_of(const struct classes *c, int cls, int type)
{
    return (size_t)cls * (size_t)c->type_count + (size_t)type;
}

/* A mean that moved by less than this, in the log, is not worth telling the core. */
#define MOVED_LOG 0.01

/* Two users agree on a cell whose voices differ by less than three standard deviations,
 * but for at least and at most this in the log; a voice that moved by so much is compared
 * again. */
#define AGREE_LEAST 0.25
#define AGREE_MOST  0.5
#define VOICE_MOVED 0.1

struct classes *classes_create(const struct gpu_sheet *types, int type_count,
                               const struct classes_options *options)
{
    struct classes *c = mem_new(struct classes);
    struct kernel_params params;

    kernel_default(&params);
    c->type_count = type_count;
    c->types = mem_dup(types, (size_t)type_count, sizeof(*types));
    c->rates = rates_create(&params);
    c->pairs = pairs_create();
    if (options->networks != NETWORKS_AUTO)
        pairs_set_networks(c->pairs, options->networks);
    c->pairs->limit = options->memory < PAIRS_MAX ? options->memory : PAIRS_MAX;
    c->rates->closed = c->pairs->initial_only = options->initial_only;
    trust_init(&c->trust, options->share);
    c->rates->trust = &c->trust;
    c->footprint = footprint_create();
    c->watts = watts_create();
    c->beside_index = map_create();
    c->gang_index = map_create();
    for (int t = 0; t < type_count; t++) {
        struct gpu_trait trait = gpu_trait_of(&types[t]);

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
    rates_destroy(c->rates);
    pairs_destroy(c->pairs);
    footprint_destroy(c->footprint);
    watts_destroy(c->watts);
    map_destroy(c->beside_index);
    map_destroy(c->gang_index);
    vec_each (struct class_gang_tally, g, &c->gangs)
        tally_fini(&g->tally);
    vec_each (struct class_pair, p, &c->beside)
        tally_fini(&p->tally);
    vec_each (struct tally, t, &c->alone)
        tally_fini(t);
    vec_each (struct class_kind, k, &c->kinds)
        vec_free(&k->classes);
    trust_fini(&c->trust);
    vec_free(&c->gangs);
    vec_free(&c->states);
    vec_free(&c->kinds);
    vec_free(&c->alone);
    vec_free(&c->drawn);
    vec_free(&c->beside);
    free(c->types);
    free(c);
}

void classes_push(struct classes *c, int kind, int user)
{
    for (int t = 0; t < c->type_count; t++) {
        vec_push(&c->alone, TALLY_EMPTY);
        vec_push(&c->drawn, NAN);
    }
    vec_push(&c->kinds.items[kind].classes, (int)c->states.count);
    vec_push(&c->states,
             (struct class_state){
                 .kind = kind, .user = user, .version = 1, .watts_version = 1});
    trust_meet(&c->trust, user);
}

int classes_add(struct classes *c, const struct job *job, const struct class_told *told)
{
    struct job_trait own = job_trait_of(&job->descriptor, told->own_family);
    struct job_trait shared = job_trait_of(&job->descriptor, told->family);
    int kind = told->kind;

    if (kind < 0) {
        kind = (int)c->kinds.count;
        pairs_add_job(c->pairs, &shared);
        vec_push(&c->kinds, (struct class_kind){0});
    }
    rates_add_job_of(c->rates, &own, job->owner, told->family);
    watts_add_job_of(c->watts, kind);
    classes_push(c, kind, job->owner);
    return (int)c->states.count - 1;
}

void classes_arrive(struct classes *c, int cls, int more)
{
    int kind = c->states.items[cls].kind;

    c->kinds.items[kind].here += more;
    c->pairs->idle.items[kind] = c->kinds.items[kind].here <= 0;
}

/* ---- what is told ----------------------------------------------------------------- */

/* True when the mean moved enough for others to know. */
static bool take(struct tally *t, int user, const struct class_news *news)
{
    struct tally_word word = {user, news->job, news->now, news->var};

    tally_take(t, &word, news->changed);
    return !(fabs(t->mean - t->pushed) < MOVED_LOG);
}

static double var_of(const struct tally *t)
{
    return t->var / (double)t->words.count;
}

/* Other users measured the same kind on the same type: do they say the same? */
static void compare_users(struct classes *c, int cls, int type)
{
    const struct class_state *state = &c->states.items[cls];
    const struct tally *t = &c->alone.items[cell_of(c, cls, type)];
    uint64_t version = c->trust.version;

    vec_each (const int, other, &c->kinds.items[state->kind].classes) {
        const struct tally *o = &c->alone.items[cell_of(c, *other, type)];
        double apart = fabs(t->mean - o->mean);

        if (*other == cls || o->words.count == 0 || o->inferred)
            continue;
        trust_compare(&c->trust, state->user, c->states.items[*other].user,
                      apart <= fmin(fmax(3 * sqrt(var_of(t) + var_of(o)), AGREE_LEAST),
                                    AGREE_MOST));
    }
    if (c->trust.version != version) /* then all answers from others are old */
        c->news.alone += c->news.alone_cells;
}

/* Classes of the kind that were not measured there go by this one, if by any. */
static void stir_kind(struct classes *c, int kind, int type)
{
    vec_each (const int, other, &c->kinds.items[kind].classes)
        if (c->alone.items[cell_of(c, *other, type)].words.count == 0)
            c->states.items[*other].version++;
}

/* The middle of what classes of a kind say; sorts them. */
static double middle(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), dense_by_value);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* What a class draws alone, as a share of what each type can and over all of them; NaN
 * where nobody metered it. */
static double drawn_share(const struct classes *c, int cls)
{
    double sum = 0;
    int measured = 0;

    for (int t = 0; t < c->type_count; t++) {
        struct watts_guess g = watts_predict(c->watts, cls, t);

        sum += power_busy(&c->types[t], g.watts);
        measured += g.observations > 0;
    }
    return measured > 0 ? sum / c->type_count : NAN;
}

/* So does what meters say: no user has a word in that. */
static void tell_counters(struct classes *c, int kind)
{
    const struct class_kind *k = &c->kinds.items[kind];
    double *said = mem_array(double, k->classes.count + 1);
    struct job_counters counters = job_counters_none();
    size_t count = 0;

    vec_each (const int, cls, &k->classes) {
        said[count] = drawn_share(c, *cls);
        count += !isnan(said[count]);
    }
    if (count > 0)
        counters.of[COUNTER_WATTS] = middle(said, count);
    pairs_set_counters(c->pairs, kind, &counters);
    free(said);
}

/* Rates alone tell which kinds are alike, once one of them was measured; those carried
 * over to other types count too.  Of several users the middle counts. */
static void tell_rates(struct classes *c, int kind)
{
    const struct class_kind *k = &c->kinds.items[kind];
    double *said = mem_array(double, k->classes.count + 1), rates[WORLD_MAX_GPUS];
    size_t count = 0;

    for (int t = 0; t < c->type_count; t++) {
        count = 0;
        vec_each (const int, cls, &k->classes) {
            bool measured = false;

            for (int u = 0; u < c->type_count; u++)
                measured =
                    measured || c->alone.items[cell_of(c, *cls, u)].words.count > 0;
            if (measured)
                said[count++] = classes_alone(c, NULL, *cls, t).mean;
        }
        rates[t] = count > 0 ? middle(said, count) : NAN;
    }
    free(said);
    if (count == 0)
        return;
    pairs_set_rates(c->pairs, kind, rates);
    tell_counters(c, kind);
    c->kinds.items[kind].pair_news++;
}

void classes_tell_rates(struct classes *c)
{
    for (size_t i = 0; i < c->kinds.count; i++)
        if (c->pairs->told.items[i] > 0)
            tell_rates(c, (int)i);
}

void classes_tell_alone(struct classes *c, int cls, int type,
                        const struct class_news *news, bool inferred)
{
    struct tally *t = &c->alone.items[cell_of(c, cls, type)];
    struct class_state *state = &c->states.items[cls];
    bool first = isnan(t->pushed), moved, heard;

    if (inferred && t->words.count > 0 && !t->inferred)
        return;
    if (!inferred && t->inferred)
        tally_clear(t);
    t->inferred = inferred;
    heard = !(fabs(t->mean - news->now) < VOICE_MOVED) || t->words.count == 0;
    moved = take(t, state->user, news);
    if (!inferred && heard)
        compare_users(c, cls, type);
    if (!moved)
        return;
    t->pushed = t->mean;
    stir_kind(c, state->kind, type);
    if (first && !inferred)
        rates_learn_weight(c->rates, cls, type, t->mean);
    rates_observe(c->rates, cls, type, t->mean);
    c->news.alone_cells += first;
    c->news.alone++;
    state->version++;
    if (c->pairs->told.items[state->kind] == 0)
        tell_rates(c, state->kind);
}

size_t classes_push_pair(struct classes *c, const struct class_pair *pair)
{
    map_put(c->beside_index, cell_key(pair->cell), c->beside.count);
    vec_push(&c->beside, *pair);
    c->kinds.items[pair->cell.job].pair_cells++;
    c->kinds.items[pair->cell.other].pair_cells++;
    return c->beside.count - 1;
}

void classes_tell_beside(struct classes *c, int cls, int type, int other,
                         const struct class_news *news)
{
    struct cell cell = {c->states.items[cls].kind, type, other};
    struct tally *t;
    double value;
    size_t at;

    if (!map_get(c->beside_index, cell_key(cell), &at))
        at = classes_push_pair(c, &(struct class_pair){cell, TALLY_EMPTY});
    t = &c->beside.items[at].tally;
    if (!take(t, c->states.items[cls].user, news))
        return;
    t->pushed = t->mean;
    value = fmin(fmax(t->mean, log(CLASSES_RELATIVE_MIN)), 0);
    pairs_put(c->pairs, cell, pairs_bounded(c->pairs, cell, value, var_of(t)), var_of(t));
    c->kinds.items[cell.job].pair_news++;
    c->kinds.items[other].pair_news++;
    c->news.pairs++;
}

static uint64_t gang_key(const struct class_gang *g)
{
    return (uint64_t)g->cls << 32 | (uint64_t)g->type << 16 | (uint64_t)g->devices << 1 |
           g->spread;
}

size_t classes_push_gang(struct classes *c, const struct class_gang_tally *gang)
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
        at = classes_push_gang(c, &(struct class_gang_tally){*gang, TALLY_EMPTY});
    take(&c->gangs.items[at].tally, c->states.items[gang->cls].user, news);
    c->states.items[gang->cls].version++;
}

bool classes_gang(const struct classes *c, const struct class_gang *gang,
                  struct class_guess *guess)
{
    const struct tally *t;
    size_t at;

    if (c->gangs.count == 0 || !map_get(c->gang_index, gang_key(gang), &at))
        return false;
    t = &c->gangs.items[at].tally;
    *guess = (struct class_guess){t->mean, var_of(t), true, true, (int)t->words.count};
    return true;
}

void classes_rebase(struct classes *c, int cls, double by)
{
    for (int t = 0; t < c->type_count; t++) {
        struct tally *tally = &c->alone.items[cell_of(c, cls, t)];

        if (tally->words.count == 0)
            continue;
        tally_shift(tally, by);
        tally->pushed = tally->mean;
        rates_observe(c->rates, cls, t, tally->mean);
        c->news.alone++;
    }
    vec_each (struct class_gang_tally, g, &c->gangs)
        if (g->gang.cls == cls)
            tally_shift(&g->tally, by);
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
    const struct tally *t = guest < 0 ? &c->alone.items[cell_of(c, cls, type)] : NULL;
    struct rates_guess g;
    double sd;

    if (t && t->words.count > 0)
        return (struct class_guess){
            .mean = t->mean,
            .var = t->inferred ? t->var : var_of(t),
            .measured = !t->inferred,
            .of_class = true,
            .observations = (int)t->words.count,
        };
    if (t) {
        g = rates_predict(c->rates, cls, type);
    } else {
        struct rates_guest asked = {&guests->traits[guest], guests->users[guest],
                                    guests->families[guest]};

        g = rates_predict_guest(c->rates, &asked, type);
    }
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
                                  const struct class_guests *guests, int kind, int type,
                                  int other)
{
    struct gp_guests jobs = {guests->kinds, guests->kind_count};
    struct pairs_guess g =
        pairs_predict_guest(c->pairs, &jobs, (struct cell){kind, type, other});

    return classes_guess_of(&g);
}

bool classes_own_beside(const struct classes *c, int user, struct cell cell,
                        struct class_guess *guess)
{
    const struct tally *t;
    double mean;
    size_t at;
    int count;

    if (c->trust.users.count < 2 || !map_get(c->beside_index, cell_key(cell), &at))
        return false;
    t = &c->beside.items[at].tally;
    count = t->users > 1 ? tally_voice(t, user, &mean) : 0;
    if (count > 0)
        *guess = (struct class_guess){.mean = fmin(mean, 0),
                                      .var = t->var / count,
                                      .measured = true,
                                      .observations = count};
    return count > 0;
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
