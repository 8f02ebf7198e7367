/* test_need.c - what a requirement asks for at a moment */
#include "loop_fixture.h"

#include "loop/requirement.h"

static struct job_status with_deadline(double steps, double done, double deadline_s)
{
    return (struct job_status){
        .job = {.need = {.kind = NEED_DEADLINE, .deadline_s = deadline_s},
                .total_steps = steps},
        .steps_done = done};
}

static void best_effort_asks_for_nothing(void **state)
{
    struct job_status s = {.job = {.need = {.kind = NEED_BEST_EFFORT, .rate = 5}},
                           .required_rate = 5};

    (void)state;
    assert_true(requirement_rate_now(&s, 0) == 0);
}

static void rates_and_services_ask_for_what_is_required_now(void **state)
{
    struct job_status s = {.job = {.need = {.kind = NEED_RATE, .rate = 5}},
                           .required_rate = 3};

    (void)state;
    assert_true(requirement_rate_now(&s, 100) == 3);
    s.job.need.kind = NEED_SERVICE;
    assert_true(requirement_rate_now(&s, 100) == 3);
}

static void a_deadline_asks_for_what_is_left_over_the_time_left(void **state)
{
    struct job_status s = with_deadline(1000, 0, 100);

    (void)state;
    assert_close(requirement_rate_now(&s, 0), 10, 1e-12);
    assert_close(requirement_rate_now(&s, 50), 20, 1e-12);
    s.steps_done = 900;
    assert_close(requirement_rate_now(&s, 50), 2, 1e-12);
}

static void a_deadline_met_or_past_asks_for_nothing(void **state)
{
    struct job_status met = with_deadline(1000, 1200, 100);
    struct job_status past = with_deadline(1000, 0, 100);

    (void)state;
    assert_true(requirement_rate_now(&met, 50) == 0);
    assert_true(requirement_rate_now(&past, 100) == 0);
    assert_true(requirement_rate_now(&past, 500) == 0);
}

static void kinds_have_the_names_of_the_interface(void **state)
{
    (void)state;
    assert_string_equal(requirement_kind_names[NEED_BEST_EFFORT], "best_effort");
    assert_string_equal(requirement_kind_names[NEED_RATE], "rate");
    assert_string_equal(requirement_kind_names[NEED_SERVICE], "service");
    assert_string_equal(requirement_kind_names[NEED_DEADLINE], "deadline");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(best_effort_asks_for_nothing),
        cmocka_unit_test(rates_and_services_ask_for_what_is_required_now),
        cmocka_unit_test(a_deadline_asks_for_what_is_left_over_the_time_left),
        cmocka_unit_test(a_deadline_met_or_past_asks_for_nothing),
        cmocka_unit_test(kinds_have_the_names_of_the_interface),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
