/* loop_repeats.c - the same calls give the same actions, and the picture stays whole */
#include "scenario/fake_engine.h"

#include <stdio.h>

static double some_truth(const struct job *job, int type)
{
    double factor = (double)(rng_mix(job->descriptor.family[1], 3) % 100) / 100 + 0.5;

    return (type == FAST ? 5 : 1) * factor * job->devices;
}

static struct job random_job(struct rng *rng, uint64_t id)
{
    struct job job = fixture_job(id, 1 + (int)rng_below(rng, 3) * (id % 3 == 0));

    snprintf(job.descriptor.family, sizeof(job.descriptor.family), "f%d",
             (int)rng_below(rng, 4));
    if (rng_uniform(rng) < 0.6) {
        job.need.kind = NEED_RATE;
        job.need.rate = rng_range(rng, 0.3, 4);
    }
    job.may_share = rng_uniform(rng) < 0.8;
    job.total_steps = rng_range(rng, 300, 4000);
    return job;
}

/* Jobs and devices tell the same story, and nobody is where he may not be. */
static void assert_whole(struct fake_engine *e)
{
    const struct cluster *c = loop_cluster(e->loop);
    size_t count;
    const struct job_status *const *jobs = loop_jobs(e->loop, &count);
    int seats = 0;

    for (size_t i = 0; i < count; i++) {
        const struct job_status *job = jobs[i];

        assert_int_equal(job->state == JOB_RUNNING, job->device_count > 0);
        for (int k = 0; k < job->device_count; k++) {
            const struct device *d = &c->devices[job->devices[k]];
            bool there = false;

            for (int m = 0; m < d->job_count; m++)
                there = there || d->jobs[m] == job->job.id;
            assert_true(there && d->job_count <= 2);
            assert_true(job->job.may_share || d->job_count == 1);
            assert_true(c->nodes[d->node].state != NODE_ASLEEP);
            assert_true(c->nodes[d->node].state != NODE_DOWN);
        }
        seats += job->device_count;
    }
    for (int d = 0; d < c->device_count; d++)
        seats -= c->devices[d].job_count;
    assert_int_equal(seats, 0);
}

static struct fake_engine play(uint64_t seed)
{
    struct fake_engine e;
    struct rng arrivals;
    uint64_t id = 0;

    fake_engine_init(&e, seed, some_truth);
    rng_stream(&arrivals, seed, 1);
    for (int step = 0; step < 600; step++) {
        if (step < 400 && rng_uniform(&arrivals) < 0.15)
            fake_submit(&e, random_job(&arrivals, ++id));
        if (step == 150)
            loop_node_failed(e.loop, 0, e.now_s);
        if (step == 200)
            loop_node_repaired(e.loop, 0, e.now_s);
        fake_step(&e);
        assert_whole(&e);
    }
    assert_true(id > 30);
    assert_int_equal(e.finished, id);
    fake_engine_fini(&e);
    return e;
}

static void the_same_seed_gives_the_same_actions(void **state)
{
    struct fake_engine first = play(7), again = play(7), other = play(8);

    (void)state;
    assert_true(first.digest == again.digest);
    assert_int_equal(first.finished, again.finished);
    assert_true(first.digest != other.digest);
}

static void everything_that_can_happen_happens(void **state)
{
    struct fake_engine e = play(9);

    (void)state;
    assert_true(e.counts[ACTION_START] >= e.finished);
    assert_true(e.counts[ACTION_SLEEP] > 0 && e.counts[ACTION_WAKE] > 0);
    assert_int_equal(e.counts[ACTION_STOP], 0);
    assert_int_equal(e.refused_windows, 0); /* changes come between windows only */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_seed_gives_the_same_actions),
        cmocka_unit_test(everything_that_can_happen_happens),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
