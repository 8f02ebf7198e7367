/* test_slurm_check.c - what `corgi slurm check` finds in Slurm's settings */
#include "support/test.h"

#include "engine/slurm/slurm_check.h"

#include <string.h>

/* What is found of the setting; NULL: nothing is said of it. */
static const struct slurm_finding *found(const slurm_findings *findings,
                                         const char *setting)
{
    vec_each (const struct slurm_finding, f, findings)
        if (strcmp(f->setting, setting) == 0)
            return f;
    return NULL;
}

static slurm_findings check(const char *conf)
{
    slurm_findings findings = {0};
    struct json_doc *doc;

    assert_int_equal(json_doc_parse(&doc, conf, strlen(conf), "conf", NULL), 0);
    slurm_check_conf(json_doc_root(doc), &findings);
    json_doc_destroy(doc);
    return findings;
}

static void says(const char *conf, const char *setting, enum slurm_verdict verdict,
                 const char *words)
{
    slurm_findings findings = check(conf);
    const struct slurm_finding *f = found(&findings, setting);

    assert_non_null(f);
    assert_int_equal(f->verdict, verdict);
    if (!strstr(f->why, words))
        fail_msg("'%s' does not say '%s'", f->why, words);
    vec_free(&findings);
}

static void which_book_of_ends_there_is_and_what_follows_without_is_told(void **state)
{
    const char *both = "{\"JobCompType\":\"jobcomp/filetxt\","
                       "\"AccountingStorageType\":\"accounting_storage/slurmdbd\"}";
    const char *file = "{\"JobCompType\":\"jobcomp/filetxt\"}";
    const char *slurmdbd = "{\"JobCompType\":\"jobcomp/none\","
                           "\"AccountingStorageType\":\"accounting_storage/slurmdbd\"}";
    const char *neither = "{\"JobCompType\":\"jobcomp/elasticsearch\","
                          "\"AccountingStorageType\":\"accounting_storage/none\"}";

    (void)state;
    says(both, "JobCompType", SLURM_FINE, "where the helper can read its file");
    says(both, "AccountingStorageType", SLURM_FINE, "while slurmdbd answers");
    says(file, "JobCompType", SLURM_FINE, "where the helper can read its file");
    says(file, "AccountingStorageType", SLURM_NOTE, "jobcomp/filetxt alone");
    says(slurmdbd, "JobCompType", SLURM_NOTE, "slurmdbd alone");
    says(slurmdbd, "AccountingStorageType", SLURM_FINE, "while slurmdbd answers");
    says(neither, "JobCompType", SLURM_CONTROL, "ends as unknown and is not run again");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(which_book_of_ends_there_is_and_what_follows_without_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
