/* pooled.c - see pooled.h */
#include "loop/model/pooled.h"

#include <math.h>

/* A sample further out than so many times the variance is an accident, not a measure. */
#define OUTLIER 12.0

/* About so many samples count; older ones fade. */
#define MEMORY 400.0

struct pooled pooled_start(double var, double weight)
{
    return (struct pooled){var * weight, weight};
}

double pooled_var(const struct pooled *p)
{
    return p->sum / p->weight;
}

void pooled_add(struct pooled *p, double square)
{
    double keep = p->weight > MEMORY ? 1 - 1 / MEMORY : 1;

    p->sum = keep * p->sum + fmin(square, OUTLIER * pooled_var(p));
    p->weight = keep * p->weight + 1;
}

void pooled_write(const struct pooled *p, struct bytes_out *out)
{
    bytes_put_real(out, p->sum);
    bytes_put_real(out, p->weight);
}

void pooled_read(struct pooled *p, struct bytes_in *in)
{
    p->sum = fmax(bytes_real(in), 0);
    p->weight = fmax(bytes_real(in), 1e-3);
}
