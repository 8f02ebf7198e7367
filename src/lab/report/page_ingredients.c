/* page_ingredients.c - what each part of Corgi contributes; see page.h */
#include "lab/report/page.h"

#include "lab/report/html.h"

#include <string.h>

/* What a row leaves out, by its name; others are shown under their name. */
static const struct {
    const char *policy;
    const char *words;
} ingredients[] = {
    {"corgi-noshare", "without sharing a GPU"},
    {"corgi-nomoves", "without moving running jobs"},
    {"corgi-nosleep", "without letting nodes sleep"},
    {"corgi-nocaps", "without power caps"},
    {"feedback-only", "without an estimator, only feedback"},
    {"oracle", "told the true rates (a bound)"},
};

static const char *words_of(const struct facts_line *line)
{
    for (size_t i = 0; i < sizeof(ingredients) / sizeof(ingredients[0]); i++)
        if (!strcmp(ingredients[i].policy, line->row->policy->name))
            return ingredients[i].words;
    return line->row->policy->summary ? line->row->policy->summary : "";
}

static bool compares(const struct facts_line *line)
{
    return line->role == FACTS_VARIANT ||
           (line->role == FACTS_ORACLE && str_starts(line->row->policy->name, "oracle"));
}

static void one_row(struct page *p, const struct facts_line *line)
{
    str_add(p->out, "<tr><th scope=\"row\">");
    html_text(p->out, line->row->policy->name);
    str_add(p->out, "</th><td>");
    html_mean(p->out, line->against_corgi, 1, true);
    str_add(p->out, "</td><td>");
    html_mean(p->out, line->sla_against_corgi, 2, true);
    str_add(p->out, "</td><td class=\"text\">");
    html_text(p->out, words_of(line));
    str_add(p->out, "</td></tr>\n");
}

static void one_load(struct page *p, const struct facts_load *l)
{
    str_add(p->out, "<tbody><tr><th scope=\"rowgroup\" colspan=\"4\">");
    html_text(p->out, l->label);
    str_add(p->out, "</th></tr>\n");
    for (size_t i = 0; i < l->count; i++)
        if (compares(&l->lines[i]))
            one_row(p, &l->lines[i]);
    str_add(p->out, "</tbody>\n");
}

void page_ingredients(struct page *p)
{
    const struct facts_load *first = &p->facts.loads[0];
    bool any = false;

    for (size_t i = 0; i < first->count; i++)
        any = any || (first->corgi >= 0 && compares(&first->lines[i]));
    page_section(p, "ingredients", "What each ingredient contributes");
    if (!any) {
        page_paragraph(p, "No row leaves a part of Corgi out. Name some in --policy, for "
                          "instance corgi,corgi-noshare,corgi-nomoves,oracle.");
        page_section_end(p);
        return;
    }
    page_paragraph(p, "Corgi with one part taken away, against Corgi itself on the same "
                      "seeds. More energy or fewer points is what the part is worth; the "
                      "oracle's line is what perfect knowledge would still give. Parts "
                      "overlap, so the lines do not add up.");
    str_add(p->out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
                    "aria-label=\"Table of ingredients\">\n<table>\n<thead><tr>"
                    "<th scope=\"col\">row</th>"
                    "<th scope=\"col\">energy to Corgi, %</th>"
                    "<th scope=\"col\">SLA time to Corgi, points</th>"
                    "<th scope=\"col\" class=\"text\">Corgi …</th></tr></thead>\n");
    for (size_t i = 0; i < p->facts.load_count; i++)
        one_load(p, &p->facts.loads[i]);
    str_add(p->out, "</table>\n</div>\n");
    page_section_end(p);
}
