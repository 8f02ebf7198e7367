/* test_world.c - lookups and checks of the tables of truth */
#include "world/world.h"
#include "lab/tables/world_check.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

/* Two cards, three classes, all fine. */
static struct world *small_world(void)
{
    struct world *w = world_create(2, 3);

    w->gpus[0] = *gpu_find("k80");
    w->gpus[1] = *gpu_find("v100");
    for (int c = 0; c < 3; c++) {
        snprintf(w->classes[c].name, sizeof(w->classes[c].name), "job %d", c);
        w->classes[c].scale = 1;
        for (int g = 0; g < 2; g++) {
            *world_alone(w, g, c) = *world_spread(w, g, c) = (float)(10 + c);
            *world_busy(w, g, c) = 0.5f;
            for (int k = 0; k < 3; k++)
                *world_beside(w, g, c, k) = 0.6f;
        }
    }
    return w;
}

static void finds_gpus_by_alias_and_classes_by_name_and_scale(void **state)
{
    struct world *w = small_world();

    (void)state;
    assert_int_equal(world_find_gpu(w, "Tesla K80"), 0);
    assert_int_equal(world_find_gpu(w, "V100"), 1);
    assert_int_equal(world_find_gpu(w, "a100"), -1);
    assert_int_equal(world_find_class(w, "job 2", 1), 2);
    assert_int_equal(world_find_class(w, "job 2", 4), -1);
    world_destroy(w);
}

static void finds_a_gpu_of_its_own_before_an_alias(void **state)
{
    struct world *w = small_world();

    (void)state;
    snprintf(w->gpus[0].name, sizeof(w->gpus[0].name), "v100");
    assert_int_equal(world_find_gpu(w, "v100"), 0);
    assert_int_equal(world_find_gpu(w, "v100-16"), 1);
    world_destroy(w);
}

static void check_accepts_missing_pairs_and_unmeasured_power(void **state)
{
    struct world *w = small_world();
    struct err err = {0};

    (void)state;
    *world_beside(w, 0, 1, 2) = NAN;
    *world_watts(w, 0, 0) = NAN;
    if (world_check(w, &err) < 0)
        fail_msg("%s", err.text);
    world_destroy(w);
}

static void refused(struct world *w, const char *word)
{
    struct err err = {0};

    assert_int_equal(world_check(w, &err), -1);
    if (!strstr(err.text, word))
        fail_msg("\"%s\" does not say \"%s\"", err.text, word);
    world_destroy(w);
}

static void check_names_the_cell_that_is_wrong(void **state)
{
    struct world *w = small_world();

    (void)state;
    *world_alone(w, 1, 2) = NAN;
    refused(w, "job 2 at scale 1 on v100-16: the rate alone");
    w = small_world();
    *world_alone(w, 1, 2) = *world_spread(w, 1, 2) = -1;
    refused(w, "the rate alone");
    w = small_world();
    *world_alone(w, 1, 2) = *world_spread(w, 1, 2) = 1e30f;
    refused(w, "the rate alone");
    w = small_world();
    *world_spread(w, 0, 0) = 3;
    refused(w, "spread over nodes");
    w = small_world();
    *world_beside(w, 0, 1, 2) = 1.5f;
    refused(w, "relative speed");
    w = small_world();
    *world_beside(w, 0, 1, 2) = 0;
    refused(w, "one runs and the other does not");
    w = small_world();
    *world_busy(w, 0, 1) = NAN;
    refused(w, "utilisation");
    w = small_world();
    *world_watts(w, 0, 1) = -3;
    refused(w, "power");
    w = small_world();
    strcpy(w->classes[1].name, "job 0");
    refused(w, "twice");
    w = small_world();
    w->gpus[1] = w->gpus[0];
    refused(w, "twice");
}

static void model_kinds_are_found_by_their_names(void **state)
{
    (void)state;
    for (int k = 0; k < MODEL_KIND_COUNT; k++)
        assert_int_equal(model_kind_find(model_kind_names[k]), k);
    assert_int_equal(model_kind_find("Transformer"), MODEL_ATTENTION);
    assert_int_equal(model_kind_find("no such thing"), MODEL_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_gpus_by_alias_and_classes_by_name_and_scale),
        cmocka_unit_test(finds_a_gpu_of_its_own_before_an_alias),
        cmocka_unit_test(check_accepts_missing_pairs_and_unmeasured_power),
        cmocka_unit_test(check_names_the_cell_that_is_wrong),
        cmocka_unit_test(model_kinds_are_found_by_their_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
