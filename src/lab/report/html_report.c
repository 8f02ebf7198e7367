/* html_report.c - the page from top to bottom, see html_report.h */
#include "lab/report/html_report.h"

#include "lab/report/html.h"
#include "lab/report/page.h"

#include <stdlib.h>

void page_section(struct page *p, const char *id, const char *title)
{
    str_addf(p->out, "<section id=\"%s\">\n", id);
    html_element(p->out, "h2", title);
    str_add(p->out, "\n");
}

void page_section_end(struct page *p)
{
    str_add(p->out, "</section>\n");
}

void page_paragraph(struct page *p, const char *text)
{
    html_element(p->out, "p", text);
    str_add(p->out, "\n");
}

void page_figure(struct page *p, const char *heading)
{
    str_add(p->out, "<figure>");
    html_element(p->out, "h3", heading);
    str_add(p->out, "\n");
}

void page_figure_end(struct page *p, const char *caption)
{
    if (caption)
        html_element(p->out, "figcaption", caption);
    str_add(p->out, "</figure>\n");
}

const char *page_class(enum facts_role role)
{
    static const char *const classes[] = {"corgi", "variant", "opponent", "oracle"};

    return classes[role];
}

enum svg_shape page_shape(enum facts_role role)
{
    static const enum svg_shape shapes[] = {SVG_CIRCLE, SVG_TRIANGLE, SVG_SQUARE,
                                            SVG_DIAMOND};

    return shapes[role];
}

/* The order of the page; links at its top lead there. */
static const struct {
    const char *id, *name;
    void (*write)(struct page *p);
} sections[] = {
    {"rows", "All rows", page_table},
    {"goals", "Goals", page_goals},
    {"energy", "Energy", page_energy},
    {"against", "Against the reference", page_against},
    {"promises", "Promises", page_promises},
    {"pareto", "Energy and promises", page_pareto},
    {"parts", "Where it goes", page_parts},
    {"ingredients", "Ingredients", page_ingredients},
    {"learning", "Learning", page_learning},
    {"timeline", "Timeline", page_timeline},
    {"basis", "Measured or modelled", page_basis},
    {"reading", "How to read this", page_reading},
    {"again", "Do it again", page_again},
};

static void links(struct page *p)
{
    str_add(p->out, "<nav aria-label=\"Sections\">");
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
        str_addf(p->out, "<a href=\"#%s\">%s</a> ", sections[i].id, sections[i].name);
    str_add(p->out, "</nav>\n");
}

void report_page(struct str *out, const struct report_input *input)
{
    struct page p = {.out = out, .in = input, .next_id = 1};

    facts_init(&p.facts, input->sweep);
    str_add(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
                 "<meta charset=\"utf-8\"/>\n"
                 "<meta name=\"viewport\" content=\"width=device-width, "
                 "initial-scale=1\"/>\n"
                 "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
                 "<title>Corgi: simulated energy and promises</title>\n<style>\n");
    str_add(out, page_style);
    str_add(out, "</style>\n</head>\n<body>\n<main>\n");
    page_headline(&p);
    if (p.facts.load_count > 0) {
        links(&p);
        for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
            sections[i].write(&p);
    }
    str_add(out, "</main>\n</body>\n</html>\n");
    facts_fini(&p.facts);
}
