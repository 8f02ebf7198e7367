/* test_energy_bound.c - the lower bound is right where it can be worked out by hand, and
 * no run stays below it */
#include "lab/bound/energy_bound.h"

#include "lab/sim/run_measure.h"
#include "lab/sim/sweep.h"
#include "world/power.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/sim.h"

struct fixture {
    struct world *world;
    struct cluster *cluster;
    struct workload *workload;
    struct truth truth;
    struct bound_case in;
};

static int setup(void **state)
{
    struct fixture *f = mem_new(struct fixture);

    f->world = fixture_world();
    f->cluster = fixture_cluster(f->world, 1, 1, 2);
    f->workload = fixture_workload();
    f->truth = (struct truth){.world = f->world, .gpu_of_type = fixture_types};
    f->in = (struct bound_case){.truth = &f->truth,
                                .workload = f->workload,
                                .cluster = f->cluster,
                                .grace_s = 600,
                                .share_max = 1};
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    workload_destroy(f->workload);
    cluster_destroy(f->cluster);
    world_destroy(f->world);
    free(f);
    return 0;
}

/* Watts of a device of the type with a job that uses 0.6 of it, and its part of a node.
 */
static double watts_of(const struct fixture *f, int type)
{
    return power_draw_watts(&f->world->gpus[type], 0.6) + (100 - 10) / 2.0;
}

/* One job that both types can serve goes where its work takes the least. */
static void one_job_takes_what_its_best_type_takes(void **state)
{
    struct fixture *f = *state;
    double steps = 36000, k80, v100;

    fixture_training(f->workload, f->world, FIXTURE_LIGHT, 0, steps / 40);
    k80 = steps / 10 * watts_of(f, FIXTURE_K80);
    v100 = steps / 40 * watts_of(f, FIXTURE_V100);
    assert_near(energy_bound_joules(&f->in), fmin(k80, v100), 0.01 * fmin(k80, v100));
    assert_true(energy_bound_joules(&f->in) <= fmin(k80, v100));
}

static void further_levers_never_raise_it(void **state)
{
    struct fixture *f = *state;
    double alone, shared, capped;

    for (int i = 0; i < 4; i++)
        fixture_training(f->workload, f->world, i % 2 ? FIXTURE_LIGHT : FIXTURE_HEAVY,
                         60 * i, 5000);
    alone = energy_bound_joules(&f->in);
    f->in.share_max = 2;
    shared = energy_bound_joules(&f->in);
    f->in.caps = true;
    capped = energy_bound_joules(&f->in);
    assert_true(shared < alone);
    assert_true(capped < shared);
}

/* The type that is cheaper for the work does not help where it is too slow. */
static void requirements_rule_types_out(void **state)
{
    struct fixture *f = *state;
    double k80 = 3600 * watts_of(f, FIXTURE_K80), v100 = 3600 * watts_of(f, FIXTURE_V100);

    *world_alone(f->world, FIXTURE_K80, FIXTURE_LIGHT) = 38; /* nearly as fast */
    fixture_training(f->workload, f->world, FIXTURE_LIGHT, 0, 3600);
    assert_near(energy_bound_joules(&f->in), fmin(k80 * 40 / 38, v100), 0.01 * k80);
    f->workload->requests[0].job.need.rate = k80 < v100 ? 39 : 30;
    assert_near(energy_bound_joules(&f->in), v100, 0.01 * v100);
}

static void rates_that_drift_have_none(void **state)
{
    struct fixture *f = *state;

    fixture_training(f->workload, f->world, FIXTURE_LIGHT, 0, 1000);
    f->truth.drift = 0.1;
    assert_true(isnan(energy_bound_joules(&f->in)));
}

static void no_run_stays_below_it(void **state)
{
    struct sweep_options o = {.scenario = {.workload = "demo", .days = 0.5, .seed = 11},
                              .sim = sim_default_options(),
                              .policies = {policy_find("oracle"), policy_find("corgi")},
                              .policy_count = 2,
                              .loads = {0.5},
                              .load_count = 1,
                              .seeds = 3,
                              .threads = 1,
                              .bound = true};
    struct sweep sweep;
    struct err err = {0};

    (void)state;
    assert_int_equal(sweep_run(&sweep, &o, NULL, NULL, &err), 0);
    for (size_t i = 0; i < sweep.row_count; i++)
        for (int s = 0; s < sweep.rows[i].seeds; s++) {
            assert_true(measure_above_bound(&sweep.rows[i].runs[s]) > 0);
            assert_true(measure_above_bound(&sweep.rows[i].runs[s]) < 150);
            assert_near(sweep.rows[i].runs[s].bound_j, sweep.rows[0].runs[s].bound_j, 0);
        }
    sweep_fini(&sweep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_job_takes_what_its_best_type_takes, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(further_levers_never_raise_it, setup, teardown),
        cmocka_unit_test_setup_teardown(requirements_rule_types_out, setup, teardown),
        cmocka_unit_test_setup_teardown(rates_that_drift_have_none, setup, teardown),
        cmocka_unit_test(no_run_stays_below_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
