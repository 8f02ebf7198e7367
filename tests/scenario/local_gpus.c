/* local_gpus.c - the local engine on pretended GPUs: the fake NVML of tests/fake
 *
 * The fake's devices draw power for each session of processes that has their UUID in
 * CUDA_VISIBLE_DEVICES, so what the engine gives to jobs shows in what it measures. */
#include "support/local_bench.h"

#include "base/file.h"
#include "fixture/fake_nvml.h"
#include "support/test.h"

#include <math.h>
#include <signal.h>

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

/* Each session of processes draws 20 W: a job's probe is one, the job another. */
static const char shared_script[] =
    "driver fake-550.54\n"
    "gpu name=\"Tesla V100-SXM2-16GB\" arch=5 memory=16384 limit=300 min=150 max=300\n"
    "  power 0 40\n"
    "  follow 20 10 500\n"
    "gpu name=\"Tesla V100-SXM2-16GB\" arch=5 memory=16384 limit=300 min=150 max=300\n"
    "  power 0 40\n"
    "  follow 20 10 500\n";

static struct bench *opened_with(const char *text, bool caps)
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
    fake_nvml_begin(&fake, text);
    if (local_engine_create(
            &b->engine,
            &(struct local_engine_options){
                .state_dir = b->dir,
                .probe = b->probe,
                .cpus = {&cpu, 1},
                .cgroups = true,
                .memory_cgroups = true,
                .output_mb = 64,
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

static struct bench *opened(bool caps)
{
    return opened_with(script, caps);
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

CASE(gpus_come_first_then_cpus)
{
    struct bench *b = opened(false);
    struct cluster *c = NULL;
    struct err err = {0};

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

CASE(a_job_sees_its_gpu_and_its_power_is_measured)
{
    struct bench *b = opened(false);
    struct bench_job j, beside;
    char *first, *second;

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

struct told { /* of a device */
    double joules, idle, of[4], error[4];
    int intervals;
};

static struct told sum_shares(const struct bench *b, int device)
{
    struct told t = {0};

    vec_each (const struct bench_event, e, &b->events) {
        if (e->event.kind != ENGINE_POWER || e->event.device != device)
            continue;
        assert_true(e->event.divided);
        t.intervals++;
        t.joules += e->event.joules;
        t.idle += e->event.joules;
        for (int i = 0; i < e->event.share_count; i++) {
            const struct engine_share *s = &e->shares[i];

            assert_true(s->job < 4);
            t.of[s->job] += s->joules;
            t.error[s->job] += s->error_joules;
            t.idle -= s->joules;
        }
    }
    return t;
}

static void stop(struct bench *b, uint64_t job)
{
    assert_int_equal(b->engine.ops->stop(b->engine.self, job, ENGINE_STOP_CANCEL, NULL),
                     0);
    assert_non_null(bench_await(b, ENGINE_ENDED, job));
}

/* The first draws 40 W, the second with two more sessions 80 W: alone, together, alone.
 */
CASE(a_shared_gpus_energy_is_divided_by_who_comes_and_goes)
{
    struct bench *b = opened_with(shared_script, false);
    struct bench_job small, large;
    struct told t, other;
    double began, joined, left, ended;

    began = clock_wall_s();
    start(b, bench_shell(&small, 1, 0, "exec sleep 60"));
    assert_non_null(bench_await(b, ENGINE_STARTED, 1));
    bench_work(b, 5);
    joined = clock_wall_s();
    start(b,
          bench_shell(&large, 2, 0, "setsid sleep 60 & setsid sleep 60 & exec sleep 60"));
    assert_non_null(bench_await(b, ENGINE_STARTED, 2));
    bench_work(b, 5);
    stop(b, 1);
    left = clock_wall_s();
    bench_work(b, 5);
    stop(b, 2);
    ended = clock_wall_s();
    bench_work(b, 3);
    t = sum_shares(b, 0);
    other = sum_shares(b, 1);
    print_message("%.0f J: idle %.0f, job 1 %.0f +- %.0f (drew %.0f), job 2 %.0f +- %.0f "
                  "(drew %.0f)\n",
                  t.joules, t.idle, t.of[1], t.error[1], 40 * (left - began), t.of[2],
                  t.error[2], 80 * (ended - joined));
    /* A second or two at each end, when sessions come and go, is nobody's fault. */
    assert_true(fabs(t.of[1] - 40 * (left - began)) < 2 * t.error[1] + 80);
    assert_true(fabs(t.of[2] - 80 * (ended - joined)) < 2 * t.error[2] + 160);
    assert_true(t.of[2] > 1.3 * t.of[1]);
    assert_true(t.error[1] > 0 && t.error[1] < 0.5 * t.of[1]);
    assert_true(fabs(t.idle + t.of[1] + t.of[2] - t.joules) < 1e-3);
    assert_true(t.idle > 0.7 * 40 * (ended - began));
    /* Nothing ran there. */
    assert_true(other.of[1] == 0 && other.of[2] == 0 && other.joules > 0);
    closed(b);
}

CASE(a_lost_gpu_is_told_and_told_again_when_back)
{
    struct bench *b = opened(false);
    const struct bench_event *e;

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

CASE(caps_need_consent_and_are_put_back)
{
    struct bench *b = opened(false);
    struct gpu *other;
    struct err err = {0};

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

CASE(a_cap_on_a_cpu_device_is_a_smaller_quota)
{
    struct bench *b = opened(true);
    struct cluster *c = NULL;
    const struct gpu_sheet *sheet;
    struct err err = {0};

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
        cmocka_unit_test(a_shared_gpus_energy_is_divided_by_who_comes_and_goes),
        cmocka_unit_test(a_lost_gpu_is_told_and_told_again_when_back),
        cmocka_unit_test(caps_need_consent_and_are_put_back),
        cmocka_unit_test(a_cap_on_a_cpu_device_is_a_smaller_quota),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
