/* page_goals.c - what Corgi was to reach, and whether it did; see page.h */
#include "lab/report/page.h"

#include "lab/report/html.h"

#include <math.h>

static void cell_figure(struct page *p, const struct goals_goal *goal, double value)
{
    str_addf(p->out, "<td>%s%g</td>", goal->kind != GOALS_VALUE && value > 0 ? "+" : "",
             value);
}

static void cells_measured(struct page *p, const struct goals_line *line)
{
    const struct goals_at *at = line->worst;

    if (!at) {
        str_add(p->out, "<td>–</td><td>–</td><td class=\"text\">not measured</td>");
        return;
    }
    str_add(p->out, "<td>");
    html_mean(p->out, at->measured, 2, line->goal->kind != GOALS_VALUE);
    if (isnan(at->load))
        str_add(p->out, "</td><td>trace</td>");
    else
        str_addf(p->out, "</td><td>%.0f %%</td>", 100 * at->load);
    str_addf(p->out, "<td class=\"text %s\">", at->met == GOALS_NO ? "breaks" : "saves");
    html_text(p->out, goals_verdict(line));
    str_add(p->out, "</td>");
}

static void one_row(struct page *p, const struct goals_line *line)
{
    const struct goals_goal *goal = line->goal;

    str_add(p->out, "<tr><th scope=\"row\">");
    html_text(p->out, goal->name);
    str_add(p->out, "</th><td class=\"text\">");
    html_text(p->out, goal->policy);
    if (goal->opponent) {
        str_add(p->out, " against ");
        html_text(p->out, goal->opponent);
    }
    str_add(p->out, "</td><td>");
    html_text(p->out, goal->unit);
    str_add(p->out, "</td>");
    cell_figure(p, goal, goal->must);
    cell_figure(p, goal, goal->target);
    cells_measured(p, line);
    str_add(p->out, "</tr>\n");
}

void page_goals(struct page *p)
{
    static const char *const titles[] = {"goal",   "row",      "unit",    "must",
                                         "target", "measured", "at load", "met"};
    struct goals goals;

    goals_init(&goals, p->in->sweep, p->in->options);
    page_section(p, "goals", "Goals");
    page_paragraph(p, "What Corgi was built to reach, at the load where it does worst. "
                      "Energy saved counts only where promises are kept as well as by "
                      "the opponent. Unclear: the mean reaches it, its whole interval "
                      "does not. What no row of this run can tell is not measured.");
    if (!goals.by_protocol)
        page_paragraph(p, "The goals are set for the workload standard with 8 seeds or "
                          "more: this is another run.");
    str_add(p->out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
                    "aria-label=\"Table of goals\">\n<table>\n<thead><tr>");
    for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++) {
        str_addf(p->out, "<th scope=\"col\"%s>",
                 i == 1 || i == 7 ? " class=\"text\"" : "");
        html_text(p->out, titles[i]);
        str_add(p->out, "</th>");
    }
    str_add(p->out, "</tr></thead>\n<tbody>\n");
    for (size_t g = 0; g < goals.count; g++)
        one_row(p, &goals.lines[g]);
    str_add(p->out, "</tbody></table>\n</div>\n");
    page_section_end(p);
    goals_fini(&goals);
}
