/* report_tables.c - rows of the page's tables: report_page.c calls these for the slots of
 * its template */
#include "lab/report/report_private.h"

#include "lab/report/html.h"

#include <math.h>
#include <string.h>

static void cell(struct page *p, double value, int digits)
{
    html_element(p->out, "td", html_number(value, digits).text);
}

static void cell_mean(struct page *p, struct sweep_mean mean, int digits, bool sign)
{
    html_element(p->out, "td", html_mean(mean, digits, sign).text);
}

/* A body a load: its label over all columns, then what `row` writes of each line. */
static void fill_bodies(struct page *p, int columns,
                        void (*row)(struct page *p, const struct facts_load *l, size_t i))
{
    for (size_t i = 0; i < p->facts.load_count; i++) {
        const struct facts_load *l = &p->facts.loads[i];

        str_addf(p->out, "<tbody><tr><th scope=\"rowgroup\" colspan=\"%d\">", columns);
        html_text(p->out, l->label);
        str_add(p->out, "</th></tr>\n");
        for (size_t k = 0; k < l->count; k++)
            row(p, l, k);
        str_add(p->out, "</tbody>\n");
    }
}

static void sweep_line(struct page *p, const struct facts_load *l, size_t i)
{
    const struct facts_line *line = &l->lines[i];
    const struct policy *policy = line->row->policy;

    str_addf(p->out, "<tr class=\"%s\"><th scope=\"row\" title=\"",
             chart_class(line->role));
    html_text(p->out, policy->summary ? policy->summary : "");
    str_add(p->out, "\">");
    html_text(p->out, policy->name);
    str_addf(p->out, "%s%s</th>", (int)i == l->reference ? " (ref)" : "",
             line->on_front ? " *" : "");
    cell_mean(p, line->kwh, html_digits(line->kwh.mean), false);
    cell_mean(p, line->against, 1, true);
    cell(p, line->wh_per_work, 0);
    cell_mean(p, line->sla_time, 2, false);
    cell_mean(p, line->sla_jobs, 1, false);
    cell(p, line->wait_p95_min, 1);
    cell(p, line->efficiency_allocated, 3);
    cell(p, line->efficiency_powered, 3);
    cell(p, line->moves, 2);
    str_addf(p->out, "<td>%zu/%zu</td>", line->finished, line->jobs);
    if (p->in->timings)
        cell(p, line->decision_p99_ms, 2);
    str_add(p->out, "</tr>\n");
}

void tables_rows(struct page *p)
{
    fill_bodies(p, p->in->timings ? 12 : 11, sweep_line);
}

static void goal_cells(struct page *p, const struct goals_line *line)
{
    bool sign = line->goal->kind != GOALS_VALUE;
    const struct goals_at *at = line->worst;

    html_elementf(p->out, "td", "%s%g", sign && line->goal->must > 0 ? "+" : "",
                  line->goal->must);
    html_elementf(p->out, "td", "%s%g", sign && line->goal->target > 0 ? "+" : "",
                  line->goal->target);
    if (!at) {
        str_add(p->out, "<td>–</td><td>–</td><td class=\"text\">not measured</td>");
        return;
    }
    cell_mean(p, at->measured, 2, sign);
    if (isnan(at->load))
        html_element(p->out, "td", "trace");
    else
        html_elementf(p->out, "td", "%.0f %%", 100 * at->load);
    html_element(p->out,
                 at->met == GOALS_NO ? "td class=\"text breaks\""
                                     : "td class=\"text saves\"",
                 goals_verdict(line));
}

void tables_goals(struct page *p)
{
    for (size_t g = 0; g < p->goals.count; g++) {
        const struct goals_goal *goal = p->goals.lines[g].goal;

        str_add(p->out, "<tr>");
        html_element(p->out, "th scope=\"row\"", goal->name);
        html_elementf(p->out, "td class=\"text\"", "%s%s%s", goal->policy,
                      goal->opponent ? " against " : "",
                      goal->opponent ? goal->opponent : "");
        html_element(p->out, "td", goal->unit);
        goal_cells(p, &p->goals.lines[g]);
        str_add(p->out, "</tr>\n");
    }
}

static bool leaves_out(const struct facts_line *line)
{
    return line->role == FACTS_VARIANT || line->role == FACTS_ORACLE;
}

bool tables_have_ingredients(const struct facts *facts)
{
    const struct facts_load *first = &facts->loads[0];

    for (size_t i = 0; facts->load_count && i < first->count; i++)
        if (first->corgi >= 0 && leaves_out(&first->lines[i]))
            return true;
    return false;
}

/* What a row leaves out, by its name; others are shown with their summary. */
static const char *left_out(const struct policy *policy)
{
    static const struct {
        const char *policy, *words;
    } ingredients[] = {
        {"corgi-noshare", "without sharing a GPU"},
        {"corgi-nomoves", "without moving running jobs"},
        {"corgi-nosleep", "without letting nodes sleep"},
        {"corgi-nocaps", "without power caps"},
        {"corgi-noexplore", "without trying places to learn"},
        {"feedback-only", "without an estimator, only feedback"},
        {"oracle", "told the true rates (a bound)"},
    };

    for (size_t i = 0; i < sizeof(ingredients) / sizeof(ingredients[0]); i++)
        if (!strcmp(ingredients[i].policy, policy->name))
            return ingredients[i].words;
    return policy->summary ? policy->summary : "";
}

static void ingredient_line(struct page *p, const struct facts_load *l, size_t i)
{
    const struct facts_line *line = &l->lines[i];

    if (!leaves_out(line))
        return;
    str_add(p->out, "<tr>");
    html_element(p->out, "th scope=\"row\"", line->row->policy->name);
    cell_mean(p, line->against_corgi, 1, true);
    cell_mean(p, line->sla_against_corgi, 2, true);
    html_element(p->out, "td class=\"text\"", left_out(line->row->policy));
    str_add(p->out, "</tr>\n");
}

void tables_ingredients(struct page *p)
{
    fill_bodies(p, 4, ingredient_line);
}

void tables_learner(struct page *p)
{
    html_text(p->out, facts_learner(p->learning[0])->row->policy->name);
}

void tables_learning_rows(struct page *p)
{
    for (int s = 0; s < p->learning_count; s++) {
        double percent[QUARTERS], at_s[QUARTERS];

        facts_learning(p->learning[s], QUARTERS, percent, at_s);
        str_add(p->out, "<tr>");
        html_element(p->out, "th scope=\"row\"", p->learning[s]->label);
        for (int q = 0; q < QUARTERS; q++)
            cell(p, percent[q], 1);
        str_add(p->out, "</tr>\n");
    }
}

/* What was tried in order to learn, of the policies that try. */
void tables_trial_rows(struct page *p)
{
    for (int s = 0; s < p->learning_count; s++) {
        const struct sweep_row *row = facts_learner(p->learning[s])->row;

        str_add(p->out, "<tr>");
        html_element(p->out, "th scope=\"row\"", p->learning[s]->label);
        cell(p, sweep_mean(row, measure_trials).mean, 0);
        cell(p, 100 * sweep_mean(row, measure_trials_better).mean, 0);
        cell(p, sweep_mean(row, measure_learning_spent_kwh).mean, 2);
        cell(p, sweep_mean(row, measure_learning_earned_kwh).mean, 2);
        str_add(p->out, "</tr>\n");
    }
}

static void quarter_line(struct page *p, const struct facts_load *l, size_t i)
{
    const struct sweep_row *row = l->lines[i].row;
    struct quarter quarters[QUARTERS];

    str_addf(p->out, "<tr class=\"%s\">", chart_class(l->lines[i].role));
    html_element(p->out, "th scope=\"row\"", row->policy->name);
    for (int q = 0; q < QUARTERS; q++)
        quarters[q] = sweep_quarter(row, q);
    for (int q = 0; q < QUARTERS; q++)
        cell(p, quarter_wh_per_work(&quarters[q]), 0);
    for (int q = 0; q < QUARTERS; q++)
        cell(p,
             sweep_quarter_to_oracle(p->in->sweep, (size_t)(row - p->in->sweep->rows), q),
             1);
    for (int q = 0; q < QUARTERS; q++)
        cell(p, 100 * (1 - quarter_sla_time(&quarters[q])), 2);
    for (int q = 0; q < QUARTERS; q++)
        cell(p, quarter_error_percent(&quarters[q]), 1);
    str_add(p->out, "</tr>\n");
}

void tables_quarter_rows(struct page *p)
{
    fill_bodies(p, 1 + 4 * QUARTERS, quarter_line);
}
