/* local_quota.c - CPU devices keep to their quota, memory and room for output
 *
 * Quotas are ceilings: on a busy machine a job may get less, never more, so that is what
 * is checked, with room for the granularity of the clocks. */
#include "support/local_bench.h"

#include "base/process.h"
#include "support/test.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/stat.h>

#define SPIN     "while :; do :; done"
#define WINDOW_S 3.0

struct start {
    bool no_cgroups;
    double memory_gb;
    int output_mb;
};

static struct bench *opened(const struct start *with)
{
    struct bench *b = mem_new(struct bench);
    struct err err = {0};

    bench_init(b);
    b->no_cgroups = with->no_cgroups;
    b->memory_gb = with->memory_gb;
    b->output_mb = with->output_mb;
    if (!bench_has_probe(b)) {
        bench_fini(b);
        free(b);
        print_message("skipped: there is no corgi-probe\n");
        skip();
    }
    if (bench_open(b, &err) < 0)
        fail_msg("%s", err.text);
    return b;
}

static void closed(struct bench *b)
{
    bench_fini(b);
    free(b);
}

static void start(struct bench *b, struct engine_job *job)
{
    struct err err = {0};

    if (b->engine.ops->start(b->engine.self, job, &err) < 0)
        fail_msg("%s", err.text);
}

static void stop_all(struct bench *b, uint64_t first, uint64_t last)
{
    struct err err;

    for (uint64_t id = first; id <= last; id++)
        b->engine.ops->stop(b->engine.self, id, ENGINE_STOP_CANCEL, &err);
    for (uint64_t id = first; id <= last; id++)
        assert_non_null(bench_await(b, ENGINE_ENDED, id));
}

/* Processor seconds of a job's processes, without its probe. */
static double used_s(const struct bench *b, uint64_t job)
{
    struct process_table procs = {0};
    struct err err;
    char path[128];
    int probe = 0;
    double sum = 0;
    struct process_ids members = {0};
    struct process one;
    FILE *f;

    snprintf(path, sizeof(path), "%s/jobs/%d/attempt-1/pid", b->dir, (int)job);
    f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "probe=%d", &probe), 1);
    fclose(f);
    assert_true(process_read(probe, &one));
    vec_push(&members, one.id);
    assert_int_equal(process_table_read(&procs, &err), 0);
    process_table_collect(&procs, &members, getsid(0));
    for (size_t i = 0; i < members.count; i++)
        if (members.items[i].pid != probe)
            sum += process_table_find(&procs, members.items[i].pid)->cpu_s;
    vec_free(&members);
    process_table_fini(&procs);
    return sum;
}

/* Cores a job used over the window, for each of `count` jobs from `first` on. */
static void measure(struct bench *b, uint64_t first, int count, double *cores)
{
    double began;

    for (int i = 0; i < count; i++)
        assert_non_null(bench_await(b, ENGINE_STARTED, first + (uint64_t)i));
    bench_work(b, 0.5);
    began = clock_wall_s();
    for (int i = 0; i < count; i++)
        cores[i] = used_s(b, first + (uint64_t)i);
    bench_work(b, WINDOW_S);
    for (int i = 0; i < count; i++)
        cores[i] = (used_s(b, first + (uint64_t)i) - cores[i]) / (clock_wall_s() - began);
}

static void check_quotas(bool no_cgroups)
{
    struct bench *b = opened(&(struct start){.no_cgroups = no_cgroups});
    struct bench_job half, quarter, two[2];
    double cores[4];

    /* Device 1 has half a core, 2 a quarter, 3 a quarter that two jobs share. */
    start(b, bench_shell(&half, 1, 1, SPIN));
    start(b, bench_shell(&quarter, 2, 2, SPIN));
    start(b, bench_shell(&two[0], 3, 3, SPIN));
    start(b, bench_shell(&two[1], 4, 3, SPIN));
    measure(b, 1, 4, cores);
    print_message("%s: half %.3f, quarter %.3f, shared quarter %.3f + %.3f\n",
                  no_cgroups ? "without cgroups" : "as the machine allows", cores[0],
                  cores[1], cores[2], cores[3]);
    assert_true(cores[0] < 0.55 && cores[0] > 0.05);
    assert_true(cores[1] < 0.29 && cores[1] > 0.03);
    assert_true(cores[2] + cores[3] < 0.29 && cores[2] + cores[3] > 0.03);
    assert_true(fmin(cores[2], cores[3]) > 0.2 * (cores[2] + cores[3]));
    stop_all(b, 1, 4);
    closed(b);
}

CASE(quotas_hold_with_what_the_machine_allows)
{
    check_quotas(false);
}

CASE(quotas_hold_without_cgroups)
{
    check_quotas(true);
}

/* Short processes one after the other, in a session of their own each. */
CASE(a_tree_that_changes_all_the_time_is_held_by_signals)
{
    struct bench *b = opened(&(struct start){.no_cgroups = true});
    struct bench_job j;
    double cores[1];

    start(b, bench_shell(&j, 1, 2,
                         "while :; do setsid -w sh -c 'i=0; while [ $i -lt 3000 ]; do "
                         "i=$((i+1)); done'; done"));
    measure(b, 1, 1, cores);
    print_message("a quarter in short processes: %.3f\n", cores[0]);
    assert_true(cores[0] < 0.4); /* some of what is short is never seen */
    stop_all(b, 1, 1);
    closed(b);
}

CASE(a_gang_has_a_part_of_each_of_its_devices)
{
    static const int devices[] = {1, 2};
    struct bench *b = opened(&(struct start){0});
    struct bench_job gang, beside;
    double cores[2];

    bench_shell(&gang, 1, 1, SPIN)->devices = devices;
    gang.engine.device_count = 2;
    start(b, &gang.engine);
    start(b, bench_shell(&beside, 2, 2, SPIN));
    measure(b, 1, 2, cores);
    print_message("gang %.3f of 0.625, beside it %.3f of 0.125\n", cores[0], cores[1]);
    assert_true(cores[0] < 0.69);
    assert_true(cores[1] < 0.16);
    stop_all(b, 1, 2);
    closed(b);
}

CASE(a_stopped_device_lets_its_job_die)
{
    struct bench *b = opened(&(struct start){.no_cgroups = true});
    struct bench_job j;

    bench_shell(&j, 1, 2, "trap '' TERM; " SPIN)->stop_grace_s = 0.3;
    start(b, &j.engine);
    assert_non_null(bench_await(b, ENGINE_STARTED, 1));
    bench_work(b, 0.3);
    stop_all(b, 1, 1);
    assert_int_equal(bench_find(b, ENGINE_ENDED, 1)->event.end, ENGINE_END_STOPPED);
    closed(b);
}

CASE(the_largest_job_goes_when_memory_is_out)
{
    struct bench *b = opened(&(struct start){.memory_gb = 0.15});
    struct bench_job small, large;
    const struct bench_event *e;

    start(b, bench_shell(&small, 1, 0, "exec sleep 60"));
    /* tail keeps all of a line until it ends. */
    start(b, bench_shell(&large, 2, 0, "tail -n 1 /dev/zero; exec sleep 60"));
    e = bench_await(b, ENGINE_ENDED, 2);
    assert_non_null(e);
    assert_int_equal(e->event.end, ENGINE_END_OUT_OF_MEMORY);
    assert_true(e->event.measurement.out_of_memory);
    assert_non_null(strstr(e->text, "memory"));
    assert_null(bench_find(b, ENGINE_ENDED, 1));
    stop_all(b, 1, 1);
    closed(b);
}

static double disk_bytes(const struct bench *b)
{
    char path[128];
    struct stat info;

    snprintf(path, sizeof(path), "%s/jobs/1/attempt-1/output", b->dir);
    assert_int_equal(stat(path, &info), 0);
    return (double)info.st_blocks * 512;
}

CASE(output_without_end_does_not_fill_the_disk)
{
    struct bench *b = opened(&(struct start){.output_mb = 4});
    struct bench_job j;
    const struct bench_event *e;

    start(b,
          bench_shell(&j, 1, 0,
                      "echo first line; for i in 1 2 3 4 5 6 7 8; do head -c 12500000 "
                      "/dev/zero | tr '\\0' 'x'; echo; sleep 0.3; done; echo last line; "
                      "sleep 1; exit 7"));
    e = bench_await(b, ENGINE_ENDED, 1);
    assert_non_null(e);
    assert_int_equal(e->event.exit_status, 7);
    print_message("100 MB of output take %.1f MB\n", disk_bytes(b) / 1e6);
    assert_true(disk_bytes(b) < 20e6);
    assert_non_null(strstr(e->text, "not kept"));
    closed(b);
}

CASE(power_is_told_for_each_device_and_called_a_model)
{
    struct bench *b = opened(&(struct start){0});
    struct bench_job j;
    double joules[4] = {0};
    bool metered = false;

    start(b, bench_shell(&j, 1, 1, SPIN));
    assert_non_null(bench_await(b, ENGINE_STARTED, 1));
    bench_work(b, 3);
    vec_each (const struct bench_event, e, &b->events)
        if (e->event.kind == ENGINE_POWER) {
            assert_in_range(e->event.device, 0, 3);
            assert_true(e->event.joules >= 0 && e->event.watts >= 0);
            joules[e->event.device] += e->event.joules;
            metered = metered || !e->event.modelled;
        }
    if (!metered) { /* idle ones draw what an idle one draws */
        assert_true(joules[0] > 0 && joules[2] > 0 && joules[3] > 0);
        assert_true(fabs(joules[2] - joules[3]) < 1e-6 * joules[2]);
    }
    assert_true(joules[1] > joules[2]);
    stop_all(b, 1, 1);
    closed(b);
}

CASE(the_cluster_has_devices_of_three_types)
{
    struct bench *b = opened(&(struct start){0});
    struct cluster *c = NULL;
    struct err err = {0};

    assert_int_equal(b->engine.ops->cluster(b->engine.self, &c, &err), 0);
    assert_int_equal(c->node_count, 1);
    assert_int_equal(c->device_count, 4);
    assert_int_equal(c->type_count, 3);
    assert_false(c->nodes[0].may_sleep);
    assert_string_equal(c->types[c->devices[3].type].name, "cpu-slow");
    assert_int_equal(c->devices[2].type, c->devices[3].type);
    assert_true(c->types[0].fp32_tflops > 1.9 * c->types[1].fp32_tflops);
    assert_true(c->types[1].tdp_watts > 1.9 * c->types[2].tdp_watts);
    cluster_destroy(c);
    closed(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cluster_has_devices_of_three_types),
        cmocka_unit_test(quotas_hold_with_what_the_machine_allows),
        cmocka_unit_test(quotas_hold_without_cgroups),
        cmocka_unit_test(a_tree_that_changes_all_the_time_is_held_by_signals),
        cmocka_unit_test(a_gang_has_a_part_of_each_of_its_devices),
        cmocka_unit_test(a_stopped_device_lets_its_job_die),
        cmocka_unit_test(the_largest_job_goes_when_memory_is_out),
        cmocka_unit_test(output_without_end_does_not_fill_the_disk),
        cmocka_unit_test(power_is_told_for_each_device_and_called_a_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
