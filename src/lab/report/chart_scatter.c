/* chart_scatter.c - two prices at once, see chart.h */
#include "lab/report/chart.h"

#include "lab/report/html.h"

#include <math.h>

#define LEFT   46.0
#define RIGHT  (CHART_WIDTH - 12)
#define TOP    24.0
#define BOTTOM 270.0
#define LETTER 11.0

struct box {
    double x, y, width, height;
};

static double overlap(const struct box *a, const struct box *b)
{
    double w = fmin(a->x + a->width, b->x + b->width) - fmax(a->x, b->x);
    double h = fmin(a->y + a->height, b->y + b->height) - fmax(a->y, b->y);

    return w > 0 && h > 0 ? w * h : 0;
}

static double outside(const struct box *b)
{
    double out = fmax(0, LEFT - b->x) + fmax(0, b->x + b->width - CHART_WIDTH);

    return 100 * (out + fmax(0, TOP - 8 - b->y) + fmax(0, b->y + b->height - BOTTOM));
}

static double crowding(const struct box *b, const struct box *taken, size_t taken_count)
{
    double sum = outside(b);

    for (size_t i = 0; i < taken_count; i++)
        sum += overlap(b, &taken[i]);
    return sum;
}

/* Beside its mark, in the first of these places with the most room. */
static struct box place_label(double x, double y, double width, const struct box *taken,
                              size_t taken_count)
{
    static const struct {
        double side, dx, dy; /* side: share of the width left of the place */
    } places[] = {{0, 8, 0},     {1, -8, 0},   {0.5, 0, -12}, {0.5, 0, 12},
                  {0, 6, -11},   {0, 6, 11},   {1, -6, -11},  {1, -6, 11},
                  {0.5, 0, -23}, {0.5, 0, 23}, {0, 12, -22},  {0, 12, 22},
                  {1, -12, -22}, {1, -12, 22}, {0, 16, -33},  {0, 16, 33}};
    struct box best = {0};
    double least = INFINITY;

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        struct box b = {.x = x + places[i].dx - places[i].side * width,
                        .y = y + places[i].dy - LETTER / 2,
                        .width = width,
                        .height = LETTER};
        double crowd = crowding(&b, taken, taken_count);

        if (crowd < least - 1e-9) {
            least = crowd;
            best = b;
        }
    }
    return best;
}

static void label_points(struct str *out, const struct chart_point *points, size_t count,
                         const struct scale *x, const struct scale *y)
{
    struct box *taken = mem_array(struct box, 2 * count);

    for (size_t i = 0; i < count; i++)
        taken[i] = (struct box){.x = scale_at(x, points[i].x) - 5,
                                .y = scale_at(y, points[i].y) - 5,
                                .width = 10,
                                .height = 10};
    for (size_t i = 0; i < count; i++) {
        double at_x = scale_at(x, points[i].x), at_y = scale_at(y, points[i].y);
        struct box b =
            place_label(at_x, at_y, svg_text_width(points[i].label), taken, count + i);

        taken[count + i] = b;
        if (fabs(b.y + LETTER / 2 - at_y) > 15)
            svg_line(out, "leader", at_x, at_y, b.x + b.width / 2,
                     b.y + (b.y > at_y ? 0 : LETTER));
        svg_text(out, points[i].front ? "label strong halo" : "label halo",
                 b.x + b.width / 2, b.y + LETTER - 2, SVG_MIDDLE, points[i].label);
    }
    free(taken);
}

/* The line through those nobody beats, from the least x on. */
static void front(struct str *out, const struct chart_point *points, size_t count,
                  const struct scale *x, const struct scale *y)
{
    double last = -INFINITY;
    bool open = false;

    for (;;) {
        const struct chart_point *next = NULL;

        for (size_t i = 0; i < count; i++)
            if (points[i].front && points[i].x > last && (!next || points[i].x < next->x))
                next = &points[i];
        if (!next)
            break;
        if (!open)
            str_add(out, "<path class=\"front\" d=\"");
        svg_point(out, open ? 'L' : 'M', scale_at(x, next->x), scale_at(y, next->y));
        open = true;
        last = next->x;
    }
    if (open)
        str_add(out, "\"/>\n");
}

static void marks(struct str *out, const struct chart_point *points, size_t count,
                  const struct scale *x, const struct scale *y,
                  const struct chart_text *text, const char *y_unit)
{
    struct str tip = {0};

    for (size_t i = 0; i < count; i++) {
        str_clear(&tip);
        str_addf(&tip, "%s: ", points[i].name);
        html_number(&tip, points[i].x, html_digits(points[i].x));
        str_addf(&tip, " (%s), ", text->unit);
        html_number(&tip, points[i].y, 2);
        str_addf(&tip, " (%s)", y_unit);
        svg_mark(out, points[i].cls, points[i].shape, scale_at(x, points[i].x),
                 scale_at(y, points[i].y), 5, str_text(&tip));
    }
    str_fini(&tip);
}

void chart_scatter(struct str *out, const struct chart_text *text,
                   const struct chart_point *points, size_t count,
                   const struct chart_scatter_axis *axis)
{
    double least = INFINITY, most = 0, room;
    struct scale x, y = scale_log(axis->least, axis->most, BOTTOM, TOP);

    for (size_t i = 0; i < count; i++) {
        least = fmin(least, points[i].x);
        most = fmax(most, points[i].x);
    }
    room = fmax(0.08 * (most - least), 0.02 * most);
    x = scale_linear(fmax(0, least - room), most + room, LEFT, RIGHT);
    svg_begin(out, text->id, CHART_WIDTH, BOTTOM + 36, text->title, text->description);
    svg_text(out, "unit", 4, 12, SVG_START, axis->y_unit);
    chart_y_axis(out, &y, LEFT, RIGHT);
    chart_x_axis(out, &x, TOP, BOTTOM, text->unit);
    svg_line(out, "goal", LEFT, scale_at(&y, axis->goal), RIGHT,
             scale_at(&y, axis->goal));
    svg_text(out, "tick halo", RIGHT, scale_at(&y, axis->goal) - 4, SVG_END,
             axis->goal_label);
    front(out, points, count, &x, &y);
    marks(out, points, count, &x, &y, text, axis->y_unit);
    label_points(out, points, count, &x, &y);
    svg_end(out);
}
