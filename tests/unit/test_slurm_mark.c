/* test_slurm_mark.c - our words in a comment that others write too */
#include "support/test.h"

#include "engine/slurm/slurm_mark.h"

#define DIGEST "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define ASKED  "{\"need\":{\"kind\":\"rate\",\"rate\":40},\"name\":\"a } \\\" b\"}"

static void with_attempt(const char *comment, int attempt, const char *wanted)
{
    struct str out = {0};

    slurm_mark_attempt(comment, attempt, &out);
    assert_string_equal(str_text(&out), wanted);
    str_fini(&out);
}

static void stripped(const char *comment, const char *wanted)
{
    struct str out = {0};

    slurm_mark_strip(comment, &out);
    assert_string_equal(str_text(&out), wanted);
    str_fini(&out);
}

static void test_digest(void **state)
{
    char digest[SLURM_DIGEST_SIZE];

    (void)state;
    assert_true(slurm_mark_digest("corgi1:" DIGEST ":{}", digest));
    assert_string_equal(digest, DIGEST);
    assert_true(slurm_mark_digest("theirs corgi1:" DIGEST ".12:{}", digest));
    assert_string_equal(digest, DIGEST);
    assert_false(slurm_mark_digest(NULL, digest));
    assert_false(slurm_mark_digest("JS1:H4sIAAAA", digest));
    assert_false(slurm_mark_digest("corgi1:0011:{}", digest));
    assert_false(slurm_mark_digest("corgi1:" DIGEST, digest));
    assert_false(slurm_mark_digest("corgi1:" DIGEST "00:{}", digest));
}

static void test_attempt(void **state)
{
    (void)state;
    with_attempt("corgi1:" DIGEST ":" ASKED, 1, "corgi1:" DIGEST ".1:" ASKED);
    with_attempt("theirs corgi1:" DIGEST ".1:" ASKED, 12,
                 "theirs corgi1:" DIGEST ".12:" ASKED);
    assert_string_equal(slurm_mark_request("theirs corgi1:" DIGEST ".1:" ASKED), ASKED);
    with_attempt("theirs", 2, "theirs");
}

static void test_strip(void **state)
{
    (void)state;
    stripped("corgi1:" DIGEST ".3:" ASKED, "");
    stripped("theirs corgi1:" DIGEST ".3:" ASKED, "theirs");
    stripped("theirs corgi1:" DIGEST ".3:" ASKED " more", "theirs more");
    stripped("corgi1:" DIGEST ":{} more", "more");
    stripped("corgi1:" DIGEST ":{\"cut", "");
    stripped("theirs", "theirs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digest),
        cmocka_unit_test(test_attempt),
        cmocka_unit_test(test_strip),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
