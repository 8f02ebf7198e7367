/* sim_synthetic.c - whole simulations on the synthetic world: what holds for every policy
 */
#include "lab/sim/sweep.h"
#include "lab/traces/told_sizes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/sim.h"

static struct sweep_options all_policies(const char *workload, double load)
{
    struct sweep_options o = {.scenario = {.workload = workload, .days = 1, .seed = 11},
                              .sim = sim_default_options(),
                              .loads = {load},
                              .load_count = 1,
                              .seeds = 2};
    struct err err = {0};

    o.sim.check = true;
    assert_int_equal(policy_parse_list("all", o.policies, &o.policy_count, &err), 0);
    return o;
}

static struct sweep run(const struct sweep_options *o)
{
    struct sweep sweep = {0};
    struct err err = {0};

    if (sweep_run(&sweep, o, NULL, NULL, &err) < 0)
        fail_msg("%s", err.text);
    return sweep;
}

static const struct sweep_row *row_of(const struct sweep *sweep, const char *policy)
{
    for (size_t i = 0; i < sweep->row_count; i++)
        if (!strcmp(sweep->rows[i].policy->name, policy))
            return &sweep->rows[i];
    fail_msg("no row of %s", policy);
    return NULL;
}

static void every_request_and_every_joule_is_accounted_for(void **state)
{
    static const char *const workloads[] = {"demo", "standard", "modern"};

    (void)state;
    for (int w = 0; w < 3; w++) {
        struct sweep_options o = all_policies(workloads[w], 0.7);
        struct sweep sweep;

        o.sim.node_mtbf_s = 5 * 86400;
        o.seeds = 1;
        sweep = run(&o);
        for (size_t i = 0; i < sweep.row_count; i++) {
            assert_books_balance(&sweep.rows[i].runs[0]);
            assert_true(sweep.rows[i].runs[0].finished > 0);
        }
        sweep_fini(&sweep);
    }
}

/* The built-in cluster and world with training alone, as work done by a service depends
 * on how well it was served. */
static void every_policy_does_the_same_work(void **state)
{
    const struct scenario_options base = {.workload = "demo", .load = 0.8, .seed = 5};
    struct scenario s;
    struct err err = {0};
    size_t count, policies;
    const struct policy *all = policy_all(&policies);
    double wanted_h = 0;
    int *devices;

    (void)state;
    assert_int_equal(scenario_build(&s, &base, &err), 0);
    devices = mem_array(int, (size_t)s.world->gpu_count);
    for (int d = 0; d < s.cluster->device_count; d++)
        devices[s.gpu_of_type[s.cluster->devices[d].type]]++;
    workload_destroy(s.workload);
    s.workload = workload_generate(
        &(struct workload_options){
            .load = 0.7, .days = 1, .several_gpus = 0.1, .diurnal = true, .seed = 5},
        s.world, devices);
    told_sizes_apply(s.workload, 5);
    for (count = 0; count < s.workload->count; count++) {
        const struct sim_request *r = &s.workload->requests[count];

        wanted_h += r->steps / r->reference_rate / 3600 * r->job.devices;
    }
    for (size_t p = 0; p < policies; p++) {
        struct sim_options options = sim_default_options();
        const struct sim_setup setup = {.world = s.world,
                                        .workload = s.workload,
                                        .cluster = s.cluster,
                                        .gpu_of_type = s.gpu_of_type,
                                        .planner = all[p].planner,
                                        .model = all[p].model};
        struct sim_result r;

        options.node_mtbf_s = 3 * 86400;
        options.check = true;
        if (sim_run(&options, &setup, &r, &err) < 0)
            fail_msg("%s: %s", all[p].name, err.text);
        if (r.finished != count)
            fail_msg(
                "%s: of %zu jobs %zu finished, %zu run, %zu wait, %zu were refused, %zu "
                "failed",
                all[p].name, count, r.finished, r.running, r.waiting, r.refused,
                r.failed);
        assert_near(r.work_h, wanted_h, 1e-6 * wanted_h);
        assert_true(r.useful_h <= r.work_h * (1 + 1e-9));
        sim_result_fini(&r);
    }
    free(devices);
    scenario_fini(&s);
}

static double energy_j(const struct sim_result *r)
{
    return r->energy.total_j;
}

static double sla_time(const struct sim_result *r)
{
    return r->sla_time;
}

static double sla_jobs(const struct sim_result *r)
{
    return r->sla_jobs;
}

/* A bound need not hold run by run: the planner is greedy even when it knows the truth.
 */
static void the_oracle_is_a_bound_within_reason(void **state)
{
    struct sweep_options o = all_policies("demo", 0.6);
    const struct sweep_row *oracle, *corgi, *fifo;
    struct sweep sweep;

    (void)state;
    o.seeds = 3;
    sweep = run(&o);
    oracle = row_of(&sweep, "oracle");
    corgi = row_of(&sweep, "corgi");
    fifo = row_of(&sweep, "fifo");
    assert_true(sweep_mean(oracle, energy_j).mean <=
                1.05 * sweep_mean(corgi, energy_j).mean);
    assert_true(sweep_mean(oracle, sla_time).mean >= sweep_mean(fifo, sla_time).mean);
    assert_true(sweep_mean(oracle, sla_jobs).mean >= sweep_mean(fifo, sla_jobs).mean);
    assert_true(sweep_mean(corgi, energy_j).mean < sweep_mean(fifo, energy_j).mean);
    sweep_fini(&sweep);
}

static void threads_change_nothing(void **state)
{
    struct sweep_options o = all_policies("demo", 0.8);
    struct sweep one, two;

    (void)state;
    o.sim.node_mtbf_s = 10 * 86400;
    o.threads = 1;
    one = run(&o);
    o.threads = 2;
    two = run(&o);
    for (size_t i = 0; i < one.row_count; i++)
        for (int s = 0; s < o.seeds; s++) {
            const struct sim_result *a = &one.rows[i].runs[s], *b = &two.rows[i].runs[s];

            assert_memory_equal(&a->energy, &b->energy, sizeof(a->energy));
            assert_memory_equal(a->job_results, b->job_results,
                                a->jobs * sizeof(*a->job_results));
            assert_int_equal(a->rounds, b->rounds);
        }
    sweep_fini(&one);
    sweep_fini(&two);
}

static void sleep_never_costs_fifo_energy(void **state)
{
    struct sweep_options o = all_policies("demo", 0.3);
    struct sweep awake, asleep;

    (void)state;
    o.policies[0] = policy_find("fifo");
    o.policy_count = 1;
    o.seeds = 4;
    asleep = run(&o);
    o.sim.settings.sleep = false;
    awake = run(&o);
    for (int s = 0; s < o.seeds; s++) {
        const struct meter_totals *off = &awake.rows[0].runs[s].energy;

        assert_true(off->total_j > asleep.rows[0].runs[s].energy.total_j);
        assert_near(off->wake_j + off->asleep_j, 0, 0);
    }
    assert_false(awake.rows[0].sleep);
    sweep_fini(&awake);
    sweep_fini(&asleep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_request_and_every_joule_is_accounted_for),
        cmocka_unit_test(every_policy_does_the_same_work),
        cmocka_unit_test(the_oracle_is_a_bound_within_reason),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(sleep_never_costs_fifo_energy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
