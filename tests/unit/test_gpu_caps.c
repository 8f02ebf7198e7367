/* test_gpu_caps.c - limits are set with consent and put back, whatever happens
 *
 * The hardware is the fake's state file, so it outlives processes; the process that dies
 * is this program again, started with --hold and killed with SIGKILL. */
#include "fixture/fake_nvml.h"
#include "gpu/gpu_caps.h"

#include "base/file.h"
#include "base/log.h"
#include "support/test.h"

#include <math.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define V100 "gpu name=\"Tesla V100-SXM2-16GB\" limit=300 min=150 max=300\npower 0 280\n"

static struct fake_nvml fake;
static char hardware[128], state_file[128], lock_file[160];

static void begin(const char *script)
{
    fake_nvml_begin(&fake, script);
    snprintf(hardware, sizeof(hardware), "%s/hardware", fake.folder);
    snprintf(state_file, sizeof(state_file), "%s/caps.json", fake.folder);
    snprintf(lock_file, sizeof(lock_file), "%s.lock", state_file);
    setenv("CORGI_FAKE_NVML_STATE", hardware, 1);
}

static void finish(void)
{
    fake_nvml_call(&fake, "fake_nvml_reset", 0);
    unlink(hardware);
    unlink(state_file);
    unlink(lock_file);
    unsetenv("CORGI_FAKE_NVML_STATE");
    fake_nvml_end(&fake);
}

static struct gpu_caps *open_caps(struct gpu *gpu, bool consent)
{
    struct err err = {0};
    struct gpu_caps *caps = gpu_caps_open(gpu, state_file, consent, &err);

    if (!caps)
        fail_msg("%s", err.text);
    return caps;
}

static double limit_of(struct gpu *gpu, int device)
{
    struct gpu_limit limit;
    struct err err = {0};

    if (gpu_limit(gpu, device, &limit, &err) != GPU_OK)
        fail_msg("%s", err.text);
    return limit.watts;
}

CASE(nothing_without_consent)
{
    struct err err = {0};
    struct gpu_caps *caps;
    struct gpu *gpu;

    begin(V100);
    gpu = fake_nvml_open(&fake, 2);
    caps = open_caps(gpu, false);
    assert_int_equal(gpu_caps_set(caps, 0, 200, &err), GPU_DENIED);
    assert_non_null(strstr(err.text, "consent"));
    assert_float_equal(limit_of(gpu, 0), 300, 0.1);
    assert_int_equal(access(state_file, F_OK), -1);
    gpu_caps_close(caps);
    gpu_close(gpu);
    finish();
}

CASE(closing_puts_the_limit_back)
{
    struct err err = {0};
    struct gpu_caps *caps;
    struct gpu *gpu;

    begin(V100 V100);
    gpu = fake_nvml_open(&fake, 2);
    caps = open_caps(gpu, true);
    assert_int_equal(gpu_caps_set(caps, 0, 100, &err), GPU_FAILED);
    assert_int_equal(err.code, ERR_INVALID);
    assert_int_equal(access(state_file, F_OK), -1);
    assert_int_equal(gpu_caps_set(caps, 0, 200, &err), GPU_OK);
    assert_int_equal(gpu_caps_set(caps, 0, 180, &err), GPU_OK);
    assert_int_equal(gpu_caps_set(caps, 1, 250, &err), GPU_OK);
    assert_float_equal(limit_of(gpu, 0), 180, 0.1);
    assert_int_equal(access(state_file, F_OK), 0);
    /* Zero gives one back, the others stay. */
    assert_int_equal(gpu_caps_set(caps, 1, 0, &err), GPU_OK);
    assert_float_equal(limit_of(gpu, 1), 300, 0.1);
    assert_float_equal(limit_of(gpu, 0), 180, 0.1);
    gpu_caps_close(caps);
    assert_float_equal(limit_of(gpu, 0), 300, 0.1);
    assert_int_equal(access(state_file, F_OK), -1);
    gpu_close(gpu);
    finish();
}

/* What --hold does: cap, say so, and wait to be killed. */
static int hold(const char *path, int times)
{
    struct gpu_options gpu_options = {.backends = GPU_BACKEND_NVML};
    char library[512];
    struct err err = {0};
    struct gpu *gpu;
    struct gpu_caps *caps;

    fake_nvml_find(library, sizeof(library));
    gpu_options.nvml_library = library;
    gpu = gpu_open(&gpu_options, &err);
    caps = gpu ? gpu_caps_open(gpu, path, true, &err) : NULL;
    for (int i = 0; caps && i < times; i++)
        if (gpu_caps_set(caps, 0, 160 + 20 * i, &err) != GPU_OK)
            return 1;
    if (!caps || write(STDOUT_FILENO, "x", 1) != 1)
        return 1;
    for (;;)
        pause();
}

static pid_t start_holder(int times)
{
    char count[8], ready = 0;
    int pipes[2];
    pid_t pid;

    assert_int_equal(pipe(pipes), 0);
    snprintf(count, sizeof(count), "%d", times);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(pipes[1], STDOUT_FILENO);
        close(pipes[0]);
        close(pipes[1]);
        execl("/proc/self/exe", "test_gpu_caps", "--hold", state_file, count,
              (char *)NULL);
        _exit(1);
    }
    close(pipes[1]);
    assert_int_equal(read(pipes[0], &ready, 1), 1);
    close(pipes[0]);
    return pid;
}

static void kill_holder(pid_t pid)
{
    int status;

    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
}

CASE(next_start_restores_what_a_killed_process_left)
{
    struct gpu_caps *caps;
    struct gpu *gpu;

    begin(V100);
    kill_holder(start_holder(3));
    gpu = fake_nvml_open(&fake, 2);
    assert_float_equal(limit_of(gpu, 0), 200, 0.1);
    assert_int_equal(access(state_file, F_OK), 0);
    caps = open_caps(gpu, false); /* a promise needs no consent to be kept */
    assert_float_equal(limit_of(gpu, 0), 300, 0.1);
    assert_int_equal(access(state_file, F_OK), -1);
    gpu_caps_close(caps);
    gpu_close(gpu);
    finish();
}

CASE(living_process_keeps_its_limits)
{
    struct err err = {0};
    struct gpu *gpu;
    pid_t holder;

    begin(V100);
    holder = start_holder(1);
    gpu = fake_nvml_open(&fake, 2);
    assert_null(gpu_caps_open(gpu, state_file, true, &err));
    assert_int_equal(err.code, ERR_EXISTS);
    assert_float_equal(limit_of(gpu, 0), 160, 0.1);
    kill_holder(holder);
    gpu_close(gpu);
    finish();
}

CASE(limit_somebody_else_set_is_left)
{
    struct err err = {0};
    struct gpu_caps *caps;
    struct gpu *gpu;

    begin(V100);
    kill_holder(start_holder(1));
    gpu = fake_nvml_open(&fake, 2);
    assert_int_equal(gpu_set_limit(gpu, 0, 222, &err), GPU_OK); /* an operator by hand */
    caps = open_caps(gpu, true);
    assert_float_equal(limit_of(gpu, 0), 222, 0.1);
    /* From now on that is the original. */
    assert_int_equal(gpu_caps_set(caps, 0, 150, &err), GPU_OK);
    assert_int_equal(gpu_set_limit(gpu, 0, 240, &err), GPU_OK);
    assert_int_equal(gpu_caps_set(caps, 0, 170, &err), GPU_OK);
    gpu_caps_close(caps);
    assert_float_equal(limit_of(gpu, 0), 240, 0.1);
    gpu_close(gpu);
    finish();
}

/* The file is written before the limit: a crash in between leaves a limit to set that
 * never was, and one in force from before. */
CASE(crash_between_file_and_device_is_covered)
{
    struct caps_state written = {.count = 1};
    struct err err = {0};
    struct gpu_caps *caps;
    struct gpu *gpu;

    begin(V100);
    gpu = fake_nvml_open(&fake, 2);
    assert_int_equal(gpu_set_limit(gpu, 0, 200, &err), GPU_OK);
    caps_state_boot(written.boot, sizeof(written.boot));
    strcpy(written.entries[0].uuid, gpu_device(gpu, 0)->uuid);
    written.entries[0].original_watts = 290;
    written.entries[0].set_watts[0] = 200;
    written.entries[0].set_watts[1] = 160;
    assert_int_equal(caps_state_save(&written, state_file, &err), 0);
    caps = open_caps(gpu, true);
    assert_float_equal(limit_of(gpu, 0), 290, 0.1);
    gpu_caps_close(caps);
    gpu_close(gpu);
    finish();
}

CASE(lost_device_is_restored_when_it_is_back)
{
    struct gpu_caps *caps;
    struct gpu *gpu;

    begin(V100 "unplug 1000 2000\n");
    kill_holder(start_holder(1));
    gpu = fake_nvml_open(&fake, 2);
    fake_nvml_time(&fake, 1500);
    caps = open_caps(gpu, true);
    assert_int_equal(access(state_file, F_OK), 0);
    fake_nvml_time(&fake, 2500);
    gpu_rescan(gpu);
    assert_int_equal(gpu_caps_restore(caps), 0);
    assert_float_equal(limit_of(gpu, 0), 300, 0.1);
    gpu_caps_close(caps);
    gpu_close(gpu);
    finish();
}

CASE(state_of_another_boot_is_dropped)
{
    static const char text[] = "{\"boot\":\"another\",\"devices\":[{\"uuid\":\"GPU-x\","
                               "\"original_watts\":300,\"set_watts\":[200]}]}";
    struct err err = {0};
    struct gpu_caps *caps;
    struct gpu *gpu;

    begin(V100);
    gpu = fake_nvml_open(&fake, 2);
    assert_int_equal(file_write(state_file, text, strlen(text), &err), 0);
    caps = open_caps(gpu, true);
    assert_int_equal(access(state_file, F_OK), -1);
    gpu_caps_close(caps);
    gpu_close(gpu);
    finish();
}

CASE(broken_state_is_refused)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{\"boot\":\"x\"}",
        "{\"boot\":\"x\",\"devices\":[{}]}",
        "{\"boot\":\"x\",\"devices\":[{\"uuid\":\"a\",\"original_watts\":-1,"
        "\"set_watts\":[]}]}",
        "{\"boot\":\"x\",\"devices\":[{\"uuid\":\"a\",\"original_watts\":100,"
        "\"set_watts\":[\"b\"]}]}",
    };
    struct caps_state parsed;
    struct err err;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        err = (struct err){0};
        assert_int_equal(
            caps_state_parse(&parsed, texts[i], strlen(texts[i]), "caps.json", &err), -1);
        assert_non_null(strstr(err.text, "caps.json"));
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_without_consent),
        cmocka_unit_test(closing_puts_the_limit_back),
        cmocka_unit_test(next_start_restores_what_a_killed_process_left),
        cmocka_unit_test(living_process_keeps_its_limits),
        cmocka_unit_test(limit_somebody_else_set_is_left),
        cmocka_unit_test(crash_between_file_and_device_is_covered),
        cmocka_unit_test(lost_device_is_restored_when_it_is_back),
        cmocka_unit_test(state_of_another_boot_is_dropped),
        cmocka_unit_test(broken_state_is_refused),
    };

    log_setup(stderr, LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, NULL);
    if (argc == 4 && !strcmp(argv[1], "--hold"))
        return hold(argv[2], atoi(argv[3]));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
