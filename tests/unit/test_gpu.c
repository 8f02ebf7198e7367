/* test_gpu.c - the catalogue of cards and its lookup */
#include "world/gpu_sheet.h"
#include "lab/tables/world_check.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void every_card_passes_its_own_check_and_names_a_source(void **state)
{
    size_t count;
    const struct gpu_sheet *cards = gpu_catalogue(&count);

    (void)state;
    assert_true(count >= 27);
    for (size_t i = 0; i < count; i++) {
        struct err err = {0};

        if (gpu_check(&cards[i], &err) < 0)
            fail_msg("%s", err.text);
        assert_true(strlen(cards[i].source) > 10);
        assert_true(cards[i].cap_min_watts > 0);
    }
}

static void cards_stand_oldest_first(void **state)
{
    size_t count;
    const struct gpu_sheet *cards = gpu_catalogue(&count);

    (void)state;
    for (size_t i = 1; i < count; i++)
        assert_true(cards[i - 1].year <= cards[i].year);
}

static void every_name_and_title_finds_its_own_card(void **state)
{
    size_t count;
    const struct gpu_sheet *cards = gpu_catalogue(&count);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        assert_ptr_equal(gpu_find(cards[i].name), &cards[i]);
        assert_ptr_equal(gpu_find(cards[i].title), &cards[i]);
    }
}

static void finds_cards_by_the_names_people_and_drivers_use(void **state)
{
    static const char *const known[][2] = {
        {"k80", "k80"},
        {"Tesla K80", "k80"},
        {"P100", "p100-16"},
        {"Tesla P100-PCIE-16GB", "p100-16"},
        {"v100", "v100-16"},
        {"Tesla V100-SXM2-16GB", "v100-sxm2-16"},
        {"Tesla V100-PCIE-32GB", "v100-32"},
        {"Quadro RTX 6000", "rtx6000"},
        {"NVIDIA GeForce RTX 2080 Ti", "rtx2080ti"},
        {"a100", "a100-40"},
        {"NVIDIA A100-SXM4-40GB", "a100-40"},
        {"NVIDIA A100 80GB PCIe", "a100-pcie-80"},
        {"H100", "h100-sxm"},
        {"NVIDIA H100 80GB HBM3", "h100-sxm"},
        {"NVIDIA H100 PCIe", "h100-pcie"},
        {"NVIDIA L40S", "l40s"},
        {"AMD Instinct MI300X", "mi300x"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const struct gpu_sheet *card = gpu_find(known[i][0]);

        if (!card)
            fail_msg("%s is unknown", known[i][0]);
        assert_string_equal(card->name, known[i][1]);
    }
}

static void does_not_guess_at_cards_that_only_look_alike(void **state)
{
    char endless[4000];

    (void)state;
    memset(endless, 'v', sizeof(endless));
    endless[sizeof(endless) - 1] = '\0';
    assert_null(gpu_find(""));
    assert_null(gpu_find("NVIDIA"));
    assert_null(gpu_find("v1000"));
    assert_null(gpu_find("v10"));
    assert_null(gpu_find("NVIDIA RTX 6000 Ada Generation"));
    assert_null(gpu_find(endless));
}

static void a_card_answers_to_its_own_name_whatever_it_is(void **state)
{
    struct gpu_sheet sheet = *gpu_find("v100");

    (void)state;
    snprintf(sheet.name, sizeof(sheet.name), "NVIDIA");
    assert_true(gpu_named(&sheet, "nvidia"));
    assert_false(gpu_named(&sheet, "amd"));
    assert_false(gpu_named(&sheet, ""));
}

static void check_names_the_field_that_is_wrong(void **state)
{
    struct gpu_sheet sheet = *gpu_find("v100");
    struct err err = {0};

    (void)state;
    sheet.bandwidth_gbs = NAN;
    assert_int_equal(gpu_check(&sheet, &err), -1);
    assert_int_equal(err.code, ERR_INVALID);
    assert_non_null(strstr(err.text, "bandwidth_gbs"));
    sheet = *gpu_find("v100");
    sheet.tdp_watts = 10;
    assert_int_equal(gpu_check(&sheet, &err), -1);
    assert_non_null(strstr(err.text, "idle_watts"));
    sheet = *gpu_find("v100");
    sheet.sms = 0;
    assert_int_equal(gpu_check(&sheet, &err), -1);
    assert_non_null(strstr(err.text, "sms"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_card_passes_its_own_check_and_names_a_source),
        cmocka_unit_test(cards_stand_oldest_first),
        cmocka_unit_test(every_name_and_title_finds_its_own_card),
        cmocka_unit_test(finds_cards_by_the_names_people_and_drivers_use),
        cmocka_unit_test(does_not_guess_at_cards_that_only_look_alike),
        cmocka_unit_test(a_card_answers_to_its_own_name_whatever_it_is),
        cmocka_unit_test(check_names_the_field_that_is_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
