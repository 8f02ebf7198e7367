/* test_events.c - the future comes in order, and ties in the order they were put in */
#include "engine/sim/sim_engine_private.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void earlier_times_come_first(void **state)
{
    struct events all = {0}, *events = &all;
    struct event e;

    (void)state;
    events_push(events, (struct event){.at_s = 3, .kind = EVENT_FINISH});
    events_push(events, (struct event){.at_s = 1, .kind = EVENT_READY, .subject = 7});
    events_push(events, (struct event){.at_s = 2, .kind = EVENT_DRIFT});
    assert_true(events_pop(events, &e));
    assert_int_equal(e.kind, EVENT_READY);
    assert_int_equal(e.subject, 7);
    assert_true(events_pop(events, &e));
    assert_int_equal(e.kind, EVENT_DRIFT);
    assert_true(events_pop(events, &e));
    assert_int_equal(e.kind, EVENT_FINISH);
    vec_free(&events->heap);
}

static void probes_look_when_all_else_of_the_moment_has_happened(void **state)
{
    struct events all = {0}, *events = &all;
    struct event e;

    (void)state;
    events_push(events, (struct event){.at_s = 1, .kind = EVENT_MEASURE});
    events_push(events, (struct event){.at_s = 2, .kind = EVENT_DEMAND});
    events_push(events, (struct event){.at_s = 1, .kind = EVENT_DEMAND});
    assert_true(events_pop(events, &e));
    assert_int_equal(e.kind, EVENT_DEMAND);
    assert_true(events_pop(events, &e));
    assert_int_equal(e.kind, EVENT_MEASURE);
    assert_true(events_pop(events, &e));
    assert_true(e.at_s == 2);
    vec_free(&events->heap);
}

/* Two who ask for the same in another order get the same. */
static void who_asked_first_does_not_matter(void **state)
{
    struct events all = {0}, *events = &all;
    struct event e;

    (void)state;
    for (uint64_t subject = 9; subject > 0; subject--)
        events_push(events, (struct event){.kind = EVENT_READY, .subject = subject});
    for (uint64_t subject = 1; subject <= 9; subject++) {
        assert_true(events_pop(events, &e));
        assert_int_equal(e.subject, subject);
    }
    vec_free(&events->heap);
}

/* Few distinct times, many events, pushed and popped in turns. */
static void equal_times_keep_the_order_they_were_put_in(void **state)
{
    struct events all = {0}, *events = &all;
    struct event e, last = {.at_s = -1};
    struct rng rng;
    uint64_t subject = 0;

    (void)state;
    rng_init(&rng, 4);
    for (int i = 0; i < 2000; i++) {
        double from_s = i < 1000 ? 0 : 10; /* never before what was popped */

        events_push(events, (struct event){.at_s = from_s + (double)rng_below(&rng, 5),
                                           .subject = subject++});
        if (i == 999)
            for (int k = 0; k < 700; k++) {
                assert_true(events_pop(events, &e));
                assert_true(e.at_s > last.at_s ||
                            (e.at_s == last.at_s && e.subject > last.subject));
                last = e;
            }
    }
    for (int i = 0; i < 1300; i++) {
        assert_true(events_pop(events, &e));
        assert_true(e.at_s > last.at_s ||
                    (e.at_s == last.at_s && e.subject > last.subject));
        last = e;
    }
    assert_false(events_pop(events, &e));
    vec_free(&events->heap);
}

static void the_next_event_stands_first(void **state)
{
    struct events all = {0}, *events = &all;
    struct event e = {.subject = 99};

    (void)state;
    assert_false(events_pop(events, &e));
    assert_int_equal(e.subject, 99);
    events_push(events, (struct event){.at_s = 6});
    events_push(events, (struct event){.at_s = 5, .subject = 3, .stamp = 8});
    assert_int_equal(events->heap.items[0].subject, 3);
    assert_true(events_pop(events, &e));
    assert_int_equal(e.stamp, 8);
    vec_free(&events->heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(earlier_times_come_first),
        cmocka_unit_test(probes_look_when_all_else_of_the_moment_has_happened),
        cmocka_unit_test(who_asked_first_does_not_matter),
        cmocka_unit_test(equal_times_keep_the_order_they_were_put_in),
        cmocka_unit_test(the_next_event_stands_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
