/* test_planner_runs.c - jobs enter a play of a forecast when they may end, and end in the
 * order of time all the same */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/rng.h"
#include "fixture/planner_world.h"

#define RUNNING 60

static struct planner_world w;

static int set_up(void **state)
{
    struct rng rng;

    (void)state;
    rng_stream(&rng, 3, 1);
    world_init(&w);
    for (int n = 0; n < 6; n++)
        world_node(&w, n % WORLD_TYPES, 8);
    for (int i = 0; i < RUNNING; i++) {
        struct job_status *s = i % 4 ? world_job(&w, 2) : world_service(&w, 2);

        s->job.total_steps *= rng_range(&rng, 0.2, 5);
        s->job.duration_s *= rng_range(&rng, 0.2, 5);
        world_run(&w, s, i % w.cluster->device_count);
    }
    world_job(&w, 2);
    w.planner->settings = w.settings;
    planner_load(w.planner, world_input(&w));
    planner_runs_list(w.planner);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    world_fini(&w);
    return 0;
}

/* All ends of a play, looked for up to so far ahead each time; ends_s (RUNNING) by job.
 */
static void play(int number, double step_s, double *ends_s)
{
    struct planner_state *s = w.planner;
    double last_s = s->in->now_s, until_s = last_s;
    int count = 0;

    planner_runs_begin(s);
    for (int i = 0; i < RUNNING; i++)
        ends_s[i] = NAN;
    while (count < RUNNING) {
        double at_s;
        size_t run = planner_runs_next(s, number, until_s, &at_s);
        int job;

        if (run == SIZE_MAX || at_s > until_s) {
            until_s += step_s;
            continue;
        }
        job = s->runs.items[run].job;
        assert_true(at_s >= last_s);
        assert_true(isnan(ends_s[job]));
        ends_s[job] = last_s = at_s;
        planner_runs_drop(s, run);
        count++;
    }
}

static void all_end_once_and_in_order(void **state)
{
    double far[RUNNING], near[RUNNING];

    (void)state;
    for (int number = 0; number < PLANNER_PLAYS; number++) {
        play(number, INFINITY, far);
        play(number, 20000, near);
        for (int i = 0; i < RUNNING; i++)
            assert_true(far[i] >= near[i] && far[i] <= near[i]);
    }
}

/* What is far away is not looked at. */
static void few_enter_a_play_that_is_short(void **state)
{
    struct planner_state *s = w.planner;
    double at_s;

    (void)state;
    planner_runs_begin(s);
    planner_runs_next(s, 0, s->in->now_s + 600, &at_s);
    assert_true(s->runs.count < RUNNING / 4);
}

/* Whoever has not entered yet does when its neighbour goes, at the rate it had. */
static void a_neighbour_that_goes_changes_the_rate(void **state)
{
    struct planner_state *s = w.planner;
    int device = s->jobs.items[1].device, other = planner_members(s, device)[1];
    double soon_s = s->in->now_s + 50;
    const struct planner_run *run;

    (void)state;
    assert_true(other >= 0 && !s->jobs.items[1].service);
    planner_runs_begin(s);
    planner_detach(s, other, &device, 1);
    planner_runs_change(s, &device, 1, 0, soon_s);
    assert_int_equal(s->runs.count, 1);
    run = &s->runs.items[0];
    assert_int_equal(run->job, 1);
    assert_true(run->at_s >= soon_s && run->rate > s->starts.items[1].rate);
}

#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(all_end_once_and_in_order),
        test(few_enter_a_play_that_is_short),
        test(a_neighbour_that_goes_changes_the_rate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
