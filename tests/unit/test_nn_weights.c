/* test_nn_weights.c - weights survive a round trip, and nothing else is believed */
#include "nn/mlp.h"
#include "nn/weights.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct params *net(uint64_t seed, int hidden)
{
    struct params *params = params_create();
    struct mlp mlp;
    struct rng rng;

    rng_init(&rng, seed);
    mlp_init(&mlp, params, "net", (const int[]){3, hidden, 2}, 3, &rng);
    return params;
}

/* A good file in memory, to be spoilt. */
static int encoded(void **state)
{
    struct params *params = net(1, 4);
    struct str *bytes = calloc(1, sizeof(*bytes));
    int rc = bytes ? weights_encode(params, "trained on nothing", bytes, NULL) : -1;

    params_destroy(params);
    *state = bytes;
    return rc;
}

static int freed(void **state)
{
    str_fini(*state);
    free(*state);
    return 0;
}

static void reseal(struct str *bytes)
{
    uint32_t crc = weights_crc(bytes->text, bytes->length - 4);

    for (int i = 0; i < 4; i++)
        bytes->text[bytes->length - 4 + (size_t)i] = (char)(crc >> (8 * i));
}

static void refused(const struct str *bytes, size_t count, enum err_code code,
                    const char *word)
{
    struct params *params = net(2, 4), *before = params_dup(params);
    struct err err = {0};

    assert_int_equal(weights_decode(params, str_text(bytes), count, &err), -1);
    assert_int_equal(err.code, code);
    if (!strstr(err.text, word))
        fail_msg("\"%s\" does not say \"%s\"", err.text, word);
    assert_memory_equal(before->value, params->value, params->count * sizeof(nn_real));
    params_destroy(before);
    params_destroy(params);
}

static void checksum_is_the_usual_crc32(void **state)
{
    (void)state;
    assert_int_equal(weights_crc("123456789", 9), 0xcbf43926);
}

static void round_trip_keeps_every_number(void **state)
{
    struct params *to = net(2, 4), *from = net(1, 4);
    struct err err = {0};

    assert_memory_not_equal(from->value, to->value, to->count * sizeof(nn_real));
    const struct str *bytes = *state;
    assert_int_equal(weights_decode(to, bytes->text, bytes->length, &err), 0);
    assert_memory_equal(from->value, to->value, to->count * sizeof(nn_real));
    assert_non_null(memmem(bytes->text, bytes->length, "trained on nothing", 18));
    params_destroy(to);
    params_destroy(from);
}

static void every_cut_is_refused(void **state)
{
    const struct str *bytes = *state;

    for (size_t count = 0; count < bytes->length; count++)
        refused(bytes, count, ERR_FORMAT, count < 8 ? "not a weights" : "cut short");
}

static void every_altered_byte_is_refused(void **state)
{
    struct str *bytes = *state;

    for (size_t i = 0; i < bytes->length; i++) {
        struct params *params = net(2, 4);

        bytes->text[i] = (char)(bytes->text[i] ^ 0x10);
        assert_int_equal(weights_decode(params, bytes->text, bytes->length, NULL), -1);
        bytes->text[i] = (char)(bytes->text[i] ^ 0x10);
        params_destroy(params);
    }
    bytes->text[60] = (char)(bytes->text[60] ^ 1);
    refused(bytes, bytes->length, ERR_FORMAT, "altered");
}

static void other_versions_are_refused(void **state)
{
    struct str *bytes = *state;

    bytes->text[8] = 2;
    reseal(bytes);
    refused(bytes, bytes->length, ERR_UNSUPPORTED, "version 2");
}

static void foreign_files_and_tails_are_refused(void **state)
{
    struct str *bytes = *state;
    struct str other = {0};

    str_add(&other, "#!/bin/sh\necho a script, and long enough to be a header\n");
    refused(&other, other.length, ERR_FORMAT, "not a weights file");
    str_add(bytes, "tail");
    refused(bytes, bytes->length, ERR_FORMAT, "4 foreign bytes");
    str_fini(&other);
}

static void other_networks_are_refused(void **state)
{
    struct params *wide = net(1, 5), *one = params_create();
    struct str bytes = {0};

    (void)state;
    assert_int_equal(weights_encode(wide, "", &bytes, NULL), 0);
    refused(&bytes, bytes.length, ERR_FORMAT, "3 by 5, expected 3 by 4");
    params_add(one, "net.0.weight", 3, 4);
    assert_int_equal(weights_encode(one, "", &bytes, NULL), 0);
    refused(&bytes, bytes.length, ERR_FORMAT, "1 matrices, expected 4");
    strcpy(wide->items[0].name, "foreign");
    assert_int_equal(weights_encode(wide, "", &bytes, NULL), 0);
    refused(&bytes, bytes.length, ERR_FORMAT, "no foreign here");
    str_fini(&bytes);
    params_destroy(one);
    params_destroy(wide);
}

static void absurd_lengths_are_refused_before_memory_is_asked_for(void **state)
{
    struct str *bytes = *state;

    memset(bytes->text + 20, 0xff, 4); /* the text's length */
    reseal(bytes);
    refused(bytes, bytes->length, ERR_LIMIT, "over");
    memset(bytes->text + 12, 0x7f, 8); /* the size of the whole */
    reseal(bytes);
    refused(bytes, bytes->length, ERR_LIMIT, "over");
}

static void doubled_matrix_is_refused(void **state)
{
    struct params *twice = net(1, 4);
    struct str bytes = {0};

    (void)state;
    strcpy(twice->items[3].name, "net.1.bias");
    strcpy(twice->items[1].name, "net.1.bias");
    twice->items[1].cols = 2;
    assert_int_equal(weights_encode(twice, "", &bytes, NULL), 0);
    refused(&bytes, bytes.length, ERR_FORMAT, "twice");
    str_fini(&bytes);
    params_destroy(twice);
}

static void numbers_that_are_not_finite_are_neither_written_nor_read(void **state)
{
    struct str *bytes = *state;
    struct params *params = net(1, 4);
    struct err err = {0};

    params->value[5] = (nn_real)NAN;
    assert_int_equal(weights_encode(params, "", bytes, &err), -1);
    assert_int_equal(err.code, ERR_INVALID);
    memset(bytes->text + bytes->length - 8, 0xff, 4); /* the last number */
    reseal(bytes);
    refused(bytes, bytes->length, ERR_FORMAT, "not finite");
    params_destroy(params);
}

#define with_file(test) cmocka_unit_test_setup_teardown(test, encoded, freed)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksum_is_the_usual_crc32),
        with_file(round_trip_keeps_every_number),
        with_file(every_cut_is_refused),
        with_file(every_altered_byte_is_refused),
        with_file(other_versions_are_refused),
        with_file(foreign_files_and_tails_are_refused),
        cmocka_unit_test(other_networks_are_refused),
        with_file(absurd_lengths_are_refused_before_memory_is_asked_for),
        cmocka_unit_test(doubled_matrix_is_refused),
        with_file(numbers_that_are_not_finite_are_neither_written_nor_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
