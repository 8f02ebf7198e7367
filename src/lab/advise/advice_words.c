/* advice_words.c - an advice for people: cmd_advise.c prints it; advice_json.c is the
 * same for programs */
#include "lab/advise/advice.h"

#include "base/energy_unit.h"
#include "base/table.h"
#include "lab/advise/advice_private.h"
#include "lab/sim/run_measure.h"

#include <math.h>
#include <stdio.h>

#define HOUR_S         3600.0
#define SHOWN_USERS    20
#define GOOD_FIT       5.0 /* percent */
#define PERCENT_OF_ONE 100
#define DAYS_A_YEAR    365.25
#define JOULES_A_KWH   3.6e6
#define MANY_KWH       1000
#define HOURS_A_DAY    24

/* ---- figures of any size ------------------------------------------------------------
 */

/* As many digits as usual, more for a value that would be little else than zeros. */
static int digits_for(double value, int usual)
{
    int digits = usual;

    while (fabs(value) > 0 && fabs(value) < pow(10, 1 - digits) && digits < usual + 6)
        digits += 2;
    return digits;
}

static void add_energy(struct str *out, double kwh)
{
    struct energy_unit unit = energy_unit_of(kwh * JOULES_A_KWH);

    str_addf(out, "%.*f %s", fabs(kwh) < MANY_KWH ? 1 : 0,
             kwh * JOULES_A_KWH / unit.joules, unit.name);
}

/* ---- policies -----------------------------------------------------------------------
 */

static double wait_mean_h(const struct sim_result *r)
{
    double sum = 0;
    size_t count = 0;

    for (size_t i = 0; i < r->jobs; i++) {
        if (isnan(r->job_results[i].wait_s))
            continue;
        sum += r->job_results[i].wait_s;
        count++;
    }
    return count ? sum / (double)count / HOUR_S : NAN;
}

static void add_span(struct str *out, double days)
{
    if (days >= 1)
        str_addf(out, "%.1f days", days);
    else if (days * HOURS_A_DAY >= 1)
        str_addf(out, "%.1f hours", days * HOURS_A_DAY);
    else
        str_addf(out, "%.1f minutes", days * HOURS_A_DAY * 60);
}

static struct sweep_mean times(struct sweep_mean m, double factor)
{
    return (struct sweep_mean){m.mean * factor, m.half_width * fabs(factor)};
}

static double broken_percent(const struct sim_result *r)
{
    return PERCENT_OF_ONE * (1 - measure_sla_time(r));
}

static double wait_p95_h(const struct sim_result *r)
{
    return measure_wait_p95(r) / HOUR_S;
}

static void cell_mean(struct table *t, struct sweep_mean m, int digits, bool sign)
{
    if (isnan(m.half_width))
        table_cellf(t, sign ? "%+.*f" : "%.*f", digits, m.mean);
    else
        table_cellf(t, sign ? "%+.*f ±%.*f" : "%.*f ±%.*f", digits, m.mean, digits,
                    m.half_width);
}

static void add_policy(struct table *t, const struct sweep_row *row,
                       const struct sweep_row *was, const struct advice_prices *prices)
{
    struct sweep_mean kwh = sweep_mean(row, measure_energy_kwh);
    double was_kwh = sweep_mean(was, measure_energy_kwh).mean;
    double in_units = JOULES_A_KWH / energy_unit_of(was_kwh * JOULES_A_KWH).joules;
    size_t finished = 0, jobs = 0;

    for (int d = 0; d < row->seeds; d++) {
        finished += row->runs[d].finished;
        jobs += row->runs[d].jobs;
    }
    table_row(t);
    table_cell(t, row->policy->name);
    cell_mean(t, times(kwh, in_units), 1, false);
    if (row == was)
        table_cell(t, "");
    else
        cell_mean(t, sweep_paired(row, was, measure_energy_kwh, true), 1, true);
    if (prices->per_kwh > 0)
        cell_mean(t, times(kwh, prices->per_kwh),
                  digits_for(was_kwh * prices->per_kwh, 0), false);
    if (prices->co2_g > 0)
        cell_mean(t, times(kwh, prices->co2_g / 1e3),
                  digits_for(was_kwh * prices->co2_g / 1e3, 1), false);
    cell_mean(t, sweep_mean(row, broken_percent), 2, false);
    cell_mean(t, sweep_mean(row, wait_mean_h), 2, false);
    cell_mean(t, sweep_mean(row, wait_p95_h), 2, false);
    table_cellf(t, "%.2f", sweep_mean(row, measure_moves_per_job).mean);
    table_cellf(t, "%zu/%zu", finished, jobs);
}

static int print_policies(const struct advice *a, const struct advice_prices *prices,
                          struct err *err)
{
    const struct sweep_row *was = &a->sweep->rows[0];
    double was_kwh = sweep_mean(was, measure_energy_kwh).mean;
    struct table *t = table_create("policy");
    char energy[32];

    snprintf(energy, sizeof(energy), ">energy %s",
             energy_unit_of(was_kwh * JOULES_A_KWH).name);
    table_columns(t, energy);
    table_columns(t, ">against as it ran %");
    if (prices->per_kwh > 0)
        table_columns(t, ">money");
    if (prices->co2_g > 0)
        table_columns(t, ">CO2 kg");
    table_columns(t, ">need broken %|>wait h|>wait95 h|>moves/job|>finished");
    for (size_t i = 0; i < a->sweep->row_count; i++)
        add_policy(t, &a->sweep->rows[i], was, prices);
    return table_finish(t, TABLE_ALIGNED, stdout, err);
}

/* What it would come to in a year of such days, where there are some. */
static void add_year(const struct advice *a, double kwh,
                     const struct advice_prices *prices, struct str *out)
{
    double year = fabs(kwh) * DAYS_A_YEAR / a->days;

    if (!(a->days >= 1))
        return;
    str_add(out, " In a year of such days: ");
    add_energy(out, year);
    str_add(out, kwh >= 0 ? " less" : " more");
    if (prices->per_kwh > 0)
        str_addf(out, ", %.*f %s", digits_for(year * prices->per_kwh, 0),
                 year * prices->per_kwh, prices->currency);
    if (prices->co2_g > 0)
        str_addf(out, ", %.*f t of CO2", digits_for(year * prices->co2_g / 1e6, 1),
                 year * prices->co2_g / 1e6);
    str_add(out, ".");
}

void advice_headline(const struct advice *a, const struct advice_prices *prices,
                     struct str *out)
{
    const struct sweep_row *was = &a->sweep->rows[0], *corgi = was + 1;
    struct sweep_mean percent = sweep_paired(corgi, was, measure_energy_kwh, true);
    double kwh = -sweep_paired(corgi, was, measure_energy_kwh, false).mean;
    double money = fabs(kwh) * prices->per_kwh, co2_kg = fabs(kwh) * prices->co2_g / 1e3;

    if (fabs(percent.mean) <= (isnan(percent.half_width) ? 0 : percent.half_width)) {
        str_addf(out, "Corgi would have changed the energy by %+.1f %%", percent.mean);
        if (!isnan(percent.half_width))
            str_addf(out, " ±%.1f", percent.half_width);
        str_add(out, ": no saving is claimed.\n");
        return;
    }
    str_addf(out, "Corgi would have used %.1f %% %s energy in these ", fabs(percent.mean),
             percent.mean < 0 ? "less" : "more");
    add_span(out, a->days);
    str_add(out, ": ");
    add_energy(out, fabs(kwh));
    if (!isnan(percent.half_width))
        str_addf(out, " (±%.1f points over the draws)", percent.half_width);
    if (prices->per_kwh > 0)
        str_addf(out, ", %.*f %s", digits_for(money, 0), money, prices->currency);
    if (prices->co2_g > 0)
        str_addf(out, ", %.*f kg of CO2", digits_for(co2_kg, 1), co2_kg);
    str_add(out, ".");
    add_year(a, kwh, prices, out);
    str_add(out, "\n");
}

/* ---- users --------------------------------------------------------------------------
 */

static int print_users(const struct advice *a, struct err *err)
{
    struct table *t =
        table_create("user|>jobs|>GPU-h|>wait h was|>Corgi|>sooner at end %|>GPU energy "
                     "less %|>need broken % was|>Corgi|in all");
    size_t shown = a->user_count < SHOWN_USERS ? a->user_count : SHOWN_USERS;
    int digits = shown > 0 ? digits_for(a->users[0].gpu_h, 1) : 1; /* the most */
    int rc;

    for (size_t i = 0; i < shown; i++) {
        const struct gains_group *u = &a->users[i];

        table_row(t);
        table_cell(t, u->name[0] ? u->name : "(no name)");
        table_cellf(t, "%.0f", u->jobs);
        table_cellf(t, "%.*f", digits, u->gpu_h);
        table_cellf(t, "%.2f", u->wait_was_h);
        table_cellf(t, "%.2f", u->wait_h);
        cell_mean(t, u->sooner, 1, true);
        cell_mean(t, u->saved, 1, true);
        table_cellf(t, "%.2f", u->broken_was);
        table_cellf(t, "%.2f", u->broken);
        table_cell(t, gains_lot_names[gains_lot(u)]);
        table_mark(t, gains_lot(u) == GAINS_LOSES ? TABLE_BAD : TABLE_PLAIN);
    }
    printf("\nWho gains and who loses, by time from submission to end:\n");
    rc = table_finish(t, TABLE_ALIGNED, stdout, err);
    if (shown < a->user_count)
        printf("and %zu users with fewer GPU-hours (--json has all)\n",
               a->user_count - shown);
    return rc;
}

static int print_idle(const struct advice *a, struct err *err)
{
    struct table *t =
        table_create("user|>jobs|>of counted|>GPU-h held|>never used GPU-h|>mean use %|"
                     ">GPU memory GB");
    int digits = digits_for(a->idle[0].gpu_h, 1);

    for (size_t i = 0; i < a->idle_count && i < SHOWN_USERS; i++) {
        const struct advice_idle *u = &a->idle[i];

        table_row(t);
        table_cell(t, u->name[0] ? u->name : "(no name)");
        table_cellf(t, "%zu", u->jobs);
        table_cellf(t, "%zu", u->counted);
        table_cellf(t, "%.*f", digits, u->gpu_h);
        table_cellf(t, "%.*f", digits, u->unused_gpu_h);
        table_cellf(t, "%.1f", u->use);
        if (isnan(u->held_gb))
            table_cell(t, "-");
        else
            table_cellf(t, "%.1f", u->held_gb);
    }
    printf(
        "\nJobs that hold GPUs they hardly use (below %.0f %%, or some not at all), by "
        "the counters of jobstats:\n",
        PERCENT_OF_ONE * JOBSTATS_HARDLY_USED);
    return table_finish(t, TABLE_ALIGNED, stdout, err);
}

/* ---- trust --------------------------------------------------------------------------
 */

void advice_trust(const struct advice *a, struct str *out)
{
    const struct advice_fit *f = &a->fit;

    str_add(out, "Replay of the real schedule: ");
    add_energy(out, f->replay_kwh);
    str_addf(out, ", %.2f %% from the record's (real places and times, modelled power: ",
             f->energy_percent);
    add_energy(out, f->record_kwh);
    str_addf(
        out,
        "); ends %.2f %% of a job's run time from the real ones on average, 95 %% of "
        "the jobs within %.2f %%; %.1f %% of the jobs end within 5 %%.\n",
        f->ends_percent, f->ends_percent_p95, PERCENT_OF_ONE * f->ends_within);
    if (f->ended < f->jobs)
        str_addf(out, "Jobs that the replay could not place: %zu of %zu.\n",
                 f->jobs - f->ended, f->jobs);
    if (f->energy_percent > GOOD_FIT || f->ends_percent > GOOD_FIT)
        str_add(out, "The replay does not meet the record within 5 %: take the figures "
                     "above with care.\n");
    if (f->metered) {
        str_addf(out, "Metered were %zu jobs, ", f->metered);
        add_energy(out, f->metered_kwh);
        str_add(out, " in all (by exporters or probes their GPUs, by Slurm often whole "
                     "nodes); the model says ");
        add_energy(out, f->metered_replay);
        str_add(out, " for their GPUs.\n");
    } else
        str_add(out, "Energy is modelled: nobody has metered any of these jobs.\n");
    str_add(out, "Assumed: as they ran, nodes without jobs stayed awake; under policies "
                 "they may sleep.\n"
                 "A need is broken while a job has waited for more than ten minutes, or "
                 "runs slower than it needs.\n");
    if (a->warnings)
        str_add(out, a->warnings);
}

int advice_print(const struct advice *a, const struct sweep_options *o,
                 const struct advice_prices *prices, struct err *err)
{
    struct str text = {0};

    add_span(&text, a->days);
    printf("%zu jobs of %s, as they ran and as they would have run; %d draws of what "
           "they compute, ± is a 95 %% interval over these:\n",
           a->fit.jobs, str_text(&text), o->seeds);
    str_clear(&text);
    if (print_policies(a, prices, err) < 0)
        return -1;
    advice_headline(a, prices, &text);
    printf("\n%s", str_text(&text));
    str_clear(&text);
    if (print_users(a, err) < 0 || (a->idle_count && print_idle(a, err) < 0)) {
        str_fini(&text);
        return -1;
    }
    printf("\nHow far to trust this:\n");
    advice_trust(a, &text);
    slurm_notes(o->scenario.slurm, o->scenario.cluster, &text);
    fputs(str_text(&text), stdout);
    str_fini(&text);
    return 0;
}
