/* estimate_eval.c - the protocols on synthetic tables of all shapes, and on measured ones
 */
#include "base/mem.h"
#include "lab/eval/eval.h"
#include "lab/eval/protocols.h"
#include "fixture/measured.h"
#include "world/generate.h"
#include "lab/tables/invented_gpus.h"

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

    isolated_run(table, FOLD_FAMILY, true, 1, results);
    isolated_run(table, FOLD_JOB, true, 1, results);
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
        struct generate_options how = {.gpu_count = counts[i],
                                       .draw = invented_gpus,
                                       .family_min = 4,
                                       .family_max = 4};
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

/* The caller frees; NULL: the set is not here. */
static char *evaluate(const struct measured_set *set, const char *protocol,
                      const char *arch)
{
    char *table = measured_path(set, set->throughputs);
    char *told = measured_path(set, set->descriptors), *text = NULL;
    struct err err = {0};
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct eval_options options = {.throughputs = table,
                                   .descriptors = told,
                                   .protocol = protocol,
                                   .arch = arch,
                                   .seed = 1,
                                   .seeds = 1,
                                   .json = true};
    int rc = table && told ? eval_main(&options, out, &err) : 1;

    fclose(out);
    if (rc < 0)
        fail_msg("%s", err.text);
    free(table);
    free(told);
    if (rc == 0)
        return text;
    free(text);
    return NULL;
}

static void a_stream_of_arrivals_beats_column_means_by_far(void **state)
{
    static const struct {
        double at_80, at_300, column_mean; /* errors in percent */
    } claims[] = {{17, 12, 18}, {17, 8.5, 12}};
    int c = *state == &measured_gavel;
    char *json = evaluate(*state, "online", "blend");

    if (!json)
        skip();
    assert_true(mare_of(json, "\"arrivals\": 80", "blend") < claims[c].at_80);
    assert_true(mare_of(json, "\"arrivals\": 300", "blend") < claims[c].at_300);
    assert_true(mare_of(json, "\"arrivals\": 300", "baseline:column-mean") >
                claims[c].column_mean);
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
        MEASURED_TEST(a_stream_of_arrivals_beats_column_means_by_far, measured_own),
        MEASURED_TEST(a_stream_of_arrivals_beats_column_means_by_far, measured_gavel),
        cmocka_unit_test(a_missing_table_is_refused_with_its_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
