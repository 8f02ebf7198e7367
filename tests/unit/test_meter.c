/* test_meter.c - every joule is booked once, under the right name */
#include "lab/sim/sim_meter.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/sim.h"

/* Two nodes of two V100s: 100 W host, 10 W asleep. */
struct bench {
    struct world *world;
    struct cluster *cluster;
    struct meter *meter;
    double idle_watts; /* of one card */
};

static int set_up(void **state)
{
    struct bench *b = mem_new(struct bench);

    b->world = fixture_world();
    b->cluster = fixture_cluster(b->world, 0, 2, 2);
    b->meter = meter_create(b->cluster, 0);
    b->idle_watts = b->world->gpus[FIXTURE_V100].idle_watts;
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *b = *state;

    meter_destroy(b->meter);
    cluster_destroy(b->cluster);
    world_destroy(b->world);
    free(b);
    return 0;
}

static void an_idle_cluster_draws_hosts_and_idle_devices(void **state)
{
    struct bench *b = *state;
    struct meter_totals t = meter_read(b->meter, 50);

    assert_near(t.host_j, 2 * 100 * 50, 1e-9);
    assert_near(t.idle_j, 4 * b->idle_watts * 50, 1e-9);
    assert_near(t.device_j + t.wake_j + t.asleep_j + t.allocated_s, 0, 0);
    assert_near(t.powered_s, 4 * 50, 1e-9);
    assert_near(t.total_j, t.host_j + t.idle_j, 1e-6);
}

static void a_device_with_a_job_is_booked_as_device(void **state)
{
    struct bench *b = *state;
    struct meter_totals t;

    cluster_seat(b->cluster, 1, 5);
    meter_device(b->meter, 1, 230, 10);
    t = meter_read(b->meter, 30);
    assert_near(t.device_j, 230 * 20, 1e-9);
    assert_near(t.idle_j, 4 * b->idle_watts * 10 + 3 * b->idle_watts * 20, 1e-9);
    assert_near(t.allocated_s, 20, 1e-9);
}

static void a_node_asleep_draws_its_sleep_watts_only(void **state)
{
    struct bench *b = *state;
    struct meter_totals t;

    b->cluster->nodes[0].state = NODE_ASLEEP;
    meter_node(b->meter, 0, 0);
    t = meter_read(b->meter, 100);
    assert_near(t.asleep_j, 10 * 100, 1e-9);
    assert_near(t.idle_j, 10 * 100 + 2 * b->idle_watts * 100, 1e-9);
    assert_near(t.host_j, 100 * 100, 1e-9);
    assert_near(t.powered_s, 2 * 100, 1e-9);
}

static void waking_is_booked_as_wake_and_nothing_else(void **state)
{
    struct bench *b = *state;
    struct meter_totals t;

    b->cluster->nodes[0].state = NODE_WAKING;
    cluster_seat(b->cluster, 0, 5); /* the job it wakes for */
    meter_node(b->meter, 0, 0);
    t = meter_read(b->meter, 60);
    assert_near(t.wake_j, (100 + 2 * b->idle_watts) * 60, 1e-9);
    assert_near(t.host_j, 100 * 60, 1e-9); /* of the other node */
    assert_near(t.device_j, 0, 0);
    assert_near(t.allocated_s, 60, 1e-9);
    assert_near(t.powered_s, 4 * 60, 1e-9);
}

static void a_node_that_is_down_draws_nothing(void **state)
{
    struct bench *b = *state;
    struct meter_totals t;

    b->cluster->nodes[0].state = b->cluster->nodes[1].state = NODE_DOWN;
    meter_node(b->meter, 0, 0);
    meter_node(b->meter, 1, 10);
    t = meter_read(b->meter, 1000);
    assert_near(t.total_j, (100 + 2 * b->idle_watts) * 10, 1e-9);
}

static void empty_nodes_are_free_after_the_last_arrival(void **state)
{
    struct bench *b = *state;
    struct meter_totals before, after;

    cluster_seat(b->cluster, 0, 5);
    meter_device(b->meter, 0, 200, 0);
    before = meter_read(b->meter, 100);
    meter_free_empty_nodes(b->meter, 100);
    after = meter_read(b->meter, 200);
    /* Only the node with the job still counts. */
    assert_near(after.host_j - before.host_j, 100 * 100, 1e-9);
    assert_near(after.total_j - before.total_j, (100 + 200 + b->idle_watts) * 100, 1e-6);
    cluster_leave(b->cluster, 0, 5, 200);
    meter_device(b->meter, 0, b->idle_watts, 200);
    assert_near(meter_read(b->meter, 5000).total_j, after.total_j, 1e-6);
}

/* What the node draws, worked out without the meter's own code. */
static double watts_of(const struct bench *b, int n, const double *device_watts,
                       bool empty_is_free)
{
    const struct node *node = &b->cluster->nodes[n];
    const struct device *devices = &b->cluster->devices[2 * n];
    int jobs = devices[0].job_count + devices[1].job_count;

    if (node->state == NODE_DOWN || (empty_is_free && jobs == 0))
        return 0;
    if (node->state == NODE_ASLEEP)
        return 10;
    if (node->state == NODE_WAKING)
        return 100 + 2 * b->idle_watts;
    return 100 + (devices[0].job_count ? device_watts[2 * n] : b->idle_watts) +
           (devices[1].job_count ? device_watts[2 * n + 1] : b->idle_watts);
}

static void change_something(struct bench *b, struct rng *rng, double *device_watts,
                             double now_s)
{
    int d = (int)rng_below(rng, 4), n = d / 2;

    if (rng_below(rng, 3) == 0) {
        b->cluster->nodes[n].state = (enum node_state)rng_below(rng, 4);
        meter_node(b->meter, n, now_s);
        return;
    }
    if (b->cluster->devices[d].job_count > 0)
        cluster_leave(b->cluster, d, 5, now_s);
    else
        cluster_seat(b->cluster, d, 5);
    device_watts[d] = rng_range(rng, 50, 250);
    meter_device(b->meter, d, device_watts[d], now_s);
}

static void the_parts_sum_to_the_total_whatever_happens(void **state)
{
    struct bench *b = *state;
    double now_s = 0, wanted_j = 0, device_watts[4] = {0};
    struct meter_totals t;
    struct rng rng;

    rng_init(&rng, 9);
    for (int i = 0; i < 5000; i++) {
        double step_s = rng_range(&rng, 0, 1000);

        for (int n = 0; n < 2; n++)
            wanted_j += watts_of(b, n, device_watts, i > 4000) * step_s;
        now_s += step_s;
        if (i == 4000)
            meter_free_empty_nodes(b->meter, now_s);
        change_something(b, &rng, device_watts, now_s);
    }
    t = meter_read(b->meter, now_s);
    assert_near(t.total_j, wanted_j, 1e-9 * wanted_j);
    assert_near(t.device_j + t.host_j + t.idle_j + t.wake_j, wanted_j, 1e-9 * wanted_j);
    assert_true(t.asleep_j < t.idle_j && t.allocated_s < 4 * now_s);
}

static void a_peek_is_a_read_that_books_nothing(void **state)
{
    struct bench *b = *state;
    struct meter_totals peeked, read;

    cluster_seat(b->cluster, 0, 7);
    meter_device(b->meter, 0, 200, 10);
    peeked = meter_peek(b->meter, 50);
    assert_near(peeked.device_j, 200 * 40, 1e-9);
    peeked = meter_peek(b->meter, 30); /* earlier again: nothing was booked */
    assert_near(peeked.device_j, 200 * 20, 1e-9);
    read = meter_read(b->meter, 30);
    assert_memory_equal(&peeked, &read, sizeof(read));
}

/* 20 s at 600 W more, a pause of 20 s, then 40 s at 300 W more: the worst minute begins
 * 20 s before the pause, or ends with the last change. */
static void the_peak_is_the_worst_of_all_minutes(void **state)
{
    struct bench *b = *state;
    double idle = 200 + 4 * b->idle_watts;

    cluster_seat(b->cluster, 0, 7);
    meter_device(b->meter, 0, b->idle_watts, 0);
    meter_device(b->meter, 0, b->idle_watts + 600, 100);
    meter_device(b->meter, 0, b->idle_watts, 120);
    assert_near(meter_read(b->meter, 130).peak_watts, idle + 600 * 20 / 60.0, 1e-9);
    meter_device(b->meter, 0, b->idle_watts + 300, 140);
    meter_device(b->meter, 0, b->idle_watts, 180);
    assert_near(meter_read(b->meter, 300).peak_watts, idle + (600 + 300) * 20 / 60.0,
                1e-9);
}

static void a_change_nobody_noted_is_stale(void **state)
{
    struct bench *b = *state;

    assert_int_equal(meter_stale_node(b->meter), -1);
    b->cluster->nodes[1].state = NODE_ASLEEP;
    assert_int_equal(meter_stale_node(b->meter), 1);
    meter_node(b->meter, 1, 10);
    assert_int_equal(meter_stale_node(b->meter), -1);
    cluster_seat(b->cluster, 0, 7);
    assert_int_equal(meter_stale_node(b->meter), 0);
}

int main(void)
{
#define METER_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        METER_TEST(an_idle_cluster_draws_hosts_and_idle_devices),
        METER_TEST(a_device_with_a_job_is_booked_as_device),
        METER_TEST(a_node_asleep_draws_its_sleep_watts_only),
        METER_TEST(waking_is_booked_as_wake_and_nothing_else),
        METER_TEST(a_node_that_is_down_draws_nothing),
        METER_TEST(empty_nodes_are_free_after_the_last_arrival),
        METER_TEST(the_parts_sum_to_the_total_whatever_happens),
        METER_TEST(a_peek_is_a_read_that_books_nothing),
        METER_TEST(the_peak_is_the_worst_of_all_minutes),
        METER_TEST(a_change_nobody_noted_is_stale),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
