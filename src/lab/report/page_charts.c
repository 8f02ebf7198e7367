/* page_charts.c - one small chart a load: energy, differences, promises, parts; see
 * page.h */
#include "lab/report/page.h"

#include "lab/report/html.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Below this share of job-time, in percent, broken promises are all drawn alike. */
#define BROKEN_LEAST 0.01
/* More names than this do not fit beside their marks: numbers do. */
#define NAMES_MAX 9

/* Rows of a chart with their labels; the caller ends it with rows_free(). */
struct rows {
    size_t count;
    struct chart_row *rows;
    char (*labels)[48];
};

static struct rows rows_of(const struct facts_load *l)
{
    struct rows r = {.count = l->count,
                     .rows = mem_array(struct chart_row, l->count),
                     .labels = mem_resize(NULL, 0, l->count, sizeof(*r.labels))};

    for (size_t i = 0; i < l->count; i++) {
        const struct facts_line *line = &l->lines[i];
        bool reference = (int)i == l->reference;

        snprintf(r.labels[i], sizeof(r.labels[i]), "%s%s", line->row->policy->name,
                 reference ? " (ref)" : "");
        r.rows[i] = (struct chart_row){.label = r.labels[i],
                                       .cls = page_class(line->role),
                                       .shape = page_shape(line->role),
                                       .strong = line->role == FACTS_CORGI};
    }
    return r;
}

static void rows_free(struct rows *r)
{
    free(r->rows);
    free(r->labels);
}

static void describe(struct str *text, const struct rows *r, const char *unit, int digits)
{
    str_clear(text);
    str_addf(text, "%s: ", unit);
    for (size_t i = 0; i < r->count; i++) {
        str_addf(text, "%s%s ", i ? "; " : "", r->rows[i].label);
        html_mean(text, r->rows[i].value,
                  digits < 0 ? html_digits(r->rows[i].value.mean) : digits, false);
    }
    str_add(text, ".");
}

/* One figure of rows: bars without an axis, marks with one. */
static void rows_figure(struct page *p, const struct facts_load *l, const struct rows *r,
                        const char *title, const char *unit,
                        const struct chart_dots_axis *axis)
{
    struct str heading = {0}, description = {0};

    str_addf(&heading, "%s, %s", title, l->label);
    describe(&description, r, unit, axis ? axis->digits : -1);
    const struct chart_text text = {.id = p->next_id++,
                                    .title = str_text(&heading),
                                    .description = str_text(&description),
                                    .unit = unit};

    page_figure(p, l->label);
    if (axis)
        chart_dots(p->out, &text, r->rows, r->count, axis);
    else
        chart_bars(p->out, &text, r->rows, r->count);
    page_figure_end(p, NULL);
    str_fini(&heading);
    str_fini(&description);
}

static void role_key(struct page *p)
{
    static const enum facts_role roles[] = {FACTS_CORGI, FACTS_VARIANT, FACTS_OPPONENT,
                                            FACTS_ORACLE};
    static const char *const names[] = {"Corgi", "Corgi without one of its parts",
                                        "conventional policy",
                                        "knows the true rates: a bound, not a policy"};

    str_add(p->out, "<ul class=\"key\">");
    for (size_t i = 0; i < 4; i++) {
        str_add(p->out, "<li><svg viewBox=\"0 0 14 14\" aria-hidden=\"true\">");
        svg_mark(p->out, page_class(roles[i]), page_shape(roles[i]), 7, 7, 4.5, NULL);
        str_addf(p->out, "</svg>%s</li>", names[i]);
    }
    str_add(p->out, "</ul>\n");
}

/* One chart a load; four in two rows of two, not of three and one. */
static void grid(struct page *p)
{
    bool pairs = p->facts.load_count > 1 && p->facts.load_count % 3 == 1;

    str_addf(p->out, "<div class=\"grid%s\">\n", pairs ? " pairs" : "");
}

void page_energy(struct page *p)
{
    page_section(p, "energy", "Energy by policy and load");
    page_paragraph(p,
                   "Whole nodes: GPUs, hosts, idling, sleeping and waking, for the same "
                   "work to its end. Whiskers are 95 % intervals over the seeds; seeds "
                   "differ in what is asked of the cluster, so these are wide, and the "
                   "next section is the one that compares.");
    role_key(p);
    grid(p);
    for (size_t i = 0; i < p->facts.load_count; i++) {
        const struct facts_load *l = &p->facts.loads[i];
        struct rows r = rows_of(l);

        for (size_t k = 0; k < l->count; k++)
            r.rows[k].value = l->lines[k].kwh;
        rows_figure(p, l, &r, "Energy", "energy, kWh", NULL);
        rows_free(&r);
    }
    str_add(p->out, "</div>\n");
    page_section_end(p);
}

void page_against(struct page *p)
{
    const struct chart_dots_axis axis = {
        .line = 0, .least = -40, .most = 40, .sign = true, .digits = 1};

    page_section(p, "against", "Energy against the reference, seed by seed");
    page_paragraph(p, "Each policy's energy above (+) or below (−) the reference of the "
                      "load, on the same requests, in percent. Only an interval that "
                      "leaves out zero shows a difference, and less energy is a saving "
                      "only where promises are kept as well: see the next two sections. "
                      "An arrow stands for more than 40 %.");
    grid(p);
    for (size_t i = 0; i < p->facts.load_count; i++) {
        const struct facts_load *l = &p->facts.loads[i];
        struct rows r = rows_of(l);

        for (size_t k = 0; k < l->count; k++)
            r.rows[k].value = l->lines[k].against;
        if (l->reference >= 0)
            rows_figure(p, l, &r, "Energy against the reference",
                        "energy above the reference, %", &axis);
        rows_free(&r);
    }
    str_add(p->out, "</div>\n");
    page_section_end(p);
}

void page_promises(struct page *p)
{
    const struct chart_dots_axis axis = {.line = GOALS_SLA_TIME,
                                         .low = GOALS_SLA_TIME,
                                         .high = 100,
                                         .least = 90,
                                         .most = 100,
                                         .digits = 2};

    page_section(p, "promises", "Promises kept by policy and load");
    page_paragraph(p, "Share of job-time in which the job had the rate it was promised. "
                      "The line is the goal of 99.3 %; an arrow stands for less than 90 "
                      "%. Too little speed, a wait beyond "
                      "ten minutes and the pauses of moves and failures all count as "
                      "broken, for every policy. The share of jobs that were well served "
                      "all along is in the table (SLA jobs).");
    grid(p);
    for (size_t i = 0; i < p->facts.load_count; i++) {
        const struct facts_load *l = &p->facts.loads[i];
        struct rows r = rows_of(l);

        for (size_t k = 0; k < l->count; k++)
            r.rows[k].value = l->lines[k].sla_time;
        rows_figure(p, l, &r, "Promises kept", "job-time with the promise kept, %",
                    &axis);
        rows_free(&r);
    }
    str_add(p->out, "</div>\n");
    page_section_end(p);
}

static void pareto_figure(struct page *p, const struct facts_load *l)
{
    static const struct chart_scatter_axis axis = {
        .y_unit = "job-time with a broken promise, %",
        .least = BROKEN_LEAST,
        .most = 100,
        .goal = 100 - GOALS_SLA_TIME,
        .goal_label = "goal",
    };
    struct chart_point *points = mem_array(struct chart_point, l->count);
    char(*numbers)[24] = mem_resize(NULL, 0, l->count, sizeof(*numbers));
    bool crowded = l->count > NAMES_MAX;
    struct str title = {0}, description = {0}, caption = {0};

    str_addf(&title, "Energy against broken promises, %s", l->label);
    str_add(&description, "Best in energy and kept job-time at once:");
    for (size_t i = 0; i < l->count; i++) {
        const struct facts_line *line = &l->lines[i];

        snprintf(numbers[i], sizeof(numbers[i]), "%zu", i + 1);
        str_addf(&caption, "%s%zu %s", i ? ", " : "", i + 1, line->row->policy->name);
        points[i] =
            (struct chart_point){.label = crowded ? numbers[i] : line->row->policy->name,
                                 .name = line->row->policy->name,
                                 .cls = page_class(line->role),
                                 .shape = page_shape(line->role),
                                 .x = line->kwh.mean,
                                 .y = 100 - line->sla_time.mean,
                                 .front = line->on_front};
        if (line->on_front)
            str_addf(&description, " %s", line->row->policy->name);
    }
    const struct chart_text text = {.id = p->next_id++,
                                    .title = str_text(&title),
                                    .description = str_text(&description),
                                    .unit = "energy, kWh"};

    page_figure(p, l->label);
    chart_scatter(p->out, &text, points, l->count, &axis);
    page_figure_end(p, crowded ? str_text(&caption) : NULL);
    str_fini(&title);
    str_fini(&description);
    str_fini(&caption);
    free(numbers);
    free(points);
}

void page_pareto(struct page *p)
{
    page_section(p, "pareto", "Energy and promises at once");
    page_paragraph(p, "Down and to the left is better: less energy, fewer broken "
                      "promises. The dotted line joins the policies that none beats in "
                      "both. The vertical axis goes by powers of ten; what is below "
                      "0.01 % is drawn at 0.01 %.");
    role_key(p);
    grid(p);
    for (size_t i = 0; i < p->facts.load_count; i++)
        pareto_figure(p, &p->facts.loads[i]);
    str_add(p->out, "</div>\n");
    page_section_end(p);
}

static void part_key(struct page *p, const char *const *names)
{
    str_add(p->out, "<ul class=\"key\">");
    for (int i = 0; i < FACTS_PARTS; i++)
        str_addf(p->out,
                 "<li><svg viewBox=\"0 0 14 14\" aria-hidden=\"true\"><rect "
                 "class=\"part%d\" width=\"14\" height=\"14\"/></svg>%d. %s</li>",
                 i, i + 1, names[i]);
    str_add(p->out, "</ul>\n");
}

static void parts_figure(struct page *p, const struct facts_load *l,
                         const char *const *names)
{
    struct rows r = rows_of(l);
    struct str title = {0}, description = {0};

    str_addf(&title, "Where the energy goes, %s", l->label);
    for (size_t i = 0; i < l->count; i++) {
        r.rows[i].value = (struct sweep_mean){l->lines[i].kwh.mean, NAN};
        memcpy(r.rows[i].parts, l->lines[i].parts_kwh, sizeof(l->lines[i].parts_kwh));
        str_addf(&description, "%s%s:", i ? "; " : "", r.rows[i].label);
        for (int k = 0; k < FACTS_PARTS; k++) {
            str_addf(&description, " %s ", names[k]);
            html_number(&description, r.rows[i].parts[k],
                        html_digits(r.rows[i].parts[k]));
        }
    }
    const struct chart_text text = {.id = p->next_id++,
                                    .title = str_text(&title),
                                    .description = str_text(&description),
                                    .unit = "energy, kWh"};

    page_figure(p, l->label);
    chart_stacks(p->out, &text, r.rows, r.count, names, FACTS_PARTS);
    page_figure_end(p, NULL);
    str_fini(&title);
    str_fini(&description);
    rows_free(&r);
}

void page_parts(struct page *p)
{
    const char *names[FACTS_PARTS];

    for (int i = 0; i < FACTS_PARTS; i++)
        names[i] = facts_part_name((enum facts_part)i);
    page_section(p, "parts", "Where the energy goes");
    page_paragraph(p,
                   "The same energy by where it was drawn; the parts are booked one by "
                   "one and add up to the total, which is integrated on its own. The "
                   "order within a bar is that of the key.");
    part_key(p, names);
    grid(p);
    for (size_t i = 0; i < p->facts.load_count; i++)
        parts_figure(p, &p->facts.loads[i], names);
    str_add(p->out, "</div>\n");
    page_section_end(p);
}
