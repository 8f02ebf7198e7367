/* test_loop_control.c - holds, drains, new requirements, restarts, rounds in three steps
 */
#include "loop_fixture.h"

#include "loop/planner.h"
#include "loop/loop.h"

struct scene {
    struct fixture_model table;
    struct loop *loop;
    struct round_result result;
    const struct action *actions;
    size_t count;
};

static void scene_init(struct scene *s)
{
    struct loop_options options = {.settings = fixture_settings(), .seed = 1};

    *s = (struct scene){.table = fixture_model_make()};
    s->loop = loop_create_take(&options, fixture_cluster(), fixture_model_of(&s->table),
                               &corgi_planner_ops);
}

static void submit(struct scene *s, struct job job)
{
    assert_int_equal(loop_submit(s->loop, &job, 0, NULL), 0);
}

static void play_round(struct scene *s, double now_s)
{
    struct err err = {0};

    if (loop_round(s->loop, now_s, &s->result, &err) < 0)
        fail_msg("%s", err.text);
    s->actions = s->result.actions;
    s->count = s->result.action_count;
}

static void a_held_job_waits_until_it_is_released(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s);
    submit(&s, fixture_rate_job(1, 5));
    assert_int_equal(loop_hold(s.loop, 1, true, 5, NULL), 0);
    play_round(&s, 10);
    assert_int_equal(s.count, 0);
    assert_int_equal(loop_hold(s.loop, 1, false, 5, NULL), 0);
    play_round(&s, 20);
    assert_int_equal(s.count, 1);
    assert_int_equal(loop_hold(s.loop, 9, true, 5, NULL), -1);
    loop_destroy(s.loop);
}

static void drained_devices_get_nothing_new(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s);
    for (int d = 0; d < 8; d++)
        assert_int_equal(loop_drain(s.loop, d, d != 6, 5, NULL), 0);
    submit(&s, fixture_rate_job(1, 5));
    play_round(&s, 10);
    assert_int_equal(s.count, 1);
    assert_int_equal(s.actions[0].devices[0], 6);
    assert_int_equal(loop_drain(s.loop, 8, true, 5, NULL), -1);
    assert_int_equal(loop_drain(s.loop, -1, true, 5, NULL), -1);
    loop_destroy(s.loop);
}

/* Slurm started it there, whatever the plan was. */
static void a_seat_an_engine_gave_is_taken_over(void **state)
{
    const int there[] = {2, 6}, full[] = {3}, nowhere[] = {8};
    struct scene s;

    (void)state;
    scene_init(&s);
    submit(&s, fixture_rate_job(1, 5));
    assert_int_equal(loop_seat(s.loop, 1, there, 2, 10, NULL), 0);
    assert_int_equal(loop_job(s.loop, 1)->state, JOB_RUNNING);
    assert_int_equal(loop_job(s.loop, 1)->job.devices, 2);
    assert_int_equal(loop_cluster(s.loop)->devices[6].jobs[0], 1);
    /* Seated again elsewhere: the old seats are free. */
    assert_int_equal(loop_seat(s.loop, 1, full, 1, 20, NULL), 0);
    assert_int_equal(loop_cluster(s.loop)->devices[6].job_count, 0);
    assert_true(loop_job(s.loop, 1)->started_s == 10);
    /* What cannot be changes nothing. */
    assert_int_equal(loop_seat(s.loop, 1, nowhere, 1, 30, NULL), -1);
    assert_int_equal(loop_seat(s.loop, 9, full, 1, 30, NULL), -1);
    for (uint64_t job = 2; job <= 4; job++) {
        submit(&s, fixture_rate_job(job, 5));
        assert_int_equal(loop_seat(s.loop, job, full, 1, 30, NULL), 0);
    }
    submit(&s, fixture_rate_job(5, 5));
    assert_int_equal(loop_seat(s.loop, 5, full, 1, 30, NULL), -1);
    assert_int_equal(loop_job(s.loop, 5)->state, JOB_WAITING);
    loop_destroy(s.loop);
}

static void advice_tells_what_would_be_done_and_does_nothing(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s);
    submit(&s, fixture_rate_job(1, 5));
    for (int i = 0; i < 2; i++) {
        struct round *round = loop_round_begin(s.loop, 10 * (i + 1));

        round_plan(round);
        assert_int_equal(loop_round_advise(s.loop, round, 10 * (i + 1), &s.result, NULL),
                         0);
        assert_true(s.result.action_count >= 1);
        assert_true(s.result.decision_count == 1);
        assert_string_equal(s.result.decisions[0].kind, "start");
        assert_int_equal(loop_job(s.loop, 1)->state, JOB_WAITING);
        for (int d = 0; d < loop_cluster(s.loop)->device_count; d++)
            assert_int_equal(loop_cluster(s.loop)->devices[d].job_count, 0);
        for (int n = 0; n < loop_cluster(s.loop)->node_count; n++)
            assert_int_equal(loop_cluster(s.loop)->nodes[n].state, NODE_AWAKE);
    }
    loop_destroy(s.loop);
}

/* A round looks at 64 waiting jobs.  Those behind them are next when these were placed;
 * where nothing is done but advised the same 64 would be looked at for ever. */
static void the_rest_of_a_queue_is_looked_at_at_once_unless_all_is_advice(void **state)
{
    struct loop_options options = {
        .settings = fixture_settings(), .seed = 1, .round_gap_s = 5};
    struct scene s = {.table = fixture_model_make()};
    struct cluster *cluster = fixture_cluster();
    struct round *round;
    struct job job;

    (void)state;
    for (int i = 0; i < 20; i++)
        fixture_node(cluster, FAST, 4);
    s.loop = loop_create_take(&options, cluster, fixture_model_of(&s.table),
                              &corgi_planner_ops);
    for (uint64_t id = 1; id <= 80; id++) {
        job = fixture_rate_job(id, 5);
        job.may_share = false;
        submit(&s, job);
    }
    round = loop_round_begin(s.loop, 10);
    round_plan(round);
    assert_int_equal(loop_round_advise(s.loop, round, 10, &s.result, NULL), 0);
    assert_true(loop_round_due_s(s.loop) >= 15);
    play_round(&s, 20);
    assert_true(loop_round_due_s(s.loop) <= 20);
    play_round(&s, 20);
    assert_true(loop_round_due_s(s.loop) >= 25);
    for (uint64_t id = 1; id <= 80; id++)
        assert_int_equal(loop_job(s.loop, id)->device_count, 1);
    loop_destroy(s.loop);
}

/* By a minute or a day, as an operator or a time server does. */
static void a_clock_that_is_set_back_keeps_no_round_waiting(void **state)
{
    struct loop_options options = {
        .settings = fixture_settings(), .seed = 1, .round_gap_s = 5};
    struct scene s = {.table = fixture_model_make()};

    (void)state;
    s.loop = loop_create_take(&options, fixture_cluster(), fixture_model_of(&s.table),
                              &corgi_planner_ops);
    play_round(&s, 100000);
    loop_want_round(s.loop, 10);
    assert_true(loop_round_due_s(s.loop) <= 15);
    loop_destroy(s.loop);
}

static void a_node_that_comes_is_planned_with_at_once(void **state)
{
    const int types[] = {SLOW, FAST};
    struct round *round;
    struct scene s;

    (void)state;
    scene_init(&s);
    for (int d = 0; d < 8; d++)
        loop_device_taken(s.loop, d, true, 0);
    submit(&s, fixture_rate_job(1, 5));
    play_round(&s, 10);
    assert_int_equal(loop_job(s.loop, 1)->state, JOB_WAITING);
    round = loop_round_begin(s.loop, 20);
    loop_add_node(s.loop,
                  &(struct node_spec){.name = "new",
                                      .types = types,
                                      .device_count = 2,
                                      .host_watts = 200,
                                      .may_sleep = true},
                  20);
    round_plan(round); /* of a cluster that is not this one any more */
    assert_int_equal(loop_round_end(s.loop, round, 20, &s.result, NULL), -1);
    assert_int_equal(loop_cluster(s.loop)->devices[9].type, FAST);
    play_round(&s, 30);
    assert_int_equal(loop_job(s.loop, 1)->state, JOB_RUNNING);
    assert_true(loop_job(s.loop, 1)->devices[0] >= 8);
    loop_destroy(s.loop);
}

static void a_failed_device_puts_its_jobs_back(void **state)
{
    struct scene s;
    int device;

    (void)state;
    scene_init(&s);
    submit(&s, fixture_rate_job(1, 5));
    play_round(&s, 10);
    device = s.actions[0].devices[0];
    loop_device_failed(s.loop, device, 20);
    assert_int_equal(loop_job(s.loop, 1)->state, JOB_WAITING);
    play_round(&s, 30);
    assert_int_equal(s.count, 1);
    assert_int_not_equal(s.actions[0].devices[0], device);
    loop_device_repaired(s.loop, device, 40);
    assert_false(loop_cluster(s.loop)->devices[device].failed);
    loop_destroy(s.loop);
}

static void a_new_requirement_is_checked_first(void **state)
{
    struct job wrong = fixture_rate_job(1, -1), fine = fixture_rate_job(1, 30);
    struct scene s;

    (void)state;
    scene_init(&s);
    submit(&s, fixture_rate_job(1, 5));
    assert_int_equal(loop_change(s.loop, &wrong, 1, NULL), -1);
    assert_close(loop_job(s.loop, 1)->job.need.rate, 5, 0);
    assert_int_equal(loop_change(s.loop, &fine, 1, NULL), 0);
    assert_close(loop_job(s.loop, 1)->required_rate, 30, 0);
    loop_destroy(s.loop);
}

static void a_running_job_is_restored_where_it_was(void **state)
{
    struct job_status was = {.job = fixture_rate_job(7, 5),
                             .state = JOB_RUNNING,
                             .required_rate = 5,
                             .started_s = 1,
                             .placed_s = 2,
                             .steps_done = 33,
                             .device_count = 1,
                             .devices = {3}};
    struct scene s;

    (void)state;
    scene_init(&s);
    assert_int_equal(loop_restore(s.loop, &was, NULL), 0);
    assert_int_equal(loop_restore(s.loop, &was, NULL), -1);
    assert_int_equal(loop_cluster(s.loop)->devices[3].jobs[0], 7);
    assert_close(loop_job(s.loop, 7)->steps_done, 33, 0);
    was.job.id = 8;
    was.devices[0] = 99;
    assert_int_equal(loop_restore(s.loop, &was, NULL), -1);
    assert_null(loop_job(s.loop, 8));
    loop_destroy(s.loop);
}

static void caps_are_checked(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s);
    assert_int_equal(loop_set_cap(s.loop, 0, 70, 1, NULL), 0);
    assert_int_equal(loop_set_cap(s.loop, 0, 10, 1, NULL), -1);
    assert_int_equal(loop_set_cap(s.loop, 2, 300, 1, NULL), -1); /* type without caps */
    assert_close(loop_cluster(s.loop)->devices[0].cap_watts, 70, 0);
    loop_destroy(s.loop);
}

/* ---- a round in three steps -------------------------------------------------------- */

static int end_round(struct scene *s, struct round *r, double now_s)
{
    int rc = loop_round_end(s->loop, r, now_s, &s->result, NULL);

    s->actions = s->result.actions;
    s->count = s->result.action_count;
    return rc;
}

static void what_happens_while_a_round_is_planned_is_respected(void **state)
{
    struct scene s;
    struct round *r;

    (void)state;
    scene_init(&s);
    submit(&s, fixture_rate_job(1, 5));
    submit(&s, fixture_rate_job(2, 5));
    submit(&s, fixture_rate_job(3, 5));
    r = loop_round_begin(s.loop, 10);
    round_plan(r);
    loop_end_job(s.loop, 1, 11, NULL);
    loop_hold(s.loop, 2, true, 11, NULL);
    submit(&s, fixture_rate_job(4, 5));
    assert_int_equal(end_round(&s, r, 12), 0);
    assert_int_equal(s.count, 1);
    assert_int_equal(s.actions[0].job, 3);
    assert_int_equal(loop_job(s.loop, 4)->state, JOB_WAITING);
    loop_destroy(s.loop);
}

static void the_model_learns_when_the_round_that_reads_it_is_over(void **state)
{
    struct measurement m = {
        .job = 1, .at_s = 100, .window_s = 60, .rate = 7, .device_watts = NAN};
    struct loop_observed seen;
    struct scene s;
    struct round *r;

    (void)state;
    scene_init(&s);
    submit(&s, fixture_rate_job(1, 5));
    play_round(&s, 10);
    r = loop_round_begin(s.loop, 100);
    assert_int_equal(loop_measure(s.loop, &m, &seen, NULL), 0);
    assert_true(seen.seen.rate == 7 && seen.refusal == RECORD_TAKEN);
    assert_int_equal(s.table.absorbed, 0);
    loop_end_job(s.loop, 1, 101, NULL); /* what was seen of it stays true */
    assert_int_equal(s.table.ended, 0);
    round_destroy(s.loop, r);
    assert_int_equal(s.table.absorbed, 1);
    assert_int_equal(s.table.ended, 1);
    assert_true(s.table.last.rate == 7);
    loop_destroy(s.loop);
}

static void a_plan_whose_device_is_gone_is_refused(void **state)
{
    struct scene s;
    struct round *r;

    (void)state;
    scene_init(&s);
    submit(&s, fixture_rate_job(1, 5));
    r = loop_round_begin(s.loop, 10);
    round_plan(r);
    for (int i = 0; i < 8; i++)
        loop_drain(s.loop, i, true, 11, NULL);
    assert_int_equal(end_round(&s, r, 12), -1);
    assert_int_equal(loop_job(s.loop, 1)->state, JOB_WAITING);
    assert_true(loop_round_due_s(s.loop) <= 12); /* it is tried again at once */
    loop_destroy(s.loop);
}

static void a_round_is_due_when_something_happened(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s);
    submit(&s, fixture_rate_job(1, 5));
    assert_true(loop_round_due_s(s.loop) <= 0);
    play_round(&s, 10);
    assert_close(loop_round_due_s(s.loop), 310, 1e-9); /* what it did may lead further */
    for (double at_s = 310; at_s < 3000; at_s += 300)
        play_round(&s, at_s);
    assert_true(isinf(loop_round_due_s(s.loop))); /* nothing happens any more */
    loop_end_job(s.loop, 1, 5000, NULL);
    assert_close(loop_round_due_s(s.loop), 5000, 1e-9);
    loop_destroy(s.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_held_job_waits_until_it_is_released),
        cmocka_unit_test(drained_devices_get_nothing_new),
        cmocka_unit_test(a_seat_an_engine_gave_is_taken_over),
        cmocka_unit_test(advice_tells_what_would_be_done_and_does_nothing),
        cmocka_unit_test(the_rest_of_a_queue_is_looked_at_at_once_unless_all_is_advice),
        cmocka_unit_test(a_clock_that_is_set_back_keeps_no_round_waiting),
        cmocka_unit_test(a_node_that_comes_is_planned_with_at_once),
        cmocka_unit_test(a_failed_device_puts_its_jobs_back),
        cmocka_unit_test(a_new_requirement_is_checked_first),
        cmocka_unit_test(a_running_job_is_restored_where_it_was),
        cmocka_unit_test(caps_are_checked),
        cmocka_unit_test(what_happens_while_a_round_is_planned_is_respected),
        cmocka_unit_test(the_model_learns_when_the_round_that_reads_it_is_over),
        cmocka_unit_test(a_plan_whose_device_is_gone_is_refused),
        cmocka_unit_test(a_round_is_due_when_something_happened),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
