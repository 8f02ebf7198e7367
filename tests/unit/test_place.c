/* test_place.c - plans become actions in a safe order, and the picture follows */
#include "loop_fixture.h"

#include "loop/optimize/plan.h"
#include "loop/place/place.h"

struct scene {
    struct fixture f;
    struct plan plan;
    place_changes changes;
    place_actions actions;
};

static void scene_init(struct scene *s)
{
    *s = (struct scene){0};
    fixture_init(&s->f);
}

static void begin(struct scene *s, double now_s)
{
    plan_reset(&s->plan, fixture_input(&s->f, now_s));
}

static void apply(struct scene *s)
{
    vec_clear(&s->actions);
    place_check(&s->f.in, &s->plan, &s->changes, NULL); /* lists what changes */
    place_apply(&s->f.in, &s->plan, &s->changes, s->f.jobs, s->f.cluster, &s->actions);
}

static void scene_fini(struct scene *s)
{
    vec_free(&s->changes);
    vec_free(&s->actions);
    plan_fini(&s->plan);
    fixture_fini(&s->f);
}

/* Position of the first action of a kind, -1: none. */
static int at(const struct scene *s, enum action_kind kind)
{
    for (size_t i = 0; i < s->actions.count; i++)
        if (s->actions.items[i].kind == kind)
            return (int)i;
    return -1;
}

static void a_start_seats_the_job_and_notes_the_time(void **state)
{
    struct job job = fixture_job(1, 2);
    struct job_status *status;
    struct scene s;

    (void)state;
    scene_init(&s);
    status = jobs_add(s.f.jobs, &job);
    begin(&s, 1000);
    plan_seat(&s.plan, 0, (int[]){4, 2}, 2);
    apply(&s);
    assert_int_equal(s.actions.count, 1);
    assert_int_equal(s.actions.items[0].kind, ACTION_START);
    assert_int_equal(s.actions.items[0].job, 1);
    assert_int_equal(s.actions.items[0].device_count, 2);
    assert_int_equal(s.actions.items[0].devices[0], 4);
    assert_int_equal(status->state, JOB_RUNNING);
    assert_int_equal(status->device_count, 2);
    assert_int_equal(status->devices[1], 2);
    assert_true(status->started_s == 1000 && status->placed_s == 1000);
    assert_int_equal(status->moves, 0);
    assert_int_equal(s.f.cluster->devices[4].jobs[0], 1);
    assert_int_equal(s.f.cluster->devices[2].job_count, 1);
    scene_fini(&s);
}

static void keeping_ones_seat_is_no_action_in_any_order(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s);
    fixture_running(&s.f, fixture_job(1, 2), (int[]){2, 3}, 50);
    begin(&s, 1000);
    plan_seat(&s.plan, 0, (int[]){3, 2}, 2);
    apply(&s);
    assert_int_equal(s.actions.count, 0);
    assert_true(jobs_get(s.f.jobs, 1)->placed_s == 50);
    scene_fini(&s);
}

static void a_move_frees_the_old_seat_and_is_counted(void **state)
{
    struct job_status *status;
    struct scene s;

    (void)state;
    scene_init(&s);
    status = fixture_running(&s.f, fixture_job(1, 1), (int[]){0}, 50);
    begin(&s, 1000);
    plan_seat(&s.plan, 0, (int[]){5}, 1);
    apply(&s);
    assert_int_equal(s.actions.count, 1);
    assert_int_equal(s.actions.items[0].kind, ACTION_MOVE);
    assert_int_equal(s.f.cluster->devices[0].job_count, 0);
    assert_int_equal(s.f.cluster->devices[5].job_count, 1);
    assert_true(s.f.cluster->nodes[0].idle_since_s == 1000);
    assert_int_equal(status->moves, 1);
    assert_true(status->started_s == 50 && status->placed_s == 1000);
    scene_fini(&s);
}

static void two_may_swap_places(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s);
    fixture_running(&s.f, fixture_job(1, 1), (int[]){0}, 0);
    fixture_running(&s.f, fixture_job(2, 1), (int[]){5}, 0);
    begin(&s, 1000);
    plan_seat(&s.plan, 0, (int[]){5}, 1);
    plan_seat(&s.plan, 1, (int[]){0}, 1);
    apply(&s);
    assert_int_equal(s.actions.count, 2);
    assert_int_equal(s.f.cluster->devices[0].jobs[0], 2);
    assert_int_equal(s.f.cluster->devices[5].jobs[0], 1);
    scene_fini(&s);
}

static void a_job_without_a_seat_is_stopped_and_waits(void **state)
{
    struct job_status *status;
    struct scene s;

    (void)state;
    scene_init(&s);
    status = fixture_running(&s.f, fixture_job(1, 2), (int[]){0, 1}, 50);
    begin(&s, 1000);
    apply(&s);
    assert_int_equal(s.actions.count, 1);
    assert_int_equal(s.actions.items[0].kind, ACTION_STOP);
    assert_int_equal(status->state, JOB_WAITING);
    assert_int_equal(status->device_count, 0);
    assert_int_equal(s.f.cluster->devices[1].job_count, 0);
    scene_fini(&s);
}

static void a_seat_on_a_sleeping_node_wakes_it_first(void **state)
{
    struct job job = fixture_job(1, 1);
    struct scene s;

    (void)state;
    scene_init(&s);
    jobs_add(s.f.jobs, &job);
    s.f.cluster->nodes[1].state = NODE_ASLEEP;
    begin(&s, 1000);
    plan_seat(&s.plan, 0, (int[]){2}, 1);
    s.plan.awake[1] = true;
    apply(&s);
    assert_int_equal(at(&s, ACTION_WAKE), 0);
    assert_int_equal(s.actions.items[0].node, 1);
    assert_int_equal(at(&s, ACTION_START), 1);
    assert_int_equal(s.f.cluster->nodes[1].state, NODE_WAKING);
    assert_true(s.f.cluster->nodes[1].since_s == 1000);
    begin(&s, 1010); /* waking already: not again */
    plan_keep(&s.plan, &s.f.in, 0);
    apply(&s);
    assert_int_equal(s.actions.count, 0);
    scene_fini(&s);
}

static void empty_nodes_sleep_and_those_with_jobs_never(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s);
    fixture_running(&s.f, fixture_job(1, 1), (int[]){0}, 0);
    s.f.cluster->nodes[1].state = NODE_DOWN;
    begin(&s, 1000);
    plan_keep(&s.plan, &s.f.in, 0);
    s.plan.awake[0] = s.plan.awake[1] = s.plan.awake[2] = false;
    apply(&s);
    assert_int_equal(s.actions.count, 1);
    assert_int_equal(s.actions.items[0].kind, ACTION_SLEEP);
    assert_int_equal(s.actions.items[0].node, 2);
    assert_int_equal(s.f.cluster->nodes[2].state, NODE_ASLEEP);
    assert_int_equal(s.f.cluster->nodes[0].state, NODE_AWAKE);
    assert_int_equal(s.f.cluster->nodes[1].state, NODE_DOWN);
    scene_fini(&s);
}

static void caps_are_set_only_when_they_change(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s);
    s.f.cluster->devices[6].cap_watts = 80;
    begin(&s, 0);
    s.plan.cap_watts[7] = 70;
    apply(&s);
    assert_int_equal(s.actions.count, 1);
    assert_int_equal(s.actions.items[0].kind, ACTION_CAP);
    assert_int_equal(s.actions.items[0].device, 7);
    assert_true(s.actions.items[0].cap_watts == 70);
    assert_true(s.f.cluster->devices[7].cap_watts == 70);
    begin(&s, 1);
    s.plan.cap_watts[6] = 0; /* taken off again */
    apply(&s);
    assert_int_equal(s.actions.count, 1);
    assert_true(s.actions.items[0].cap_watts == 0);
    scene_fini(&s);
}

/* Job 1 was admitted first and waits for the device job 2 is moved from. */
static void actions_come_in_an_order_that_is_safe(void **state)
{
    struct job first = fixture_job(1, 1);
    struct scene s;

    (void)state;
    scene_init(&s);
    jobs_add(s.f.jobs, &first);
    fixture_running(&s.f, fixture_job(2, 1), (int[]){0}, 0);
    fixture_running(&s.f, fixture_job(3, 1), (int[]){1}, 0);
    s.f.cluster->nodes[1].state = NODE_ASLEEP;
    begin(&s, 1000);
    plan_seat(&s.plan, 0, (int[]){0}, 1);
    plan_seat(&s.plan, 1, (int[]){2}, 1);
    s.plan.awake[1] = true;
    s.plan.awake[2] = false;
    s.plan.cap_watts[1] = 70;
    apply(&s);
    assert_int_equal(s.actions.count, 6);
    assert_int_equal(at(&s, ACTION_WAKE), 0);
    assert_int_equal(at(&s, ACTION_CAP), 1);
    assert_int_equal(at(&s, ACTION_STOP), 2);
    assert_int_equal(at(&s, ACTION_MOVE), 3);
    assert_int_equal(at(&s, ACTION_START), 4);
    assert_int_equal(at(&s, ACTION_SLEEP), 5);
    scene_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_seats_the_job_and_notes_the_time),
        cmocka_unit_test(keeping_ones_seat_is_no_action_in_any_order),
        cmocka_unit_test(a_move_frees_the_old_seat_and_is_counted),
        cmocka_unit_test(two_may_swap_places),
        cmocka_unit_test(a_job_without_a_seat_is_stopped_and_waits),
        cmocka_unit_test(a_seat_on_a_sleeping_node_wakes_it_first),
        cmocka_unit_test(empty_nodes_sleep_and_those_with_jobs_never),
        cmocka_unit_test(caps_are_set_only_when_they_change),
        cmocka_unit_test(actions_come_in_an_order_that_is_safe),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
