/* host_room.c - a month of seeded arrivals on hosts with few processors and little
 * memory: no plan ever takes more of a host than it has
 *
 * Counted here by sums of its own, after every round. */
#include "fake_engine.h"

#define SEEDS 6
#define STEPS 1500

static double truth(const struct job *job, int type)
{
    (void)job;
    return type == FAST ? 2 : 0.6;
}

/* Has the host of each node what its jobs take; and how often is one full? */
static void check_hosts(const struct fake_engine *e, uint64_t seed, int *full)
{
    const struct cluster *c = loop_cluster(e->loop);
    double cpus[8] = {0}, memory[8] = {0};
    size_t count;
    const struct job_status *const *jobs = loop_jobs(e->loop, &count);

    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < jobs[i]->device_count; k++) {
            int n = c->devices[jobs[i]->devices[k]].node;

            cpus[n] += jobs[i]->job.cpus / jobs[i]->job.devices;
            memory[n] += jobs[i]->job.host_memory_gb / jobs[i]->job.devices;
        }
    for (int n = 0; n < c->node_count; n++) {
        if (cpus[n] > c->nodes[n].room.cpus - c->nodes[n].taken.cpus + 1e-6 ||
            memory[n] > c->nodes[n].room.memory_gb + 1e-6)
            fail_msg("seed %llu, %g s: node %d has %g of %g processors, %g of %g GB",
                     (unsigned long long)seed, e->now_s, n, cpus[n],
                     c->nodes[n].room.cpus, memory[n], c->nodes[n].room.memory_gb);
        *full += cpus[n] + 1 > c->nodes[n].room.cpus;
    }
}

static struct job draw(struct rng *rng, uint64_t id)
{
    struct job job = fixture_job(id, rng_below(rng, 5) == 0 ? 2 : 1);

    job.total_steps = 600 + 1e4 * rng_uniform(rng);
    job.cpus = (double)rng_below(rng, 5) * job.devices;
    job.host_memory_gb = (double)rng_below(rng, 30) * job.devices;
    job.may_share = rng_below(rng, 3) > 0;
    if (rng_below(rng, 2) == 0) {
        job.need.kind = NEED_RATE;
        job.need.rate = 0.2 + rng_uniform(rng);
    }
    return job;
}

static void no_plan_takes_more_of_a_host_than_it_has(void **state)
{
    int full = 0, moves = 0, finished = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct fake_engine e;
        struct cluster *hosts;
        uint64_t id = 0;

        fake_engine_init(&e, seed, truth);
        hosts = (struct cluster *)(uintptr_t)loop_cluster(e.loop);
        for (int n = 0; n < hosts->node_count; n++)
            hosts->nodes[n].room =
                (struct host_room){2 + 2 * hosts->nodes[n].device_count, 60};
        for (int step = 0; step < STEPS; step++) {
            if (rng_below(&e.rng, 12) == 0)
                fake_submit(&e, draw(&e.rng, ++id));
            fake_step(&e);
            check_hosts(&e, seed, &full);
        }
        moves += e.counts[ACTION_MOVE];
        finished += e.finished;
        fake_engine_fini(&e);
    }
    assert_true(full > 100); /* else nothing was bound by it */
    assert_true(moves > 0);
    assert_true(finished > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_plan_takes_more_of_a_host_than_it_has),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
