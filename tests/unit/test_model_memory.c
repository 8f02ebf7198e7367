/* test_model_memory.c - a job worked out to be a little too large is tried, not refused
 */
#include "loop/estimate/predict.h"
#include "model/learned.h"
#include "world/gpu_sheet.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static struct model model;
static struct job job;

static int set_up(void **state)
{
    struct gpu_sheet sheets[2] = {*gpu_find("k80"), *gpu_find("v100")};

    (void)state;
    sheets[0].memory_gb = 12;
    sheets[1].memory_gb = 16;
    model = learned_create(sheets, 2, &(struct learned_options){.seed = 1});
    job = (struct job){.id = 1, .kind = JOB_TRAINING, .devices = 1};
    strcpy(job.descriptor.family, "large");
    job.descriptor.batch = 1;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    model.ops->destroy(model.self);
    return 0;
}

/* Memory comes from the descriptor: half a GB, and this much a sample. */
static void begin(double sample_gb)
{
    job.descriptor.memory_mb_per_sample = 1000 * sample_gb;
    model.ops->begin(model.self, &job);
}

static void a_little_too_large_is_tried_where_it_fits_best(void **state)
{
    (void)state;
    begin(16.5);
    assert_true(predict_alone(&model, &job, 1).fits > 0.9);
    assert_true(predict_alone(&model, &job, 0).fits < 0.1);
}

static void far_too_large_is_not(void **state)
{
    (void)state;
    begin(60);
    assert_true(predict_alone(&model, &job, 1).fits < 0.01);
}

static void what_was_seen_to_fail_is_not_tried_again(void **state)
{
    struct observation failed = {.where = {.type = 1, .count = 1, .members = {{&job, 1}}},
                                 .out_of_memory = true};

    (void)state;
    begin(16.5);
    model.ops->absorb(model.self, &failed);
    assert_true(predict_alone(&model, &job, 1).fits < 1e-9);
    assert_true(predict_alone(&model, &job, 0).fits < 0.01);
}

static void after_a_failure_no_smaller_card_is_tried(void **state)
{
    struct observation failed = {.where = {.type = 0, .count = 1, .members = {{&job, 1}}},
                                 .out_of_memory = true};

    (void)state;
    begin(11.4); /* on the smaller card by a hair */
    assert_true(predict_alone(&model, &job, 0).fits > 0.2);
    model.ops->absorb(model.self, &failed);
    assert_true(predict_alone(&model, &job, 1).fits > 0.9);
    failed.where.type = 1;
    model.ops->absorb(model.self, &failed);
    assert_true(predict_alone(&model, &job, 0).fits < 1e-9);
    assert_true(predict_alone(&model, &job, 1).fits < 1e-9);
}

static void small_ones_fit_everywhere(void **state)
{
    (void)state;
    begin(2);
    assert_true(predict_alone(&model, &job, 0).fits > 0.9);
    assert_true(predict_alone(&model, &job, 1).fits > 0.9);
}

static struct job like_it(uint64_t id, int owner, double told_gb)
{
    struct job other = job;

    other.id = id;
    other.owner = owner;
    other.memory_gb = told_gb;
    return other;
}

static double fits_best(const struct job *asked)
{
    double k80 = predict_alone(&model, asked, 0).fits;
    double v100 = predict_alone(&model, asked, 1).fits;

    return k80 > v100 ? k80 : v100;
}

static void what_one_tells_of_memory_is_believed_of_this_one(void **state)
{
    struct job none = like_it(2, 0, 0), huge = like_it(3, 0, 200);
    struct job small = like_it(4, 0, 4);

    (void)state;
    for (int pass = 0; pass < 2; pass++) { /* asking, and then being here */
        assert_true(fits_best(&huge) < 0.01);
        assert_true(fits_best(&small) > 0.9);
        assert_true(fits_best(&none) > 0.9);
        model.ops->begin(model.self, &huge);
        model.ops->begin(model.self, &none);
        model.ops->begin(model.self, &small);
    }
}

static void what_became_of_one_says_nothing_of_what_another_user_told(void **state)
{
    struct job theirs = like_it(2, 7, 4), mine = like_it(3, 8, 4);
    struct job again = like_it(4, 7, 4), other_claim = like_it(5, 7, 2);
    struct observation failed = {.where = {.count = 1, .members = {{&theirs, 1}}},
                                 .out_of_memory = true};

    (void)state;
    for (failed.where.type = 0; failed.where.type < 2; failed.where.type++)
        model.ops->absorb(model.self, &failed);
    assert_true(fits_best(&theirs) < 0.01);
    assert_true(fits_best(&again) < 0.01); /* like it: it would fail too */
    assert_true(fits_best(&mine) > 0.9);
    assert_true(fits_best(&other_claim) > 0.9);
}

static void what_a_job_was_seen_to_hold_corrects_what_it_told(void **state)
{
    struct job small = like_it(2, 0, 4), again = like_it(3, 0, 4);
    struct observation seen = {.where = {.type = 1, .count = 1, .members = {{&small, 1}}},
                               .rate = 1,
                               .device_watts = NAN,
                               .memory_gb = 14};

    (void)state;
    assert_true(predict_alone(&model, &again, 0).fits > 0.9);
    model.ops->absorb(model.self, &seen);
    assert_true(predict_alone(&model, &again, 0).fits < 0.2);
    assert_true(predict_alone(&model, &again, 1).fits > 0.9);
}

#define memory_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        memory_test(a_little_too_large_is_tried_where_it_fits_best),
        memory_test(far_too_large_is_not),
        memory_test(what_was_seen_to_fail_is_not_tried_again),
        memory_test(after_a_failure_no_smaller_card_is_tried),
        memory_test(small_ones_fit_everywhere),
        memory_test(what_one_tells_of_memory_is_believed_of_this_one),
        memory_test(what_became_of_one_says_nothing_of_what_another_user_told),
        memory_test(what_a_job_was_seen_to_hold_corrects_what_it_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
