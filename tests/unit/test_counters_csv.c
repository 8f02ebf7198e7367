/* test_counters_csv.c - what was counted of jobs, as shares, and what cannot be */
#include "fixture/text_file.h"
#include "lab/tables/counters_csv.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct world *two_jobs(void)
{
    struct world *w = world_create(2, 2);

    w->gpus[0] = *gpu_find("v100");
    w->gpus[1] = *gpu_find("k80");
    for (int c = 0; c < 2; c++) {
        snprintf(w->classes[c].name, sizeof(w->classes[c].name), "job-%d", c);
        w->classes[c].scale = 1;
    }
    return w;
}

static int load(const struct world *w, const char *text, struct job_counters *counters,
                struct err *err)
{
    *err = (struct err){0};
    return counters_csv_load(w, text_file_of("counters", text, strlen(text)), counters,
                             err);
}

CASE(the_mean_over_types_counts_and_what_is_empty_is_not_known)
{
    struct world *w = two_jobs();
    const struct gpu_sheet *v100 = &w->gpus[0];
    double half = v100->idle_watts + 0.5 * (v100->tdp_watts - v100->idle_watts);
    struct job_counters counters[2];
    struct err err;
    char text[400];

    snprintf(text, sizeof(text),
             "host,job,gpu,busy,memory_busy,watts,memory_gb\n"
             ",job-0,v100,0.4,,%g,%g\n"
             ",job-0,k80,0.8,,,\n"
             "0.5,nobody,v100,1,1,,\n",
             half, 0.25 * v100->memory_gb);
    assert_int_equal(load(w, text, counters, &err), 0);
    assert_float_equal(counters[0].of[COUNTER_BUSY], 0.6, 1e-9);
    assert_true(isnan(counters[0].of[COUNTER_MEMORY_BUSY]));
    assert_true(isnan(counters[0].of[COUNTER_HOST]));
    assert_true(counters[0].of[COUNTER_WATTS] > 0.1 &&
                counters[0].of[COUNTER_WATTS] < 0.9);
    assert_float_equal(counters[0].of[COUNTER_MEMORY], 0.25, 1e-9);
    for (int c = 0; c < JOB_COUNTERS; c++)
        assert_true(isnan(counters[1].of[c]));
    world_destroy(w);
}

CASE(what_cannot_be_is_refused_and_changes_nothing)
{
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"gpu,busy\nv100,0.5\n", "job"},
        {"job,busy\njob-0,40\n", "busy"},
        {"job,busy\njob-0,nan\n", "busy"},
        {"job,gpu,busy\njob-0,toaster,0.4\n", "toaster"},
        {"job,watts\njob-0,100\n", "need the column gpu"},
        {"job,gpu,watts\njob-0,v100,-1\n", "watts"},
        {"job,busy\njob-0\n", "line 2"},
    };
    struct world *w = two_jobs();

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct job_counters counters[2] = {{{7}}, {{7}}};
        struct err err;

        assert_int_equal(load(w, wrong[i].text, counters, &err), -1);
        if (!strstr(err.text, wrong[i].says))
            fail_msg("\"%s\" does not say \"%s\"", err.text, wrong[i].says);
        assert_float_equal(counters[0].of[0], 7, 0);
    }
    world_destroy(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mean_over_types_counts_and_what_is_empty_is_not_known),
        cmocka_unit_test(what_cannot_be_is_refused_and_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
