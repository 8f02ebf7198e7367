/* learned_absorb.c - how the learned model takes a measurement: the loop hands it over
 * (model_ops.absorb), classes, gangs and the job's own windows get their part */
#include "model/learned_private.h"
#include "world/power.h"

#include <math.h>

#define WANDER_MEMORY_S (60 * 86400.0)
#define WANDER_MAX      0.1

/* About so many pairs of twins count for what serving is faster by. */
#define SHIFT_MEMORY 30.0

/* Who works less than this share of the time tells nothing of how it is at work. */
#define BUSY_LEAST 0.15

/* Rates alone of a class known worse than this teach nothing about pairs. */
#define ALONE_SD_MAX 0.5

/* What is inferred of a service with a larger sd of the log teaches its class nothing. */
#define INFERRED_SD_TOLD 0.5
#define INFERRED_SD_MIN  0.02

/* A belief that a floor has lifted is known better by so much, but no better than so. */
#define LIFTED_SHARE  0.7
#define LIFTED_SD_MIN 0.2

/* A shift that moved by less is left as it is. */
#define SHIFT_STEP 0.02

/* The window against what the place's last ones said: how noisy are windows, and how
 * fast do rates wander? */
static struct window_fate push_window(struct learned *l, struct job_place *place,
                                      int user, double value, double at_s,
                                      const struct class_guess *believed)
{
    struct window_noise noise = learned_noise(l, place->neighbours > 0);
    struct learned_user *u = learned_user(l, user);
    struct window_prior prior = {believed->mean, believed->var, doubt_share(&u->doubt)};
    struct window_fate fate = job_effects_push(place, value, at_s, &noise, &prior);
    double keep;

    place->stamp = ++l->stamp;
    doubt_note(&u->doubt, fate.wrong);
    if (isnan(fate.surprise))
        return fate;
    pooled_add(&u->noise[place->neighbours > 0], fate.surprise);
    keep = u->wander_s > WANDER_MEMORY_S ? 1 - place->gap_s / WANDER_MEMORY_S : 1;
    u->wander = fmax(keep, 0) * u->wander + fmin(fate.wander, WANDER_MAX);
    u->wander_s = fmax(keep, 0) * u->wander_s + place->gap_s;
    return fate;
}

/* A job's first word on a cell others of its class spoke of: how far do they differ? */
static void learn_spread(struct learned *l, const struct learned_member *m, double value,
                         double var)
{
    struct class_guess cls = prediction_cache_alone(l->absorbing, m->cls, m->type);
    struct learned_user *u = learned_user(l, m->told->user);
    double off = value - cls.mean, n = cls.observations;

    if (!cls.measured)
        return;
    pooled_add(&u->alone, fmax(off * off * n / (n + 1) - var, 0));
    for (int i = 0; i < m->own->count; i++) {
        const struct job_place *p = &m->own->places[i];
        struct class_guess there = prediction_cache_alone(l->absorbing, m->cls, p->type);

        if (p->neighbours > 0 || p->type == m->type || !there.measured ||
            there.observations < 2 || isnan(p->told))
            continue;
        u->products += off * (p->told - there.mean);
        u->product_weight++;
    }
}

/* The same model served and trained on one type: what is serving faster by? */
static void learn_shift(struct learned *l, const struct learned_member *m, double value)
{
    const struct learned_class *cls = &l->kept.items[m->cls];
    struct learned_user *u = learned_user(l, cls->user);
    struct class_guess twin;
    double sample;

    if (cls->twin < 0)
        return;
    twin = prediction_cache_alone(l->absorbing, cls->twin, m->type);
    if (!twin.measured)
        return;
    /* Both are told without the shift: what is left between them is an error of it. */
    sample = l->service.used + (cls->service ? value - twin.mean : twin.mean - value);
    u->shift.weight = fmin(u->shift.weight + 1, SHIFT_MEMORY);
    u->shift.mean += (sample - u->shift.mean) / u->shift.weight;
}

/* Services were told of with the shift of their time: once it has moved, correct that. */
static void follow_shift(struct learned *l)
{
    double by = l->service.used - l->service.mean;

    if (fabs(by) < SHIFT_STEP)
        return;
    l->service.used = l->service.mean;
    for (size_t cls = 0; cls < l->kept.count; cls++)
        if (l->kept.items[cls].service) {
            classes_rebase(l->classes, (int)cls, by);
            job_effects_rebase(l->own, (int)cls, by);
        }
}

/* What a class is to hear of a window. */
struct told_window {
    double var;   /* of the log rate beyond the noise of a window: a service's */
    bool changed; /* suddenly */
};

static void tell_alone(struct learned *l, const struct learned_member *m,
                       struct job_place *place, const struct told_window *w)
{
    double unused, value = place->drift.mean - learned_shift(m, &unused);
    struct class_news news = {m->job->id, value, pooled_var(&l->alone) + w->var,
                              w->changed};

    if (isnan(place->told)) {
        learn_spread(l, m, value, w->var > 0 ? w->var : pooled_var(&l->noise[0]));
        learn_shift(l, m, value);
    }
    classes_tell_alone(l->classes, m->cls, m->type, &news, false);
    place->told = value;
}

/* A gang tells what its devices gain where one of them is known, else of the one. */
static void tell_gang(struct learned *l, const struct learned_member *m,
                      struct job_place *place, const struct told_window *w)
{
    const struct learned_class *cls = &l->kept.items[m->cls];
    struct class_gang gang = {m->cls, m->type, m->devices, m->spread};
    struct class_guess one = prediction_cache_alone(l->absorbing, m->cls, m->type);
    double unused, value = place->drift.mean - learned_shift(m, &unused);
    double spread = pooled_var(&l->alone) + w->var;
    struct class_news news = {m->job->id, value, spread, w->changed};
    bool first = isnan(place->told);

    classes_tell_gang(l->classes, &gang, &news);
    if (one.measured && first) {
        struct gangs_case at = {cls->name, cls->family,          m->type, m->devices,
                                m->spread, cls->params_millions, one.mean};

        gangs_observe(l->scale, &at, value - one.mean, one.var + spread,
                      learned_user_share(l, cls->user));
    } else if (!one.measured) {
        struct gangs_guess gain = learned_gain(m);

        news.now -= gain.mean;
        news.var += gain.var;
        classes_tell_alone(l->classes, m->cls, m->type, &news, true);
    }
    place->told = value;
}

/* The job's rate alone on a type from what was measured alone, not beside others. */
static struct class_guess alone_for_pairs(struct learned *l,
                                          const struct learned_member *m)
{
    const struct job_place *place =
        job_effects_place(m->own, job_effects_key(m->type, NULL, 0, m->spread));
    struct window_noise noise = learned_noise(l, false);
    struct class_guess b;

    if (place && place->sure)
        return (struct class_guess){.mean = place->drift.mean,
                                    .var = job_effects_window_var(place, &noise),
                                    .measured = true};
    b = learned_alone(m);
    b.var += pooled_var(&l->alone);
    return b;
}

static void tell_beside(struct learned *l, const struct learned_member *m,
                        struct job_place *place, const struct told_window *w)
{
    struct class_guess alone = alone_for_pairs(l, m);
    struct class_guess cls = learned_beside_one(m, m->others[0]);
    struct class_news news = {.job = m->job->id, .changed = w->changed};
    double unused, grows;

    if (alone.var > ALONE_SD_MAX * ALONE_SD_MAX) {
        struct class_guess now = learned_beside(m, false);
        struct gangs_guess gain = learned_gain(m);

        news.now = place->drift.mean - now.mean - gain.mean - learned_shift(m, &unused);
        news.var = pooled_var(&l->alone) + now.var + gain.var + w->var;
        classes_tell_alone(l->classes, m->cls, m->type, &news, true);
        return;
    }
    if (m->busy[0] < BUSY_LEAST)
        return;
    news.now = learned_relative_full(place->drift.mean - alone.mean, m->busy[0], &grows);
    news.var = grows * grows * (alone.var + w->var) + pooled_var(&l->beside);
    if (isnan(place->told) && cls.measured && alone.var < 2 * pooled_var(&l->noise[0])) {
        double off = news.now - cls.mean;

        pooled_add(&learned_user(l, m->told->user)->beside,
                   fmax(off * off / 2 - alone.var - w->var, 0));
    }
    classes_tell_beside(l->classes, m->cls, m->type, m->others[0], &news);
    place->told = news.now;
}

/* The sd of the log with which a service is told to do this.  A floor only lifts: NaN
 * where more is believed already. */
static double inferred_sd(const struct learned_member *m, const struct observation *seen,
                          double value)
{
    struct class_guess beside = {0}, now;

    if (!seen->floor)
        return fmax(seen->rate_sd_log, INFERRED_SD_MIN);
    if (m->neighbours > 0)
        beside = learned_beside(m, false);
    now = learned_believe(m, &beside);
    return value > now.mean ? fmax(LIFTED_SHARE * sqrt(now.var), LIFTED_SD_MIN) : NAN;
}

/* A first window in a place: where in what was believed of it did it lie?  sd: of what it
 * says itself, beyond the noise of a window. */
static void learn_ends(struct learned *l, const struct learned_member *m, int basis,
                       const struct class_guess *b, double value, double sd)
{
    calibration_note(&l->calibration, basis, (value - b->mean) / sqrt(b->var + sd * sd),
                     learned_user_share(l, m->told->user));
}

static bool was_measured(const struct job_place *place)
{
    return place->drift.times > 0 || place->far_count > 0;
}

/* Windows under one cap are what they are, also when what it takes is believed otherwise
 * now: a neighbour may have lied. */
static void note_cap(struct job_place *place, double cap_watts, double speed)
{
    bool same = !(place->cap_watts < cap_watts || place->cap_watts > cap_watts);

    if (same && was_measured(place))
        job_effects_shift(place, place->speed - speed);
    place->cap_watts = cap_watts;
    place->speed = speed;
}

static struct job_place *take_place(struct job_own *own, const struct learned_member *m)
{
    struct job_place *place = job_effects_place_take(
        own, job_effects_key(m->type, m->others, m->neighbours, m->spread));

    place->type = m->type;
    place->spread = m->spread;
    place->neighbours = m->neighbours;
    if (was_measured(place))
        job_effects_shift(place, learned_eased(m, place));
    for (int i = 0; i < m->neighbours; i++) {
        place->others[i] = m->others[i];
        place->busy[i] = m->busy[i];
        place->asked[i] = m->demands[i];
    }
    return place;
}

static void tell_class(struct learned *l, const struct learned_member *m,
                       struct job_place *place, const struct told_window *w)
{
    if (m->neighbours == 0) {
        l->counts.rates++;
        if (m->devices > 1)
            tell_gang(l, m, place, w);
        else
            tell_alone(l, m, place, w);
    } else if (m->neighbours == 1) {
        l->counts.pairs++;
        tell_beside(l, m, place, w);
    }
}

static void absorb_rate(struct learned *l, const struct observation *seen,
                        const struct learned_member *members)
{
    const struct learned_member *m = &members[seen->subject];
    struct job_own *own = job_effects_find(l->own, m->job->id);
    struct window_noise noise = learned_noise(l, m->neighbours > 0);
    double relative[LOOP_MAX_SHARE], speed, value, sd = 0;
    bool first = !learned_own_place(m);
    int basis = learned_basis(m);
    struct class_guess beside = {0}, believed;
    struct told_window told = {0};
    struct job_place *place;
    struct estimate watts;

    if (!(seen->rate > 0) || !isfinite(seen->rate))
        return;
    /* What a cap took is given back as it is taken when asked: by the same busy share. */
    for (int i = 0; i < seen->where.count; i++)
        relative[i] = seen->where.count > 1 ? learned_beside(&members[i], false).mean : 0;
    learned_watts(members, relative, &seen->where, &watts, &speed);
    value = log(seen->rate) - speed;
    if (m->told->service)
        sd = inferred_sd(m, seen, value);
    if (isnan(sd))
        return;
    if (m->neighbours > 0)
        beside = learned_beside(m, false);
    believed = learned_expect(m, &beside);
    place = take_place(own, m);
    note_cap(place, seen->where.cap_watts, speed);
    own->version = l->version;
    if (m->told->service) {
        job_effects_set(place, value, sd, seen->at_s, &noise);
        place->stamp = ++l->stamp;
        told.var = sd * sd;
    } else {
        struct window_fate fate =
            push_window(l, place, m->told->user, value, seen->at_s, &believed);

        if (!fate.kept)
            return;
        told.changed = fate.changed;
        l->counts.changes += fate.changed;
    }
    if (seen->floor || sd > INFERRED_SD_TOLD)
        return;
    if (first && seen->where.cap_watts <= 0)
        learn_ends(l, m, basis, &believed, m->told->service ? value : place->drift.mean,
                   sd);
    if (place->sure)
        tell_class(l, m, place, &told);
}

/* What one device alone would draw, told by one of a gang: it idles while it waits. */
static void absorb_watts(struct learned *l, const struct observation *seen,
                         const struct learned_member *m)
{
    const struct gpu_sheet *sheet = &l->classes->types[m->type];
    double watts = seen->device_watts;

    if (seen->where.count != 1 || seen->where.cap_watts > 0 || !(watts > 0) ||
        !isfinite(watts))
        return;
    if (seen->floor) /* nobody knows which share of the time it works */
        return;
    if (m->demand > 0) { /* what it would draw if it worked all the time */
        double load = learned_at_work(m->demand, seen->rate);

        if (load < BUSY_LEAST)
            return;
        watts = power_draw_watts(sheet, fmin(power_busy(sheet, watts) / load, 1));
    }
    if (m->devices > 1) {
        double share = exp(learned_gain(m).mean) / m->devices;

        watts = power_draw_watts(sheet, fmin(power_busy(sheet, watts) / share, 1));
    }
    classes_tell_watts(l->classes, m->cls, m->type, watts, m->job->kind == JOB_TRAINING);
}

void learned_absorb(void *self, const struct observation *seen)
{
    struct learned *l = self;
    const struct combination *where = &seen->where;
    struct learned_question asked;
    struct learned_member members[LOOP_MAX_SHARE];
    struct footprint_item sizes[LOOP_MAX_SHARE];

    for (int i = 0; i < where->count; i++)
        learned_begin(l, where->members[i].job);
    l->version++;
    learned_members(l, l->absorbing, where, &asked, members);
    for (int i = 0; i < where->count; i++)
        sizes[i] = members[i].size;
    classes_tell_memory(l->classes, where->type, sizes, where->count,
                        seen->out_of_memory);
    if (seen->out_of_memory) {
        l->counts.failures++;
        return;
    }
    if (seen->memory_gb > 0)
        footprint_held(l->classes->footprint, &sizes[seen->subject], seen->memory_gb);
    absorb_watts(l, seen, &members[seen->subject]);
    absorb_rate(l, seen, members);
    learned_users_combine(l);
    follow_shift(l);
    pairs_settle(l->classes->pairs);
}
