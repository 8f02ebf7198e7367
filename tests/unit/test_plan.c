/* test_plan.c - building plans: seats in input order, nodes that wake and sleep */
#include "loop_fixture.h"

#include "loop/optimize/plan.h"

static void a_fresh_plan_changes_nothing_and_seats_nobody(void **state)
{
    struct plan plan = {0};
    struct fixture f;

    (void)state;
    fixture_init(&f);
    jobs_add(f.jobs, &(struct job){.id = 9});
    jobs_add(f.jobs, &(struct job){.id = 4});
    f.cluster->devices[1].cap_watts = 70;
    f.cluster->nodes[1].state = NODE_ASLEEP;
    f.cluster->nodes[2].state = NODE_WAKING;
    plan_reset(&plan, fixture_input(&f, 0));
    assert_int_equal(plan.seat_count, 2);
    assert_int_equal(plan.seats[0].job, 9);
    assert_int_equal(plan.seats[1].job, 4);
    assert_int_equal(plan.seats[1].device_count, 0);
    assert_int_equal(plan.seats[1].reason, UNPLACED_CAPACITY);
    assert_true(plan.cap_watts[1] == 70 && plan.cap_watts[0] == 0);
    assert_true(plan.awake[0] && !plan.awake[1] && plan.awake[2]);
    plan_fini(&plan);
    assert_null(plan.seats);
    fixture_fini(&f);
}

static void seats_point_at_their_own_devices(void **state)
{
    struct plan plan = {0};
    struct fixture f;

    (void)state;
    fixture_init(&f);
    jobs_add(f.jobs, &(struct job){.id = 1});
    fixture_running(&f, fixture_job(2, 2), (int[]){6, 7}, 0);
    plan_reset(&plan, fixture_input(&f, 0));
    plan_keep(&plan, &f.in, 1);
    plan_seat(&plan, 0, (int[]){3, 4, 5}, 3);
    assert_int_equal(plan.seats[0].device_count, 3);
    assert_int_equal(plan.seats[0].reason, UNPLACED_NONE);
    assert_int_equal(plan.devices[plan.seats[0].first + 2], 5);
    assert_int_equal(plan.devices[plan.seats[1].first], 6);
    assert_int_equal(plan.devices[plan.seats[1].first + 1], 7);
    assert_int_equal(plan.used, 5);
    plan_reset(&plan, &f.in); /* and all is gone */
    assert_int_equal(plan.used, 0);
    assert_int_equal(plan.seats[0].device_count, 0);
    plan_fini(&plan);
    fixture_fini(&f);
}

static void only_nodes_idle_for_long_go_to_sleep(void **state)
{
    struct plan plan = {0};
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_running(&f, fixture_job(1, 1), (int[]){0}, 0);
    f.cluster->nodes[2].idle_since_s = 500;
    plan_reset(&plan, fixture_input(&f, 700));
    plan_keep(&plan, &f.in, 0);
    plan_sleep_idle(&plan, &f.in, 300);
    assert_true(plan.awake[0]);  /* has a job */
    assert_false(plan.awake[1]); /* idle for 700 s */
    assert_true(plan.awake[2]);  /* idle for 200 s */
    plan_fini(&plan);
    fixture_fini(&f);
}

static void nodes_that_others_use_stay_awake(void **state)
{
    struct plan plan = {0};
    struct fixture f;

    (void)state;
    fixture_init(&f);
    f.cluster->devices[f.cluster->nodes[0].first_device].taken = true; /* a GPU of it */
    f.cluster->nodes[1].taken.cpus = 2; /* a job without GPU */
    plan_reset(&plan, fixture_input(&f, 700));
    plan_sleep_idle(&plan, &f.in, 300);
    assert_true(plan.awake[0] && plan.awake[1] && !plan.awake[2]);
    plan_fini(&plan);
    fixture_fini(&f);
}

static void nodes_that_may_not_sleep_or_were_told_not_to_stay_awake(void **state)
{
    struct plan plan = {0};
    struct fixture f;

    (void)state;
    fixture_init(&f);
    f.cluster->nodes[1].may_sleep = false;
    f.cluster->nodes[2].state = NODE_ASLEEP;
    plan_reset(&plan, fixture_input(&f, 700));
    plan_sleep_idle(&plan, &f.in, 300);
    assert_true(!plan.awake[0] && plan.awake[1] && !plan.awake[2]);
    f.settings.sleep = false;
    plan_reset(&plan, fixture_input(&f, 700));
    plan_sleep_idle(&plan, &f.in, 300);
    assert_true(plan.awake[0] && plan.awake[1] && plan.awake[2]);
    plan_fini(&plan);
    fixture_fini(&f);
}

static void a_seat_wakes_its_node_or_keeps_it_awake(void **state)
{
    struct plan plan = {0};
    struct fixture f;

    (void)state;
    fixture_init(&f);
    jobs_add(f.jobs, &(struct job){.id = 1});
    f.cluster->nodes[0].state = NODE_ASLEEP;
    plan_reset(&plan, fixture_input(&f, 700));
    plan_seat(&plan, 0, (int[]){1, 6}, 2);
    plan_sleep_idle(&plan, &f.in, 300);
    assert_true(plan.awake[0] && !plan.awake[1] && plan.awake[2]);
    plan_fini(&plan);
    fixture_fini(&f);
}

/* Whoever is stopped in this plan still sits there. */
static void a_node_whose_jobs_are_stopped_sleeps_later(void **state)
{
    struct plan plan = {0};
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_running(&f, fixture_job(2, 2), (int[]){6, 7}, 0);
    plan_reset(&plan, fixture_input(&f, 1e6));
    plan_sleep_idle(&plan, &f.in, 60);
    assert_true(plan.awake[2]);
    assert_false(plan.awake[0]);
    plan_fini(&plan);
    fixture_fini(&f);
}

static void a_plan_grows_with_its_jobs_and_mends(void **state)
{
    struct plan plan = {0};
    struct fixture f;

    (void)state;
    fixture_init(&f);
    plan_reset(&plan, fixture_input(&f, 0));
    for (uint64_t id = 1; id <= 40; id++) {
        jobs_add(f.jobs, &(struct job){.id = id});
        plan_reset(&plan, fixture_input(&f, 0));
        for (size_t i = 0; i < id; i++) {
            plan_seat(&plan, i, (int[]){(int)i % 8, 3}, 2);
            plan_note_mend(&plan, &(struct plan_mend){.job = i + 1, .rate = (double)i});
        }
        assert_int_equal(plan.seat_count, id);
        assert_int_equal(plan.used, 2 * id);
        assert_int_equal(plan.mend_count, id);
        for (size_t i = 0; i < id; i++) {
            assert_int_equal(plan.seats[i].job, i + 1);
            assert_int_equal(plan.devices[plan.seats[i].first], i % 8);
            assert_int_equal(plan.mends[i].job, i + 1);
        }
    }
    plan_fini(&plan);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fresh_plan_changes_nothing_and_seats_nobody),
        cmocka_unit_test(seats_point_at_their_own_devices),
        cmocka_unit_test(only_nodes_idle_for_long_go_to_sleep),
        cmocka_unit_test(nodes_that_others_use_stay_awake),
        cmocka_unit_test(nodes_that_may_not_sleep_or_were_told_not_to_stay_awake),
        cmocka_unit_test(a_seat_wakes_its_node_or_keeps_it_awake),
        cmocka_unit_test(a_node_whose_jobs_are_stopped_sleeps_later),
        cmocka_unit_test(a_plan_grows_with_its_jobs_and_mends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
