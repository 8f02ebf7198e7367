/* svg.h - the shapes, scales and axes our charts are made of, as text
 *
 * Colours are classes of the page's style sheet, so one drawing serves light and dark.
 * Every picture has a title and a description for those who do not see it; every shape
 * may have a tip, which browsers show when pointed at. */
#pragma once

#include "base/str.h"

enum svg_anchor { SVG_START, SVG_MIDDLE, SVG_END };
enum svg_shape { SVG_CIRCLE, SVG_SQUARE, SVG_TRIANGLE, SVG_DIAMOND };

/* The id must be the only one of its number on the page. */
void svg_begin(struct str *out, int id, double width, double height, const char *title,
               const char *description);
void svg_end(struct str *out);

/* Classes are our own words and written as they are; tips and texts are escaped. */
void svg_line(struct str *out, const char *cls, double x1, double y1, double x2,
              double y2);
void svg_rect(struct str *out, const char *cls, double x, double y, double width,
              double height, const char *tip); /* tip: NULL is fine */
void svg_text(struct str *out, const char *cls, double x, double y,
              enum svg_anchor anchor, const char *text);
void svg_mark(struct str *out, const char *cls, enum svg_shape shape, double x, double y,
              double size, const char *tip);

/* "M0 0", "L12.5 3" of a path that the caller opens and closes. */
void svg_point(struct str *out, char letter, double x, double y);

/* About how wide a text is, in the style sheet's chart font. */
double svg_text_width(const char *text);

#define SCALE_MAX_TICKS 12

struct scale {
    double from, to;       /* numbers; from < to */
    double at_from, at_to; /* their places; the second may be the smaller one */
    bool log;              /* from > 0 then */
};

/* A range without extent gets one, so any two finite numbers will do. */
struct scale scale_linear(double from, double to, double at_from, double at_to);

/* By decades; what is not positive counts as `least`. */
struct scale scale_log(double least, double to, double at_from, double at_to);

/* Never outside the two places: what is beyond the range lies on its edge, NaN at its
 * beginning. */
double scale_at(const struct scale *s, double value);

/* Round numbers within the range, about as many as wanted (powers of ten on a log scale);
 * returns how many.  *digits is how many behind the point tell them apart. */
int scale_ticks(const struct scale *s, int wanted, double ticks[SCALE_MAX_TICKS],
                int *digits);

/* Ticks with lines across the plot: along the bottom with the unit below them, along the
 * left with the unit above the plot. */
void svg_x_axis(struct str *out, const struct scale *x, double top, double bottom,
                const char *unit);
void svg_y_axis(struct str *out, const struct scale *y, double left, double right,
                const char *unit);
