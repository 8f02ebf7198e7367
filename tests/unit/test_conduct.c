/* test_conduct.c - what becomes of a job whose attempts go wrong, whatever engine tells
 */
#include "loop_fixture.h"

#include "engine/conduct.h"
#include "loop/loop.h"
#include "loop/planner.h"

struct scene {
    struct fixture_model table;
    struct loop *loop;
    struct conduct_tries tries;
};

static void scene_init(struct scene *s)
{
    struct loop_options options = {.settings = fixture_settings(), .seed = 1};
    struct job job = fixture_rate_job(1, 5);

    *s = (struct scene){.table = fixture_model_make()};
    s->loop = loop_create_take(&options, fixture_cluster(), fixture_model_of(&s->table),
                               &corgi_planner_ops);
    assert_int_equal(loop_submit(s->loop, &job, 0, NULL), 0);
}

/* Does a round at this time give it a seat? */
static bool sits_at(struct scene *s, double now_s)
{
    struct round_result result;
    struct err err = {0};

    if (loop_round(s->loop, now_s, &result, &err) < 0)
        fail_msg("%s", err.text);
    return loop_job(s->loop, 1)->state == JOB_RUNNING;
}

static enum conduct_fate goes_wrong(struct scene *s, enum engine_end end, double now_s)
{
    enum conduct_fate fate = conduct_ended(s->loop, 1, end, &s->tries, now_s, NULL);

    if (fate == CONDUCT_AGAIN)
        assert_int_equal(loop_requeue(s->loop, 1, now_s, NULL), 0);
    return fate;
}

static void lost_attempts_have_pauses_and_an_end(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s);
    assert_true(sits_at(&s, 100));
    assert_int_equal(goes_wrong(&s, ENGINE_END_LOST, 101), CONDUCT_AGAIN);
    assert_true(sits_at(&s, 101)); /* once is no pattern */
    assert_int_equal(goes_wrong(&s, ENGINE_END_LOST, 102), CONDUCT_AGAIN);
    assert_false(sits_at(&s, 102.9));
    assert_true(loop_round_due_s(s.loop) <= 103);
    assert_true(sits_at(&s, 103));
    assert_int_equal(goes_wrong(&s, ENGINE_END_NOT_STARTED, 104), CONDUCT_AGAIN);
    assert_false(sits_at(&s, 106.9));
    assert_true(sits_at(&s, 107));
    assert_int_equal(goes_wrong(&s, ENGINE_END_LOST, 108), CONDUCT_AGAIN);
    assert_false(sits_at(&s, 116.9));
    assert_true(sits_at(&s, 117));
    assert_int_equal(goes_wrong(&s, ENGINE_END_NOT_STARTED, 118), CONDUCT_FAILED);
    assert_int_equal(s.tries.unfinished, CONDUCT_UNFINISHED);
    loop_destroy(s.loop);
}

static void an_attempt_that_lasted_is_no_part_of_a_row(void **state)
{
    struct scene s;
    double now_s = 100;

    (void)state;
    scene_init(&s);
    for (int i = 0; i < 3 * CONDUCT_UNFINISHED; i++) {
        assert_true(sits_at(&s, now_s));
        now_s += CONDUCT_STEADY_S;
        assert_int_equal(goes_wrong(&s, ENGINE_END_LOST, now_s), CONDUCT_AGAIN);
    }
    loop_destroy(s.loop);
}

static void a_stop_is_nobodys_fault(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s);
    for (int i = 0; i < 3 * CONDUCT_UNFINISHED; i++) {
        assert_true(sits_at(&s, 100 + i));
        assert_int_equal(goes_wrong(&s, ENGINE_END_STOPPED, 100 + i), CONDUCT_AGAIN);
    }
    loop_destroy(s.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lost_attempts_have_pauses_and_an_end),
        cmocka_unit_test(an_attempt_that_lasted_is_no_part_of_a_row),
        cmocka_unit_test(a_stop_is_nobodys_fault),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
