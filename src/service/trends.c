/* trends.c - how the cluster was over the last day: power, queue, quality of estimates
 *
 * service.c calls every tick; a point is noted when a minute of the daemon's clock has
 * passed.  GET /v1/trends reads them.  They are kept in memory only: the store has joules
 * by hour and measurements by job, and a day begins anew with the daemon. */
#include "service/handlers.h"

#include "base/mem.h"
#include "service/views.h"

#include <math.h>
#include <stdlib.h>

#define POINT_S    60.0
#define MAX_POINTS 1440

struct trend_point {
    double at_s;
    double host_watts;
    double waiting, running;
    double kept_share, error, coverage; /* NaN: nothing known yet */
};

struct trends {
    int type_count;
    size_t first, count; /* of the ring */
    struct trend_point points[MAX_POINTS];
    double *type_watts; /* (MAX_POINTS, types) */
};

static size_t slot(const struct trends *t, size_t nth)
{
    return (t->first + nth) % MAX_POINTS;
}

static struct trends *create(int type_count)
{
    struct trends *t = mem_new(struct trends);

    t->type_count = type_count;
    t->type_watts = mem_array(double, (size_t)MAX_POINTS *(size_t)type_count);
    return t;
}

void trends_end(struct service *s)
{
    if (s->trends)
        free(s->trends->type_watts);
    free(s->trends);
    s->trends = NULL;
}

static void note_power(const struct service *s, struct trend_point *p, double *watts)
{
    const struct cluster *c = loop_cluster(s->loop);

    for (int t = 0; t < c->type_count; t++)
        watts[t] = 0;
    for (int n = 0; n < c->node_count; n++)
        p->host_watts += views_host_watts(&c->nodes[n]);
    for (int d = 0; d < c->device_count; d++)
        if (isfinite(s->devices[d].watts))
            watts[c->devices[d].type] += s->devices[d].watts;
}

void trends_tick(struct service *s)
{
    const struct refine_score *score = loop_score(s->loop);
    struct records_counts queue = records_counts(s->records);
    double now_s = service_now_s(s);
    struct trends *t;
    size_t at, running;

    if (!s->trends)
        s->trends = create(loop_cluster(s->loop)->type_count);
    t = s->trends;
    if (t->count > 0 && now_s < t->points[slot(t, t->count - 1)].at_s + POINT_S)
        return;
    if (t->count == MAX_POINTS)
        t->first = slot(t, 1);
    else
        t->count++;
    at = slot(t, t->count - 1);
    records_busy(s->records, &running);
    t->points[at] = (struct trend_point){
        .at_s = now_s,
        .waiting = queue.waiting,
        .running = (double)running,
        .kept_share = s->promised_s > 0 ? s->kept_s / s->promised_s : NAN,
        .error = score->observations > 0 ? score->abs_log_error : NAN,
        .coverage = score->observations > 0 ? score->coverage : NAN};
    note_power(s, &t->points[at], &t->type_watts[at * (size_t)t->type_count]);
}

/* ---- GET /v1/trends ---------------------------------------------------------------- */

/* The mean of the points of one interval; what was not known in all of them is that of
 * the last. */
struct interval {
    double until_s;
    int count;
    struct trend_point sum;
    double *type_watts; /* (types) */
};

static void add_point(struct interval *x, const struct trends *t, size_t at)
{
    const struct trend_point *p = &t->points[at];

    x->count++;
    x->sum.host_watts += p->host_watts;
    x->sum.waiting += p->waiting;
    x->sum.running += p->running;
    x->sum.at_s = p->at_s;
    x->sum.kept_share = p->kept_share;
    x->sum.error = p->error;
    x->sum.coverage = p->coverage;
    for (int i = 0; i < t->type_count; i++)
        x->type_watts[i] += t->type_watts[at * (size_t)t->type_count + (size_t)i];
}

static void end_interval(struct json_out *out, const struct trends *t, struct interval *x)
{
    double watts = x->sum.host_watts;

    if (x->count == 0)
        return;
    json_out_begin_object(out);
    json_out_key_number(out, "at_s", x->sum.at_s);
    json_out_key_number(out, "host_watts", x->sum.host_watts / x->count);
    json_out_key_array(out, "type_watts");
    for (int i = 0; i < t->type_count; i++) {
        watts += x->type_watts[i];
        json_out_number(out, x->type_watts[i] / x->count);
        x->type_watts[i] = 0;
    }
    json_out_end(out);
    json_out_key_number(out, "watts", watts / x->count);
    json_out_key_number(out, "waiting", x->sum.waiting / x->count);
    json_out_key_number(out, "running", x->sum.running / x->count);
    json_out_key_number(out, "kept_share", x->sum.kept_share);
    json_out_key_number(out, "error", x->sum.error);
    json_out_key_number(out, "coverage", x->sum.coverage);
    json_out_end(out);
    x->count = 0;
    x->sum = (struct trend_point){0};
}

static void write_points(struct json_out *out, const struct trends *t, double from_s,
                         double step_s)
{
    struct interval x = {.type_watts = mem_array(double, (size_t)t->type_count)};

    for (size_t i = 0; i < t->count; i++) {
        double at_s = t->points[slot(t, i)].at_s;

        if (at_s < from_s)
            continue;
        if (at_s >= x.until_s) {
            end_interval(out, t, &x);
            x.until_s = (floor(at_s / step_s) + 1) * step_s;
        }
        add_point(&x, t, slot(t, i));
    }
    end_interval(out, t, &x);
    free(x.type_watts);
}

void handle_trends(void *ctx, struct request *r)
{
    struct service *s = ctx;
    const struct cluster *c = loop_cluster(s->loop);
    double from_s = 0, step_s = POINT_S;
    struct handlers_answer a;

    if (!handlers_number(r, "from_s", 0, API_MAX_TIME_S, &from_s) ||
        !handlers_number(r, "step_s", 1, 1e9, &step_s))
        return;
    step_s = fmax(step_s, POINT_S);
    handlers_begin(&a, r, "types");
    for (int t = 0; t < c->type_count; t++)
        json_out_string(&a.out, c->types[t].name);
    json_out_end(&a.out);
    json_out_key_number(&a.out, "step_s", step_s);
    json_out_key_array(&a.out, "points");
    if (s->trends)
        write_points(&a.out, s->trends, from_s, step_s);
    handlers_answer(&a, 200);
}
