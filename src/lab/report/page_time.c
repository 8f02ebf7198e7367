/* page_time.c - what happened over time: learning, and who ran where; see page.h */
#include "lab/report/page.h"

#include "lab/report/html.h"

#include <math.h>
#include <stdio.h>

#define BINS  12
#define DAY_S 86400.0

/* The row whose learning is shown: Corgi's, else that of the first policy that learns. */
static const struct facts_line *learner(const struct facts_load *l)
{
    if (l->corgi >= 0)
        return &l->lines[l->corgi];
    for (size_t i = 0; i < l->count; i++)
        if (l->lines[i].role != FACTS_ORACLE)
            return &l->lines[i];
    return NULL;
}

static bool has_learning(const struct facts_load *l)
{
    const struct facts_line *line = learner(l);
    double percent[BINS], at_s[BINS];

    if (!line)
        return false;
    facts_learning(line->row, BINS, percent, at_s);
    for (int b = 0; b < BINS; b++)
        if (!isnan(percent[b]))
            return true;
    return false;
}

static void learning_chart(struct page *p, int count, const struct facts_load *const *of)
{
    double x[CHART_MAX_SERIES][BINS], y[CHART_MAX_SERIES][BINS];
    struct chart_series series[CHART_MAX_SERIES];
    const struct chart_text text = {
        .id = p->next_id++,
        .title = "Error of first estimates over time",
        .description = "One line a load; the table beside it has the numbers by quarter.",
        .unit = "time since the start, days",
    };

    for (int s = 0; s < count; s++) {
        const struct sweep_row *row = learner(of[s])->row;

        facts_learning(row, BINS, y[s], x[s]);
        for (int b = 0; b < BINS; b++)
            x[s][b] /= DAY_S;
        series[s] = (struct chart_series){
            .label = of[s]->label, .count = BINS, .x = x[s], .y = y[s]};
    }
    page_figure(p, text.title);
    chart_lines(p->out, &text, "mean error of first estimates, %", series, count);
    page_figure_end(p, "Each point is the mean of a twelfth of all first estimates of "
                       "a run, over all seeds.");
}

static void learning_table(struct page *p, int count, const struct facts_load *const *of)
{
    page_figure(p, "The same by quarter of the first estimates");
    str_add(p->out,
            "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">load</th>");
    for (int q = 0; q < QUARTERS; q++)
        str_addf(p->out, "<th scope=\"col\">Q%d, %%</th>", q + 1);
    str_add(p->out, "</tr></thead><tbody>\n");
    for (int s = 0; s < count; s++) {
        double percent[QUARTERS], at_s[QUARTERS];

        facts_learning(learner(of[s])->row, QUARTERS, percent, at_s);
        str_add(p->out, "<tr><th scope=\"row\">");
        html_text(p->out, of[s]->label);
        str_add(p->out, "</th>");
        for (int q = 0; q < QUARTERS; q++) {
            str_add(p->out, "<td>");
            html_number(p->out, percent[q], 1);
            str_add(p->out, "</td>");
        }
        str_add(p->out, "</tr>\n");
    }
    str_add(p->out, "</tbody></table></div>\n");
    page_figure_end(p, NULL);
}

/* What was tried in order to learn, of the policies that try. */
static void trials_table(struct page *p, int count, const struct facts_load *const *of)
{
    page_figure(p, "Places tried in order to learn");
    str_add(p->out, "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">load</th>"
                    "<th scope=\"col\">trials a run</th>"
                    "<th scope=\"col\">found better, %</th>"
                    "<th scope=\"col\">spent, kWh</th>"
                    "<th scope=\"col\">earned, kWh</th></tr></thead><tbody>\n");
    for (int s = 0; s < count; s++) {
        const struct sweep_row *row = learner(of[s])->row;
        const double cells[] = {sweep_mean(row, measure_trials).mean,
                                100 * sweep_mean(row, measure_trials_better).mean,
                                sweep_mean(row, measure_learning_spent_kwh).mean,
                                sweep_mean(row, measure_learning_earned_kwh).mean};

        str_add(p->out, "<tr><th scope=\"row\">");
        html_text(p->out, of[s]->label);
        str_add(p->out, "</th>");
        for (int c = 0; c < 4; c++) {
            str_add(p->out, "<td>");
            html_number(p->out, cells[c], c < 2 ? 0 : 2);
            str_add(p->out, "</td>");
        }
        str_add(p->out, "</tr>\n");
    }
    str_add(p->out, "</tbody></table></div>\n");
    page_figure_end(p,
                    "A trial is a place taken for what it may turn out to be where the "
                    "best guess was another. Spent is what was lost until it was "
                    "measured, earned what the same job saved; later jobs gain too, "
                    "which is not counted.");
}

void page_learning(struct page *p)
{
    const struct facts_load *of[CHART_MAX_SERIES];
    struct str text = {0};
    int count = 0;

    for (size_t i = 0; i < p->facts.load_count && count < CHART_MAX_SERIES; i++)
        if (has_learning(&p->facts.loads[i]))
            of[count++] = &p->facts.loads[i];
    page_section(p, "learning", "What it learns");
    if (count == 0) {
        page_paragraph(p, "No errors of estimates were recorded.");
        page_quarters(p);
        page_section_end(p);
        return;
    }
    str_addf(&text,
             "How far the first estimate of a job on a kind of GPU, alone or beside a "
             "neighbour, was from what was then measured there, under the policy %s. "
             "Only combinations never measured before count, so a falling line means "
             "that what was seen elsewhere helps; it cannot be memory. Measuring noise "
             "and each job's own peculiarities stay, so it does not fall to zero.",
             learner(of[0])->row->policy->name);
    page_paragraph(p, str_text(&text));
    str_add(p->out, "<div class=\"grid\">\n");
    learning_chart(p, count, of);
    learning_table(p, count, of);
    trials_table(p, count, of);
    str_add(p->out, "</div>\n");
    page_quarters(p);
    page_section_end(p);
    str_fini(&text);
}

static const struct sim_recording *places_of(const struct facts_line *line)
{
    const struct sim_recording *r = line->row->runs[0].recording;

    return r && r->places && r->device_count > 0 ? r : NULL;
}

static void timeline_figure(struct page *p, const struct facts_load *l,
                            const struct facts_line *line)
{
    const struct sim_recording *r = places_of(line);
    struct str title = {0}, caption = {0};
    int shown;

    str_addf(&title, "%s, %s, first seed", line->row->policy->name, l->label);
    str_addf(&caption, "%zu stays of jobs on %d GPUs of %d nodes in %.1f days",
             r->spans.count, r->device_count, r->node_count, r->end_s / DAY_S);
    const struct chart_text text = {.id = p->next_id++,
                                    .title = str_text(&title),
                                    .description = str_text(&caption),
                                    .unit = "time since the start, days"};

    str_add(p->out, "<figure class=\"wide\">");
    html_element(p->out, "h3", str_text(&title));
    str_add(p->out, "\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
                    "aria-label=\"Timeline\">\n");
    shown = chart_timeline(p->out, &text, r);
    str_add(p->out, "</div>\n");
    if (shown < r->device_count)
        str_addf(&caption, "; %d of them are shown, of every type some whole nodes",
                 shown);
    if (isfinite(r->cut_s))
        str_add(&caption, "; the rest of the run was not recorded");
    str_add(&caption, ".");
    page_figure_end(p, str_text(&caption));
    str_fini(&title);
    str_fini(&caption);
}

static void timeline_key(struct page *p)
{
    static const struct {
        const char *shape, *words;
    } keys[] = {
        {"<rect class=\"training\" y=\"4\" width=\"14\" height=\"6\"/>", "training"},
        {"<rect class=\"service\" y=\"4\" width=\"14\" height=\"6\"/>"
         "<line class=\"through\" x1=\"0\" y1=\"7\" x2=\"14\" y2=\"7\"/>",
         "service (line through it)"},
        {"<rect class=\"pause\" x=\"1\" y=\"4\" width=\"12\" height=\"6\"/>",
         "waits for its node or checkpoint"},
        {"<rect class=\"moved\" x=\"5\" y=\"2\" width=\"3\" height=\"10\"/>",
         "moved here"},
        {"<rect class=\"restarted\" x=\"5\" y=\"2\" width=\"3\" height=\"10\"/>",
         "restarted after a failure (red)"},
        {"<rect class=\"asleep\" width=\"14\" height=\"14\"/>", "node asleep or waking"},
        {"<rect class=\"down\" width=\"14\" height=\"14\"/>", "node down (red)"},
    };

    str_add(p->out, "<ul class=\"key\">");
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        str_addf(p->out,
                 "<li><svg viewBox=\"0 0 14 14\" aria-hidden=\"true\">%s</svg>"
                 "%s</li>",
                 keys[i].shape, keys[i].words);
    str_add(p->out, "</ul>\n");
}

void page_timeline(struct page *p)
{
    bool any = false;

    page_section(p, "timeline", "Which GPU ran what");
    for (size_t i = 0; i < p->facts.load_count; i++) {
        const struct facts_load *l = &p->facts.loads[i];
        int shown[] = {l->corgi >= 0 ? l->corgi : 0, l->reference};

        for (int k = 0; k < 2; k++) {
            if (shown[k] < 0 || (k == 1 && shown[1] == shown[0]) ||
                !places_of(&l->lines[shown[k]]))
                continue;
            if (!any) {
                page_paragraph(p,
                               "One run from its first arrival to its last job, under "
                               "Corgi and under the reference on the same requests: "
                               "one row a GPU, two lanes for jobs that share it. Point "
                               "at a bar for its job.");
                timeline_key(p);
            }
            any = true;
            timeline_figure(p, l, &l->lines[shown[k]]);
        }
    }
    if (!any)
        page_paragraph(p, "No places were recorded.");
    page_section_end(p);
}
