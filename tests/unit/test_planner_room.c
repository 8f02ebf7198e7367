/* test_planner_room.c - processors and memory of hosts bound what the planner puts where
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/planner_world.h"

static struct planner_world w;

static int tear_down(void **state)
{
    (void)state;
    world_fini(&w);
    return 0;
}

static struct job_status *with_cpus(double cpus)
{
    struct job_status *s = world_job(&w, 5);

    s->job.may_share = false;
    s->job.cpus = cpus;
    return s;
}

static int node_of(const struct job_status *s)
{
    int device = world_seat(&w, s);

    return device < 0 ? -1 : w.cluster->devices[device].node;
}

static int seated(void)
{
    int count = 0;

    for (size_t i = 0; i < w.count; i++)
        count += world_seat(&w, &w.jobs[i]) >= 0;
    return count;
}

static void a_node_takes_as_many_as_it_has_processors_for(void **state)
{
    (void)state;
    world_init(&w);
    world_host(&w, SLOW, 4, (struct host_room){8, INFINITY});
    for (int i = 0; i < 4; i++)
        with_cpus(3);
    world_plan(&w);
    assert_int_equal(seated(), 2);
    assert_int_equal(w.plan.seats[3].reason, UNPLACED_HOST);
}

static void what_asks_for_none_is_not_bound(void **state)
{
    (void)state;
    world_init(&w);
    world_host(&w, SLOW, 4, (struct host_room){3, INFINITY});
    with_cpus(3);
    for (int i = 0; i < 3; i++)
        with_cpus(0);
    world_plan(&w);
    assert_int_equal(seated(), 4);
}

static void memory_of_the_host_binds_as_well(void **state)
{
    (void)state;
    world_init(&w);
    world_host(&w, SLOW, 2, (struct host_room){INFINITY, 64});
    with_cpus(0)->job.host_memory_gb = 40;
    with_cpus(0)->job.host_memory_gb = 40;
    world_plan(&w);
    assert_int_equal(seated(), 1);
}

/* The first node alike has no room: the next one is looked at all the same. */
static void a_full_node_does_not_hide_an_empty_one(void **state)
{
    const struct job_status *s;

    (void)state;
    world_init(&w);
    world_host(&w, SLOW, 2, (struct host_room){4, INFINITY});
    world_host(&w, SLOW, 2, (struct host_room){16, INFINITY});
    s = with_cpus(8);
    world_plan(&w);
    assert_int_equal(node_of(s), 1);
}

/* Two of four devices a node have room for their part of the gang. */
static void a_gang_is_spread_as_room_allows(void **state)
{
    struct job_status *gang;
    int on[3] = {0};

    (void)state;
    world_init(&w);
    for (int n = 0; n < 3; n++)
        world_host(&w, FAST, 4, (struct host_room){5, INFINITY});
    gang = with_cpus(8);
    gang->job.devices = 4;
    world_plan(&w);
    assert_int_equal(w.plan.seats[0].device_count, 4);
    for (int k = 0; k < 4; k++)
        on[w.cluster->devices[w.plan.devices[w.plan.seats[0].first + k]].node]++;
    for (int n = 0; n < 3; n++)
        assert_true(on[n] <= 2);
}

static void a_gang_does_not_join_another_without_room(void **state)
{
    struct job_status *gang;

    (void)state;
    for (int cpus = 2; cpus <= 3; cpus++) {
        world_init(&w);
        world_host(&w, FAST, 2, (struct host_room){4, INFINITY});
        gang = world_job(&w, 1);
        gang->job.devices = 2;
        gang->job.cpus = 2;
        world_run(&w, gang, 0);
        gang = world_job(&w, 1);
        gang->job.devices = 2;
        gang->job.cpus = cpus;
        world_measure_all(&w);
        world_plan(&w);
        assert_int_equal(node_of(gang), cpus == 2 ? 0 : -1);
        if (cpus == 2)
            world_fini(&w);
    }
}

/* Room of a job that is told to go is not free before it has gone. */
static void who_leaves_takes_its_room_until_it_has_left(void **state)
{
    (void)state;
    world_init(&w);
    world_host(&w, SLOW, 2, (struct host_room){8, INFINITY});
    cluster_begin_leaving(
        w.cluster, 0,
        &(struct device_leaving){.job = 99, .until_s = w.now_s + 30, .room = {6, 0}});
    with_cpus(4);
    world_plan(&w);
    assert_int_equal(seated(), 0);
    assert_int_equal(w.plan.seats[0].reason, UNPLACED_HOST);
    cluster_end_leaving(w.cluster, 0, 99, w.now_s);
    world_plan(&w);
    assert_int_equal(seated(), 1);
}

/* Taken by jobs nobody here knows. */
static void what_others_take_is_not_given_twice(void **state)
{
    (void)state;
    world_init(&w);
    world_host(&w, SLOW, 2, (struct host_room){8, 100});
    w.cluster->nodes[0].taken = (struct host_room){6, 0};
    with_cpus(2);
    with_cpus(2);
    world_plan(&w);
    assert_int_equal(seated(), 1);
}

/* A job on the slow node would do better on the fast one, which has a device free but no
 * processors. */
static void nobody_is_moved_where_there_is_no_room(void **state)
{
    struct job_status *s;

    (void)state;
    for (int cpus = 4; cpus <= 8; cpus += 4) {
        world_init(&w);
        world_host(&w, SLOW, 1, (struct host_room){8, INFINITY});
        world_host(&w, FAST, 1, (struct host_room){4, INFINITY});
        s = world_run(&w, with_cpus(cpus), 0);
        s->job.need.rate = s->required_rate = 20; /* it has 10: it must be helped */
        world_measure_all(&w);
        world_plan(&w);
        assert_int_equal(node_of(s), cpus == 4 ? 1 : 0);
        if (cpus == 4)
            world_fini(&w);
    }
}

/* Two nodes, each with somebody who stays; the one who is gone sooner is on a node that
 * is too small for a job that asks for eight processors: nothing is held there. */
static void nothing_is_held_where_there_can_never_be_room(void **state)
{
    struct job_status *large;

    (void)state;
    world_init(&w);
    world_host(&w, SLOW, 1, (struct host_room){4, INFINITY});
    world_host(&w, SLOW, 1, (struct host_room){8, INFINITY});
    for (int device = 0; device < 2; device++)
        world_run(&w, with_cpus(2), device)->job.may_move = false;
    large = with_cpus(8);
    large->job.submitted_s = w.now_s - 3600; /* its grace time is over */
    world_plan(&w);
    assert_int_equal(world_seat(&w, large), -1);
    assert_int_equal(w.planner->holds.items[0].job, -1);
    assert_true(w.planner->holds.items[1].job >= 0);
}

/* One that waits for four processors gets them though others ask for less: what comes
 * free beside the device held for it is not given away. */
static void room_is_held_with_the_device(void **state)
{
    struct job_status *large, *small;

    (void)state;
    world_init(&w);
    world_host(&w, SLOW, 3, (struct host_room){4, INFINITY});
    world_run(&w, with_cpus(2), 0)->job.may_move = false;
    large = with_cpus(4);
    large->job.submitted_s = w.now_s - 3600; /* its grace time is over */
    small = with_cpus(2);
    world_plan(&w);
    assert_int_equal(node_of(large), -1);
    assert_int_equal(node_of(small), -1);
}

static void a_device_that_takes_one_job_is_not_shared(void **state)
{
    struct job_status *s;

    (void)state;
    for (int most = 0; most <= 1; most++) {
        world_init(&w);
        world_node(&w, FAST, 1);
        w.cluster->devices[0].share_most = most;
        world_run(&w, world_job(&w, 5), 0);
        s = world_job(&w, 5);
        world_measure_all(&w);
        world_plan(&w);
        assert_int_equal(node_of(s), most == 1 ? -1 : 0);
        if (most == 0)
            world_fini(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_node_takes_as_many_as_it_has_processors_for,
                                  tear_down),
        cmocka_unit_test_teardown(what_asks_for_none_is_not_bound, tear_down),
        cmocka_unit_test_teardown(memory_of_the_host_binds_as_well, tear_down),
        cmocka_unit_test_teardown(a_full_node_does_not_hide_an_empty_one, tear_down),
        cmocka_unit_test_teardown(a_gang_is_spread_as_room_allows, tear_down),
        cmocka_unit_test_teardown(a_gang_does_not_join_another_without_room, tear_down),
        cmocka_unit_test_teardown(who_leaves_takes_its_room_until_it_has_left, tear_down),
        cmocka_unit_test_teardown(what_others_take_is_not_given_twice, tear_down),
        cmocka_unit_test_teardown(nobody_is_moved_where_there_is_no_room, tear_down),
        cmocka_unit_test_teardown(room_is_held_with_the_device, tear_down),
        cmocka_unit_test_teardown(nothing_is_held_where_there_can_never_be_room,
                                  tear_down),
        cmocka_unit_test_teardown(a_device_that_takes_one_job_is_not_shared, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
