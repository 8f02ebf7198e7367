/* test_eval_tables.c - tables of any shape go through every protocol
 *
 * One job, one GPU, nothing measured, every pair missing, and 2, 5 and 8 GPU types. */
#include "lab/eval/eval.h"
#include "base/file.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static const char *const protocols[] = {"lofo", "lojo", "online"};

/* Run one protocol and hand back what it printed; the caller frees. */
static char *run(const char *table, const char *protocol, int types)
{
    struct eval_options options = {.throughputs = table,
                                   .protocol = protocol,
                                   .types = types,
                                   .jobs = 12,
                                   .seed = 3,
                                   .seeds = 1,
                                   .arch = "blend",
                                   .json = true};
    struct err err = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (eval_main(&options, out, &err) < 0)
        fail_msg("%s: %s", protocol, err.text);
    fclose(out);
    return text;
}

static void run_csv(const char *rows)
{
    char path[] = "/tmp/corgi-eval-XXXXXX.csv";
    int fd = mkstemps(path, 4);
    FILE *f = fdopen(fd, "w");

    fprintf(f, "gpu,job,family,batch,corunner,rate,corunner_rate\n%s", rows);
    fclose(f);
    for (size_t p = 0; p < 3; p++) {
        char *text = run(path, protocols[p], 0);

        assert_non_null(strstr(text, "\"results\""));
        assert_null(strstr(text, "inf"));
        free(text);
    }
    unlink(path);
}

static void one_job_on_one_gpu(void **state)
{
    (void)state;
    run_csv("v100,a,x,8,,10,\n");
}

static void one_job_on_several_gpus(void **state)
{
    (void)state;
    run_csv("v100,a,x,8,,10,\np100,a,x,8,,6,\nk80,a,x,8,,2,\n");
}

static void several_jobs_on_one_gpu(void **state)
{
    (void)state;
    run_csv("v100,a,x,8,,10,\nv100,b,y,16,,4,\nv100,c,y,32,,3,\n"
            "v100,a,x,8,b,6,2\nv100,a,x,8,c,5,1.5\nv100,b,y,16,c,2,1.5\n");
}

static void rates_alone_and_no_pair_ever(void **state)
{
    (void)state;
    run_csv("v100,a,x,8,,10,\np100,a,x,8,,6,\nv100,b,y,16,,4,\np100,b,y,16,,3,\n"
            "v100,c,z,8,,9,\np100,c,z,8,,5,\n");
}

static void pairs_that_all_failed(void **state)
{
    (void)state;
    run_csv("v100,a,x,8,,10,\nv100,b,y,16,,4,\nv100,a,x,8,b,0,0\n");
}

static void jobs_that_share_no_gpu(void **state)
{
    (void)state;
    run_csv("v100,a,x,8,,10,\np100,b,y,16,,4,\nk80,c,z,2,,1,\n");
}

static double own_error(const char *text, const char *method)
{
    const char *at = text;

    while ((at = strstr(at, "\"own\"")) != NULL) {
        const char *end = strchr(at, '}'), *name = strstr(at, method),
                   *mare = strstr(at, "\"mare\":"),
                   *ten = strstr(at, "\"observations\": 10");

        if (name && name < end && mare && mare < end && ten && ten < end)
            return atof(mare + strlen("\"mare\":"));
        at = end;
    }
    return NAN;
}

/* Two, five and eight types: it must run, and know more than the columns' means. */
static void tables_of(int types)
{
    char *text = run("synthetic", "lojo", types);
    double blend = own_error(text, "\"blend\""),
           mean = own_error(text, "\"baseline:column-mean\"");

    assert_true(blend > 0 && mean > 0);
    assert_true(blend < mean);
    free(text);
}

static void tables_with_two_types(void **state)
{
    (void)state;
    tables_of(2);
}

static void tables_with_five_types(void **state)
{
    (void)state;
    tables_of(5);
}

static void a_stream_on_eight_types(void **state)
{
    char *text = run("synthetic", "online", 8);

    (void)state;
    assert_non_null(strstr(text, "\"blend\""));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_job_on_one_gpu),
        cmocka_unit_test(one_job_on_several_gpus),
        cmocka_unit_test(several_jobs_on_one_gpu),
        cmocka_unit_test(rates_alone_and_no_pair_ever),
        cmocka_unit_test(pairs_that_all_failed),
        cmocka_unit_test(jobs_that_share_no_gpu),
        cmocka_unit_test(tables_with_two_types),
        cmocka_unit_test(tables_with_five_types),
        cmocka_unit_test(a_stream_on_eight_types),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
