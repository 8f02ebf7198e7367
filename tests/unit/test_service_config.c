/* test_service_config.c - the daemon's config: quotas and parts of the cluster that name
 * users, accounts, QOS and partitions */
#include "service/service_config.h"

#include "fixture/text_file.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define SLURM "engine: slurm\n"

static struct service_config config;

static void load(const char *text)
{
    struct err err = {0};

    if (service_config_load(&config, text_file("c.yaml", text), &err) < 0)
        fail_msg("%s", err.text);
}

/* The sentence holds these words. */
static void refuses(const char *text, const char *words)
{
    struct err err = {0};

    assert_int_equal(service_config_load(&config, text_file("c.yaml", text), &err), -1);
    if (!strstr(err.text, words))
        fail_msg("'%s' does not say '%s'", err.text, words);
    assert_int_equal(err.code, ERR_INVALID);
}

static void quotas_are_known_by_their_keys(void **state)
{
    struct user_quota *quotas;

    (void)state;
    load(SLURM "quotas:\n"
               "  - {account: physics, max_gpus: 8}\n"
               "  - {qos: low, max_running: 0}\n"
               "  - {partition: gpu, max_jobs: 100}\n"
               "  - {user: ada, max_jobs: 3}\n");
    quotas = service_config_quotas(&config);
    assert_string_equal(quotas[0].user, "account:physics");
    assert_true(quotas[0].max_gpus == 8 && quotas[0].max_jobs == -1 &&
                quotas[0].configured);
    assert_string_equal(quotas[1].user, "qos:low");
    assert_int_equal(quotas[1].max_running, 0);
    assert_string_equal(quotas[2].user, "partition:gpu");
    assert_string_equal(quotas[3].user, "ada");
    free(quotas);
    service_config_fini(&config);
}

static void mistakes_in_quotas_are_told_with_their_line(void **state)
{
    (void)state;
    refuses(SLURM "quotas:\n  - {max_jobs: 3}\n", "c.yaml:3: quotas: say whose it is");
    refuses(SLURM "quotas:\n  - {user: ada, account: physics, max_jobs: 3}\n",
            "an entry names one of user, account, qos, partition");
    refuses(SLURM "quotas:\n  - {account: physics}\n",
            "it limits nothing: say max_jobs, max_running or max_gpus");
    refuses(SLURM "quotas:\n  - {qos: low, max_jobs: 3}\n  - {qos: low, max_gpus: 3}\n",
            "c.yaml:4: quotas: the qos low has an entry already, in line 3");
    refuses(SLURM "quotas:\n  - {partition: 'a,b', max_jobs: 3}\n",
            "'a,b' is no name of a partition");
    refuses(SLURM "quotas:\n  - {acount: physics, max_jobs: 3}\n", "acount");
    refuses(SLURM "quotas:\n  - {account: physics, max_jobs: -2}\n", "max_jobs");
    refuses("quotas:\n  - {account: physics, max_jobs: 3}\n",
            "only Slurm says the account of a job, and engine is sim");
    load("quotas:\n  - {user: ada, max_jobs: 3}\n");
    service_config_fini(&config);
}

static void mistakes_in_shares_are_told_with_their_line(void **state)
{
    (void)state;
    refuses(SLURM "shares:\n  - {qos: low, partition: gpu}\n",
            "c.yaml:3: shares: an entry names one of");
    refuses(SLURM "shares:\n  - {qos: low, users: [ada]}\n", "users go with an account");
    refuses(SLURM "shares:\n  - {account: a}\n  - {account: a, weight: 3}\n",
            "the account a has an entry already");
    refuses("engine: local\nshares:\n  - {partition: gpu}\n",
            "only Slurm says the partition of a job, and engine is local");
    /* As before there were accounts of jobs. */
    load("shares:\n  - {account: my lab, users: [ada]}\n"
         "  - {account: my lab, users: [bob]}\n  - {weight: 2, users: [ada]}\n");
    service_config_fini(&config);
}

static struct job_groups groups(const char *account, const char *qos,
                                const char *partition)
{
    struct job_groups g = {0};

    str_copy(g.names[JOB_GROUP_ACCOUNT], LOOP_NAME_SIZE, account);
    str_copy(g.names[JOB_GROUP_QOS], LOOP_NAME_SIZE, qos);
    str_copy(g.names[JOB_GROUP_PARTITION], LOOP_NAME_SIZE, partition);
    return g;
}

static const char *label_of(const char *account, const char *qos, const char *partition)
{
    static char label[LOOP_NAME_SIZE];
    struct job_groups g = groups(account, qos, partition);

    return service_config_label(&config, &g, label) ? label : "";
}

static void a_job_has_the_first_part_that_names_what_it_belongs_to(void **state)
{
    struct fair_share_rule rule;

    (void)state;
    load(SLURM "shares:\n"
               "  - {qos: urgent, weight: 5}\n"
               "  - {account: physics, weight: 3, users: [ada]}\n"
               "  - {account: chem}\n"
               "  - {partition: gpu, weight: 2}\n"
               "  - {weight: 4, users: [bob]}\n");
    assert_string_equal(label_of("physics", "urgent", "gpu"), "qos:urgent");
    assert_string_equal(label_of("physics", "normal", "gpu"), "physics");
    assert_string_equal(label_of("law", "normal", "gpu,ml"), "partition:gpu");
    assert_string_equal(label_of("law", "normal", "ml,gpu"), "");
    assert_string_equal(label_of("", "", ""), "");
    rule = service_config_share_apart(&config, 7, "bob", "physics");
    assert_true(rule.apart && rule.owner == 7);
    assert_string_equal(rule.account, "physics");
    assert_true(fabs(rule.account_weight - 3) < 1e-9 && fabs(rule.weight - 4) < 1e-9);
    assert_null(service_config_share_apart(&config, 7, "bob", "law").account);
    rule = service_config_share(&config, 7, "ada");
    assert_false(rule.apart);
    assert_string_equal(rule.account, "physics");
    service_config_fini(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotas_are_known_by_their_keys),
        cmocka_unit_test(mistakes_in_quotas_are_told_with_their_line),
        cmocka_unit_test(mistakes_in_shares_are_told_with_their_line),
        cmocka_unit_test(a_job_has_the_first_part_that_names_what_it_belongs_to),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
