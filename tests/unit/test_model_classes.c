/* test_model_classes.c - the models that know less: feedback alone, first estimates alone
 */
#include "lab/policy/feedback.h"
#include "model/learned.h"

#include "loop/estimate/predict.h"
#include "lab/policy/datasheet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/sim.h"

static struct gpu_sheet types[2];
static struct job jobs[3];
static struct model model;

static int set_up(void **state)
{
    (void)state;
    types[0] = *gpu_find("k80");
    types[1] = *gpu_find("v100");
    for (int i = 0; i < 3; i++) {
        jobs[i] = (struct job){.id = (uint64_t)i + 1,
                               .devices = 1,
                               .need = {.kind = NEED_RATE, .rate = 5},
                               .descriptor = {.family = "net", .batch = 16}};
        jobs[i].descriptor.gmac_per_sample = 4;
    }
    return 0;
}

static void begin(struct model made)
{
    model = made;
    for (int i = 0; i < 3; i++)
        model.ops->begin(model.self, &jobs[i]);
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        model.ops->end(model.self, &jobs[i]);
    model.ops->destroy(model.self);
    return 0;
}

static double rate_of(int job, int type)
{
    return predict_alone(&model, &jobs[job], type).rate[0].value;
}

/* Windows of `job` beside `other` (-1: alone). */
static void measure(int job, int other, int type, double rate)
{
    struct observation seen = {.at_s = 100, .rate = rate, .device_watts = 123};

    seen.where.type = type;
    seen.where.members[seen.where.count++] = (struct member){&jobs[job], 1, 0};
    if (other >= 0)
        seen.where.members[seen.where.count++] = (struct member){&jobs[other], 1, 0};
    for (int i = 0; i < 20; i++)
        model.ops->absorb(model.self, &seen);
}

static double fits(int a, int b, int type)
{
    const struct combination where = {
        .type = type, .count = 2, .members = {{&jobs[a], 1}, {&jobs[b], 1}}};
    struct prediction p;

    predict(&model, &where, &p);
    return p.fits;
}

static void feedback_does_not_read_descriptions(void **state)
{
    double before;

    (void)state;
    begin(feedback_model_create(types, 2));
    before = rate_of(0, 1);
    jobs[0].descriptor.gmac_per_sample = 400;
    assert_near(rate_of(0, 1), before, 0);
    assert_true(rate_of(0, 1) > rate_of(0, 0));
}

static void feedback_teaches_nothing_of_other_jobs(void **state)
{
    double other_before, type_before;

    (void)state;
    begin(feedback_model_create(types, 2));
    other_before = rate_of(1, 1);
    type_before = rate_of(0, 0);
    measure(0, -1, 1, 70);
    assert_near(rate_of(0, 1), 70, 1);
    assert_true(rate_of(0, 0) > type_before); /* the same job on another type */
    assert_near(rate_of(1, 1), other_before, 0);
}

static void feedback_remembers_a_pair(void **state)
{
    const struct combination where = {
        .type = 1, .count = 2, .members = {{&jobs[0], 1}, {&jobs[1], 1}}};
    struct prediction p;

    (void)state;
    begin(feedback_model_create(types, 2));
    measure(0, -1, 1, 70);
    measure(0, 1, 1, 20);
    predict(&model, &where, &p);
    assert_near(p.rate[0].value, 20, 2);
    assert_near(p.watts.value, 123, 5);
    assert_near(rate_of(0, 1), 70, 10);
}

static void a_lack_of_memory_is_remembered_by_both(void **state)
{
    struct observation seen = {.out_of_memory = true, .device_watts = NAN};

    (void)state;
    seen.where = (struct combination){
        .type = 0, .count = 2, .members = {{&jobs[0], 1}, {&jobs[1], 1}}};
    begin(feedback_model_create(types, 2));
    model.ops->absorb(model.self, &seen);
    assert_near(fits(1, 0, 0), 0, 0);
    assert_true(fits(1, 0, 1) > 0);
    tear_down(NULL);
    begin(learned_create(types, 2, &(struct learned_options){.initial_only = true}));
    model.ops->absorb(model.self, &seen);
    assert_near(fits(1, 0, 0), 0, 0);
}

#define model_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        model_test(feedback_does_not_read_descriptions),
        model_test(feedback_teaches_nothing_of_other_jobs),
        model_test(feedback_remembers_a_pair),
        model_test(a_lack_of_memory_is_remembered_by_both),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
