/* test_loop_control.c - holds, drains, new requirements, restarts, and drafts of rounds
 */
#include "loop_fixture.h"

#include "loop/loop_admin.h"
#include "loop/round_snapshot.h"
#include "loop/planner.h"
#include "loop/loop.h"

struct scene {
    struct fixture_model table;
    struct loop *loop;
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
    struct admission answer;

    assert_int_equal(loop_submit(s->loop, &job, &answer, NULL), 0);
}

static void play_round(struct scene *s, double now_s)
{
    struct err err = {0};

    if (loop_round(s->loop, now_s, &s->actions, &s->count, &err) < 0)
        fail_msg("%s", err.text);
}

static void a_held_job_waits_until_it_is_released(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s);
    submit(&s, fixture_rate_job(1, 5));
    assert_int_equal(loop_hold(s.loop, 1, true, NULL), 0);
    play_round(&s, 10);
    assert_int_equal(s.count, 0);
    assert_int_equal(loop_hold(s.loop, 1, false, NULL), 0);
    play_round(&s, 20);
    assert_int_equal(s.count, 1);
    assert_int_equal(loop_hold(s.loop, 9, true, NULL), -1);
    loop_destroy(s.loop);
}

static void drained_devices_get_nothing_new(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s);
    for (int d = 0; d < 8; d++)
        assert_int_equal(loop_drain(s.loop, d, d != 6, NULL), 0);
    submit(&s, fixture_rate_job(1, 5));
    play_round(&s, 10);
    assert_int_equal(s.count, 1);
    assert_int_equal(s.actions[0].devices[0], 6);
    assert_int_equal(loop_drain(s.loop, 8, true, NULL), -1);
    assert_int_equal(loop_drain(s.loop, -1, true, NULL), -1);
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
    struct requirement wrong = {.kind = NEED_RATE, .rate = -1};
    struct requirement fine = {.kind = NEED_RATE, .rate = 30};
    struct scene s;

    (void)state;
    scene_init(&s);
    submit(&s, fixture_rate_job(1, 5));
    assert_int_equal(loop_set_need(s.loop, 1, &wrong, NULL), -1);
    assert_close(loop_job(s.loop, 1)->job.need.rate, 5, 0);
    assert_int_equal(loop_set_need(s.loop, 1, &fine, NULL), 0);
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

static void caps_are_checked_and_can_be_kept_off(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s);
    assert_int_equal(loop_set_cap(s.loop, 0, 70, 1, NULL), 0);
    assert_int_equal(loop_set_cap(s.loop, 0, 10, 1, NULL), -1);
    assert_int_equal(loop_set_cap(s.loop, 2, 300, 1, NULL), -1); /* type without caps */
    loop_uncap(s.loop, 0, 100);
    play_round(&s, 50);
    assert_close(loop_cluster(s.loop)->devices[0].cap_watts, 0, 0);
    loop_destroy(s.loop);
}

/* ---- drafts ----------------------------------------------------------------------- */

struct second { /* a planner and a model of a worker */
    struct fixture_model table;
    struct model model;
    struct planner planner;
};

static void second_init(struct second *w)
{
    w->table = fixture_model_make();
    w->model = fixture_model_of(&w->table);
    w->planner = (struct planner){&corgi_planner_ops, corgi_planner_ops.create(1)};
}

static int apply(struct scene *s, struct round_snapshot *d, double now_s)
{
    return round_snapshot_apply(d, s->loop, now_s, &s->actions, &s->count, NULL);
}

static void a_draft_gives_what_a_round_gives(void **state)
{
    struct scene s;
    struct second w;
    struct round_snapshot *d;

    (void)state;
    scene_init(&s);
    second_init(&w);
    submit(&s, fixture_rate_job(1, 5));
    submit(&s, fixture_rate_job(2, 30));
    d = round_snapshot_create(s.loop, 10, 100);
    assert_int_equal(round_snapshot_waiting(d), 2);
    round_snapshot_solve(d, &w.planner, &w.model);
    assert_int_equal(apply(&s, d, 11), 0);
    assert_int_equal(s.count, 2);
    assert_int_equal(loop_job(s.loop, 2)->state, JOB_RUNNING);
    round_snapshot_destroy(d);
    w.planner.ops->destroy(w.planner.self);
    loop_destroy(s.loop);
}

static void what_happens_meanwhile_is_respected(void **state)
{
    struct scene s;
    struct second w;
    struct round_snapshot *d;

    (void)state;
    scene_init(&s);
    second_init(&w);
    submit(&s, fixture_rate_job(1, 5));
    submit(&s, fixture_rate_job(2, 5));
    submit(&s, fixture_rate_job(3, 5));
    d = round_snapshot_create(s.loop, 10, 100);
    round_snapshot_solve(d, &w.planner, &w.model);
    loop_end_job(s.loop, 1, 11, NULL);
    loop_hold(s.loop, 2, true, NULL);
    submit(&s, fixture_rate_job(4, 5));
    assert_int_equal(apply(&s, d, 12), 0);
    assert_int_equal(s.count, 1);
    assert_int_equal(s.actions[0].job, 3);
    assert_int_equal(loop_job(s.loop, 4)->state, JOB_WAITING);
    round_snapshot_destroy(d);
    w.planner.ops->destroy(w.planner.self);
    loop_destroy(s.loop);
}

static void a_draft_whose_device_is_gone_is_refused(void **state)
{
    struct scene s;
    struct second w;
    struct round_snapshot *d;

    (void)state;
    scene_init(&s);
    second_init(&w);
    submit(&s, fixture_rate_job(1, 5));
    d = round_snapshot_create(s.loop, 10, 100);
    round_snapshot_solve(d, &w.planner, &w.model);
    for (int i = 0; i < 8; i++)
        loop_drain(s.loop, i, true, NULL);
    assert_int_equal(apply(&s, d, 12), -1);
    assert_int_equal(loop_job(s.loop, 1)->state, JOB_WAITING);
    round_snapshot_destroy(d);
    w.planner.ops->destroy(w.planner.self);
    loop_destroy(s.loop);
}

static void a_draft_takes_the_first_of_the_highest_priority(void **state)
{
    struct scene s;
    struct second w;
    struct round_snapshot *d;
    struct job urgent = fixture_rate_job(3, 5);

    (void)state;
    scene_init(&s);
    second_init(&w);
    urgent.priority = 2;
    submit(&s, fixture_rate_job(1, 5));
    submit(&s, fixture_rate_job(2, 5));
    submit(&s, urgent);
    d = round_snapshot_create(s.loop, 10, 2);
    assert_int_equal(round_snapshot_waiting(d), 2);
    round_snapshot_solve(d, &w.planner, &w.model);
    assert_int_equal(apply(&s, d, 12), 0);
    assert_int_equal(loop_job(s.loop, 1)->state, JOB_RUNNING);
    assert_int_equal(loop_job(s.loop, 2)->state, JOB_WAITING);
    assert_int_equal(loop_job(s.loop, 3)->state, JOB_RUNNING);
    round_snapshot_destroy(d);
    w.planner.ops->destroy(w.planner.self);
    loop_destroy(s.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_held_job_waits_until_it_is_released),
        cmocka_unit_test(drained_devices_get_nothing_new),
        cmocka_unit_test(a_failed_device_puts_its_jobs_back),
        cmocka_unit_test(a_new_requirement_is_checked_first),
        cmocka_unit_test(a_running_job_is_restored_where_it_was),
        cmocka_unit_test(caps_are_checked_and_can_be_kept_off),
        cmocka_unit_test(a_draft_gives_what_a_round_gives),
        cmocka_unit_test(what_happens_meanwhile_is_respected),
        cmocka_unit_test(a_draft_whose_device_is_gone_is_refused),
        cmocka_unit_test(a_draft_takes_the_first_of_the_highest_priority),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
