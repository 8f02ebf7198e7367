/* test_promise.c - time under a promise, and time of it in which the promise was kept */
#include "loop/record/promise.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static const struct job_status training = {
    .job = {.id = 1, .devices = 1, .need = {.kind = NEED_RATE, .rate = 10}},
    .state = JOB_RUNNING,
    .required_rate = 10};

static struct promise_facts facts(double promised, double rate)
{
    return (struct promise_facts){
        .promised_rate = promised, .rate = rate, .latency_s = NAN, .tolerance = 0.05};
}

static struct promise_time check(struct promise *p, double promised, double rate,
                                 double now_s)
{
    struct promise_facts f = facts(promised, rate);

    return promise_check(p, &training, &f, now_s);
}

static void the_time_between_windows_counts(void **state)
{
    struct promise p = PROMISE_NEW;
    struct promise_time time;

    (void)state;
    time = check(&p, 10, 10, 100);
    assert_true(time.promised_s == 0 && time.kept_s == 0);
    time = check(&p, 10, 10, 130);
    assert_true(time.promised_s == 30 && time.kept_s == 30);
    assert_true(isnan(p.below_since_s));
    time = check(&p, 10, 5, 140);
    assert_true(time.promised_s == 10 && time.kept_s == 0);
    assert_true(p.below_since_s == 140);
    time = check(&p, 10, 5, 160);
    assert_true(time.promised_s == 20 && time.kept_s == 0);
    assert_true(p.below_since_s == 140); /* since then */
    time = check(&p, 10, 9.9, 170);
    assert_true(time.kept_s == 10 && isnan(p.below_since_s));
}

static void a_little_below_is_noise(void **state)
{
    struct promise p = PROMISE_NEW;

    (void)state;
    check(&p, 10, 9.51, 100);
    assert_true(isnan(p.below_since_s));
    check(&p, 10, 9.49, 101);
    assert_true(p.below_since_s == 101);
}

/* A counter-offer that was taken: less than the job once asked for. */
static void no_more_is_wanted_than_was_promised(void **state)
{
    struct promise p = PROMISE_NEW;

    (void)state;
    check(&p, 4, 4, 100);
    assert_true(isnan(p.below_since_s));
    check(&p, 4, 3, 110);
    assert_true(p.below_since_s == 110);
}

static void without_a_promise_nothing_is_counted(void **state)
{
    struct promise p = {.below_since_s = 50, .checked_s = 50};
    struct promise_time time = check(&p, NAN, 1, 100);

    (void)state;
    assert_true(time.promised_s == 0 && time.kept_s == 0);
    assert_true(isnan(p.below_since_s));
}

static struct job_status service_asked(double asked)
{
    return (struct job_status){
        .job = {.id = 1,
                .kind = JOB_INFERENCE,
                .devices = 1,
                .need = {.kind = NEED_SERVICE, .rate = 1000, .latency_s = 0.1}},
        .state = JOB_RUNNING,
        .required_rate = 1000,
        .demand = asked,
        .pace = {.asked = asked}};
}

static bool service_keeps(struct job_status *s, double rate, double latency_s)
{
    struct promise_facts f = facts(1000, rate);
    struct promise p = PROMISE_NEW;

    f.window_s = 60;
    f.latency_s = latency_s;
    promise_check(&p, s, &f, 100);
    return isnan(p.below_since_s);
}

/* At a hundredth of what was promised too: that is all it is asked. */
static void a_service_that_answers_what_it_is_asked_keeps_its_promise(void **state)
{
    struct job_status s = service_asked(10);

    (void)state;
    assert_true(service_keeps(&s, 10, 0.02));
    assert_true(service_keeps(&s, 8.9, 0.02)); /* counted, so noisy */
    assert_false(service_keeps(&s, 6, 0.02));
    s = service_asked(900);
    assert_true(service_keeps(&s, 870, 0.02));
    assert_false(service_keeps(&s, 800, 0.02));
    s.pace.asked = 700; /* more is asked since just now */
    assert_true(service_keeps(&s, 800, 0.02));
    s.demand = s.pace.asked = NAN;
    assert_true(service_keeps(&s, 1, 0.02)); /* nobody knows what it is asked */
}

static void a_service_that_answers_too_late_breaks_its_promise(void **state)
{
    struct job_status s = service_asked(10);

    (void)state;
    assert_true(service_keeps(&s, 10, 0.104));
    assert_false(service_keeps(&s, 10, 0.106));
    assert_true(service_keeps(&s, 10, NAN));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_time_between_windows_counts),
        cmocka_unit_test(a_little_below_is_noise),
        cmocka_unit_test(no_more_is_wanted_than_was_promised),
        cmocka_unit_test(without_a_promise_nothing_is_counted),
        cmocka_unit_test(a_service_that_answers_what_it_is_asked_keeps_its_promise),
        cmocka_unit_test(a_service_that_answers_too_late_breaks_its_promise),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
