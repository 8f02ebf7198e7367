/* learned_predict.c - what the learned model answers, see learned.h */
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

/* How far serving strays from the usual share of training, between models. */
#define SHIFT_SD 0.3

struct window_noise learned_noise(const struct learned *l, bool shared)
{
    return (struct window_noise){pooled_var(&l->noise[shared]),
                                 fmax(l->wander / (l->wander_s + WANDER_PRIOR_S), 0)};
}

double learned_shift(const struct learned *l, const struct learned_member *m, double *var)
{
    bool service = l->kept.items[m->cls].service;

    *var = service ? SHIFT_SD * SHIFT_SD * (1 + 1 / (l->service.weight + 1)) : 0;
    return service ? l->service.used : 0;
}

struct gangs_guess learned_gain(struct learned *l, const struct learned_member *m)
{
    const struct learned_class *cls = &l->kept.items[m->cls];
    struct gangs_case at = {
        .cls = cls->name,
        .family = cls->family,
        .type = m->type,
        .devices = m->devices,
        .spread = m->spread,
        .params_millions = cls->params_millions,
    };

    if (m->devices <= 1)
        return (struct gangs_guess){0};
    at.log_rate = classes_alone(l->classes, m->cls, m->type).mean;
    return gangs_predict(l->scale, &at);
}

struct learned_belief learned_alone(struct learned *l, const struct learned_member *m)
{
    struct class_gang gang = {m->cls, m->type, m->devices, m->spread};
    double shift_var, shift = learned_shift(l, m, &shift_var);
    struct class_guess g;
    struct gangs_guess gain;

    if (m->devices > 1 && classes_gang(l->classes, &gang, &g))
        return (struct learned_belief){g.mean + shift, g.var, true, g.observations};
    g = classes_alone(l->classes, m->cls, m->type);
    gain = learned_gain(l, m);
    return (struct learned_belief){
        .mean = g.mean + gain.mean + shift,
        .var = g.var + gain.var + (g.measured ? 0 : shift_var),
        .measured = g.measured && m->devices <= 1,
        .observations = g.observations,
    };
}

/* Log slow-downs beside several add up. */
static struct class_guess beside(struct learned *l, const struct learned_member *m,
                                 bool all_busy)
{
    struct class_guess sum = {.measured = m->neighbours == 1};

    for (int i = 0; i < m->neighbours; i++) {
        struct class_guess g = classes_beside(l->classes, m->cls, m->type, m->others[i]);
        double busy = all_busy ? 1 : m->busy[i];
        double mean = learned_relative_at(g.mean, busy);
        double felt =
            busy * exp(g.mean - mean); /* of an error in the speed at full load */

        sum.mean += mean;
        sum.var += felt * felt * g.var;
        sum.measured = sum.measured && g.measured;
        sum.observations += g.observations;
    }
    sum.mean = fmax(sum.mean, log(LEARNED_RELATIVE_MIN));
    return sum;
}

struct class_guess learned_beside(struct learned *l, const struct learned_member *m)
{
    return beside(l, m, false);
}

struct class_guess learned_beside_busy(struct learned *l, const struct learned_member *m)
{
    return beside(l, m, true);
}

void learned_relative(struct learned *l, const struct learned_member *members, int count,
                      double *relative)
{
    for (int i = 0; i < count; i++)
        relative[i] = count > 1 ? learned_beside(l, &members[i]).mean : 0;
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
static void add_evidence(struct learned *l, const struct learned_member *asked,
                         const struct job_place *place, struct job_evidence *evidence)
{
    struct learned_member there = *asked;
    struct window_noise noise = learned_noise(l, place->neighbours > 0);
    struct learned_belief alone;
    double var = noise.var / fmax(place->drift.times, 0.1), off;

    there.type = place->type;
    there.spread = place->spread;
    there.neighbours = place->neighbours;
    for (int i = 0; i < place->neighbours; i++) {
        there.others[i] = place->others[i];
        there.busy[i] = place->busy[i];
    }
    alone = learned_alone(l, &there);
    off = place->drift.mean - alone.mean;
    if (!alone.measured)
        var += alone.var;
    if (place->neighbours > 0) {
        struct class_guess g = learned_beside(l, &there);

        off -= g.mean;
        var += g.var + place->neighbours * pooled_var(&l->beside);
    }
    evidence[place->type].precision += 1 / var;
    evidence[place->type].weighted += off / var;
}

static struct job_factor factor_of(struct learned *l, const struct learned_member *m)
{
    struct job_evidence evidence[WORLD_MAX_GPUS] = {{0}};
    struct job_own *own = m->own;
    struct job_factor *kept = &own->factors[m->type];
    uint64_t version = own->version + classes_version(l->classes, m->cls);

    if (own->count == 0 || l->options.initial_only)
        return (struct job_factor){.var = pooled_var(&l->alone)};
    if (kept->version == version)
        return *kept;
    for (int i = 0; i < own->count; i++)
        add_evidence(l, m, &own->places[i], evidence);
    *kept = job_effects_combine(evidence, l->type_count, m->type, pooled_var(&l->alone),
                                rho(l));
    kept->version = own->version + classes_version(l->classes, m->cls);
    return *kept;
}

double learned_own_rate(struct learned *l, const struct learned_member *m)
{
    return learned_alone(l, m).mean + factor_of(l, m).mean;
}

/* ---- answers ---------------------------------------------------------------------- */

static struct learned_belief believe(struct learned *l, const struct learned_member *m,
                                     const struct class_guess *beside)
{
    struct window_noise noise = learned_noise(l, m->neighbours > 0);
    const struct job_place *place = NULL;
    struct learned_belief b;
    struct job_factor factor;

    if (m->own->count > 0)
        place = job_effects_place(
            m->own, job_effects_key(m->type, m->others, m->neighbours, m->spread));
    if (place)
        return (struct learned_belief){
            .mean = place->drift.mean + learned_eased(l, m, place),
            .var = job_effects_window_var(place, &noise),
            .measured = true,
            .observations = (int)ceil(place->drift.times),
        };
    b = learned_alone(l, m);
    factor = factor_of(l, m);
    b.mean += factor.mean;
    b.var += factor.var + noise.var;
    b.measured = false;
    if (m->neighbours > 0) {
        b.mean += beside->mean;
        b.var += beside->var + m->neighbours * pooled_var(&l->beside);
        b.observations += beside->observations;
    }
    return b;
}

static struct estimate estimate_of(const struct learned_belief *b, double speed,
                                   size_t total)
{
    double value = exp(b->mean + speed), factor = exp(NORMAL_90_SHORT * sqrt(b->var));

    return (struct estimate){
        .value = value,
        .low = value / factor,
        .high = value * factor,
        .source = b->measured ? ESTIMATE_MEASURED
                  : total > 0 ? ESTIMATE_CORRELATED
                              : ESTIMATE_INITIAL,
        .observations = b->observations,
    };
}

/* Share of each device a member keeps busy: what waits for the others of a gang idles. */
static double busy_of(struct learned *l, const struct learned_member *m,
                      const struct watts_guess *g)
{
    double busy = power_busy(&l->types[m->type], g->watts);

    return m->devices > 1 ? busy * exp(learned_gain(l, m).mean) / m->devices : busy;
}

void learned_watts(struct learned *l, const struct learned_member *members,
                   const double *relative, const struct combination *where,
                   struct estimate *out, double *speed)
{
    const struct gpu_sheet *sheet = &l->types[where->type];
    double busy = 0, var = 0, factor;
    struct power_capped capped;
    int seen = 0;
    bool measured = where->count == 1;

    for (int i = 0; i < where->count; i++) {
        struct watts_guess g = classes_watts(l->classes, members[i].cls, where->type);
        double load = 1;

        if (members[i].demand > 0)
            load = learned_at_work(members[i].demand,
                                   exp(learned_own_rate(l, &members[i]) + relative[i]));
        busy += busy_of(l, &members[i], &g) * exp(relative[i]) * load;
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

void learned_predict(void *self, const struct combination *where, struct prediction *out)
{
    struct learned *l = self;
    size_t total = l->counts.rates + l->counts.pairs;
    struct learned_member members[LOOP_MAX_SHARE];
    struct learned_belief beliefs[LOOP_MAX_SHARE];
    double relative[LOOP_MAX_SHARE] = {0}, speed;
    int classes[LOOP_MAX_SHARE];

    assert(where->count >= 1 && where->count <= LOOP_MAX_SHARE);
    learned_members(l, where, members);
    for (int i = 0; i < where->count; i++) {
        struct class_guess beside = {0};

        if (where->count > 1)
            beside = learned_beside(l, &members[i]);
        beliefs[i] = believe(l, &members[i], &beside);
        relative[i] = beside.mean;
        classes[i] = members[i].cls;
    }
    learned_watts(l, members, relative, where, &out->watts, &speed);
    for (int i = 0; i < where->count; i++) {
        out->rate[i] = estimate_of(&beliefs[i], speed, total);
        queueing_useful_estimate(members[i].job, &out->rate[i]);
    }
    out->fits = classes_fit(l->classes, where->type, classes, where->count);
}

/* ---- neighbours that work part of the time --------------------------------------------
 */

/* Slower or faster than this beside another is noise. */
#define FULL_MIN 0.02
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

    full = fmin(fmax(full, FULL_MIN), FULL_MAX);
    *gain = fmax(speed / (full * busy), 1);
    return log(full);
}

/* What the member can do there at most, everybody at work. */
static double least_rate(struct learned *l, const struct learned_member *m)
{
    return exp(learned_own_rate(l, m) + learned_beside_busy(l, m).mean);
}

double learned_eased(struct learned *l, const struct learned_member *m,
                     const struct job_place *place)
{
    struct learned_member then = *m;

    if (m->neighbours == 0)
        return 0;
    for (int i = 0; i < m->neighbours; i++)
        then.busy[i] = place->busy[i];
    return learned_beside(l, m).mean - learned_beside(l, &then).mean;
}

void learned_fill_busy(struct learned *l, struct learned_member *members, int count)
{
    double load[LOOP_MAX_SHARE];

    for (int k = 0; k < count; k++)
        load[k] = members[k].demand > 0 && count > 1
                      ? learned_at_work(members[k].demand, least_rate(l, &members[k]))
                      : 1;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < members[i].neighbours; k++)
            members[i].busy[k] = load[members[i].who[k]];
}
