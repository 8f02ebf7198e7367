/* classes.c - see classes.h */
#include "model/classes.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "model/features.h"
#include "model/footprint.h"
#include "model/pairs.h"
#include "model/transfer.h"
#include "world/power.h"

#include <math.h>
#include <stdlib.h>

struct tally {        /* what the jobs of a class say of one cell */
    double mean, var; /* var: what one of them does not know */
    double jobs;      /* fading */
    double pushed;    /* what the core was told; NaN: nothing */
    bool inferred;    /* from runs beside others: gives way to a real one */
};

struct gang {
    struct class_gang gang;
    struct tally tally;
};

struct beside {
    struct cell cell;
    struct tally tally;
};

struct class_state {
    int here;
    struct class_marks marks;
    double fits_best; /* chance of fitting alone on the type where it is best */
};

struct classes {
    int type_count;
    uint64_t seed;
    struct gpu_sheet *types; /* (type_count) */
    struct rates *rates;
    struct transfer_evidence carry; /* what carrying rates over was worth here */
    struct pairs *pairs;
    struct footprint *footprint;
    struct watts *watts;
    vec_of(struct class_state) states;
    vec_of(struct tally) alone; /* (classes, types) */
    vec_of(double) drawn;       /* (classes, types) watts when last told as news */
    struct map *beside_index;   /* cell -> beside */
    vec_of(struct beside) beside;
    struct map *gang_index; /* class, type, devices, spread -> gangs */
    vec_of(struct gang) gangs;
    struct classes_news news;
};

static size_t cell_of(const struct classes *c, int cls, int type)
{
    return (size_t)cls * (size_t)c->type_count + (size_t)type;
}

/* Jobs a class remembers: newer ones push older ones out. */
#define JOBS_MEMORY 8.0

/* A mean that moved by less than this, in the log, is not worth telling the core. */
#define MOVED_LOG    0.01

#define RELATIVE_MIN 0.02

static void renew_fit(struct classes *c, int cls);

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
        struct gpu_trait trait = features_of_gpu(&types[t]);

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
        vec_push(&c->alone, (struct tally){.pushed = NAN});
        vec_push(&c->drawn, NAN);
    }
    vec_push(&c->states,
             (struct class_state){.marks = {.version = 1, .watts_version = 1}});
}

int classes_type_count(const struct classes *c)
{
    return c->type_count;
}

struct class_marks classes_marks(const struct classes *c, int cls)
{
    return c->states.items[cls].marks;
}

struct classes_news classes_news(const struct classes *c)
{
    struct classes_news news = c->news;

    news.pair_cells = c->beside.count;
    return news;
}

size_t classes_count(const struct classes *c)
{
    return c->states.count;
}

int classes_add(struct classes *c, const struct job *job, int family)
{
    struct job_trait trait = features_of_job(&job->descriptor, family);

    rates_add_job(c->rates, &trait);
    pairs_add_job(c->pairs, &trait);
    footprint_add(c->footprint, &job->descriptor, job->memory_gb);
    watts_add_job(c->watts, 0);
    push_class(c);
    renew_fit(c, (int)c->states.count - 1);
    return (int)c->states.count - 1;
}

void classes_arrive(struct classes *c, int cls, int more)
{
    struct class_state *s = &c->states.items[cls];

    s->here += more;
    pairs_set_idle(c->pairs, cls, s->here <= 0);
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
    transfer_evidence_add(&c->carry, &said, value, said.basis == RATES_ONE);
    rates_set_weight(c->rates, transfer_evidence_weight(&c->carry));
}

void classes_tell_alone(struct classes *c, int cls, int type,
                        const struct class_news *news, bool inferred)
{
    struct tally *t = &c->alone.items[cell_of(c, cls, type)];
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
    c->news.alone_cells += first;
    c->news.alone++;
    c->states.items[cls].marks.version++;
}

static uint64_t cell_key(struct cell cell)
{
    return (uint64_t)cell.job << 40 | (uint64_t)cell.gpu << 32 | (uint64_t)cell.other;
}

void classes_tell_beside(struct classes *c, int cls, int type, int other,
                         const struct class_news *news)
{
    struct cell cell = {cls, type, other};
    uint64_t key = cell_key(cell);
    struct tally *t;
    size_t at;

    if (!map_get(c->beside_index, key, &at)) {
        at = c->beside.count;
        vec_push(&c->beside, (struct beside){cell, {.pushed = NAN}});
        map_put(c->beside_index, key, at);
        c->states.items[cls].marks.pair_cells++;
        c->states.items[other].marks.pair_cells++;
    }
    t = &c->beside.items[at].tally;
    if (!tally_take(t, news))
        return;
    t->pushed = t->mean;
    pairs_put(c->pairs, cell, fmin(fmax(t->mean, log(RELATIVE_MIN)), 0),
              t->var / t->jobs);
    c->states.items[cls].marks.pair_news++;
    c->states.items[other].marks.pair_news++;
    c->news.pairs++;
}

static uint64_t gang_key(const struct class_gang *g)
{
    return (uint64_t)g->cls << 32 | (uint64_t)g->type << 16 | (uint64_t)g->devices << 1 |
           g->spread;
}

void classes_tell_gang(struct classes *c, const struct class_gang *gang,
                       const struct class_news *news)
{
    size_t at;

    if (!map_get(c->gang_index, gang_key(gang), &at)) {
        at = c->gangs.count;
        vec_push(&c->gangs, (struct gang){*gang, {.pushed = NAN}});
        map_put(c->gang_index, gang_key(gang), at);
    }
    tally_take(&c->gangs.items[at].tally, news);
    c->states.items[gang->cls].marks.version++;
}

bool classes_gang(const struct classes *c, const struct class_gang *gang,
                  struct class_guess *guess)
{
    const struct tally *t;
    size_t at;

    if (c->gangs.count == 0 || !map_get(c->gang_index, gang_key(gang), &at))
        return false;
    t = &c->gangs.items[at].tally;
    *guess = (struct class_guess){t->mean, t->var / t->jobs, true, (int)t->jobs};
    return true;
}

void classes_rebase(struct classes *c, int cls, double by)
{
    for (int t = 0; t < c->type_count; t++) {
        struct tally *tally = &c->alone.items[cell_of(c, cls, t)];

        if (tally->jobs <= 0)
            continue;
        tally->mean += by;
        tally->pushed = tally->mean;
        rates_observe(c->rates, cls, t, tally->mean);
        c->news.alone++;
    }
    vec_each (struct gang, g, &c->gangs)
        if (g->gang.cls == cls)
            g->tally.mean += by;
    c->states.items[cls].marks.version++;
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
    c->states.items[cls].marks.watts_version++;
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
        renew_fit(c, members[i]);
}

void classes_settle(struct classes *c)
{
    pairs_settle(c->pairs);
}

void classes_set_initial(struct classes *c)
{
    rates_set_closed(c->rates, true);
    pairs_set_initial(c->pairs, true);
}

struct pairs *classes_pairs_dup(const struct classes *c)
{
    return pairs_dup(c->pairs);
}

void classes_pairs_take(struct classes *c, struct pairs *learned)
{
    pairs_take(c->pairs, learned);
    c->news.lessons++;
}

/* ---- answers ----------------------------------------------------------------------- */

/* Below this chance of fitting anywhere a footprint is too large for the cluster. */
#define FITS_HOPE 0.02

/* sd of RATES_* bases as calibrated on synthetic worlds: the models' own are narrow. */
static const double basis_factor[RATES_BASIS_COUNT] = {1, 1.25, 1.25, 1.5, 1};

static struct class_guess guess_from(const struct rates_guess *g)
{
    double sd = g->sd * basis_factor[g->basis];

    return (struct class_guess){
        .mean = g->mean, .var = sd * sd, .observations = g->observations};
}

struct class_guess classes_alone(const struct classes *c, int cls, int type)
{
    const struct tally *t = &c->alone.items[cell_of(c, cls, type)];
    struct rates_guess g;

    if (t->jobs > 0)
        return (struct class_guess){
            .mean = t->mean,
            .var = t->inferred ? t->var : t->var / t->jobs,
            .measured = !t->inferred,
            .observations = (int)t->jobs,
        };
    g = rates_predict(c->rates, cls, type);
    return guess_from(&g);
}

struct class_guess classes_alone_guest(const struct classes *c,
                                       const struct class_guests *guests, int cls,
                                       int type)
{
    const struct job_trait *trait = &guests->traits[cls - (int)c->states.count];
    struct rates_guess g = rates_predict_guest(c->rates, trait, type);

    return guess_from(&g);
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

void classes_beside_row(const struct classes *c, int cls, const int *others, size_t count,
                        bool widths, double *core_sd, struct pairs_guess *out)
{
    pairs_renew_row(c->pairs, cls, others, count, widths, core_sd, out);
}

struct watts_guess classes_watts(const struct classes *c, int cls, int type)
{
    return cls < (int)c->states.count ? watts_predict(c->watts, cls, type)
                                      : watts_predict_guest(c->watts, type);
}

/* The best chance a class has on any type of the cluster, alone. */
static double best_fit(const struct classes *c, int cls,
                       const struct footprint_item *sizes)
{
    double best = 0;

    for (int t = 0; t < c->type_count; t++)
        best = fmax(
            best, footprint_fits(c->footprint, t, c->types[t].memory_gb, &cls, 1, sizes));
    return best;
}

/* 0 when it has failed on one: what is believed of its size is no guess then. */
static void renew_fit(struct classes *c, int cls)
{
    c->states.items[cls].fits_best =
        footprint_failed_alone(c->footprint, cls) ? 0 : best_fit(c, cls, NULL);
}

/* Who submits a job expects it to fit somewhere, and a footprint worked out from a
 * descriptor is a guess: unless it is far too large, or has been seen to fail, the job is
 * taken to fit on the type where it most likely does.  Refusing it would teach nothing.
 */
double classes_fit(const struct classes *c, const struct class_guests *guests, int type,
                   const int *members, int count)
{
    double fits = footprint_fits(c->footprint, type, c->types[type].memory_gb, members,
                                 (size_t)count, guests->sizes);

    for (int i = 0; i < count; i++) {
        double somewhere = members[i] < (int)c->states.count
                               ? c->states.items[members[i]].fits_best
                               : best_fit(c, members[i], guests->sizes);

        if (somewhere >= FITS_HOPE)
            fits /= somewhere;
    }
    return fmin(1, fits);
}

/* ---- for checkpoints ------------------------------------------------------------------
 */

#define CELLS_MAX   (1 << 24)
#define DEVICES_MAX 4096

static void put_tally(const struct tally *t, struct bytes_out *out)
{
    const double reals[] = {t->mean, t->var, t->jobs, t->pushed};

    bytes_put_reals(out, reals, 4);
    bytes_put_u64(out, t->inferred);
}

static struct tally get_tally(struct bytes_in *in)
{
    struct tally t;

    t.mean = bytes_real(in);
    t.var = fmax(bytes_real(in), 0);
    t.jobs = fmax(bytes_real(in), 0);
    t.pushed = bytes_real_or_nan(in);
    t.inferred = bytes_int(in, 0, 1);
    return t;
}

static void put_alone(const struct classes *c, struct bytes_out *out)
{
    size_t types = (size_t)c->type_count;
    uint64_t kept = 0;

    for (size_t cls = 0; cls < c->states.count; cls++)
        kept += bytes_class(out, (int)cls) >= 0;
    bytes_put_u64(out, kept);
    for (size_t cls = 0; cls < c->states.count; cls++)
        for (size_t t = 0; bytes_class(out, (int)cls) >= 0 && t < types; t++)
            put_tally(&c->alone.items[cls * types + t], out);
}

static bool both_kept(const struct bytes_out *out, struct cell cell)
{
    return bytes_class(out, cell.job) >= 0 && bytes_class(out, cell.other) >= 0;
}

static void put_beside(const struct classes *c, struct bytes_out *out)
{
    uint64_t kept = 0;

    vec_each (const struct beside, b, &c->beside)
        kept += both_kept(out, b->cell);
    bytes_put_u64(out, kept);
    vec_each (const struct beside, b, &c->beside) {
        if (!both_kept(out, b->cell))
            continue;
        bytes_put_u64(out, (uint64_t)bytes_class(out, b->cell.job));
        bytes_put_u64(out, (uint64_t)b->cell.gpu);
        bytes_put_u64(out, (uint64_t)bytes_class(out, b->cell.other));
        put_tally(&b->tally, out);
    }
}

static void put_gangs(const struct classes *c, struct bytes_out *out)
{
    vec_each (const struct gang, g, &c->gangs) {
        if (bytes_class(out, g->gang.cls) < 0)
            continue;
        bytes_put_u64(out, 1);
        bytes_put_u64(out, (uint64_t)bytes_class(out, g->gang.cls));
        bytes_put_u64(out, (uint64_t)g->gang.type);
        bytes_put_u64(out, (uint64_t)g->gang.devices);
        bytes_put_u64(out, g->gang.spread);
        put_tally(&g->tally, out);
    }
    bytes_put_u64(out, 0);
}

void classes_write(const struct classes *c, struct bytes_out *out)
{
    rates_write(c->rates, out);
    bytes_put_reals(out, c->carry.error, TRANSFER_STEPS);
    bytes_put_real(out, c->carry.count);
    bytes_put_real(out, c->carry.groups);
    pairs_write(c->pairs, out);
    footprint_write(c->footprint, out);
    watts_write(c->watts, out);
    put_alone(c, out);
    put_beside(c, out);
    put_gangs(c, out);
}

static void get_alone(struct classes *c, struct bytes_in *in)
{
    size_t types = (size_t)c->type_count;
    size_t count = bytes_count(in, PAIRS_MAX_JOBS, 40 * types);

    for (size_t i = 0; i < count; i++) {
        push_class(c);
        for (size_t t = 0; t < types; t++) {
            struct tally *tally = &c->alone.items[cell_of(c, (int)i, (int)t)];

            *tally = get_tally(in);
            c->news.alone_cells += !isnan(tally->pushed);
        }
    }
    c->news.alone = c->news.alone_cells;
}

static void get_beside(struct classes *c, struct bytes_in *in)
{
    size_t count = bytes_count(in, CELLS_MAX, 64);
    int classes = (int)c->states.count;

    for (size_t i = 0; i < count && !in->bad; i++) {
        struct beside b;

        b.cell.job = bytes_int(in, 0, classes - 1);
        b.cell.gpu = bytes_int(in, 0, c->type_count - 1);
        b.cell.other = bytes_int(in, 0, classes - 1);
        b.tally = get_tally(in);
        if (in->bad)
            return;
        map_put(c->beside_index, cell_key(b.cell), i);
        vec_push(&c->beside, b);
        c->states.items[b.cell.job].marks.pair_cells++;
        c->states.items[b.cell.other].marks.pair_cells++;
    }
}

static void get_gangs(struct classes *c, struct bytes_in *in)
{
    while (bytes_int(in, 0, 1)) {
        struct gang g;

        g.gang.cls = bytes_int(in, 0, (int)c->states.count - 1);
        g.gang.type = bytes_int(in, 0, c->type_count - 1);
        g.gang.devices = bytes_int(in, 1, DEVICES_MAX);
        g.gang.spread = bytes_int(in, 0, 1);
        g.tally = get_tally(in);
        map_put(c->gang_index, gang_key(&g.gang), c->gangs.count);
        vec_push(&c->gangs, g);
    }
}

/* Every part numbers the same classes. */
static bool agree(const struct classes *c)
{
    int count = (int)c->states.count;

    return rates_job_count(c->rates) == count &&
           gp_job_count(pairs_core(c->pairs)) == count &&
           footprint_count(c->footprint) == count && watts_job_count(c->watts) == count;
}

void classes_read(struct classes *c, struct bytes_in *in)
{
    rates_read(c->rates, in);
    for (int i = 0; i < TRANSFER_STEPS; i++)
        c->carry.error[i] = fmax(bytes_real(in), 0);
    c->carry.count = fmax(bytes_real(in), 0);
    c->carry.groups = fmax(bytes_real(in), 0);
    rates_set_weight(c->rates, transfer_evidence_weight(&c->carry));
    pairs_read(c->pairs, in);
    footprint_read(c->footprint, in);
    watts_read(c->watts, in);
    get_alone(c, in);
    get_beside(c, in);
    get_gangs(c, in);
    if (!in->bad && !agree(c))
        in->bad = true;
    for (size_t i = 0; i < c->states.count && !in->bad; i++)
        renew_fit(c, (int)i);
}
