/* page_table.c - every row of the sweep, also where others win; see page.h */
#include "lab/report/page.h"

#include "lab/report/html.h"

static void cell(struct page *p, double value, int digits)
{
    str_add(p->out, "<td>");
    html_number(p->out, value, digits);
    str_add(p->out, "</td>");
}

static void cell_mean(struct page *p, struct sweep_mean mean, int digits, bool sign)
{
    str_add(p->out, "<td>");
    html_mean(p->out, mean, digits, sign);
    str_add(p->out, "</td>");
}

static void head(struct page *p)
{
    static const char *const titles[] = {
        "policy",        "energy, kWh",    "to the reference, %",
        "Wh per work",   "SLA time, %",    "SLA jobs, %",
        "wait p95, min", "work per GPU-h", "work per powered GPU-h",
        "moves per job", "finished",
    };

    str_add(p->out, "<thead><tr>");
    for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++) {
        str_add(p->out, "<th scope=\"col\">");
        html_text(p->out, titles[i]);
        str_add(p->out, "</th>");
    }
    if (p->in->timings)
        str_add(p->out, "<th scope=\"col\">decision p99, ms</th>");
    str_add(p->out, "</tr></thead>\n");
}

static void name_cell(struct page *p, const struct facts_load *l, size_t i)
{
    const struct facts_line *line = &l->lines[i];

    str_addf(p->out, "<tr class=\"%s\"><th scope=\"row\" title=\"",
             page_class(line->role));
    html_text(p->out, line->row->policy->summary ? line->row->policy->summary : "");
    str_add(p->out, "\">");
    html_text(p->out, line->row->policy->name);
    if ((int)i == l->reference)
        str_add(p->out, " (ref)");
    if (line->on_front)
        str_add(p->out, " *");
    str_add(p->out, "</th>");
}

static void one_row(struct page *p, const struct facts_load *l, size_t i)
{
    const struct facts_line *line = &l->lines[i];

    name_cell(p, l, i);
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

void page_table(struct page *p)
{
    page_section(p, "rows", "All rows");
    page_paragraph(p, "Every policy at every load, in the order they were asked for. "
                      "(ref) is the reference of that load: the strongest opponent that "
                      "keeps its promises, or where none does the one that keeps them "
                      "best. A star stands for no other policy being "
                      "better in energy and in kept job-time both; oracles, which know "
                      "the true rates, are left out of that.");
    str_add(p->out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
                    "aria-label=\"Table of all rows\">\n<table>\n");
    head(p);
    for (size_t i = 0; i < p->facts.load_count; i++) {
        const struct facts_load *l = &p->facts.loads[i];

        str_addf(p->out, "<tbody><tr><th scope=\"rowgroup\" colspan=\"%d\">",
                 p->in->timings ? 12 : 11);
        html_text(p->out, l->label);
        str_add(p->out, "</th></tr>\n");
        for (size_t k = 0; k < l->count; k++)
            one_row(p, l, k);
        str_add(p->out, "</tbody>\n");
    }
    str_add(p->out, "</table>\n</div>\n");
    page_section_end(p);
}
