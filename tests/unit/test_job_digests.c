/* test_job_digests.c - which job a token of Slurm's plugin speaks for */
#include "service/job_digests.h"

#include "service/job_records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>

#define TOKEN  "0123456789abcdef0123456789abcdef0123456789abcdef"
#define DIGEST "d6a45a9a9b8fba8f66d0f2db03d1e09fa1ec0ee5a6f8c9e9a3d0e6e7e0d5a2c1"

static void digest_of(const char *hex, unsigned char digest[AUTH_DIGEST_BYTES])
{
    for (int i = 0; i < AUTH_DIGEST_BYTES; i++) {
        unsigned byte;

        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        digest[i] = (unsigned char)byte;
    }
}

static void elements_of_an_array_are_told_apart_by_name(void **state)
{
    struct job_digests *d = job_digests_create();
    unsigned char digest[AUTH_DIGEST_BYTES], other[AUTH_DIGEST_BYTES];

    (void)state;
    digest_of(DIGEST, digest);
    digest_of(DIGEST, other);
    other[31] ^= 1;
    assert_false(job_digests_known(d, digest));
    job_digests_put(d, DIGEST ":{}", "25_1@100+0", 7); /* not 64 digits alone */
    assert_false(job_digests_known(d, digest));
    job_digests_put(d, DIGEST, "25_1@100+0", 7);
    job_digests_put(d, DIGEST, "25_2#0123456789abcdef", 8);
    assert_true(job_digests_known(d, digest));
    assert_false(job_digests_known(d, other));
    assert_int_equal(job_digests_job(d, digest, "25_1"), 7);
    assert_int_equal(job_digests_job(d, digest, "25_2"), 8);
    assert_int_equal(job_digests_job(d, digest, "25_3"), 0);
    assert_int_equal(job_digests_job(d, digest, "25"), 0);
    assert_int_equal(job_digests_job(d, other, "25_1"), 0);
    job_digests_put(d, DIGEST, "25_1@200+1", 9); /* queued again, or known anew */
    assert_int_equal(job_digests_job(d, digest, "25_1"), 9);
    job_digests_destroy(d);
}

static void jobs_that_ended_are_known_for_a_day(void **state)
{
    struct job_digests *d = job_digests_create();
    struct records *records = records_create();
    unsigned char digest[AUTH_DIGEST_BYTES];

    (void)state;
    digest_of(DIGEST, digest);
    job_digests_put(d, DIGEST, "25@100+0", 7);
    job_digests_tidy(d, records, 1000);
    job_digests_tidy(d, records, 1000 + JOB_DIGESTS_KEEP_S - 1);
    assert_int_equal(job_digests_job(d, digest, "25"), 7);
    job_digests_tidy(d, records, 1000 + JOB_DIGESTS_KEEP_S);
    assert_int_equal(job_digests_job(d, digest, "25"), 0);
    assert_false(job_digests_known(d, digest));
    records_destroy(records);
    job_digests_destroy(d);
}

static bool knows_one(void *ctx, const unsigned char digest[AUTH_DIGEST_BYTES])
{
    return job_digests_known(ctx, digest);
}

static void whoever_shows_the_token_is_a_reporter_without_a_job(void **state)
{
    struct job_digests *d = job_digests_create();
    const struct auth_rules rules = {.knows_digest = knows_one, .ctx = d}, none = {0};
    struct auth_identity who;

    (void)state;
    /* printf %s TOKEN | sha256sum */
    job_digests_put(d, "34c26e154bab5ff544f29f8747a691d0fedd3b8a51655f27d0f585b1b2753970",
                    "25@1+0", 7);
    assert_true(auth_bearer(&rules, "Bearer " TOKEN, 1, &who));
    assert_int_equal(who.role, AUTH_REPORTER);
    assert_int_equal(who.job, 0);
    assert_int_equal(job_digests_job(d, who.digest, "25"), 7);
    assert_false(auth_bearer(&rules, "Bearer " TOKEN "0", 1, &who));
    assert_int_equal(who.role, AUTH_NOBODY);
    assert_false(auth_bearer(&rules, "Bearer f" TOKEN, 1, &who));
    assert_false(auth_bearer(&none, "Bearer " TOKEN, 1, &who));
    job_digests_destroy(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_of_an_array_are_told_apart_by_name),
        cmocka_unit_test(jobs_that_ended_are_known_for_a_day),
        cmocka_unit_test(whoever_shows_the_token_is_a_reporter_without_a_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
