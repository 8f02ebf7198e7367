/* test_cluster_file.c - clusters from YAML, and what is refused */
#include "engine/sim/cluster_file.h"

#include "lab/sim/scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/sim.h"

static struct cluster *parse(const char *text)
{
    struct cluster *cluster = NULL;
    struct err err = {0};

    if (cluster_file_parse(&cluster, text, strlen(text), "mine.yaml", &err) < 0)
        fail_msg("%s", err.text);
    return cluster;
}

static void refused(const char *text, const char *where, const char *what)
{
    struct cluster *cluster = NULL;
    struct err err = {0};

    assert_int_equal(cluster_file_parse(&cluster, text, strlen(text), "mine.yaml", &err),
                     -1);
    assert_null(cluster);
    if (!strstr(err.text, where) || !strstr(err.text, what) || strchr(err.text, '\n'))
        fail_msg("\"%s\" does not say \"%s\" and \"%s\"", err.text, where, what);
}

static void groups_become_nodes_with_devices(void **state)
{
    struct cluster *c = parse("nodes:\n"
                              "  - {gpu: V100, gpus: 4, count: 2, name: volta}\n"
                              "  - gpu: tesla k80\n"
                              "    gpus: 1\n"
                              "    host: 0.5kW\n"
                              "    sleep: 3W\n"
                              "    wake: 2min\n"
                              "    may_sleep: false\n"
                              "  - {gpu: v100, gpus: 1, name: lonely}\n");

    (void)state;
    assert_int_equal(c->node_count, 4);
    assert_int_equal(c->device_count, 10);
    assert_int_equal(c->type_count, 2); /* the third group has the first one's type */
    assert_string_equal(c->nodes[0].name, "volta-1");
    assert_string_equal(c->nodes[1].name, "volta-2");
    assert_string_equal(c->nodes[2].name, "node-3");
    assert_string_equal(c->nodes[3].name, "lonely");
    assert_int_equal(c->devices[8].type, 1);
    assert_int_equal(c->devices[8].node, 2);
    assert_int_equal(c->devices[9].type, 0);
    assert_string_equal(c->types[1].name, "k80");
    assert_near(c->nodes[2].host_watts, 500, 1e-9);
    assert_near(c->nodes[2].sleep_watts, 3, 1e-9);
    assert_near(c->nodes[2].wake_s, 120, 1e-9);
    assert_false(c->nodes[2].may_sleep);
    cluster_destroy(c);
}

static void what_is_left_out_has_the_standard_values(void **state)
{
    struct cluster *c = parse("nodes:\n  - gpu: a100\n");

    (void)state;
    assert_int_equal(c->node_count, 1);
    assert_int_equal(c->device_count, 4);
    assert_near(c->nodes[0].host_watts, 120, 0);
    assert_near(c->nodes[0].sleep_watts, 10, 0);
    assert_near(c->nodes[0].wake_s, 60, 0);
    assert_true(c->nodes[0].may_sleep);
    cluster_destroy(c);
}

static void mistakes_are_named_with_line_and_column(void **state)
{
    (void)state;
    refused("nodes:\n  - gpu: v100\n    gpsu: 4\n", "mine.yaml:3:5", "gpsu");
    refused("nods:\n  - gpu: v100\n", "mine.yaml:1:1", "nods");
    refused("nodes:\n  - gpu: v1000\n", "mine.yaml:2:10", "no GPU 'v1000'");
    refused("nodes:\n  - gpu: v1000\n", "mine.yaml", "corgi gpus");
    refused("nodes:\n  - gpu: v100\n    host: -5W\n", "mine.yaml:3:11", "host");
    refused("nodes:\n  - gpu: v100\n    host: 1e9W\n", "mine.yaml:3:11", "host");
    refused("nodes:\n  - gpu: v100\n    host: nan\n", "mine.yaml:3:11", "host");
    refused("nodes:\n  - gpu: v100\n    wake: -1s\n", "mine.yaml:3:11", "wake");
    refused("nodes:\n  - gpu: v100\n    gpus: 0\n", "mine.yaml:3:11", "gpus");
    refused("nodes:\n  - gpu: v100\n    gpus: four\n", "mine.yaml:3:11", "gpus");
    refused("nodes:\n  - gpu: v100\n    count: 20001\n", "mine.yaml:3:12", "count");
    refused("nodes:\n  - gpu: [v100]\n", "mine.yaml:2:10", "gpu");
    refused("nodes:\n  - gpus: 4\n", "mine.yaml:2", "gpu");
    refused("nodes: v100\n", "mine.yaml:1:8", "nodes");
    refused("nodes: []\n", "mine.yaml:1:8", "nodes");
    refused("nodes:\n  - gpu: v100\n   gpus: 4\n", "mine.yaml:", "");
    refused("nodes:\n  - {gpu: v100", "mine.yaml:", "");
    refused("", "mine.yaml", "nodes");
}

static void too_much_in_all_is_refused_though_each_part_is_fine(void **state)
{
    (void)state;
    refused("nodes:\n  - {gpu: v100, count: 15000}\n  - {gpu: k80, count: 15000}\n",
            "mine.yaml:3:", "nodes");
    refused("nodes:\n  - {gpu: v100, count: 15000, gpus: 64}\n",
            "mine.yaml:2:", "100000");
}

static void a_missing_file_is_named(void **state)
{
    struct cluster *cluster = NULL;
    struct err err = {0};

    (void)state;
    assert_int_equal(cluster_file_load(&cluster, "no/such.yaml", &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "no/such.yaml"));
    assert_null(cluster);
}

static void the_built_in_clusters_are_those_of_the_workloads(void **state)
{
    struct cluster *c = cluster_builtin("standard");

    (void)state;
    assert_int_equal(c->device_count, 108);
    assert_int_equal(c->type_count, 3);
    cluster_destroy(c);
    c = cluster_builtin("demo");
    assert_int_equal(c->device_count, 48);
    cluster_destroy(c);
    c = cluster_builtin("modern");
    assert_int_equal(c->device_count, 100);
    assert_int_equal(c->type_count, 5);
    cluster_destroy(c);
    c = cluster_builtin("alibaba"); /* as its node list counts them */
    assert_int_equal(c->node_count, 1213);
    assert_int_equal(c->device_count, 6212);
    assert_int_equal(c->type_count, 6);
    cluster_destroy(c);
    c = cluster_builtin("alibaba-small");
    assert_int_equal(c->type_count, 6);
    cluster_destroy(c);
    assert_null(cluster_builtin("no such"));
    assert_null(scenario_builtin_find("no such"));
}

static void the_documented_file_can_be_loaded(void **state)
{
    struct str text = {0};
    struct cluster *c;

    (void)state;
    cluster_file_document(&text);
    assert_non_null(strstr(str_text(&text), "may_sleep"));
    c = parse(str_text(&text));
    assert_int_equal(c->node_count, 1);
    cluster_destroy(c);
    str_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_become_nodes_with_devices),
        cmocka_unit_test(what_is_left_out_has_the_standard_values),
        cmocka_unit_test(mistakes_are_named_with_line_and_column),
        cmocka_unit_test(too_much_in_all_is_refused_though_each_part_is_fine),
        cmocka_unit_test(a_missing_file_is_named),
        cmocka_unit_test(the_built_in_clusters_are_those_of_the_workloads),
        cmocka_unit_test(the_documented_file_can_be_loaded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
