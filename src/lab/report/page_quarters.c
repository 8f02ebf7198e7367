/* page_quarters.c - every policy quarter by quarter of a run; see page.h */
#include "lab/report/page.h"

#include "lab/report/html.h"

typedef double figure(const struct page *p, size_t row, int part);

static double wh_per_work(const struct page *p, size_t row, int part)
{
    struct quarter q = sweep_quarter(&p->in->sweep->rows[row], part);

    return quarter_wh_per_work(&q);
}

static double to_oracle(const struct page *p, size_t row, int part)
{
    return sweep_quarter_to_oracle(p->in->sweep, row, part);
}

static double broken_percent(const struct page *p, size_t row, int part)
{
    struct quarter q = sweep_quarter(&p->in->sweep->rows[row], part);

    return 100 * (1 - quarter_sla_time(&q));
}

static double error_percent(const struct page *p, size_t row, int part)
{
    struct quarter q = sweep_quarter(&p->in->sweep->rows[row], part);

    return quarter_error_percent(&q);
}

/* Four columns each. */
static const struct {
    const char *title;
    figure *value;
    int digits;
} groups[] = {
    {"Wh per work", wh_per_work, 0},
    {"the same above the oracle, %", to_oracle, 1},
    {"job-time broken, %", broken_percent, 2},
    {"error of first estimates, %", error_percent, 1},
};

#define GROUPS ((int)(sizeof(groups) / sizeof(groups[0])))

static void head(struct page *p)
{
    str_add(p->out, "<thead><tr><th scope=\"col\" rowspan=\"2\">policy</th>");
    for (int g = 0; g < GROUPS; g++) {
        str_addf(p->out, "<th scope=\"colgroup\" colspan=\"%d\">", QUARTERS);
        html_text(p->out, groups[g].title);
        str_add(p->out, "</th>");
    }
    str_add(p->out, "</tr><tr>");
    for (int g = 0; g < GROUPS; g++)
        for (int q = 0; q < QUARTERS; q++)
            str_addf(p->out, "<th scope=\"col\">Q%d</th>", q + 1);
    str_add(p->out, "</tr></thead>\n");
}

static void one_row(struct page *p, const struct facts_line *line)
{
    size_t row = (size_t)(line->row - p->in->sweep->rows);

    str_addf(p->out, "<tr class=\"%s\"><th scope=\"row\">", page_class(line->role));
    html_text(p->out, line->row->policy->name);
    str_add(p->out, "</th>");
    for (int g = 0; g < GROUPS; g++)
        for (int q = 0; q < QUARTERS; q++) {
            str_add(p->out, "<td>");
            html_number(p->out, groups[g].value(p, row, q), groups[g].digits);
            str_add(p->out, "</td>");
        }
    str_add(p->out, "</tr>\n");
}

void page_quarters(struct page *p)
{
    str_add(p->out, "<h3 id=\"quarters\">Quarter by quarter</h3>\n");
    page_paragraph(p, "The time from the first arrival to the last in four parts, for "
                      "every policy, over all seeds; what comes after the last arrival "
                      "is left out. Energy for each hour of work also falls while the "
                      "cluster fills, so look at the distance from the oracle, which has "
                      "nothing to learn, in the same quarter.");
    str_add(p->out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
                    "aria-label=\"Table of quarters\">\n<table>\n");
    head(p);
    for (size_t i = 0; i < p->facts.load_count; i++) {
        const struct facts_load *l = &p->facts.loads[i];

        str_addf(p->out, "<tbody><tr><th scope=\"rowgroup\" colspan=\"%d\">",
                 1 + GROUPS * QUARTERS);
        html_text(p->out, l->label);
        str_add(p->out, "</th></tr>\n");
        for (size_t k = 0; k < l->count; k++)
            one_row(p, &l->lines[k]);
        str_add(p->out, "</tbody>\n");
    }
    str_add(p->out, "</table>\n</div>\n");
}
