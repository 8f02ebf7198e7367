/* chart.h - the kinds of pictures of the report
 *
 * Each is drawn about as wide as a phone, so that its letters stay readable there; pages
 * put several beside one another where there is room. */
#ifndef CORGI_LAB_REPORT_CHART_H
#define CORGI_LAB_REPORT_CHART_H

#include "lab/report/axis_scale.h"
#include "lab/report/svg.h"
#include "lab/sim/sweep.h"

#define CHART_WIDTH     360.0
#define CHART_MAX_PARTS 6

struct chart_text {
    int id; /* of the svg on its page */
    const char *title;
    const char *description;
    const char *unit; /* under the axis: "energy, kWh" */
};

/* One policy in a chart of rows. */
struct chart_row {
    const char *label;
    const char *cls; /* of its shapes */
    enum svg_shape shape;
    bool strong; /* the label stands out */
    struct sweep_mean value;
    double parts[CHART_MAX_PARTS]; /* chart_stacks */
};

/* Bars from zero with whiskers. */
void chart_bars(struct str *out, const struct chart_text *text,
                const struct chart_row *rows, size_t count);

/* Marks with whiskers; the axis need not hold zero.  `line`: a number that deserves one,
 * NaN: none.  Numbers have a sign when `sign`. */
struct chart_dots_axis {
    double line;
    double low, high;   /* the axis holds these */
    double least, most; /* and nothing beyond these: marks there become arrows */
    bool sign;
    int digits;
};
void chart_dots(struct str *out, const struct chart_text *text,
                const struct chart_row *rows, size_t count,
                const struct chart_dots_axis *axis);

/* Bars of parts; class "part0" and so on. */
void chart_stacks(struct str *out, const struct chart_text *text,
                  const struct chart_row *rows, size_t count,
                  const char *const *part_names, int part_count);

struct chart_series {
    const char *label;
    int count;
    const double *x, *y; /* (count) y NaN: a gap */
};
#define CHART_MAX_SERIES 6

/* Lines told apart by dashes and by marks; the y axis begins at zero. */
void chart_lines(struct str *out, const struct chart_text *text, const char *y_unit,
                 const struct chart_series *series, int count);

struct chart_point {
    const char *label; /* beside it */
    const char *name;  /* in its tip */
    const char *cls;
    enum svg_shape shape;
    double x, y;
    bool front; /* joined by a line with its like */
};

/* Less is better on both axes; y by decades from `least` on. */
struct chart_scatter_axis {
    const char *y_unit;
    double least, most;
    double goal; /* a line at this y */
    const char *goal_label;
};
void chart_scatter(struct str *out, const struct chart_text *text,
                   const struct chart_point *points, size_t count,
                   const struct chart_scatter_axis *axis);

/* Who ran where; wider than the others.  Returns how many devices are shown: a large
 * cluster is thinned out by whole nodes. */
int chart_timeline(struct str *out, const struct chart_text *text,
                   const struct sim_recording *recording);

/* For the charts themselves: ticks along the bottom, and the unit below them. */
void chart_x_axis(struct str *out, const struct scale *x, double top, double bottom,
                  const char *unit);
void chart_y_axis(struct str *out, const struct scale *y, double left, double right);

#endif
