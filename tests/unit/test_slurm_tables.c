/* test_slurm_tables.c - what follows from what Slurm shows of its jobs and nodes */
#include "support/test.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/slurm/slurm_job_table.h"
#include "engine/slurm/slurm_node_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The tables, and everything they told as words, a line each. */
struct lab {
    struct slurm_node_table *nodes;
    struct slurm_job_table *jobs;
    struct cluster *cluster;
    struct str told;
    uint64_t last_job;
    double now_s;
    bool unwanted; /* the daemon knows the next job it is told of */
};

static const char *const end_words[] = {
    [ENGINE_END_DONE] = "done",           [ENGINE_END_FAILED] = "failed",
    [ENGINE_END_CANCELLED] = "cancelled", [ENGINE_END_TIME_LIMIT] = "time_limit",
    [ENGINE_END_REQUEUED] = "requeued",   [ENGINE_END_UNKNOWN] = "unknown",
};

static void on_event(void *ctx, const struct engine_event *e)
{
    struct lab *lab = ctx;
    unsigned long long job = (unsigned long long)e->job;

    switch (e->kind) {
    case ENGINE_JOB_FOUND:
        str_addf(&lab->told, "found %s gpus=%d\n", e->found->ref, e->found->devices);
        *e->found->job_out = lab->unwanted ? 0 : ++lab->last_job;
        break;
    case ENGINE_JOB_CHANGED:
        str_addf(&lab->told, "changed %llu %s\n", job, e->found->held ? "held" : "free");
        break;
    case ENGINE_STARTED:
        str_addf(&lab->told, "started %llu at %.0f on", job, e->at_s);
        for (int i = 0; i < e->device_count; i++)
            str_addf(&lab->told, " %d", e->devices[i]);
        str_add(&lab->told, "\n");
        break;
    case ENGINE_ENDED:
        str_addf(&lab->told, "ended %llu %s at %.0f\n", job, end_words[e->end], e->at_s);
        break;
    case ENGINE_NODE_ADDED:
        str_addf(&lab->told, "node %d added with %d\n", e->node, e->spec->device_count);
        break;
    case ENGINE_NODE_UP:
    case ENGINE_NODE_DOWN:
    case ENGINE_NODE_ASLEEP:
    case ENGINE_NODE_FALLING:
        str_addf(&lab->told, "node %d %s\n", e->node,
                 e->kind == ENGINE_NODE_UP       ? "up"
                 : e->kind == ENGINE_NODE_DOWN   ? "down"
                 : e->kind == ENGINE_NODE_ASLEEP ? "asleep"
                                                 : "falling");
        break;
    case ENGINE_JOB_COUNTED:
        str_addf(&lab->told, "counted %llu %.2f %d %.1f\n", job, e->counted.gpu_use,
                 e->counted.unused_gpus, e->counted.gpu_memory_gb);
        break;
    case ENGINE_NODE_ROOM:
        str_addf(&lab->told, "node %d has %g CPUs and %g GB left\n", e->node,
                 e->room.cpus, e->room.memory_gb);
        break;
    case ENGINE_NODE_DRAINED:
    case ENGINE_NODE_UNDRAINED:
        str_addf(&lab->told, "node %d %s\n", e->node,
                 e->kind == ENGINE_NODE_DRAINED ? "drained" : "undrained");
        break;
    case ENGINE_DEVICE_TAKEN:
    case ENGINE_DEVICE_FREE:
        str_addf(&lab->told, "device %d %s\n", e->device,
                 e->kind == ENGINE_DEVICE_TAKEN ? "taken" : "free");
        break;
    case ENGINE_JOB_BELONGS:
        str_addf(&lab->told, "belongs %llu %s/%s/%s\n", job,
                 e->there->names[JOB_GROUP_ACCOUNT], e->there->names[JOB_GROUP_QOS],
                 e->there->names[JOB_GROUP_PARTITION]);
        break;
    case ENGINE_JOB_BOUND: /* see test_slurm_access.c */
        break;
    default:
        fail();
    }
}

static void answer(struct lab *lab, bool jobs, bool fresh, const char *rows,
                   const char *gone)
{
    struct str text = {0};
    struct json_doc *doc;
    struct err err = {0};

    str_addf(&text, "{\"fresh\":%s,\"more\":false,\"rows\":[%s],\"gone\":[%s]}",
             fresh ? "true" : "false", rows, gone);
    assert_int_equal(json_doc_parse(&doc, text.text, text.length, "test", &err), 0);
    if (jobs)
        slurm_job_table_take(lab->jobs, json_doc_root(doc), lab->now_s);
    else
        slurm_node_table_take(lab->nodes, json_doc_root(doc), lab->now_s);
    json_doc_destroy(doc);
    str_fini(&text);
}

#define NODE(name, state, flags, gres)                                                   \
    "{\"name\":\"" name "\",\"state\":\"" state "\",\"flags\":[" flags                   \
    "],\"gres\":\"" gres "\"}"
#define V100 "gpu:v100:2,shard:4"

static struct lab *lab_create(const char *path)
{
    struct lab *lab = mem_new(struct lab);
    struct engine_sink sink = {on_event, lab};
    struct slurm_node_options options = {.path = path, .names = "tesla=k80"};

    lab->now_s = 9000;
    lab->nodes = slurm_node_table_create(&options, sink);
    lab->jobs = slurm_job_table_create(lab->nodes, sink);
    if (!path)
        answer(lab, false, true,
               NODE("a", "idle", "", V100) "," NODE("b", "idle", "", "gpu:tesla:1"), "");
    if (slurm_node_table_count(lab->nodes) > 0)
        assert_int_equal(slurm_node_table_cluster(lab->nodes, &lab->cluster, NULL), 0);
    return lab;
}

static void lab_destroy(struct lab *lab)
{
    cluster_destroy(lab->cluster);
    slurm_job_table_destroy(lab->jobs);
    slurm_node_table_destroy(lab->nodes);
    str_fini(&lab->told);
    free(lab);
}

static void told(struct lab *lab, const char *expected)
{
    assert_string_equal(str_text(&lab->told), expected);
    str_clear(&lab->told);
}

static void show(struct lab *lab, const char *rows)
{
    answer(lab, true, false, rows, "");
}

#define JOB(id, state, submit, restarts, more)                                           \
    "{\"id\":\"" id "\",\"state\":\"" state "\",\"user\":\"ada\",\"submit_s\":" submit   \
    ",\"restarts\":" restarts ",\"tres_per_node\":\"gres:gpu:1\"" more "}"
#define ON_A1 ",\"start_s\":110,\"nodes\":[\"a\"],\"gres\":[\"gpu:v100:1(IDX:1)\"]"

#define USED(name, state, flags, used)                                                   \
    "{\"name\":\"" name "\",\"state\":\"" state "\",\"flags\":[" flags                   \
    "],\"gres\":\"" V100 "\",\"gres_used\":\"" used "\"}"

/* A slurmctld that was killed counts GPUs that no job has. */
static void a_gpu_that_counts_as_used_on_an_idle_node_is_taken(void **state)
{
    struct lab *lab = lab_create(NULL);
    struct slurm_node_table *first;
    struct slurm_node_options options = {0};

    (void)state;
    answer(lab, false, false, USED("a", "mixed", "", "gpu:v100:1(IDX:1)"), "");
    answer(lab, false, false,
           USED("a", "idle", "\"completing\"", "gpu:v100:1(IDX:1),shard:0"), "");
    told(lab, ""); /* a job's, or one's that is leaving */
    answer(lab, false, false, USED("a", "idle", "", "gpu:v100:1(IDX:1),shard:0"), "");
    told(lab, "device 1 taken\n");
    answer(lab, false, false, USED("a", "mixed", "", "gpu:v100:2(IDX:0-1),shard:0"), "");
    told(lab, "");
    answer(lab, false, false, USED("a", "mixed", "", "gpu:v100:1(IDX:0),shard:0"), "");
    told(lab, "device 1 free\n"); /* slurmctld has counted anew */
    answer(lab, false, false,
           USED("a", "idle", "", "gpu:v100:0(IDX:N/A),shard:v100:1(1/2,0/2)"), "");
    told(lab, "device 0 taken\n");
    answer(lab, false, false, USED("a", "idle", "", "gpu:v100:0(IDX:N/A),shard:0"), "");
    told(lab, "device 0 free\n");
    lab_destroy(lab);

    /* Before the cluster is given nobody is told: it says so itself. */
    lab = mem_new(struct lab);
    first = slurm_node_table_create(&options, (struct engine_sink){on_event, lab});
    lab->nodes = first;
    answer(lab, false, true, USED("a", "idle", "", "gpu:v100:1(IDX:1),shard:0"), "");
    assert_int_equal(slurm_node_table_cluster(first, &lab->cluster, NULL), 0);
    assert_false(lab->cluster->devices[0].taken);
    assert_true(lab->cluster->devices[1].taken);
    told(lab, "");
    lab_destroy(lab);
}

static void look_at_nodes(struct lab *lab, double after_s)
{
    lab->now_s += after_s;
    answer(lab, false, false, "", "");
}

/* A job starts there neither this time nor the next: others are not to wait behind it. */
static void devices_that_slurm_has_no_room_on_are_left_alone_for_a_while(void **state)
{
    static const int gang[] = {0, 1}, last[] = {2};
    struct lab *lab = lab_create(NULL);

    (void)state;
    slurm_node_table_no_room(lab->nodes, gang, 2, lab->now_s);
    told(lab, ""); /* somebody was there just then, maybe */
    lab->now_s += 10;
    slurm_node_table_no_room(lab->nodes, gang, 2, lab->now_s);
    told(lab, "device 0 taken\ndevice 1 taken\n");
    slurm_node_table_no_room(lab->nodes, last, 1, lab->now_s); /* another node's first */
    look_at_nodes(lab, 29);
    told(lab, "");
    look_at_nodes(lab, 2);
    told(lab, "device 0 free\ndevice 1 free\n");
    lab->now_s += 10; /* and again: for twice as long */
    slurm_node_table_no_room(lab->nodes, &gang[1], 1, lab->now_s);
    look_at_nodes(lab, 59);
    told(lab, "device 1 taken\n");
    look_at_nodes(lab, 2);
    told(lab, "device 1 free\n");
    lab->now_s += 600; /* long after that it is the first time */
    slurm_node_table_no_room(lab->nodes, gang, 2, lab->now_s);
    told(lab, "");
    lab_destroy(lab);
}

static void a_job_is_followed_from_its_hold_to_its_end(void **state)
{
    struct lab *lab = lab_create(NULL);

    (void)state;
    show(lab, JOB("7", "pending", "100", "0", ",\"held\":true"));
    show(lab, JOB("7", "pending", "100", "0", ",\"held\":false"));
    show(lab, JOB("7", "running", "100", "0", ON_A1));
    show(lab, JOB("7", "running", "100", "0", ON_A1));
    show(lab, JOB("7", "completed", "100", "0", ON_A1 ",\"end_s\":150"));
    show(lab, JOB("7", "completed", "100", "0", ON_A1 ",\"end_s\":150"));
    told(lab, "found 7@100+0 gpus=1\nchanged 1 free\nstarted 1 at 110 on 1\n"
              "ended 1 done at 150\n");
    lab_destroy(lab);
}

static void devices_are_not_free_while_a_job_is_completing(void **state)
{
    struct lab *lab = lab_create(NULL);

    (void)state;
    show(lab, JOB("7", "running", "100", "0", ON_A1));
    show(lab, JOB("7", "failed", "100", "0",
                  ON_A1 ",\"flags\":[\"completing\"],\"end_s\":150"));
    told(lab, "found 7@100+0 gpus=1\nstarted 1 at 110 on 1\n");
    show(lab, JOB("7", "failed", "100", "0", ON_A1 ",\"end_s\":150"));
    told(lab, "ended 1 failed at 150\n");
    lab_destroy(lab);
}

static void slurms_own_requeue_is_the_same_job(void **state)
{
    struct lab *lab = lab_create(NULL);

    (void)state;
    show(lab, JOB("7", "running", "100", "0", ON_A1));
    show(lab, JOB("7", "pending", "200", "1", ""));
    show(lab, JOB("7", "running", "200", "1",
                  ",\"start_s\":210,\"nodes\":[\"b\"],\"gres\":[\"gpu:k80:1(IDX:0)\"]"));
    told(lab, "found 7@100+0 gpus=1\nstarted 1 at 110 on 1\n"
              "ended 1 requeued at 9000\nchanged 1 free\nstarted 1 at 210 on 2\n");
    lab_destroy(lab);
}

/* First the count, then the time: seen in between. */
static void a_requeue_in_two_steps_is_the_same_job(void **state)
{
    struct lab *lab = lab_create(NULL);

    (void)state;
    show(lab, JOB("7", "running", "100", "0", ON_A1));
    show(lab, JOB("7", "pending", "100", "1", ""));
    show(lab, JOB("7", "pending", "102", "1", ""));
    told(lab, "found 7@100+0 gpus=1\nstarted 1 at 110 on 1\n"
              "ended 1 requeued at 9000\nchanged 1 free\n");
    lab_destroy(lab);
}

/* A slurmctld that was killed goes back to the time and the count of before. */
static void a_requeue_that_slurm_forgot_is_the_same_job(void **state)
{
    struct lab *lab = lab_create(NULL);

    (void)state;
    show(lab, JOB("7", "pending", "100", "0", ""));
    show(lab, JOB("7", "pending", "105", "1", ""));
    show(lab, JOB("7", "pending", "100", "0", ""));
    show(lab, JOB("7", "completed", "100", "0", ON_A1 ",\"end_s\":150"));
    told(lab, "found 7@100+0 gpus=1\nchanged 1 free\nchanged 1 free\n"
              "started 1 at 110 on 1\nended 1 done at 150\n");
    lab_destroy(lab);
}

static void an_id_that_came_to_somebody_else_is_another_job(void **state)
{
    struct lab *lab = lab_create(NULL);

    (void)state;
    show(lab, JOB("7", "running", "100", "0", ON_A1));
    show(lab, JOB("7", "pending", "105", "0", ""));
    told(lab, "found 7@100+0 gpus=1\nstarted 1 at 110 on 1\n"
              "ended 1 unknown at 9000\nfound 7@105+0 gpus=1\n");
    lab_destroy(lab);
}

/* A slurmctld that was killed shows a job that was complete as one that waits. */
static void an_end_that_was_told_stays(void **state)
{
    struct lab *lab = lab_create(NULL);

    (void)state;
    show(lab, JOB("7", "completed", "100", "0", ON_A1 ",\"end_s\":150"));
    str_clear(&lab->told);
    show(lab, JOB("7", "pending", "100", "0", ""));
    show(lab, JOB("7", "running", "100", "0", ON_A1));
    told(lab, "");
    lab_destroy(lab);
}

static void a_job_that_slurm_forgot_has_an_unknown_end(void **state)
{
    struct lab *lab = lab_create(NULL);

    (void)state;
    show(lab,
         JOB("7", "running", "100", "0", ON_A1) "," JOB("8", "pending", "100", "0", ""));
    str_clear(&lab->told);
    answer(lab, true, true, JOB("8", "pending", "100", "0", ""), "");
    lab->now_s = 9020;
    answer(lab, true, false, "", "\"8\"");
    told(lab, "");
    lab->now_s = 9031;
    show(lab, "");
    told(lab, "ended 1 unknown at 9031\n");
    lab->now_s = 9051;
    show(lab, "");
    told(lab, "ended 2 unknown at 9051\n");
    lab_destroy(lab);
}

/* slurmctld was killed twice, and the second time found what it had lost. */
static void a_job_that_comes_back_in_time_goes_on(void **state)
{
    struct lab *lab = lab_create(NULL);

    (void)state;
    show(lab, JOB("7", "running", "100", "0", ON_A1));
    str_clear(&lab->told);
    answer(lab, true, true, "", "");
    lab->now_s = 9025;
    answer(lab, true, true, JOB("7", "running", "100", "0", ON_A1), "");
    lab->now_s = 9100;
    show(lab, JOB("7", "completed", "100", "0", ON_A1 ",\"end_s\":150"));
    told(lab, "ended 1 done at 150\n");
    lab_destroy(lab);
}

/* Slurm keeps no record of them. */
static void elements_that_vanish_while_they_wait_were_cancelled(void **state)
{
    struct lab *lab = lab_create(NULL);

    (void)state;
    show(lab, JOB("7_1", "running", "100", "0", ON_A1) "," JOB("7_2", "pending", "100",
                                                               "0", ""));
    str_clear(&lab->told);
    answer(lab, true, false, "", "\"7_1\",\"7_2\"");
    lab->now_s = 9006;
    show(lab, "");
    told(lab, "ended 2 cancelled at 9006\n");
    lab_destroy(lab);
}

static void what_the_daemon_knows_to_have_ended_is_passed_over(void **state)
{
    struct lab *lab = lab_create(NULL);

    (void)state;
    lab->unwanted = true;
    show(lab, JOB("7", "completed", "100", "0", ON_A1 ",\"end_s\":150"));
    told(lab, "found 7@100+0 gpus=1\n");
    lab_destroy(lab);
}

static void an_adopted_job_is_not_found_again(void **state)
{
    struct lab *lab = lab_create(NULL);
    struct job job = {.id = 41};
    struct engine_job known = {.job = &job, .device_count = 1, .ref = "7_2@100+0"};

    (void)state;
    slurm_job_table_adopt(lab->jobs, &known);
    answer(lab, true, true, JOB("7_2", "running", "100", "0", ON_A1), "");
    told(lab, "started 41 at 110 on 1\n");
    show(lab, JOB("7_2", "cancelled", "100", "0", ON_A1 ",\"end_s\":120"));
    told(lab, "ended 41 cancelled at 120\n");
    lab_destroy(lab);
}

/* Also after a restart, when it changed meanwhile. */
static void what_a_job_belongs_to_is_told_when_it_changes(void **state)
{
    struct lab *lab = lab_create(NULL);
    struct job job = {.id = 41};
    struct job_groups there = {{"physics", "low", "gpu"}};
    struct engine_job known = {.job = &job, .ref = "7@100+0", .there = &there};
    const char *chem = JOB("7", "pending", "100", "0", ",\"account\":\"chem\"");

    (void)state;
    slurm_job_table_adopt(lab->jobs, &known);
    show(lab, JOB("7", "pending", "100", "0",
                  ",\"account\":\"physics\",\"qos\":\"low\",\"partition\":\"gpu\""));
    told(lab, "");
    show(lab, chem);
    told(lab, "belongs 41 chem//\n");
    show(lab, chem);
    told(lab, "");
    lab_destroy(lab);
}

static void jobs_without_gpus_are_nobodys_business(void **state)
{
    struct lab *lab = lab_create(NULL);

    (void)state;
    show(lab, "{\"id\":\"9\",\"state\":\"running\",\"user\":\"ada\",\"submit_s\":100,"
              "\"start_s\":101,\"nodes\":[\"a\"]}");
    told(lab, "");
    lab_destroy(lab);
}

static void gangs_and_wishes_by_job_and_task_are_counted(void **state)
{
    struct lab *lab = lab_create(NULL);

    (void)state;
    show(lab, JOB("1", "pending", "100", "0", ",\"num_nodes\":3"));
    show(lab, "{\"id\":\"2\",\"state\":\"pending\",\"user\":\"ada\",\"submit_s\":1,"
              "\"tres_per_job\":\"gres:gpu:v100:5\"}");
    show(lab, "{\"id\":\"3\",\"state\":\"pending\",\"user\":\"ada\",\"submit_s\":1,"
              "\"tres_per_task\":\"gres:gpu:2\",\"num_tasks\":4}");
    show(lab, "{\"id\":\"4\",\"state\":\"pending\",\"user\":\"ada\",\"submit_s\":1,"
              "\"tres_per_node\":\"gres:shard:1\"}");
    told(lab, "found 1@100+0 gpus=3\nfound 2@1+0 gpus=5\nfound 3@1+0 gpus=8\n"
              "found 4@1+0 gpus=1\n");
    lab_destroy(lab);
}

static void nodes_come_sleep_drain_and_go(void **state)
{
    struct lab *lab = lab_create(NULL);

    (void)state;
    answer(lab, false, false, NODE("a", "idle", "\"powered_down\"", V100), "");
    answer(lab, false, false, NODE("a", "idle", "\"drain\"", V100), "");
    answer(lab, false, false, NODE("a", "mixed", "", V100), "");
    answer(lab, false, false, NODE("c", "idle", "", "gpu:k80:4"), "");
    answer(lab, false, false, NODE("b", "idle", "\"no_respond\"", "gpu:tesla:1"),
           "\"c\"");
    told(lab, "node 0 asleep\nnode 0 up\nnode 0 drained\nnode 0 undrained\n"
              "node 2 added with 4\nnode 1 down\nnode 2 down\n");
    lab_destroy(lab);
}

static void a_type_nobody_knows_and_a_new_one_are_left_out(void **state)
{
    struct lab *lab = lab_create(NULL);

    (void)state;
    answer(lab, false, false,
           NODE("x", "idle", "", "gpu:quantum:2") "," NODE("y", "idle", "", "gpu:h100:2"),
           "");
    told(lab, "");
    lab_destroy(lab);
}

static void the_last_known_cluster_is_there_without_slurm(void **state)
{
    char path[] = "/tmp/test-slurm-cluster.XXXXXX";
    struct lab *lab;

    (void)state;
    close(mkstemp(path));
    unlink(path);
    lab = lab_create(path);
    assert_int_equal(slurm_node_table_count(lab->nodes), 0);
    answer(lab, false, true, NODE("a", "idle", "", V100), "");
    lab_destroy(lab);
    lab = lab_create(path);
    assert_int_equal(lab->cluster->device_count, 2);
    assert_string_equal(lab->cluster->nodes[0].name, "a");
    assert_string_equal(lab->cluster->types[0].name, "v100-16");
    /* Nobody knows who is there: it is idle from now on, not since ever, and may sleep a
     * minute from now, when jobs have been told. */
    assert_true(clock_epoch_s() - lab->cluster->nodes[0].idle_since_s < 60);
    /* A helper comes, and the node is not there any more. */
    answer(lab, false, true, NODE("b", "idle", "", "gpu:v100:1"), "");
    told(lab, "node 1 added with 1\nnode 0 down\n");
    lab_destroy(lab);
    unlink(path);
}

#define HOST(name, cpus)                                                                 \
    "{\"name\":\"" name "\",\"state\":\"idle\",\"flags\":[],\"gres\":\"" V100            \
    "\",\"cpus\":" cpus ",\"memory_mb\":65536}"
#define CPU_JOB(id, state, cpus, nodes)                                                  \
    "{\"id\":\"" id "\",\"state\":\"" state "\",\"user\":\"ada\",\"submit_s\":100,"      \
    "\"start_s\":110,\"cpus\":" cpus ",\"memory_mb_cpu\":1024,\"num_nodes\":2,"          \
    "\"nodes\":[" nodes "]}"

static void jobs_without_gpus_take_room_of_nodes(void **state)
{
    struct lab *lab = lab_create(NULL);

    (void)state;
    answer(lab, false, false, HOST("a", "16"), "");
    told(lab, "node 0 has 16 CPUs and 64 GB left\n");
    show(lab, CPU_JOB("7", "pending", "8", ""));
    told(lab, "");
    show(lab, CPU_JOB("7", "running", "8", "\"a\",\"c\""));
    told(lab, "node 0 has 12 CPUs and 60 GB left\n"); /* half of it is on another */
    show(lab, CPU_JOB("8", "running", "8", "\"a\",\"c\""));
    told(lab, "node 0 has 8 CPUs and 56 GB left\n");
    show(lab, CPU_JOB("7", "completed", "8", "\"a\",\"c\""));
    told(lab, "node 0 has 12 CPUs and 60 GB left\n");
    answer(lab, true, false, "", "\"8\"");
    told(lab, "node 0 has 16 CPUs and 64 GB left\n");
    show(lab, CPU_JOB("9", "running", "8", "\"a\",\"c\""));
    told(lab, "node 0 has 12 CPUs and 60 GB left\n");
    answer(lab, true, true, "", ""); /* a helper that has just come: it is gone */
    told(lab, "node 0 has 16 CPUs and 64 GB left\n");
    lab_destroy(lab);
}

static void nodes_have_room_and_devices_a_limit_of_jobs(void **state)
{
    struct lab *lab = lab_create(NULL);

    (void)state;
    assert_int_equal(lab->cluster->devices[0].share_most, 2); /* four parts of two */
    assert_int_equal(lab->cluster->devices[2].share_most, 1);
    assert_true(isinf(lab->cluster->nodes[0].room.cpus)); /* not told */
    lab_destroy(lab);
}

static void a_node_is_falling_asleep_before_it_sleeps(void **state)
{
    struct lab *lab = lab_create(NULL);

    (void)state;
    answer(lab, false, false, NODE("a", "idle", "\"powering_down\"", V100), "");
    told(lab, "node 0 falling\n");
    answer(lab, false, false, NODE("a", "idle", "\"powered_down\"", V100), "");
    told(lab, "node 0 asleep\n");
    answer(lab, false, false, NODE("a", "idle", "\"powering_up\"", V100), "");
    told(lab, "");
    answer(lab, false, false, NODE("a", "idle", "", V100), "");
    told(lab, "node 0 up\n");
    lab_destroy(lab);
}

/* A use of 4 % on its one GPU, and 7.5 GB held there, as jobstats writes it. */
#define COUNTERS                                                                         \
    "JS1:H4sIAAAAAAACA6tWystPSS1WsqoGMwxBjPSC0vjSksyczKrEksz8PJCQgZKVSa"                 \
    "0ORKY4NSU+NzU3v6gSKmNuagAFega1tUBlJfkliTnxJZm5qUpWhgYGtQB09AHrZQAA"                 \
    "AA=="

/* Others write there too; what jobstats writes comes with the end or a little later. */
static void counters_of_jobstats_are_told_once_and_only_of_jobs_that_ended(void **state)
{
    struct lab *lab = lab_create(NULL);

    (void)state;
    show(lab, JOB("5", "running", "100", "0", ON_A1 ",\"admin_comment\":\"mine\""));
    str_clear(&lab->told);
    show(lab, JOB("5", "completed", "100", "0",
                  ON_A1 ",\"end_s\":200,\"admin_comment\":\"JS1:Short\""));
    told(lab, "ended 1 done at 200\n");
    show(lab, JOB("5", "completed", "100", "0",
                  ON_A1 ",\"end_s\":200,\"admin_comment\":\"" COUNTERS "\""));
    told(lab, "counted 1 0.04 0 7.5\n");
    show(lab, JOB("5", "completed", "100", "0",
                  ON_A1 ",\"end_s\":200,\"admin_comment\":\"" COUNTERS "\""));
    told(lab, "");
    show(lab, JOB("6", "completed", "100", "0",
                  ON_A1 ",\"end_s\":200,\"admin_comment\":\"JS1:H4sIAAAA\""));
    assert_null(strstr(str_text(&lab->told), "counted")); /* damaged */
    lab_destroy(lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_of_jobstats_are_told_once_and_only_of_jobs_that_ended),
        cmocka_unit_test(jobs_without_gpus_take_room_of_nodes),
        cmocka_unit_test(nodes_have_room_and_devices_a_limit_of_jobs),
        cmocka_unit_test(a_node_is_falling_asleep_before_it_sleeps),
        cmocka_unit_test(a_gpu_that_counts_as_used_on_an_idle_node_is_taken),
        cmocka_unit_test(devices_that_slurm_has_no_room_on_are_left_alone_for_a_while),
        cmocka_unit_test(a_job_is_followed_from_its_hold_to_its_end),
        cmocka_unit_test(devices_are_not_free_while_a_job_is_completing),
        cmocka_unit_test(slurms_own_requeue_is_the_same_job),
        cmocka_unit_test(a_requeue_in_two_steps_is_the_same_job),
        cmocka_unit_test(a_requeue_that_slurm_forgot_is_the_same_job),
        cmocka_unit_test(an_id_that_came_to_somebody_else_is_another_job),
        cmocka_unit_test(an_end_that_was_told_stays),
        cmocka_unit_test(a_job_that_slurm_forgot_has_an_unknown_end),
        cmocka_unit_test(a_job_that_comes_back_in_time_goes_on),
        cmocka_unit_test(elements_that_vanish_while_they_wait_were_cancelled),
        cmocka_unit_test(what_the_daemon_knows_to_have_ended_is_passed_over),
        cmocka_unit_test(an_adopted_job_is_not_found_again),
        cmocka_unit_test(what_a_job_belongs_to_is_told_when_it_changes),
        cmocka_unit_test(jobs_without_gpus_are_nobodys_business),
        cmocka_unit_test(gangs_and_wishes_by_job_and_task_are_counted),
        cmocka_unit_test(nodes_come_sleep_drain_and_go),
        cmocka_unit_test(a_type_nobody_knows_and_a_new_one_are_left_out),
        cmocka_unit_test(the_last_known_cluster_is_there_without_slurm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
