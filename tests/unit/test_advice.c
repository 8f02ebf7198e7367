/* test_advice.c - jobs are replayed where and when they ran; what follows from that for
 * users, for GPUs that are hardly used, and for the trust in it */
#include "lab/advise/advice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/sim.h"
#include "fixture/text_file.h"

#define HEADER                                                                           \
    "JobID|User|JobName|Submit|Start|Elapsed|AllocTRES|NNodes|NodeList|State|"           \
    "ConsumedEnergyRaw|AdminComment\n"

static const char nodes_text[] = "NODELIST GRES\nold1 gpu:k80:2\nnew1 gpu:v100:2\n";

static struct slurm slurm;
static struct sweep sweep;
static struct sweep_options options;
static struct err err;

static int tear_down(void **state)
{
    (void)state;
    sweep_fini(&sweep);
    slurm_fini(&slurm);
    return 0;
}

static void load(const char *jobs, double since_s)
{
    const struct slurm_options from = {.jobs = text_file("sacct.txt", jobs),
                                       .nodes = text_file("sinfo.txt", nodes_text),
                                       .since_s = since_s};

    err = (struct err){0};
    if (slurm_load(&slurm, &from, &err) < 0)
        fail_msg("%s", err.text);
}

static void play(int draws)
{
    options = (struct sweep_options){.sim = sim_default_options(),
                                     .policies = {&policy_as_it_ran, policy_find("fifo")},
                                     .policy_count = 2,
                                     .loads = {1},
                                     .load_count = 1,
                                     .seeds = draws,
                                     .threads = 1};
    options.sim.check = true;
    options.scenario = (struct scenario_options){.workload = "standard",
                                                 .slurm = &slurm,
                                                 .alone_sd = options.sim.alone_sd,
                                                 .as_is = true,
                                                 .seed = 1};
    if (sweep_run(&sweep, &options, NULL, NULL, &err) < 0)
        fail_msg("%s", err.text);
}

static void jobs_start_and_end_when_they_did(void **state)
{
    static const double starts[] = {0, 3600, 600, 7200},
                        ends[] = {7200, 5400, 9000, 9000};
    struct advice advice = {0};

    (void)state;
    /* The second waited for an hour though a GPU was free; the last begins on the GPU
     * that the first leaves in the same second. */
    load(HEADER
         "1|ada|a|2024-03-01T08:00:00|2024-03-01T08:00:00|02:00:00|gres/gpu=1|1|new1|"
         "COMPLETED|0|\n"
         "2|bob|b|2024-03-01T08:00:00|2024-03-01T09:00:00|00:30:00|gres/gpu=1|1|old1|"
         "COMPLETED|0|\n"
         "3|ada|c|2024-03-01T08:10:00|2024-03-01T08:10:00|02:20:00|gres/gpu=1|1|new1|"
         "COMPLETED|0|\n"
         "4|bob|d|2024-03-01T08:20:00|2024-03-01T10:00:00|00:30:00|gres/gpu=1|1|new1|"
         "COMPLETED|0|\n",
         0);
    play(3);
    for (int d = 0; d < 3; d++)
        for (size_t i = 0; i < 4; i++) {
            const struct sim_job_result *r = &sweep.rows[0].runs[d].job_results[i];
            size_t line = slurm.arrivals.items[i].record;

            assert_int_equal(r->end, SIM_FINISHED);
            assert_near(r->wait_s + slurm.arrivals.items[i].at_s, starts[line], 1e-6);
            assert_near(r->end_s, ends[line], 0.01);
        }
    assert_int_equal(advice_init(&advice, &sweep, &options, &err), 0);
    assert_int_equal(advice.fit.ended, 4);
    assert_near(advice.fit.energy_percent, 0, 0.01);
    assert_near(advice.fit.ends_percent, 0, 0.01);
    assert_near(advice.fit.ends_within, 1, 0);
    assert_near(advice.days, 9000.0 / 86400, 1e-9);
    advice_fini(&advice);
}

static void a_job_that_cannot_be_placed_twice_makes_the_replay_differ(void **state)
{
    struct advice advice = {0};

    (void)state;
    /* Three at once on two GPUs: the record contradicts itself, and that shows. */
    load(HEADER
         "1|ada|a|2024-03-01T08:00:00|2024-03-01T08:00:00|01:00:00|gres/gpu=1|1|new1|"
         "COMPLETED|0|\n"
         "2|ada|a|2024-03-01T08:00:00|2024-03-01T08:00:00|01:00:00|gres/gpu=1|1|new1|"
         "COMPLETED|0|\n"
         "3|ada|a|2024-03-01T08:00:00|2024-03-01T08:00:00|01:00:00|gres/gpu=1|1|new1|"
         "COMPLETED|0|\n",
         0);
    play(1);
    assert_int_equal(advice_init(&advice, &sweep, &options, &err), 0);
    assert_near(advice.fit.ends_percent, 100.0 / 3, 0.01);
    assert_near(advice.fit.ends_within, 2.0 / 3, 1e-9);
    advice_fini(&advice);
}

/* Two GPUs, two jobs on parts of one of them, one on the other. */
static void jobs_that_shared_a_gpu_are_replayed_so(void **state)
{
    struct advice advice = {0};

    (void)state;
    load(HEADER
         "1|ada|a|2024-03-01T08:00:00|2024-03-01T08:00:00|01:00:00|gres/shard=1|1|new1|"
         "COMPLETED|0|\n"
         "2|ada|b|2024-03-01T08:00:00|2024-03-01T08:10:00|01:00:00|gres/shard=1|1|new1|"
         "COMPLETED|0|\n"
         "3|bob|c|2024-03-01T08:00:00|2024-03-01T08:20:00|01:00:00|gres/gpu=1|1|new1|"
         "COMPLETED|0|\n",
         0);
    play(2);
    assert_int_equal(advice_init(&advice, &sweep, &options, &err), 0);
    assert_int_equal(advice.fit.ended, 3);
    assert_near(advice.fit.ends_percent, 0, 0.01);
    /* The record knows that two on a GPU draw less than twice what one draws. */
    assert_near(advice.fit.energy_percent, 0, 0.01);
    advice_fini(&advice);
}

/* A k80 and a V100 at once: it goes on at the pace of the k80 when it is replayed. */
static void a_job_on_two_types_is_replayed_on_both(void **state)
{
    struct advice advice = {0};

    (void)state;
    load(HEADER "1|ada|a|2024-03-01T08:00:00|2024-03-01T08:00:00|01:00:00|gres/gpu=2|2|"
                "new1,old1|COMPLETED|0|\n"
                "2|bob|b|2024-03-01T08:00:00|2024-03-01T08:10:00|01:00:00|gres/gpu=1|1|"
                "new1|COMPLETED|0|\n",
         0);
    play(2);
    assert_int_equal(advice_init(&advice, &sweep, &options, &err), 0);
    assert_int_equal(advice.fit.ended, 2);
    assert_near(advice.fit.ends_percent, 0, 0.01);
    advice_fini(&advice);
}

static void users_are_told_what_they_gain(void **state)
{
    struct advice advice = {0};

    (void)state;
    load(HEADER
         "1|ada|a|2024-03-01T08:00:00|2024-03-01T08:00:00|01:00:00|gres/gpu=1|1|new1|"
         "COMPLETED|3600000|\n"
         "2|bob|b|2024-03-01T08:00:00|2024-03-01T12:00:00|01:00:00|gres/gpu=1|1|new1|"
         "COMPLETED|0|\n",
         0);
    play(2);
    assert_int_equal(advice_init(&advice, &sweep, &options, &err), 0);
    assert_int_equal(advice.user_count, 2);
    assert_string_equal(advice.users[1].name, "bob");
    assert_near(advice.users[1].wait_was_h, 4, 1e-9);
    assert_near(advice.users[1].wait_h, 0, 0.01);
    assert_true(advice.users[1].sooner.mean > 0);
    assert_int_equal(gains_lot(&advice.users[1]), GAINS_GAINS);
    assert_int_equal(advice.day_count, 1);
    assert_near(advice.by_day[0].jobs, 2, 0);
    assert_near(advice.by_day[0].wait_was_h, 2, 1e-9);
    assert_true(advice.users[1].broken_was > advice.users[0].broken_was);
    assert_int_equal(advice.fit.metered, 1);
    assert_near(advice.fit.metered_kwh, 1, 1e-9);
    assert_true(advice.fit.metered_replay > 0);
    advice_fini(&advice);
}

static void since_keeps_the_last_part(void **state)
{
    (void)state;
    load(HEADER
         "1|ada|a|2024-03-01T08:00:00|2024-03-01T08:00:00|01:00:00|gres/gpu=1|1|new1|"
         "COMPLETED|0|\n"
         "2|bob|b|2024-03-03T08:00:00|2024-03-03T08:00:00|01:00:00|gres/gpu=1|1|new1|"
         "COMPLETED|0|\n",
         86400);
    assert_int_equal(slurm.jobs.count, 1);
    assert_int_equal(slurm.jobs.before, 1);
    assert_int_equal(slurm.arrivals.count, 1);
    assert_string_equal(intern_name(slurm.jobs.users, slurm.arrivals.items[0].owner),
                        "bob");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(jobs_start_and_end_when_they_did, tear_down),
        cmocka_unit_test_teardown(
            a_job_that_cannot_be_placed_twice_makes_the_replay_differ, tear_down),
        cmocka_unit_test_teardown(jobs_that_shared_a_gpu_are_replayed_so, tear_down),
        cmocka_unit_test_teardown(a_job_on_two_types_is_replayed_on_both, tear_down),
        cmocka_unit_test_teardown(users_are_told_what_they_gain, tear_down),
        cmocka_unit_test_teardown(since_keeps_the_last_part, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
