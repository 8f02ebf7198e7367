/* learned_predict.c - what the learned model answers: loop/estimate asks it
 * (model_ops.predict) */
#include "model/learned_private.h"

#include "base/normal.h"
#include "model/queueing.h"
#include "world/power.h"

#include <assert.h>
#include <math.h>

/* How much of a job's factor all types share, before any job was seen on two. */
#define SHARED_RHO     0.5
#define SHARED_SAMPLES 6.0

/* Rates are taken to stand still until so much time has told otherwise. */
#define WANDER_PRIOR_S (2 * 86400.0)

/* What a service can do is inferred: known worse than this it was not measured. */
#define INFERRED_SD_MAX 0.3

/* How far serving strays from the usual share of training, between models. */
#define SHIFT_SD 0.3

struct window_noise learned_noise(const struct learned *l, bool shared)
{
    return (struct window_noise){pooled_var(&l->noise[shared]),
                                 fmax(l->wander / (l->wander_s + WANDER_PRIOR_S), 0)};
}

static struct class_guess alone_on(const struct learned_member *m, int type)
{
    const struct learned_question *q = m->asked;

    if (q->cache && m->cls < (int)q->model->kept.count)
        return prediction_cache_alone(q->cache, m->cls, type);
    return classes_alone(q->model->classes, &q->guests, m->cls, type);
}

struct class_guess learned_beside_one(const struct learned_member *m, int other)
{
    struct learned_question *q = m->asked;
    const struct classes *classes = q->model->classes;
    int known = (int)classes->kinds.count;
    struct class_guess guess;

    if (classes_own_beside(classes, m->told->user, (struct cell){m->kind, m->type, other},
                           &guess))
        return guess;
    if (q->cache && m->kind < known && other < known)
        return prediction_cache_beside(q->cache, m->kind, m->type, other);
    for (int i = 0; i < q->pair_count; i++)
        if (q->pairs[i].kind == m->kind && q->pairs[i].type == m->type &&
            q->pairs[i].other == other)
            return q->pairs[i].guess;
    guess = classes_beside(classes, &q->guests, m->kind, m->type, other);
    if (q->pair_count < LEARNED_ASKED_MAX)
        q->pairs[q->pair_count++] =
            (struct learned_asked){m->kind, m->type, other, guess};
    return guess;
}

static struct watts_guess draw_of(const struct learned_member *m)
{
    const struct learned_question *q = m->asked;

    if (q->cache && m->cls < (int)q->model->kept.count)
        return prediction_cache_watts(q->cache, m->cls, m->type);
    return watts_predict_of(q->model->classes->watts, m->cls, m->kind, m->type);
}

double learned_shift(const struct learned_member *m, double *var)
{
    const struct learned *l = m->asked->model;
    bool service = m->told->service;

    *var = service ? SHIFT_SD * SHIFT_SD * (1 + 1 / (l->service.weight + 1)) : 0;
    return service ? l->service.used : 0;
}

struct gangs_guess learned_gain(const struct learned_member *m)
{
    struct gangs_case at = {
        .cls = m->told->name,
        .family = m->told->family,
        .type = m->type,
        .devices = m->devices,
        .spread = m->spread,
        .params_millions = m->told->params_millions,
    };

    if (m->devices <= 1)
        return (struct gangs_guess){0};
    at.log_rate = alone_on(m, m->type).mean;
    return gangs_predict(m->asked->model->scale, &at);
}

struct class_guess learned_alone(const struct learned_member *m)
{
    struct class_gang gang = {m->cls, m->type, m->devices, m->spread};
    double shift_var, shift = learned_shift(m, &shift_var);
    struct class_guess g;
    struct gangs_guess gain;

    if (m->devices > 1 && classes_gang(m->asked->model->classes, &gang, &g)) {
        g.mean += shift;
        return g;
    }
    g = alone_on(m, m->type);
    gain = learned_gain(m);
    g.mean = g.mean + gain.mean + shift;
    g.var = g.var + gain.var + (g.measured ? 0 : shift_var);
    g.measured = g.measured && m->devices <= 1;
    return g;
}

/* Log slow-downs beside several add up. */
struct class_guess learned_beside(const struct learned_member *m, bool all_busy)
{
    struct class_guess sum = {.measured = m->neighbours == 1};

    for (int i = 0; i < m->neighbours; i++) {
        struct class_guess g = learned_beside_one(m, m->others[i]);
        double busy = all_busy ? 1 : m->busy[i];
        double mean = learned_relative_at(g.mean, busy);
        double felt =
            busy * exp(g.mean - mean); /* of an error in the speed at full load */

        sum.mean += mean;
        sum.var += felt * felt * g.var;
        sum.measured = sum.measured && g.measured;
        sum.observations += g.observations;
    }
    sum.mean = fmax(sum.mean, log(CLASSES_RELATIVE_MIN));
    return sum;
}

/* ---- what sets a job apart --------------------------------------------------------- */

static double rho(const struct learned *l)
{
    double spread = pooled_var(&l->alone);
    double shared = (SHARED_SAMPLES * SHARED_RHO * spread + l->products) /
                    ((SHARED_SAMPLES + l->product_weight) * spread);

    return fmin(fmax(shared, 0), 0.95);
}

/* What one place says of the job's factor alone on its type. */
static void add_evidence(const struct learned_member *asked,
                         const struct job_place *place, struct job_evidence *evidence)
{
    const struct learned *l = asked->asked->model;
    struct learned_member there = *asked;
    struct window_noise noise = learned_noise(l, place->neighbours > 0);
    struct class_guess alone;
    double var = noise.var / fmax(place->drift.times, JOB_EFFECTS_TIMES_LEAST), off;

    if (place->drift.times <= 0)
        return;
    there.type = place->type;
    there.spread = place->spread;
    there.neighbours = place->neighbours;
    for (int i = 0; i < place->neighbours; i++) {
        there.others[i] = place->others[i];
        there.busy[i] = place->busy[i];
    }
    alone = learned_alone(&there);
    off = place->drift.mean - alone.mean;
    if (!alone.measured)
        var += alone.var;
    if (place->neighbours > 0) {
        struct class_guess g = learned_beside(&there, false);

        off -= g.mean;
        var += g.var + place->neighbours * pooled_var(&l->beside);
    }
    evidence[place->type].precision += 1 / var;
    evidence[place->type].weighted += off / var;
}

static struct job_factor make_factor(const struct learned_member *m)
{
    const struct learned *l = m->asked->model;
    struct job_evidence evidence[WORLD_MAX_GPUS] = {{0}};

    for (int i = 0; i < m->own->count; i++)
        add_evidence(m, &m->own->places[i], evidence);
    return job_effects_combine(evidence, l->classes->type_count, m->type,
                               pooled_var(&l->alone), rho(l));
}

static struct job_factor factor_of(const struct learned_member *m)
{
    const struct learned *l = m->asked->model;
    struct prediction_cache *cache = m->asked->cache;
    struct job_factor made, *kept;

    if (!m->own || m->own->count == 0 || l->options.initial_only)
        return (struct job_factor){.var = pooled_var(&l->alone)};
    if (!cache)
        return make_factor(m);
    kept = prediction_cache_factor(cache, m->job->id, m->type);
    if (kept->version == m->own->version + prediction_cache_version(cache, m->cls))
        return *kept;
    made = make_factor(m);
    /* Making it may have moved what the cache knows of the class. */
    made.version = m->own->version + prediction_cache_version(cache, m->cls);
    return *kept = made;
}

/* What is believed of the member's own rate alone, its class and itself together. */
static double own_rate(const struct learned_member *m)
{
    return learned_alone(m).mean + factor_of(m).mean;
}

/* ---- answers ---------------------------------------------------------------------- */

const struct job_place *learned_own_place(const struct learned_member *m)
{
    const struct job_place *place;

    if (!m->own || m->own->count == 0)
        return NULL;
    place = job_effects_place(
        m->own, job_effects_key(m->type, m->others, m->neighbours, m->spread));
    return place && place->drift.times > 0 ? place : NULL;
}

struct class_guess learned_expect(const struct learned_member *m,
                                  const struct class_guess *beside)
{
    const struct learned *l = m->asked->model;
    struct window_noise noise = learned_noise(l, m->neighbours > 0);
    struct class_guess b = learned_alone(m);
    struct job_factor factor = factor_of(m);

    b.mean += factor.mean;
    b.var += factor.var + noise.var;
    b.measured = false;
    if (m->neighbours > 0) {
        b.mean += beside->mean;
        b.var += beside->var + m->neighbours * pooled_var(&l->beside);
        if (b.observations > 0) /* else its level is a guess whatever pairs do */
            b.observations += beside->observations;
    }
    return b;
}

struct class_guess learned_believe(const struct learned_member *m,
                                   const struct class_guess *beside)
{
    struct window_noise noise = learned_noise(m->asked->model, m->neighbours > 0);
    const struct job_place *place = learned_own_place(m);
    double var;

    if (!place)
        return learned_expect(m, beside);
    var = job_effects_window_var(place, &noise);
    return (struct class_guess){
        .mean = place->drift.mean + learned_eased(m, place),
        .var = var,
        .measured = !m->told->service || var <= INFERRED_SD_MAX * INFERRED_SD_MAX,
        .of_class = true,
        .observations = (int)ceil(place->drift.times),
    };
}

int learned_basis(const struct learned_member *m)
{
    bool measured = false;

    for (int i = 0; m->own && i < m->own->count; i++)
        measured = measured || m->own->places[i].drift.times > 0;
    return calibration_basis(measured, m->neighbours > 0, m->told->service);
}

/* What a cap leaves of a rate is taken as it was given back when it was measured. */
static double speed_at(const struct job_place *place, double cap_watts, double speed)
{
    if (!place || place->cap_watts < cap_watts || place->cap_watts > cap_watts)
        return speed;
    return place->speed;
}

static struct estimate estimate_of(const struct learned_member *m,
                                   const struct class_guess *b, double cap_watts,
                                   double speed)
{
    const struct learned *l = m->asked->model;
    const struct job_place *place = learned_own_place(m);
    struct calibration_ends at = {-NORMAL_90_SHORT, 0, NORMAL_90_SHORT};
    double mean = b->mean + speed_at(place, cap_watts, speed), sd = sqrt(b->var);

    if (!place)
        at = calibration_ends(&l->calibration, learned_basis(m));
    return (struct estimate){
        .value = exp(mean + at.median * sd),
        .low = exp(mean + at.low * sd),
        .high = exp(mean + at.high * sd),
        .source = b->measured           ? ESTIMATE_MEASURED
                  : b->observations > 0 ? ESTIMATE_CORRELATED
                                        : ESTIMATE_INITIAL,
        .observations = b->observations,
        .of_kind = b->of_class,
    };
}

/* Share of each device a member keeps busy: what waits for the others of a gang idles. */
static double busy_of(const struct learned_member *m, const struct watts_guess *g)
{
    double busy = power_busy(&m->asked->model->classes->types[m->type], g->watts);

    return m->devices > 1 ? busy * exp(learned_gain(m).mean) / m->devices : busy;
}

void learned_watts(const struct learned_member *members, const double *relative,
                   const struct combination *where, struct estimate *out, double *speed)
{
    const struct learned *l = members[0].asked->model;
    const struct gpu_sheet *sheet = &l->classes->types[where->type];
    double busy = 0, var = 0, factor;
    struct power_capped capped;
    int seen = 0;
    bool measured = where->count == 1;

    for (int i = 0; i < where->count; i++) {
        struct watts_guess g = draw_of(&members[i]);
        double load = 1;

        if (members[i].demand > 0)
            load = learned_at_work(members[i].demand,
                                   exp(own_rate(&members[i]) + relative[i]));
        busy += busy_of(&members[i], &g) * exp(relative[i]) * load;
        var += g.sd_log * g.sd_log / where->count;
        seen += g.observations;
        measured = measured && g.sd_log < 0.1;
    }
    capped = power_under_cap(sheet, fmin(busy, 1), where->cap_watts);
    *speed = log(capped.speed);
    factor = exp(NORMAL_90_SHORT * sqrt(var));
    *out = (struct estimate){
        .value = capped.watts,
        .low = fmax(capped.watts / factor, sheet->idle_watts),
        .high = fmax(fmin(capped.watts * factor, sheet->tdp_watts), capped.watts),
        .source = measured   ? ESTIMATE_MEASURED
                  : seen > 0 ? ESTIMATE_CORRELATED
                             : ESTIMATE_INITIAL,
        .observations = seen,
    };
    out->low = fmin(out->low, out->value);
}

void learned_predict(const void *self, struct prediction_cache *cache,
                     const struct combination *where, struct prediction *out)
{
    const struct learned *l = self;
    struct learned_question asked;
    struct learned_member members[LOOP_MAX_SHARE];
    struct class_guess beliefs[LOOP_MAX_SHARE];
    double relative[LOOP_MAX_SHARE] = {0}, speed;
    struct footprint_item sizes[LOOP_MAX_SHARE];

    assert(where->count >= 1 && where->count <= LOOP_MAX_SHARE);
    learned_members(l, cache, where, &asked, members);
    for (int i = 0; i < where->count; i++) {
        struct class_guess beside = {0};

        if (where->count > 1)
            beside = learned_beside(&members[i], false);
        beliefs[i] = learned_believe(&members[i], &beside);
        relative[i] = beside.mean;
        sizes[i] = members[i].size;
    }
    learned_watts(members, relative, where, &out->watts, &speed);
    for (int i = 0; i < where->count; i++) {
        out->rate[i] = estimate_of(&members[i], &beliefs[i], where->cap_watts, speed);
        queueing_useful_estimate(members[i].job, &out->rate[i]);
    }
    out->fits = classes_fit(l->classes, where->type, sizes, where->count);
}

/* ---- neighbours that work part of the time --------------------------------------------
 */

/* Faster than this beside another is noise. */
#define FULL_MAX 1.25

double learned_at_work(double demand, double rate)
{
    return demand > 0 ? fmin(1, demand / fmax(rate, 1e-12)) : 1;
}

double learned_relative_at(double full, double busy)
{
    return log(1 - (1 - exp(full)) * busy);
}

double learned_relative_full(double at, double busy, double *gain)
{
    double speed = exp(at), full = 1 - (1 - speed) / busy;

    full = fmin(fmax(full, CLASSES_RELATIVE_MIN), FULL_MAX);
    *gain = fmax(speed / (full * busy), 1);
    return log(full);
}

/* What the member can do there at most, everybody at work. */
static double least_rate(const struct learned_member *m)
{
    return exp(own_rate(m) + learned_beside(m, true).mean);
}

/* By what is asked of the neighbours now and was then, which is counted: what they are
 * believed to do may have changed in between for no good reason. */
double learned_eased(const struct learned_member *m, const struct job_place *place)
{
    struct learned_member then = *m, now = *m;

    if (m->neighbours == 0)
        return 0;
    for (int i = 0; i < m->neighbours; i++) {
        then.busy[i] = place->busy[i];
        if (place->asked[i] > 0 && m->demands[i] > 0)
            now.busy[i] = fmin(1, place->busy[i] * m->demands[i] / place->asked[i]);
    }
    return learned_beside(&now, false).mean - learned_beside(&then, false).mean;
}

void learned_fill_busy(struct learned_member *members, int count)
{
    double load[LOOP_MAX_SHARE];

    for (int k = 0; k < count; k++)
        load[k] = members[k].demand > 0 && count > 1
                      ? learned_at_work(members[k].demand, least_rate(&members[k]))
                      : 1;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < members[i].neighbours; k++) {
            members[i].busy[k] = load[members[i].who[k]];
            members[i].demands[k] = members[members[i].who[k]].demand;
        }
}
