/* test_model_checkpoint.c - what the learned model knows as bytes, and on a worker */
#include "model/learned.h"
#include "fixture/lesson.h"
#include "model/learned_private.h"
#include "nn/weights.h"
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

#define JOBS 12

struct fixture {
    struct model model;
    struct job jobs[JOBS];
    struct rng rng;
};

static struct model create(int types)
{
    struct gpu_sheet sheets[3] = {*gpu_find("k80"), *gpu_find("p100"), *gpu_find("v100")};

    return learned_create(sheets, types, &(struct learned_options){.seed = 1});
}

static void absorb(struct fixture *f, const struct job *a, const struct job *b, int type,
                   double rate)
{
    struct observation seen = {
        .where = {.type = type, .count = b ? 2 : 1, .members = {{a, 1}, {b, 1}}},
        .rate = rate * exp(0.03 * rng_normal(&f->rng)),
        .rate_sd_log = 0.03,
        .device_watts = 100 + 3 * type,
        .at_s = 60,
    };

    f->model.ops->absorb(f->model.self, &seen);
}

static void fill(struct fixture *f)
{
    rng_init(&f->rng, 5);
    for (int j = 0; j < JOBS; j++) {
        struct job *job = &f->jobs[j];

        *job = (struct job){.id = 100 + (uint64_t)j, .devices = j == 3 ? 4 : 1};
        job->kind = j % 4 == 1 ? JOB_INFERENCE : JOB_TRAINING;
        snprintf(job->descriptor.family, sizeof(job->descriptor.family), "f%d", j / 3);
        job->descriptor.batch = 8 << (j % 3);
        job->descriptor.gmac_per_sample = 1 + j;
        job->descriptor.params_millions = 10 + j;
        for (int t = 0; t < 3; t++)
            absorb(f, job, NULL, t, 5.0 * (t + 1) / (1 + j));
    }
    for (int i = 0; i < 160; i++)
        absorb(f, &f->jobs[i % JOBS], &f->jobs[(i / JOBS + i + 1) % JOBS], i % 3,
               5.0 * (i % 3 + 1) / (1 + i % JOBS) * (0.4 + 0.05 * (i % 7)));
    f->model.ops->absorb(
        f->model.self,
        &(struct observation){.where = {.type = 0,
                                        .count = 2,
                                        .members = {{&f->jobs[0], 1}, {&f->jobs[5], 1}}},
                              .out_of_memory = true});
}

static int setup(void **state)
{
    struct fixture *f = mem_new(struct fixture);

    f->model = create(3);
    fill(f);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    f->model.ops->destroy(f->model.self);
    free(f);
    return 0;
}

static struct prediction ask(struct model *m, const struct job *a, const struct job *b,
                             int type)
{
    struct combination where = {
        .type = type, .count = b ? 2 : 1, .members = {{a, 1}, {b, 1}}};
    struct prediction out = {0};

    m->ops->predict(m->self, NULL, &where, &out);
    return out;
}

static void same(const struct estimate *a, const struct estimate *b)
{
    assert_float_equal(a->value / b->value, 1, 1e-6);
    assert_float_equal(a->low / b->low, 1, 1e-6);
    assert_float_equal(a->high / b->high, 1, 1e-6);
    assert_int_equal(a->source, b->source);
}

/* Answers kept from before may be older than those made anew: ask twice as fresh. */
static void compare(struct fixture *f, struct model *other)
{
    struct job new = f->jobs[2];

    new.id = 999;
    for (int t = 0; t < 3; t++) {
        struct prediction a = ask(&f->model, &new, NULL, t),
                          b = ask(other, &new, NULL, t);

        same(&a.rate[0], &b.rate[0]);
        same(&a.watts, &b.watts);
        for (int j = 0; j + 1 < JOBS; j++) {
            a = ask(&f->model, &f->jobs[j], &f->jobs[j + 1], t);
            b = ask(other, &f->jobs[j], &f->jobs[j + 1], t);
            same(&a.rate[0], &b.rate[0]);
            same(&a.rate[1], &b.rate[1]);
            same(&a.watts, &b.watts);
            assert_float_equal(a.fits, b.fits, 1e-9);
        }
    }
    assert_true(ask(other, &f->jobs[0], &f->jobs[5], 0).fits < 0.01);
}

static void a_model_read_back_answers_as_before(void **state)
{
    struct fixture *f = *state;
    struct model other = create(3);
    unsigned char *bytes, *again;
    size_t count, more;

    fixture_lesson(f->model.self); /* networks, trees and widths of its own */
    learned_save(f->model.self, &bytes, &count);
    assert_int_equal(learned_load(other.self, bytes, count, NULL), 0);
    learned_save(other.self, &again, &more);
    compare(f, &other);
    assert_int_equal(count, more);
    assert_memory_equal(bytes, again, count);
    assert_int_equal(((struct learned *)other.self)->counts.pairs,
                     ((struct learned *)f->model.self)->counts.pairs);
    absorb(f, &f->jobs[0], NULL, 1, 3); /* and both go on */
    free(bytes);
    free(again);
    other.ops->destroy(other.self);
}

/* Described jobs and not, services and gangs, more cells than the core of rates holds. */
static struct job one_of_many(int i)
{
    struct job job = {.id = 1000 + (uint64_t)i,
                      .devices = i % 11 == 5 ? 4 : 1,
                      .owner = i % 3,
                      .kind = i % 5 == 2 ? JOB_INFERENCE : JOB_TRAINING};

    job.descriptor.batch = 8 << (i % 6);
    if (i % 4 != 3) {
        snprintf(job.descriptor.family, sizeof(job.descriptor.family), "m%d", i / 6);
        job.descriptor.gmac_per_sample = 1 + i % 7;
        job.descriptor.params_millions = 5 + i % 40;
    }
    snprintf(job.name, sizeof(job.name), "train%d.sh", i % 50);
    return job;
}

static void see_many(struct fixture *f, int i, int other, int type)
{
    struct job a = one_of_many(i), b = one_of_many(other);
    double rate =
        (type + 1.5) * (3 + i % 13) / 3.0 * (other == i ? 1 : 0.45 + i % 5 * 0.1);
    struct observation seen = {
        .where = {.type = type,
                  .count = other == i ? 1 : 2,
                  .members = {{&a, 1, a.kind == JOB_INFERENCE ? rate / 2 : 0},
                              {&b, 1, b.kind == JOB_INFERENCE ? 2 : 0}}},
        .rate = rate * exp(0.05 * rng_normal(&f->rng)),
        .device_watts = other == i ? 90 + i % 60 : NAN,
        .at_s = 100 + 7 * i + type,
    };

    f->model.ops->absorb(f->model.self, &seen);
}

static void a_restart_changes_no_belief(void **state)
{
    enum { MANY = 180 }; /* 540 cells alone, more than the core holds */
    struct fixture *f = *state;
    struct model other = create(3);
    unsigned char *bytes;
    size_t count;

    for (int i = 0; i < 4 * MANY; i++) {
        int j = i % MANY;

        see_many(f, j, j, i % 3);
        see_many(f, j, (j * 7 + i / MANY + 1) % MANY, (i + 1) % 3);
        if (i == 2 * MANY)
            fixture_lesson(f->model.self);
    }
    learned_save(f->model.self, &bytes, &count);
    assert_int_equal(learned_load(other.self, bytes, count, NULL), 0);
    for (int i = 0; i < MANY; i += 3)
        for (int t = 0; t < 3; t++) {
            struct job a = one_of_many(i), b = one_of_many((i + 3) % MANY);
            struct prediction before = ask(&f->model, &a, NULL, t),
                              after = ask(&other, &a, NULL, t);

            same(&before.rate[0], &after.rate[0]);
            same(&before.watts, &after.watts);
            before = ask(&f->model, &a, &b, t);
            after = ask(&other, &a, &b, t);
            same(&before.rate[0], &after.rate[0]);
            same(&before.rate[1], &after.rate[1]);
        }
    free(bytes);
    other.ops->destroy(other.self);
}

static void an_empty_model_can_be_saved(void **state)
{
    struct model a = create(3), b = create(3);
    unsigned char *bytes;
    size_t count;

    (void)state;
    learned_save(a.self, &bytes, &count);
    assert_int_equal(learned_load(b.self, bytes, count, NULL), 0);
    free(bytes);
    a.ops->destroy(a.self);
    b.ops->destroy(b.self);
}

static void cut_or_altered_bytes_change_nothing(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};
    unsigned char *bytes;
    size_t count;
    double before = ask(&f->model, &f->jobs[0], NULL, 1).rate[0].value;

    learned_save(f->model.self, &bytes, &count);
    for (size_t cut = 0; cut < count; cut += 1 + cut / 7)
        assert_int_equal(learned_load(f->model.self, bytes, cut, &err), -1);
    assert_true(strlen(err.text) > 0);
    for (size_t at = 0; at < count; at += 1 + at / 7) {
        bytes[at] ^= 0x10;
        assert_int_equal(learned_load(f->model.self, bytes, count, &err), -1);
        bytes[at] ^= 0x10;
    }
    assert_true(ask(&f->model, &f->jobs[0], NULL, 1).rate[0].value == before);
    free(bytes);
}

/* A checksum that fits does not make sense of nonsense: no crash, no half a model. */
static void nonsense_with_a_good_checksum_is_survived(void **state)
{
    struct fixture *f = *state;
    unsigned char *bytes;
    size_t count;

    learned_save(f->model.self, &bytes, &count);
    for (int i = 0; i < 300; i++) {
        size_t at = 24 + rng_below(&f->rng, count - 32);
        unsigned char kept = bytes[at];
        struct model other = create(3);
        uint32_t crc;

        bytes[at] = (unsigned char)rng_below(&f->rng, 256);
        crc = weights_crc(bytes, count - 8);
        for (int k = 0; k < 8; k++)
            bytes[count - 8 + (size_t)k] = (unsigned char)(k < 4 ? crc >> (8 * k) : 0);
        learned_load(other.self, bytes, count, NULL);
        ask(&other, &f->jobs[0], &f->jobs[1], 0);
        other.ops->destroy(other.self);
        bytes[at] = kept;
    }
    free(bytes);
}

static void another_cluster_is_refused(void **state)
{
    struct fixture *f = *state;
    struct model other = create(2);
    struct err err = {0};
    unsigned char *bytes;
    size_t count;

    learned_save(f->model.self, &bytes, &count);
    assert_int_equal(learned_load(other.self, bytes, count, &err), -1);
    assert_int_equal(err.code, ERR_INVALID);
    free(bytes);
    other.ops->destroy(other.self);
}

static void *study(void *lesson)
{
    learned_lesson_study(lesson);
    return NULL;
}

/* Run under TSan: the worker shares nothing with the loop's thread. */
static void a_lesson_is_studied_while_the_loop_goes_on(void **state)
{
    struct fixture *f = *state;
    struct learned_lesson *lesson;
    struct job late = f->jobs[0];
    pthread_t worker;

    lesson = learned_lesson_create(f->model.self, 0);
    assert_int_equal(pthread_create(&worker, NULL, study, lesson), 0);
    late.id = 500;
    late.descriptor.batch = 999; /* a class the lesson knows nothing of */
    for (int i = 0; i < 40; i++) {
        absorb(f, &f->jobs[i % JOBS], &f->jobs[(i * 5 + 1) % JOBS], i % 3, 2);
        absorb(f, &late, &f->jobs[i % JOBS], i % 3, 1);
        ask(&f->model, &f->jobs[i % JOBS], &late, i % 3);
    }
    pthread_join(worker, NULL);
    learned_lesson_take(f->model.self, lesson);
    for (int j = 0; j + 1 < JOBS; j++) {
        struct prediction p = ask(&f->model, &f->jobs[j], &f->jobs[j + 1], j % 3);

        assert_true(isfinite(p.rate[0].value) && p.rate[0].value > 0);
    }
}

static void a_lesson_gives_what_adapting_in_place_gives(void **state)
{
    struct fixture *f = *state;
    struct learned_lesson *lesson;
    struct model other = create(3);
    struct prediction p, q;
    unsigned char *bytes;
    size_t count;

    learned_save(f->model.self, &bytes, &count);
    /* Both from bytes: answers that were kept are gone in both. */
    assert_int_equal(learned_load(other.self, bytes, count, NULL), 0);
    assert_int_equal(learned_load(f->model.self, bytes, count, NULL), 0);
    lesson = learned_lesson_create(f->model.self, 0);
    absorb(f, &f->jobs[0], &f->jobs[2], 0, 1.5); /* meanwhile, and it counts */
    learned_lesson_study(lesson);
    learned_lesson_take(f->model.self, lesson);
    fixture_lesson(other.self);
    p = ask(&f->model, &f->jobs[0], &f->jobs[2], 0);
    assert_int_equal(p.rate[0].source, ESTIMATE_MEASURED);
    for (int j = 3; j + 1 < JOBS; j++) {
        p = ask(&f->model, &f->jobs[j], &f->jobs[j + 1], 1);
        q = ask(&other, &f->jobs[j], &f->jobs[j + 1], 1);
        assert_float_equal(p.rate[0].value / q.rate[0].value, 1, 0.1);
    }
    learned_lesson_destroy(learned_lesson_create(other.self, 0));
    free(bytes);
    other.ops->destroy(other.self);
}

/* `learning.model` was changed: all is known but what the other networks had learned. */
static void another_architecture_takes_over_what_was_measured(void **state)
{
    struct fixture *f = *state;
    struct gpu_sheet sheets[3] = {*gpu_find("k80"), *gpu_find("p100"), *gpu_find("v100")};
    struct model other = learned_create(
        sheets, 3, &(struct learned_options){.seed = 1, .networks = NETWORKS_GRU});
    const struct learned *l = other.self;
    struct prediction p = ask(&f->model, &f->jobs[1], NULL, 2), q;
    unsigned char *bytes;
    size_t count;

    learned_save(f->model.self, &bytes, &count);
    assert_int_equal(learned_load(other.self, bytes, count, NULL), 0);
    q = ask(&other, &f->jobs[1], NULL, 2);
    same(&p.rate[0], &q.rate[0]);
    assert_int_equal(l->classes->pairs->p1->alike.kind, SET_READER_GRU);
    assert_int_equal(l->classes->pairs->p2->alike.kind, SET_READER_GRU);
    q = ask(&other, &f->jobs[1], &f->jobs[4], 2);
    assert_true(isfinite(q.rate[0].value) && q.rate[0].value > 0);
    free(bytes);
    fixture_lesson(other.self);
    learned_save(other.self, &bytes, &count);
    assert_int_equal(learned_load(other.self, bytes, count, NULL), 0);
    free(bytes);
    other.ops->destroy(other.self);
}

/* Thousands of kinds of jobs: memory stays bounded, and those that are here are known. */
static void classes_nobody_uses_are_forgotten(void **state)
{
    struct fixture *f = *state;
    struct prediction kept, p;
    unsigned char *bytes;
    size_t count;

    absorb(f, &f->jobs[2], NULL, 1, 3);
    kept = ask(&f->model, &f->jobs[2], NULL, 1);

    for (int i = 0; i < 3 * LEARNED_CLASSES; i++) {
        struct job job = {.id = 10000 + (uint64_t)i, .devices = 1};
        struct observation seen = {
            .where = {.type = i % 3, .count = 1}, .rate = 1 + i % 5, .device_watts = NAN};

        seen.where.members[0] = (struct member){&job, 1, 0};
        f->model.ops->begin(f->model.self, &job);
        if (i % 8 == 0)
            f->model.ops->absorb(f->model.self, &seen);
        f->model.ops->end(f->model.self, &job);
    }
    p = ask(&f->model, &f->jobs[2], NULL, 1);
    assert_float_equal(p.rate[0].value / kept.rate[0].value, 1, 1e-9);
    assert_int_equal(p.rate[0].source, ESTIMATE_MEASURED);
    assert_true(ask(&f->model, &f->jobs[0], &f->jobs[5], 0).fits < 0.01);
    learned_save(f->model.self, &bytes, &count);
    assert_true(count < 2000000);
    free(bytes);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_model_read_back_answers_as_before),
        CASE(a_restart_changes_no_belief),
        cmocka_unit_test(an_empty_model_can_be_saved),
        CASE(cut_or_altered_bytes_change_nothing),
        CASE(nonsense_with_a_good_checksum_is_survived),
        CASE(another_cluster_is_refused),
        CASE(a_lesson_is_studied_while_the_loop_goes_on),
        CASE(a_lesson_gives_what_adapting_in_place_gives),
        CASE(another_architecture_takes_over_what_was_measured),
        CASE(classes_nobody_uses_are_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
