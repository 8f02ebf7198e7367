/* charts.h - the kinds of pictures of the report
 *
 * Each draws one <svg> of a load's facts, about as wide as a phone, so that its letters
 * stay readable there; the page puts several beside one another where there is room. */
#pragma once

#include "lab/report/facts.h"
#include "lab/report/svg.h"

#define CHART_WIDTH     360.0
#define CHART_MAX_LINES 6
/* More names than this do not fit beside the marks of chart_pareto(): numbers do. */
#define CHART_NAMES_MAX 9

/* Looks of a policy by what it is. */
const char *chart_class(enum facts_role role);
enum svg_shape chart_shape(enum facts_role role);

/* One row a policy with its label and its number. */
struct chart_rows {
    enum { CHART_BARS, CHART_PARTS, CHART_DOTS } kind;
    const char *title; /* the load's name is added */
    const char *unit;  /* under the axis: "energy, kWh" */
    size_t value;      /* offset of the sweep_mean in a facts_line */
    int digits;        /* of the numbers; -1: as suits each */
    /* CHART_DOTS: marks with whiskers on an axis that need not hold zero. */
    bool sign;          /* numbers above zero have one */
    double line;        /* a number that deserves one */
    double low, high;   /* the axis holds these */
    double least, most; /* and nothing beyond these: marks there become arrows */
};
void chart_rows(struct str *out, int id, const struct chart_rows *chart,
                const struct facts_load *load);

/* Energy against broken promises, by decades; a line joins the policies none beats. */
void chart_pareto(struct str *out, int id, const struct facts_load *load);

/* Errors of first estimates over time, a line a load. */
void chart_learning(struct str *out, int id, const char *title,
                    const struct facts_load *const *loads, int count);

/* Who ran where; wider than the others.  Returns how many devices are shown: a large
 * cluster is thinned out by whole nodes. */
int chart_timeline(struct str *out, int id, const char *title, const char *description,
                   const struct sim_recording *recording);
