/* test_generate.c - synthetic worlds are valid, varied and the same for the same seed */
#include "base/clock.h"
#include "world/generate.h"
#include "world/power.h"
#include "lab/tables/invented_gpus.h"
#include "lab/tables/world_check.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static struct world *drawn(const struct generate_options *options, uint64_t seed)
{
    struct generate_options how = *options;
    struct rng rng;

    how.draw = invented_gpus;
    rng_init(&rng, seed);
    return world_generate(&how, &rng);
}

static void every_world_passes_the_check(void **state)
{
    static const int counts[] = {1, 2, 3, 5, 17, 64};

    (void)state;
    for (int i = 0; i < 60; i++) {
        struct generate_options options = {.gpu_count = counts[i % 6],
                                           .missing = i % 2 ? 0.04 : 0,
                                           .scales = i % 5 == 0};
        struct world *w = drawn(&options, (uint64_t)i);
        struct err err = {0};

        if (world_check(w, &err) < 0)
            fail_msg("seed %d: %s", i, err.text);
        assert_int_equal(w->gpu_count, counts[i % 6]);
        world_destroy(w);
    }
}

static void absurd_sizes_are_cut_to_what_a_world_may_hold(void **state)
{
    struct generate_options many_gpus = {.gpu_count = 1000};
    struct generate_options many_jobs = {.gpu_count = 1, .family_min = 100000};
    struct world *wide = drawn(&many_gpus, 3), *many = drawn(&many_jobs, 3);
    struct err err = {0};

    (void)state;
    assert_int_equal(wide->gpu_count, WORLD_MAX_GPUS);
    assert_int_equal(world_check(wide, &err), 0);
    assert_int_equal(world_check(many, &err), 0);
    world_destroy(wide);
    world_destroy(many);
}

static void the_same_seed_gives_the_same_world(void **state)
{
    struct generate_options options = {.gpu_count = 3, .missing = 0.04, .scales = true};
    struct world *one = drawn(&options, 7), *same = drawn(&options, 7);
    struct world *other = drawn(&options, 8);
    size_t pairs = 3u * (size_t)one->class_count * (size_t)one->class_count;

    (void)state;
    assert_int_equal(one->class_count, same->class_count);
    assert_memory_equal(one->beside, same->beside, pairs * sizeof(float));
    assert_memory_equal(one->gpus, same->gpus, 3 * sizeof(struct gpu_sheet));
    assert_true(other->class_count != one->class_count ||
                memcmp(one->alone, other->alone, 3 * sizeof(float)) != 0);
    world_destroy(one);
    world_destroy(same);
    world_destroy(other);
}

static void given_sheets_are_kept(void **state)
{
    struct gpu_sheet sheets[2] = {*gpu_find("k80"), *gpu_find("h100")};
    struct generate_options options = {
        .gpu_count = 2, .gpus = sheets, .sheet_jitter = 0.1};
    struct world *w = drawn(&options, 2);

    (void)state;
    assert_memory_equal(w->gpus, sheets, sizeof(sheets));
    world_destroy(w);
}

static void families_share_descriptors_and_batches_double(void **state)
{
    struct generate_options options = {.family_min = 6, .family_max = 6};
    struct world *w = drawn(&options, 4);
    int families = 1;

    (void)state;
    for (int c = 1; c < w->class_count; c++) {
        const struct job_descriptor *d = &w->classes[c].descriptor;
        const struct job_descriptor *before = &w->classes[c - 1].descriptor;

        if (strcmp(d->family, before->family) != 0) {
            families++;
            continue;
        }
        assert_int_equal(d->batch, 2 * before->batch);
        assert_true(d->gmac_per_sample == before->gmac_per_sample);
        assert_true(w->classes[c].memory_gb > w->classes[c - 1].memory_gb);
    }
    assert_int_equal(families, 6);
    world_destroy(w);
}

static void what_does_not_fit_does_not_run_and_all_run_somewhere(void **state)
{
    struct generate_options options = {.gpu_count = 4};
    int alone_fails = 0, pair_fails = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct world *w = drawn(&options, seed);

        for (int c = 0; c < w->class_count; c++) {
            int places = 0;

            for (int g = 0; g < w->gpu_count; g++) {
                bool fits = w->classes[c].memory_gb <= 0.97 * w->gpus[g].memory_gb;

                assert_int_equal(*world_alone(w, g, c) > 0, fits);
                assert_int_equal(isnan(*world_watts(w, g, c)), !fits);
                places += fits;
                alone_fails += !fits;
                pair_fails += fits && *world_beside(w, g, c, c) == 0;
            }
            assert_true(places > 0);
        }
        world_destroy(w);
    }
    assert_true(alone_fails > 0 && pair_fails > 0);
}

static void gangs_gain_less_than_their_size_and_less_when_spread(void **state)
{
    struct generate_options options = {.scales = true, .family_min = 8, .family_max = 8};
    struct world *w = drawn(&options, 5);
    int gangs = 0;

    (void)state;
    for (int c = 0; c < w->class_count; c++) {
        int scale = w->classes[c].scale;
        int single = world_find_class(w, w->classes[c].name, 1);

        assert_true(single >= 0);
        gangs += scale > 1;
        for (int g = 0; g < w->gpu_count; g++) {
            float alone = *world_alone(w, g, c);

            assert_true(*world_spread(w, g, c) <= alone);
            assert_true(alone <= 1.0001f * (float)scale * *world_alone(w, g, single));
        }
    }
    assert_true(gangs > 0);
    world_destroy(w);
}

static void measured_power_follows_the_power_model(void **state)
{
    struct generate_options options = {.gpu_count = 3};
    struct world *w = drawn(&options, 6);

    (void)state;
    for (int g = 0; g < 3; g++)
        for (int c = 0; c < w->class_count; c++) {
            double model = power_draw_watts(&w->gpus[g], *world_busy(w, g, c));

            if (*world_alone(w, g, c) > 0)
                assert_true(fabs(log(*world_watts(w, g, c) / model)) < 0.3);
        }
    world_destroy(w);
}

/* Training draws thousands of these. */
static void a_world_takes_less_than_five_milliseconds(void **state)
{
    struct generate_options options = {.gpu_count = 3, .missing = 0.04};
    double start = clock_cpu_s(), classes = 0, each_ms;

    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct world *w = drawn(&options, seed);

        classes += w->class_count / 100.0;
        world_destroy(w);
    }
    each_ms = (clock_cpu_s() - start) * 10;
    print_message("%.2f ms a world of 3 GPUs and %.1f classes\n", each_ms, classes);
#ifndef __SANITIZE_ADDRESS__
    assert_true(each_ms < 5);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_world_passes_the_check),
        cmocka_unit_test(absurd_sizes_are_cut_to_what_a_world_may_hold),
        cmocka_unit_test(the_same_seed_gives_the_same_world),
        cmocka_unit_test(given_sheets_are_kept),
        cmocka_unit_test(families_share_descriptors_and_batches_double),
        cmocka_unit_test(what_does_not_fit_does_not_run_and_all_run_somewhere),
        cmocka_unit_test(gangs_gain_less_than_their_size_and_less_when_spread),
        cmocka_unit_test(measured_power_follows_the_power_model),
        cmocka_unit_test(a_world_takes_less_than_five_milliseconds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
