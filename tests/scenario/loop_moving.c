/* loop_moving.c - jobs seen to be too slow are moved; idle nodes sleep and wake */
#include "scenario/fake_engine.h"

/* By its data sheet the slow type does 1.95 steps/s; in truth 0.4.  The job asks for 0.6,
 * which is believed at first and then seen to fail. */
static double disappointing(const struct job *job, int type)
{
    (void)job;
    return type == FAST ? 2.0 : 0.4;
}

static struct job asks_for(uint64_t id, double rate)
{
    struct job job = fixture_rate_job(id, rate);

    job.descriptor.gmac_per_sample = 4;
    job.total_steps = 1e9;
    return job;
}

static int type_of(struct fake_engine *e, uint64_t id)
{
    const struct job_status *status = loop_job(e->loop, id);

    return status->device_count ? loop_cluster(e->loop)->devices[status->devices[0]].type
                                : -1;
}

static void a_job_on_too_slow_a_device_is_moved(void **state)
{
    struct fake_engine e;

    (void)state;
    fake_engine_init(&e, 1, disappointing);
    assert_int_equal(fake_submit(&e, asks_for(1, 0.6)).verdict, QUOTE_UNPROMISED);
    fake_step(&e);
    assert_int_equal(type_of(&e, 1), SLOW);
    fake_steps(&e, 20);
    assert_int_equal(type_of(&e, 1), FAST);
    assert_int_equal(loop_job(e.loop, 1)->moves, 1);
    fake_steps(&e, 60); /* and stays there */
    assert_int_equal(type_of(&e, 1), FAST);
    assert_int_equal(loop_job(e.loop, 1)->moves, 1);
    fake_engine_fini(&e);
}

static void its_like_goes_to_the_right_device_at_once(void **state)
{
    struct fake_engine e;

    (void)state;
    fake_engine_init(&e, 1, disappointing);
    fake_submit(&e, asks_for(1, 0.6));
    fake_steps(&e, 30);
    fake_submit(&e, asks_for(2, 0.6));
    fake_step(&e);
    assert_int_equal(type_of(&e, 2), FAST);
    fake_engine_fini(&e);
}

static void a_job_that_may_not_move_stays_however_slow(void **state)
{
    struct job job = asks_for(1, 0.6);
    struct fake_engine e;

    (void)state;
    fake_engine_init(&e, 1, disappointing);
    job.may_move = false;
    fake_submit(&e, job);
    fake_steps(&e, 60);
    assert_int_equal(type_of(&e, 1), SLOW);
    assert_int_equal(loop_job(e.loop, 1)->moves, 0);
    fake_engine_fini(&e);
}

static void idle_nodes_sleep_and_wake_for_the_next_job(void **state)
{
    struct job job = asks_for(1, 0.1);
    const struct cluster *c;
    struct fake_engine e;

    (void)state;
    fake_engine_init(&e, 1, disappointing);
    c = loop_cluster(e.loop);
    fake_steps(&e, 2);
    assert_int_equal(e.counts[ACTION_SLEEP], 3);
    job.total_steps = 0.4 * 60 * 5;
    fake_submit(&e, job);
    fake_step(&e);
    assert_int_equal(e.counts[ACTION_WAKE], 1);
    assert_int_equal(c->nodes[0].state, NODE_WAKING);
    fake_step(&e);
    assert_int_equal(c->nodes[0].state, NODE_WAKING); /* takes 120 s */
    assert_true(loop_job(e.loop, 1)->steps_done == 0);
    fake_step(&e);
    assert_int_equal(c->nodes[0].state, NODE_AWAKE);
    fake_steps(&e, 6);
    assert_int_equal(e.finished, 1);
    fake_steps(&e, 6);
    assert_int_equal(c->nodes[0].state, NODE_ASLEEP);
    assert_int_equal(e.counts[ACTION_SLEEP], 4);
    fake_engine_fini(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_on_too_slow_a_device_is_moved),
        cmocka_unit_test(its_like_goes_to_the_right_device_at_once),
        cmocka_unit_test(a_job_that_may_not_move_stays_however_slow),
        cmocka_unit_test(idle_nodes_sleep_and_wake_for_the_next_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
