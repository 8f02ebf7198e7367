/* axis_scale.c - see axis_scale.h */
#include "lab/report/axis_scale.h"

#include <math.h>

struct scale scale_linear(double from, double to, double at_from, double at_to)
{
    if (!isfinite(from) || !isfinite(to)) {
        from = 0;
        to = 1;
    }
    if (from > to) {
        double other = from;

        from = to;
        to = other;
    }
    if (to - from < 1e-9 * fmax(1e-6, fmax(fabs(from), fabs(to))))
        to = from + fmax(1e-6, fabs(from));
    return (struct scale){.from = from, .to = to, .at_from = at_from, .at_to = at_to};
}

struct scale scale_log(double least, double to, double at_from, double at_to)
{
    if (!isfinite(to) || to <= least)
        to = 10 * least;
    return (struct scale){
        .from = least, .to = to, .at_from = at_from, .at_to = at_to, .log = true};
}

double scale_at(const struct scale *s, double value)
{
    double share;

    if (isnan(value))
        return s->at_from;
    value = fmin(fmax(value, s->from), s->to);
    share = s->log ? log(value / s->from) / log(s->to / s->from)
                   : (value - s->from) / (s->to - s->from);
    return s->at_from + share * (s->at_to - s->at_from);
}

static int log_ticks(const struct scale *s, double ticks[SCALE_MAX_TICKS], int *digits)
{
    int first = (int)ceil(log10(s->from) - 1e-9), count = 0;

    for (int power = first; power <= log10(s->to) + 1e-9 && count < SCALE_MAX_TICKS;
         power++)
        ticks[count++] = pow(10, power);
    *digits = first < 0 ? -first : 0;
    return count;
}

int scale_ticks(const struct scale *s, int wanted, double ticks[SCALE_MAX_TICKS],
                int *digits)
{
    double rough = (s->to - s->from) / (wanted > 0 ? wanted : 1);
    double decade = pow(10, floor(log10(rough)));
    double step = rough / decade < 1.5   ? decade
                  : rough / decade < 3.5 ? 2 * decade
                  : rough / decade < 7.5 ? 5 * decade
                                         : 10 * decade;
    double first = ceil(s->from / step - 1e-9);
    int count = 0;

    if (s->log)
        return log_ticks(s, ticks, digits);
    for (; (first + count) * step <= s->to + 1e-9 * step && count < SCALE_MAX_TICKS;)
        ticks[count] = (first + count) * step, count++;
    *digits = (int)fmax(0, -floor(log10(step) + 1e-9));
    return count;
}
