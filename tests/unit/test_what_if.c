/* test_what_if.c - the same cluster with other cards */
#include "lab/sim/what_if.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/sim.h"

static struct world *world;
static struct cluster *cluster;
static struct err err;

static int set_up(void **state)
{
    (void)state;
    world = fixture_world();
    cluster = fixture_cluster(world, 2, 1, 4);
    err = (struct err){0};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    cluster_destroy(cluster);
    world_destroy(world);
    return 0;
}

static int count_of(const char *gpu)
{
    int count = 0;

    for (int d = 0; d < cluster->device_count; d++)
        count += gpu_named(&cluster->types[cluster->devices[d].type], gpu);
    return count;
}

static void cards_go_and_others_come(void **state)
{
    (void)state;
    assert_int_equal(what_if_replace(&cluster, "k80:8=l4:6", &err), 0);
    assert_int_equal(count_of("k80"), 0);
    assert_int_equal(count_of("l4"), 6);
    assert_int_equal(count_of("v100"), 4);
    assert_int_equal(cluster->type_count, 2); /* nobody has a K80 any more */
    assert_int_equal(cluster->node_count, 3); /* nodes of four, as those that went */
    assert_near(cluster->nodes[1].host_watts, 100, 0);
}

static void part_of_a_node_may_go(void **state)
{
    (void)state;
    assert_int_equal(what_if_replace(&cluster, "k80:6=,=v100:2", &err), 0);
    assert_int_equal(count_of("k80"), 2);
    assert_int_equal(count_of("v100"), 6);
}

static void a_wrong_change_leaves_the_cluster_alone(void **state)
{
    static const char *const wrong[] = {"k80:9=l4:2", "k80=l4",        "k80:1",
                                        "nix:1=l4:1", "k80:0=l4:1",    "k80:8=l4:x",
                                        "=",          "k80:8=,v100:4="};

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct cluster *before = cluster;

        if (what_if_replace(&cluster, wrong[i], &err) == 0)
            fail_msg("%s was taken", wrong[i]);
        assert_ptr_equal(cluster, before);
        assert_int_equal(cluster->device_count, 12);
    }
}

#define what_if_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        what_if_test(cards_go_and_others_come),
        what_if_test(part_of_a_node_may_go),
        what_if_test(a_wrong_change_leaves_the_cluster_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
