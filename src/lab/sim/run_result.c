/* run_result.c - see run_result.h */
#include "lab/sim/run_result.h"

#include "base/file.h"
#include "base/json_out.h"
#include "lab/sim/goals.h"
#include "lab/sim/run_measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Keys in the order of the file.  The first two groups are the fixed contract. */
static const struct {
    const char *key;
    measure *value;
    bool interval; /* also KEY_ci */
    bool timing;
} keys[] = {
    {"energy_kwh", measure_energy_kwh, true, false},
    {"sla_time", measure_sla_time, true, false},
    {"sla_jobs", measure_sla_jobs, true, false},
    {"sla_jobs_5", measure_sla_jobs_5, false, false},
    {"sla_jobs_01", measure_sla_jobs_01, false, false},
    {"wait_p50_s", measure_wait_p50, false, false},
    {"wait_p95_s", measure_wait_p95, false, false},
    {"moves_per_job", measure_moves_per_job, false, false},
    {"service_time", measure_service_time, true, false},
    {"moves_per_service", measure_service_moves, false, false},
    {"efficiency_allocated", measure_efficiency_allocated, false, false},
    {"efficiency_powered", measure_efficiency_powered, false, false},
    {"decision_ms_p50", measure_decision_p50, false, true},
    {"decision_ms_p99", measure_decision_p99, false, true},
    {"bound_kwh", measure_bound_kwh, false, false},
    {"above_bound_percent", measure_above_bound, false, false},
    {"device_kwh", measure_device_kwh, false, false},
    {"host_kwh", measure_host_kwh, false, false},
    {"idle_kwh", measure_idle_kwh, false, false},
    {"asleep_kwh", measure_asleep_kwh, false, false},
    {"wake_kwh", measure_wake_kwh, false, false},
    {"peak_watts", measure_peak_watts, false, false},
    {"saved_kwh", measure_saved_kwh, false, false},
    {"saved_kwh_error", measure_saved_error_kwh, false, false},
    {"wh_per_reference_gpu_hour", measure_wh_per_work, false, false},
    {"work_reference_gpu_hours", measure_work_h, false, false},
    {"first_estimate_error_percent", measure_estimate_error, false, false},
    {"estimate_coverage90", measure_estimate_coverage, false, false},
    {"misplaced_longest_s", measure_misplaced_longest, false, false},
    {"misplaced_jobs", measure_misplaced_jobs, false, false},
    {"trials", measure_trials, false, false},
    {"trials_better_share", measure_trials_better, false, false},
    {"trials_spent_kwh", measure_learning_spent_kwh, false, false},
    {"trials_earned_kwh", measure_learning_earned_kwh, false, false},
    {"quoted_place_share", measure_quoted_places, false, false},
    {"quoted_rate_error_percent", measure_quoted_rate_error, false, false},
    {"quoted_rate_coverage90", measure_quoted_coverage, false, false},
    {"quoted_rate_kept50", measure_quoted_kept50, false, false},
    {"quoted_rate_kept80", measure_quoted_kept80, false, false},
    {"quoted_rate_kept95", measure_quoted_kept95, false, false},
    {"quoted_energy_error_percent", measure_quoted_energy_error, false, false},
    {"quoted_start_error_share", measure_quoted_start_error, false, false},
    {"quoted_start_good_share", measure_quoted_start_good, false, false},
    {"quoted_start_told_share", measure_quoted_start_told, false, false},
    {"end_s", measure_end_s, false, false},
};

static void count_jobs(const struct sweep_row *row, struct sim_result *sum)
{
    *sum = (struct sim_result){0};
    for (int s = 0; s < row->seeds; s++) {
        sum->jobs += row->runs[s].jobs;
        sum->finished += row->runs[s].finished;
        sum->running += row->runs[s].running;
        sum->waiting += row->runs[s].waiting;
        sum->refused += row->runs[s].refused;
        sum->failed += row->runs[s].failed;
        sum->restarts += row->runs[s].restarts;
        sum->rounds += row->runs[s].rounds;
    }
}

static void json_quarter(struct json_out *out, const struct sweep *sweep, size_t i,
                         int part)
{
    struct quarter q = sweep_quarter(&sweep->rows[i], part);

    json_out_begin_object(out);
    json_out_key_number(out, "seconds", q.seconds);
    json_out_key_number(out, "energy_kwh", q.energy_j / 3.6e6);
    json_out_key_number(out, "work", q.work_h);
    json_out_key_number(out, "wh_per_unit", quarter_wh_per_work(&q));
    json_out_key_number(out, "wh_per_unit_to_oracle_percent",
                        sweep_quarter_to_oracle(sweep, i, part));
    json_out_key_number(out, "sla_time", quarter_sla_time(&q));
    json_out_key_number(out, "moves", q.moves);
    json_out_key_number(out, "first_estimates", q.sights);
    json_out_key_number(out, "first_estimate_error_percent", quarter_error_percent(&q));
    json_out_end(out);
}

static void json_quarters(struct json_out *out, const struct sweep *sweep, size_t i)
{
    json_out_key(out, "quarters");
    json_out_begin_array(out);
    for (int q = 0; q < QUARTERS; q++)
        json_quarter(out, sweep, i, q);
    json_out_end(out);
    json_out_key(out, "after_last_arrival");
    json_quarter(out, sweep, i, QUARTERS_AFTER);
}

/* Energy above that of the opponents the goals name, on the same seeds. */
static void json_against(struct json_out *out, const struct sweep *sweep, size_t i)
{
    static const char *const opponents[][3] = {
        {"least-energy", "energy_against_least_energy_percent",
         "energy_against_least_energy_percent_ci"},
        {"least-energy-caps", "energy_against_least_energy_caps_percent",
         "energy_against_least_energy_caps_percent_ci"},
        {"gavel-cost-packed", "energy_against_gavel_cost_packed_percent",
         "energy_against_gavel_cost_packed_percent_ci"},
        {"gavel-energy-packed", "energy_against_gavel_energy_packed_percent",
         "energy_against_gavel_energy_packed_percent_ci"},
    };

    for (size_t k = 0; k < sizeof(opponents) / sizeof(opponents[0]); k++) {
        const struct sweep_row *base = sweep_peer(sweep, i, opponents[k][0]);
        struct sweep_mean m = {NAN, NAN};

        if (base)
            m = sweep_paired(&sweep->rows[i], base, measure_energy_kwh, true);
        json_out_key_number(out, opponents[k][1], m.mean);
        json_out_key_number(out, opponents[k][2], m.half_width);
    }
}

static void json_row(struct json_out *out, const struct sweep *sweep, size_t i,
                     bool timings)
{
    const struct sweep_row *row = &sweep->rows[i];
    struct sim_result sum;

    count_jobs(row, &sum);
    json_out_begin_object(out);
    json_out_key_string(out, "policy", row->policy->name);
    json_out_key_number(out, "load", row->load);
    json_out_key_bool(out, "sleep", row->sleep);
    json_out_key_int(out, "seeds", row->seeds);
    for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
        struct sweep_mean m = sweep_mean(row, keys[k].value);
        char with_ci[64];

        json_out_key_number(out, keys[k].key, keys[k].timing && !timings ? NAN : m.mean);
        if (!keys[k].interval)
            continue;
        snprintf(with_ci, sizeof(with_ci), "%s_ci", keys[k].key);
        json_out_key_number(out, with_ci, m.half_width);
    }
    json_out_key_int(out, "jobs", (int64_t)sum.jobs);
    json_out_key_int(out, "finished", (int64_t)sum.finished);
    json_out_key_int(out, "running", (int64_t)sum.running);
    json_out_key_int(out, "waiting", (int64_t)sum.waiting);
    json_out_key_int(out, "rejected", (int64_t)sum.refused);
    json_out_key_int(out, "failed", (int64_t)sum.failed);
    json_out_key_int(out, "restarts", sum.restarts);
    json_out_key_int(out, "rounds", sum.rounds);
    json_against(out, sweep, i);
    json_quarters(out, sweep, i);
    json_out_end(out);
}

/* What was assumed of an operator's own jobs, a sentence a line. */
static void json_notes(struct json_out *out, const struct scenario_options *o)
{
    struct str all = {0};
    const char *notes = slurm_notes(o->slurm, o->cluster != NULL, &all);

    json_out_key(out, "notes");
    json_out_begin_array(out);
    while (*notes) {
        size_t length = strcspn(notes, "\n");
        struct str line = {0};

        str_add_bytes(&line, notes, length);
        json_out_string(out, str_text(&line));
        str_fini(&line);
        notes += length + (notes[length] == '\n');
    }
    str_fini(&all);
    json_out_end(out);
}

static const char *workload_name(const struct scenario_options *o)
{
    return o->slurm ? "slurm" : o->trace ? "trace" : o->workload;
}

void result_json(const struct sweep *sweep, const struct sweep_options *o, bool timings,
                 struct str *text)
{
    struct json_out out;
    struct goals goals;

    json_out_init(&out, text, true);
    json_out_begin_object(&out);
    json_out_key_string(&out, "workload", workload_name(&o->scenario));
    json_out_key(&out, "seed");
    json_out_u64(&out, o->scenario.seed);
    json_out_key_string(&out, "rates",
                        o->scenario.throughputs ? "measured" : "synthetic");
    json_out_key_string(&out, "power", "modelled");
    if (o->scenario.slurm)
        json_notes(&out, &o->scenario);
    json_out_key(&out, "rows");
    json_out_begin_array(&out);
    for (size_t i = 0; i < sweep->row_count; i++)
        json_row(&out, sweep, i, timings);
    json_out_end(&out);
    goals_init(&goals, sweep, o);
    json_out_key_bool(&out, "goals_by_protocol", goals.by_protocol);
    json_out_key(&out, "goals");
    goals_json(&goals, &out);
    goals_fini(&goals);
    json_out_end(&out);
}

/* Of one load: the least energy among rows that keep the promise about as well as any. */
static size_t best_row(const struct sweep *sweep, double load, bool sleep)
{
    double best_sla = 0, best_kwh = INFINITY;
    size_t best = sweep->row_count;

    for (size_t i = 0; i < sweep->row_count; i++)
        if ((sweep->rows[i].load == load || isnan(load)) && sweep->rows[i].sleep == sleep)
            best_sla = fmax(best_sla, sweep_mean(&sweep->rows[i], measure_sla_time).mean);
    for (size_t i = 0; i < sweep->row_count; i++) {
        const struct sweep_row *row = &sweep->rows[i];
        double kwh = sweep_mean(row, measure_energy_kwh).mean;

        if ((row->load != load && !isnan(load)) || row->sleep != sleep ||
            row->policy->model == SIM_MODEL_ORACLE ||
            sweep_mean(row, measure_sla_time).mean < best_sla - 0.005 || kwh >= best_kwh)
            continue;
        best_kwh = kwh;
        best = i;
    }
    return best;
}

static void cell_with_interval(struct table *t, struct sweep_mean m, double scale)
{
    if (isnan(m.half_width))
        table_cellf(t, "%.1f", m.mean * scale);
    else
        table_cellf(t, "%.1f ±%.1f", m.mean * scale, m.half_width * scale);
}

static void table_line(struct table *t, const struct sweep_row *row, bool best)
{
    struct sim_result sum;

    count_jobs(row, &sum);
    table_row(t);
    table_cell(t, row->policy->name);
    if (best)
        table_mark(t, TABLE_GOOD);
    if (isnan(row->load))
        table_cell(t, "-");
    else
        table_cellf(t, "%.0f%%", 100 * row->load);
    table_cell(t, row->sleep ? "on" : "off");
    cell_with_interval(t, sweep_mean(row, measure_energy_kwh), 1);
    if (best)
        table_mark(t, TABLE_GOOD);
    table_cellf(t, "%.0f", sweep_mean(row, measure_wh_per_work).mean);
    table_cellf(t, "%.2f", 100 * sweep_mean(row, measure_sla_time).mean);
    table_cellf(t, "%.1f/%.1f/%.1f", 100 * sweep_mean(row, measure_sla_jobs_5).mean,
                100 * sweep_mean(row, measure_sla_jobs).mean,
                100 * sweep_mean(row, measure_sla_jobs_01).mean);
    table_cellf(t, "%.1f", sweep_mean(row, measure_wait_p95).mean / 60);
    table_cellf(t, "%.3f", sweep_mean(row, measure_efficiency_allocated).mean);
    table_cellf(t, "%.3f", sweep_mean(row, measure_efficiency_powered).mean);
    table_cellf(t, "%.2f", sweep_mean(row, measure_moves_per_job).mean);
    table_cellf(t, "%zu/%zu", sum.finished, sum.jobs);
}

struct table *result_table(const struct sweep *sweep)
{
    struct table *t = table_create("policy|>load|>sleep|>energy kWh|>Wh/work|>SLA time%|"
                                   ">kept 5/1/.1%|>wait95 min|>eff alloc|>eff power|"
                                   ">moves/job|>finished");

    for (size_t i = 0; i < sweep->row_count; i++)
        table_line(t, &sweep->rows[i],
                   best_row(sweep, sweep->rows[i].load, sweep->rows[i].sleep) == i);
    return t;
}

struct table *result_jobs(const struct sweep *sweep)
{
    static const char *const ends[] = {"finished", "running", "waiting", "rejected",
                                       "failed"};
    struct table *t = table_create("policy|>load|>seed|>job|>end|>wait_s|>counted_s|"
                                   ">violated_s|>moves|>restarts");

    for (size_t i = 0; i < sweep->row_count; i++) {
        const struct sweep_row *row = &sweep->rows[i];

        for (int s = 0; s < row->seeds; s++) {
            for (size_t j = 0; j < row->runs[s].jobs; j++) {
                const struct sim_job_result *r = &row->runs[s].job_results[j];

                table_row(t);
                table_cell(t, row->policy->name);
                table_cellf(t, "%g", row->load);
                table_cellf(t, "%d", s);
                table_cellf(t, "%zu", j + 1);
                table_cell(t, ends[r->end]);
                table_cellf(t, "%.3f", r->wait_s);
                table_cellf(t, "%.3f", r->counted_s);
                table_cellf(t, "%.3f", r->violated_s);
                table_cellf(t, "%d", r->moves);
                table_cellf(t, "%d", r->restarts);
            }
        }
    }
    return t;
}

enum { OUT_JSON, OUT_ROWS, OUT_JOBS, OUT_PAGE, OUT_COUNT };

static int print_file(int which, const struct sweep *sweep,
                      const struct sweep_options *options, const char *page,
                      struct file_out *out, struct err *err)
{
    struct str json = {0};

    if (which == OUT_ROWS || which == OUT_JOBS)
        return table_finish(which == OUT_ROWS ? result_table(sweep) : result_jobs(sweep),
                            TABLE_CSV, file_out_stream(out), err);
    if (which == OUT_PAGE) {
        fputs(page, file_out_stream(out));
        return 0;
    }
    result_json(sweep, options, false, &json);
    fputs(str_text(&json), file_out_stream(out));
    str_fini(&json);
    return 0;
}

/* Everything is on its way to the disk before the first file gets its name: a disk that
 * is full leaves what was there. */
int result_write(const struct sweep *sweep, const struct sweep_options *options,
                 const char *page, const char *dir, struct err *err)
{
    static const char *const names[] = {"sim.json", "rows.csv", "jobs.csv",
                                        "report.html"};
    struct file_out *outs[OUT_COUNT] = {0};
    char *path = NULL;
    int rc = file_make_dirs(dir, err);

    for (int i = 0; rc == 0 && i < OUT_COUNT; i++) {
        free(path);
        path = file_join(dir, names[i]);
        outs[i] = file_out_open(path, err);
        if (!outs[i])
            rc = -1;
        else if (print_file(i, sweep, options, page, outs[i], err) < 0)
            rc = err_prefix(err, "%s", path);
        else if (fflush(file_out_stream(outs[i])) != 0 ||
                 ferror(file_out_stream(outs[i])))
            rc = err_sys(err, "cannot write %s", path);
    }
    for (int i = 0; i < OUT_COUNT; i++) {
        if (rc == 0)
            rc = file_out_commit(outs[i], err);
        else
            file_out_abort(outs[i]);
    }
    free(path);
    return rc;
}
