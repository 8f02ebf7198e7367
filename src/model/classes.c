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

struct kept_alone {
    struct class_guess guess;
    uint64_t version, news;
};

struct kept_watts {
    struct watts_guess guess;
    uint64_t news;
    bool valid;
};

struct row {                     /* answers for one class beside all others */
    struct pairs_guess *guesses; /* (capacity, types) */
    double *core_sd;             /* (capacity, types) */
    int width, capacity;         /* classes answered for */
    double told_widths; /* cells of this class when widths were made; -1: never */
    double news;        /* since it was made, of this class */
    uint64_t all_news, adapted;
};

struct class_state {
    int here;
    double told; /* cells of pairs it is part of */
    uint64_t version;
    double fits_best; /* chance of fitting alone on the type where it is best */
    bool fits_known;  /* the chance is up to date */
    struct row row;
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
    vec_of(struct tally) alone;      /* (classes, types) */
    vec_of(struct kept_alone) kept;  /* (classes, types) */
    vec_of(struct kept_watts) drawn; /* (classes, types) */
    struct map *beside_index;        /* cell -> beside */
    vec_of(struct beside) beside;
    struct map *gang_index; /* class, type, devices, spread -> gangs */
    vec_of(struct gang) gangs;
    uint64_t alone_news, alone_cells, watts_news, watts_cells, pair_news, adapted;
};

/* Room for one more class in what is kept here; the parts get it from their users. */
void classes_push(struct classes *classes);

uint64_t classes_cell_key(struct cell cell);
uint64_t classes_gang_key(const struct class_gang *gang);

static inline struct tally *classes_tally(struct classes *c, int cls, int type)
{
    return &c->alone.items[(size_t)cls * (size_t)c->type_count + (size_t)type];
}

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
    struct job_trait trait = features_of_job(&job->descriptor, family);

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
    transfer_evidence_add(&c->carry, &said, value, said.basis == RATES_ONE);
    rates_set_weight(c->rates, transfer_evidence_weight(&c->carry));
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

/* ---- answers --------------------------------------------------------------------------
 */

/* An answer from other cells holds until this share of all cells is news. */
#define NEWS_SHARE 0.125

/* The same for a row of pairs, of the cells that were told of it. */
#define ROW_NEWS_SHARE 0.2

/* Widths cost most and only shrink: made again when the row knows so many times more. */
#define WIDTHS_GROWTH 1.5

/* Below this chance of fitting anywhere a footprint is too large for the cluster. */
#define FITS_HOPE 0.02

/* sd of RATES_* bases as calibrated on synthetic worlds: the models' own are narrow. */
static const double basis_factor[RATES_BASIS_COUNT] = {1, 1.25, 1.25, 1.5, 1};

static struct class_guess guess_alone(struct classes *c, int cls, int type)
{
    const struct tally *t = classes_tally(c, cls, type);
    struct rates_guess g = rates_predict(c->rates, cls, type);
    double sd = g.sd * basis_factor[g.basis];

    if (t->jobs > 0)
        return (struct class_guess){
            .mean = t->mean,
            .var = t->inferred ? t->var : t->var / t->jobs,
            .measured = !t->inferred,
            .observations = (int)t->jobs,
        };
    return (struct class_guess){
        .mean = g.mean, .var = sd * sd, .observations = g.observations};
}

struct class_guess classes_alone(struct classes *c, int cls, int type)
{
    struct kept_alone *kept =
        &c->kept.items[(size_t)cls * (size_t)c->type_count + (size_t)type];
    struct class_state *s = &c->states.items[cls];
    bool old = (double)(c->alone_news - kept->news) > NEWS_SHARE * (double)c->alone_cells;

    if (kept->version == s->version && (!old || kept->guess.measured))
        return kept->guess;
    kept->guess = guess_alone(c, cls, type);
    if (kept->version == s->version) /* others moved it: what rests on it is old too */
        s->version++;
    kept->version = s->version;
    kept->news = c->alone_news;
    return kept->guess;
}

static void widen_row(struct row *row, int types, int wanted)
{
    size_t old = (size_t)row->capacity * (size_t)types, new;

    if (wanted <= row->capacity)
        return;
    while (row->capacity < wanted)
        row->capacity = row->capacity ? 2 * row->capacity : 32;
    new = (size_t)row->capacity *(size_t)types;
    row->guesses = mem_resize(row->guesses, old, new, sizeof(*row->guesses));
    row->core_sd = mem_resize(row->core_sd, old, new, sizeof(*row->core_sd));
}

/* Make answers for the classes from `first` on, widths only where asked for. */
static void fill_row(struct classes *c, int cls, int first, bool widths)
{
    struct row *row = &c->states.items[cls].row;
    size_t types = (size_t)c->type_count;
    size_t count = c->states.count - (size_t)first;
    int *others = mem_array(int, count + 1);
    struct pairs_guess *guesses = mem_array(struct pairs_guess, types * count + 1);
    double *sd = mem_array(double, types *count + 1);

    widen_row(row, c->type_count, (int)c->states.count);
    for (size_t i = 0; i < count; i++) {
        others[i] = first + (int)i;
        for (size_t t = 0; t < types; t++)
            sd[t * count + i] = row->core_sd[((size_t)first + i) * types + t];
    }
    pairs_renew_row(c->pairs, cls, others, count, widths, sd, guesses);
    for (size_t i = 0; i < count; i++)
        for (size_t t = 0; t < types; t++) {
            row->guesses[((size_t)first + i) * types + t] = guesses[t * count + i];
            row->core_sd[((size_t)first + i) * types + t] = sd[t * count + i];
        }
    row->width = (int)c->states.count;
    free(others);
    free(guesses);
    free(sd);
}

static void renew_row(struct classes *c, int cls)
{
    struct class_state *s = &c->states.items[cls];
    struct row *row = &s->row;
    bool widths = row->width == 0 || row->adapted != c->adapted ||
                  s->told + 1 > WIDTHS_GROWTH * (row->told_widths + 1);

    if (row->width < (int)c->states.count && row->width > 0)
        fill_row(c, cls, row->width, true);
    fill_row(c, cls, 0, widths);
    if (widths)
        row->told_widths = s->told;
    row->news = 0;
    row->all_news = c->pair_news;
    row->adapted = c->adapted;
}

static bool row_is_old(const struct classes *c, const struct class_state *s)
{
    return s->row.width == 0 || s->row.adapted != c->adapted ||
           s->row.news > ROW_NEWS_SHARE * s->told ||
           (double)(c->pair_news - s->row.all_news) >
               NEWS_SHARE * (double)c->beside.count;
}

struct class_guess classes_beside(struct classes *c, int cls, int type, int other)
{
    struct class_state *s = &c->states.items[cls];
    const struct pairs_guess *g;

    if (row_is_old(c, s))
        renew_row(c, cls);
    else if (other >= s->row.width)
        fill_row(c, cls, s->row.width, true);
    g = &s->row.guesses[other * c->type_count + type];
    return (struct class_guess){
        .mean = g->mean,
        .var = g->sd * g->sd,
        .measured = g->times > 0,
        .observations = g->times,
    };
}

struct watts_guess classes_watts(struct classes *c, int cls, int type)
{
    struct kept_watts *kept =
        &c->drawn.items[(size_t)cls * (size_t)c->type_count + (size_t)type];

    if (!kept->valid ||
        (double)(c->watts_news - kept->news) > NEWS_SHARE * (double)c->states.count) {
        kept->guess = watts_predict(c->watts, cls, type);
        kept->news = c->watts_news;
        kept->valid = true;
    }
    return kept->guess;
}

/* The best chance the class has on any type of the cluster, alone; 0 when it has failed
 * on one: what is believed of its size is no guess then. */
static double fits_somewhere(struct classes *c, int cls)
{
    struct class_state *s = &c->states.items[cls];

    if (s->fits_known)
        return s->fits_best;
    s->fits_best = 0;
    s->fits_known = true;
    for (int t = 0; t < c->type_count && !footprint_failed_alone(c->footprint, cls); t++)
        s->fits_best = fmax(s->fits_best, footprint_fits(c->footprint, t,
                                                         c->types[t].memory_gb, &cls, 1));
    return s->fits_best;
}

/* Who submits a job expects it to fit somewhere, and a footprint worked out from a
 * descriptor is a guess: unless it is far too large, or has been seen to fail, the job is
 * taken to fit on the type where it most likely does.  Refusing it would teach nothing.
 */
double classes_fit(struct classes *c, int type, const int *members, int count)
{
    double fits = footprint_fits(c->footprint, type, c->types[type].memory_gb, members,
                                 (size_t)count);

    for (int i = 0; i < count; i++) {
        double somewhere = fits_somewhere(c, members[i]);

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
        classes_push(c);
        for (size_t t = 0; t < types; t++) {
            struct tally *tally = classes_tally(c, (int)i, (int)t);

            *tally = get_tally(in);
            c->alone_cells += !isnan(tally->pushed);
        }
    }
    c->alone_news = c->alone_cells;
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
        map_put(c->beside_index, classes_cell_key(b.cell), i);
        vec_push(&c->beside, b);
        c->states.items[b.cell.job].told++;
        c->states.items[b.cell.other].told++;
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
        map_put(c->gang_index, classes_gang_key(&g.gang), c->gangs.count);
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
}
