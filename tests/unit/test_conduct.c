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

/* ---- nodes that sleep ---- */

struct sleeper {
    int answer; /* of wake() and sleep() */
};

static int tell_sleeper(void *self, int node, struct err *err)
{
    const struct sleeper *s = self;

    (void)node;
    return s->answer < 0 ? err_set(err, ERR_INVALID, "not now") : s->answer;
}

static const struct engine_ops sleeper_ops = {.wake = tell_sleeper,
                                              .sleep = tell_sleeper};

static int order(struct scene *s, enum action_kind kind, int answer, double now_s)
{
    struct sleeper sleeper = {answer};
    const struct engine engine = {&sleeper_ops, &sleeper};

    return conduct_order(s->loop, &engine, &(struct action){.kind = kind, .node = 2},
                         now_s, NULL);
}

static void a_node_falls_asleep_until_its_engine_says_so(void **state)
{
    const struct engine_event asleep = {.kind = ENGINE_NODE_ASLEEP, .node = 2};
    struct scene s;
    const struct cluster *c;

    (void)state;
    scene_init(&s);
    c = loop_cluster(s.loop);
    assert_int_equal(order(&s, ACTION_SLEEP, ENGINE_FALLING, 10), 0);
    assert_int_equal(c->nodes[2].state, NODE_FALLING);
    assert_false(cluster_device_usable(c, 6));
    conduct_node(s.loop, &asleep, 15);
    assert_int_equal(c->nodes[2].state, NODE_ASLEEP);
    assert_true(cluster_device_usable(c, 6)); /* it can be woken */
    assert_int_equal(order(&s, ACTION_SLEEP, 0, 20), 0);
    assert_int_equal(c->nodes[2].state, NODE_ASLEEP);
    loop_destroy(s.loop);
}

static void a_node_that_refuses_stays_as_it_was(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s);
    assert_int_equal(order(&s, ACTION_SLEEP, -1, 10), -1);
    assert_int_equal(loop_cluster(s.loop)->nodes[2].state, NODE_AWAKE);
    assert_int_equal(order(&s, ACTION_WAKE, -1, 20), -1);
    assert_int_equal(loop_cluster(s.loop)->nodes[2].state, NODE_ASLEEP);
    loop_destroy(s.loop);
}

/* It waits, whatever often, and nothing counts against it. */
static void no_room_is_no_failed_start(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s);
    for (int i = 0; i < 3 * CONDUCT_UNFINISHED; i++) {
        assert_true(sits_at(&s, 100 + i));
        assert_int_equal(goes_wrong(&s, ENGINE_END_NO_ROOM, 100 + i), CONDUCT_AGAIN);
        assert_int_equal(s.tries.unfinished, 0);
    }
    assert_int_equal(goes_wrong(&s, ENGINE_END_UNKNOWN, 200), CONDUCT_FAILED);
    assert_int_equal(goes_wrong(&s, ENGINE_END_CANCELLED, 200), CONDUCT_CANCELLED);
    loop_destroy(s.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_falls_asleep_until_its_engine_says_so),
        cmocka_unit_test(a_node_that_refuses_stays_as_it_was),
        cmocka_unit_test(no_room_is_no_failed_start),
        cmocka_unit_test(lost_attempts_have_pauses_and_an_end),
        cmocka_unit_test(an_attempt_that_lasted_is_no_part_of_a_row),
        cmocka_unit_test(a_stop_is_nobodys_fault),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
