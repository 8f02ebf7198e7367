/* chart_learning.c - errors of first estimates over time; report_page.c calls it with the
 * loads that have some */
#include "lab/report/charts.h"

#include "lab/report/html.h"

#include <math.h>
#include <stdio.h>

#define LINES_LEFT   44.0
#define LINES_RIGHT  (CHART_WIDTH - 10)
#define LINES_TOP    22.0
#define LINES_BOTTOM 190.0
#define KEY          17.0 /* height of a line of the key */
#define BINS         12
#define DAY_S        86400.0

static const char learning_y[] = "mean error of first estimates, %";

/* One load's curve: told apart by dashes and by marks. */
struct learning_curve {
    int number;
    const char *label;
    double days[BINS], percent[BINS]; /* percent NaN: a gap */
};

static void draw_curve(struct str *out, const struct learning_curve *c,
                       const struct scale *x, const struct scale *y)
{
    struct str tip = {0};
    bool open = false;
    char cls[24];

    str_addf(out, "<path class=\"line line%d\" d=\"", c->number);
    for (int i = 0; i < BINS; i++) {
        if (isnan(c->percent[i]))
            continue; /* joined over the gap: there was nothing to be wrong about */
        svg_point(out, open ? 'L' : 'M', scale_at(x, c->days[i]),
                  scale_at(y, c->percent[i]));
        open = true;
    }
    if (!open)
        svg_point(out, 'M', x->at_from, y->at_from);
    str_add(out, "\"/>\n");
    snprintf(cls, sizeof(cls), "mark mark%d", c->number);
    for (int i = 0; i < BINS; i++) {
        double v = c->percent[i];

        if (isnan(v))
            continue;
        str_clear(&tip);
        str_addf(&tip, "%s: %s (%s)", c->label, html_number(v, html_digits(v)).text,
                 learning_y);
        svg_mark(out, cls, (enum svg_shape)(c->number % 4), scale_at(x, c->days[i]),
                 scale_at(y, v), 3, str_text(&tip));
    }
    str_fini(&tip);
}

static void draw_key(struct str *out, const struct learning_curve *c)
{
    double y = LINES_BOTTOM + 42 + KEY * c->number;
    char cls[24];

    str_addf(out, "<path class=\"line line%d\" d=\"", c->number);
    svg_point(out, 'M', LINES_LEFT, y);
    svg_point(out, 'L', LINES_LEFT + 30, y);
    str_add(out, "\"/>\n");
    snprintf(cls, sizeof(cls), "mark mark%d", c->number);
    svg_mark(out, cls, (enum svg_shape)(c->number % 4), LINES_LEFT + 15, y, 3, NULL);
    svg_text(out, "label", LINES_LEFT + 38, y + 4, SVG_START, c->label);
}

void chart_learning(struct str *out, int id, const char *title,
                    const struct facts_load *const *loads, int count)
{
    struct learning_curve curves[CHART_MAX_LINES];
    double x_most = 0, y_most = 0;
    struct scale x, y;

    for (int s = 0; s < count; s++) {
        struct learning_curve *c = &curves[s];

        c->number = s;
        c->label = loads[s]->label;
        facts_learning(loads[s], BINS, c->percent, c->days);
        for (int i = 0; i < BINS; i++) {
            c->days[i] /= DAY_S;
            x_most = fmax(x_most, c->days[i]);
            y_most = fmax(y_most, c->percent[i]); /* NaN does not count */
        }
    }
    x = scale_linear(0, x_most, LINES_LEFT, LINES_RIGHT);
    y = scale_linear(0, 1.05 * y_most, LINES_BOTTOM, LINES_TOP);
    svg_begin(out, id, CHART_WIDTH, LINES_BOTTOM + 38 + KEY * count, title,
              "One line a load; the table beside it has the numbers by quarter.");
    svg_y_axis(out, &y, LINES_LEFT, LINES_RIGHT, learning_y);
    svg_x_axis(out, &x, LINES_TOP, LINES_BOTTOM, "time since the start, days");
    for (int s = 0; s < count; s++) {
        draw_curve(out, &curves[s], &x, &y);
        draw_key(out, &curves[s]);
    }
    svg_end(out);
}
