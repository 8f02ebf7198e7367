/* test_report.c - the report of hand-made sweeps: verdicts, hostile names, little data */
#include "lab/report/report_page.h"

#include "lab/report/facts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/sim.h"

#define SEEDS    3
#define MAX_ROWS 8
#define JOBS     10

static const struct policy corgi = {.name = "corgi", .summary = "ours"};
static const struct policy noshare = {.name = "corgi-noshare", .summary = "ours, less"};
static const struct policy oracle = {.name = "oracle", .summary = "true"};
static const struct policy cheap = {.name = "cheap", .summary = "saves, breaks promises"};
static const struct policy good = {.name = "good", .summary = "keeps promises"};
static const struct policy evil = {.name = "</th><script>x</script>",
                                   .summary = "\"><b>"};

static struct sweep_row rows[MAX_ROWS];
static struct sim_result runs[MAX_ROWS][SEEDS];
static struct sim_job_result job_results[MAX_ROWS][SEEDS][JOBS];
static struct sweep sweep;
static struct sweep_options options;

static int set_up(void **state)
{
    (void)state;
    memset(runs, 0, sizeof(runs));
    sweep = (struct sweep){.rows = rows};
    options = (struct sweep_options){.sim = sim_default_options(), .seeds = SEEDS};
    options.scenario.workload = "demo";
    options.scenario.seed = 5;
    return 0;
}

/* Energy in kWh moves a little from seed to seed, for all rows alike. */
static void add_row(const struct policy *policy, double load, double kwh, double sla)
{
    size_t i = sweep.row_count++;

    assert_true(i < MAX_ROWS);
    rows[i] = (struct sweep_row){
        .policy = policy, .load = load, .seeds = SEEDS, .runs = runs[i]};
    for (int s = 0; s < SEEDS; s++) {
        double j =
            3.6e6 * kwh * (1 + 0.2 * s) * (1 + 0.001 * (double)((i + (size_t)s) % 3));

        for (size_t k = 0; k < JOBS; k++)
            job_results[i][s][k] = (struct sim_job_result){.wait_s = 360,
                                                           .counted_s = 7200,
                                                           .end_s = 7560,
                                                           .joules = 3.6e6,
                                                           .asked_s = 7200,
                                                           .devices = 1};
        runs[i][s] = (struct sim_result){.jobs = JOBS,
                                         .job_results = job_results[i][s],
                                         .finished = JOBS,
                                         .end_s = 86400,
                                         .work_h = 5,
                                         .useful_h = 4,
                                         .sla_time = sla,
                                         .sla_jobs = sla};
        runs[i][s].energy = (struct meter_totals){.device_j = 0.6 * j,
                                                  .host_j = 0.2 * j,
                                                  .idle_j = 0.15 * j,
                                                  .asleep_j = 0.05 * j,
                                                  .wake_j = 0.05 * j,
                                                  .total_j = j,
                                                  .allocated_s = 1e5,
                                                  .powered_s = 2e5};
    }
}

/* The caller frees. */
static char *page(void)
{
    struct str out = {0};

    report_page(&out, &(struct report_input){
                          .sweep = &sweep, .options = &options, .command = "corgi sim"});
    return str_take(&out);
}

static void assert_says(const char *words)
{
    char *text = page();

    if (!strstr(text, words))
        fail_msg("the page does not say '%s'", words);
    free(text);
}

static enum facts_verdict verdict(void)
{
    struct facts facts;
    enum facts_verdict v;

    facts_init(&facts, &sweep);
    v = facts.loads[0].verdict;
    facts_fini(&facts);
    return v;
}

static void a_saving_is_against_the_best_that_keeps_promises(void **state)
{
    struct facts facts;

    (void)state;
    add_row(&corgi, 0.5, 80, 0.995);
    add_row(&cheap, 0.5, 60, 0.7);
    add_row(&good, 0.5, 100, 0.999);
    add_row(&oracle, 0.5, 70, 1);
    facts_init(&facts, &sweep);
    assert_int_equal(facts.load_count, 1);
    assert_int_equal(facts.loads[0].reference, 2);
    assert_int_equal(facts.loads[0].verdict, FACTS_SAVES);
    assert_near(facts.loads[0].lines[0].against.mean, -20, 0.3);
    assert_true(facts.loads[0].lines[0].against.half_width < 1); /* paired */
    assert_true(facts.loads[0].lines[1].on_front && !facts.loads[0].lines[3].on_front);
    facts_fini(&facts);
    assert_says("<h1>Corgi saves 20.0 % energy against the strongest opponent");
}

/* Of ten requests two are services, three short ones, two on several GPUs. */
static void who_gains_and_who_loses_is_told_by_kind(void **state)
{
    (void)state;
    add_row(&corgi, 0.5, 80, 0.999);
    add_row(&good, 0.5, 100, 0.999);
    for (size_t i = 0; i < 2; i++)
        for (int s = 0; s < SEEDS; s++)
            for (size_t j = 0; j < 7; j++) {
                struct sim_job_result *job = &job_results[i][s][j];
                bool ours = i == 0;

                if (j < 2) {
                    job->service = true;
                    job->violated_s = ours ? 72 : 720;
                } else if (j < 5) {
                    job->asked_s = 600;
                    job->wait_s = ours ? 0 : 3600;
                    job->end_s = ours ? 900 : 4500;
                } else {
                    job->devices = 4;
                    job->end_s = ours ? 15120 : 7560;
                    job->joules = ours ? 1.8e6 : 3.6e6;
                }
            }
    assert_says("50 % load, against good</th>");
    assert_says("<tr><th scope=\"row\">services</th><td>2</td><td>4.0</td><td>0.10</td>"
                "<td>0.10</td><td>–</td><td>0.0 ±0.0</td><td>10.00</td><td>1.00</td><td "
                "class=\"text saves\">gains</td></tr>");
    assert_says("<tr><th scope=\"row\">training of up to an hour</th><td>3</td><td>0.8</"
                "td><td>1.00</td><td>0.00</td><td>+80.0 ±0.0</td><td>0.0 ±0.0</td>"
                "<td>0.00</td><td>0.00</td><td class=\"text saves\">gains</td></tr>");
    assert_says("<tr><th scope=\"row\">training on several GPUs</th><td>2</td>"
                "<td>16.0</td><td>0.10</td><td>0.10</td><td>−100.0 ±0.0</td><td>+50.0 "
                "±0.0</td><td>0.00</td><td>0.00</td><td class=\"text costs\">loses</td>");
    assert_says("<tr><th scope=\"row\">longer training</th><td>3</td><td>6.0</td>");
}

static void losing_is_said_plainly(void **state)
{
    (void)state;
    add_row(&corgi, 0.5, 110, 0.999);
    add_row(&good, 0.5, 100, 0.999);
    assert_int_equal(verdict(), FACTS_COSTS);
    assert_says("<h1>Corgi uses 10.");
}

static void broken_promises_are_no_saving(void **state)
{
    (void)state;
    add_row(&corgi, 0.5, 50, 0.9);
    add_row(&good, 0.5, 100, 0.999);
    assert_int_equal(verdict(), FACTS_BREAKS);
    assert_says("breaks more promises than the strongest opponent");
}

static void a_small_difference_is_unclear(void **state)
{
    (void)state;
    add_row(&corgi, 0.5, 100, 0.999);
    add_row(&good, 0.5, 100, 0.999);
    assert_int_equal(verdict(), FACTS_UNCLEAR);
    assert_says("No clear difference");
}

static void without_an_equal_nothing_is_claimed(void **state)
{
    (void)state;
    add_row(&corgi, 0.5, 100, 0.999);
    add_row(&cheap, 0.5, 50, 0.5);
    assert_int_equal(verdict(), FACTS_NO_PEER);
    assert_says("there is no equal to compare");
}

static void being_better_in_both_is_said(void **state)
{
    (void)state;
    add_row(&corgi, 0.5, 50, 0.999);
    add_row(&cheap, 0.5, 100, 0.5);
    assert_int_equal(verdict(), FACTS_BETTER);
    assert_says(
        " % less energy than the opponent that keeps promises best, and keeps more of "
        "them.</h1>");
}

/* Job-time and jobs may differ: then neither is better, and the headline says nothing. */
static void a_headline_never_says_what_the_table_denies(void **state)
{
    char *text;

    (void)state;
    add_row(&corgi, 0.5, 50, 0.97);
    add_row(&cheap, 0.5, 100, 0.98);
    for (int s = 0; s < rows[1].seeds; s++)
        runs[1][s].sla_jobs = 0.5;
    assert_int_equal(verdict(), FACTS_NO_PEER);
    text = page();
    assert_null(strstr(text, "keeps more of them"));
    free(text);
}

static void goals_are_for_the_run_they_are_set_for(void **state)
{
    char *text;

    (void)state;
    add_row(&corgi, 0.5, 80, 0.999);
    add_row(&good, 0.5, 100, 0.999);
    text = page();
    assert_null(strstr(text, "#goals"));
    free(text);
    options.scenario.workload = "standard";
    options.seeds = 8;
    assert_says("<section id=\"goals\">");
}

static void a_year_is_told_at_a_price(void **state)
{
    struct str out = {0};

    (void)state;
    add_row(&corgi, 0.5, 80, 0.999);
    add_row(&good, 0.5, 100, 0.999);
    for (int i = 0; i < 2; i++)
        for (int s = 0; s < rows[i].seeds; s++)
            runs[i][s].end_s = 365.25 * 86400;
    report_page(&out,
                &(struct report_input){
                    .sweep = &sweep, .options = &options, .price = 0.5, .co2_g = 1e5});
    assert_non_null(strstr(str_text(&out), " kWh less, 1"));
    assert_non_null(strstr(str_text(&out), " at 0.5 a kWh, 2."));
    assert_non_null(strstr(str_text(&out), " t of CO2 at 100000 g a kWh."));
    str_fini(&out);
}

static void loads_with_different_ends_are_counted(void **state)
{
    (void)state;
    add_row(&corgi, 0.3, 80, 0.999);
    add_row(&good, 0.3, 100, 0.999);
    add_row(&corgi, 0.9, 120, 0.999);
    add_row(&good, 0.9, 100, 0.999);
    assert_says("at 1 of 2 loads; uses ");
    assert_says("90 % load");
}

static void a_load_without_sleep_stands_for_itself(void **state)
{
    struct facts facts;

    (void)state;
    add_row(&corgi, 0.5, 80, 0.999);
    add_row(&good, 0.5, 100, 0.999);
    add_row(&corgi, 0.5, 120, 0.999);
    add_row(&good, 0.5, 150, 0.999);
    rows[0].sleep = rows[1].sleep = true;
    facts_init(&facts, &sweep);
    assert_int_equal(facts.load_count, 2);
    assert_string_equal(facts.loads[0].label, "50 % load");
    assert_string_equal(facts.loads[1].label, "50 % load, no sleep");
    assert_int_equal(facts.loads[1].reference, 1);
    facts_fini(&facts);
    assert_says("at all 2 settings");
}

static void little_data_still_makes_a_page(void **state)
{
    (void)state;
    assert_says("Nothing was simulated");
    add_row(&good, NAN, 10, 1);
    assert_int_equal(verdict(), FACTS_NO_CORGI);
    assert_says("Corgi was not among the policies");
    rows[0].policy = &corgi;
    rows[0].seeds = 1;
    assert_int_equal(verdict(), FACTS_NO_OPPONENT);
    assert_says("There is no conventional policy");
    assert_says("One seed gives no interval");
    runs[0][0] = (struct sim_result){.wait_p95_s = NAN}; /* no job, no energy, no time */
    assert_says("</html>");
}

static void ingredients_are_compared_with_corgi(void **state)
{
    (void)state;
    add_row(&corgi, 0.5, 80, 0.999);
    add_row(&good, 0.5, 100, 0.999);
    assert_says("No row leaves a part of Corgi out");
    add_row(&noshare, 0.5, 88, 0.999);
    assert_says("without sharing a GPU");
    assert_says("+10.");
}

static struct sim_recording *hostile_recording(void)
{
    struct world *world = fixture_world();
    struct cluster *cluster = fixture_cluster(world, 1, 1, 2);
    struct sim_recording *r = recording_create(cluster, true);
    struct job job = {.id = 1, .kind = JOB_INFERENCE};
    const struct action action = {
        .kind = ACTION_START, .device_count = 2, .devices = {0, 1}};
    size_t seat;

    snprintf(job.name, sizeof(job.name), "</svg><img src=x onerror=alert(1)>\xFF\x01");
    seat = recording_seat(r, &job, &action, RECORDING_MOVED, 100, 200);
    recording_node(r, 1, NODE_ASLEEP, 300);
    recording_leave(r, seat, 4000);
    recording_sight(r, 500, 0.4);
    recording_end(r, 86400);
    cluster_destroy(cluster);
    world_destroy(world);
    return r;
}

static void hostile_names_stay_text(void **state)
{
    char *text;

    (void)state;
    add_row(&corgi, 0.5, 80, 0.999);
    add_row(&evil, 0.5, 100, 0.999);
    runs[0][0].recording = hostile_recording();
    options.scenario.trace = "<img src=y>.csv";
    text = page();
    assert_null(strstr(text, "<script"));
    assert_null(strstr(text, "<img"));
    assert_null(strstr(text, "\"><b>"));
    assert_null(strchr(text, '\xFF'));
    assert_null(strchr(text, '\x01'));
    assert_non_null(strstr(text, "&lt;/svg&gt;&lt;img src=x"));
    assert_non_null(strstr(text, "&lt;script&gt;"));
    free(text);
    recording_destroy(runs[0][0].recording);
}

static void the_same_sweep_gives_the_same_bytes_without_timings(void **state)
{
    char *a, *b;

    (void)state;
    add_row(&corgi, 0.5, 80, 0.999);
    add_row(&good, 0.5, 100, 0.999);
    a = page();
    runs[0][1].decision_p99_ms = 42;
    b = page();
    assert_string_equal(a, b);
    free(a);
    free(b);
}

static void recording_changes_no_result(void **state)
{
    struct world *world = fixture_world();
    struct cluster *cluster = fixture_cluster(world, 2, 2, 2);
    struct workload *w = fixture_workload();
    struct sim_options o = sim_default_options();
    struct sim_result plain, recorded;

    (void)state;
    for (int i = 0; i < 30; i++)
        fixture_training(w, world, i % 2 ? FIXTURE_LIGHT : FIXTURE_HEAVY, 400.0 * i,
                         3000);
    fixture_service(w, world, 13000, 7200, 0.5);
    o.node_mtbf_s = 20000;
    plain = fixture_run("corgi", &o, world, w, cluster);
    o.record_sights = o.record_places = true;
    recorded = fixture_run("corgi", &o, world, w, cluster);
    assert_null(plain.recording);
    assert_true(plain.energy.total_j == recorded.energy.total_j);
    assert_true(plain.end_s == recorded.end_s && plain.rounds == recorded.rounds);
    assert_memory_equal(plain.job_results, recorded.job_results,
                        plain.jobs * sizeof(*plain.job_results));
    assert_true(recorded.recording->spans.count >= 31);
    assert_true(recorded.recording->sights.count > 0);
    vec_each (struct recording_span, span, &recorded.recording->spans) {
        assert_true(span->from_s <= span->ready_s && span->ready_s <= span->to_s);
        assert_true(span->to_s <= recorded.end_s);
    }
    sim_result_fini(&plain);
    sim_result_fini(&recorded);
    workload_destroy(w);
    cluster_destroy(cluster);
    world_destroy(world);
}

static void recordings_stay_within_bounds(void **state)
{
    struct world *world = fixture_world();
    struct cluster *cluster = fixture_cluster(world, 1, 0, 1);
    struct sim_recording *r = recording_create(cluster, true);
    const struct job job = {.id = 1, .name = "j"};
    const struct action action = {.kind = ACTION_START, .device_count = 1};
    double sum = 0;

    (void)state;
    for (int i = 0; i < RECORDING_MAX_SPANS + 10; i++)
        recording_leave(r, recording_seat(r, &job, &action, RECORDING_STARTED, i, i),
                        i + 1);
    for (int i = 0; i < 10 * RECORDING_MAX_SIGHTS + 7; i++)
        recording_sight(r, i, i);
    recording_end(r, 1e6);
    assert_int_equal(r->spans.count, RECORDING_MAX_SPANS);
    assert_true(r->end_s == RECORDING_MAX_SPANS);
    assert_true(r->sights.count <= RECORDING_MAX_SIGHTS);
    vec_each (struct recording_sight, sight, &r->sights)
        sum += sight->count * sight->abs_log_error;
    assert_near(
        sum / ((10 * RECORDING_MAX_SIGHTS + 7) * (10.0 * RECORDING_MAX_SIGHTS + 6) / 2),
        1, 1e-9);
    recording_destroy(r);
    recording_destroy(NULL);
    cluster_destroy(cluster);
    world_destroy(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_saving_is_against_the_best_that_keeps_promises, set_up),
        cmocka_unit_test_setup(who_gains_and_who_loses_is_told_by_kind, set_up),
        cmocka_unit_test_setup(losing_is_said_plainly, set_up),
        cmocka_unit_test_setup(broken_promises_are_no_saving, set_up),
        cmocka_unit_test_setup(a_small_difference_is_unclear, set_up),
        cmocka_unit_test_setup(without_an_equal_nothing_is_claimed, set_up),
        cmocka_unit_test_setup(being_better_in_both_is_said, set_up),
        cmocka_unit_test_setup(a_headline_never_says_what_the_table_denies, set_up),
        cmocka_unit_test_setup(goals_are_for_the_run_they_are_set_for, set_up),
        cmocka_unit_test_setup(a_year_is_told_at_a_price, set_up),
        cmocka_unit_test_setup(loads_with_different_ends_are_counted, set_up),
        cmocka_unit_test_setup(a_load_without_sleep_stands_for_itself, set_up),
        cmocka_unit_test_setup(little_data_still_makes_a_page, set_up),
        cmocka_unit_test_setup(ingredients_are_compared_with_corgi, set_up),
        cmocka_unit_test_setup(hostile_names_stay_text, set_up),
        cmocka_unit_test_setup(the_same_sweep_gives_the_same_bytes_without_timings,
                               set_up),
        cmocka_unit_test(recording_changes_no_result),
        cmocka_unit_test(recordings_stay_within_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
