/* local_gpus.c - the local engine on pretended GPUs: the fake NVML of tests/fake
 *
 * The fake's devices draw power for each session of processes that has their UUID in
 * CUDA_VISIBLE_DEVICES, so what the engine gives to jobs shows in what it measures. */
#include "support/local_bench.h"

#include "base/file.h"
#include "fixture/fake_nvml.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static struct fake_nvml fake;

static const char script[] =
    "driver fake-550.54\n"
    "gpu name=\"Tesla V100-SXM2-16GB\" arch=5 memory=16384 limit=300 min=150 max=300\n"
    "  power 0 40\n"
    "  follow 100 40 2000\n"
    "gpu name=\"Tesla V100-SXM2-16GB\" arch=5 memory=16384 limit=300 min=150 max=300\n"
    "  power 0 40\n"
    "  follow 100 40 2000\n"
    "gpu name=\"Card Of Tomorrow\" arch=9 memory=81920 limit=700 min=200 max=700\n"
    "  power 0 70\n"
    "  unplug 1 5\n";

static struct bench *opened(bool caps)
{
    struct bench *b = mem_new(struct bench);
    struct cpus_spec cpu = {.type = "cpu", .cores = "0", .quota = 0.5};
    struct err err = {0};

    bench_init(b);
    if (!bench_has_probe(b)) {
        bench_fini(b);
        free(b);
        print_message("skipped: there is no corgi-probe\n");
        skip();
    }
    fake_nvml_begin(&fake, script);
    if (local_engine_create(
            &b->engine,
            &(struct local_engine_options){
                .state_dir = b->dir,
                .probe = b->probe,
                .cpus = &cpu,
                .cpu_count = 1,
                .gpus = true,
                .gpu = {.backends = GPU_BACKEND_NVML, .nvml_library = fake.library},
                .caps = caps,
                .window_s = 1,
                .power_every_s = 1,
                .mps_directory = "/run/mps",
            },
            (struct engine_sink){bench_hear, b}, &err) < 0)
        fail_msg("%s", err.text);
    return b;
}

static void closed(struct bench *b)
{
    bench_fini(b);
    free(b);
    fake_nvml_end(&fake);
}

static void start(struct bench *b, struct engine_job *job)
{
    struct err err = {0};

    if (b->engine.ops->start(b->engine.self, job, &err) < 0)
        fail_msg("%s", err.text);
}

static char *output_of(struct bench *b, uint64_t job)
{
    char path[128];
    char *bytes = NULL;
    size_t count;
    struct err err;

    snprintf(path, sizeof(path), "%s/jobs/%d/attempt-1/output", b->dir, (int)job);
    if (file_read(path, 1 << 20, &bytes, &count, &err) < 0)
        fail_msg("%s", err.text);
    return bytes;
}

static void gpus_come_first_then_cpus(void **state)
{
    struct bench *b = opened(false);
    struct cluster *c = NULL;
    struct err err = {0};

    (void)state;
    assert_int_equal(b->engine.ops->cluster(b->engine.self, &c, &err), 0);
    assert_int_equal(c->device_count, 4);
    assert_int_equal(c->type_count, 3);
    assert_non_null(strstr(c->types[c->devices[0].type].name, "v100"));
    assert_int_equal(c->devices[0].type, c->devices[1].type);
    assert_string_equal(c->types[c->devices[2].type].name, "card-of-tomorrow");
    assert_non_null(strstr(c->types[c->devices[2].type].source, "unknown"));
    assert_string_equal(c->types[c->devices[3].type].name, "cpu");
    /* Without consent no cap is offered. */
    assert_true(c->types[c->devices[0].type].cap_min_watts == 0);
    cluster_destroy(c);
    closed(b);
}

static double last_watts(const struct bench *b, int device)
{
    double watts = NAN;

    vec_each (const struct bench_event, e, &b->events)
        if (e->event.kind == ENGINE_POWER && e->event.device == device)
            watts = e->event.watts;
    return watts;
}

static void await_watts(struct bench *b, int device, double low, double high)
{
    double end = clock_wall_s() + BENCH_PATIENCE_S;

    while (!(last_watts(b, device) > low && last_watts(b, device) < high)) {
        if (clock_wall_s() > end)
            fail_msg("device %d draws %g W, want %g to %g", device, last_watts(b, device),
                     low, high);
        bench_turn(b, 0.2);
    }
}

static void a_job_sees_its_gpu_and_its_power_is_measured(void **state)
{
    struct bench *b = opened(false);
    struct bench_job j, beside;
    char *first, *second;

    (void)state;
    start(b, bench_shell(&j, 1, 1, "env; exec sleep 60"));
    assert_non_null(bench_await(b, ENGINE_STARTED, 1));
    start(b, bench_shell(&beside, 2, 1, "env"));
    assert_non_null(bench_await(b, ENGINE_ENDED, 2));
    first = output_of(b, 1);
    second = output_of(b, 2);
    assert_non_null(strstr(first, "CUDA_VISIBLE_DEVICES=GPU-"));
    assert_non_null(strstr(first, "CUDA_DEVICE_ORDER=PCI_BUS_ID\n"));
    assert_non_null(strstr(first, "CUDA_MPS_PIPE_DIRECTORY=/run/mps/pipe\n"));
    assert_null(strstr(first, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"));
    assert_non_null(strstr(second, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50\n"));
    free(first);
    free(second);
    await_watts(b, 1, 90, 400); /* more than idle: the fake follows the UUID */
    await_watts(b, 0, 30, 50);
    vec_each (const struct bench_event, e, &b->events)
        if (e->event.kind == ENGINE_POWER && e->event.device < 2)
            assert_false(e->event.modelled);
    b->engine.ops->stop(b->engine.self, 1, ENGINE_STOP_CANCEL, NULL);
    assert_non_null(bench_await(b, ENGINE_ENDED, 1));
    closed(b);
}

static void a_lost_gpu_is_told_and_told_again_when_back(void **state)
{
    struct bench *b = opened(false);
    const struct bench_event *e;

    (void)state;
    e = bench_await(b, ENGINE_DEVICE_LOST, 0);
    assert_non_null(e);
    assert_int_equal(e->event.device, 2);
    assert_true(e->text[0] != '\0');
    e = bench_await(b, ENGINE_DEVICE_BACK, 0);
    assert_non_null(e);
    assert_int_equal(e->event.device, 2);
    closed(b);
}

static double limit_of(struct gpu *gpu)
{
    struct gpu_limit limit = {.watts = NAN};
    struct err err;

    gpu_limit(gpu, 0, &limit, &err);
    return limit.watts;
}

static void caps_need_consent_and_are_put_back(void **state)
{
    struct bench *b = opened(false);
    struct gpu *other;
    struct err err = {0};

    (void)state;
    assert_int_equal(b->engine.ops->cap(b->engine.self, 0, 200, &err), -1);
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    closed(b);
    b = opened(true);
    other = fake_nvml_open(&fake, 5);
    assert_int_equal(b->engine.ops->cap(b->engine.self, 0, 200, &err), 0);
    assert_true(limit_of(other) == 200);
    assert_int_equal(b->engine.ops->cap(b->engine.self, 0, 20, &err), -1);
    assert_true(limit_of(other) == 200);
    bench_close(b);
    gpu_close(other); /* one shutdown of the fake is one for all */
    other = fake_nvml_open(&fake, 5);
    assert_true(limit_of(other) == 300);
    gpu_close(other);
    closed(b);
}

static void a_cap_on_a_cpu_device_is_a_smaller_quota(void **state)
{
    struct bench *b = opened(true);
    struct cluster *c = NULL;
    const struct gpu_sheet *sheet;
    struct err err = {0};

    (void)state;
    assert_int_equal(b->engine.ops->cluster(b->engine.self, &c, &err), 0);
    sheet = &c->types[c->devices[3].type];
    assert_true(sheet->cap_min_watts > sheet->idle_watts);
    assert_int_equal(
        b->engine.ops->cap(b->engine.self, 3, sheet->cap_min_watts * 1.2, &err), 0);
    assert_int_equal(
        b->engine.ops->cap(b->engine.self, 3, sheet->cap_min_watts / 2, &err), -1);
    assert_int_equal(b->engine.ops->cap(b->engine.self, 3, 0, &err), 0);
    cluster_destroy(c);
    closed(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpus_come_first_then_cpus),
        cmocka_unit_test(a_job_sees_its_gpu_and_its_power_is_measured),
        cmocka_unit_test(a_lost_gpu_is_told_and_told_again_when_back),
        cmocka_unit_test(caps_need_consent_and_are_put_back),
        cmocka_unit_test(a_cap_on_a_cpu_device_is_a_smaller_quota),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
