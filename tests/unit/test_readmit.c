/* test_readmit.c - what becomes of stored jobs when the daemon comes back */
#include "loop/admit/readmit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static struct readmit_facts ran_on_two(void)
{
    return (struct readmit_facts){
        .state = JOB_RUNNING, .devices_named = 2, .devices_found = 2};
}

static void a_job_that_waited_waits_again(void **state)
{
    struct readmit r = readmit_decide(&(struct readmit_facts){.state = JOB_WAITING});

    (void)state;
    assert_int_equal(r.step, READMIT_WAIT);
    assert_false(r.release);
    assert_null(r.reason);
}

static void a_service_at_zero_starts_to_see_whether_requests_come(void **state)
{
    struct readmit r =
        readmit_decide(&(struct readmit_facts){.state = JOB_WAITING, .at_zero = true});

    (void)state;
    assert_int_equal(r.step, READMIT_WAIT);
    assert_true(r.release);
}

static void a_job_that_ran_is_adopted_when_the_engine_has_it(void **state)
{
    struct readmit_facts f = ran_on_two();

    (void)state;
    assert_int_equal(readmit_decide(&f).step, READMIT_ASK);
    f.engine = READMIT_RUNS;
    assert_int_equal(readmit_decide(&f).step, READMIT_ADOPT);
}

static void a_job_the_engine_does_not_have_goes_back_to_the_queue(void **state)
{
    struct readmit_facts f = ran_on_two();
    struct readmit r;

    (void)state;
    f.engine = READMIT_GONE;
    r = readmit_decide(&f);
    assert_int_equal(r.step, READMIT_REQUEUE);
    assert_string_equal(r.code, "lost");
    assert_string_equal(r.reason, "it did not run any more when the daemon came back");
}

static void a_job_whose_devices_are_gone_is_not_asked_for(void **state)
{
    struct readmit_facts f = ran_on_two();

    (void)state;
    f.devices_found = 1;
    assert_int_equal(readmit_decide(&f).step, READMIT_REQUEUE);
    f.devices_named = f.devices_found = 0;
    assert_int_equal(readmit_decide(&f).step, READMIT_REQUEUE);
}

static void a_job_whose_seats_are_taken_is_not_asked_for(void **state)
{
    struct readmit_facts f = ran_on_two();

    (void)state;
    f.seats_refused = true;
    assert_int_equal(readmit_decide(&f).step, READMIT_REQUEUE);
}

static void a_replica_without_its_service_ends(void **state)
{
    struct readmit_facts f = ran_on_two();

    (void)state;
    f.orphan = true;
    assert_int_equal(readmit_decide(&f).step, READMIT_CANCEL);
    f.engine = READMIT_RUNS;
    assert_int_equal(readmit_decide(&f).step, READMIT_CANCEL);
}

static void what_the_cluster_cannot_take_fails_with_the_reason(void **state)
{
    struct readmit_facts f = {.state = JOB_WAITING, .refused = "no such type"};
    struct readmit r = readmit_decide(&f);

    (void)state;
    assert_int_equal(r.step, READMIT_FAIL);
    assert_string_equal(r.code, "not_started");
    assert_string_equal(r.reason, "no such type");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_that_waited_waits_again),
        cmocka_unit_test(a_service_at_zero_starts_to_see_whether_requests_come),
        cmocka_unit_test(a_job_that_ran_is_adopted_when_the_engine_has_it),
        cmocka_unit_test(a_job_the_engine_does_not_have_goes_back_to_the_queue),
        cmocka_unit_test(a_job_whose_devices_are_gone_is_not_asked_for),
        cmocka_unit_test(a_job_whose_seats_are_taken_is_not_asked_for),
        cmocka_unit_test(a_replica_without_its_service_ends),
        cmocka_unit_test(what_the_cluster_cannot_take_fails_with_the_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
