/* report_private.h - the page in the making, shared by report_page.c and report_tables.c
 */
#pragma once

#include "lab/report/charts.h"
#include "lab/report/report_page.h"

struct page {
    struct str *out;
    const struct report_input *in;
    struct facts facts;
    struct goals goals;
    int learning_count;
    const struct facts_load *learning[CHART_MAX_LINES]; /* with first estimates */
    int next_id;                                        /* of the next svg */
};

/* Rows of the tables whose heads are in the template. */
void tables_rows(struct page *p);
void tables_goals(struct page *p);
void tables_ingredients(struct page *p);
void tables_learner(struct page *p);
void tables_learning_rows(struct page *p);
void tables_trial_rows(struct page *p);
void tables_quarter_rows(struct page *p);

/* Is there a row that leaves a part of Corgi out? */
bool tables_have_ingredients(const struct facts *facts);
