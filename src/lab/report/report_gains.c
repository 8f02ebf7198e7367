/* report_gains.c - report_page.c asks for the table of its sweep, lab/advise/ writes its
 * own by the same rows */
#include "lab/report/report_gains.h"

#include "lab/report/html.h"

#include <stdlib.h>

#define COLUMNS 10
#define SHORT_S 3600.0

enum kind { SERVICE, SEVERAL, SHORT, LONG, KINDS };

static int kind_of(const void *ctx, size_t job, const struct sim_job_result *result)
{
    (void)ctx;
    (void)job;
    if (result->service)
        return SERVICE;
    if (result->devices > 1)
        return SEVERAL;
    return result->asked_s <= SHORT_S ? SHORT : LONG;
}

static const char *kind_name(const void *ctx, int kind)
{
    static const char *const names[] = {
        [SERVICE] = "services",
        [SEVERAL] = "training on several GPUs",
        [SHORT] = "training of up to an hour",
        [LONG] = "longer training",
    };

    (void)ctx;
    return names[kind];
}

void report_gains_begin(struct str *out, const char *what, const char *caption)
{
    static const char *const titles[] = {
        "jobs",
        "GPU hours",
        "wait before, h",
        "with Corgi, h",
        "sooner at the end, %",
        "less energy of their GPUs, %",
        "need broken before, % of time",
        "with Corgi, %",
    };

    str_add(out, "<div class=\"scroll far\" tabindex=\"0\" role=\"region\" "
                 "aria-label=\"Who gains and who loses\"><table>");
    if (caption)
        html_element(out, "caption", caption);
    str_add(out, "<thead><tr>");
    html_element(out, "th scope=\"col\"", what);
    for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
        html_element(out, "th scope=\"col\"", titles[i]);
    str_add(out, "<th scope=\"col\" class=\"text\">in all</th></tr></thead>\n");
}

void report_gains_rows(struct str *out, const struct gains_group *groups, size_t count)
{
    static const char *const looks[] = {"saves", "costs", "same"};

    for (size_t i = 0; i < count; i++) {
        const struct gains_group *g = &groups[i];
        enum gains_lot lot = gains_lot(g);

        str_add(out, "<tr>");
        html_element(out, "th scope=\"row\"", g->name[0] ? g->name : "(no name)");
        str_addf(out, "<td>%.0f</td><td>%.1f</td><td>%.2f</td><td>%.2f</td><td>%s</td>",
                 g->jobs, g->gpu_h, g->wait_was_h, g->wait_h,
                 g->services ? "–" : html_mean(g->sooner, 1, true).text);
        str_addf(
            out,
            "<td>%s</td><td>%.2f</td><td>%.2f</td><td class=\"text %s\">%s</td></tr>\n",
            html_mean(g->saved, 1, true).text, g->broken_was, g->broken, looks[lot],
            gains_lot_names[lot]);
    }
}

void report_gains_end(struct str *out)
{
    str_add(out, "</table></div>\n");
}

static void load_rows(struct str *out, const struct facts_load *l)
{
    const struct sweep_row *was = l->lines[l->reference].row;
    const struct gains_question q = {.was = was,
                                     .now = l->lines[l->corgi].row,
                                     .groups = KINDS,
                                     .group = kind_of,
                                     .name = kind_name};
    size_t count;
    struct gains_group *groups = gains_of(&q, &count);

    str_addf(out, "<tbody><tr><th scope=\"rowgroup\" colspan=\"%d\">", COLUMNS);
    html_text(out, l->label);
    str_add(out, ", against ");
    html_text(out, was->policy->name);
    str_add(out, "</th></tr>\n");
    report_gains_rows(out, groups, count);
    str_add(out, "</tbody>\n");
    free(groups);
}

bool report_gains(struct str *out, const struct facts *facts)
{
    bool any = false;

    for (size_t i = 0; i < facts->load_count; i++) {
        const struct facts_load *l = &facts->loads[i];

        if (l->corgi < 0 || l->reference < 0)
            continue;
        if (out && !any)
            report_gains_begin(out, "kind of request", NULL);
        any = true;
        if (out)
            load_rows(out, l);
    }
    if (out && any)
        report_gains_end(out);
    return any;
}
