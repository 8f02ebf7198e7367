/* advice_json.c - an advice for programs and as a part of the report's page: cmd_advise.c
 * prints the first and hands the second to lab/report/ */
#include "lab/advise/advice.h"

#include "lab/advise/advice_private.h"
#include "lab/report/html.h"
#include "lab/report/report_gains.h"
#include "lab/sim/run_measure.h"

#include <math.h>
#include <string.h>

#define DAY_S 86400.0

static void json_mean(struct json_out *out, const char *key, struct sweep_mean m)
{
    struct str ci = {0};

    json_out_key_number(out, key, m.mean);
    str_addf(&ci, "%s_ci", key);
    json_out_key_number(out, str_text(&ci), m.half_width);
    str_fini(&ci);
}

/* A price of 0 was not told. */
static struct sweep_mean times(struct sweep_mean kwh, double price)
{
    return price > 0 ? (struct sweep_mean){kwh.mean * price, kwh.half_width * price}
                     : (struct sweep_mean){NAN, NAN};
}

static void json_policy(struct json_out *out, const struct sweep_row *row,
                        const struct sweep_row *was, const struct advice_prices *prices)
{
    struct sweep_mean kwh = sweep_mean(row, measure_energy_kwh);

    json_out_begin_object(out);
    json_out_key_string(out, "policy", row->policy->name);
    json_mean(out, "energy_kwh", kwh);
    json_mean(out, "against_as_it_ran_percent",
              row == was ? (struct sweep_mean){NAN, NAN}
                         : sweep_paired(row, was, measure_energy_kwh, true));
    json_mean(out, "money", times(kwh, prices->per_kwh));
    json_mean(out, "co2_kg", times(kwh, prices->co2_g / 1e3));
    json_mean(out, "sla_time", sweep_mean(row, measure_sla_time));
    json_mean(out, "wait_p50_s", sweep_mean(row, measure_wait_p50));
    json_mean(out, "wait_p95_s", sweep_mean(row, measure_wait_p95));
    json_mean(out, "moves_per_job", sweep_mean(row, measure_moves_per_job));
    json_out_end(out);
}

static void json_fit(struct json_out *out, const struct advice_fit *f)
{
    json_out_key_object(out, "replay");
    json_out_key_int(out, "jobs", (int64_t)f->jobs);
    json_out_key_int(out, "ended", (int64_t)f->ended);
    json_out_key_number(out, "energy_kwh", f->replay_kwh);
    json_out_key_number(out, "record_kwh", f->record_kwh);
    json_out_key_number(out, "energy_error_percent", f->energy_percent);
    json_out_key_number(out, "ends_error_percent", f->ends_percent);
    json_out_key_number(out, "ends_error_percent_p95", f->ends_percent_p95);
    json_out_key_number(out, "ends_within_5_percent_share", f->ends_within);
    json_out_key_int(out, "metered_jobs", (int64_t)f->metered);
    json_out_key_number(out, "metered_kwh", f->metered ? f->metered_kwh : NAN);
    json_out_key_number(out, "metered_jobs_replay_kwh",
                        f->metered ? f->metered_replay : NAN);
    json_out_end(out);
}

static void json_gains(struct json_out *out, const struct gains_group *u)
{
    json_out_key_int(out, "jobs", (int64_t)u->jobs);
    json_out_key_number(out, "gpu_hours", u->gpu_h);
    json_out_key_number(out, "wait_was_h", u->wait_was_h);
    json_out_key_number(out, "wait_h", u->wait_h);
    json_out_key_number(out, "gpu_kwh_was", u->kwh_was);
    json_mean(out, "sooner_percent", u->sooner);
    json_mean(out, "gpu_energy_less_percent", u->saved);
    json_out_key_number(out, "broken_was_percent", u->broken_was);
    json_out_key_number(out, "broken_percent", u->broken);
    json_out_key_string(out, "lot", gains_lot_names[gains_lot(u)]);
    json_out_end(out);
}

static void json_idle(struct json_out *out, const struct advice_idle *u)
{
    json_out_begin_object(out);
    json_out_key_string(out, "user", u->name);
    json_out_key_int(out, "jobs", (int64_t)u->jobs);
    json_out_key_int(out, "counted_jobs", (int64_t)u->counted);
    json_out_key_number(out, "gpu_hours", u->gpu_h);
    json_out_key_number(out, "never_used_gpu_hours", u->unused_gpu_h);
    json_out_key_number(out, "mean_use_percent", u->use);
    json_out_key_number(out, "mean_gpu_memory_gb", u->held_gb);
    json_out_end(out);
}

/* Each line of a text as an item. */
static void json_lines(struct json_out *out, const char *key, const char *text)
{
    json_out_key_array(out, key);
    while (*text) {
        size_t length = strcspn(text, "\n");
        struct str line = {0};

        str_add_bytes(&line, text, length);
        json_out_string(out, str_text(&line));
        str_fini(&line);
        text += length + (text[length] == '\n');
    }
    json_out_end(out);
}

void advice_json(const struct advice *a, const struct sweep_options *o,
                 const struct advice_prices *prices, struct str *to)
{
    struct str notes = {0};
    struct json_out out;

    json_out_init(&out, to, true);
    json_out_begin_object(&out);
    json_out_key_int(&out, "version", 1);
    json_out_key_number(&out, "days", a->days);
    json_out_key_int(&out, "draws", o->seeds);
    json_out_key_array(&out, "policies");
    for (size_t i = 0; i < a->sweep->row_count; i++)
        json_policy(&out, &a->sweep->rows[i], &a->sweep->rows[0], prices);
    json_out_end(&out);
    json_fit(&out, &a->fit);
    json_out_key_array(&out, "users");
    for (size_t i = 0; i < a->user_count; i++) {
        json_out_begin_object(&out);
        json_out_key_string(&out, "user", a->users[i].name);
        json_gains(&out, &a->users[i]);
    }
    json_out_end(&out);
    json_out_key_array(&out, "by_day");
    for (size_t i = 0; i < a->day_count; i++) {
        json_out_begin_object(&out);
        json_out_key_number(&out, "at_s", a->first_s + a->by_day[i].number * DAY_S);
        json_gains(&out, &a->by_day[i]);
    }
    json_out_end(&out);
    json_out_key_array(&out, "hardly_used");
    for (size_t i = 0; i < a->idle_count; i++)
        json_idle(&out, &a->idle[i]);
    json_out_end(&out);
    advice_headline(a, prices, &notes);
    advice_trust(a, &notes);
    json_lines(&out, "notes",
               slurm_notes(o->scenario.slurm, o->scenario.cluster, &notes));
    json_out_end(&out);
    str_fini(&notes);
}

/* ---- on the page --------------------------------------------------------------------
 */

static void html_head(struct str *out, const char *caption, const char *const *titles)
{
    str_add(out, "<div class=\"scroll\" tabindex=\"0\"><table><caption>");
    html_text(out, caption);
    str_add(out, "</caption><thead><tr>");
    for (; *titles; titles++)
        html_element(out, "th scope=\"col\"", *titles);
    str_add(out, "</tr></thead><tbody>\n");
}

static void html_users(const struct advice *a, struct str *out)
{
    report_gains_begin(out, "user",
                       "Who gains and who loses, by time from submission to end");
    str_add(out, "<tbody>\n");
    report_gains_rows(out, a->users, a->user_count);
    str_add(out, "</tbody>\n");
    report_gains_end(out);
}

static void html_idle(const struct advice *a, struct str *out)
{
    static const char *const titles[] = {
        "user",        "jobs",           "GPU-h held", "never used GPU-h",
        "mean use, %", "GPU memory, GB", NULL};

    html_head(out, "Jobs that hold GPUs they hardly use", titles);
    for (size_t i = 0; i < a->idle_count; i++) {
        const struct advice_idle *u = &a->idle[i];

        str_add(out, "<tr>");
        html_element(out, "th scope=\"row\"", u->name);
        str_addf(out, "<td>%zu</td><td>%.1f</td><td>%.1f</td><td>%.1f</td>", u->jobs,
                 u->gpu_h, u->unused_gpu_h, u->use);
        if (isnan(u->held_gb))
            str_add(out, "<td></td></tr>\n");
        else
            str_addf(out, "<td>%.1f</td></tr>\n", u->held_gb);
    }
    str_add(out, "</tbody></table></div>\n");
}

void advice_html(const struct advice *a, const struct sweep_options *o,
                 const struct advice_prices *prices, struct str *out)
{
    struct str text = {0};

    str_add(out, "<section id=\"advice\"><h2>Your jobs as they ran</h2>\n");
    advice_headline(a, prices, &text);
    html_element(out, "p", str_text(&text));
    html_users(a, out);
    if (a->idle_count)
        html_idle(a, out);
    str_clear(&text);
    advice_trust(a, &text);
    slurm_notes(o->scenario.slurm, o->scenario.cluster, &text);
    str_add(out, "<h3>How far to trust this</h3>\n");
    html_element(out, "p", str_text(&text));
    str_add(out, "</section>\n");
    str_fini(&text);
}
