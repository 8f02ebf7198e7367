/* test_slurm_access.c - groups of jobs and nodes that follow from Slurm's partitions,
 * accounts and reservations */
#include "support/test.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/slurm/slurm_access.h"
#include "engine/slurm/slurm_job_table.h"
#include "engine/slurm/slurm_node_table.h"
#include "loop/node_access.h"

#include <stdio.h>
#include <stdlib.h>

#define NODES 4

/* Four nodes n1 .. n4 with a GPU each, and what was told of them. */
struct lab {
    struct slurm_node_table *nodes;
    struct slurm_job_table *jobs;
    struct slurm_access *access;
    struct cluster *cluster;
    uint64_t job;
    int group; /* of the job told last, */
    double limit_s;
    int bound; /* and how often it was told anew */
    double now_s;
};

static void on_event(void *ctx, const struct engine_event *e)
{
    struct lab *lab = ctx;

    switch (e->kind) {
    case ENGINE_NODE_ACCESS:
        lab->cluster->nodes[e->node].access = e->access;
        break;
    case ENGINE_GROUP_ENDS:
        lab->cluster->group_ends_s[e->group] = e->ends_s;
        break;
    case ENGINE_NODE_ADDED:
        cluster_add_node(lab->cluster, e->spec);
        break;
    case ENGINE_JOB_FOUND:
        *e->found->job_out = ++lab->job;
        lab->group = e->found->group;
        lab->limit_s = e->found->limit_s;
        break;
    case ENGINE_JOB_BOUND:
        lab->group = e->group;
        lab->limit_s = e->limit_s;
        lab->bound++;
        break;
    default:
        break;
    }
}

enum table { OF_NODES, OF_PARTITIONS, OF_RESERVATIONS, OF_JOBS };

static void answer(struct lab *lab, enum table table, bool fresh, const char *rows,
                   const char *gone)
{
    struct str text = {0};
    struct json_doc *doc;

    str_addf(&text, "{\"fresh\":%s,\"more\":false,\"rows\":[%s],\"gone\":[%s]}",
             fresh ? "true" : "false", rows, gone);
    assert_int_equal(json_doc_parse(&doc, text.text, text.length, "test", NULL), 0);
    if (table == OF_NODES) {
        slurm_node_table_take(lab->nodes, json_doc_root(doc), lab->now_s);
        slurm_access_tell(lab->access, lab->now_s);
    } else if (table == OF_PARTITIONS)
        slurm_access_take_partitions(lab->access, json_doc_root(doc), lab->now_s);
    else if (table == OF_RESERVATIONS)
        slurm_access_take_reservations(lab->access, json_doc_root(doc), lab->now_s);
    else
        slurm_job_table_take(lab->jobs, json_doc_root(doc), lab->now_s);
    json_doc_destroy(doc);
    str_fini(&text);
}

#define NODE(name, flags)                                                                \
    "{\"name\":\"" name "\",\"state\":\"idle\",\"flags\":[" flags                        \
    "],\"gres\":\"gpu:v100:1\"}"
#define PARTITION(name, up, nodes, more)                                                 \
    "{\"name\":\"" name "\",\"up\":" up ",\"nodes\":\"" nodes "\"" more "}"
#define RESERVATION(name, nodes, start, end)                                             \
    "{\"name\":\"" name "\",\"nodes\":\"" nodes "\",\"start_s\":" start                  \
    ",\"end_s\":" end "}"

static int make(void **state)
{
    struct lab *lab = mem_new(struct lab);
    struct engine_sink sink = {on_event, lab};

    lab->now_s = 1000;
    lab->nodes = slurm_node_table_create(&(struct slurm_node_options){0}, sink);
    lab->access = slurm_access_create(lab->nodes, sink);
    slurm_node_table_set_access(lab->nodes, lab->access);
    lab->jobs = slurm_job_table_create(lab->nodes, sink);
    answer(lab, OF_NODES, true,
           NODE("n1", "") "," NODE("n2", "") "," NODE("n3", "") "," NODE("n4", ""), "");
    assert_int_equal(slurm_node_table_cluster(lab->nodes, &lab->cluster, NULL), 0);
    assert_false(slurm_access_known(lab->access));
    answer(lab, OF_PARTITIONS, true,
           PARTITION("a", "true", "n[1-2]", ",\"limit_s\":7200") "," PARTITION(
               "b", "true", "n[2-3]",
               ",\"accounts\":\"physics,bio\",\"limit_s\":0") "," PARTITION("shut",
                                                                            "false",
                                                                            "n[1-4]", ""),
           "");
    assert_true(slurm_access_known(lab->access));
    *state = lab;
    return 0;
}

static int end(void **state)
{
    struct lab *lab = *state;

    cluster_destroy(lab->cluster);
    slurm_job_table_destroy(lab->jobs);
    slurm_access_destroy(lab->access);
    slurm_node_table_destroy(lab->nodes);
    free(lab);
    return 0;
}

/* Nodes that a job may use now, as "1 2"; it is told to the table under this id. */
static const char *allowed(struct lab *lab, const char *id, const char *members)
{
    static char text[4 * NODES];
    struct str row = {0};
    struct job job;
    char *at = text;

    str_addf(&row,
             "{\"id\":\"%s\",\"user\":\"ada\",\"state\":\"pending\",\"submit_s\":900,"
             "\"tres_per_node\":\"gres:gpu:1\",%s}",
             id, members);
    answer(lab, OF_JOBS, false, row.text, "");
    str_fini(&row);
    job = (struct job){.group = lab->group, .limit_s = lab->limit_s};
    *at = '\0';
    for (int n = 0; n < lab->cluster->node_count; n++)
        if (node_access_allows(lab->cluster, &job, n, lab->now_s)) {
            if (at > text)
                *at++ = ' ';
            *at++ = lab->cluster->nodes[n].name[1];
            *at = '\0';
        }
    return text;
}

static void a_job_may_use_the_nodes_of_its_partitions(void **state)
{
    struct lab *lab = *state;

    assert_string_equal(allowed(lab, "1", "\"partition\":\"a\""), "1 2");
    assert_string_equal(allowed(lab, "2", "\"partition\":\"b\",\"account\":\"bio\""),
                        "2 3");
    assert_string_equal(allowed(lab, "3", "\"partition\":\"a,b\",\"account\":\"bio\""),
                        "1 2 3");
    /* Of one that is down jobs do not start; of one nobody shows us nothing is known. */
    assert_string_equal(allowed(lab, "4", "\"partition\":\"shut\""), "");
    assert_string_equal(allowed(lab, "5", "\"partition\":\"hidden\""), "1 2 3 4");
}

static void accounts_are_kept_out(void **state)
{
    struct lab *lab = *state;

    assert_string_equal(allowed(lab, "1", "\"partition\":\"b\",\"account\":\"law\""), "");
    assert_int_equal(lab->group, LOOP_NOWHERE);
    assert_string_equal(allowed(lab, "2", "\"partition\":\"a,b\",\"account\":\"law\""),
                        "1 2");
    answer(lab, OF_PARTITIONS, false,
           PARTITION("a", "true", "n1",
                     ",\"deny_accounts\":\"law\",\"qos\":\"ALL\",\"deny_qos\":\"low\""),
           "");
    assert_string_equal(allowed(lab, "3", "\"partition\":\"a\",\"account\":\"law\""), "");
    assert_string_equal(allowed(lab, "4", "\"partition\":\"a\",\"account\":\"bio\""),
                        "1");
    assert_string_equal(allowed(lab, "5", "\"partition\":\"a\",\"qos\":\"low\""), "");
}

static void partitions_change_while_jobs_wait(void **state)
{
    struct lab *lab = *state;

    assert_string_equal(allowed(lab, "1", "\"partition\":\"shut\""), "");
    answer(lab, OF_PARTITIONS, false, PARTITION("shut", "true", "n[1,4]", ""), "");
    assert_string_equal(allowed(lab, "1", "\"partition\":\"shut\""), "1 4");
    answer(lab, OF_NODES, false, NODE("n5", ""), "");
    answer(lab, OF_PARTITIONS, false, PARTITION("shut", "true", "n[4-5]", ""), "");
    assert_string_equal(allowed(lab, "1", "\"partition\":\"shut\""), "4 5");
    answer(lab, OF_PARTITIONS, false, "", "\"shut\"");
    assert_int_equal(lab->cluster->nodes[4].access.groups, 0);
    assert_int_equal(lab->bound, 0); /* the job itself has not changed */
    /* Its user moves it to another one: it is told once. */
    assert_string_equal(allowed(lab, "1", "\"partition\":\"a\""), "1 2");
    assert_string_equal(allowed(lab, "1", "\"partition\":\"a\",\"held\":true"), "1 2");
    assert_int_equal(lab->bound, 1);
}

static void a_job_without_a_limit_has_its_partitions(void **state)
{
    struct lab *lab = *state;

    allowed(lab, "1", "\"partition\":\"a\"");
    assert_true(lab->limit_s == 7200);
    allowed(lab, "2", "\"partition\":\"a\",\"limit_s\":60");
    assert_true(lab->limit_s == 60);
    allowed(lab, "3", "\"partition\":\"a,b\",\"account\":\"bio\"");
    assert_true(lab->limit_s == 0); /* b has none */
}

/* Slurm shows nothing of it in the state of nodes before it begins. */
static void a_reservation_counts_before_it_begins(void **state)
{
    struct lab *lab = *state;

    answer(lab, OF_RESERVATIONS, true, RESERVATION("course", "n[2-3]", "2000", "3000"),
           "");
    assert_string_equal(allowed(lab, "1", "\"partition\":\"a\",\"limit_s\":1000"), "1 2");
    assert_string_equal(allowed(lab, "2", "\"partition\":\"a\",\"limit_s\":1060"), "1");
    /* Its own jobs wait for it, */
    assert_string_equal(
        allowed(lab, "3",
                "\"partition\":\"a\",\"reservation\":\"course\",\"limit_s\":60"),
        "");
    /* and have it, as long as it lasts, for as long as it lasts. */
    lab->now_s = 2100;
    slurm_access_tell(lab->access, lab->now_s);
    assert_string_equal(
        allowed(lab, "3",
                "\"partition\":\"a\",\"reservation\":\"course\",\"limit_s\":60"),
        "2");
    assert_string_equal(allowed(lab, "4",
                                "\"partition\":\"a\",\"reservation\":\"course\","
                                "\"limit_s\":1000"),
                        "");
    assert_string_equal(allowed(lab, "5", "\"partition\":\"a\",\"limit_s\":60"), "1");
    lab->now_s = 3000;
    slurm_access_tell(lab->access, lab->now_s);
    assert_string_equal(allowed(lab, "6", "\"partition\":\"a\",\"limit_s\":6000"), "1 2");
    assert_string_equal(
        allowed(lab, "7",
                "\"partition\":\"a\",\"reservation\":\"course\",\"limit_s\":60"),
        "");
}

static void one_that_is_taken_away_counts_no_longer(void **state)
{
    struct lab *lab = *state;

    answer(
        lab, OF_RESERVATIONS, true,
        RESERVATION("x", "n1", "2000", "3000") "," RESERVATION("y", "n1", "2500", "3000"),
        "");
    assert_true(lab->cluster->nodes[0].access.reserved_s == 2000);
    answer(lab, OF_RESERVATIONS, false, "", "\"x\"");
    assert_true(lab->cluster->nodes[0].access.reserved_s == 2500);
    answer(lab, OF_RESERVATIONS, true, "", ""); /* a helper that came anew */
    assert_true(lab->cluster->nodes[0].access.reserved_s == 0);
}

/* PrivateData may hide reservations: the state of the node is all there is. */
static void a_node_that_slurm_calls_reserved_is(void **state)
{
    struct lab *lab = *state;

    answer(lab, OF_NODES, false, NODE("n1", "\"reserved\""), "");
    assert_string_equal(allowed(lab, "1", "\"partition\":\"a\",\"limit_s\":60"), "2");
    answer(lab, OF_NODES, false, NODE("n1", ""), "");
    assert_string_equal(allowed(lab, "2", "\"partition\":\"a\",\"limit_s\":60"), "1 2");
}

static void lists_that_are_none_bind_nothing_more(void **state)
{
    struct lab *lab = *state;

    answer(lab, OF_PARTITIONS, false,
           PARTITION("a", "true", "n[1-", "") ",{\"name\":\"\"},{\"nodes\":\"n1\"},7",
           "");
    assert_string_equal(allowed(lab, "1", "\"partition\":\"a\""), "");
    answer(lab, OF_PARTITIONS, false, PARTITION("a", "true", "n1,elsewhere7", ""), "");
    assert_string_equal(allowed(lab, "1", "\"partition\":\"a\""), "1");
}

/* More combinations than there are groups: the others are not bound, and none gets the
 * nodes of another. */
static void there_may_be_more_combinations_than_groups(void **state)
{
    struct lab *lab = *state;
    char members[100];

    answer(lab, OF_RESERVATIONS, true, RESERVATION("r1", "n1", "500", "9000"), "");
    for (int i = 1; i < 2 * LOOP_NODE_GROUPS; i++) {
        char id[8];

        snprintf(members, sizeof(members),
                 "\"partition\":\"a\",\"reservation\":\"r%d\",\"limit_s\":60", i);
        snprintf(id, sizeof(id), "%d", i);
        assert_string_equal(allowed(lab, id, members), i == 1             ? "1"
                                                       : i < LOOP_NOWHERE ? ""
                                                                          : "2 3 4");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_job_may_use_the_nodes_of_its_partitions, make,
                                        end),
        cmocka_unit_test_setup_teardown(accounts_are_kept_out, make, end),
        cmocka_unit_test_setup_teardown(partitions_change_while_jobs_wait, make, end),
        cmocka_unit_test_setup_teardown(a_job_without_a_limit_has_its_partitions, make,
                                        end),
        cmocka_unit_test_setup_teardown(a_reservation_counts_before_it_begins, make, end),
        cmocka_unit_test_setup_teardown(one_that_is_taken_away_counts_no_longer, make,
                                        end),
        cmocka_unit_test_setup_teardown(a_node_that_slurm_calls_reserved_is, make, end),
        cmocka_unit_test_setup_teardown(lists_that_are_none_bind_nothing_more, make, end),
        cmocka_unit_test_setup_teardown(there_may_be_more_combinations_than_groups, make,
                                        end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
