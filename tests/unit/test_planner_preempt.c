/* test_planner_preempt.c - who is stopped for a job that waits beyond its grace time */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/planner_world.h"

static struct planner_world w;

static int set_up(void **state)
{
    (void)state;
    world_init(&w);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    world_fini(&w);
    return 0;
}

/* Alone on a node of its own with a fast device. */
static struct job_status *run_alone(double rate, int priority)
{
    struct job_status *s;
    int device = w.cluster->device_count;

    world_node(&w, FAST, 1);
    s = world_run(&w, world_job(&w, rate), device);
    s->job.may_share = false;
    s->job.priority = priority;
    return s;
}

/* It was promised 30/s, which only a fast device gives. */
static struct job_status *wait_for(double waited_s, int priority)
{
    struct job_status *s = world_job(&w, 30);

    s->job.submitted_s = w.now_s - waited_s;
    s->job.priority = priority;
    s->job.may_share = false;
    return s;
}

static bool runs(const struct job_status *s)
{
    return world_seat(&w, s) >= 0;
}

static void best_effort_is_stopped_for_a_promise_after_its_grace_time(void **state)
{
    struct job_status *effort = run_alone(0, 0), *job = wait_for(60, 0);

    (void)state;
    world_plan(&w);
    assert_true(runs(effort) && !runs(job));
    assert_true(w.plan.again_s < job->job.submitted_s + w.settings.grace_s);
    job->job.submitted_s = w.now_s - w.settings.grace_s;
    world_plan(&w);
    assert_true(!runs(effort) && runs(job));
    assert_int_equal(w.plan.seats[0].by, job->job.id);
}

static void nobody_is_stopped_where_the_operator_says_so(void **state)
{
    struct job_status *effort = run_alone(0, 0), *job = wait_for(3600, 0);

    (void)state;
    w.settings.preempt = PREEMPT_NOBODY;
    world_plan(&w);
    assert_true(runs(effort) && !runs(job));
}

static void a_promise_is_stopped_for_a_larger_priority_only_if_told(void **state)
{
    struct job_status *promised = run_alone(30, 0), *job = wait_for(3600, 1);

    (void)state;
    world_plan(&w);
    assert_true(runs(promised) && !runs(job));
    w.settings.preempt = PREEMPT_PRIORITY;
    world_plan(&w);
    assert_true(!runs(promised) && runs(job));
    job->job.priority = 0;
    world_plan(&w);
    assert_true(runs(promised) && !runs(job));
}

static void best_effort_of_larger_priority_stays(void **state)
{
    struct job_status *effort = run_alone(0, 1), *job = wait_for(3600, 0);

    (void)state;
    world_plan(&w);
    assert_true(runs(effort) && !runs(job));
}

/* Neither best effort for itself, nor a job that nothing was promised yet. */
static void without_a_promise_nobody_is_stopped(void **state)
{
    struct job_status *effort = run_alone(0, 0), *job = wait_for(3600, 0);

    (void)state;
    job->job.unpromised = true;
    world_plan(&w);
    assert_true(runs(effort) && !runs(job));
    job->job.unpromised = false;
    job->job.need = (struct requirement){.kind = NEED_BEST_EFFORT};
    job->required_rate = 0;
    world_plan(&w);
    assert_true(runs(effort) && !runs(job));
}

static void those_who_matter_least_are_stopped(void **state)
{
    struct job_status *promised = run_alone(30, -1), *effort = run_alone(0, -1),
                      *equal = run_alone(0, 0), *job = wait_for(3600, 0);

    (void)state;
    w.settings.preempt = PREEMPT_PRIORITY;
    world_plan(&w);
    assert_true(runs(promised) && !runs(effort) && runs(equal) && runs(job));
}

static void whoever_was_stopped_is_left_alone_for_an_hour(void **state)
{
    struct job_status *effort = run_alone(0, 0), *job = wait_for(3600, 0);

    (void)state;
    effort->preempted = 1;
    effort->placed_s = w.now_s - 3000;
    world_plan(&w);
    assert_true(runs(effort) && !runs(job));
    effort->placed_s = w.now_s - 3700;
    world_plan(&w);
    assert_true(!runs(effort) && runs(job));
}

static void nobody_is_stopped_in_vain(void **state)
{
    struct job_status *slow, *fixed = run_alone(0, 0), *job = wait_for(3600, 0);

    (void)state;
    world_node(&w, SLOW, 1);
    slow = world_run(&w, world_job(&w, 0), 1);
    slow->job.may_share = false;
    fixed->job.may_move = false;
    world_plan(&w);
    assert_true(runs(slow) && runs(fixed) && !runs(job));
}

static void a_neighbour_with_a_promise_stays(void **state)
{
    struct job_status *promised, *effort, *job = wait_for(3600, 0);

    (void)state;
    world_node(&w, FAST, 1);
    promised = world_run(&w, world_job(&w, 20), 0);
    effort = world_run(&w, world_job(&w, 0), 0);
    job->job.may_share = true;
    job->job.need.rate = job->required_rate = 20;
    world_plan(&w);
    assert_true(runs(promised) && !runs(effort) && runs(job));
    assert_int_equal(world_seat(&w, job), 0);
}

static void a_gang_gets_all_devices_or_nobody_is_stopped(void **state)
{
    struct job_status *first, *second, *gang = wait_for(3600, 0);

    (void)state;
    gang->job.devices = 2;
    world_node(&w, FAST, 2);
    first = world_run(&w, world_job(&w, 0), 0);
    second = world_run(&w, world_job(&w, 10), 1);
    first->job.may_share = second->job.may_share = false;
    world_plan(&w);
    assert_true(runs(first) && runs(second) && !runs(gang));
    second->job.need = (struct requirement){.kind = NEED_BEST_EFFORT};
    second->required_rate = 0;
    world_plan(&w);
    assert_true(!runs(first) && !runs(second) && runs(gang));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(best_effort_is_stopped_for_a_promise_after_its_grace_time),
        TEST(nobody_is_stopped_where_the_operator_says_so),
        TEST(a_promise_is_stopped_for_a_larger_priority_only_if_told),
        TEST(best_effort_of_larger_priority_stays),
        TEST(without_a_promise_nobody_is_stopped),
        TEST(those_who_matter_least_are_stopped),
        TEST(whoever_was_stopped_is_left_alone_for_an_hour),
        TEST(nobody_is_stopped_in_vain),
        TEST(a_neighbour_with_a_promise_stays),
        TEST(a_gang_gets_all_devices_or_nobody_is_stopped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
