/* test_user_quotas.c - who may come in, and who is held back from a round */
#include "loop/admit/user_quotas.h"

#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static const struct user_quota none = {.max_jobs = -1, .max_running = -1, .max_gpus = -1};

static void own_quota_goes_before_default_and_config(void **state)
{
    const struct user_quota quotas[] = {{"ada", 1, -1, -1, false},
                                        {"default", 2, 20, -1, false}};
    const struct user_quota config = {"", 3, -1, 30, false};
    struct user_quota q;

    (void)state;
    q = user_quota_of(quotas, 2, &config, "ada");
    assert_int_equal(q.max_jobs, 1);
    q = user_quota_of(quotas, 2, &config, "bob");
    assert_string_equal(q.user, "bob");
    assert_int_equal(q.max_jobs, 2);
    assert_int_equal(q.max_running, 20);
    assert_int_equal(q.max_gpus, -1);
    q = user_quota_of(quotas, 1, &config, "bob");
    assert_string_equal(q.user, "bob");
    assert_int_equal(q.max_jobs, 3);
    assert_int_equal(q.max_gpus, 30);
}

static void one_more_comes_in_below_the_limit(void **state)
{
    struct user_quota q = {"ada", 2, -1, -1, false};
    struct user_quota_ask ask = {.quotas = &q,
                                 .count = 1,
                                 .otherwise = none,
                                 .user = "ada",
                                 .all = 10,
                                 .most = 100};
    struct err err = {0};

    (void)state;
    ask.jobs = 1;
    assert_int_equal(user_quota_admit(&ask, &err), 0);
    ask.jobs = 2;
    assert_int_equal(user_quota_admit(&ask, &err), -1);
    assert_int_equal(err.code, ERR_LIMIT);
    assert_string_equal(err.text, "ada may have 2 jobs waiting or running and has them");
    q.max_jobs = 0;
    ask.jobs = 0;
    assert_int_equal(user_quota_admit(&ask, &err), -1);
    ask = (struct user_quota_ask){
        .otherwise = none, .user = "bob", .jobs = 1000, .all = 1000, .most = 1001};
    assert_int_equal(user_quota_admit(&ask, &err), 0);
}

static void nobody_comes_into_a_full_daemon(void **state)
{
    struct user_quota_ask ask = {
        .otherwise = none, .user = "ada", .all = 100, .most = 100};
    struct err err = {0};

    (void)state;
    assert_int_equal(user_quota_admit(&ask, &err), -1);
    assert_int_equal(err.code, ERR_LIMIT);
    assert_string_equal(err.text, "100 jobs wait or run, which is the limit");
}

static void what_runs_counts_before_what_waits(void **state)
{
    const struct user_quota quotas[] = {{"ada", -1, 2, -1, false}};
    struct user_quota_job jobs[] = {
        {.devices = 1}, {.devices = 1}, {.devices = 1, .runs = true}};

    (void)state;
    user_quota_hold_back(quotas, 1, jobs, 3);
    assert_false(jobs[0].held_back);
    assert_true(jobs[1].held_back);
    assert_false(jobs[2].held_back); /* what runs stays, even beyond the quota */
}

static void a_job_too_large_for_the_rest_lets_smaller_ones_pass(void **state)
{
    const struct user_quota quotas[] = {{"ada", -1, -1, 4, false}};
    struct user_quota_job jobs[] = {
        {.devices = 2, .runs = true}, {.devices = 4}, {.devices = 2}, {.devices = 1}};

    (void)state;
    user_quota_hold_back(quotas, 1, jobs, 4);
    assert_true(jobs[1].held_back);
    assert_false(jobs[2].held_back);
    assert_true(jobs[3].held_back);
}

static void users_do_not_count_for_each_other(void **state)
{
    const struct user_quota quotas[] = {{"ada", -1, 1, -1, false}, none};
    struct user_quota_job jobs[] = {
        {.user = 1, .devices = 8, .runs = true},
        {.user = 0, .devices = 1},
        {.user = 1, .devices = 8},
        {.user = 0, .devices = 1, .held_back = true},
    };

    (void)state;
    user_quota_hold_back(quotas, 2, jobs, 4);
    assert_false(jobs[1].held_back);
    assert_false(jobs[2].held_back);
    assert_true(jobs[3].held_back);
}

static void who_is_held_back_is_decided_anew_each_round(void **state)
{
    struct user_quota quotas[] = {{"ada", -1, 0, -1, false}};
    struct user_quota_job job = {.devices = 1};

    (void)state;
    assert_true(user_quota_limits_running(&quotas[0]));
    user_quota_hold_back(quotas, 1, &job, 1);
    assert_true(job.held_back);
    quotas[0] = none;
    assert_false(user_quota_limits_running(&quotas[0]));
    user_quota_hold_back(quotas, 1, &job, 1);
    assert_false(job.held_back);
}

static void a_quota_of_nothing_is_one(void **state)
{
    struct user_quota nothing = {.max_jobs = -1, .max_running = 0, .max_gpus = -1};
    struct user_quota_job job = {.devices = 1};

    (void)state;
    assert_true(user_quota_limits_running(&nothing));
    user_quota_hold_back(&nothing, 1, &job, 1);
    assert_true(job.held_back);
    nothing = (struct user_quota){.max_jobs = -1, .max_running = -1, .max_gpus = 0};
    assert_true(user_quota_limits_running(&nothing));
    user_quota_hold_back(&nothing, 1, &job, 1);
    assert_true(job.held_back);
    nothing.max_gpus = -1;
    assert_false(user_quota_limits_running(&nothing));
    user_quota_hold_back(&nothing, 1, &job, 1);
    assert_false(job.held_back);
}

/* A job is bounded by all it belongs to; what holds it back is told. */
static void an_account_and_a_partition_bound_jobs_too(void **state)
{
    const struct user_quota quotas[] = {
        none, {"account:physics", -1, 2, -1, false}, {"partition:gpu", -1, -1, 3, false}};
    struct user_quota_job jobs[] = {
        {.devices = 1, .runs = true, .group_count = 1, .groups = {1}},
        {.devices = 1, .group_count = 2, .groups = {1, 2}},
        {.devices = 1, .group_count = 2, .groups = {1, 2}}, /* a third of the account */
        {.devices = 2, .group_count = 1, .groups = {2}},
        {.devices = 1, .group_count = 1, .groups = {2}}, /* a fourth of its GPUs */
        {.devices = 8},
    };
    char text[120];

    (void)state;
    user_quota_hold_back(quotas, 3, jobs, 6);
    assert_false(jobs[1].held_back);
    assert_true(jobs[2].held_back && jobs[2].by == 1 && !jobs[2].too_many);
    assert_false(jobs[3].held_back);
    assert_true(jobs[4].held_back && jobs[4].by == 2);
    assert_false(jobs[5].held_back);
    user_quota_say(text, sizeof(text), &quotas[1], false);
    assert_string_equal(text, "account physics has as much running as allowed");
    user_quota_say(text, sizeof(text), &quotas[0], false);
    assert_string_equal(text, " has as much running as allowed");
}

/* Nobody could refuse them, so those beyond the number wait until others have ended. */
static void jobs_that_another_scheduler_took_wait_beyond_their_number(void **state)
{
    const struct user_quota quotas[] = {none, {"qos:low", 2, -1, -1, false}};
    struct user_quota_job jobs[] = {
        {.devices = 1, .unasked = true, .group_count = 1, .groups = {1}},
        {.devices = 1, .unasked = true, .group_count = 1, .groups = {1}},
        {.devices = 1, .unasked = true, .group_count = 1, .groups = {1}, .runs = true},
        {.devices = 1, .group_count = 1, .groups = {1}}, /* it was asked about */
    };
    char text[120];

    (void)state;
    user_quota_hold_back(quotas, 2, jobs, 4);
    assert_false(jobs[0].held_back);
    assert_true(jobs[1].held_back && jobs[1].too_many && jobs[1].by == 1);
    assert_false(jobs[3].held_back);
    user_quota_say(text, sizeof(text), &quotas[1], true);
    assert_string_equal(text, "QOS low may have 2 jobs waiting or running and has them");
}

static void a_submission_is_held_against_all_its_quotas(void **state)
{
    const struct user_quota quotas[] = {{"default", 5, -1, -1, false},
                                        {"account:physics", 2, -1, -1, false}};
    struct user_quota_ask ask = {.quotas = quotas,
                                 .count = 2,
                                 .otherwise = none,
                                 .user = "ada",
                                 .jobs = 4,
                                 .group_count = 2,
                                 .groups = {{"account:physics", 1}, {"qos:low", 99}},
                                 .most = 100};
    struct err err = {0};

    (void)state;
    assert_int_equal(user_quota_admit(&ask, &err), 0); /* default is of users alone */
    ask.groups[0].jobs = 2;
    assert_int_equal(user_quota_admit(&ask, &err), -1);
    assert_int_equal(err.code, ERR_LIMIT);
    assert_string_equal(
        err.text, "account physics may have 2 jobs waiting or running and has them");
    ask.jobs = 5;
    assert_int_equal(user_quota_admit(&ask, &err), -1);
    assert_string_equal(err.text, "ada may have 5 jobs waiting or running and has them");
}

static void groups_have_keys_that_no_user_has(void **state)
{
    const struct job_groups groups = {{"physics", "", "gpu,ml"}};
    char key[JOB_GROUP_KEY_SIZE];
    const char *name;

    (void)state;
    assert_true(job_groups_key(&groups, JOB_GROUP_ACCOUNT, key));
    assert_string_equal(key, "account:physics");
    assert_int_equal(job_group_of(key, &name), JOB_GROUP_ACCOUNT);
    assert_string_equal(name, "physics");
    assert_false(job_groups_key(&groups, JOB_GROUP_QOS, key));
    assert_true(job_groups_key(&groups, JOB_GROUP_PARTITION, key));
    assert_string_equal(key, "partition:gpu"); /* of several the first */
    assert_int_equal(job_group_of("accountant", &name), JOB_GROUPS);
    assert_string_equal(name, "accountant");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_quota_goes_before_default_and_config),
        cmocka_unit_test(one_more_comes_in_below_the_limit),
        cmocka_unit_test(nobody_comes_into_a_full_daemon),
        cmocka_unit_test(what_runs_counts_before_what_waits),
        cmocka_unit_test(a_job_too_large_for_the_rest_lets_smaller_ones_pass),
        cmocka_unit_test(users_do_not_count_for_each_other),
        cmocka_unit_test(who_is_held_back_is_decided_anew_each_round),
        cmocka_unit_test(a_quota_of_nothing_is_one),
        cmocka_unit_test(an_account_and_a_partition_bound_jobs_too),
        cmocka_unit_test(jobs_that_another_scheduler_took_wait_beyond_their_number),
        cmocka_unit_test(a_submission_is_held_against_all_its_quotas),
        cmocka_unit_test(groups_have_keys_that_no_user_has),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
