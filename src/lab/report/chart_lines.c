/* chart_lines.c - numbers over time, see chart.h */
#include "lab/report/chart.h"

#include "lab/report/html.h"

#include <math.h>
#include <stdio.h>

#define LEFT   44.0
#define RIGHT  (CHART_WIDTH - 10)
#define TOP    22.0
#define BOTTOM 190.0
#define KEY    17.0 /* height of a line of the key */

static void find_range(const struct chart_series *series, int count, double *x_most,
                       double *y_most)
{
    *x_most = *y_most = 0;
    for (int s = 0; s < count; s++) {
        for (int i = 0; i < series[s].count; i++) {
            *x_most = fmax(*x_most, series[s].x[i]);
            if (isfinite(series[s].y[i]))
                *y_most = fmax(*y_most, series[s].y[i]);
        }
    }
}

static void one_line(struct str *out, const struct chart_series *series, int number,
                     const struct scale *x, const struct scale *y)
{
    bool open = false;

    str_addf(out, "<path class=\"line line%d\" d=\"", number);
    for (int i = 0; i < series->count; i++) {
        if (isnan(series->y[i]))
            continue; /* joined over the gap: there was nothing to be wrong about */
        svg_point(out, open ? 'L' : 'M', scale_at(x, series->x[i]),
                  scale_at(y, series->y[i]));
        open = true;
    }
    if (!open)
        svg_point(out, 'M', x->at_from, y->at_from);
    str_add(out, "\"/>\n");
}

static void one_marks(struct str *out, const struct chart_series *series, int number,
                      const struct scale *x, const struct scale *y, const char *y_unit)
{
    struct str tip = {0};
    char cls[24];

    snprintf(cls, sizeof(cls), "mark mark%d", number);
    for (int i = 0; i < series->count; i++) {
        if (isnan(series->y[i]))
            continue;
        str_clear(&tip);
        str_addf(&tip, "%s: ", series->label);
        html_number(&tip, series->y[i], html_digits(series->y[i]));
        str_addf(&tip, " (%s)", y_unit);
        svg_mark(out, cls, (enum svg_shape)(number % 4), scale_at(x, series->x[i]),
                 scale_at(y, series->y[i]), 3, str_text(&tip));
    }
    str_fini(&tip);
}

static void key(struct str *out, const char *label, int number, double y)
{
    char cls[24];

    snprintf(cls, sizeof(cls), "line line%d", number);
    str_addf(out, "<path class=\"%s\" d=\"", cls);
    svg_point(out, 'M', LEFT, y);
    svg_point(out, 'L', LEFT + 30, y);
    str_add(out, "\"/>\n");
    snprintf(cls, sizeof(cls), "mark mark%d", number);
    svg_mark(out, cls, (enum svg_shape)(number % 4), LEFT + 15, y, 3, NULL);
    svg_text(out, "label", LEFT + 38, y + 4, SVG_START, label);
}

void chart_lines(struct str *out, const struct chart_text *text, const char *y_unit,
                 const struct chart_series *series, int count)
{
    double x_most, y_most;
    struct scale x, y;

    find_range(series, count, &x_most, &y_most);
    x = scale_linear(0, x_most, LEFT, RIGHT);
    y = scale_linear(0, 1.05 * y_most, BOTTOM, TOP);
    svg_begin(out, text->id, CHART_WIDTH, BOTTOM + 38 + KEY * count, text->title,
              text->description);
    svg_text(out, "unit", 4, 12, SVG_START, y_unit);
    chart_y_axis(out, &y, LEFT, RIGHT);
    chart_x_axis(out, &x, TOP, BOTTOM, text->unit);
    for (int s = 0; s < count; s++) {
        one_line(out, &series[s], s, &x, &y);
        one_marks(out, &series[s], s, &x, &y, y_unit);
        key(out, series[s].label, s, BOTTOM + 42 + KEY * s);
    }
    svg_end(out);
}
