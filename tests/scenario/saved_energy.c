/* saved_energy.c - the saving that is told lies within its interval of what a replay of
 * the same requests under the reference policy uses more; the whole of it is
 * bench/saved_energy.sh */
#include "lab/sim/sweep.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define SEEDS 4

static void what_is_told_as_saved_was_saved(void **state)
{
    struct sweep_options o = {.scenario = {.workload = "demo", .days = 1, .seed = 201},
                              .sim = sim_default_options(),
                              .loads = {0.8},
                              .load_count = 1,
                              .seeds = SEEDS};
    struct sweep sweep = {0};
    struct err err = {0};
    int within = 0;

    (void)state;
    assert_int_equal(
        policy_parse_list("corgi,fastest", o.policies, &o.policy_count, &err), 0);
    if (sweep_run(&sweep, &o, NULL, NULL, &err) < 0)
        fail_msg("%s", err.text);
    for (int s = 0; s < SEEDS; s++) {
        const struct sim_result *corgi = &sweep.rows[0].runs[s];
        const struct sim_result *usual = &sweep.rows[1].runs[s];
        double really = usual->energy.device_j - corgi->energy.device_j;

        print_message("saved %.1f ±%.1f kWh, really %.1f\n", corgi->saved_j / 3.6e6,
                      corgi->saved_error_j / 3.6e6, really / 3.6e6);
        within += fabs(corgi->saved_j - really) <= corgi->saved_error_j;
        /* An interval that holds everything says nothing. */
        assert_true(corgi->saved_error_j < corgi->energy.device_j);
        assert_true(corgi->saved_error_j > 0);
        /* Under the reference policy itself nothing is saved. */
        assert_true(fabs(usual->saved_j) < 0.1 * usual->energy.device_j);
    }
    assert_true(within >= SEEDS - 1);
    sweep_fini(&sweep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_told_as_saved_was_saved)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
