/* test_model_asking.c - asking the learned model changes nothing, on any thread */
#include "model/learned.h"
#include "fixture/lesson.h"
#include "model/learned_private.h"
#include "model/prediction_cache.h"
#include "base/mem.h"
#include "base/rng.h"
#include "world/gpu_sheet.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define JOBS  14
#define TYPES 3

struct asked {
    struct model model;
    struct job jobs[JOBS];
    struct rng rng;
};

static struct job make_job(uint64_t id, const char *family, int batch)
{
    struct job job = {.id = id, .devices = 1};

    snprintf(job.descriptor.family, sizeof(job.descriptor.family), "%s", family);
    job.descriptor.batch = batch;
    job.descriptor.gmac_per_sample = family[0] ? 2 : 0;
    job.descriptor.params_millions = family[0] ? 20 : 0;
    return job;
}

static void absorb(struct asked *f, const struct job *a, const struct job *b, int type,
                   double rate)
{
    double demand = a->kind == JOB_INFERENCE ? rate / 2 : 0;
    struct observation seen = {
        .where = {.type = type,
                  .count = b ? 2 : 1,
                  .members = {{a, 1, demand}, {b, 1, 0}}},
        .rate = rate * exp(0.03 * rng_normal(&f->rng)),
        .device_watts = 100 + 3 * type,
        .at_s = 60,
    };

    f->model.ops->absorb(f->model.self, &seen);
}

static int setup(void **state)
{
    struct gpu_sheet sheets[TYPES] = {*gpu_find("k80"), *gpu_find("p100"),
                                      *gpu_find("v100")};
    struct asked *f = mem_new(struct asked);

    f->model = learned_create(sheets, TYPES, &(struct learned_options){.seed = 1});
    rng_init(&f->rng, 3);
    for (int j = 0; j < JOBS; j++) {
        char family[8];

        snprintf(family, sizeof(family), "f%d", j / 3);
        f->jobs[j] = make_job(100 + (uint64_t)j, j < 12 ? family : "", 8 << (j % 3));
        snprintf(f->jobs[j].name, sizeof(f->jobs[j].name), "job%d", j);
        f->jobs[j].kind = j % 4 == 1 ? JOB_INFERENCE : JOB_TRAINING;
        f->jobs[j].devices = j == 3 ? 4 : 1;
        for (int t = 0; t < TYPES; t++)
            if ((j + t) % 4 != 0) /* some cells are never measured */
                absorb(f, &f->jobs[j], NULL, t, 5.0 * (t + 1) / (1 + j));
    }
    for (int i = 0; i < 200; i++)
        absorb(f, &f->jobs[i % JOBS], &f->jobs[(i / JOBS + i + 1) % JOBS], i % TYPES,
               5.0 * (i % 3 + 1) / (1 + i % JOBS) * (0.4 + 0.05 * (i % 7)));
    fixture_lesson(f->model.self);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct asked *f = *state;

    f->model.ops->destroy(f->model.self);
    free(f);
    return 0;
}

static struct prediction ask(const struct model *m, const struct job *a,
                             const struct job *b, int type)
{
    double busy = a->kind == JOB_INFERENCE ? 0.4 : 0;
    struct combination where = {
        .type = type,
        .count = b ? 2 : 1,
        .members = {{a, a->devices > 1 ? 2 : 1, busy}, {b, 1, 0}}};
    struct prediction out = {0};

    m->ops->predict(m->self, m->cache, &where, &out);
    return out;
}

static bool near_by(double a, double b, double within)
{
    return a == b || fabs(log(a / b)) < within;
}

static void same(const struct prediction *a, const struct prediction *b, int count,
                 double within)
{
    for (int i = 0; i < count; i++) {
        assert_true(near_by(a->rate[i].value, b->rate[i].value, within));
        assert_true(near_by(a->rate[i].low, b->rate[i].low, within));
        assert_true(near_by(a->rate[i].high, b->rate[i].high, within));
        assert_int_equal(a->rate[i].source, b->rate[i].source);
        assert_int_equal(a->rate[i].observations, b->rate[i].observations);
    }
    assert_true(near_by(a->watts.value, b->watts.value, within));
    assert_true(fabs(a->fits - b->fits) < within);
}

static void ten_thousand_questions_leave_the_model_as_it_is(void **state)
{
    struct asked *f = *state;
    unsigned char *before, *after;
    size_t count, again;
    struct model reader = f->model;

    reader.cache = prediction_cache_create(PREDICTION_CACHE_ROWS);
    learned_save(f->model.self, &before, &count);
    for (int i = 0; i < 10000; i++) {
        struct job other = f->jobs[i % JOBS];
        const struct model *m = i % 5 ? &reader : &f->model;

        if (i % 3 == 0) { /* jobs, classes and families never heard of */
            other.id = 5000 + (uint64_t)i;
            other.descriptor.batch = i;
            snprintf(other.descriptor.family, sizeof(other.descriptor.family), "n%d", i);
        }
        ask(m, &other, i % 2 ? &f->jobs[(i / 7) % JOBS] : NULL, i % TYPES);
    }
    learned_save(f->model.self, &after, &again);
    assert_int_equal(count, again);
    assert_memory_equal(before, after, count);
    prediction_cache_destroy(reader.cache);
    free(before);
    free(after);
}

static void begun_and_never_begun_are_answered_alike(struct asked *f, struct job new)
{
    struct prediction guest[TYPES][JOBS + 2], begun;

    for (int t = 0; t < TYPES; t++) {
        struct job twin = new;

        twin.id = new.id + 1;
        for (int j = 0; j < JOBS; j++)
            guest[t][j] = ask(&f->model, &new, &f->jobs[j], t);
        guest[t][JOBS] = ask(&f->model, &new, NULL, t);
        guest[t][JOBS + 1] = ask(&f->model, &new, &twin, t);
    }
    f->model.ops->begin(f->model.self, &new);
    for (int t = 0; t < TYPES; t++) {
        struct job twin = new;

        twin.id = new.id + 1;
        for (int j = 0; j < JOBS; j++) {
            begun = ask(&f->model, &new, &f->jobs[j], t);
            same(&guest[t][j], &begun, 2, 1e-9);
        }
        begun = ask(&f->model, &new, NULL, t);
        same(&guest[t][JOBS], &begun, 1, 1e-9);
        f->model.ops->begin(f->model.self, &twin);
        begun = ask(&f->model, &new, &twin, t);
        same(&guest[t][JOBS + 1], &begun, 2, 1e-9);
    }
    f->model.ops->end(f->model.self, &new);
}

static void a_job_that_never_began_is_answered_as_if_it_had(void **state)
{
    struct asked *f = *state;
    struct job service = make_job(910, "f2", 64), gang = make_job(920, "f0", 128);
    struct job nameless = make_job(930, "", 0), named = make_job(940, "", 0);

    begun_and_never_begun_are_answered_alike(f, make_job(900, "f1", 8)); /* a class */
    begun_and_never_begun_are_answered_alike(f, make_job(902, "f1", 512));
    begun_and_never_begun_are_answered_alike(f, make_job(904, "unheard", 32));
    service.kind = JOB_INFERENCE;
    service.need.latency_s = 3;
    begun_and_never_begun_are_answered_alike(f, service);
    gang.devices = 8;
    begun_and_never_begun_are_answered_alike(f, gang);
    begun_and_never_begun_are_answered_alike(f, nameless);
    snprintf(named.name, sizeof(named.name), "train.sh");
    named.memory_gb = 11;
    begun_and_never_begun_are_answered_alike(f, named);
}

static void two_new_families_are_not_one(void **state)
{
    struct asked *f = *state;
    struct job a = make_job(900, "left", 32), b = make_job(901, "right", 32), c = b;
    struct prediction guests, kin, begun;

    guests = ask(&f->model, &a, &b, 1);
    c.descriptor.batch = 64; /* another class of the second family */
    kin = ask(&f->model, &b, &c, 1);
    f->model.ops->begin(f->model.self, &a);
    f->model.ops->begin(f->model.self, &b);
    c.id = 902;
    f->model.ops->begin(f->model.self, &c);
    begun = ask(&f->model, &a, &b, 1);
    same(&guests, &begun, 2, 1e-9);
    begun = ask(&f->model, &b, &c, 1);
    same(&kin, &begun, 2, 1e-9);
}

/* A reader that keeps answers is near what is believed now, and exact where it matters.
 */
static void a_cache_follows_what_is_absorbed(void **state)
{
    struct asked *f = *state;
    struct model reader = f->model;
    struct prediction kept, now;

    reader.cache = prediction_cache_create(PREDICTION_CACHE_ROWS);
    for (int round = 0; round < 3; round++) {
        for (int j = 0; j < JOBS; j++)
            for (int t = 0; t < TYPES; t++) {
                kept = ask(&reader, &f->jobs[j], &f->jobs[(j + 1) % JOBS], t);
                now = ask(&f->model, &f->jobs[j], &f->jobs[(j + 1) % JOBS], t);
                same(&kept, &now, 2, round ? 0.3 : 1e-6);
            }
        for (int i = 0; i < 5; i++)
            absorb(f, &f->jobs[2], NULL, 1, 9); /* much faster than it was */
        kept = ask(&reader, &f->jobs[2], NULL, 1);
        now = ask(&f->model, &f->jobs[2], NULL, 1);
        same(&kept, &now, 1, 1e-9);
    }
    fixture_lesson(f->model.self);
    kept = ask(&reader, &f->jobs[0], &f->jobs[7], 1);
    now = ask(&f->model, &f->jobs[0], &f->jobs[7], 1);
    same(&kept, &now, 2, 0.02);
    prediction_cache_destroy(reader.cache);
}

/* What a cache says of the first kinds beside one another. */
#define KINDS 6

static void ask_rows(struct prediction_cache *cache, const struct asked *f, double *out)
{
    const struct learned *l = f->model.self;

    prediction_cache_sync(cache, l->classes, l->generation);
    for (int j = 0; j < KINDS; j++)
        for (int k = 0; k < KINDS; k++)
            out[j * KINDS + k] = prediction_cache_beside(cache, j, 1, k).mean;
}

static double apart(const double *a, const double *b)
{
    double most = 0;

    for (int i = 0; i < KINDS * KINDS; i++)
        most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

/* Who may make nothing again is answered as before; who may make a little comes to where
 * everybody is, a little at a time. */
static void a_cache_makes_again_as_much_as_it_may(void **state)
{
    struct asked *f = *state;
    struct prediction_cache *cache = prediction_cache_create(PREDICTION_CACHE_ROWS);
    struct prediction_cache *other = prediction_cache_create(PREDICTION_CACHE_ROWS);
    double held[KINDS * KINDS], now[KINDS * KINDS];

    ask_rows(cache, f, held);
    ask_rows(other, f, now);
    prediction_cache_allow(cache, 0);
    /* All of them get in each other's way, and two windows say so. */
    for (int i = 0; i < 2 * JOBS; i++)
        absorb(f, &f->jobs[i % JOBS], &f->jobs[(i + 5) % JOBS], 1, 0.5);
    fixture_lesson(f->model.self);
    ask_rows(cache, f, held);
    ask_rows(other, f, now);
    assert_true(apart(held, now) > 0.05);
    for (int turn = 0; turn < 200 * JOBS; turn++) {
        prediction_cache_allow(cache, 1);
        ask_rows(cache, f, held);
    }
    assert_true(apart(held, now) < 1e-3);
    prediction_cache_destroy(cache);
    prediction_cache_destroy(other);
}

/* A job that ended and came again under its number has nothing of its former factors. */
static void a_cache_does_not_mix_up_a_job_that_came_again(void **state)
{
    struct asked *f = *state;
    struct model reader = f->model;
    struct job job = make_job(700, "f1", 16);
    struct prediction kept, now;

    reader.cache = prediction_cache_create(PREDICTION_CACHE_ROWS);
    for (int i = 0; i < 8; i++)
        absorb(f, &job, NULL, 0, 40);
    ask(&reader, &job, NULL, 2);
    f->model.ops->end(f->model.self, &job);
    f->model.ops->begin(f->model.self, &job);
    for (int i = 0; i < 8; i++)
        absorb(f, &job, NULL, 0, 4);
    kept = ask(&reader, &job, NULL, 2);
    now = ask(&f->model, &job, NULL, 2);
    same(&kept, &now, 1, 0.02);
    prediction_cache_destroy(reader.cache);
}

struct asking {
    const struct asked *f;
    struct prediction out[TYPES][JOBS];
};

static void *ask_all(void *ctx)
{
    struct asking *a = ctx;
    struct model reader = a->f->model;
    struct job new = make_job(999, "new", 16);

    reader.cache = prediction_cache_create(PREDICTION_CACHE_ROWS);
    for (int t = 0; t < TYPES; t++)
        for (int j = 0; j < JOBS; j++) {
            ask(&a->f->model, &new, &a->f->jobs[j], t); /* without a cache as well */
            a->out[t][j] = ask(&reader, &a->f->jobs[j], &a->f->jobs[(j + 2) % JOBS], t);
        }
    prediction_cache_destroy(reader.cache);
    return NULL;
}

/* Under TSan: readers share the model and nothing else. */
static void threads_may_ask_at_the_same_time(void **state)
{
    struct asking *asking = mem_array(struct asking, 2);
    pthread_t threads[2];

    for (int i = 0; i < 2; i++) {
        asking[i].f = *state;
        assert_int_equal(pthread_create(&threads[i], NULL, ask_all, &asking[i]), 0);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_memory_equal(asking[0].out, asking[1].out, sizeof(asking[0].out));
    free(asking);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(ten_thousand_questions_leave_the_model_as_it_is),
        CASE(a_job_that_never_began_is_answered_as_if_it_had),
        CASE(two_new_families_are_not_one),
        CASE(a_cache_follows_what_is_absorbed),
        CASE(a_cache_makes_again_as_much_as_it_may),
        CASE(a_cache_does_not_mix_up_a_job_that_came_again),
        CASE(threads_may_ask_at_the_same_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
