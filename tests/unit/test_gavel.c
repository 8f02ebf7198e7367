/* test_gavel.c - Gavel's tables as they are, and as nobody should send them */
#include "lab/tables/gavel_table.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "fixture/text_file.h"

#define A "\"('A (batch size 16)', 1)\""
#define B "\"('B', 1)\""
#define C "\"('A (batch size 16)', 2)\""

static const char good[] =
    "{\"k80\": {" A ": {\"null\": 10, " B ": [5, 1], " A ": [4, 4]}, " B
    ": {\"null\": 2, " A ": [1, 5], " B ": [0, 0]}, " C ": {\"null\": 16, " A
    ": [0, 0]}},"
    "\"k80_unconsolidated\": {" A ": {\"null\": 9}, " C ": {\"null\": 12}},"
    "\"v100\": {" A ": {\"null\": 40, " B ": [48, 3]}, " B ": {\"null\": 4}}}";

static struct world *parsed(const char *text)
{
    struct world *w = NULL;
    struct err err = {0};

    if (gavel_load(&w, text_file("test", text), 1, &err) < 0)
        fail_msg("%s", err.text);
    return w;
}

static void reads_rates_alone_spread_and_in_pairs(void **state)
{
    struct world *w = parsed(good);

    (void)state;
    assert_int_equal(w->gpu_count, 2);
    assert_int_equal(w->class_count, 3);
    assert_int_equal(world_find_gpu(w, "v100"), 1);
    assert_int_equal(world_find_class(w, "A (batch size 16)", 2), 2);
    assert_string_equal(w->classes[0].descriptor.family, "A");
    assert_int_equal(w->classes[0].descriptor.batch, 16);
    assert_int_equal(w->classes[1].descriptor.batch, 0);
    assert_true(*world_alone(w, 0, 0) == 10 && *world_spread(w, 0, 0) == 10);
    assert_true(*world_alone(w, 0, 2) == 16 && *world_spread(w, 0, 2) == 12);
    assert_true(*world_beside(w, 0, 0, 1) == 0.5f && *world_beside(w, 0, 1, 0) == 0.5f);
    assert_true(*world_beside(w, 0, 1, 1) == 0);
    assert_true(isnan(*world_beside(w, 0, 2, 0)));
    world_destroy(w);
}

static void a_pair_listed_one_way_fills_both_and_never_beats_alone(void **state)
{
    struct world *w = parsed(good);

    (void)state;
    assert_true(*world_beside(w, 1, 0, 1) == 1);
    assert_true(*world_beside(w, 1, 1, 0) == 0.75f);
    assert_true(isnan(*world_beside(w, 1, 0, 0)));
    world_destroy(w);
}

static void utilisation_depends_on_the_seed_alone(void **state)
{
    struct world *one = parsed(good), *same = parsed(good), *other = NULL;

    (void)state;
    assert_int_equal(gavel_load(&other, text_file("test", good), 2, NULL), 0);
    assert_memory_equal(one->busy, same->busy, 6 * sizeof(float));
    assert_memory_not_equal(one->busy, other->busy, 6 * sizeof(float));
    for (int i = 0; i < 6; i++)
        assert_true(one->busy[i] > 0 && one->busy[i] < 1);
    world_destroy(one);
    world_destroy(same);
    world_destroy(other);
}

static void refused(const char *text, enum err_code code, const char *word)
{
    struct world *w = NULL;
    struct err err = {0};

    assert_int_equal(gavel_load(&w, text_file("test", text), 1, &err), -1);
    assert_null(w);
    if (err.code != code || !strstr(err.text, word) || !strstr(err.text, "test"))
        fail_msg("code %d, \"%s\" does not say \"%s\"", err.code, err.text, word);
}

static void tables_cut_short_are_refused_at_every_length(void **state)
{
    (void)state;
    for (size_t length = 0; length + 1 < sizeof(good); length++) {
        struct world *w = NULL;
        struct err err = {0};

        assert_int_equal(gavel_load(&w, text_file_of("test", good, length), 1, &err), -1);
        assert_int_equal(err.code, ERR_FORMAT);
        assert_non_null(strstr(err.text, "line 1"));
    }
}

static void wrong_types_and_absurd_rates_name_their_place(void **state)
{
    (void)state;
    refused("[]", ERR_FORMAT, "worker types");
    refused("{}", ERR_FORMAT, "worker types");
    refused("{\"k80\": {}}", ERR_FORMAT, "no jobs");
    refused("{\"k80\": 3}", ERR_FORMAT, "k80: want an object");
    refused("{\"k80\": {\"('A', x)\": {\"null\": 1}}}", ERR_FORMAT, "k80 -> ('A', x)");
    refused("{\"k80\": {\"\": {\"null\": 1}}}", ERR_FORMAT, "want a key");
    refused("{\"k80\": {" A ": 7}}", ERR_FORMAT, "k80 -> ('A (batch size 16)', 1)");
    refused("{\"k80\": {" A ": {}}}", ERR_INVALID, "-> null");
    refused("{\"k80\": {" A ": {\"null\": \"7\"}}}", ERR_INVALID, "-> null");
    refused("{\"k80\": {" A ": {\"null\": -1}}}", ERR_INVALID, "-> null");
    refused("{\"k80\": {" A ": {\"null\": 1e30}}}", ERR_INVALID, "-> null");
    refused("{\"k80\": {" A ": {\"null\": NaN}}}", ERR_FORMAT, "line 1");
    refused("{\"k80\": {" A ": {\"null\": 1, " B ": [1, 1]}}}", ERR_NOT_FOUND,
            "no such job");
    refused("{\"k80\": {" A ": {\"null\": 1, " A ": [1]}}}", ERR_INVALID, "two rates");
    refused("{\"k80\": {" A ": {\"null\": 1, " A ": [1, -2]}}}", ERR_INVALID,
            "two rates");
    refused("{\"k80\": {\"('A (batch size x)', 1)\": {\"null\": 1}}}", ERR_FORMAT,
            "batch size 32");
}

static void unknown_and_repeated_gpus_are_refused(void **state)
{
    (void)state;
    refused("{\"z9000\": {" A ": {\"null\": 1}}}", ERR_NOT_FOUND, "z9000");
    refused("{\"k80_unconsolidated\": {" A ": {\"null\": 1}}}", ERR_FORMAT,
            "only the rates spread");
    refused("{\"v100\": {" A ": {\"null\": 1}}, \"v100-16\": {" A ": {\"null\": 1}}}",
            ERR_EXISTS, "same card");
}

static void a_pair_that_differs_from_its_mirror_is_refused(void **state)
{
    (void)state;
    refused("{\"k80\": {" A ": {\"null\": 10, " B ": [5, 1]}, " B ": {\"null\": 2, " A
            ": [1, 6]}}}",
            ERR_INVALID, "the other way round");
}

/* The forms Gavel published: keys with and without a scale, two rates of one job. */
static void jobs_without_a_scale_and_two_rates_of_one_job_are_read(void **state)
{
    static const char text[] = "{\"k80\": {\"A (batch size 16)\": {\"null\": 10, "
                               "\"A (batch size 16)\": [4, 6], \"B\": [5, 1]}, "
                               "\"B\": {\"null\": 2, \"A (batch size 16)\": [1, 5]}}}";
    struct gavel_notes notes = {0};
    struct world *w = NULL;
    struct err err = {0};

    (void)state;
    if (gavel_load_noted(&w, text_file("test", text), 1, &notes, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(w->class_count, 2);
    assert_int_equal(w->classes[0].scale, 1);
    assert_string_equal(w->classes[0].name, "A (batch size 16)");
    assert_true(fabsf(*world_beside(w, 0, 0, 0) - 0.5f) < 1e-6f);
    assert_true(fabsf(*world_beside(w, 0, 0, 1) - 0.5f) < 1e-6f);
    assert_int_equal(notes.plain_keys, 2);
    assert_int_equal(notes.self_pairs, 1);
    world_destroy(w);
}

static void descriptors_fill_whole_families_or_nothing(void **state)
{
    static const char fine[] =
        "family,kind,forward_gmac_per_sample,params_millions,memory_mb_per_sample\n"
        "A,conv,0.5,11,3\nnobody,rnn,1,1,1\n";
    static const char *const bad[] = {
        "kind\nconv\n",
        "family,kind\nA,conv\nA,noodles\n",
        "family,params_millions\nA,3\nB,-1\n",
        "family,params_millions\nA,3\nB,nan\n",
        "family,kind\nA,conv\n,conv\n",
        "family,kind\nA,conv\nA\n",
    };
    struct world *w = parsed(good);
    struct err err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(descriptors_load(w, text_file("d.csv", bad[i]), &err), -1);
        assert_non_null(strstr(err.text, "d.csv"));
        assert_int_equal(w->classes[0].descriptor.model, MODEL_UNKNOWN);
        assert_true(w->classes[0].descriptor.params_millions == 0);
    }
    assert_int_equal(descriptors_load(w, text_file("d.csv", fine), &err), 0);
    assert_int_equal(w->classes[0].descriptor.model, MODEL_CONV);
    assert_int_equal(w->classes[2].descriptor.model, MODEL_CONV);
    assert_true(w->classes[2].descriptor.gmac_per_sample == 0.5);
    assert_int_equal(w->classes[1].descriptor.model, MODEL_UNKNOWN);
    world_destroy(w);
}

/* ---- on the tables themselves --------------------------------------------------------
 */

static bool data_path(char *path, size_t size, const char *file)
{
    const char *data = getenv("CORGI_DATA");
    FILE *f;

    if (!data)
        return false;
    snprintf(path, size, "%s/gavel/%s", data, file);
    f = fopen(path, "rb");
    if (f)
        fclose(f);
    return f != NULL;
}

static void reads_the_published_tables(void **state)
{
    static const char *const files[] = {"simulation_throughputs.json",
                                        "physical_cluster_throughputs.json"};
    char path[512];

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct world *w = NULL;
        struct err err = {0};
        int ran = 0;

        if (!data_path(path, sizeof(path), files[i])) {
            print_message("skipped: CORGI_DATA has no gavel/%s\n", files[i]);
            skip();
        }
        if (gavel_load(&w, path, 1, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(w->gpu_count, 3);
        assert_int_equal(w->class_count, 83);
        for (int a = 0; a < w->class_count; a++)
            for (int b = 0; b < w->class_count; b++)
                ran += *world_beside(w, 2, a, b) > 0;
        assert_in_range(ran, 26 * 20, 26 * 26);
        if (!data_path(path, sizeof(path), "descriptors.csv") ||
            descriptors_load(w, path, &err) < 0)
            fail_msg("%s", err.text);
        for (int c = 0; c < w->class_count; c++)
            assert_true(w->classes[c].descriptor.model != MODEL_UNKNOWN);
        world_destroy(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_rates_alone_spread_and_in_pairs),
        cmocka_unit_test(a_pair_listed_one_way_fills_both_and_never_beats_alone),
        cmocka_unit_test(utilisation_depends_on_the_seed_alone),
        cmocka_unit_test(tables_cut_short_are_refused_at_every_length),
        cmocka_unit_test(wrong_types_and_absurd_rates_name_their_place),
        cmocka_unit_test(unknown_and_repeated_gpus_are_refused),
        cmocka_unit_test(a_pair_that_differs_from_its_mirror_is_refused),
        cmocka_unit_test(jobs_without_a_scale_and_two_rates_of_one_job_are_read),
        cmocka_unit_test(descriptors_fill_whole_families_or_nothing),
        cmocka_unit_test(reads_the_published_tables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
