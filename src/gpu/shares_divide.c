/* shares_divide.c - see shares_divide.h */
#include "gpu/shares_divide.h"

#include <math.h>

/* Whole microjoules by the jobs' watts; what rounding leaves goes to the last. */
static void divide_parts(const struct shares_group *g, const struct shares_fit *fit,
                         struct shares_division *d, double *dynamic, double *sum)
{
    int64_t left = g->microjoules;
    double idle = fmin(fit->watts[0] * g->seconds * 1e6, (double)g->microjoules);

    d->parts[0] = g->count ? (int64_t)idle : g->microjoules;
    left -= d->parts[0];
    *dynamic = (double)left / 1e6;
    *sum = 0;
    for (int i = 0; i < g->count; i++)
        *sum += fit->watts[g->jobs[i] + 1];
    for (int i = 0; i < g->count; i++) {
        double share = *sum > 0 ? fit->watts[g->jobs[i] + 1] / *sum : 1.0 / g->count;
        int64_t part = (int64_t)(share * *dynamic * 1e6);

        if (i == g->count - 1 || part > left)
            part = left;
        d->parts[i + 1] = part;
        left -= part;
    }
}

void shares_divide(const struct shares_group *g, const struct shares_fit *fit,
                   struct shares_division *d)
{
    double misfit;

    divide_parts(g, fit, d, &d->dynamic, &d->sum);
    misfit = g->count > 1 ? fabs(fit->together * d->sum * g->seconds - d->dynamic) : 0;
    for (int i = 0; i <= g->count; i++) {
        double share = i > 0 && d->sum > 0 ? fit->watts[g->jobs[i - 1] + 1] / d->sum : 0;

        d->misfits[i] = misfit * sqrt(share * (1 - share));
        d->meters[i] = g->microjoules > 0 ? g->error_joules * (double)d->parts[i] /
                                                (double)g->microjoules
                                          : 0;
    }
}

static void add_slopes(const struct shares_group *g, const struct shares_fit *fit,
                       const struct shares_division *d, int part, double *slope)
{
    double share;

    if (g->count == 0)
        return; /* all of it is idle's, whatever the fit */
    if (part == 0) {
        slope[0] += g->seconds;
        return;
    }
    share = d->sum > 0 ? fit->watts[g->jobs[part - 1] + 1] / d->sum : 1.0 / g->count;
    slope[0] -= share * g->seconds;
    for (int j = 0; d->sum > 0 && j < g->count; j++)
        slope[g->jobs[j] + 1] += d->dynamic * ((part - 1 == j) - share) / d->sum;
}

void shares_error_add(struct shares_error *error, const struct shares_group *g,
                      const struct shares_fit *fit, const struct shares_division *d,
                      int part)
{
    add_slopes(g, fit, d, part, error->slope);
    error->misfit2 += d->misfits[part] * d->misfits[part];
    error->meter += d->meters[part];
}

double shares_error_joules(const struct shares_error *error, const struct shares_fit *fit)
{
    double fitted = shares_fit_error(fit, error->slope);

    return sqrt(fitted * fitted + error->misfit2 + error->meter * error->meter);
}
