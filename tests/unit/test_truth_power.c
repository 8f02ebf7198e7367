/* test_truth_power.c - draw and limits of the simulated cluster are drawn, job by job */
#include "engine/sim/truth_power.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>

#define KEYS 200

static struct truth_draw job(uint64_t key)
{
    return (struct truth_draw){.watts = 200, .active = 1, .key = key};
}

static double speed_under(const struct gpu_sheet *gpu, uint64_t key, double cap_watts,
                          double *watts)
{
    struct truth_draw d = job(key);
    double speed;

    *watts = truth_power_limited(gpu, &d, 1, cap_watts, &speed);
    return speed;
}

static void a_limit_takes_what_it_took_of_the_swept_cards(void **state)
{
    static const char *const cards[] = {"p100-16", "v100-16", "t4", "a40"};
    double mean[4] = {0};

    (void)state;
    for (int c = 0; c < 4; c++) {
        const struct gpu_sheet *gpu = gpu_find(cards[c]);

        assert_non_null(gpu);
        for (uint64_t key = 1; key <= KEYS; key++) {
            struct truth_draw d = {.watts = gpu->tdp_watts, .active = 1, .key = key};
            double last = 1, at;

            for (double cap = 1.3 * gpu->tdp_watts; cap >= gpu->cap_min_watts; cap -= 2) {
                double watts = truth_power_limited(gpu, &d, 1, cap, &at);

                assert_true(watts <= cap && watts >= gpu->idle_watts);
                assert_true(at <= last && at > 0); /* a deeper one never helps */
                last = at;
            }
            truth_power_limited(gpu, &d, 1, 0.8 * gpu->tdp_watts, &at);
            mean[c] += at / KEYS;
        }
        assert_true(mean[c] > 0.84 && mean[c] < 0.94);
    }
}

static void jobs_differ_and_stay_as_they_are(void **state)
{
    const struct gpu_sheet *gpu = gpu_find("v100-16");
    double watts, least = 1, most = 0;

    (void)state;
    for (uint64_t key = 1; key <= KEYS; key++) {
        double speed = speed_under(gpu, key, 120, &watts);

        assert_true(speed_under(gpu, key, 120, &watts) >= speed);
        least = fmin(least, speed);
        most = fmax(most, speed);
    }
    assert_true(least < 0.70 && most > 0.84);
}

static void without_a_limit_or_under_a_loose_one_nothing_is_taken(void **state)
{
    const struct gpu_sheet *gpu = gpu_find("v100-16");
    double watts;

    (void)state;
    for (uint64_t key = 1; key <= KEYS; key++) {
        assert_true(speed_under(gpu, key, 0, &watts) >= 1);
        assert_true(fabs(watts - 200) < 1e-9);
        assert_true(speed_under(gpu, key, 251, &watts) >= 1);
        assert_true(fabs(watts - 200) < 1e-9);
    }
}

/* Flat ones hardly save anything when nobody asks them. */
static void a_service_at_rest_draws_its_flat_part(void **state)
{
    const struct gpu_sheet *gpu = gpu_find("v100-16");
    double batches = 0, others = 0;

    (void)state;
    for (uint64_t key = 1; key <= KEYS; key++) {
        struct truth_draw d = job(key);
        double dynamic;

        d.active = 0.05;
        d.flat = truth_power_flat(key, true);
        assert_true(d.flat >= 0.4 && d.flat <= 0.73);
        dynamic = truth_power_open(gpu, &d, 1) - gpu->idle_watts;
        assert_true(dynamic >= d.flat * (200 - gpu->idle_watts) - 1e-9);
        batches += dynamic;
        d.flat = truth_power_flat(key, false);
        assert_true(d.flat >= 0 && d.flat <= 0.4);
        others += truth_power_open(gpu, &d, 1) - gpu->idle_watts;
    }
    assert_true(batches > 1.5 * others);
}

static void two_jobs_draw_more_than_each_and_less_than_the_card_can(void **state)
{
    const struct gpu_sheet *gpu = gpu_find("v100-16");

    (void)state;
    for (uint64_t key = 1; key < KEYS; key++) {
        struct truth_draw both[2] = {job(key), job(key + 1)};
        double together;

        both[0].watts = 120;
        together = truth_power_open(gpu, both, 2);
        assert_true(together > 200 && together <= gpu->tdp_watts);
        assert_true(truth_power_open(gpu, both, 0) <= gpu->idle_watts);
    }
}

static void nothing_that_is_drawn_does_better_than_the_best(void **state)
{
    const struct gpu_sheet *gpu = gpu_find("v100-16");

    (void)state;
    for (uint64_t key = 1; key <= KEYS; key++)
        for (double cap = 100; cap < 250; cap += 10) {
            struct power_capped best = truth_power_best(gpu, 200, cap);
            double watts, speed = speed_under(gpu, key, cap, &watts);

            assert_true(best.speed >= speed - 1e-12 && best.watts <= watts + 1e-9);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_limit_takes_what_it_took_of_the_swept_cards),
        cmocka_unit_test(jobs_differ_and_stay_as_they_are),
        cmocka_unit_test(without_a_limit_or_under_a_loose_one_nothing_is_taken),
        cmocka_unit_test(a_service_at_rest_draws_its_flat_part),
        cmocka_unit_test(two_jobs_draw_more_than_each_and_less_than_the_card_can),
        cmocka_unit_test(nothing_that_is_drawn_does_better_than_the_best),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
