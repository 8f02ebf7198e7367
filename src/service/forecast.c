/* forecast.c - see forecast.h */
#include "service/forecast.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

struct forecast {
    bool known;
    vec_of(double) ends; /* of what runs, the next first */
    double sum_s;        /* of the ends */
};

struct forecast *forecast_create(void)
{
    return mem_new(struct forecast);
}

void forecast_destroy(struct forecast *o)
{
    if (!o)
        return;
    vec_free(&o->ends);
    free(o);
}

void forecast_forget(struct service *s)
{
    s->forecast->known = false;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static struct forecast *look(struct service *s)
{
    struct forecast *o = s->forecast;
    size_t count;
    struct record *const *busy = records_busy(s->records, &count);

    if (o->known)
        return o;
    o->known = true;
    o->sum_s = 0;
    vec_clear(&o->ends);
    for (size_t i = 0; i < count; i++)
        if (isfinite(busy[i]->expected_end_s)) {
            vec_push(&o->ends, busy[i]->expected_end_s);
            o->sum_s += busy[i]->expected_end_s;
        }
    if (o->ends.count > 0)
        qsort(o->ends.items, o->ends.count, sizeof(*o->ends.items), by_value);
    return o;
}

int forecast_ahead(const struct service *s, const struct job *job)
{
    const struct record *own = job->id ? records_get(s->records, job->id) : NULL;
    int ahead = records_ahead(s->records, job->priority);
    bool counted = own && own->phase <= PHASE_WAITING && !own->held && !own->over_quota;

    return ahead - (counted && own->priority >= job->priority);
}

double forecast_start_s(struct service *s, int places)
{
    const struct forecast *o = look(s);
    double now_s = service_now_s(s), n = (double)o->ends.count, mean_s;

    if (o->ends.count == 0)
        return NAN;
    if ((size_t)places <= o->ends.count)
        return fmax(o->ends.items[places - 1], now_s);
    /* As many again will have come and gone in about the time one has left. */
    mean_s = fmax(0, o->sum_s / n - now_s);
    return fmax(o->ends.items[o->ends.count - 1], now_s) + (places - n) * mean_s / n;
}
