/* test_slurm.c - what Slurm's tools print becomes a cluster and arrivals */
#include "lab/traces/slurm.h"

#include "loop/cluster.h"
#include "world/power.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/text_file.h"
#include "fixture/sim.h"

static struct slurm_nodes nodes;
static struct slurm_jobs jobs;
static struct slurm slurm;
static struct err err;

static int set_up(void **state)
{
    (void)state;
    nodes = (struct slurm_nodes){0};
    jobs = (struct slurm_jobs){0};
    slurm = (struct slurm){0};
    err = (struct err){0};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    slurm_nodes_fini(&nodes);
    slurm_jobs_fini(&jobs);
    slurm_fini(&slurm);
    return 0;
}

static int read_nodes(const char *text, const char *names)
{
    return slurm_nodes_load(&nodes, text_file("sinfo.txt", text), names, &err);
}

static int read_jobs(const char *text, const char *names)
{
    return slurm_jobs_load(&jobs, text_file("sacct.txt", text),
                           nodes.count ? &nodes : NULL, names, &err);
}

static int build(bool any_type)
{
    const struct slurm_options options = {
        .jobs = "sacct.txt", .nodes = "sinfo.txt", .any_type = any_type};

    return slurm_build(&slurm, &jobs, nodes.count ? &nodes : NULL, &options, &err);
}

static bool join(void *ctx, const char *host)
{
    str_addf(ctx, "%s ", host);
    return true;
}

static const char *hosts_of(const char *list, struct str *out)
{
    str_clear(out);
    return slurm_hosts(list, 20, join, out, &err) < 0 ? NULL : str_text(out);
}

static void times_are_read(void **state)
{
    double a, b;

    (void)state;
    assert_true(slurm_time("1970-01-02T00:00:01", &a));
    assert_near(a, 86401, 0);
    assert_true(slurm_time("2024-03-01T00:00:00", &a));
    assert_true(slurm_time("2024-02-28T00:00:00", &b));
    assert_near(a - b, 2 * 86400, 0); /* a leap year */
    assert_near(a, 1709251200, 0);
    assert_true(slurm_time("1709251200", &b));
    assert_near(a, b, 0);
    assert_true(slurm_elapsed("1-02:03:04", &a));
    assert_near(a, 93784, 0);
    assert_true(slurm_elapsed("00:45:00", &a));
    assert_near(a, 2700, 0);
    assert_true(slurm_elapsed("03:05.250", &a));
    assert_near(a, 185, 0);
}

static void no_times_are_refused(void **state)
{
    static const char *const times[] = {
        "", "Unknown", "2024-03-01", "2024-13-01T00:00:00", "2024-03-01T00:00:00Z", "-5"};
    static const char *const spans[] = {"", "5", "1-00:05", "00:61:00", "1:2:3:4", "x"};
    double value;

    (void)state;
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        assert_false(slurm_time(times[i], &value));
    for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++)
        assert_false(slurm_elapsed(spans[i], &value));
}

static void lists_of_hosts_are_spread_out(void **state)
{
    struct str out = {0};

    (void)state;
    assert_string_equal(hosts_of("login1", &out), "login1 ");
    assert_string_equal(hosts_of("gpu[08-10,2],x-1", &out),
                        "gpu08 gpu09 gpu10 gpu2 x-1 ");
    assert_string_equal(hosts_of("r[1-2]n[3-4]", &out), "r1n3 r1n4 r2n3 r2n4 ");
    assert_null(hosts_of("gpu[1-", &out));
    assert_null(hosts_of("gpu[4-1]", &out));
    assert_null(hosts_of("gpu 1", &out));
    assert_null(hosts_of("", &out));
    assert_null(hosts_of("gpu[1-21]", &out)); /* more than were allowed */
    assert_int_equal(err.code, ERR_LIMIT);
    str_fini(&out);
}

static void nodes_come_from_sinfo(void **state)
{
    (void)state;
    assert_int_equal(read_nodes("NODELIST GRES CPUS MEMORY\n"
                                "c1 (null) 32 128000\n"
                                "g[1-2] gpu:v100:4(S:0-1,3),shard:v100:8(S:0) 64 512000\n"
                                "g1 gpu:v100:4(S:0-1) 64 512000\n" /* two partitions */
                                "g3 gpu:tesla_p100:2,gpu:k80:1 16 65536\n",
                                NULL),
                     0);
    assert_int_equal(nodes.count, 4);
    assert_int_equal(slurm_nodes_find(&nodes, "c1")->kinds, 0);
    assert_string_equal(slurm_nodes_find(&nodes, "g2")->card[0]->name, "v100-16");
    assert_int_equal(slurm_nodes_find(&nodes, "g2")->gpus[0], 4);
    assert_int_equal(slurm_nodes_find(&nodes, "g3")->kinds, 2);
    assert_null(slurm_nodes_find(&nodes, "g4"));
}

static void partitions_of_nodes_are_groups(void **state)
{
    (void)state;
    assert_int_equal(read_nodes("NODELIST GRES PARTITION\n"
                                "g[1-2] gpu:v100:4 main*\n"
                                "g2 gpu:v100:4 long\n"
                                "g3 gpu:k80:4 old,long\n"
                                "g4 gpu:k80:4\n",
                                NULL),
                     0);
    assert_int_equal(slurm_nodes_group(&nodes, "main"), 1);
    assert_int_equal(slurm_nodes_group(&nodes, "long"), 2);
    assert_int_equal(slurm_nodes_group(&nodes, "old"), 3);
    assert_int_equal(slurm_nodes_group(&nodes, "none"), 0);
    assert_int_equal(slurm_nodes_find(&nodes, "g1")->groups, 1 << 1);
    assert_int_equal(slurm_nodes_find(&nodes, "g2")->groups, 1 << 1 | 1 << 2);
    assert_int_equal(slurm_nodes_find(&nodes, "g3")->groups, 1 << 2 | 1 << 3);
    assert_int_equal(slurm_nodes_find(&nodes, "g4")->groups, 0);
    slurm_nodes_fini(&nodes);
    assert_int_equal(read_nodes("NodeName=n1 Partitions=a,b Gres=gpu:a100:8\n", NULL), 0);
    assert_int_equal(slurm_nodes_find(&nodes, "n1")->groups, 1 << 1 | 1 << 2);
}

static void what_machines_draw_is_taken_from_a_daemons_record(void **state)
{
    (void)state;
    assert_int_equal(read_nodes("NODELIST GRES PARTITION HOST_WATTS\n"
                                "g1 gpu:v100:2 main 150\n"
                                "g2 gpu:v100:2 main 0\n"
                                "g3 gpu:tesla_p100:2,gpu:k80:1 main 300\n",
                                NULL),
                     0);
    assert_int_equal(read_jobs("JobID|Submit|Start|End|AllocTRES\n"
                               "1|100|100|200|gres/gpu:v100=1\n",
                               NULL),
                     0);
    assert_int_equal(build(false), 0);
    assert_near(slurm.cluster->nodes[0].host_watts, 150, 1e-9);
    assert_near(slurm.cluster->nodes[1].host_watts, 120, 1e-9); /* not told */
    assert_near(slurm.cluster->nodes[2].host_watts, 150, 1e-9); /* one a type */
    assert_near(slurm.cluster->nodes[3].host_watts, 150, 1e-9);
    assert_non_null(strstr(str_text(&slurm.cluster_notes), "2 machines draw"));
    slurm_nodes_fini(&nodes);
    assert_int_equal(read_nodes("NODELIST GRES HOST_WATTS\ng1 gpu:v100:2 much\n", NULL),
                     -1);
    assert_non_null(strstr(err.text, "HOST_WATTS is \"much\""));
}

static void nodes_come_from_scontrol(void **state)
{
    (void)state;
    assert_int_equal(read_nodes("NodeName=n1 Arch=x86_64 CoresPerSocket=8 \n"
                                "   CPUAlloc=0 CPUTot=16 CPULoad=0.1\n"
                                "   Gres=gpu:a100:8(S:0-1)\n"
                                "   OS=Linux 6.1.0 #1 SMP\n\n"
                                "NodeName=n2 Arch=x86_64 Gres=gpu:2 State=IDLE\n",
                                "gpu=l4"),
                     0);
    assert_int_equal(nodes.count, 2);
    assert_int_equal(nodes.nodes[0].gpus[0], 8);
    assert_string_equal(nodes.nodes[1].card[0]->name, "l4");
}

static void bad_nodes_are_refused_by_line(void **state)
{
    (void)state;
    assert_int_equal(read_nodes("NODELIST GRES\na gpu:v100:1\nb gpu:what:1\n", NULL), -1);
    assert_non_null(strstr(err.text, "sinfo.txt:3: "));
    assert_non_null(strstr(err.text, "--slurm-types what=CARD"));
    assert_int_equal(read_nodes("a gpu:2\n", NULL), -1);
    assert_non_null(strstr(err.text, "gpu=CARD"));
    assert_int_equal(read_nodes("a gpu:v100:1\na gpu:v100:2\n", NULL), -1);
    assert_non_null(strstr(err.text, "sinfo.txt:2: "));
    assert_int_equal(read_nodes("a gpu:v100:x:y\n", NULL), -1);
    assert_int_equal(read_nodes("a gpu:v100:65\n", NULL), -1);
    assert_int_equal(read_nodes("a\n", NULL), -1);
    assert_int_equal(read_nodes("NODELIST CPUS\na 4\n", NULL), -1);
    assert_int_equal(read_nodes("NodeName=a State=IDLE\n", NULL), -1);
    assert_int_equal(read_nodes("a (null)\n", NULL), -1); /* no GPU at all */
    assert_int_equal(read_nodes("", NULL), -1);
    assert_null(nodes.nodes);
}

#define HEADER                                                                           \
    "JobID|User|JobName|Submit|Start|Elapsed|AllocTRES|ReqTRES|NNodes|NodeList|State\n"
#define DAY "2024-03-01T"

static const char some_jobs[] = HEADER
    "7|ann|a|" DAY "08:00:00|" DAY "08:10:00|02:00:00|cpu=8,gres/gpu:v100=2,gres/gpu=2|"
    "gres/gpu:v100=2|1|g1|COMPLETED\n"
    "7.batch||batch|" DAY "08:10:00|" DAY "08:10:00|02:00:00|cpu=8,gres/gpu:v100=2||1|g1|"
    "COMPLETED\n"
    "8|ben|b|" DAY "08:05:00|" DAY "08:05:00|00:10:00|cpu=4|cpu=4|1|c1|COMPLETED\n"
    "9_[1-4]|ann|a|" DAY "08:06:00|Unknown|00:00:00||gres/gpu=1|1|None assigned|PENDING\n"
    "10|ann|a|" DAY "07:00:00|" DAY "08:30:00|1-00:00:00|gres/gpu=3|gres/gpu=3|2|g[2-3]|"
    "RUNNING\n"
    "11|ben|a|" DAY "09:00:00|" DAY "09:00:00|00:30:00|gres/shard=1|gres/shard=1|1|x9|"
    "CANCELLED by 5\n";

static void jobs_are_told_from_steps_and_from_those_without_gpus(void **state)
{
    (void)state;
    assert_int_equal(read_nodes("g[1-3] gpu:k80:4\nc1 (null)\n", NULL), 0);
    assert_int_equal(read_jobs(some_jobs, NULL), 0);
    assert_int_equal(jobs.count, 3);
    assert_int_equal(jobs.steps, 1);
    assert_int_equal(jobs.without_gpus, 1);
    assert_int_equal(jobs.never_ran, 1);
    assert_int_equal(jobs.still_running, 1);
    assert_int_equal(jobs.shards, 1);
    assert_int_equal(jobs.type_asked, 1);
    assert_int_equal(jobs.type_unknown, 1); /* x9 is on no list */
    assert_string_equal(jobs.jobs[0].arrival.ran_on, "v100-16");
    assert_string_equal(jobs.jobs[1].arrival.ran_on, "k80"); /* by its node */
    assert_int_equal(jobs.jobs[1].arrival.devices, 3);
    assert_int_equal(jobs.jobs[1].arrival.nodes, 2);
    assert_int_equal(jobs.jobs[0].arrival.owner, jobs.jobs[1].arrival.owner);
    assert_int_not_equal(jobs.jobs[0].arrival.owner, jobs.jobs[2].arrival.owner);
    assert_true(jobs.jobs[0].arrival.like == jobs.jobs[1].arrival.like);
    assert_true(jobs.jobs[0].arrival.like != jobs.jobs[2].arrival.like);
}

static void what_is_not_told_is_assumed_and_said(void **state)
{
    struct str out = {0};
    const char *notes;

    (void)state;
    assert_int_equal(read_nodes("g[1-3] gpu:k80:4\ng4 gpu:k80:2,gpu:v100:2\n", NULL), 0);
    assert_int_equal(read_jobs(some_jobs, NULL), 0);
    assert_int_equal(build(true), 0);
    assert_int_equal(slurm.cluster->node_count, 5); /* g4 is two */
    assert_int_equal(slurm.cluster->device_count, 16);
    assert_near(slurm.cluster->nodes[3].host_watts * 2,
                slurm.cluster->nodes[0].host_watts, 1e-9);
    assert_string_equal(slurm.cluster->nodes[1].name, "g2");
    assert_int_equal(slurm.arrivals.count, 3);
    assert_near(slurm.arrivals.items[0].at_s, 0, 0);
    assert_near(slurm.arrivals.items[1].at_s, 3600, 0);
    assert_string_equal(slurm.arrivals.items[2].ran_on, "v100-16"); /* the fastest */
    assert_string_equal(slurm.arrivals.items[1].gpus, "");          /* any will do */
    notes = slurm_notes(&slurm, false, &out);
    assert_non_null(strstr(notes, "without GPUs 1, never ran 1"));
    assert_non_null(strstr(notes, "not told (1) ran on v100-16"));
    assert_non_null(strstr(notes, "(1) are one node a type"));
    str_fini(&out);
}

static void without_nodes_the_most_in_use_at_once_is_the_cluster(void **state)
{
    (void)state;
    assert_int_equal(read_jobs(some_jobs, NULL), 0);
    assert_int_equal(build(false), 0);
    /* 2 from 8:10 to 10:10, 3 on two nodes from 8:30, 1 at 9:00: 6 at most, 2 a node. */
    assert_int_equal(slurm.cluster->device_count, 6);
    assert_int_equal(slurm.cluster->node_count, 3);
    assert_string_equal(slurm.arrivals.items[1].gpus, "v100-16");
}

static void a_type_nobody_tells_must_be_given(void **state)
{
    static const char text[] =
        "JobID|Submit|Elapsed|AllocTRES\n1|" DAY "08:00:00|00:30:00|gres/gpu=2\n";

    (void)state;
    assert_int_equal(read_jobs(text, NULL), 0);
    assert_int_equal(build(false), -1);
    assert_non_null(strstr(err.text, "--slurm-nodes"));
    slurm_jobs_fini(&jobs);
    assert_int_equal(read_jobs(text, "tesla=k80,gpu=h100"), 0);
    assert_int_equal(build(false), 0);
    assert_string_equal(slurm.cluster->types[0].name, "h100-sxm");
}

static void bad_jobs_are_refused_by_line(void **state)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"", "empty"},
        {"1|2\n", "sacct.txt:1: no column JobID"},
        {"JobID|Submit|AllocTRES\n", "Elapsed"},
        {HEADER "1|a|b\n", "sacct.txt:2: 3 fields where the header has 11"},
        {"JobID|Submit|Elapsed|AllocTRES\nx|" DAY "08:00:00|00:30:00|gres/gpu=2\n",
         "sacct.txt:2: JobID"},
        {"JobID|Submit|Elapsed|AllocTRES\n\n1|yesterday|00:30:00|gres/gpu=2\n",
         "sacct.txt:3: Submit is \"yesterday\""},
        {"JobID|Submit|Elapsed|AllocTRES\n1|" DAY "08:00:00|half|gres/gpu=2\n",
         "sacct.txt:2: Elapsed"},
        {"JobID|Submit|Elapsed|AllocTRES\n1|" DAY "08:00:00|00:30:00|gres/gpu=two\n",
         "sacct.txt:2: gres/gpu=two"},
        {"JobID|Submit|Elapsed|AllocTRES\n1|" DAY "08:00:00|00:30:00|gres/gpu:zz=2\n",
         "sacct.txt:2: no GPU 'zz'"},
        {"JobID|Submit|Elapsed|AllocTRES\n1|" DAY "08:00:00|00:30:00|gres/gpu=99999\n",
         "sacct.txt:2: 99999 GPUs"},
        {"JobID|Submit|Elapsed|AllocTRES\n1|" DAY "08:00:00|00:30:00|cpu=2\n",
         "holds no job"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(read_jobs(bad[i].text, NULL), -1);
        if (!strstr(err.text, bad[i].words))
            fail_msg("'%s' is not in '%s'", bad[i].words, err.text);
        assert_null(jobs.jobs);
    }
}

static void lists_of_type_names_are_checked(void **state)
{
    (void)state;
    assert_int_equal(slurm_gres_check_names("a=v100,gpu=l4", &err), 0);
    assert_int_equal(slurm_gres_check_names("a", &err), -1);
    assert_int_equal(slurm_gres_check_names("a=v100,b=nothing", &err), -1);
    assert_non_null(strstr(err.text, "b=nothing"));
}

/* A daemon that watched with probes knows rates and needs. */
static void a_need_that_was_told_is_a_share_of_the_rate_it_had(void **state)
{
    (void)state;
    assert_int_equal(read_jobs("JobID|Submit|Start|End|AllocTRES|Rate|Need\n"
                               "1|100|100|200|gres/gpu:v100=1|10|2.5\n"
                               "2|100|100|200|gres/gpu:v100=1|10|\n"
                               "3|100|100|200|gres/gpu:v100=1||2.5\n"
                               "4|100|100|200|gres/gpu:v100=1|2|2.5\n",
                               NULL),
                     0);
    assert_near(jobs.jobs[0].arrival.share, 0.25, 1e-9);
    assert_true(jobs.jobs[1].arrival.share == 0);
    assert_true(jobs.jobs[2].arrival.share == 0);
    assert_near(jobs.jobs[3].arrival.share, ARRIVALS_KEPT, 1e-9); /* it fell short */
    assert_int_equal(jobs.measured, 3);
    assert_int_equal(jobs.needs_told, 2);
    assert_int_equal(build(false), 0);
    assert_non_null(strstr(str_text(&slurm.notes), "Told: what 2 jobs need"));
}

static void what_a_gpu_drew_says_how_much_it_was_used(void **state)
{
    const struct gpu_sheet *card = gpu_find("v100");

    (void)state;
    assert_int_equal(
        read_jobs("JobID|Submit|Start|End|AllocTRES|GpuUse|UnusedGpus|Watts\n"
                  "1|100|100|200|gres/gpu:v100=1|||140\n"
                  "2|100|100|200|gres/gpu:v100=1|0.9|0|140\n"
                  "3|100|100|200|gres/gpu:v100=1|||\n"
                  "4|100|100|200|gres/gpu:v100=1|||1\n",
                  NULL),
        0);
    assert_near(power_draw_watts(card, jobs.jobs[0].arrival.gpu_use), 140, 1e-6);
    assert_near(jobs.jobs[1].arrival.gpu_use, 0.9, 1e-9); /* counters go before */
    assert_true(jobs.jobs[2].arrival.gpu_use == 0);       /* not told */
    assert_true(jobs.jobs[3].arrival.gpu_use > 0 && jobs.jobs[3].arrival.gpu_use < 0.01);
    assert_int_equal(jobs.drew, 2);
}

/* Played again where it ran a job takes the time it took, and its need is met there. */
static void a_job_needs_the_rate_it_had(void **state)
{
    struct world *world = fixture_world();
    struct cluster *cluster = fixture_cluster(world, 2, 2, 4);
    struct arrivals list = {.count = 2, .items = mem_array(struct arrival, 2)};
    struct arrivals_use use = {.cluster = cluster, .seed = 3, .alone_sd = 0.15};
    struct workload *w;

    (void)state;
    for (int i = 0; i < 2; i++)
        list.items[i] = (struct arrival){.class = ARRIVAL_AS_IT_RAN,
                                         .duration_s = 1000,
                                         .devices = 1,
                                         .owner = 5,
                                         .like = 77,
                                         .nodes = 1,
                                         .share = i ? 0.3 : 0};
    strcpy(list.items[0].ran_on, world->gpus[FIXTURE_K80].name);
    strcpy(list.items[1].ran_on, world->gpus[FIXTURE_K80].name);
    w = arrivals_workload(&list, &use, world);
    assert_int_equal(w->requests[0].cls, w->requests[1].cls); /* alike */
    for (int i = 0; i < 2; i++) {
        const struct sim_request *r = &w->requests[i];
        int gpu = FIXTURE_K80;
        struct truth t = {.world = world, .gpu_of_type = &gpu, .alone_sd = 0.15};

        assert_near(r->steps / truth_alone(&t, r, 0, 1), 1000, 1e-6);
        assert_near(r->job.need.rate / truth_alone(&t, r, 0, 1), i ? 0.3 : ARRIVALS_KEPT,
                    1e-9);
        assert_int_equal(r->job.need.kind, NEED_RATE);
        assert_int_equal(r->job.owner, 5);
    }
    assert_true(w->requests[0].job.need.rate != w->requests[1].job.need.rate);
    workload_destroy(w);
    arrivals_fini(&list);
    cluster_destroy(cluster);
    world_destroy(world);
}

#define slurm_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        slurm_test(times_are_read),
        slurm_test(no_times_are_refused),
        slurm_test(lists_of_hosts_are_spread_out),
        slurm_test(nodes_come_from_sinfo),
        slurm_test(partitions_of_nodes_are_groups),
        slurm_test(what_machines_draw_is_taken_from_a_daemons_record),
        slurm_test(nodes_come_from_scontrol),
        slurm_test(bad_nodes_are_refused_by_line),
        slurm_test(jobs_are_told_from_steps_and_from_those_without_gpus),
        slurm_test(what_is_not_told_is_assumed_and_said),
        slurm_test(without_nodes_the_most_in_use_at_once_is_the_cluster),
        slurm_test(a_type_nobody_tells_must_be_given),
        slurm_test(bad_jobs_are_refused_by_line),
        slurm_test(lists_of_type_names_are_checked),
        slurm_test(what_a_gpu_drew_says_how_much_it_was_used),
        slurm_test(a_need_that_was_told_is_a_share_of_the_rate_it_had),
        slurm_test(a_job_needs_the_rate_it_had),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
