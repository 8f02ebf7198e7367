/* test_policy_simple.c - each conventional policy does what its name says */
#include "lab/policy/policy.h"

#include "world/power.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/policy.h"

static struct policy_round r;

static int tear_down(void **state)
{
    (void)state;
    policy_round_fini(&r);
    return 0;
}

static void slowest_ok_takes_the_slowest_type_that_suffices(void **state)
{
    struct job_status *easy, *hard;

    (void)state;
    policy_round_init(&r, "slowest-ok", 1, 1, 4);
    easy = policy_round_job(&r, 8);
    hard = policy_round_job(&r, 20);
    policy_round_plan(&r);
    assert_int_equal(round_type(&r, easy), FIXTURE_K80);
    assert_int_equal(round_type(&r, hard), FIXTURE_V100);
}

static void slowest_ok_waits_for_its_grace_time_and_no_longer(void **state)
{
    struct job_status *first, *second;

    (void)state;
    policy_round_init(&r, "slowest-ok", 1, 1, 1);
    first = policy_round_job(&r, 20);
    second = policy_round_job(&r, 20);
    policy_round_plan(&r);
    assert_int_equal(round_type(&r, first), FIXTURE_V100);
    assert_int_equal(round_type(&r, second), -1);
    r.now_s += r.settings.grace_s;
    policy_round_plan(&r);
    assert_int_equal(round_type(&r, second), FIXTURE_K80);
}

static void slowest_ok_moves_a_job_measured_to_fall_short(void **state)
{
    struct job_status *job;

    (void)state;
    policy_round_init(&r, "slowest-ok", 1, 1, 2);
    job = policy_round_job(&r, 8);
    policy_round_plan(&r);
    r.beliefs.rate[FIXTURE_K80] = 5;
    policy_round_plan(&r);
    assert_int_equal(round_type(&r, job), FIXTURE_K80); /* not settled yet */
    r.now_s += 700;
    policy_round_plan(&r);
    assert_int_equal(round_type(&r, job), FIXTURE_V100);
    assert_int_equal(job->moves, 1);
}

static void a_wide_interval_needs_a_faster_type(void **state)
{
    struct job_status *job;

    (void)state;
    policy_round_init(&r, "slowest-ok", 1, 1, 2);
    r.beliefs.sd = 0.5;
    job = policy_round_job(&r, 9);
    policy_round_plan(&r);
    assert_int_equal(round_type(&r, job), FIXTURE_V100);
}

/* 100 W + host over 10 steps/s against 200 W + host over 40. */
static void least_energy_weighs_watts_against_time(void **state)
{
    struct job_status *training, *service;

    (void)state;
    policy_round_init(&r, "least-energy", 1, 1, 4);
    training = policy_round_job(&r, 5);
    service = policy_round_job(&r, 5);
    service->job.kind = JOB_INFERENCE;
    service->job.need.kind = NEED_SERVICE;
    policy_round_plan(&r);
    assert_int_equal(round_type(&r, training), FIXTURE_V100);
    /* A service lasts as long anywhere: the lower draw wins. */
    assert_int_equal(round_type(&r, service), FIXTURE_K80);
}

static void least_energy_fills_nodes_in_use_when_nodes_may_sleep(void **state)
{
    struct job_status *jobs[4];

    (void)state;
    policy_round_init(&r, "least-energy", 0, 2, 2);
    for (int i = 0; i < 4; i++)
        jobs[i] = policy_round_job(&r, 5);
    policy_round_plan(&r);
    assert_int_equal(policy_round_node(&r, jobs[0]), policy_round_node(&r, jobs[1]));
    assert_int_not_equal(policy_round_node(&r, jobs[0]), policy_round_node(&r, jobs[2]));
    for (int d = 0; d < 4; d++)
        assert_int_equal(r.cluster->devices[d].job_count, 1);
}

static void least_energy_keeps_requirements_first(void **state)
{
    struct job_status *service;

    (void)state;
    policy_round_init(&r, "least-energy", 1, 1, 4);
    service = policy_round_job(&r, 20);
    service->job.kind = JOB_INFERENCE;
    service->job.need.kind = NEED_SERVICE;
    service->required_rate = 1; /* its peak counts, not the demand of the moment */
    policy_round_plan(&r);
    assert_int_equal(round_type(&r, service), FIXTURE_V100);
}

/* The rate left by the limit this policy sets for a job alone on a V100 that asks for so
 * much of the 40 it would do. */
static double speed_left(const char *policy, double need)
{
    const struct gpu_sheet *gpu;
    struct job_status *job;
    double speed;

    policy_round_init(&r, policy, 0, 1, 1);
    r.settings.caps = true;
    r.beliefs.watts[FIXTURE_V100] = 290;
    job = policy_round_job(&r, need);
    policy_round_plan(&r);
    gpu = &r.cluster->types[FIXTURE_V100];
    assert_int_equal(job->device_count, 1);
    speed = power_under_cap(gpu, power_busy(gpu, 290), r.plan.cap_watts[job->devices[0]])
                .speed;
    tear_down(NULL);
    return speed;
}

static void limits_save_energy_as_far_as_the_requirement_holds(void **state)
{
    double free = speed_left("least-energy-caps", 1);

    (void)state;
    assert_true(free < 0.95);
    assert_true(speed_left("zeus-like", 1) > free); /* it minds the time as well */
    assert_in_range(1000 * speed_left("ear-like", 1), 950, 999);
    assert_true(speed_left("least-energy-caps", 40 * 0.95) >= 0.95);
    assert_near(speed_left("least-energy-caps", 39.9), 1, 0);
    assert_near(speed_left("least-energy", 1), 1, 0);
    assert_true(speed_left("gavel-energy-packed", 1) < 0.95);
    assert_near(speed_left("gavel-cost-packed", 1), 1, 0);
}

static void slurm_like_names_a_type_once(void **state)
{
    struct job_status *narrow, *wide, *behind;

    (void)state;
    policy_round_init(&r, "slurm-like", 1, 1, 1);
    narrow = policy_round_job(&r, 9.5); /* a tenth more than that no K80 gives */
    wide = policy_round_job(&r, 30);
    behind = policy_round_job(&r, 5);
    policy_round_plan(&r);
    assert_int_equal(round_type(&r, narrow), FIXTURE_V100);
    assert_int_equal(round_type(&r, wide), -1);            /* waits for its type ... */
    assert_int_equal(round_type(&r, behind), FIXTURE_K80); /* ... others pass it */
    r.beliefs.rate[FIXTURE_K80] = 100;
    r.now_s += 7200;
    policy_round_plan(&r);
    assert_int_equal(round_type(&r, wide), -1);
}

/* Do two jobs that keep a card this busy go on one device? */
static bool packed(double busy)
{
    const struct gpu_sheet *v100;

    policy_round_init(&r, "pack-util", 0, 1, 2);
    v100 = &r.cluster->types[FIXTURE_V100];
    r.beliefs.watts[FIXTURE_V100] =
        v100->idle_watts + busy * (v100->tdp_watts - v100->idle_watts);
    policy_round_job(&r, 5);
    policy_round_job(&r, 5);
    policy_round_plan(&r);
    return r.jobs[0].devices[0] == r.jobs[1].devices[0];
}

static void pack_util_shares_only_what_adds_up(void **state)
{
    (void)state;
    assert_true(packed(0.4));
    policy_round_fini(&r);
    assert_false(packed(0.6));
}

static void round_robin_goes_from_node_to_node(void **state)
{
    struct job_status *jobs[6];

    (void)state;
    policy_round_init(&r, "round-robin", 2, 1, 2);
    for (int i = 0; i < 6; i++)
        jobs[i] = policy_round_job(&r, 5);
    policy_round_plan(&r);
    for (int i = 0; i < 6; i++)
        assert_int_equal(policy_round_node(&r, jobs[i]), i % 3);
}

static void random_uses_every_device_and_depends_on_the_seed_alone(void **state)
{
    int first[8];

    (void)state;
    for (int run = 0; run < 2; run++) {
        if (run > 0)
            policy_round_fini(&r);
        policy_round_init(&r, "random", 1, 1, 4);
        for (int i = 0; i < 8; i++)
            policy_round_job(&r, 5);
        policy_round_plan(&r);
        for (int i = 0; i < 8; i++) {
            assert_int_equal(r.cluster->devices[i].job_count, 1);
            if (run == 0)
                first[i] = r.jobs[i].devices[0];
            assert_int_equal(first[i], r.jobs[i].devices[0]);
        }
    }
}

static void fifo_holds_everyone_behind_a_blocked_head(void **state)
{
    struct job_status *small;

    (void)state;
    policy_round_init(&r, "fifo", 1, 0, 2);
    policy_round_job(&r, 5);
    policy_round_job(&r, 5)->job.devices = 2;
    small = policy_round_job(&r, 5);
    policy_round_plan(&r);
    assert_int_equal(small->device_count, 0);
    assert_int_equal(r.plan.seats[2].reason, UNPLACED_POLICY);
}

static void backfill_ends_for_a_gang_that_has_waited_an_hour(void **state)
{
    struct job_status *gang, *small;

    (void)state;
    policy_round_init(&r, "slowest-ok", 1, 0, 2);
    policy_round_job(&r, 5);
    gang = policy_round_job(&r, 5);
    gang->job.devices = 2;
    r.now_s += 4000;
    small = policy_round_job(&r, 5);
    policy_round_plan(&r);
    assert_int_equal(small->device_count, 0);
    r.now_s -= 3000;
    policy_round_plan(&r);
    assert_int_equal(small->device_count, 1);
}

/* Scripts and measurements rely on these names. */
static void the_table_has_every_fixed_name(void **state)
{
    static const char *const names[] = {"corgi",
                                        "corgi-nocaps",
                                        "corgi-p1",
                                        "corgi-noshare",
                                        "corgi-nomoves",
                                        "corgi-nosleep",
                                        "corgi-noexplore",
                                        "oracle",
                                        "oracle-nocaps",
                                        "feedback-only",
                                        "fifo",
                                        "random",
                                        "round-robin",
                                        "fastest",
                                        "slurm-like",
                                        "slowest-ok",
                                        "pack-blind",
                                        "pack-util",
                                        "least-energy",
                                        "least-energy-caps",
                                        "zeus-like",
                                        "ear-like",
                                        "pwr-fgd",
                                        "gavel-energy-packed",
                                        "gavel-cost",
                                        "gavel-cost-packed",
                                        "gavel-maxmin",
                                        "gavel-maxmin-packed"};
    const struct policy *list[POLICY_MAX];
    size_t count;
    struct err err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!policy_find(names[i]))
            fail_msg("there is no policy %s", names[i]);
    assert_int_equal(policy_parse_list("all", list, &count, &err), 0);
    assert_int_equal(count, sizeof(names) / sizeof(names[0]));
    assert_int_equal(policy_parse_list("corgi,nothing", list, &count, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
}

#define policy_test(f) cmocka_unit_test_teardown(f, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        policy_test(slowest_ok_takes_the_slowest_type_that_suffices),
        policy_test(slowest_ok_waits_for_its_grace_time_and_no_longer),
        policy_test(slowest_ok_moves_a_job_measured_to_fall_short),
        policy_test(a_wide_interval_needs_a_faster_type),
        policy_test(least_energy_weighs_watts_against_time),
        policy_test(least_energy_fills_nodes_in_use_when_nodes_may_sleep),
        policy_test(least_energy_keeps_requirements_first),
        cmocka_unit_test(limits_save_energy_as_far_as_the_requirement_holds),
        policy_test(slurm_like_names_a_type_once),
        policy_test(pack_util_shares_only_what_adds_up),
        policy_test(round_robin_goes_from_node_to_node),
        policy_test(random_uses_every_device_and_depends_on_the_seed_alone),
        policy_test(fifo_holds_everyone_behind_a_blocked_head),
        cmocka_unit_test(the_table_has_every_fixed_name),
        policy_test(backfill_ends_for_a_gang_that_has_waited_an_hour),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
