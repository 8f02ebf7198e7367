/* page.h - the sections of the report's page, shared by page*.c */
#ifndef CORGI_LAB_REPORT_PAGE_H
#define CORGI_LAB_REPORT_PAGE_H

#include "lab/report/chart.h"
#include "lab/report/facts.h"
#include "lab/report/html_report.h"

struct page {
    struct str *out;
    const struct report_input *in;
    struct facts facts;
    int next_id; /* of the next svg */
};

extern const char page_style[];

/* What is common to sections: "<section id=...><h2>...", a paragraph, a figure's end. */
void page_section(struct page *p, const char *id, const char *title);
void page_section_end(struct page *p);
void page_paragraph(struct page *p, const char *text);
void page_figure(struct page *p, const char *heading);
void page_figure_end(struct page *p, const char *caption); /* NULL: none */

/* Looks of a policy by what it is. */
const char *page_class(enum facts_role role);
enum svg_shape page_shape(enum facts_role role);

void page_headline(struct page *p);
void page_table(struct page *p);
void page_energy(struct page *p);
void page_against(struct page *p);
void page_promises(struct page *p);
void page_pareto(struct page *p);
void page_parts(struct page *p);
void page_ingredients(struct page *p);
void page_learning(struct page *p);
void page_quarters(struct page *p); /* the end of that section */
void page_goals(struct page *p);
void page_timeline(struct page *p);
void page_basis(struct page *p);
void page_reading(struct page *p);
void page_again(struct page *p);

#endif
