/* test_goals.c - goals on hand-made sweeps: met, missed, unclear, not measured */
#include "lab/sim/goals.h"

#include "lab/sim/run_result.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/sim.h"

#define SEEDS    2
#define MAX_ROWS 16

static struct sweep_row rows[MAX_ROWS];
static struct sim_result runs[MAX_ROWS][SEEDS];
static struct sweep sweep;
static struct sweep_options options;

static int set_up(void **state)
{
    (void)state;
    memset(runs, 0, sizeof(runs));
    sweep = (struct sweep){.rows = rows};
    options = (struct sweep_options){.sim = sim_default_options(), .seeds = SEEDS};
    options.scenario.workload = "demo";
    return 0;
}

/* The second seed asks for half as much again, and moves the figure by `spread`. */
static struct sim_result *add(const char *policy, double load, double kwh, double spread,
                              double sla)
{
    size_t i = sweep.row_count++;

    assert_true(i < MAX_ROWS);
    rows[i] = (struct sweep_row){.policy = policy_find(policy),
                                 .load = load,
                                 .sleep = true,
                                 .seeds = SEEDS,
                                 .runs = runs[i]};
    assert_non_null(rows[i].policy);
    for (int s = 0; s < SEEDS; s++) {
        runs[i][s].energy.total_j =
            3.6e6 * kwh * (1 + 0.5 * s) * (1 + (s ? spread : -spread));
        runs[i][s].energy.allocated_s = runs[i][s].energy.powered_s = 3600;
        runs[i][s].useful_h = 1;
        runs[i][s].sla_time = runs[i][s].sla_jobs = sla;
    }
    return runs[i];
}

static const struct goals_line *line_of(const struct goals *goals, const char *name,
                                        const char *opponent)
{
    for (size_t g = 0; g < goals->count; g++) {
        const struct goals_goal *goal = goals->lines[g].goal;

        if (!strcmp(goal->name, name) &&
            (!opponent || (goal->opponent && !strcmp(goal->opponent, opponent))))
            return &goals->lines[g];
    }
    fail_msg("there is no goal '%s'", name);
    return NULL;
}

static void assert_verdict(const char *name, const char *opponent, const char *verdict)
{
    struct goals goals;

    goals_init(&goals, &sweep, &options);
    assert_string_equal(goals_verdict(line_of(&goals, name, opponent)), verdict);
    goals_fini(&goals);
}

static void energy_is_judged_against_the_same_seeds(void **state)
{
    struct goals goals;
    const struct goals_line *line;

    (void)state;
    add("corgi", 0.5, 79, 0, 1);
    add("least-energy-caps", 0.5, 100, 0, 1);
    goals_init(&goals, &sweep, &options);
    line = line_of(&goals, "energy", "least-energy-caps");
    assert_int_equal(line->count, 1);
    assert_near(line->worst->measured.mean, -21, 1e-9);
    assert_near(line->worst->measured.half_width, 0, 1e-9);
    assert_int_equal(line->worst->met, GOALS_MUST);
    assert_true(line->worst->clear);
    goals_fini(&goals);
    assert_verdict("energy", "least-energy-caps", "must");
}

static void a_mean_whose_interval_does_not_reach_is_unclear(void **state)
{
    (void)state;
    add("corgi", 0.5, 73, 0.02, 1);
    add("least-energy-caps", 0.5, 100, 0, 1);
    assert_verdict("energy", "least-energy-caps", "target, unclear");
    for (size_t i = 0; i < sweep.row_count; i++)
        rows[i].seeds = 1; /* no interval at all */
    assert_verdict("energy", "least-energy-caps", "target, unclear");
}

static void the_worst_load_decides(void **state)
{
    struct goals goals;
    const struct goals_line *line;

    (void)state;
    add("corgi", 0.3, 70, 0, 1);
    add("least-energy-caps", 0.3, 100, 0, 1);
    add("corgi", 0.7, 90, 0, 1);
    add("least-energy-caps", 0.7, 100, 0, 1);
    add("corgi", 0.9, 99, 0, 1); /* that goal is not set for 90 % */
    add("least-energy-caps", 0.9, 100, 0, 1);
    goals_init(&goals, &sweep, &options);
    line = line_of(&goals, "energy", "least-energy-caps");
    assert_int_equal(line->count, 2);
    assert_int_equal(line->at[0].met, GOALS_TARGET);
    assert_near(line->worst->load, 0.7, 0);
    assert_int_equal(line->worst->met, GOALS_NO);
    goals_fini(&goals);
}

static void energy_saved_by_broken_promises_is_a_miss(void **state)
{
    struct sim_result *corgi = add("corgi", 0.5, 50, 0, 0.996);
    struct sim_result *other = add("least-energy-caps", 0.5, 100, 0, 1);

    (void)state;
    assert_verdict("energy", "least-energy-caps", "target");
    corgi[0].sla_jobs = corgi[1].sla_jobs = 0.989;
    assert_verdict("energy", "least-energy-caps", "no: breaks promises");
    corgi[0].sla_jobs = corgi[1].sla_jobs = 1;
    corgi[0].service_time = corgi[1].service_time = 0.998;
    other[0].service_time = other[1].service_time = 0.9995;
    assert_verdict("energy", "least-energy-caps", "no: breaks promises");
}

static void a_miss_stays_the_worst_beside_a_larger_saving(void **state)
{
    struct goals goals;

    (void)state;
    add("corgi", 0.3, 50, 0, 0.9); /* saves more, and breaks promises */
    add("least-energy-caps", 0.3, 100, 0, 1);
    add("corgi", 0.5, 78, 0, 1);
    add("least-energy-caps", 0.5, 100, 0, 1);
    goals_init(&goals, &sweep, &options);
    assert_near(line_of(&goals, "energy", NULL)->worst->load, 0.3, 0);
    goals_fini(&goals);
}

static void rows_without_sleep_are_not_the_goal_s(void **state)
{
    (void)state;
    add("corgi", 0.5, 50, 0, 1);
    add("least-energy-caps", 0.5, 100, 0, 1);
    rows[0].sleep = rows[1].sleep = false;
    assert_verdict("energy", "least-energy-caps", "not measured");
    rows[0].sleep = rows[1].sleep = true;
    assert_verdict("energy", "least-energy-caps", "target");
}

static void what_no_row_can_tell_is_not_measured(void **state)
{
    struct goals goals;

    (void)state;
    add("corgi", 0.5, 50, 0, 1);
    goals_init(&goals, &sweep, &options);
    assert_false(goals_compare(&goals)); /* its own figures alone */
    assert_int_equal(goals.count, 13);
    goals_fini(&goals);
    assert_verdict("energy", NULL, "not measured");
    assert_verdict("promises by job-time", NULL, "target");
    add("least-energy-caps", 0.5, 100, 0, 1);
    goals_init(&goals, &sweep, &options);
    assert_true(goals_compare(&goals));
    goals_fini(&goals);
}

static void more_is_better_where_it_is(void **state)
{
    struct sim_result *corgi;

    (void)state;
    corgi = add("corgi", 0.9, 50, 0, 0.9905);
    add("least-energy-caps", 0.9, 100, 0, 1);
    add("feedback-only", 0.9, 51, 0, 0.95);
    assert_verdict("promises by job-time", NULL, "no");
    assert_verdict("promises by jobs", NULL, "must");
    assert_verdict("efficiency, allocated", NULL, "no");
    assert_verdict("networks: promises by jobs", NULL, "must");
    assert_verdict("networks: energy", NULL, "must");
    for (int s = 0; s < SEEDS; s++) {
        corgi[s].useful_h = 1.3;
        corgi[s].moves_per_job = 3;
    }
    assert_verdict("efficiency, allocated", NULL, "must");
    assert_verdict("efficiency, powered", NULL, "no");
    assert_verdict("moves", NULL, "no");
}

static void a_figure_that_is_none_is_a_miss(void **state)
{
    struct sim_result *corgi;

    (void)state;
    corgi = add("corgi", 0.5, 50, 0, 1);
    add("least-energy-caps", 0.5, 100, 0, 1);
    corgi[0].energy.allocated_s = 0;
    assert_verdict("efficiency, allocated", NULL, "no");
}

static void a_trace_counts_where_a_goal_is_for_all_loads(void **state)
{
    (void)state;
    add("corgi", NAN, 80, 0, 1);
    add("least-energy-caps", NAN, 100, 0, 1);
    add("gavel-energy-packed", NAN, 100, 0, 1);
    assert_verdict("energy", "least-energy-caps", "not measured");
    assert_verdict("energy", "gavel-energy-packed", "target");
}

static void only_the_protocol_is_the_protocol(void **state)
{
    struct goals goals;

    (void)state;
    options.scenario.workload = "standard";
    options.seeds = 8;
    goals_init(&goals, &sweep, &options);
    assert_true(goals.by_protocol);
    goals_fini(&goals);
    options.scenario.days = 1;
    goals_init(&goals, &sweep, &options);
    assert_false(goals.by_protocol);
    goals_fini(&goals);
}

/* What `corgi sim --json` prints of it. */
static void json_has_paired_differences_and_goals(void **state)
{
    struct str text = {0};

    (void)state;
    add("corgi", 0.5, 50, 0, 1);
    add("least-energy-caps", 0.5, 100, 0, 1);
    result_json(&sweep, &options, false, &text);
    assert_non_null(
        strstr(str_text(&text), "\"energy_against_least_energy_caps_percent\": -50,"));
    assert_non_null(
        strstr(str_text(&text), "\"energy_against_least_energy_caps_percent\": 0,"));
    assert_non_null(
        strstr(str_text(&text), "\"energy_against_gavel_cost_packed_percent\": null,"));
    assert_non_null(strstr(str_text(&text), "\"goals_by_protocol\": false"));
    assert_non_null(strstr(str_text(&text), "\"met\": \"no\""));
    assert_non_null(strstr(str_text(&text), "\"met\": null"));
    str_fini(&text);
}

#define with_sweep(test) cmocka_unit_test_setup(test, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_sweep(energy_is_judged_against_the_same_seeds),
        with_sweep(a_mean_whose_interval_does_not_reach_is_unclear),
        with_sweep(the_worst_load_decides),
        with_sweep(energy_saved_by_broken_promises_is_a_miss),
        with_sweep(a_miss_stays_the_worst_beside_a_larger_saving),
        with_sweep(rows_without_sleep_are_not_the_goal_s),
        with_sweep(what_no_row_can_tell_is_not_measured),
        with_sweep(more_is_better_where_it_is),
        with_sweep(a_figure_that_is_none_is_a_miss),
        with_sweep(a_trace_counts_where_a_goal_is_for_all_loads),
        with_sweep(only_the_protocol_is_the_protocol),
        with_sweep(json_has_paired_differences_and_goals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
