/* test_replicas.c - how many replicas a service should have */
#include "loop/replicas/replicas.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

/* A service that asked for 10 requests/s a replica and may have up to four of them; the
 * demand of each was measured just now. */
struct fixture {
    struct job share;
    struct replica replicas[8];
    struct replicas_facts facts;
    struct replicas_state state;
};

static struct fixture service(int count)
{
    struct fixture x = {.share = {.kind = JOB_INFERENCE,
                                  .devices = 1,
                                  .need = {.kind = NEED_SERVICE, .rate = 10}},
                        .state = REPLICAS_NEW};

    for (int i = 0; i < count; i++)
        x.replicas[i] = (struct replica){.number = i + 1,
                                         .has_devices = true,
                                         .rate = NAN,
                                         .demand = NAN,
                                         .latency_s = NAN};
    x.facts = (struct replicas_facts){.count = count, .max = 4, .asked = NAN};
    return x;
}

/* At this time each replica reports so many requests/s. */
static struct replicas_decision at(struct fixture *x, double now_s, double each)
{
    x->facts.share = &x->share;
    x->facts.replicas = x->replicas;
    x->facts.now_s = now_s;
    for (int i = 0; i < x->facts.count; i++) {
        x->replicas[i].demand = each;
        x->replicas[i].demand_at_s = now_s;
    }
    return replicas_decide(&x->state, &x->facts);
}

/* The first look notes how many run; what is measured after it counts. */
static struct fixture settled(int count)
{
    struct fixture x = service(count);

    assert_int_equal(at(&x, 0, 1).wanted, count);
    return x;
}

static void demand_beyond_the_headroom_adds_replicas(void **state)
{
    struct fixture x = settled(1);
    struct replicas_decision d;

    (void)state;
    assert_int_equal(at(&x, 1, 8).wanted, 1); /* 1.25 * 8 is one share */
    d = at(&x, 2, 8.1);
    assert_int_equal(d.wanted, 2);
    assert_string_equal(d.reason, "8.1 requests/s are asked for: 2 replicas");
    assert_int_equal(at(&x, 3, 17).wanted, 3);
}

static void never_more_than_allowed(void **state)
{
    struct fixture x = settled(1);

    (void)state;
    assert_int_equal(at(&x, 1, 1000).wanted, 4);
    x.facts.max = 1;
    assert_int_equal(at(&x, 2, 1000).wanted, 1);
}

static void a_replica_measured_to_carry_less_counts_for_less(void **state)
{
    struct fixture x = settled(1);

    (void)state;
    x.replicas[0].rate = 5; /* of 10 */
    assert_int_equal(at(&x, 1, 8).wanted, 2);
    x.replicas[0].rate = 100; /* more than its share is not counted on */
    assert_int_equal(at(&x, 2, 17).wanted, 3);
}

static void the_promise_on_latency_lowers_what_one_carries(void **state)
{
    struct fixture x = settled(1);

    (void)state;
    x.replicas[0].rate = 10;
    assert_int_equal(at(&x, 1, 7.9).wanted, 1);
    x.share.need.latency_s = 0.2; /* ten a second without pause would queue for longer */
    assert_true(at(&x, 2, 7.9).wanted > 1);
}

static void late_answers_add_one_and_wait_for_its_effect(void **state)
{
    struct fixture x = settled(1);
    struct replicas_decision d;

    (void)state;
    x.share.need.latency_s = 1;
    x.replicas[0].latency_s = 1.5;
    d = at(&x, 1000, 1);
    assert_int_equal(d.wanted, 2);
    assert_string_equal(d.reason, "answers come later than 1 s: 2 replicas");
    assert_int_equal(at(&x, 1119, 1).wanted, 1); /* it is on its way */
    assert_int_equal(at(&x, 1120, 1).wanted, 2);
    x.replicas[0].latency_s = 0.5;
    assert_int_equal(at(&x, 1500, 1).wanted, 1);
}

static void late_answers_keep_the_replicas_there_are(void **state)
{
    struct fixture x = settled(3);

    (void)state;
    x.facts.max = 3;
    x.share.need.latency_s = 1;
    x.replicas[2].latency_s = 1.5;
    for (double t = 1; t < 2000; t += 10)
        assert_int_equal(at(&x, t, 1).wanted, 3);
}

static void fewer_after_five_minutes_of_less(void **state)
{
    struct fixture x = settled(3);
    struct replicas_decision d;

    (void)state;
    assert_int_equal(at(&x, 100, 2).wanted, 3);
    assert_int_equal(at(&x, 399, 2).wanted, 3);
    d = at(&x, 400, 2);
    assert_int_equal(d.wanted, 1);
    assert_string_equal(d.reason, "6 requests/s are asked for: 1 replica is enough");
}

static void a_rise_in_between_begins_the_five_minutes_anew(void **state)
{
    struct fixture x = settled(2);

    (void)state;
    assert_int_equal(at(&x, 100, 2).wanted, 2);
    assert_int_equal(at(&x, 300, 7).wanted, 2); /* two are needed */
    assert_int_equal(at(&x, 410, 2).wanted, 2);
    assert_int_equal(at(&x, 700, 2).wanted, 2);
    assert_int_equal(at(&x, 710, 2).wanted, 1);

    x = settled(2);
    assert_int_equal(at(&x, 100, 2).wanted, 2);
    assert_int_equal(at(&x, 300, 100).wanted, 4); /* more are needed */
    assert_int_equal(at(&x, 410, 2).wanted, 2);
}

static void idle_services_end_where_they_may(void **state)
{
    struct fixture x = settled(1);
    struct replicas_decision d;

    (void)state;
    assert_int_equal(at(&x, 100, 0).wanted, 1);
    assert_int_equal(at(&x, 10000, 0).wanted, 1); /* not allowed to: one stays */
    x = settled(2);
    x.facts.scale_to_zero = true;
    assert_int_equal(at(&x, 100, 0).wanted, 2);
    assert_int_equal(at(&x, 400, 0).wanted, 1); /* one is enough first */
    assert_int_equal(at(&x, 699, 0).wanted, 2);
    d = at(&x, 700, 0);
    assert_int_equal(d.wanted, 0);
    assert_string_equal(d.reason, "nobody asks: no replica until requests come");
}

static void a_request_in_between_keeps_it_awake(void **state)
{
    struct fixture x = settled(1);

    (void)state;
    x.facts.scale_to_zero = true;
    at(&x, 100, 0);
    at(&x, 600, 0.1);
    assert_int_equal(at(&x, 701, 0).wanted, 1);
    assert_int_equal(at(&x, 1300, 0).wanted, 1);
    assert_int_equal(at(&x, 1301, 0).wanted, 0);
}

static void requests_wake_what_was_scaled_to_zero(void **state)
{
    struct fixture x = settled(1);
    struct replicas_decision d;

    (void)state;
    x.facts.scale_to_zero = x.facts.at_zero = true;
    x.replicas[0].has_devices = false;
    x.state.failures = 5;
    d = at(&x, 1000, NAN);
    assert_int_equal(d.wanted, 0);
    assert_string_equal(d.reason, "");
    x.facts.asked = 3;
    d = at(&x, 1001, NAN);
    assert_int_equal(d.wanted, 1);
    assert_string_equal(d.reason, "requests come: a replica is started");
    assert_int_equal(x.state.failures, 0); /* it starts anew */
}

static void a_failed_replica_is_replaced_after_a_pause_that_doubles(void **state)
{
    struct fixture x = settled(1);

    (void)state;
    replicas_failed(&x.state, 100);
    assert_int_equal(at(&x, 129, 17).wanted, 1);
    assert_int_equal(at(&x, 130, 17).wanted, 3);
    replicas_failed(&x.state, 140);
    assert_int_equal(at(&x, 199, 17).wanted, 1);
    assert_int_equal(at(&x, 200, 17).wanted, 3);
    for (int i = 0; i < 20; i++)
        replicas_failed(&x.state, 210);
    assert_int_equal(at(&x, 3809, 17).wanted, 1);
    assert_int_equal(at(&x, 3810, 17).wanted, 3); /* never longer than an hour */
}

static void a_replica_that_ran_for_long_ends_the_row_of_failures(void **state)
{
    struct fixture x = settled(1);

    (void)state;
    for (int i = 0; i < 4; i++)
        replicas_failed(&x.state, 100);
    assert_int_equal(x.state.failures, 4);
    replicas_failed(&x.state, 100 + 240 + 601);
    assert_int_equal(x.state.failures, 1);
}

static void a_pause_after_failures_does_not_use_up_the_turn_of_latency(void **state)
{
    struct fixture x = settled(1);

    (void)state;
    x.share.need.latency_s = 1;
    x.replicas[0].latency_s = 2;
    replicas_failed(&x.state, 10);
    assert_int_equal(at(&x, 20, 1).wanted, 1);
    assert_int_equal(at(&x, 40, 1).wanted, 2);
}

static void nothing_is_decided_before_the_spread_is_measured_anew(void **state)
{
    struct fixture x = settled(1);

    (void)state;
    assert_int_equal(at(&x, 10, 17).wanted, 3);
    /* A second one runs; both report the load of before for a while. */
    x.facts.count = 2;
    x.replicas[1] = (struct replica){.number = 2, .has_devices = true, .rate = NAN};
    assert_int_equal(at(&x, 20, 17).wanted, 2); /* 34 together: not believed */
    x.facts.now_s = 30;
    x.replicas[0].demand_at_s = 30;
    assert_int_equal(replicas_decide(&x.state, &x.facts).wanted, 2);
    assert_int_equal(at(&x, 40, 8.5).wanted, 3);
}

static void nothing_is_decided_without_a_running_replica_or_a_measurement(void **state)
{
    struct fixture x = settled(1);

    (void)state;
    assert_int_equal(at(&x, 10, NAN).wanted, 1);
    x.replicas[0].has_devices = false;
    at(&x, 20, 100);
    assert_int_equal(at(&x, 30, 100).wanted, 1);
}

static void demand_is_that_of_replicas_that_run(void **state)
{
    struct replica some[] = {{.number = 1, .has_devices = true, .demand = NAN},
                             {.number = 2, .has_devices = true, .demand = 3},
                             {.number = 3, .has_devices = false, .demand = 5},
                             {.number = 4, .has_devices = true, .demand = NAN}};

    (void)state;
    assert_true(replicas_demand(some, 4) == 3);
    assert_int_equal(replicas_running(some, 4), 3);
    assert_true(isnan(replicas_demand(some, 1)));
    some[0].demand = 1;
    assert_true(replicas_demand(some, 4) == 4);
}

static void numbers_are_used_again_and_the_highest_goes_first(void **state)
{
    struct replica some[] = {{.number = 1}, {.number = 4}, {.number = 2}};

    (void)state;
    assert_int_equal(replicas_free_number(some, 3), 3);
    assert_int_equal(replicas_free_number(some, 2), 2);
    assert_int_equal(replicas_last(some, 3), 1);
    assert_int_equal(replicas_last(some, 1), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(demand_beyond_the_headroom_adds_replicas),
        cmocka_unit_test(never_more_than_allowed),
        cmocka_unit_test(a_replica_measured_to_carry_less_counts_for_less),
        cmocka_unit_test(the_promise_on_latency_lowers_what_one_carries),
        cmocka_unit_test(late_answers_add_one_and_wait_for_its_effect),
        cmocka_unit_test(late_answers_keep_the_replicas_there_are),
        cmocka_unit_test(fewer_after_five_minutes_of_less),
        cmocka_unit_test(a_rise_in_between_begins_the_five_minutes_anew),
        cmocka_unit_test(idle_services_end_where_they_may),
        cmocka_unit_test(a_request_in_between_keeps_it_awake),
        cmocka_unit_test(requests_wake_what_was_scaled_to_zero),
        cmocka_unit_test(a_failed_replica_is_replaced_after_a_pause_that_doubles),
        cmocka_unit_test(a_replica_that_ran_for_long_ends_the_row_of_failures),
        cmocka_unit_test(a_pause_after_failures_does_not_use_up_the_turn_of_latency),
        cmocka_unit_test(nothing_is_decided_before_the_spread_is_measured_anew),
        cmocka_unit_test(nothing_is_decided_without_a_running_replica_or_a_measurement),
        cmocka_unit_test(demand_is_that_of_replicas_that_run),
        cmocka_unit_test(numbers_are_used_again_and_the_highest_goes_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
