/* loop_week.c - over a simulated week first estimates get better from day to day */
#include "lab/sim/sweep.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { DAYS = 7, SEEDS = 4 };
#define DAY_S 86400.0

struct day {
    double errors, sights;
};

static void add_run(const struct sim_recording *recording, struct day days[DAYS])
{
    vec_each (const struct recording_sight, s, &recording->sights) {
        int day = (int)(s->at_s / DAY_S);

        if (day >= DAYS)
            continue;
        days[day].errors += s->abs_log_error * s->count;
        days[day].sights += s->count;
    }
}

static void first_estimates_get_better_by_the_day(void **state)
{
    struct sweep_options o = {.scenario = {.workload = "demo", .days = DAYS, .seed = 21},
                              .sim = sim_default_options(),
                              .loads = {0.5},
                              .load_count = 1,
                              .seeds = SEEDS,
                              .record = true};
    struct day days[DAYS] = {{0, 0}};
    struct sweep sweep = {0};
    struct err err = {0};

    (void)state;
    assert_int_equal(policy_parse_list("corgi", o.policies, &o.policy_count, &err), 0);
    assert_int_equal(sweep_run(&sweep, &o, NULL, NULL, &err), 0);
    for (int i = 0; i < SEEDS; i++)
        add_run(sweep.rows[0].runs[i].recording, days);
    sweep_fini(&sweep);
    for (int d = 0; d < DAYS; d++) {
        assert_true(days[d].sights > 100);
        days[d].errors /= days[d].sights;
        print_message("day %d: %.3f\n", d + 1, days[d].errors);
    }
    /* It falls while there is much to learn; then days differ by chance. */
    assert_true(days[1].errors < days[0].errors && days[2].errors < days[1].errors);
    for (int d = 3; d < DAYS; d++)
        assert_true(days[d].errors < fmin(days[1].errors, 0.65 * days[0].errors));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_estimates_get_better_by_the_day),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
