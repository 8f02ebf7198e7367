/* lengths.c - loop.c and round.c tell how far jobs have come and which ended; planners,
 * forecasts of a start, the reference placement and the ledger ask how long they run on
 */
#include "loop/estimate/lengths.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/vec.h"
#include "model/codec.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Ages: the first span ends after half a minute, each next one is longer by half an
 * octave, up to a year.  Parts of what was told: quarters of an octave from a sixteenth
 * to sixteen times, and a narrow span for jobs that do just what they were told with. */
#define SPANS       42
#define AGE_FIRST_S 30.0
#define AGE_OCTAVE  2.0
#define PART_OCTAVE 4
#define PART_BELOW  16 /* edges below one, and above it */
#define PART_EXACT  0.005
#define PART_SPANS  (2 * PART_BELOW + 3)
#define AGE_SPANS   SPANS

/* Before anything was seen: half of all jobs take less than this, and one that has run
 * much longer has even chances to run as long again.  Most users tell the size they have
 * set; the others are off, with this shape (of a log-logistic, sd of the log about 0.5).
 * It counts as much as so many jobs. */
#define AGE_USUAL_S  7200.0
#define EXACT_SHARE  0.8
#define PART_SHAPE   3.6
#define PRIOR_JOBS   4.0
#define GENERAL_JOBS 4.0 /* and what all jobs did, for those told alike */

#define GROUPS_MOST  256
#define JOBS_MOST    1000.0 /* then older ones count half */
#define ENDED_LEAST  5.0    /* so many must have ended before an age tells anything */

struct life_table {
    double reached[SPANS], ended[SPANS];
};

struct length_group {
    uint64_t key, used; /* the count of uses when it was last told something */
    struct life_table ages, parts;
};

struct lengths {
    struct length_group all[2]; /* of training, of services */
    vec_of(struct length_group) alike;
    vec_of(uint64_t) keys; /* (alike) theirs: they are looked through for every job */
    uint64_t uses;
};

enum axis { BY_AGE, BY_PART };

struct lengths *lengths_create(void)
{
    return mem_new(struct lengths);
}

void lengths_destroy(struct lengths *l)
{
    if (!l)
        return;
    vec_free(&l->alike);
    vec_free(&l->keys);
    free(l);
}

void lengths_copy(struct lengths *copy, const struct lengths *l)
{
    if (copy->uses == l->uses) /* nothing was told since */
        return;
    copy->uses = l->uses;
    copy->all[0] = l->all[0];
    copy->all[1] = l->all[1];
    vec_reserve(&copy->alike, l->alike.count);
    if (l->alike.count > 0)
        memcpy(copy->alike.items, l->alike.items,
               l->alike.count * sizeof(*l->alike.items));
    copy->alike.count = l->alike.count;
    vec_clear(&copy->keys);
    vec_each (const uint64_t, key, &l->keys)
        vec_push(&copy->keys, *key);
}

struct lengths *lengths_dup(const struct lengths *l)
{
    struct lengths *copy = lengths_create();

    lengths_copy(copy, l);
    return copy;
}

/* ---- spans ------------------------------------------------------------------------ */

static int span_count(enum axis axis)
{
    return axis == BY_AGE ? AGE_SPANS : PART_SPANS;
}

/* What never changes of a span; made once, because planners ask for many jobs. */
struct span {
    double begin, end;
    double log_width; /* log of end over begin, of an octave at most */
    double hazard;    /* of those that reach it the share that ends in it, before
                         anything was seen */
};
static struct span spans[2][SPANS];
static pthread_once_t spans_once = PTHREAD_ONCE_INIT;

/* Where a span ends. */
static double make_end(enum axis axis, int span)
{
    if (span >= span_count(axis) - 1)
        return INFINITY;
    if (axis == BY_AGE)
        return AGE_FIRST_S * exp2(span / AGE_OCTAVE);
    if (span < PART_BELOW)
        return exp2((span - PART_BELOW) / (double)PART_OCTAVE);
    if (span <= PART_BELOW + 1)
        return span == PART_BELOW ? 1 - PART_EXACT : 1 + PART_EXACT;
    return exp2((span - PART_BELOW - 1) / (double)PART_OCTAVE);
}

/* The share of jobs that get so far, before anything was seen. */
static double prior_reach(enum axis axis, double at)
{
    if (axis == BY_AGE)
        return 1 / (1 + at / AGE_USUAL_S);
    return (1 - EXACT_SHARE) / (1 + pow(at, PART_SHAPE)) + (at < 1 ? EXACT_SHARE : 0);
}

static void make_spans(void)
{
    for (enum axis axis = BY_AGE; axis <= BY_PART; axis++)
        for (int i = 0; i < span_count(axis); i++) {
            struct span *span = &spans[axis][i];

            span->begin = i > 0 ? make_end(axis, i - 1) : 0;
            span->end = make_end(axis, i);
            span->log_width = log(span->end / fmax(span->begin, span->end / 2));
            span->hazard = isinf(span->end) ? 0.5
                                            : 1 - prior_reach(axis, span->end) /
                                                      prior_reach(axis, span->begin);
        }
}

static const struct span *span_at(enum axis axis, int span)
{
    pthread_once(&spans_once, make_spans);
    return &spans[axis][span];
}

static int span_of(enum axis axis, double at)
{
    int span = 0;

    while (at >= span_at(axis, span)->end)
        span++;
    return span;
}

/* Of those that reach the span, the share that ends in it. */
static double hazard(const struct life_table *all, const struct life_table *alike,
                     enum axis axis, int span)
{
    double h = span_at(axis, span)->hazard;

    if (all)
        h = (all->ended[span] + PRIOR_JOBS * h) / (all->reached[span] + PRIOR_JOBS);
    if (alike)
        h = (alike->ended[span] + GENERAL_JOBS * h) /
            (alike->reached[span] + GENERAL_JOBS);
    return h;
}

/* ---- who is alike ----------------------------------------------------------------- */

static uint64_t key_of(const struct job *job)
{
    uint64_t told = hash_bytes((const char *)&job->descriptor, sizeof(job->descriptor));

    return rng_mix(rng_mix((uint64_t)job->owner, (uint64_t)job->kind), told);
}

static const struct length_group *alike_of(const struct lengths *l, const struct job *job)
{
    uint64_t key = key_of(job);

    for (size_t i = 0; i < l->keys.count; i++)
        if (l->keys.items[i] == key)
            return &l->alike.items[i];
    return NULL;
}

/* The group of the job, a new one in place of the one that was used the longest ago. */
static struct length_group *group_of(struct lengths *l, const struct job *job)
{
    struct length_group *g = (struct length_group *)(uintptr_t)alike_of(l, job);

    if (!g && l->alike.count < GROUPS_MOST) {
        vec_push(&l->alike, (struct length_group){.key = key_of(job)});
        vec_push(&l->keys, key_of(job));
        g = &l->alike.items[l->alike.count - 1];
    } else if (!g) {
        g = &l->alike.items[0];
        for (size_t i = 1; i < l->alike.count; i++)
            if (l->alike.items[i].used < g->used)
                g = &l->alike.items[i];
        *g = (struct length_group){.key = key_of(job)};
        l->keys.items[g - l->alike.items] = g->key;
    }
    g->used = ++l->uses;
    return g;
}

/* ---- telling ---------------------------------------------------------------------- */

static double told_size(const struct job *job)
{
    return job->kind == JOB_TRAINING ? job->total_steps : job->duration_s;
}

static double age_s(const struct job_status *status, double now_s)
{
    return isnan(status->started_s) ? 0 : fmax(0, now_s - status->started_s);
}

/* How far it is, as a part of what was told. */
static double part_of(const struct job_status *status, double now_s)
{
    double done =
        status->job.kind == JOB_TRAINING ? status->steps_done : age_s(status, now_s);

    return done / told_size(&status->job);
}

static void reach(struct life_table *t, int span, bool ends)
{
    t->reached[span]++;
    t->ended[span] += ends;
    for (int i = 0; t->reached[span] > JOBS_MOST && i < SPANS; i++) {
        t->reached[i] /= 2;
        t->ended[i] /= 2;
    }
}

/* It has left all spans before the one it is in, and that one too if it ends. */
static void follow(struct life_table *all, struct life_table *alike, enum axis axis,
                   int *passed, double at, bool ends)
{
    int span = span_of(axis, at);

    if (*passed == LENGTHS_RESUMED)
        *passed = span;
    for (; *passed < span; (*passed)++) {
        reach(all, *passed, false);
        reach(alike, *passed, false);
    }
    if (!ends)
        return;
    reach(all, span, true);
    reach(alike, span, true);
}

/* Is it in the span after those it has passed? */
static bool is_within(enum axis axis, int passed, double at)
{
    const struct span *span;

    if (passed == LENGTHS_RESUMED)
        return false;
    span = span_at(axis, passed);
    return at >= span->begin && at < span->end;
}

/* Has it left a span since it was last followed?  Most jobs have not, and all of them are
 * asked in each round. */
static bool moves_on(const struct job_status *status, double now_s)
{
    return !is_within(BY_AGE, status->ages_passed, age_s(status, now_s)) ||
           (told_size(&status->job) > 0 &&
            !is_within(BY_PART, status->parts_passed, part_of(status, now_s)));
}

static void tell(struct lengths *l, struct job_status *status, double now_s, bool ends)
{
    struct length_group *all = &l->all[status->job.kind == JOB_INFERENCE], *alike;

    if (isnan(status->started_s) || (!ends && !moves_on(status, now_s)))
        return;
    alike = group_of(l, &status->job);
    follow(&all->ages, &alike->ages, BY_AGE, &status->ages_passed, age_s(status, now_s),
           ends);
    if (told_size(&status->job) > 0)
        follow(&all->parts, &alike->parts, BY_PART, &status->parts_passed,
               part_of(status, now_s), ends);
}

/* When it leaves the span it is in.  A little earlier: sums are not exact. */
static double leaves_s(const struct job_status *status)
{
    double age = span_at(BY_AGE, status->ages_passed)->end,
           size = told_size(&status->job);

    if (status->job.kind == JOB_INFERENCE && size > 0)
        age = fmin(age, size * span_at(BY_PART, status->parts_passed)->end);
    return status->started_s + age - 1e-3;
}

double lengths_follow(struct lengths *l, struct job_status *status, double now_s)
{
    tell(l, status, now_s, false);
    return isnan(status->started_s) ? now_s : leaves_s(status);
}

void lengths_ended(struct lengths *l, struct job_status *status, double now_s)
{
    tell(l, status, now_s, true);
}

/* ---- asking ----------------------------------------------------------------------- */

bool lengths_known(const struct lengths *l, const struct job *job)
{
    double ended = 0;

    if (told_size(job) > 0)
        return true;
    for (int i = 0; l && i < AGE_SPANS; i++)
        ended += l->all[job->kind == JOB_INFERENCE].ages.ended[i];
    return ended >= ENDED_LEAST;
}

/* Where a job that is at `at` ends, or before, with probability `share`. */
static double end_at(const struct life_table *all, const struct life_table *alike,
                     enum axis axis, double at, double share)
{
    double reach = 1, left = 1 - share;

    for (int span = span_of(axis, at);; span++) {
        const struct span *here = span_at(axis, span);
        double begin = fmax(at, here->begin), end = here->end, part = 1, stays;
        bool as_told = axis == BY_PART && span == PART_BELOW + 1 && at < 1;

        if (isinf(end))
            return 2 * begin;
        if (begin > 0 && !as_told)
            part = fmin(1, log(end / begin) / here->log_width);
        stays = 1 - hazard(all, alike, axis, span);
        if (part < 1)
            stays = pow(stays, part);
        if (reach * stays <= left) { /* ends are spread evenly over the octave */
            double into = log(reach / left) / -log(stays);

            if (as_told)
                return 1;
            return begin > 0 ? begin * pow(end / begin, into) : end * into;
        }
        reach *= stays;
    }
}

double lengths_left_s(const struct lengths *l, const struct job_status *status,
                      double rate, double share, double now_s)
{
    double left = lengths_left(l, status, rate, share, now_s);

    return status->job.kind == JOB_TRAINING ? left / fmax(rate, 1e-9) : left;
}

double lengths_left(const struct lengths *l, const struct job_status *status, double rate,
                    double share, double now_s)
{
    const struct job *job = &status->job;
    const struct length_group *all = l ? &l->all[job->kind == JOB_INFERENCE] : NULL;
    const struct length_group *alike = l ? alike_of(l, job) : NULL;
    double size = told_size(job), at, seconds;

    if (size > 0) {
        at = part_of(status, now_s);
        return size * (end_at(all ? &all->parts : NULL, alike ? &alike->parts : NULL,
                              BY_PART, at, share) -
                       at);
    }
    at = age_s(status, now_s);
    seconds =
        end_at(all ? &all->ages : NULL, alike ? &alike->ages : NULL, BY_AGE, at, share) -
        at;
    return job->kind == JOB_TRAINING ? seconds * rate : seconds;
}

/* ---- keeping ---------------------------------------------------------------------- */

static void code_group(struct length_group *g, struct codec *c)
{
    struct life_table *tables[] = {&g->ages, &g->parts};

    codec_u64(c, &g->key);
    codec_u64(c, &g->used);
    for (int t = 0; t < 2; t++)
        for (int i = 0; i < SPANS; i++) {
            codec_at_least(c, &tables[t]->reached[i], 0);
            codec_at_least(c, &tables[t]->ended[i], 0);
        }
}

void lengths_code(struct lengths *l, struct codec *c)
{
    size_t count;

    codec_u64(c, &l->uses);
    code_group(&l->all[0], c);
    code_group(&l->all[1], c);
    count = codec_count(c, l->alike.count, GROUPS_MOST, 16 * SPANS);
    for (size_t i = 0; i < count; i++) {
        if (c->in)
            vec_push(&l->alike, (struct length_group){0});
        code_group(&l->alike.items[i], c);
        if (c->in)
            vec_push(&l->keys, l->alike.items[i].key);
    }
}
