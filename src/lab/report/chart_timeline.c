/* chart_timeline.c - which GPU ran what: report_page.c draws it of a run's recording
 *
 * One row a GPU, one lane a job on it: a job beside another is seen as such.  Pauses are
 * hollow, services have a line through them, moves a thick beginning: nothing rests on
 * colour alone. */
#include "lab/report/charts.h"

#include "lab/report/html.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WIDTH          720.0
#define LEFT           112.0
#define RIGHT          (WIDTH - 10)
#define TOP            8.0
#define LANE           5.0
#define LANES          2
#define ROW            (LANES * LANE + 2)
#define GROUP_GAP      8.0
#define MAX_DEVICES    48
#define NAME_MAX_SHOWN 10 /* letters of a node's name */
/* With more stays than this each loses its tip: the page must stay small. */
#define MAX_TIPS 3000
#define DAY_S    86400.0

struct layout {
    double *y; /* (devices) top of the row; NaN: not shown */
    int shown;
    double bottom;
    struct scale x; /* days */
    bool tips;
};

/* Of each type every k-th node, beginning with its first: all types stay in view. */
static void choose_rows(struct layout *l, const struct sim_recording *r)
{
    int step = (r->device_count + MAX_DEVICES - 1) / MAX_DEVICES;
    int type = -1, node = -1, node_of_type = 0;
    double y = TOP;

    for (int d = 0; d < r->device_count; d++) {
        const struct recording_device *device = &r->devices[d];
        bool other_type = device->type != type, other_node = device->node != node;

        node_of_type = other_type ? 0 : node_of_type + other_node;
        type = device->type;
        node = device->node;
        l->y[d] = NAN;
        if (node_of_type % step)
            continue;
        if (l->shown > 0 && other_node)
            y += other_type ? GROUP_GAP : 2;
        l->y[d] = y;
        y += ROW;
        l->shown++;
    }
    l->bottom = y;
}

static void row_labels(struct str *out, const struct layout *l,
                       const struct sim_recording *r)
{
    int type = -1, node = -1;

    for (int d = 0; d < r->device_count; d++) {
        if (isnan(l->y[d]))
            continue;
        svg_rect(out, "row", LEFT, l->y[d], RIGHT - LEFT, ROW - 2, NULL);
        if (r->devices[d].type != type)
            svg_text(out, "label strong", 2, l->y[d] + 9, SVG_START,
                     intern_name(r->names, r->devices[d].type));
        if (r->devices[d].node != node) {
            const char *name = intern_name(r->names, r->devices[d].node_name);
            size_t length = strlen(name);

            /* The end of a long name tells more: "rack4-gpu07". */
            svg_text(out, "tick", LEFT - 5, l->y[d] + 9, SVG_END,
                     length > NAME_MAX_SHOWN ? name + length - NAME_MAX_SHOWN : name);
        }
        type = r->devices[d].type;
        node = r->devices[d].node;
    }
}

static void draw_away(struct str *out, const struct layout *l,
                      const struct sim_recording *r)
{
    for (int d = 0; d < r->device_count; d++) {
        if (isnan(l->y[d]))
            continue;
        for (size_t i = 0; i < r->away.count; i++) {
            const struct recording_away *a = &r->away.items[i];
            double from = scale_at(&l->x, a->from_s / DAY_S);

            if (a->node != r->devices[d].node || a->from_s >= r->end_s)
                continue;
            svg_rect(out, a->state == NODE_DOWN ? "down" : "asleep", from, l->y[d],
                     scale_at(&l->x, a->to_s / DAY_S) - from, ROW - 2, NULL);
        }
    }
}

static void span_tip(struct str *tip, const struct sim_recording *r,
                     const struct recording_span *s)
{
    static const char *const whys[] = {"", ", moved here", ", restarted"};

    str_clear(tip);
    str_addf(tip, "job %llu, %s, %s, %.1f h from day %.2f%s", (unsigned long long)s->job,
             intern_name(r->names, s->name),
             s->kind == JOB_INFERENCE ? "service" : "training",
             (s->to_s - s->from_s) / 3600, s->from_s / DAY_S, whys[s->why]);
}

static void draw_span(struct str *out, const struct layout *l,
                      const struct sim_recording *r, const struct recording_span *s,
                      int lane, struct str *tip)
{
    double from = scale_at(&l->x, s->from_s / DAY_S);
    double ready = scale_at(&l->x, s->ready_s / DAY_S);
    double to = scale_at(&l->x, s->to_s / DAY_S);
    double y = l->y[s->device] + lane * LANE;
    bool service = s->kind == JOB_INFERENCE;

    if (ready - from > 0.5)
        svg_rect(out, "pause", from, y + 0.5, ready - from, LANE - 1, NULL);
    if (l->tips)
        span_tip(tip, r, s);
    svg_rect(out, service ? "span service" : "span training", ready, y + 0.5,
             fmax(0.4, to - ready), LANE - 1, l->tips ? str_text(tip) : NULL);
    if (service && to - ready > 3)
        svg_line(out, "through", ready, y + LANE / 2, to, y + LANE / 2);
    if (s->why != RECORDING_STARTED)
        svg_rect(out, s->why == RECORDING_MOVED ? "moved" : "restarted", from, y, 1.6,
                 LANE, NULL);
}

/* A stay takes the first lane of its device that is free; with more jobs than lanes the
 * last one is shared. */
static void draw_spans(struct str *out, const struct layout *l,
                       const struct sim_recording *r)
{
    double *free_s = mem_array(double, (size_t)r->device_count *LANES);
    struct str tip = {0};

    for (size_t i = 0; i < r->spans.count; i++) { /* by their beginning */
        const struct recording_span *s = &r->spans.items[i];
        double *lanes = &free_s[(size_t)s->device * LANES];
        int lane = 0;

        if (isnan(l->y[s->device]) || s->from_s >= r->end_s)
            continue;
        while (lane + 1 < LANES && lanes[lane] > s->from_s)
            lane++;
        lanes[lane] = fmax(lanes[lane], s->to_s);
        draw_span(out, l, r, s, lane, &tip);
    }
    str_fini(&tip);
    free(free_s);
}

int chart_timeline(struct str *out, int id, const char *title, const char *description,
                   const struct sim_recording *r)
{
    struct layout l = {.y = mem_array(double, (size_t)r->device_count + 1)};

    choose_rows(&l, r);
    l.x = scale_linear(0, r->end_s / DAY_S, LEFT, RIGHT);
    l.tips = r->spans.count <= MAX_TIPS;
    svg_begin(out, id, WIDTH, l.bottom + 36, title, description);
    row_labels(out, &l, r);
    draw_away(out, &l, r);
    svg_x_axis(out, &l.x, TOP, l.bottom, "time since the start, days");
    draw_spans(out, &l, r);
    svg_end(out);
    free(l.y);
    return l.shown;
}
