/* chart_pareto.c - energy and broken promises at once; report_page.c calls it with the
 * facts of a load */
#include "lab/report/charts.h"

#include "lab/report/html.h"

#include <math.h>

#define PARETO_LEFT   46.0
#define PARETO_RIGHT  (CHART_WIDTH - 12)
#define PARETO_TOP    24.0
#define PARETO_BOTTOM 270.0
#define LETTER        11.0
/* Below this share of job-time, in percent, broken promises are all drawn alike. */
#define BROKEN_LEAST 0.01

static const char pareto_x[] = "energy, kWh";
static const char pareto_y[] = "job-time with a broken promise, %";

struct box {
    double x, y, width, height;
};

struct pareto {
    const struct facts_load *load;
    struct scale x, y;
};

static double broken(const struct facts_line *line)
{
    return 100 - line->sla_time.mean;
}

static double overlap(const struct box *a, const struct box *b)
{
    double w = fmin(a->x + a->width, b->x + b->width) - fmax(a->x, b->x);
    double h = fmin(a->y + a->height, b->y + b->height) - fmax(a->y, b->y);

    return w > 0 && h > 0 ? w * h : 0;
}

static double crowding(const struct box *b, const struct box *taken, size_t taken_count)
{
    double out = fmax(0, PARETO_LEFT - b->x) + fmax(0, b->x + b->width - CHART_WIDTH) +
                 fmax(0, PARETO_TOP - 8 - b->y) +
                 fmax(0, b->y + b->height - PARETO_BOTTOM);
    double sum = 100 * out;

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

static void label_points(struct str *out, const struct pareto *p)
{
    size_t count = p->load->count;
    struct box *taken = mem_array(struct box, 2 * count); /* marks, then labels */

    for (size_t i = 0; i < count; i++)
        taken[i] = (struct box){.x = scale_at(&p->x, p->load->lines[i].kwh.mean) - 5,
                                .y = scale_at(&p->y, broken(&p->load->lines[i])) - 5,
                                .width = 10,
                                .height = 10};
    for (size_t i = 0; i < count; i++) {
        const struct facts_line *line = &p->load->lines[i];
        double x = taken[i].x + 5, y = taken[i].y + 5;
        struct html_figure number = html_number((double)i + 1, 0);
        const char *label =
            count > CHART_NAMES_MAX ? number.text : line->row->policy->name;
        struct box b = place_label(x, y, svg_text_width(label), taken, count + i);

        taken[count + i] = b;
        if (fabs(b.y + LETTER / 2 - y) > 15)
            svg_line(out, "leader", x, y, b.x + b.width / 2,
                     b.y + (b.y > y ? 0 : LETTER));
        svg_text(out, line->on_front ? "label strong halo" : "label halo",
                 b.x + b.width / 2, b.y + LETTER - 2, SVG_MIDDLE, label);
    }
    free(taken);
}

/* The line through those nobody beats, from the least energy on. */
static void draw_front(struct str *out, const struct pareto *p)
{
    double last = -INFINITY;
    bool open = false;

    for (;;) {
        const struct facts_line *next = NULL;

        for (size_t i = 0; i < p->load->count; i++) {
            const struct facts_line *line = &p->load->lines[i];

            if (line->on_front && line->kwh.mean > last &&
                (!next || line->kwh.mean < next->kwh.mean))
                next = line;
        }
        if (!next)
            break;
        if (!open)
            str_add(out, "<path class=\"front\" d=\"");
        svg_point(out, open ? 'L' : 'M', scale_at(&p->x, next->kwh.mean),
                  scale_at(&p->y, broken(next)));
        open = true;
        last = next->kwh.mean;
    }
    if (open)
        str_add(out, "\"/>\n");
}

static void draw_points(struct str *out, const struct pareto *p)
{
    struct str tip = {0};

    for (size_t i = 0; i < p->load->count; i++) {
        const struct facts_line *line = &p->load->lines[i];
        double kwh = line->kwh.mean;

        str_clear(&tip);
        str_addf(&tip, "%s: %s (%s), %s (%s)", line->row->policy->name,
                 html_number(kwh, html_digits(kwh)).text, pareto_x,
                 html_number(broken(line), 2).text, pareto_y);
        svg_mark(out, chart_class(line->role), chart_shape(line->role),
                 scale_at(&p->x, kwh), scale_at(&p->y, broken(line)), 5, str_text(&tip));
    }
    str_fini(&tip);
}

void chart_pareto(struct str *out, int id, const struct facts_load *load)
{
    struct pareto p = {.load = load,
                       .y = scale_log(BROKEN_LEAST, 100, PARETO_BOTTOM, PARETO_TOP)};
    double least = INFINITY, most = 0, room, goal = scale_at(&p.y, 100 - GOALS_SLA_TIME);
    struct str title = {0}, description = {0};

    str_addf(&title, "Energy against broken promises, %s", load->label);
    str_add(&description, "Best in energy and kept job-time at once:");
    for (size_t i = 0; i < load->count; i++) {
        least = fmin(least, load->lines[i].kwh.mean);
        most = fmax(most, load->lines[i].kwh.mean);
        if (load->lines[i].on_front)
            str_addf(&description, " %s", load->lines[i].row->policy->name);
    }
    room = fmax(0.08 * (most - least), 0.02 * most);
    p.x = scale_linear(fmax(0, least - room), most + room, PARETO_LEFT, PARETO_RIGHT);
    svg_begin(out, id, CHART_WIDTH, PARETO_BOTTOM + 36, str_text(&title),
              str_text(&description));
    svg_y_axis(out, &p.y, PARETO_LEFT, PARETO_RIGHT, pareto_y);
    svg_x_axis(out, &p.x, PARETO_TOP, PARETO_BOTTOM, pareto_x);
    svg_line(out, "goal", PARETO_LEFT, goal, PARETO_RIGHT, goal);
    svg_text(out, "tick halo", PARETO_RIGHT, goal - 4, SVG_END, "goal");
    draw_front(out, &p);
    draw_points(out, &p);
    label_points(out, &p);
    svg_end(out);
    str_fini(&title);
    str_fini(&description);
}
