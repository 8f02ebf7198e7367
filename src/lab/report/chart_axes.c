/* chart_axes.c - axes of all charts, see chart.h */
#include "lab/report/chart.h"

#include "lab/report/html.h"

#include <math.h>

/* A number below the axis needs about this much. */
#define TICK_ROOM 45.0

static void tick_label(struct str *label, const struct scale *s, double tick, int digits)
{
    str_clear(label);
    if (s->log)
        digits = tick < 1 ? (int)round(-log10(tick)) : 0;
    html_number(label, tick, digits);
}

void chart_x_axis(struct str *out, const struct scale *x, double top, double bottom,
                  const char *unit)
{
    double ticks[SCALE_MAX_TICKS];
    struct str label = {0};
    int room = (int)fmin(6, fmax(2, fabs(x->at_to - x->at_from) / TICK_ROOM));
    int digits, count = scale_ticks(x, room, ticks, &digits);

    for (int i = 0; i < count; i++) {
        double at = scale_at(x, ticks[i]);

        svg_line(out, "grid", at, top, at, bottom);
        tick_label(&label, x, ticks[i], digits);
        svg_text(out, "tick", at, bottom + 15, SVG_MIDDLE, str_text(&label));
    }
    svg_text(out, "unit", (x->at_from + x->at_to) / 2, bottom + 30, SVG_MIDDLE, unit);
    str_fini(&label);
}

void chart_y_axis(struct str *out, const struct scale *y, double left, double right)
{
    double ticks[SCALE_MAX_TICKS];
    struct str label = {0};
    int digits, count = scale_ticks(y, 5, ticks, &digits);

    for (int i = 0; i < count; i++) {
        double at = scale_at(y, ticks[i]);

        svg_line(out, "grid", left, at, right, at);
        tick_label(&label, y, ticks[i], digits);
        svg_text(out, "tick", left - 5, at == y->at_from ? at : at + 4, SVG_END,
                 str_text(&label));
    }
    str_fini(&label);
}
