/* test_quote_json.c - a quote as JSON, to the letter */
#include "loop_fixture.h"

#include "base/str.h"
#include "service/ledger.h"

static void assert_json(const struct quote *q, const char *expected)
{
    struct cluster *cluster = fixture_cluster();
    struct json_out out;
    struct str text = {0};

    json_out_init(&out, &text, false);
    ledger_quote_json(&out, cluster, q);
    assert_string_equal(str_text(&text), expected);
    str_fini(&text);
    cluster_destroy(cluster);
}

static void a_quote_as_json_has_all_of_it(void **state)
{
    const struct quote q = {
        .verdict = QUOTE_QUEUED,
        .reason = "waits",
        .replicas = 2,
        .promised_rate = 8,
        .confidence = 0.75,
        .chance = 0.625,
        .rate = {.value = 10, .low = 9, .high = 12, .source = ESTIMATE_MEASURED},
        .watts = {.value = 60, .low = 50, .high = 70, .observations = 3},
        .joules = 600,
        .joules_low = 500,
        .joules_high = 700,
        .joules_per_step = 6,
        .type = SLOW,
        .node = 0,
        .neighbour = 17,
        .start_s = 5,
        .end_s = 105,
        .offer_count = 2,
        .offers = {{.kind = "later",
                    .text = "soon",
                    .rate = 10,
                    .start_s = 65,
                    .gpus = 0,
                    .type = -1},
                   {.kind = "other_gpus",
                    .text = "more",
                    .rate = NAN,
                    .start_s = NAN,
                    .gpus = 1,
                    .type = SLOW}}};

    (void)state;
    assert_json(
        &q,
        "{\"verdict\":\"queued\",\"reason\":\"waits\",\"promised_rate\":8,"
        "\"confidence\":0.75,\"chance\":0.625,\"replicas\":2,"
        "\"rate\":{\"value\":10,\"low\":9,\"high\":12,\"source\":\"measured\","
        "\"observations\":0},"
        "\"watts\":{\"value\":60,\"low\":50,\"high\":70,\"source\":\"initial\","
        "\"observations\":3},"
        "\"joules\":{\"value\":600,\"low\":500,\"high\":700},\"joules_per_step\":6,"
        "\"type\":\"slow\",\"node\":\"node-1\",\"neighbour\":{\"job\":17},"
        "\"start_s\":5,\"end_s\":105,\"counter_offers\":["
        "{\"kind\":\"later\",\"text\":\"soon\",\"rate\":10,\"start_s\":65,\"gpus\":null,"
        "\"type\":null,\"joules\":null},"
        "{\"kind\":\"other_gpus\",\"text\":\"more\",\"rate\":null,\"start_s\":null,"
        "\"gpus\":1,\"type\":\"slow\",\"joules\":null}]}");
}

static void what_is_not_known_is_null(void **state)
{
    const struct quote q = {.verdict = QUOTE_REFUSED,
                            .reason = "no",
                            .replicas = 1,
                            .promised_rate = NAN,
                            .confidence = 0.5,
                            .chance = NAN,
                            .joules = NAN,
                            .joules_per_step = NAN,
                            .type = -1,
                            .node = -1,
                            .start_s = NAN,
                            .end_s = NAN};

    (void)state;
    assert_json(
        &q,
        "{\"verdict\":\"refused\",\"reason\":\"no\",\"promised_rate\":null,"
        "\"confidence\":0.5,\"chance\":null,\"replicas\":1,\"rate\":null,\"watts\":null,"
        "\"joules\":null,\"joules_per_step\":null,\"type\":null,"
        "\"node\":null,\"neighbour\":null,\"start_s\":null,"
        "\"end_s\":null,\"counter_offers\":[]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quote_as_json_has_all_of_it),
        cmocka_unit_test(what_is_not_known_is_null),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
