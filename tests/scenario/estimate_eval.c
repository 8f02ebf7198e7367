/* estimate_eval.c - the protocols on synthetic tables of all shapes, and on Gavel's */
#include "base/mem.h"
#include "lab/eval/colocated.h"
#include "lab/eval/eval.h"
#include "lab/eval/isolated.h"
#include "lab/eval/eval_online.h"
#include "world/generate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void run_all(const struct world *world)
{
    struct measured *table = measured_create(world);
    struct results *results = results_create("lofo");

    isolated_run(table, FOLD_FAMILY, true, true, 1, results);
    isolated_run(table, FOLD_JOB, true, true, 1, results);
    colocated_run(table, FOLD_FAMILY, method_baselines, 1, 1, results);
    online_run(table, true, 1, 1, results);
    results_destroy(results);
    measured_destroy(table);
}

static void tables_with_two_five_and_eight_gpu_types_work(void **state)
{
    const int counts[] = {2, 5, 8};

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct generate_options how = {
            .gpu_count = counts[i], .family_min = 4, .family_max = 4};
        struct world *world;
        struct rng rng;

        rng_init(&rng, 3);
        world = world_generate(&how, &rng);
        run_all(world);
        world_destroy(world);
    }
}

static struct world *tiny(int gpus, int classes)
{
    struct world *world = world_create(gpus, classes);

    for (int g = 0; g < gpus; g++)
        world->gpus[g] = *gpu_find(g ? "v100" : "k80");
    for (int c = 0; c < classes; c++) {
        snprintf(world->classes[c].name, WORLD_NAME_SIZE, "job %d", c);
        world->classes[c].scale = 1;
        for (int g = 0; g < gpus; g++)
            *world_alone(world, g, c) = (float)(1 + c);
    }
    return world;
}

static void one_job_one_gpu_and_empty_tables_work(void **state)
{
    const int shapes[][2] = {{1, 1}, {1, 3}, {2, 1}, {2, 0}};

    (void)state;
    for (int i = 0; i < 4; i++) {
        struct world *world = tiny(shapes[i][0], shapes[i][1]);

        run_all(world);
        world_destroy(world);
    }
}

static void all_pairs_missing_work(void **state)
{
    struct world *world = tiny(2, 4);

    (void)state;
    for (int i = 0; i < 2 * 4 * 4; i++)
        world->beside[i] = i % 2 ? NAN : 0;
    run_all(world);
    world_destroy(world);
}

/* Error of one line of the JSON: good enough for our own output. */
static double mare_of(const char *json, const char *start, const char *method)
{
    char key[64];

    snprintf(key, sizeof(key), "\"method\": \"%s\"", method);
    for (const char *at = json; (at = strstr(at, start)); at++) {
        const char *end = strchr(at, '}'), *line = strstr(at, key);

        if (line && line < end)
            return atof(strstr(line, "\"mare\": ") + 8);
    }
    return NAN;
}

static char *evaluate(const char *protocol, const char *arch, struct err *err)
{
    char table[512], told[512], *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct eval_options options = {.throughputs = table,
                                   .descriptors = told,
                                   .protocol = protocol,
                                   .arch = arch,
                                   .seed = 1,
                                   .seeds = 1,
                                   .json = true};
    int rc;

    snprintf(table, sizeof(table), "%s/gavel/simulation_throughputs.json",
             getenv("CORGI_DATA"));
    snprintf(told, sizeof(told), "%s/gavel/descriptors.csv", getenv("CORGI_DATA"));
    rc = eval_main(&options, out, err);
    fclose(out);
    if (rc == 0)
        return text;
    free(text);
    return NULL;
}

static void stream_on_gavels_table_beats_column_means_by_far(void **state)
{
    struct err err = {0};
    char *json;

    (void)state;
    if (!getenv("CORGI_DATA"))
        skip();
    json = evaluate("online", "blend", &err);
    if (!json)
        skip(); /* the tables are not here */
    assert_true(mare_of(json, "\"arrivals\": 300", "blend") < 8.5);
    assert_true(mare_of(json, "\"arrivals\": 80", "blend") < 17);
    assert_true(mare_of(json, "\"arrivals\": 300", "baseline:column-mean") > 12);
    free(json);
}

static void a_missing_table_is_refused_with_its_name(void **state)
{
    struct err err = {0};
    struct eval_options options = {.throughputs = "/nonexistent.json"};

    (void)state;
    assert_int_equal(eval_main(&options, stdout, &err), -1);
    assert_non_null(strstr(err.text, "/nonexistent.json"));
    options.protocol = "guess";
    assert_int_equal(eval_main(&options, stdout, &err), -1);
    assert_int_equal(err.code, ERR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_with_two_five_and_eight_gpu_types_work),
        cmocka_unit_test(one_job_one_gpu_and_empty_tables_work),
        cmocka_unit_test(all_pairs_missing_work),
        cmocka_unit_test(stream_on_gavels_table_beats_column_means_by_far),
        cmocka_unit_test(a_missing_table_is_refused_with_its_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
