/* test_planner_queue.c - which devices gangs wait for, and how far a queue is looked at
 *
 * What is held for whom is in scenario_queues too, over days. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/planner_world.h"

static struct planner_world w;

/* Two nodes with a device free each: the first is soon free as a whole. */
static struct job_status *gang_before_two_halves(void)
{
    struct job_status *gang;

    world_init(&w);
    world_node(&w, FAST, 2);
    world_node(&w, FAST, 2);
    for (int i = 0; i < 2; i++) {
        struct job_status *s = world_run(&w, world_job(&w, 10), 3 * i);

        s->job.may_share = s->job.may_move = false;
        s->job.total_steps = i == 0 ? 40 * 900 : 1e7;
    }
    gang = world_job(&w, 1);
    gang->job.devices = 2;
    gang->job.may_share = false;
    return gang;
}

/* Waits for long, and will never find memory. */
static void somebody_waits(void)
{
    struct job_status *s = world_job(&w, 1);

    w.beliefs.fits[s->job.id][SLOW] = w.beliefs.fits[s->job.id][FAST] = 0;
    s->job.submitted_s = w.now_s - 2 * w.settings.grace_s;
}

static void a_gang_awaits_a_node_where_it_is_done_earlier(void **state)
{
    static const struct {
        bool queue;
        double apart, steps;
        bool waits;
    } cases[] = {
        {true, 0.4, 1e7, true},
        {false, 0.4, 1e7, true},
        {false, 0.95, 1e7, false},     /* hardly slower */
        {false, 0.4, 40 * 100, false}, /* it would be done before */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct job_status *gang = gang_before_two_halves();

        gang->job.total_steps = cases[i].steps;
        w.beliefs.apart = cases[i].apart;
        if (cases[i].queue)
            somebody_waits();
        world_plan(&w);
        if ((world_seat(&w, gang) < 0) != cases[i].waits)
            fail_msg("case %zu: the gang %s", i, cases[i].waits ? "starts" : "waits");
        if (cases[i].waits) { /* for the node that is free the sooner */
            assert_true(w.planner->holds.items[0].job >= 0);
            assert_int_equal(w.planner->holds.items[1].job,
                             w.planner->holds.items[0].job);
            assert_int_equal(w.planner->holds.items[2].job, -1);
        }
        world_fini(&w);
    }
}

/* A round looks at the head of a long queue.  Where all of that starts, the next round is
 * due at once, and not when something happens. */
static void a_queue_that_was_cut_short_is_looked_at_again(void **state)
{
    (void)state;
    for (int devices = 63; devices <= 100; devices += 37) {
        size_t seated = 0;

        world_init(&w);
        world_node(&w, FAST, devices);
        for (int i = 0; i < 80; i++)
            world_job(&w, 1)->job.may_share = false;
        world_plan(&w);
        for (size_t i = 0; i < w.count; i++)
            seated += world_seat(&w, &w.jobs[i]) >= 0;
        assert_int_equal(seated, devices < 64 ? devices : 64);
        /* Where some find none those behind them find none either. */
        assert_true(w.plan.queue_cut == (devices >= 64));
        world_fini(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gang_awaits_a_node_where_it_is_done_earlier),
        cmocka_unit_test(a_queue_that_was_cut_short_is_looked_at_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
