/* sim_meter.c - see sim_meter.h */
#include "lab/sim/sim_meter.h"

#include "base/mem.h"
#include "base/vec.h"
#include "loop/cluster.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What one node draws now, by where it is booked. */
struct node_draw {
    double device, host, idle, asleep, wake;
    int allocated, powered; /* devices */
};

/* What had been drawn in all when the power changed. */
struct meter_mark {
    double at_s, joules;
};

#define MINUTE_S   60.0
#define MARKS_LEFT 4096 /* behind the first, before the others are moved there */

struct meter {
    const struct cluster *cluster;
    const struct power_schedule *limit; /* NULL: none */
    double *device_watts;               /* (devices) */
    struct node_draw *draws;            /* (nodes) in force since since_s */
    double *since_s;                    /* (nodes) */
    double power_watts; /* of the whole cluster, in force since power_since_s */
    double power_since_s;
    bool empty_is_free;
    struct meter_totals totals;
    vec_of(struct meter_mark) marks; /* of a minute and a little more, from first on */
    size_t first;
};

static double draw_watts(const struct node_draw *d)
{
    return d->device + d->host + d->idle + d->wake; /* asleep is part of idle */
}

static struct node_draw draw_now(const struct meter *m, int n)
{
    const struct node *node = &m->cluster->nodes[n];
    struct node_draw draw = {0};
    int jobs = cluster_node_jobs(m->cluster, n);

    if (node->state == NODE_DOWN || (m->empty_is_free && jobs == 0))
        return draw;
    if (node->state == NODE_ASLEEP) {
        draw.idle = draw.asleep = node->sleep_watts;
        return draw;
    }
    draw.powered = node->device_count;
    if (node->state == NODE_WAKING)
        draw.wake = node->host_watts + cluster_idle_watts(m->cluster, n);
    else
        draw.host = node->host_watts;
    for (int i = 0; i < node->device_count; i++) {
        int d = node->first_device + i;
        bool has_job = m->cluster->devices[d].job_count > 0;

        draw.allocated += has_job;
        if (node->state == NODE_WAKING)
            continue;
        if (has_job)
            draw.device += m->device_watts[d];
        else
            draw.idle += m->cluster->types[m->cluster->devices[d].type].idle_watts;
    }
    return draw;
}

struct meter *meter_create(const struct cluster *cluster, double now_s)
{
    struct meter *m = mem_new(struct meter);

    m->cluster = cluster;
    m->device_watts = mem_array(double, (size_t)cluster->device_count);
    m->draws = mem_array(struct node_draw, (size_t)cluster->node_count);
    m->since_s = mem_array(double, (size_t)cluster->node_count);
    m->power_since_s = now_s;
    vec_push(&m->marks, (struct meter_mark){now_s, 0});
    for (int d = 0; d < cluster->device_count; d++)
        m->device_watts[d] = cluster->types[cluster->devices[d].type].idle_watts;
    for (int n = 0; n < cluster->node_count; n++) {
        m->since_s[n] = now_s;
        m->draws[n] = draw_now(m, n);
        m->power_watts += draw_watts(&m->draws[n]);
    }
    return m;
}

void meter_limit(struct meter *m, const struct power_schedule *limit)
{
    m->limit = limit;
}

void meter_destroy(struct meter *m)
{
    if (!m)
        return;
    free(m->device_watts);
    free(m->draws);
    free(m->since_s);
    vec_free(&m->marks);
    free(m);
}

static void add_draw(struct meter_totals *totals, const struct node_draw *draw,
                     double seconds)
{
    assert(seconds >= 0);
    totals->device_j += draw->device * seconds;
    totals->host_j += draw->host * seconds;
    totals->idle_j += draw->idle * seconds;
    totals->asleep_j += draw->asleep * seconds;
    totals->wake_j += draw->wake * seconds;
    totals->allocated_s += draw->allocated * seconds;
    totals->powered_s += draw->powered * seconds;
}

static void book_node(struct meter *m, int n, double now_s)
{
    add_draw(&m->totals, &m->draws[n], now_s - m->since_s[n]);
    m->since_s[n] = now_s;
}

/* Drawn until then, which is between two marks from `first` on. */
static double joules_at(const struct meter *m, double at_s)
{
    const struct meter_mark *a = &m->marks.items[m->first], *b = a + 1;

    while (b->at_s < at_s)
        a = b++;
    return a->joules + (b->joules - a->joules) * (at_s - a->at_s) / (b->at_s - a->at_s);
}

/* What may be drawn in the minute on the whole; in one that has two limits the larger
 * one, in one that is in part without infinitely much. */
static double allowed(const struct meter *m, double from_s)
{
    double first = power_schedule_at(m->limit, from_s),
           last = power_schedule_at(m->limit, from_s + MINUTE_S);

    return first > 0 && last > 0 ? fmax(first, last) : INFINITY;
}

static void note_minute(struct meter *m, double from_s)
{
    double drawn = joules_at(m, from_s + MINUTE_S) - joules_at(m, from_s);

    m->totals.peak_watts = fmax(m->totals.peak_watts, drawn / MINUTE_S);
    if (m->limit)
        m->totals.peak_share =
            fmax(m->totals.peak_share, drawn / MINUTE_S / allowed(m, from_s));
}

/* The mean over a minute is largest where the minute begins or ends with a change. */
static void note_peak(struct meter *m, double now_s)
{
    if (!(now_s > m->marks.items[m->marks.count - 1].at_s))
        return;
    vec_push(&m->marks, (struct meter_mark){now_s, m->totals.total_j});
    while (m->marks.count - m->first > 2 &&
           m->marks.items[m->first].at_s + MINUTE_S <= now_s) {
        note_minute(m, m->marks.items[m->first].at_s);
        if (m->marks.items[m->first + 1].at_s + MINUTE_S > now_s)
            break;
        m->first++;
    }
    if (m->marks.items[m->first].at_s + MINUTE_S <= now_s)
        note_minute(m, now_s - MINUTE_S);
    if (m->first >= MARKS_LEFT) {
        memmove(m->marks.items, m->marks.items + m->first,
                (m->marks.count - m->first) * sizeof(*m->marks.items));
        m->marks.count -= m->first;
        m->first = 0;
    }
}

static void book_total(struct meter *m, double now_s)
{
    m->totals.total_j += m->power_watts * (now_s - m->power_since_s);
    m->power_since_s = now_s;
    note_peak(m, now_s);
}

void meter_node(struct meter *m, int node, double now_s)
{
    struct node_draw before = m->draws[node];

    book_node(m, node, now_s);
    book_total(m, now_s);
    m->draws[node] = draw_now(m, node);
    m->power_watts += draw_watts(&m->draws[node]) - draw_watts(&before);
}

void meter_device(struct meter *m, int device, double watts, double now_s)
{
    m->device_watts[device] = watts;
    meter_node(m, m->cluster->devices[device].node, now_s);
}

void meter_free_empty_nodes(struct meter *m, double now_s)
{
    m->empty_is_free = true;
    for (int n = 0; n < m->cluster->node_count; n++)
        meter_node(m, n, now_s);
}

struct meter_totals meter_read(struct meter *m, double now_s)
{
    book_total(m, now_s);
    for (int n = 0; n < m->cluster->node_count; n++)
        book_node(m, n, now_s);
    return m->totals;
}

struct meter_totals meter_peek(const struct meter *m, double now_s)
{
    struct meter_totals totals = m->totals;

    totals.total_j += m->power_watts * (now_s - m->power_since_s);
    for (int n = 0; n < m->cluster->node_count; n++)
        add_draw(&totals, &m->draws[n], now_s - m->since_s[n]);
    return totals;
}

static bool same_draw(const struct node_draw *a, const struct node_draw *b)
{
    return a->device == b->device && a->host == b->host && a->idle == b->idle &&
           a->asleep == b->asleep && a->wake == b->wake && a->allocated == b->allocated &&
           a->powered == b->powered;
}

int meter_stale_node(const struct meter *m)
{
    for (int n = 0; n < m->cluster->node_count; n++) {
        struct node_draw now = draw_now(m, n);

        if (!same_draw(&now, &m->draws[n]))
            return n;
    }
    return -1;
}
