/* test_power_sweeps.c - measured draw of jobs, from tables as Zeus published them */
#include "lab/tables/power_sweeps.h"

#include "world/power.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/text_file.h"

#define HEADER "dataset,network,batch_size,optimizer,power_limit,average_power\n"

/* The fixture's folder, with two tables in it. */
static const char *folder_of(const char *p100, const char *v100)
{
    static char folder[128];

    snprintf(folder, sizeof(folder), "%s", text_file("summary_power_p100.csv", p100));
    text_file("summary_power_v100.csv", v100);
    *strrchr(folder, '/') = '\0';
    return folder;
}

static const char *tables(void)
{
    return folder_of(HEADER "imagenet,resnet50,16,sgd,250,150\n"
                            "imagenet,resnet50,128,sgd,250,170\n",
                     HEADER "imagenet,resnet50,16,sgd,100,90\n"
                            "imagenet,resnet50,16,sgd,250,200\n"
                            "imagenet,resnet50,16,sgd,175,160\n"
                            "imagenet,resnet50,128,sgd,250,230\n");
}

static struct world *world_of(const char *family, int batch)
{
    struct world *w = world_create(3, 2);

    w->gpus[0] = *gpu_find("k80");
    w->gpus[1] = *gpu_find("p100");
    w->gpus[2] = *gpu_find("v100");
    for (int c = 0; c < 2; c++) {
        snprintf(w->classes[c].name, sizeof(w->classes[c].name), "%s", family);
        snprintf(w->classes[c].descriptor.family, sizeof(w->classes[c].descriptor.family),
                 "%s", family);
        w->classes[c].descriptor.batch = batch;
        w->classes[c].scale = c == 0 ? 1 : 2;
        for (int g = 0; g < 3; g++)
            *world_alone(w, g, c) = c == 0 ? 10 : 12; /* of two devices 20 were all */
    }
    return w;
}

static double watts_of(const struct world *w, int gpu, int cls)
{
    return power_draw_watts(&w->gpus[gpu], *world_busy(w, gpu, cls));
}

static void draws_what_the_nearest_batch_drew_at_the_highest_limit(void **state)
{
    struct world *small = world_of("ResNet-50", 20), *large = world_of("ResNet-50", 100);

    (void)state;
    assert_int_equal(power_sweeps_apply(small, tables(), 1, NULL), 0);
    assert_int_equal(power_sweeps_apply(large, tables(), 1, NULL), 0);
    assert_float_equal(watts_of(small, 1, 0), 150, 0.1);
    assert_float_equal(watts_of(small, 2, 0), 200, 0.1);
    assert_float_equal(watts_of(large, 1, 0), 170, 0.1);
    assert_float_equal(watts_of(large, 2, 0), 230, 0.1);
    world_destroy(small);
    world_destroy(large);
}

/* A K80 draws the share of its own range that a P100 does; a gang whose devices wait is
 * less busy. */
static void cards_nobody_swept_and_gangs_follow(void **state)
{
    struct world *w = world_of("ResNet-50", 16);
    const struct gpu_sheet *k80 = &w->gpus[0], *p100 = &w->gpus[1];
    double share = (150 - p100->idle_watts) / (p100->tdp_watts - p100->idle_watts);

    (void)state;
    assert_int_equal(power_sweeps_apply(w, tables(), 1, NULL), 0);
    assert_float_equal(watts_of(w, 0, 0),
                       k80->idle_watts + share * (k80->tdp_watts - k80->idle_watts), 0.1);
    assert_float_equal(*world_busy(w, 1, 1), 0.6 * *world_busy(w, 1, 0), 1e-5);
    world_destroy(w);
}

static void a_family_nobody_knows_of_is_like_one_that_was_swept(void **state)
{
    struct world *w = world_of("Mystery", 0);

    (void)state;
    assert_int_equal(power_sweeps_apply(w, tables(), 1, NULL), 0);
    assert_float_equal(watts_of(w, 2, 0), 230, 0.1);
    world_destroy(w);
}

static void what_is_missing_or_absurd_is_refused(void **state)
{
    struct world *w = world_of("LM", 16);
    struct err err = {0};

    (void)state;
    assert_int_equal(power_sweeps_apply(w, tables(), 1, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_int_equal(power_sweeps_apply(w, "/no/such/folder", 1, &err), -1);
    assert_int_equal(
        power_sweeps_apply(w, folder_of(HEADER, HEADER "a,b,0,sgd,250,100\n"), 1, &err),
        -1);
    assert_int_equal(
        power_sweeps_apply(w, folder_of(HEADER, HEADER "a,b,8,sgd,250,-1\n"), 1, &err),
        -1);
    assert_int_equal(power_sweeps_apply(w, folder_of("dataset\n", HEADER), 1, &err), -1);
    world_destroy(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_what_the_nearest_batch_drew_at_the_highest_limit),
        cmocka_unit_test(cards_nobody_swept_and_gangs_follow),
        cmocka_unit_test(a_family_nobody_knows_of_is_like_one_that_was_swept),
        cmocka_unit_test(what_is_missing_or_absurd_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
