/* test_unplaced.c - every sentence that says why a job waits, of a job that the planner
 * leaves without a place for that reason
 *
 * A reason without a state fails. */
#include "loop/unplaced.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fixture/planner_world.h"

static struct planner_world w;

/* A job that shares with nobody. */
static struct job_status *alone(double rate)
{
    struct job_status *s = world_job(&w, rate);

    s->job.may_share = false;
    return s;
}

static const struct job_status *has_a_place(void)
{
    return world_job(&w, 5);
}

static const struct job_status *all_are_taken(void)
{
    world_run(&w, alone(5), 0);
    world_run(&w, alone(20), 1);
    return alone(5);
}

/* One of the type is free, two are needed. */
static const struct job_status *too_few_for_a_gang(void)
{
    struct job_status *gang = alone(5);

    gang->job.devices = 2;
    return gang;
}

static const struct job_status *only_the_slow_one_is_free(void)
{
    world_run(&w, alone(20), 1);
    return alone(20);
}

/* Beside it the running job would have 6 of its 8 steps/s. */
static const struct job_status *would_break_the_promise_beside_it(void)
{
    world_run(&w, world_job(&w, 8), 0);
    world_run(&w, alone(20), 1);
    return world_job(&w, 0);
}

static const struct job_status *too_large_for_the_types_it_may_use(void)
{
    struct job_status *large = alone(5);

    large->job.types_allowed = 1u << SLOW;
    w.beliefs.fits[large->job.id][SLOW] = 0.1;
    return large;
}

/* The nodes asleep draw 20 W, and 200 W and more awake. */
static const struct job_status *no_watts_are_left(void)
{
    w.settings.power_limit.watts = 150;
    return alone(5);
}

/* Both devices are free, and each node has two processors. */
static const struct job_status *too_few_processors_are_left(void)
{
    struct job_status *s = alone(5);

    for (int n = 0; n < w.cluster->node_count; n++)
        w.cluster->nodes[n].room.cpus = 2;
    s->job.cpus = 3;
    return s;
}

/* The node of the free device is not in its group. */
static const struct job_status *its_partition_is_full(void)
{
    struct job_status *s;

    world_run(&w, alone(20), 1);
    s = alone(5);
    s->job.group = 3;
    w.cluster->nodes[1].access.groups = 1u << 3;
    return s;
}

/* A reservation begins before its time is over, on both nodes. */
static const struct job_status *all_nodes_are_reserved_soon(void)
{
    struct job_status *s = alone(5);

    for (int n = 0; n < w.cluster->node_count; n++)
        w.cluster->nodes[n].access.reserved_s = w.now_s + 600;
    s->job.limit_s = 3600;
    return s;
}

/* Two more nodes with a device free each: the first is soon free as a whole.  Somebody
 * waits for long, for memory that is nowhere. */
static const struct job_status *a_node_will_be_free_for_the_gang(void)
{
    struct job_status *gang = alone(1), *other = alone(1);

    world_node(&w, FAST, 2);
    world_node(&w, FAST, 2);
    w.beliefs.apart = 0.4;
    for (int i = 0; i < 4; i++) { /* also on the nodes of one device */
        struct job_status *s = world_run(&w, alone(10), (int[]){0, 1, 2, 5}[i]);

        s->job.may_move = false;
        s->job.total_steps = i == 2 ? 40 * 900 : 1e7;
    }
    gang->job.devices = 2;
    gang->job.total_steps = 1e7;
    w.beliefs.fits[other->job.id][SLOW] = w.beliefs.fits[other->job.id][FAST] = 0;
    other->job.submitted_s = w.now_s - 2 * w.settings.grace_s;
    return gang;
}

static const struct {
    enum unplaced_reason reason;
    const struct job_status *(*make)(void);
    const char *said;
} states[] = {
    {UNPLACED_NONE, has_a_place, NULL},
    {UNPLACED_CAPACITY, all_are_taken, "waits: no device it could use is free"},
    {UNPLACED_CAPACITY, too_few_for_a_gang,
     "waits: too few of the devices it could use are free"},
    {UNPLACED_RATE, only_the_slow_one_is_free,
     "waits: no free place is believed to keep its requirement and those of the jobs "
     "beside it"},
    {UNPLACED_RATE, would_break_the_promise_beside_it,
     "waits: in every free place it would break the promise of a job beside it"},
    {UNPLACED_MEMORY, too_large_for_the_types_it_may_use,
     "waits: it fits into the memory of no type it may use"},
    {UNPLACED_POLICY, no_watts_are_left, "waits: the power limit leaves no room for it"},
    {UNPLACED_HOST, too_few_processors_are_left,
     "waits: no node with a free device it could use has the processors and the memory "
     "left that it asks for"},
    {UNPLACED_NODE, a_node_will_be_free_for_the_gang,
     "waits: it would be on several nodes now, and is done earlier where one will be "
     "free for all of it"},
    {UNPLACED_ACCESS, its_partition_is_full,
     "waits: no node it may use, by its partition, account and reservations, is free for "
     "as long as its time limit"},
    {UNPLACED_ACCESS, all_nodes_are_reserved_soon,
     "waits: no node it may use, by its partition, account and reservations, is free for "
     "as long as its time limit"},
};

#define STATES (sizeof(states) / sizeof(states[0]))

/* Device 0 is slow, 1 is fast. */
static void every_wait_is_said_of_a_job_that_waits_for_it(void **state)
{
    bool seen[UNPLACED_REASONS] = {false};

    (void)state;
    for (size_t i = 0; i < STATES; i++) {
        const struct job_status *s;
        const struct seat *seat;
        const char *said;

        world_init(&w);
        world_node(&w, SLOW, 1);
        world_node(&w, FAST, 1);
        s = states[i].make();
        world_plan(&w);
        seat = &w.plan.seats[s - w.jobs];
        said = unplaced_sentence(seat->reason, &s->job);
        assert_int_equal(seat->reason, states[i].reason);
        assert_int_equal(seat->device_count > 0, seat->reason == UNPLACED_NONE);
        if (states[i].said)
            assert_string_equal(said, states[i].said);
        else
            assert_null(said);
        seen[seat->reason] = true;
        world_fini(&w);
    }
    for (int r = 0; r < UNPLACED_REASONS; r++)
        if (!seen[r])
            fail_msg("no state for reason %d", r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_wait_is_said_of_a_job_that_waits_for_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
