/* test_planner_access.c - groups of nodes and reservations bound what the planner puts
 * where */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/planner_world.h"
#include "loop/node_access.h"

static struct planner_world w;

static int tear_down(void **state)
{
    (void)state;
    world_fini(&w);
    return 0;
}

static struct job_status *in_group(int group)
{
    struct job_status *s = world_job(&w, 5);

    s->job.may_share = false;
    s->job.group = group;
    return s;
}

static int node_of(const struct job_status *s)
{
    int device = world_seat(&w, s);

    return device < 0 ? -1 : w.cluster->devices[device].node;
}

/* So many nodes of two devices; node n is in group n + 1. */
static void make_nodes(int count)
{
    world_init(&w);
    for (int n = 0; n < count; n++) {
        world_node(&w, SLOW, 2);
        w.cluster->nodes[n].access.groups = (uint64_t)1 << (n + 1);
    }
}

static void time_and_group_are_asked_of_every_job(void **state)
{
    struct job job = {0};

    (void)state;
    make_nodes(2);
    assert_true(node_access_allows(w.cluster, &job, 1, 100));
    job.group = 1;
    assert_true(node_access_allows(w.cluster, &job, 0, 100));
    assert_false(node_access_allows(w.cluster, &job, 1, 100));
    job.group = LOOP_NOWHERE;
    assert_false(node_access_allows(w.cluster, &job, 0, 100));

    job = (struct job){.limit_s = 60};
    assert_false(node_access_reserved(w.cluster));
    w.cluster->nodes[0].access.reserved_s = 160;
    assert_true(node_access_reserved(w.cluster));
    assert_true(node_access_allows(w.cluster, &job, 0, 100)); /* it ends as that begins */
    assert_false(node_access_allows(w.cluster, &job, 0, 101));
    assert_true(node_access_allows(w.cluster, &job, 1, 101));
    job.limit_s = 0; /* it may run for ever */
    assert_false(node_access_allows(w.cluster, &job, 0, 1));

    /* Of the reservation itself: until it ends. */
    job = (struct job){.group = 1, .limit_s = 60};
    w.cluster->group_ends_s[1] = 300;
    assert_true(node_access_allows(w.cluster, &job, 0, 200));
    assert_false(node_access_allows(w.cluster, &job, 0, 241));
}

static void a_job_is_put_on_nodes_of_its_group_alone(void **state)
{
    const struct job_status *jobs[4];

    (void)state;
    make_nodes(3);
    for (int i = 0; i < 4; i++)
        jobs[i] = in_group(i == 3 ? 0 : 3);
    world_plan(&w);
    assert_int_equal(node_of(jobs[0]), 2);
    assert_int_equal(node_of(jobs[1]), 2);
    assert_int_equal(node_of(jobs[2]), -1);
    assert_int_equal(w.plan.seats[2].reason, UNPLACED_ACCESS);
    assert_true(node_of(jobs[3]) >= 0);
}

static void a_gang_stays_in_its_group(void **state)
{
    struct job_status *gang;

    (void)state;
    make_nodes(3);
    w.cluster->nodes[0].access.groups |= 1u << 2; /* group 2: nodes 0 and 1 */
    gang = in_group(2);
    gang->job.devices = 4;
    world_plan(&w);
    assert_int_equal(w.plan.seats[0].device_count, 4);
    for (int k = 0; k < 4; k++)
        assert_true(w.cluster->devices[w.plan.devices[w.plan.seats[0].first + k]].node <
                    2);
    gang->job.devices = 5;
    world_plan(&w);
    assert_int_equal(w.plan.seats[0].device_count, 0);
}

static void a_node_that_is_reserved_soon_takes_short_jobs(void **state)
{
    struct job_status *brief, *lengthy;

    (void)state;
    make_nodes(1);
    w.cluster->nodes[0].access.reserved_s = w.now_s + 3600;
    lengthy = in_group(1);
    lengthy->job.limit_s = 7200;
    brief = in_group(1);
    brief->job.limit_s = 1800;
    world_plan(&w);
    assert_int_equal(node_of(lengthy), -1);
    assert_int_equal(node_of(brief), 0);
}

/* Where a job is that runs is its engine's affair. */
static void who_runs_in_the_way_of_a_reservation_stays(void **state)
{
    struct job_status *s;

    (void)state;
    make_nodes(2);
    s = world_run(&w, in_group(1), 0);
    w.cluster->nodes[0].access.reserved_s = w.now_s - 1;
    world_plan(&w);
    assert_int_equal(world_seat(&w, s), 0);
}

/* Thirty that find no place say nothing of the one behind them. */
static void a_full_group_does_not_hide_the_others(void **state)
{
    const struct job_status *behind;

    (void)state;
    make_nodes(2);
    for (int d = 0; d < 2; d++)
        world_run(&w, in_group(1), d);
    for (int i = 0; i < 30; i++)
        in_group(1);
    behind = in_group(2);
    world_plan(&w);
    assert_int_equal(node_of(behind), 1);
}

/* No device is held on a node that the first of the queue may not use: one of the others
 * would wait for nothing. */
static void nothing_is_held_where_the_job_may_not_be(void **state)
{
    struct job_status *gang, *other;

    (void)state;
    make_nodes(2);
    world_run(&w, in_group(1), 0);
    gang = in_group(1);
    gang->job.devices = 2;
    gang->job.submitted_s = w.now_s - 10 * w.settings.grace_s;
    other = in_group(2);
    world_plan(&w);
    assert_int_equal(node_of(gang), -1);
    assert_int_equal(node_of(other), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(time_and_group_are_asked_of_every_job, tear_down),
        cmocka_unit_test_teardown(a_job_is_put_on_nodes_of_its_group_alone, tear_down),
        cmocka_unit_test_teardown(a_gang_stays_in_its_group, tear_down),
        cmocka_unit_test_teardown(a_node_that_is_reserved_soon_takes_short_jobs,
                                  tear_down),
        cmocka_unit_test_teardown(who_runs_in_the_way_of_a_reservation_stays, tear_down),
        cmocka_unit_test_teardown(a_full_group_does_not_hide_the_others, tear_down),
        cmocka_unit_test_teardown(nothing_is_held_where_the_job_may_not_be, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
