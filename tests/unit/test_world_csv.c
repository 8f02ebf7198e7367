/* test_world_csv.c - our own table of rates and data sheets of cards nobody knows */
#include "lab/tables/gpu_csv.h"
#include "world/power.h"
#include "lab/tables/world_csv.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "fixture/text_file.h"

#define HEADER "gpu,job,family,batch,scale,corunner,rate,corunner_rate,watts\n"

static const char good[] = HEADER "v100,B,,,,A (batch size 8),1,4,\n"
                                  "v100,A (batch size 8),,,1,,8,,137\n"
                                  "v100,A (batch size 8),,,2,,14,,\n"
                                  "v100,B,other,64,,,2,,\n"
                                  "Tesla K80,B,other,64,,,0.5,,\n";

static struct world *parsed(const char *text)
{
    struct world *w = NULL;
    struct err err = {0};

    if (world_csv_load(&w, text_file("test", text), NULL, 1, &err) < 0)
        fail_msg("%s", err.text);
    return w;
}

static void rows_may_come_in_any_order(void **state)
{
    struct world *w = parsed(good);
    int v100 = world_find_gpu(w, "v100"), k80 = world_find_gpu(w, "k80");
    int a = world_find_class(w, "A (batch size 8)", 1), b = world_find_class(w, "B", 1);

    (void)state;
    assert_int_equal(w->class_count, 3);
    assert_true(*world_alone(w, v100, a) == 8 && *world_alone(w, k80, a) == 0);
    assert_true(*world_beside(w, v100, a, b) == 0.5f);
    assert_true(*world_beside(w, v100, b, a) == 0.5f);
    assert_true(isnan(*world_beside(w, v100, a, a)));
    assert_true(*world_spread(w, v100, world_find_class(w, "A (batch size 8)", 2)) == 14);
    assert_string_equal(w->classes[b].descriptor.family, "other");
    assert_int_equal(w->classes[b].descriptor.batch, 64);
    world_destroy(w);
}

static void utilisation_comes_from_watts_where_they_are_told(void **state)
{
    struct world *w = parsed("gpu,job,rate,watts\nv100,A,8,137\nv100,B,2,\n");

    (void)state;
    assert_true(*world_watts(w, 0, 0) == 137);
    assert_true(fabs(power_draw_watts(&w->gpus[0], *world_busy(w, 0, 0)) - 137) < 0.01);
    assert_true(isnan(*world_watts(w, 0, 1)) && *world_busy(w, 0, 1) > 0);
    world_destroy(w);
}

static void the_short_form_takes_family_and_batch_from_the_name(void **state)
{
    struct world *w = parsed("gpu,job,rate\nv100,A (batch size 8),8\n");

    (void)state;
    assert_string_equal(w->classes[0].descriptor.family, "A");
    assert_int_equal(w->classes[0].descriptor.batch, 8);
    world_destroy(w);
}

static void refused(const char *text, const char *word)
{
    struct world *w = NULL;
    struct err err = {0};

    assert_int_equal(world_csv_load(&w, text_file("test", text), NULL, 1, &err), -1);
    assert_null(w);
    if (!strstr(err.text, word) || !strstr(err.text, "test"))
        fail_msg("\"%s\" does not say \"%s\"", err.text, word);
}

static void bad_rows_are_named_by_their_line(void **state)
{
    (void)state;
    refused("gpu,job,rate,batch\nv100,A,1,8\nk80,A,1,9\n", "line 3: family or batch");
    refused("gpu,job\nv100,A\n", "\"rate\"");
    refused("gpu,job,rate\n", "0 GPU types");
    refused("gpu,job,rate\nz9000,A,1\n", "line 2: GPU \"z9000\"");
    refused("gpu,job,rate\nv100,A,nan\n", "line 2: rate");
    refused("gpu,job,rate\nv100,A,-1\n", "line 2: rate");
    refused("gpu,job,rate\nv100,A,1e30\n", "line 2: rate");
    refused("gpu,job,rate\nv100,,1\n", "line 2: the name");
    refused("gpu,job,rate\nv100,A,1\nV100,A,1\n", "line 3: line 2 tells the same");
    refused("gpu,job,rate,scale\nv100,A,1,0\n", "line 2: scale");
    refused("gpu,job,rate,watts\nv100,A,1,0\n", "line 2: watts");
}

static void bad_pairs_are_named_by_their_line(void **state)
{
    (void)state;
    refused(HEADER "v100,A,,,,B,1,1,\nv100,A,,,,,2,,\n", "corunner \"B\"");
    refused(HEADER "v100,A,,,,A,1,1,\n", "line 2: \"A\" and \"A\" need");
    refused(HEADER "v100,A,,,,,2,,\nv100,A,,,,A,1,0,\n", "line 3: one of the two");
    refused(HEADER "v100,A,,,,,2,3,\n", "corunner_rate without");
    refused(HEADER "v100,A,,,,,2,,\nv100,B,,,,,2,,\nv100,A,,,,B,1,1,\nv100,B,,,,A,1,2,\n",
            "line 5: differs");
    refused(HEADER "v100,A,,,,,2,,\nv100,B,,,,,2,,\nv100,A,,,,B,1,1,\nv100,B,,,,A,0,0,\n",
            "line 5: differs");
}

static void a_data_sheet_file_adds_a_card(void **state)
{
    static const char sheet[] =
        "name,fp32_tflops,bandwidth_gbs,memory_gb,sms,tdp_watts,year\n"
        "z9000,20,900,24,70,250,2026\n";
    static const char table[] = "gpu,job,rate\nZ9000,A,8\nk80,A,1\n";
    struct gpu_sheet *sheets = NULL;
    size_t count = 0;
    struct world *w = NULL;
    struct err err = {0};

    (void)state;
    if (gpu_csv_load(&sheets, &count, text_file("sheet", sheet), &err) < 0 ||
        world_csv_load(&w, text_file("test", table), text_file("sheet", sheet), 1, &err) <
            0)
        fail_msg("%s", err.text);
    assert_int_equal(count, 1);
    assert_true(sheets[0].fp16_tflops == 20 && sheets[0].idle_watts == 25);
    assert_true(sheets[0].cap_min_watts == 0);
    assert_int_equal(world_find_gpu(w, "z9000"), 0);
    free(sheets);
    world_destroy(w);
}

static void bad_data_sheets_are_named_by_their_line(void **state)
{
    static const struct {
        const char *text, *word;
    } bad[] = {
        {"name\nz\n", "fp32_tflops"},
        {"name,fp32_tflops,bandwidth_gbs,memory_gb,sms,tdp_watts,year\n"
         "z,20,900,24,70,250,1950\n",
         "line 2: year"},
        {"name,fp32_tflops,bandwidth_gbs,memory_gb,sms,tdp_watts,year\n"
         "z,20,900,24,70,0.05,2020\n",
         "line 2: GPU z: tdp_watts"},
        {"name,fp32_tflops,bandwidth_gbs,memory_gb,sms,tdp_watts,year\n"
         "z,20,900,24,70,250,2020\nz,20,900,24,70,250,2020\n",
         "line 3: z is there twice"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct gpu_sheet *sheets = NULL;
        size_t count = 0;
        struct err err = {0};

        assert_int_equal(
            gpu_csv_load(&sheets, &count, text_file("sheet", bad[i].text), &err), -1);
        assert_null(sheets);
        if (!strstr(err.text, bad[i].word))
            fail_msg("\"%s\" does not say \"%s\"", err.text, bad[i].word);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_may_come_in_any_order),
        cmocka_unit_test(utilisation_comes_from_watts_where_they_are_told),
        cmocka_unit_test(the_short_form_takes_family_and_batch_from_the_name),
        cmocka_unit_test(bad_rows_are_named_by_their_line),
        cmocka_unit_test(bad_pairs_are_named_by_their_line),
        cmocka_unit_test(a_data_sheet_file_adds_a_card),
        cmocka_unit_test(bad_data_sheets_are_named_by_their_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
