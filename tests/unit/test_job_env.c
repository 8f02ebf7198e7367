/* test_job_env.c - the environment of a job */
#include "engine/local/local_private.h"
#include "support/test.h"

#include <string.h>

CASE(later_values_replace_earlier_ones)
{
    static const char *const mine[] = {"PATH=/mine", "EMPTY=", NULL};
    struct job_env env = {0};
    struct err err = {0};

    job_env_set(&env, "PATH", "%s", "/bin");
    job_env_set(&env, "HOME", "/home/%s", "x");
    assert_int_equal(job_env_add(&env, mine, &err), 0);
    assert_int_equal(env.count, 3);
    assert_string_equal(env.items[0], "PATH=/mine");
    assert_string_equal(env.items[1], "HOME=/home/x");
    assert_string_equal(env.items[2], "EMPTY=");
    assert_null(env.items[3]);
    job_env_fini(&env);
}

CASE(what_only_the_engine_may_say_is_passed_over)
{
    static const char *const theirs[] = {
        "CORGI_JOB_ID=1",         "CUDA_VISIBLE_DEVICES=0",      "CORGI_ANYTHING=1",
        "ROCR_VISIBLE_DEVICES=0", "CUDA_VISIBLE_DEVICES_X=kept", NULL};
    struct job_env env = {0};
    struct err err = {0};

    assert_int_equal(job_env_add(&env, theirs, &err), 0);
    assert_int_equal(env.count, 1);
    assert_string_equal(env.items[0], "CUDA_VISIBLE_DEVICES_X=kept");
    job_env_fini(&env);
}

CASE(a_replica_hears_which_it_is)
{
    static const char *const told[] = {"CORGI_SERVICE=7", "CORGI_REPLICA=2", NULL};
    struct job_env env = {0};
    struct err err = {0};

    assert_int_equal(job_env_add(&env, told, &err), 0);
    assert_int_equal(env.count, 2);
    assert_string_equal(env.items[1], "CORGI_REPLICA=2");
    job_env_fini(&env);
}

CASE(what_is_no_entry_is_refused_and_nothing_is_taken)
{
    static const char *const wrong[] = {"NOVALUE", "=x", "A B=1", "1A=2", "\tA=1", ""};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        const char *const list[] = {"GOOD=1", wrong[i], NULL};
        struct job_env env = {0};
        struct err err = {0};

        assert_int_equal(job_env_add(&env, list, &err), -1);
        assert_int_equal(err.code, ERR_INVALID);
        assert_int_equal(env.count, 0);
        job_env_fini(&env);
    }
    {
        struct job_env env = {0};
        struct err err = {0};

        assert_int_equal(job_env_add(&env, NULL, &err), 0);
        job_env_fini(&env);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(later_values_replace_earlier_ones),
        cmocka_unit_test(what_only_the_engine_may_say_is_passed_over),
        cmocka_unit_test(a_replica_hears_which_it_is),
        cmocka_unit_test(what_is_no_entry_is_refused_and_nothing_is_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
