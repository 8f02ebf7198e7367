/* test_submit_rules.c - what becomes of jobs that are handed in to Slurm */
#include "support/test.h"

#include "base/mem.h"
#include "base/str.h"
#include "job_submit_corgi/submit_rules.h"

#include <stdlib.h>
#include <string.h>

#define DIGEST "00112233"

static struct submit_settings settings;
static struct submit_verdict verdict;

static int tear_down(void **state)
{
    (void)state;
    submit_verdict_fini(&verdict);
    return 0;
}

static void set(const char *text)
{
    struct err err = {0};

    if (submit_settings_parse(&settings, text, strlen(text), "conf", &err) < 0)
        fail_msg("%s", err.text);
}

static enum submit_fate decide(struct submitted_job job)
{
    job.digest = DIGEST;
    submit_verdict_fini(&verdict);
    verdict = submit_decide(&settings, &job);
    return verdict.fate;
}

static enum submit_fate script(const char *text)
{
    return decide((struct submitted_job){.partition = "gpu", .script = text});
}

CASE(other_partitions_pass_untouched)
{
    set("Partitions=gpu, ml\n");
    assert_int_equal(decide((struct submitted_job){
                         .partition = "cpu", .script = "#!/bin/sh\n#CORGI --wrong\n"}),
                     SUBMIT_PASS);
    assert_null(verdict.message);
    assert_null(verdict.admin_comment);
    assert_int_equal(decide((struct submitted_job){.partition = "gp"}), SUBMIT_PASS);
    assert_int_equal(decide((struct submitted_job){0}), SUBMIT_PASS);
    set("Partitions=gpu\nDefault=yes\n");
    assert_int_equal(decide((struct submitted_job){0}), SUBMIT_TAKE);
    set("");
    assert_int_equal(decide((struct submitted_job){.partition = "gpu"}), SUBMIT_PASS);
}

CASE(of_partitions_that_are_not_all_ours_none_is_taken)
{
    set("Partitions=gpu,ml\n");
    assert_int_equal(decide((struct submitted_job){.partition = "ml,gpu"}), SUBMIT_TAKE);
    assert_int_equal(decide((struct submitted_job){.partition = "gpu,cpu"}),
                     SUBMIT_REFUSE);
    assert_non_null(strstr(verdict.message, "(gpu,ml)"));
}

CASE(what_is_asked_for_is_noted_behind_foreign_words)
{
    set("Partitions=gpu\n");
    assert_int_equal(
        script(
            "#!/bin/bash\n#SBATCH -n1\n#CORGI --min-rate 40\n#CORGI --family \"a b\"\nx"),
        SUBMIT_TAKE);
    assert_true(verdict.hold);
    assert_string_equal(verdict.admin_comment,
                        "corgi1:" DIGEST ":{\"kind\":\"training\",\"descriptor\":"
                        "{\"family\":\"a b\"},\"need\":{\"kind\":\"rate\",\"rate\":40}}");
    assert_int_equal(decide((struct submitted_job){.partition = "gpu",
                                                   .comment = "corgi: --min-rate 3",
                                                   .admin_comment = "theirs"}),
                     SUBMIT_TAKE);
    assert_true(str_starts(verdict.admin_comment, "theirs corgi1:" DIGEST ":{"));
    assert_non_null(strstr(verdict.admin_comment, "\"rate\":3"));
}

CASE(the_header_counts_before_the_comment)
{
    set("Partitions=gpu\n");
    assert_int_equal(decide((struct submitted_job){.partition = "gpu",
                                                   .script = "#!/bin/sh\n#CORGI -r 2\n",
                                                   .comment = "corgi: -r 3"}),
                     SUBMIT_TAKE);
    assert_non_null(strstr(verdict.admin_comment, "\"rate\":2"));
    /* behind the first command a line is no header any more */
    assert_int_equal(
        decide((struct submitted_job){.partition = "gpu",
                                      .script = "#!/bin/sh\nx\n#CORGI -r 2\n",
                                      .comment = "corgi: -r 3"}),
        SUBMIT_TAKE);
    assert_non_null(strstr(verdict.admin_comment, "\"rate\":3"));
    assert_int_equal(
        decide((struct submitted_job){.partition = "gpu", .comment = "corgis are dogs"}),
        SUBMIT_TAKE);
    assert_non_null(strstr(verdict.admin_comment, "best_effort"));
}

CASE(with_sharing_plain_gpus_are_noted_and_taken_off)
{
    static const struct {
        const char *gres;
        int nodes;
        const char *noted; /* NULL: it stays as it is */
    } cases[] = {{"gres:gpu:2", 0, "\"gpus\":2"},
                 {"gres:gpu", 1, "\"gpus\":1"},
                 {"gres:gpu:2", 3, "\"gpus\":6"},
                 {"gres:shard:1", 1, "\"gpus\":1"},
                 {"gres:gpu:v100:1", 1, NULL},
                 {"gres:shard:2", 1, NULL},
                 {"gres:gpu:1,craynetwork:1", 1, NULL},
                 {"gres:gpu:0", 1, NULL},
                 {"gres:gpu:65", 1, NULL},
                 {NULL, 1, NULL}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int sharing = 0; sharing < 2; sharing++) {
            const char *noted = sharing ? cases[i].noted : NULL;

            set(sharing ? "Partitions=gpu\nSharing=yes\n" : "Partitions=gpu\n");
            assert_int_equal(decide((struct submitted_job){.partition = "gpu",
                                                           .gres = cases[i].gres,
                                                           .nodes = cases[i].nodes}),
                             SUBMIT_TAKE);
            assert_int_equal(verdict.drop_gres, noted != NULL);
            if (noted)
                assert_non_null(strstr(verdict.admin_comment, noted));
            else
                assert_null(strstr(verdict.admin_comment, "gpus"));
        }
    set("Partitions=gpu\nSharing=yes\nHold=no\n"); /* nobody would give them back */
    decide((struct submitted_job){.partition = "gpu", .gres = "gres:gpu:1"});
    assert_false(verdict.drop_gres);
}

CASE(a_wrong_line_is_refused_with_line_and_reason)
{
    static const struct {
        const char *script, *says;
    } cases[] = {
        {"#!/bin/sh\n\n#CORGI --min-rate forty\n", "script line 3: option --min-rate"},
        {"#!/bin/sh\n#CORGI --min-rat 4\n", "--min-rate"},
        {"#!/bin/sh\n#CORGI train.py\n", "'train.py' is not an option"},
        {"#!/bin/sh\n#CORGI --help\n", "--help has no place"},
        {"#!/bin/sh\n#CORGI --name 'x\n", "script line 2: a quote is not closed"},
        {"#!/bin/sh\n#CORGI --min-rate 1 --requests 2\n", "a job has one need"},
        {"#!/bin/sh\n#CORGI --output x\n", "--output has no place in a job that Slurm"},
        {"#!/bin/sh\n#CORGI --gpus 2\n", "--gpus has no place"},
        {"#!/bin/sh\n#CORGI --export ALL\n", "--export has no place"},
        {"#!/bin/sh\n#CORGI --socket x\n", "--socket"},
        {"#!/bin/sh\n#CORGI --name \x1b[2J\n", "no text"},
        {"#!/bin/sh\n#CORGI --name \xff\n", "no text"},
    };

    set("Partitions=gpu\n");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(script(cases[i].script), SUBMIT_REFUSE);
        if (!strstr(verdict.message, cases[i].says))
            fail_msg("'%s' does not say '%s'", verdict.message, cases[i].says);
        for (const char *at = verdict.message; *at; at++)
            assert_true((unsigned char)*at >= ' ' && *at != 0x7f);
    }
    assert_int_equal(decide((struct submitted_job){.partition = "gpu",
                                                   .comment = "corgi: -r 1\n-r 2"}),
                     SUBMIT_REFUSE);
}

CASE(control_characters_in_a_comment_are_refused_and_never_shown)
{
    static const char *const comments[] = {
        "corgi: --name \x1b[2J", "corgi: --name a\x01z", "corgi: \x07",
        "corgi: --min-rate \x7f\x1b]0;x", "corgi: --name \xff"};

    set("Partitions=gpu\n");
    for (size_t i = 0; i < sizeof(comments) / sizeof(comments[0]); i++) {
        assert_int_equal(
            decide((struct submitted_job){.partition = "gpu", .comment = comments[i]}),
            SUBMIT_REFUSE);
        for (const char *at = verdict.message; *at; at++)
            assert_true((unsigned char)*at >= ' ' && *at != 0x7f);
    }
    /* what is not for us is not ours to judge */
    assert_int_equal(
        decide((struct submitted_job){.partition = "gpu", .comment = "a\x1b[2J"}),
        SUBMIT_TAKE);
    assert_null(strchr(verdict.admin_comment, 0x1b));
}

CASE(a_header_of_a_megabyte_is_refused)
{
    struct str text = {0};

    set("Partitions=gpu\n");
    str_add(&text, "#!/bin/sh\n");
    while (text.length < 1 << 20)
        str_add(&text, "#CORGI --min-rate 4\n");
    assert_int_equal(script(text.text), SUBMIT_REFUSE);
    assert_non_null(strstr(verdict.message, "too many"));
    str_clear(&text);
    str_add(&text, "#!/bin/sh\n#CORGI --name ");
    while (text.length < 1 << 20)
        str_add(&text, "xxxxxxxxxxxxxxxx");
    assert_int_equal(script(text.text),
                     SUBMIT_TAKE); /* a name is cut, as by corgi submit */
    assert_true(strlen(verdict.admin_comment) <= SUBMIT_MAX_COMMENT);
    str_clear(&text);
    str_add(&text, "#!/bin/sh\n#CORGI --family ");
    while (text.length < 1 << 12)
        str_add(&text, "xxxxxxxxxxxxxxxx");
    assert_int_equal(script(text.text), SUBMIT_REFUSE);
    assert_non_null(strstr(verdict.message, "too long to be noted"));
    str_clear(&text);
    while (text.length < (size_t)5 << 20)
        str_add(&text, "# a comment that goes on and on\n");
    assert_int_equal(script(text.text), SUBMIT_REFUSE);
    assert_non_null(strstr(verdict.message, "more than 4 MB"));
    str_fini(&text);
}

CASE(scripts_run_under_the_probe_where_nodes_have_it)
{
    char longer[300] = "#!/";

    set("Partitions=gpu\nHold=no\nProbe=/usr/bin/corgi-probe\n");
    assert_int_equal(script("#! /bin/bash -l\necho\n"), SUBMIT_TAKE);
    assert_false(verdict.hold);
    assert_null(verdict.message);
    assert_string_equal(
        verdict.script,
        "#!/usr/bin/env -S /usr/bin/corgi-probe --whole -- /bin/bash -l\necho\n");
    memset(longer + 3, 'x', 240);
    assert_int_equal(script(longer), SUBMIT_TAKE);
    assert_null(verdict.script); /* the kernel would cut the line */
    assert_int_equal(script("no script"), SUBMIT_TAKE);
    assert_null(verdict.script);
    assert_int_equal(script(""), SUBMIT_TAKE); /* nothing behind its end is read */
    assert_null(verdict.script);
    set("Partitions=gpu\n");
    assert_int_equal(script("#!/bin/bash\n"), SUBMIT_TAKE);
    assert_null(verdict.script);
}

CASE(settings_say_what_is_wrong_and_where)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"Partitions=a\nhold=perhaps\n", "conf line 2: Hold is yes or no, not 'perhaps'"},
        {"\n# x\nPartition=a\n", "conf line 3: there is no setting 'Partition'"},
        {"Partitions\n", "conf line 1: 'Partitions' is not KEY=VALUE"},
        {"Probe=corgi-probe\n", "the whole path"},
        {"Partitions=\x01\n", "not printed"},
    };
    struct submit_settings before;
    struct err err = {0};

    set(" partitions = a , b # both\nDEFAULT=Yes\nHold=no\nProbe=/p");
    assert_string_equal(settings.partitions, "a,b");
    assert_true(settings.takes_default && !settings.hold);
    assert_string_equal(settings.probe, "/p");
    before = settings;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(submit_settings_parse(&settings, cases[i].text,
                                               strlen(cases[i].text), "conf", &err),
                         -1);
        if (!strstr(err.text, cases[i].says))
            fail_msg("'%s' does not say '%s'", err.text, cases[i].says);
        assert_memory_equal(&settings, &before, sizeof(before));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(other_partitions_pass_untouched, tear_down),
        cmocka_unit_test_teardown(of_partitions_that_are_not_all_ours_none_is_taken,
                                  tear_down),
        cmocka_unit_test_teardown(what_is_asked_for_is_noted_behind_foreign_words,
                                  tear_down),
        cmocka_unit_test_teardown(the_header_counts_before_the_comment, tear_down),
        cmocka_unit_test_teardown(a_wrong_line_is_refused_with_line_and_reason,
                                  tear_down),
        cmocka_unit_test_teardown(
            control_characters_in_a_comment_are_refused_and_never_shown, tear_down),
        cmocka_unit_test_teardown(a_header_of_a_megabyte_is_refused, tear_down),
        cmocka_unit_test_teardown(scripts_run_under_the_probe_where_nodes_have_it,
                                  tear_down),
        cmocka_unit_test_teardown(with_sharing_plain_gpus_are_noted_and_taken_off,
                                  tear_down),
        cmocka_unit_test(settings_say_what_is_wrong_and_where),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
