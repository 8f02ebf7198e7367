/* test_gpu_watchdog.c - a driver that hangs does not take its caller along */
#include "fixture/fake_nvml.h"

#include "base/log.h"
#include "support/test.h"

#include <pthread.h>

static struct fake_nvml fake;

static struct gpu *open_with(const char *script, double deadline_s)
{
    struct gpu *gpu;

    fake_nvml_begin(&fake, script);
    gpu = fake_nvml_open(&fake, deadline_s);
    fake_nvml_time(&fake, 0);
    return gpu;
}

/* The stuck call returns when the fake's time passes; wait for that to be noticed. */
static enum gpu_status read_until_not_hung(struct gpu *gpu, int device)
{
    struct gpu_sample sample;
    struct err err;
    enum gpu_status status = GPU_HUNG;

    for (int i = 0; i < 3000 && status == GPU_HUNG; i++) {
        status = gpu_read(gpu, device, &sample, &err);
        usleep(2000);
    }
    return status;
}

CASE(hung_device_is_left_alone_and_recovers)
{
    struct gpu *gpu = open_with("gpu\nhang nvmlDeviceGetTemperature 10 20\ngpu\n", 2);
    struct gpu_sample sample;
    struct err err = {0};

    assert_int_equal(gpu_read(gpu, 0, &sample, &err), GPU_OK);
    fake_nvml_time(&fake, 11);
    assert_int_equal(gpu_read(gpu, 0, &sample, &err), GPU_HUNG);
    assert_non_null(strstr(err.text, "does not answer"));
    /* More questions cost no deadline each: if they did, this would take longer than a
     * test may. */
    for (int i = 0; i < 400; i++)
        assert_int_equal(gpu_read(gpu, 0, &sample, &err), GPU_HUNG);
    /* Its neighbour goes on. */
    assert_int_equal(gpu_read(gpu, 1, &sample, &err), GPU_OK);
    gpu_rescan(gpu);
    assert_int_equal(gpu_read(gpu, 0, &sample, &err), GPU_HUNG);
    fake_nvml_time(&fake, 21);
    assert_int_equal(read_until_not_hung(gpu, 0), GPU_OK);
    gpu_close(gpu);
    fake_nvml_end(&fake);
}

CASE(closing_does_not_wait_for_a_hung_driver)
{
    struct gpu *gpu = open_with("gpu\nhang nvmlDeviceGetTemperature 10 20\n", 0.2);
    struct gpu_sample sample;
    struct err err = {0};

    fake_nvml_time(&fake, 11);
    assert_int_equal(gpu_read(gpu, 0, &sample, &err), GPU_HUNG);
    gpu_close(gpu);            /* returns: the test would hang here */
    fake_nvml_time(&fake, 21); /* the stuck thread wakes up and clears away */
    usleep(200000);
    fake_nvml_end(&fake);
}

CASE(driver_that_hangs_at_once_leaves_an_empty_machine)
{
    struct gpu_options options = {.backends = GPU_BACKEND_NVML, .list_deadline_s = 0.2};
    struct err err = {0};
    struct gpu *gpu;

    fake_nvml_begin(&fake, "gpu\nhang nvmlDeviceGetName 0 20\n");
    options.nvml_library = fake.library;
    gpu = gpu_open(&options, &err);
    assert_non_null(gpu);
    assert_int_equal(gpu_count(gpu), 0);
    assert_non_null(strstr(gpu_remarks(gpu), "does not answer"));
    /* Later it is there. */
    fake_nvml_time(&fake, 21);
    for (int i = 0; i < 3000 && gpu_rescan(gpu) == 0; i++)
        usleep(2000);
    assert_int_equal(gpu_count(gpu), 1);
    gpu_close(gpu);
    fake_nvml_end(&fake);
}

static void *read_many(void *arg)
{
    struct gpu *gpu = arg;
    struct gpu_sample sample;
    struct err err;
    size_t fine = 0;

    for (int i = 0; i < 50; i++)
        fine += gpu_read(gpu, i % 2, &sample, &err) == GPU_OK;
    return (void *)fine;
}

CASE(threads_may_ask_at_the_same_time)
{
    struct gpu *gpu = open_with("gpu\ngpu\n", 20);
    pthread_t threads[4];
    void *fine;

    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_many, gpu), 0);
    gpu_rescan(gpu);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &fine);
        assert_int_equal((size_t)fine, 50);
    }
    gpu_close(gpu);
    fake_nvml_end(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hung_device_is_left_alone_and_recovers),
        cmocka_unit_test(closing_does_not_wait_for_a_hung_driver),
        cmocka_unit_test(driver_that_hangs_at_once_leaves_an_empty_machine),
        cmocka_unit_test(threads_may_ask_at_the_same_time),
    };

    log_setup(stderr, LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
