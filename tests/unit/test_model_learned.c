/* test_model_learned.c - the learned model as the loop uses it */
#include "model/learned_private.h"
#include "fixture/lesson.h"
#include "world/gpu_sheet.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct model create(void)
{
    struct gpu_sheet types[3] = {*gpu_find("k80"), *gpu_find("p100"), *gpu_find("v100")};

    return learned_create(types, 3, &(struct learned_options){.seed = 1});
}

static void destroy(struct model *model)
{
    model->ops->destroy(model->self);
}

static struct job make_job(uint64_t id, const char *family, int batch)
{
    struct job job = {.id = id, .devices = 1};

    strcpy(job.descriptor.family, family);
    job.descriptor.batch = batch;
    job.descriptor.gmac_per_sample = 2;
    job.descriptor.params_millions = 20;
    job.descriptor.memory_mb_per_sample = 20;
    return job;
}

static struct observation seen_alone(const struct job *job, int type, double rate)
{
    return (struct observation){
        .where = {.type = type, .count = 1, .members = {{job, 1}}},
        .rate = rate,
        .device_watts = NAN,
    };
}

static struct prediction ask(struct model *m, int type, const struct job *a,
                             const struct job *b)
{
    struct combination where = {
        .type = type, .count = b ? 2 : 1, .members = {{a, 1}, {b, 1}}};
    struct prediction out;

    m->ops->predict(m->self, NULL, &where, &out);
    return out;
}

static void sane(const struct estimate *e)
{
    assert_true(isfinite(e->value) && e->value > 0);
    assert_true(e->low <= e->value && e->value <= e->high && e->low > 0);
}

static void knows_something_before_anything_is_measured(void **state)
{
    struct model m = create();
    struct job job = make_job(1, "net", 32);
    struct prediction slow, fast;

    (void)state;
    m.ops->begin(m.self, &job);
    slow = ask(&m, 0, &job, NULL);
    fast = ask(&m, 2, &job, NULL);
    sane(&slow.rate[0]);
    sane(&slow.watts);
    assert_int_equal(slow.rate[0].source, ESTIMATE_INITIAL);
    assert_true(fast.rate[0].value > slow.rate[0].value);
    assert_true(slow.rate[0].high > 3 * slow.rate[0].low); /* and says how little */
    destroy(&m);
}

static void a_measured_cell_is_answered_with_the_measurement(void **state)
{
    struct model m = create();
    struct job job = make_job(1, "net", 32);
    struct observation seen = seen_alone(&job, 1, 12.5);
    struct prediction p;

    (void)state;
    m.ops->begin(m.self, &job);
    m.ops->absorb(m.self, &seen);
    p = ask(&m, 1, &job, NULL);
    assert_int_equal(p.rate[0].source, ESTIMATE_MEASURED);
    assert_true(fabs(p.rate[0].value - 12.5) < 0.1);
    p = ask(&m, 2, &job, NULL);
    assert_int_equal(p.rate[0].source, ESTIMATE_CORRELATED);
    assert_true(p.rate[0].value > 12.5 && p.rate[0].value < 40);
    destroy(&m);
}

static void the_next_job_of_a_kind_starts_from_what_the_last_taught(void **state)
{
    struct model m = create();
    struct job first = make_job(1, "net", 32), next = make_job(2, "net", 32);
    struct observation seen = seen_alone(&first, 1, 12.5);

    (void)state;
    m.ops->begin(m.self, &first);
    m.ops->absorb(m.self, &seen);
    m.ops->end(m.self, &first);
    m.ops->begin(m.self, &next);
    /* Its median is a little above: first windows are, see calibration.h. */
    assert_true(fabs(ask(&m, 1, &next, NULL).rate[0].value - 12.5) < 0.6);
    destroy(&m);
}

static void a_slow_neighbour_is_learned_and_believed_on_other_types(void **state)
{
    struct model m = create();
    struct job a = make_job(1, "net", 32), b = make_job(2, "hog", 64);
    double before[3], after;

    (void)state;
    for (int t = 0; t < 3; t++) {
        struct observation alone = seen_alone(&a, t, 10);

        m.ops->absorb(m.self, &alone);
        before[t] = ask(&m, t, &a, &b).rate[0].value;
    }
    for (int t = 0; t < 2; t++) {
        struct observation seen = {
            .where = {.type = t, .count = 2, .members = {{&a, 1}, {&b, 1}}},
            .rate = 2.5,
            .device_watts = NAN};

        m.ops->absorb(m.self, &seen);
    }
    assert_true(fabs(ask(&m, 0, &a, &b).rate[0].value - 2.5) < 0.3);
    after = ask(&m, 2, &a, &b).rate[0].value;
    assert_true(after < 0.85 * before[2]); /* never tried there */
    destroy(&m);
}

/* P1 alone: what was measured is known, nothing is concluded for other places. */
static void first_estimates_alone_keep_to_what_was_measured(void **state)
{
    struct gpu_sheet types[2] = {*gpu_find("k80"), *gpu_find("v100")};
    struct model m = learned_create(
        types, 2, &(struct learned_options){.seed = 1, .initial_only = true});
    struct job a = make_job(1, "net", 32), b = make_job(2, "hog", 64);
    double before;

    (void)state;
    for (int t = 0; t < 2; t++) {
        struct observation alone = seen_alone(&a, t, 10);

        m.ops->absorb(m.self, &alone);
    }
    assert_true(fabs(ask(&m, 0, &a, NULL).rate[0].value - 10) < 0.1);
    before = ask(&m, 1, &a, &b).rate[0].value;
    m.ops->absorb(m.self, &(struct observation){
                              .where = {.count = 2, .members = {{&a, 1}, {&b, 1}}},
                              .rate = 2.5,
                              .device_watts = NAN});
    assert_true(fabs(ask(&m, 0, &a, &b).rate[0].value - 2.5) < 0.2);
    /* The GPU's mean and b's column moved a little; the job's own row says nothing. */
    assert_true(ask(&m, 1, &a, &b).rate[0].value > 0.75 * before);
    destroy(&m);
}

static void first_estimates_alone_know_the_catalogue(void **state)
{
    struct gpu_sheet types[2] = {*gpu_find("k80"), *gpu_find("v100")};
    struct model m = learned_create(
        types, 2, &(struct learned_options){.seed = 1, .initial_only = true});
    struct job first = make_job(1, "net", 32), next = make_job(2, "net", 64);

    (void)state;
    for (int t = 0; t < 2; t++) {
        struct observation alone = seen_alone(&first, t, 0.01 * (t + 1));

        /* So slow that nobody believes it before it is said twice. */
        m.ops->absorb(m.self, &alone);
        m.ops->absorb(m.self, &alone);
    }
    /* A sibling with twice the batch: no faster a step, no slower than half. */
    assert_true(ask(&m, 1, &next, NULL).rate[0].value < 0.021);
    assert_true(ask(&m, 1, &next, NULL).rate[0].value > 0.008);
    destroy(&m);
}

static void a_combination_out_of_memory_is_not_proposed_again(void **state)
{
    struct model m = create();
    struct job a = make_job(1, "net", 32), b = make_job(2, "other", 64);
    struct observation seen = {
        .where = {.type = 0, .count = 2, .members = {{&b, 1}, {&a, 1}}},
        .out_of_memory = true};

    (void)state;
    assert_true(ask(&m, 0, &a, &b).fits > 0.5);
    m.ops->absorb(m.self, &seen);
    assert_true(ask(&m, 0, &a, &b).fits < 0.01);
    assert_true(ask(&m, 0, &b, &a).fits < 0.01);
    destroy(&m);
}

static void a_sudden_change_is_learned_within_a_few_samples(void **state)
{
    struct model m = create();
    struct job job = make_job(1, "net", 32);
    struct observation fast = seen_alone(&job, 1, 10), slow = seen_alone(&job, 1, 6);

    (void)state;
    for (int i = 0; i < 10; i++)
        m.ops->absorb(m.self, &fast);
    m.ops->absorb(m.self, &slow);
    assert_true(ask(&m, 1, &job, NULL).rate[0].value > 9); /* one odd window */
    m.ops->absorb(m.self, &slow);
    assert_true(fabs(ask(&m, 1, &job, NULL).rate[0].value - 6) < 0.2);
    assert_int_equal(((struct learned *)m.self)->counts.changes, 1);
    destroy(&m);
}

static void devices_and_caps_count(void **state)
{
    struct model m = create();
    struct job one = make_job(1, "net", 32), four = make_job(2, "net", 32);
    struct combination where = {.type = 2, .count = 1, .members = {{&four, 1}}};
    struct prediction near_by, spread, capped;

    (void)state;
    four.devices = 4;
    m.ops->predict(m.self, NULL, &where, &near_by);
    where.members[0].nodes = 4;
    m.ops->predict(m.self, NULL, &where, &spread);
    assert_true(near_by.rate[0].value > 2 * ask(&m, 2, &one, NULL).rate[0].value);
    assert_true(spread.rate[0].value < near_by.rate[0].value);
    where.cap_watts = 100;
    m.ops->predict(m.self, NULL, &where, &capped);
    assert_true(capped.watts.value <= 100.001);
    assert_true(capped.rate[0].value <= spread.rate[0].value);
    destroy(&m);
}

/* What is measured under a cap is what is expected under it next time. */
static void a_pair_measured_under_a_cap_is_answered_with_the_measurement(void **state)
{
    struct model m = create();
    struct job a = make_job(1, "net", 32), b = make_job(2, "other", 64);
    struct observation seen = {
        .where = {.type = 2, .count = 2, .cap_watts = 120, .members = {{&a, 1}, {&b, 1}}},
        .rate = 4,
        .device_watts = NAN};
    struct prediction p;

    (void)state;
    for (int t = 0; t < 3; t++) {
        struct observation alone = seen_alone(&a, t, 10);

        alone.device_watts = 200;
        m.ops->absorb(m.self, &alone);
        alone = seen_alone(&b, t, 10);
        alone.device_watts = 200;
        m.ops->absorb(m.self, &alone);
    }
    /* Whatever the neighbour tells of itself, and whatever a cap would take then. */
    for (int i = 0; i < 15; i++) {
        struct observation other = seen;

        m.ops->absorb(m.self, &seen);
        other.subject = 1;
        other.rate = i % 2 ? 1e6 : 1e-6;
        m.ops->absorb(m.self, &other);
        m.ops->predict(m.self, NULL, &seen.where, &p);
        assert_true(fabs(log(p.rate[0].value / 4)) < 0.001);
    }
    destroy(&m);
}

/* What a pair is told to teach depends on how well the rate alone is known, and that can
 * get worse: relative speeds and rates must not be mixed up then. */
static void a_rate_alone_that_becomes_doubtful_stays_sane(void **state)
{
    struct model m = create();
    struct job a = make_job(1, "net", 32), b = make_job(2, "other", 64);
    struct observation alone = seen_alone(&a, 0, 10);
    struct observation beside = {
        .where = {.type = 2, .count = 2, .members = {{&a, 1}, {&b, 1}}},
        .rate = 12,
        .device_watts = NAN};

    (void)state;
    m.ops->absorb(m.self, &alone);
    alone = seen_alone(&a, 1, 18);
    m.ops->absorb(m.self, &alone);
    m.ops->absorb(m.self, &beside);
    for (int i = 0; i < 40; i++) { /* jobs told alike turn out to differ */
        struct job odd = make_job((uint64_t)(10 + i), "odd", 32);
        struct observation seen = seen_alone(&odd, 1, i % 2 ? 3000 : 10);

        m.ops->absorb(m.self, &seen);
    }
    for (int i = 0; i < 6; i++)
        m.ops->absorb(m.self, &beside);
    assert_true(ask(&m, 2, &a, NULL).rate[0].value > 11);
    assert_true(ask(&m, 2, &a, NULL).rate[0].value < 100);
    destroy(&m);
}

static void nonsense_measurements_change_nothing(void **state)
{
    struct model m = create();
    struct job job = make_job(1, "net", 32);
    const double rates[] = {NAN, INFINITY, -1, 0};
    double before;

    (void)state;
    m.ops->begin(m.self, &job);
    before = ask(&m, 1, &job, NULL).rate[0].value;
    for (int i = 0; i < 4; i++) {
        struct observation seen = seen_alone(&job, 1, rates[i]);

        m.ops->absorb(m.self, &seen);
    }
    assert_true(ask(&m, 1, &job, NULL).rate[0].value == before);
    destroy(&m);
}

static void jobs_nobody_described_work(void **state)
{
    struct model m = create();
    struct job a = {.id = 1, .devices = 1}, b = {.id = 2, .devices = 1};
    struct observation seen = seen_alone(&a, 0, 3);
    struct prediction p;

    (void)state;
    m.ops->absorb(m.self, &seen);
    p = ask(&m, 0, &a, &b);
    sane(&p.rate[0]);
    sane(&p.rate[1]);
    assert_true(p.rate[0].value < 3);
    assert_true(p.fits > 0 && p.fits < 1);
    destroy(&m);
}

static void adapting_after_many_pairs_keeps_predictions_sane(void **state)
{
    struct model m = create();
    struct job jobs[10];

    (void)state;
    for (int j = 0; j < 10; j++)
        jobs[j] = make_job((uint64_t)j, j % 2 ? "x" : "y", 8 << (j / 2));
    for (int j = 0; j < 10; j++)
        for (int t = 0; t < 3; t++) {
            struct observation alone = seen_alone(&jobs[j], t, 10.0 / (j + 1));

            m.ops->absorb(m.self, &alone);
        }
    for (int i = 0; i < 150; i++) {
        const struct job *a = &jobs[i % 10], *b = &jobs[(i / 10 + i) % 10];
        struct observation seen = {
            .where = {.type = i % 3, .count = 2, .members = {{a, 1}, {b, 1}}},
            .rate = 10.0 / (i % 10 + 1) * (0.4 + 0.02 * (i % 7)),
            .device_watts = NAN};

        m.ops->absorb(m.self, &seen);
    }
    fixture_lesson(m.self);
    for (int j = 0; j < 10; j++) {
        struct prediction p = ask(&m, j % 3, &jobs[j], &jobs[(j + 3) % 10]);

        sane(&p.rate[0]);
        sane(&p.rate[1]);
    }
    destroy(&m);
}

static struct observation seen_gang(const struct job *job, int nodes, double rate)
{
    struct observation seen = seen_alone(job, 1, rate);

    seen.where.members[0].nodes = nodes;
    return seen;
}

static double ask_gang(struct model *m, const struct job *job, int type, int nodes)
{
    struct combination where = {.type = type, .count = 1, .members = {{job, nodes}}};
    struct prediction out;

    m->ops->predict(m->self, NULL, &where, &out);
    sane(&out.rate[0]);
    return out.rate[0].value;
}

static void measured_gangs_correct_other_sizes_and_types(void **state)
{
    struct model m = create();
    struct job one = make_job(1, "net", 32), two = make_job(2, "net", 32),
               eight = make_job(3, "net", 32);
    struct observation alone = seen_alone(&one, 1, 10), pair;
    double before, elsewhere;

    (void)state;
    two.devices = 2;
    eight.devices = 8;
    m.ops->absorb(m.self, &alone);
    before = ask_gang(&m, &eight, 1, 2);
    elsewhere = ask_gang(&m, &eight, 2, 2);
    assert_true(before > 12 && before < 80);
    pair =
        seen_gang(&two, 2, 10.5); /* spread over nodes the second device gives little */
    for (int i = 0; i < 3; i++)
        m.ops->absorb(m.self, &pair);
    assert_float_equal(ask_gang(&m, &two, 1, 2), 10.5, 0.3);
    assert_true(ask_gang(&m, &eight, 1, 2) < 0.9 * before);
    assert_true(ask_gang(&m, &eight, 2, 2) < 0.95 * elsewhere);
    assert_float_equal(ask(&m, 1, &one, NULL).rate[0].value, 10, 0.3);
    destroy(&m);
}

static void a_gang_tells_of_one_device_where_none_was_measured(void **state)
{
    struct model m = create();
    struct job one = make_job(1, "net", 32), four = make_job(2, "net", 32);
    struct observation seen;
    double value;

    (void)state;
    four.devices = 4;
    seen = seen_gang(&four, 1, 40);
    m.ops->absorb(m.self, &seen);
    value = ask(&m, 1, &one, NULL).rate[0].value;
    assert_true(value > 10 && value < 20); /* between full gain and half of it */
    assert_int_equal(ask(&m, 1, &one, NULL).rate[0].source, ESTIMATE_CORRELATED);
    destroy(&m);
}

static void serving_is_carried_over_from_training(void **state)
{
    struct model m = create();
    char name[2] = "a";
    double first = 0, last = 0;

    (void)state;
    for (int i = 0; i < 6; i++) { /* here serving is four times as fast */
        struct job trained = make_job(10 + (uint64_t)i, name, 32), served = trained;
        struct observation slow = seen_alone(&trained, 1, 10 + i), fast;
        double guess;

        served.id += 100;
        served.kind = JOB_INFERENCE;
        fast = seen_alone(&served, 1, 4 * (10 + i));
        m.ops->absorb(m.self, &slow);
        guess = ask(&m, 1, &served, NULL).rate[0].value;
        if (i == 0)
            first = fabs(log(guess / fast.rate));
        last = fabs(log(guess / fast.rate));
        m.ops->absorb(m.self, &fast);
        assert_float_equal(ask(&m, 1, &served, NULL).rate[0].value / fast.rate, 1, 0.05);
        assert_float_equal(ask(&m, 1, &trained, NULL).rate[0].value / slow.rate, 1, 0.05);
        name[0]++;
    }
    assert_true(first > 0.3 && last < 0.1);
    destroy(&m);
}

static void a_promise_on_latency_lowers_what_a_service_can_take(void **state)
{
    struct model m = create();
    struct job service = make_job(1, "net", 1);
    struct observation seen;
    double free_rate;

    (void)state;
    service.kind = JOB_INFERENCE;
    seen = seen_alone(&service, 1, 200);
    m.ops->absorb(m.self, &seen);
    free_rate = ask(&m, 1, &service, NULL).rate[0].value;
    service.need.latency_s = 0.03;
    sane(&ask(&m, 1, &service, NULL).rate[0]);
    assert_true(ask(&m, 1, &service, NULL).rate[0].value < 0.9 * free_rate);
    destroy(&m);
}

/* Jobs of a class differ by 15 %: the interval for the next one must say so. */
static void intervals_hold_for_the_next_job_of_a_class(void **state)
{
    struct model m = create();
    const double factors[] = {1.1,  0.85, 1.2,  0.95, 0.8,  1.05, 1.3,  0.9,  1.0,  1.15,
                              0.75, 1.02, 0.92, 1.18, 0.88, 1.07, 0.97, 1.25, 0.83, 1.12};
    int inside = 0;

    (void)state;
    for (uint64_t i = 0; i < 20; i++) {
        struct job job = make_job(i + 1, "net", 32);
        struct observation seen = seen_alone(&job, 1, 10 * factors[i]);
        struct estimate e = ask(&m, 1, &job, NULL).rate[0];

        if (i >= 6)
            inside += seen.rate >= e.low && seen.rate <= e.high;
        for (int w = 0; w < 30; w++)
            m.ops->absorb(m.self, &seen);
        e = ask(&m, 1, &job, NULL).rate[0];
        assert_float_equal(e.value / seen.rate, 1, 0.01);
        assert_true(e.high / e.low < 1.2);
        m.ops->end(m.self, &job);
    }
    assert_true(inside >= 12);
    destroy(&m);
}

/* Somebody submits thousands of programs that nobody has seen, and none has ended. */
static void jobs_of_ever_new_kinds_are_told_apart_only_so_far(void **state)
{
    struct model m = create(), again = create();
    struct learned *l = m.self;
    uint64_t generation = l->generation;
    int forgets = 0;
    unsigned char *bytes;
    size_t count;

    (void)state;
    for (int i = 0; i < LEARNED_CLASSES_MOST + 300; i++) {
        struct job job = {.id = 1 + (uint64_t)i, .devices = 1, .owner = i % 3};

        snprintf(job.name, sizeof(job.name), "program-%d", i);
        m.ops->begin(m.self, &job);
        forgets += l->generation != generation;
        generation = l->generation;
    }
    assert_in_range(forgets, 1, 10);
    assert_in_range(l->kept.count, LEARNED_CLASSES_MOST, LEARNED_CLASSES_MOST + 3);
    learned_save(m.self, &bytes, &count);
    assert_int_equal(learned_load(again.self, bytes, count, NULL), 0);
    free(bytes);
    destroy(&m);
    destroy(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_of_ever_new_kinds_are_told_apart_only_so_far),
        cmocka_unit_test(knows_something_before_anything_is_measured),
        cmocka_unit_test(a_measured_cell_is_answered_with_the_measurement),
        cmocka_unit_test(the_next_job_of_a_kind_starts_from_what_the_last_taught),
        cmocka_unit_test(a_slow_neighbour_is_learned_and_believed_on_other_types),
        cmocka_unit_test(first_estimates_alone_keep_to_what_was_measured),
        cmocka_unit_test(first_estimates_alone_know_the_catalogue),
        cmocka_unit_test(a_combination_out_of_memory_is_not_proposed_again),
        cmocka_unit_test(a_sudden_change_is_learned_within_a_few_samples),
        cmocka_unit_test(devices_and_caps_count),
        cmocka_unit_test(a_pair_measured_under_a_cap_is_answered_with_the_measurement),
        cmocka_unit_test(a_rate_alone_that_becomes_doubtful_stays_sane),
        cmocka_unit_test(nonsense_measurements_change_nothing),
        cmocka_unit_test(jobs_nobody_described_work),
        cmocka_unit_test(measured_gangs_correct_other_sizes_and_types),
        cmocka_unit_test(a_gang_tells_of_one_device_where_none_was_measured),
        cmocka_unit_test(serving_is_carried_over_from_training),
        cmocka_unit_test(a_promise_on_latency_lowers_what_a_service_can_take),
        cmocka_unit_test(intervals_hold_for_the_next_job_of_a_class),
        cmocka_unit_test(adapting_after_many_pairs_keeps_predictions_sane),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
