/* test_policy.c - policies by name, and where each puts a job */
#include "lab/policy/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/sim.h"

static struct world *world;
static struct workload *workload;
static struct cluster *cluster;
static struct sim_options options;

static int set_up(void **state)
{
    (void)state;
    world = fixture_world();
    workload = fixture_workload();
    options = fixture_options();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    workload_destroy(workload);
    cluster_destroy(cluster);
    world_destroy(world);
    cluster = NULL;
    return 0;
}

/* When the last job ended; everything must have finished. */
static double end_under(const char *policy)
{
    struct sim_result r = fixture_run(policy, &options, world, workload, cluster);
    double end_s = r.end_s;

    assert_int_equal(r.finished, workload->count);
    assert_books_balance(&r);
    sim_result_fini(&r);
    return end_s;
}

static void names_are_found_and_unique(void **state)
{
    size_t count;
    const struct policy *all = policy_all(&count);

    (void)state;
    assert_true(count >= 7);
    for (size_t i = 0; i < count; i++) {
        assert_ptr_equal(policy_find(all[i].name), &all[i]);
        assert_non_null(all[i].planner);
        assert_true(strlen(all[i].summary) > 0);
    }
    assert_null(policy_find("Fifo"));
    assert_int_equal(policy_find("oracle")->model, SIM_MODEL_ORACLE);
    assert_int_not_equal(policy_find("corgi")->model, SIM_MODEL_ORACLE);
}

static void a_list_is_read_in_its_order(void **state)
{
    const struct policy *list[POLICY_MAX];
    size_t count = 0, total;
    struct err err = {0};

    (void)state;
    assert_int_equal(policy_parse_list("fifo,corgi", list, &count, &err), 0);
    assert_int_equal(count, 2);
    assert_string_equal(list[0]->name, "fifo");
    assert_string_equal(list[1]->name, "corgi");
    policy_all(&total);
    assert_int_equal(policy_parse_list("all", list, &count, &err), 0);
    assert_int_equal(count, total);
}

static void refused(const char *text, const char *words)
{
    const struct policy *list[POLICY_MAX] = {0};
    size_t count = 99;
    struct err err = {0};

    assert_int_equal(policy_parse_list(text, list, &count, &err), -1);
    assert_int_equal(count, 99);
    assert_null(list[0]);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

static void a_bad_list_is_refused_and_the_good_names_listed(void **state)
{
    size_t count;
    const struct policy *all = policy_all(&count);

    (void)state;
    for (size_t i = 0; i < count; i++)
        refused("fifo,lifo", all[i].name);
    refused("fifo,lifo", "unknown policy 'lifo'");
    refused("fifo,fifo", "twice");
    refused("", "no policy");
    refused(",", "list of policies");
    refused("fifo,,corgi", "list of policies");
    refused("corgi,all", "unknown policy 'all'");
}

/* 3600 s of the V100 are 14400 s of a K80, and first fit meets a K80 first. */
static void fifo_takes_the_first_device_fastest_the_fastest(void **state)
{
    (void)state;
    cluster = fixture_cluster(world, 2, 1, 1);
    fixture_training(workload, world, FIXTURE_LIGHT, 0, 3600);
    assert_near(end_under("fifo"), 14400, 1e-6);
    assert_near(end_under("fastest"), 3600, 1e-6);
}

static void pack_blind_fills_a_device_before_the_next(void **state)
{
    (void)state;
    cluster = fixture_cluster(world, 0, 1, 2);
    fixture_training(workload, world, FIXTURE_LIGHT, 0, 3600);
    fixture_training(workload, world, FIXTURE_LIGHT, 0, 3600);
    assert_near(end_under("pack-blind"), 3600 / 0.75, 1e-6);
    assert_near(end_under("fifo"), 3600, 1e-6);
    options.settings.share_max = 1;
    assert_near(end_under("pack-blind"), 3600, 1e-6);
}

/* The gang waits for both GPUs, and the short job behind it waits too. */
static void conventional_policies_serve_strictly_in_order(void **state)
{
    struct sim_result r;

    (void)state;
    cluster = fixture_cluster(world, 0, 1, 2);
    fixture_training(workload, world, FIXTURE_LIGHT, 0, 3600);
    fixture_training(workload, world, FIXTURE_PAIR, 1, 3600);
    fixture_training(workload, world, FIXTURE_LIGHT, 2, 10);
    r = fixture_run("fifo", &options, world, workload, cluster);
    assert_near(r.job_results[0].wait_s, 0, 0);
    assert_near(r.job_results[1].wait_s, 3599, 1e-6);
    assert_near(r.job_results[2].wait_s, 7198, 1e-6);
    sim_result_fini(&r);
}

static void corgi_variants_keep_off_what_they_are_named_for(void **state)
{
    struct sim_options alone = options;
    struct sim_result r;

    (void)state;
    assert_int_equal(policy_find("corgi-noshare")->share_max, 1);
    assert_true(policy_find("corgi-nomoves")->no_moves);
    cluster = fixture_cluster(world, 2, 2, 2);
    for (int i = 0; i < 40; i++)
        fixture_training(workload, world, i % 2 ? FIXTURE_LIGHT : FIXTURE_HEAVY, 60 * i,
                         900 + 100 * i);
    alone.settings.moves = false;
    r = fixture_run("corgi", &alone, world, workload, cluster);
    assert_int_equal(r.finished, 40);
    assert_near(r.moves_per_job, 0, 0);
    sim_result_fini(&r);
}

int main(void)
{
#define POLICY_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        POLICY_TEST(names_are_found_and_unique),
        POLICY_TEST(a_list_is_read_in_its_order),
        POLICY_TEST(a_bad_list_is_refused_and_the_good_names_listed),
        POLICY_TEST(fifo_takes_the_first_device_fastest_the_fastest),
        POLICY_TEST(pack_blind_fills_a_device_before_the_next),
        POLICY_TEST(conventional_policies_serve_strictly_in_order),
        POLICY_TEST(corgi_variants_keep_off_what_they_are_named_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
