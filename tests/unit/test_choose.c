/* test_choose.c - the cheapest device, or the cheapest set for a gang */
#include "loop_fixture.h"

#include "base/rng.h"
#include "lab/policy/choose.h"

/* ctx: scores of the devices, NaN: must not go there. */
static bool from_table(void *ctx, const struct occupancy *o,
                       const struct optimize_input *in, const struct job_status *job,
                       int device, double *score)
{
    const double *scores = ctx;

    (void)o;
    (void)in;
    (void)job;
    *score = scores[device];
    return !isnan(*score);
}

struct choice {
    bool found;
    int devices[LOOP_MAX_GANG];
    double total;
};

static struct choice choose(struct fixture *f, struct job job, double *scores)
{
    const struct job_status status = {.job = job};
    struct occupancy o = {0};
    struct choose c = {0};
    struct choice out = {.total = NAN};

    occupancy_load(&o, fixture_input(f, 0));
    out.found = choose_devices(&c, &o, &f->in, &status, from_table, scores, out.devices,
                               &out.total);
    choose_fini(&c);
    occupancy_fini(&o);
    return out;
}

static void one_device_is_the_cheapest_and_the_first_of_equals(void **state)
{
    double scores[] = {5, 4, 9, 3, 3, 8, NAN, 7};
    struct choice c;
    struct fixture f;

    (void)state;
    fixture_init(&f);
    c = choose(&f, fixture_job(1, 1), scores);
    assert_true(c.found && c.total == 3);
    assert_int_equal(c.devices[0], 3);
    f.cluster->devices[3].drained = true;
    c = choose(&f, fixture_job(1, 1), scores);
    assert_int_equal(c.devices[0], 4);
    fixture_fini(&f);
}

static void nowhere_to_go_is_said(void **state)
{
    double scores[] = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    double three[] = {1, NAN, 1, 1, NAN, NAN, NAN, NAN};
    struct fixture f;

    (void)state;
    fixture_init(&f);
    assert_false(choose(&f, fixture_job(1, 1), scores).found);
    assert_false(choose(&f, fixture_job(1, 3), three).found); /* not of one type */
    fixture_fini(&f);
}

static void a_gang_sits_on_one_node_even_if_spreading_were_cheaper(void **state)
{
    double scores[] = {1, 50, 90, 90, 90, 90, 1, 50};
    struct choice c;
    struct fixture f;

    (void)state;
    fixture_init(&f);
    c = choose(&f, fixture_job(1, 2), scores);
    assert_true(c.found && c.total == 51);
    assert_int_equal(cluster_nodes_spanned(f.cluster, c.devices, 2), 1);
    fixture_fini(&f);
}

static void a_gang_spreads_within_a_type_when_no_node_is_large_enough(void **state)
{
    double scores[] = {1, 2, NAN, NAN, 90, 90, 4, 3};
    struct choice c;
    struct fixture f;

    (void)state;
    fixture_init(&f);
    c = choose(&f, fixture_job(1, 3), scores);
    assert_true(c.found && c.total == 6);
    for (int i = 0; i < 3; i++)
        assert_int_equal(f.cluster->devices[c.devices[i]].type, SLOW);
    fixture_fini(&f);
}

static void a_gang_takes_the_cheaper_of_two_types(void **state)
{
    double scores[] = {20, 20, 9, 30, 8, 7, 20, 20};
    struct choice c;
    struct fixture f;

    (void)state;
    fixture_init(&f);
    c = choose(&f, fixture_job(1, 2), scores);
    assert_true(c.found && c.total == 15);
    assert_int_equal(c.devices[0] + c.devices[1], 4 + 5);
    fixture_fini(&f);
}

/* The cheapest `wanted` of one node, by looking at all subsets of its devices. */
static double brute_force(const struct cluster *c, const double *scores, int wanted)
{
    double best = INFINITY;

    for (int n = 0; n < c->node_count; n++)
        for (unsigned set = 0; set < 1u << c->nodes[n].device_count; set++) {
            double sum = 0;
            int count = 0;

            for (int i = 0; i < c->nodes[n].device_count; i++)
                if (set >> i & 1) {
                    sum += scores[c->nodes[n].first_device + i];
                    count++;
                }
            if (count == wanted && sum < best)
                best = sum;
        }
    return best;
}

static void random_gangs_get_what_brute_force_finds(void **state)
{
    struct fixture f;
    struct rng rng;

    (void)state;
    fixture_init(&f);
    rng_init(&rng, 11);
    for (int round = 0; round < 300; round++) {
        double scores[8];
        int wanted = 2 + (int)rng_below(&rng, 3);
        struct choice c;

        for (int d = 0; d < 8; d++)
            scores[d] = rng_range(&rng, -50, 50);
        c = choose(&f, fixture_job(1, wanted), scores);
        assert_true(c.found);
        /* Four on one node are only on the fast one; the slow type may be cheaper. */
        if (wanted == 2)
            assert_close(c.total, brute_force(f.cluster, scores, wanted), 1e-9);
        else
            assert_true(c.total <= brute_force(f.cluster, scores, wanted) + 1e-9);
    }
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_device_is_the_cheapest_and_the_first_of_equals),
        cmocka_unit_test(nowhere_to_go_is_said),
        cmocka_unit_test(a_gang_sits_on_one_node_even_if_spreading_were_cheaper),
        cmocka_unit_test(a_gang_spreads_within_a_type_when_no_node_is_large_enough),
        cmocka_unit_test(a_gang_takes_the_cheaper_of_two_types),
        cmocka_unit_test(random_gangs_get_what_brute_force_finds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
