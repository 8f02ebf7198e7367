/* test_cluster.c - seats, idle times and what counts as usable */
#include "loop_fixture.h"

static void nodes_own_consecutive_devices_of_their_type(void **state)
{
    struct cluster *c = fixture_cluster();

    (void)state;
    assert_int_equal(c->node_count, 3);
    assert_int_equal(c->device_count, 8);
    for (int n = 0; n < c->node_count; n++)
        for (int i = 0; i < c->nodes[n].device_count; i++) {
            const struct device *d = &c->devices[c->nodes[n].first_device + i];

            assert_int_equal(d->node, n);
            assert_int_equal(d->type, n == 1 ? FAST : SLOW);
            assert_int_equal(d->job_count, 0);
        }
    assert_string_equal(c->nodes[1].name, "node-2");
    assert_int_equal(c->nodes[1].state, NODE_AWAKE);
    cluster_destroy(c);
    cluster_destroy(NULL);
}

static void a_copy_shares_nothing(void **state)
{
    struct cluster *c = fixture_cluster(), *copy = cluster_dup(c);

    (void)state;
    cluster_seat(c, 3, 7);
    c->nodes[1].state = NODE_ASLEEP;
    c->types[FAST].tdp_watts = 1;
    assert_int_equal(copy->devices[3].job_count, 0);
    assert_int_equal(copy->nodes[1].state, NODE_AWAKE);
    assert_true(copy->types[FAST].tdp_watts == fixture_types[FAST].tdp_watts);
    cluster_destroy(copy);
    cluster_destroy(c);
}

static void leaving_keeps_the_order_of_the_others(void **state)
{
    struct cluster *c = fixture_cluster();

    (void)state;
    for (uint64_t job = 1; job <= 3; job++)
        cluster_seat(c, 0, job);
    cluster_leave(c, 0, 2, 10);
    assert_int_equal(c->devices[0].job_count, 2);
    assert_int_equal(c->devices[0].jobs[0], 1);
    assert_int_equal(c->devices[0].jobs[1], 3);
    cluster_destroy(c);
}

static void a_node_idles_from_when_its_last_job_left(void **state)
{
    struct cluster *c = fixture_cluster();

    (void)state;
    cluster_seat(c, 2, 1);
    cluster_seat(c, 3, 1);
    cluster_seat(c, 3, 2);
    assert_int_equal(cluster_node_jobs(c, 1), 3);
    assert_int_equal(cluster_node_jobs(c, 0), 0);
    cluster_leave(c, 2, 1, 50);
    cluster_leave(c, 3, 2, 60);
    assert_true(c->nodes[1].idle_since_s == 0);
    cluster_leave(c, 3, 1, 70);
    assert_true(c->nodes[1].idle_since_s == 70);
    cluster_destroy(c);
}

static void drained_failed_and_down_devices_are_not_usable(void **state)
{
    struct cluster *c = fixture_cluster();

    (void)state;
    c->devices[0].drained = true;
    c->devices[1].failed = true;
    c->nodes[1].state = NODE_DOWN;
    c->nodes[2].state = NODE_ASLEEP; /* can be woken */
    for (int d = 0; d < c->device_count; d++)
        assert_int_equal(cluster_device_usable(c, d), d >= 6);
    cluster_destroy(c);
}

static void a_device_that_is_being_left_is_not_usable(void **state)
{
    struct cluster *c = fixture_cluster();

    (void)state;
    cluster_begin_leaving(c, 2, &(struct device_leaving){.job = 7, .until_s = 100});
    cluster_begin_leaving(c, 2, &(struct device_leaving){.job = 8, .until_s = 90});
    /* sooner than was thought */
    cluster_begin_leaving(c, 2, &(struct device_leaving){.job = 7, .until_s = 80});
    assert_int_equal(c->devices[2].leaving_count, 2);
    assert_true(cluster_leaving(c, 2, NULL)->until_s == 80);
    assert_false(cluster_device_usable(c, 2));
    assert_int_equal(cluster_node_jobs(c, 1), 2);
    cluster_end_leaving(c, 2, 9, 40); /* nobody there */
    cluster_end_leaving(c, 2, 7, 50);
    assert_false(cluster_device_usable(c, 2));
    cluster_end_leaving(c, 2, 8, 60);
    assert_true(cluster_device_usable(c, 2));
    assert_true(c->nodes[1].idle_since_s == 60);
    cluster_destroy(c);
}

static void idle_watts_are_those_of_all_devices_of_the_node(void **state)
{
    struct cluster *c = fixture_cluster();

    (void)state;
    assert_true(cluster_idle_watts(c, 0) == 2 * fixture_types[SLOW].idle_watts);
    assert_true(cluster_idle_watts(c, 1) == 4 * fixture_types[FAST].idle_watts);
    cluster_destroy(c);
}

static void each_spanned_node_counts_once(void **state)
{
    struct cluster *c = fixture_cluster();

    (void)state;
    assert_int_equal(cluster_nodes_spanned(c, (int[]){2, 3, 4}, 3), 1);
    assert_int_equal(cluster_nodes_spanned(c, (int[]){0, 6, 1, 7}, 4), 2);
    assert_int_equal(cluster_nodes_spanned(c, (int[]){0, 5, 7}, 3), 3);
    assert_int_equal(cluster_nodes_spanned(c, NULL, 0), 0);
    cluster_destroy(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_own_consecutive_devices_of_their_type),
        cmocka_unit_test(a_copy_shares_nothing),
        cmocka_unit_test(leaving_keeps_the_order_of_the_others),
        cmocka_unit_test(a_node_idles_from_when_its_last_job_left),
        cmocka_unit_test(drained_failed_and_down_devices_are_not_usable),
        cmocka_unit_test(a_device_that_is_being_left_is_not_usable),
        cmocka_unit_test(idle_watts_are_those_of_all_devices_of_the_node),
        cmocka_unit_test(each_spanned_node_counts_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
