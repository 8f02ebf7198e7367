/* result.c - see result.h */
#include "sim/result.h"

#include "base/file.h"
#include "base/json_out.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define J_PER_KWH 3.6e6

static double energy_kwh(const struct sim_result *r)
{
    return r->energy.total_j / J_PER_KWH;
}

static double device_kwh(const struct sim_result *r)
{
    return r->energy.device_j / J_PER_KWH;
}

static double host_kwh(const struct sim_result *r)
{
    return r->energy.host_j / J_PER_KWH;
}

static double idle_kwh(const struct sim_result *r)
{
    return r->energy.idle_j / J_PER_KWH;
}

static double asleep_kwh(const struct sim_result *r)
{
    return r->energy.asleep_j / J_PER_KWH;
}

static double wake_kwh(const struct sim_result *r)
{
    return r->energy.wake_j / J_PER_KWH;
}

static double wh_per_work(const struct sim_result *r)
{
    return r->work_h > 0 ? r->energy.total_j / 3600 / r->work_h : NAN;
}

static double sla_time(const struct sim_result *r)
{
    return r->sla_time;
}

static double sla_jobs(const struct sim_result *r)
{
    return r->sla_jobs;
}

static double wait_p50(const struct sim_result *r)
{
    return r->wait_p50_s;
}

static double wait_p95(const struct sim_result *r)
{
    return r->wait_p95_s;
}

static double moves_per_job(const struct sim_result *r)
{
    return r->moves_per_job;
}

static double efficiency_allocated(const struct sim_result *r)
{
    return r->energy.allocated_s > 0 ? r->useful_h / (r->energy.allocated_s / 3600) : NAN;
}

static double efficiency_powered(const struct sim_result *r)
{
    return r->energy.powered_s > 0 ? r->useful_h / (r->energy.powered_s / 3600) : NAN;
}

static double work_h(const struct sim_result *r)
{
    return r->work_h;
}

static double estimate_error(const struct sim_result *r)
{
    return 100 * (exp(r->estimates.first_abs_log_error) - 1);
}

static double estimate_coverage(const struct sim_result *r)
{
    return r->estimates.coverage;
}

static double decision_p50(const struct sim_result *r)
{
    return r->decision_p50_ms;
}

static double decision_p99(const struct sim_result *r)
{
    return r->decision_p99_ms;
}

static double end_s(const struct sim_result *r)
{
    return r->end_s;
}

/* Keys in the order of the file.  The first two groups are the fixed contract. */
static const struct {
    const char *key;
    double (*value)(const struct sim_result *);
    bool interval; /* also KEY_ci */
    bool timing;
} keys[] = {
    {"energy_kwh", energy_kwh, true, false},
    {"sla_time", sla_time, true, false},
    {"sla_jobs", sla_jobs, true, false},
    {"wait_p50_s", wait_p50, false, false},
    {"wait_p95_s", wait_p95, false, false},
    {"moves_per_job", moves_per_job, false, false},
    {"efficiency_allocated", efficiency_allocated, false, false},
    {"efficiency_powered", efficiency_powered, false, false},
    {"decision_ms_p50", decision_p50, false, true},
    {"decision_ms_p99", decision_p99, false, true},
    {"device_kwh", device_kwh, false, false},
    {"host_kwh", host_kwh, false, false},
    {"idle_kwh", idle_kwh, false, false},
    {"asleep_kwh", asleep_kwh, false, false},
    {"wake_kwh", wake_kwh, false, false},
    {"wh_per_reference_gpu_hour", wh_per_work, false, false},
    {"work_reference_gpu_hours", work_h, false, false},
    {"first_estimate_error_percent", estimate_error, false, false},
    {"estimate_coverage90", estimate_coverage, false, false},
    {"end_s", end_s, false, false},
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

static void json_row(struct json_out *out, const struct sweep_row *row, bool timings)
{
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
        json_row(&out, &sweep->rows[i], timings);
    json_out_end(&out);
    json_out_end(&out);
}

/* Of one load: the least energy among rows that keep the promise about as well as any. */
static size_t best_row(const struct sweep *sweep, double load, bool sleep)
{
    double best_sla = 0, best_kwh = INFINITY;
    size_t best = sweep->row_count;

    for (size_t i = 0; i < sweep->row_count; i++)
        if ((sweep->rows[i].load == load || isnan(load)) && sweep->rows[i].sleep == sleep)
            best_sla = fmax(best_sla, sweep_mean(&sweep->rows[i], sla_time).mean);
    for (size_t i = 0; i < sweep->row_count; i++) {
        const struct sweep_row *row = &sweep->rows[i];
        double kwh = sweep_mean(row, energy_kwh).mean;

        if ((row->load != load && !isnan(load)) || row->sleep != sleep ||
            row->policy->model == SIM_MODEL_ORACLE ||
            sweep_mean(row, sla_time).mean < best_sla - 0.005 || kwh >= best_kwh)
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
    cell_with_interval(t, sweep_mean(row, energy_kwh), 1);
    if (best)
        table_mark(t, TABLE_GOOD);
    table_cellf(t, "%.0f", sweep_mean(row, wh_per_work).mean);
    table_cellf(t, "%.2f", 100 * sweep_mean(row, sla_time).mean);
    table_cellf(t, "%.1f", 100 * sweep_mean(row, sla_jobs).mean);
    table_cellf(t, "%.1f", sweep_mean(row, wait_p95).mean / 60);
    table_cellf(t, "%.3f", sweep_mean(row, efficiency_allocated).mean);
    table_cellf(t, "%.3f", sweep_mean(row, efficiency_powered).mean);
    table_cellf(t, "%.2f", sweep_mean(row, moves_per_job).mean);
    table_cellf(t, "%zu/%zu", sum.finished, sum.jobs);
}

struct table *result_table(const struct sweep *sweep)
{
    static const char *const titles[] = {
        "load",       "sleep",     "energy kWh", "Wh/work",   "SLA time%", "SLA jobs%",
        "wait95 min", "eff alloc", "eff power",  "moves/job", "finished"};
    struct table *t = table_create();

    table_column(t, "policy", TABLE_LEFT);
    for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
        table_column(t, titles[i], TABLE_RIGHT);
    for (size_t i = 0; i < sweep->row_count; i++)
        table_line(t, &sweep->rows[i],
                   best_row(sweep, sweep->rows[i].load, sweep->rows[i].sleep) == i);
    return t;
}

struct table *result_jobs(const struct sweep *sweep)
{
    static const char *const ends[] = {"finished", "running", "waiting", "rejected",
                                       "failed"};
    static const char *const titles[] = {"load",       "seed",   "job",
                                         "end",        "wait_s", "counted_s",
                                         "violated_s", "moves",  "restarts"};
    struct table *t = table_create();

    table_column(t, "policy", TABLE_LEFT);
    for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
        table_column(t, titles[i], TABLE_RIGHT);
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

static int print_csv(struct table *t, struct file_out *out, struct err *err)
{
    int rc = table_print_csv(t, file_out_stream(out), err);

    table_destroy(t);
    return rc;
}

static int print_file(int which, const struct sweep *sweep,
                      const struct sweep_options *options, const char *page,
                      struct file_out *out, struct err *err)
{
    struct str json = {0};

    if (which == OUT_ROWS)
        return print_csv(result_table(sweep), out, err);
    if (which == OUT_JOBS)
        return print_csv(result_jobs(sweep), out, err);
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
