/* power_by_hour.c - a day on a cluster that may draw less from eight to eight
 *
 * There is always more work than the cluster can do.  By day it draws no more than it
 * may, over any minute; by night what it may draw then is used. */
#include "lab/sim/sim_run.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/sim.h"

#define DAY_S       86400.0
#define NIGHT_WATTS 1500.0
#define DAY_WATTS   900.0
#define TOLERED     1.03

/* Half as much again as six V100s can do; every third job is best effort. */
static struct workload *greedy_day(const struct world *world, uint64_t seed)
{
    struct workload *w = fixture_workload();
    struct rng rng;

    rng_stream(&rng, seed, 1);
    for (double at_s = 0; at_s < DAY_S;) {
        double size_s = 1800 + 7200 * rng_uniform(&rng);

        fixture_training(w, world, FIXTURE_LIGHT, at_s, size_s);
        if (w->count % 3 == 0)
            w->requests[w->count - 1].job.need.kind = NEED_BEST_EFFORT;
        at_s += size_s / 9;
    }
    return w;
}

static struct meter_totals day_under(const char *limit, uint64_t seed)
{
    struct world *world = fixture_world();
    struct workload *w = greedy_day(world, seed);
    struct cluster *cluster = fixture_cluster(world, 0, 3, 2);
    struct sim_options options = fixture_options();
    struct sim_result result;
    struct meter_totals energy;
    struct err err = {0};

    if (power_schedule_parse(limit, &options.settings.power_limit, &err) < 0)
        fail_msg("%s", err.text);
    options.limit_s = DAY_S;
    options.seed = seed;
    options.check = true;
    options.noise_sd = 0.03;
    result = fixture_run("corgi", &options, world, w, cluster);
    energy = result.energy;
    print_message("%s: peak %.0f W, %.3f of the limit, %.1f kWh\n", limit,
                  energy.peak_watts, energy.peak_share, energy.total_j / 3.6e6);
    sim_result_fini(&result);
    workload_destroy(w);
    cluster_destroy(cluster);
    world_destroy(world);
    return energy;
}

static void the_limit_of_the_hour_is_kept(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct meter_totals energy = day_under("1500W, 08:00-20:00 900W", seed);

        assert_true(energy.peak_share > 0.9);
        assert_true(energy.peak_share <= TOLERED);
        /* It is not as if the lower limit held all day. */
        assert_true(energy.peak_watts > 1.2 * DAY_WATTS);
        assert_true(energy.total_j > 1.1 * DAY_WATTS * DAY_S);
        assert_true(energy.total_j < (NIGHT_WATTS + DAY_WATTS) / 2 * DAY_S * TOLERED);
    }
}

/* Hours over midnight, and none at all at other times. */
static void a_limit_may_hold_over_midnight(void **state)
{
    struct meter_totals energy = day_under("none, 18:00-06:00 900W", 4);

    (void)state;
    assert_true(energy.peak_share > 0.9);
    assert_true(energy.peak_share <= TOLERED);
    assert_true(energy.peak_watts > 1.2 * DAY_WATTS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_limit_of_the_hour_is_kept),
        cmocka_unit_test(a_limit_may_hold_over_midnight),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
