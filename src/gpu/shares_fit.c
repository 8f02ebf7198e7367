/* shares_fit.c - watts of idle and of each job, and a group's energy divided by them
 *
 * gpu_shares.c hands in its groups of intervals with each question; the fit and the
 * divisions go back to it and nothing is kept. */
#include "gpu/shares_private.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How far power adds up.  Jobs that share draw up to a fifth less than their sum; by how
 * much on this device is fitted too, from this prior.  What one set differs from another
 * in that stays as an error of the dynamic part.  A set of one or none repeats itself to
 * about one percent (temperature, clocks). */
#define TOGETHER        0.92
#define TOGETHER_SD     0.06
#define TOGETHER_MISFIT 0.06
#define ALONE_MISFIT    0.01
#define ROUNDS          4 /* of fitting watts and factor in turn */

/* Power wanders for some intervals at a time: so many count as one. */
#define WANDER 3.0

/* Of the data sheet's idle draw, and of a guess without a sheet. */
#define IDLE_SD       0.3
#define IDLE_GUESS    0.25 /* of the least power seen */
#define IDLE_GUESS_SD 0.5  /* the same */

struct normal {
    int terms;
    double a[SHARES_TERMS * SHARES_TERMS];
    double b[SHARES_TERMS];
};

static double group_watts(const struct shares_group *group)
{
    if (group->seen_s > 0)
        return group->seen_joules / group->seen_s;
    return (double)group->microjoules / 1e6 / group->seconds; /* a hint, no evidence */
}

static double least_watts(const struct shares_group *groups, size_t count)
{
    double least = INFINITY;

    for (size_t i = 0; i < count; i++)
        least = fmin(least, group_watts(&groups[i]));
    return isfinite(least) ? least : 0;
}

static void add_row(struct normal *n, const struct shares_group *group, double together,
                    double var)
{
    int terms[GPU_SHARES_MAX_TOGETHER + 1] = {0};
    double watts = group_watts(group), factor = group->count > 1 ? together : 1;

    for (int i = 0; i < group->count; i++)
        terms[i + 1] = group->jobs[i] + 1;
    for (int i = 0; i <= group->count; i++) {
        double left = i ? factor : 1;

        n->b[terms[i]] += left * watts / var;
        for (int j = 0; j <= group->count; j++)
            n->a[terms[i] * n->terms + terms[j]] += left * (j ? factor : 1) / var;
    }
}

static void add_prior(struct normal *n, int term, double mean, double sd)
{
    n->a[term * n->terms + term] += 1 / (sd * sd);
    n->b[term] += mean / (sd * sd);
}

/* Of one interval, from all groups together: the noise of the meter and of the jobs. */
static double interval_var(const struct shares_group *groups, size_t count)
{
    double spread = 0, freedom = 0;

    for (size_t i = 0; i < count; i++) {
        spread += groups[i].spread;
        freedom += fmax(groups[i].intervals - 1, 0);
    }
    return freedom > 0 ? spread / freedom : 0;
}

static double group_var(const struct shares_group *group, double one_interval,
                        double idle)
{
    double watts = group_watts(group);
    double misfit = group->count > 1 ? TOGETHER_MISFIT * fmax(watts - idle, 0) : 0;
    double alone = ALONE_MISFIT * watts;
    double noise = one_interval / fmax(group->intervals / WANDER, 1);

    /* A watt is the least anyone reads. */
    return noise + misfit * misfit + alone * alone + group->extra_var + 0.01;
}

/* What a job draws if all that is known are its companions: its part of what is above
 * idle, by activity where that is told. */
static void job_prior(const struct shares_group *groups, size_t count,
                      const double *activity, int job, double idle, double *mean,
                      double *sd)
{
    double dynamic = 0, part = 0, seconds = 0;

    for (size_t i = 0; i < count; i++) {
        const struct shares_group *g = &groups[i];
        double all = 0, above = fmax(group_watts(g) - idle, 0);
        bool in = false, told = true;

        for (int j = 0; j < g->count; j++) {
            in = in || g->jobs[j] == job;
            told = told && isfinite(activity[g->jobs[j]]);
            all += isfinite(activity[g->jobs[j]]) ? activity[g->jobs[j]] : 0;
        }
        if (!in)
            continue;
        seconds += g->seconds;
        dynamic += above * g->seconds;
        part +=
            above * g->seconds * (told && all > 0 ? activity[job] / all : 1.0 / g->count);
    }
    *mean = seconds > 0 ? part / seconds : 0;
    *sd = (seconds > 0 ? dynamic / seconds : 0) + 5;
}

/* In place: a becomes its inverse.  Symmetric and positive definite by its prior. */
static void invert(double *a, int n)
{
    double inverse[SHARES_TERMS * SHARES_TERMS] = {0};

    /* Cholesky, then the inverse column by column. */
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            double sum = a[i * n + j];

            for (int k = 0; k < j; k++)
                sum -= a[i * n + k] * a[j * n + k];
            a[i * n + j] = i == j ? sqrt(fmax(sum, 1e-12)) : sum / a[j * n + j];
        }
    for (int column = 0; column < n; column++) {
        double x[SHARES_TERMS];

        for (int i = 0; i < n; i++) {
            x[i] = i == column;
            for (int k = 0; k < i; k++)
                x[i] -= a[i * n + k] * x[k];
            x[i] /= a[i * n + i];
        }
        for (int i = n - 1; i >= 0; i--) {
            for (int k = i + 1; k < n; k++)
                x[i] -= a[k * n + i] * x[k];
            x[i] /= a[i * n + i];
            inverse[i * n + column] = x[i];
        }
    }
    memcpy(a, inverse, sizeof(double) * (size_t)(n * n));
}

static void solve(struct shares_fit *fit, struct normal *n)
{
    invert(n->a, n->terms);
    for (int i = 0; i < n->terms; i++) {
        double watts = 0;

        for (int j = 0; j < n->terms; j++)
            watts += n->a[i * n->terms + j] * n->b[j];
        fit->watts[i] = fmax(watts, 0);
    }
    memcpy(fit->var, n->a, sizeof(double) * (size_t)(n->terms * n->terms));
}

/* The factor that the sets of several jobs show, given everybody's watts. */
static double fit_together(const struct shares_fit *fit,
                           const struct shares_group *groups, size_t count,
                           const double *vars)
{
    double above = TOGETHER / (TOGETHER_SD * TOGETHER_SD);
    double below = 1 / (TOGETHER_SD * TOGETHER_SD);

    for (size_t i = 0; i < count; i++) {
        const struct shares_group *g = &groups[i];
        double sum = 0;

        for (int j = 0; j < g->count; j++)
            sum += fit->watts[g->jobs[j] + 1];
        if (g->count < 2 || !(g->seen_s > 0))
            continue;
        above += sum * (group_watts(g) - fit->watts[0]) / vars[i];
        below += sum * sum / vars[i];
    }
    return fmin(fmax(above / below, 0.5), 1.2);
}

void shares_fit_run(struct shares_fit *fit, const struct gpu_sheet *sheet,
                    const struct shares_group *groups, size_t group_count,
                    const double *activity, int job_count)
{
    double least = least_watts(groups, group_count);
    double idle = sheet ? sheet->idle_watts : IDLE_GUESS * least;
    double idle_sd = sheet ? IDLE_SD * idle + 2 : IDLE_GUESS_SD * least + 2;
    double one_interval = interval_var(groups, group_count);
    double *vars = mem_array(double, group_count + 1);
    struct normal prior = {.terms = job_count + 1};

    fit->terms = prior.terms;
    fit->together = TOGETHER;
    add_prior(&prior, 0, idle, idle_sd);
    for (int job = 0; job < job_count; job++) {
        double mean, sd;

        job_prior(groups, group_count, activity, job, idle, &mean, &sd);
        add_prior(&prior, job + 1, mean, sd);
    }
    for (size_t i = 0; i < group_count; i++)
        vars[i] = group_var(&groups[i], one_interval, idle);
    for (int round = 0; round < ROUNDS; round++) {
        struct normal n = prior;

        for (size_t i = 0; i < group_count; i++)
            if (groups[i].seen_s > 0)
                add_row(&n, &groups[i], fit->together, vars[i]);
        solve(fit, &n);
        fit->together = fit_together(fit, groups, group_count, vars);
    }
    free(vars);
}

/* Of a sum of terms, sum of slope[i] * watts[i]. */
static double fit_error(const struct shares_fit *fit, const double *slope)
{
    double var = 0;

    for (int i = 0; i < fit->terms; i++)
        for (int j = 0; j < fit->terms; j++)
            var += slope[i] * fit->var[i * fit->terms + j] * slope[j];
    return sqrt(fmax(var, 0));
}

/* Whole microjoules by the jobs' watts; what rounding leaves goes to the last.  Returns
 * the joules above idle. */
static double divide_parts(const struct shares_group *g, const struct shares_fit *fit,
                           double sum, int64_t *parts)
{
    int64_t left = g->microjoules;
    double idle = fmin(fit->watts[0] * g->seconds * 1e6, (double)g->microjoules);
    double dynamic;

    parts[0] = g->count ? (int64_t)idle : g->microjoules;
    left -= parts[0];
    dynamic = (double)left / 1e6;
    for (int i = 0; i < g->count; i++) {
        double share = sum > 0 ? fit->watts[g->jobs[i] + 1] / sum : 1.0 / g->count;
        int64_t part = (int64_t)(share * dynamic * 1e6);

        if (i == g->count - 1 || part > left)
            part = left;
        parts[i + 1] = part;
        left -= part;
    }
    return dynamic;
}

static void add_slopes(const struct shares_group *g, const struct shares_fit *fit,
                       int part, double dynamic, double sum, double *slope)
{
    double share;

    if (g->count == 0)
        return; /* all of it is idle's, whatever the fit */
    if (part == 0) {
        slope[0] += g->seconds;
        return;
    }
    share = sum > 0 ? fit->watts[g->jobs[part - 1] + 1] / sum : 1.0 / g->count;
    slope[0] -= share * g->seconds;
    for (int j = 0; sum > 0 && j < g->count; j++)
        slope[g->jobs[j] + 1] += dynamic * ((part - 1 == j) - share) / sum;
}

void shares_divide(const struct shares_group *g, const struct shares_fit *fit,
                   int64_t *parts, struct shares_error *const *errors)
{
    double sum = 0, dynamic, misfit;

    for (int i = 0; i < g->count; i++)
        sum += fit->watts[g->jobs[i] + 1];
    dynamic = divide_parts(g, fit, sum, parts);
    misfit = g->count > 1 ? fabs(fit->together * sum * g->seconds - dynamic) : 0;
    for (int i = 0; i <= g->count; i++) {
        double share = i > 0 && sum > 0 ? fit->watts[g->jobs[i - 1] + 1] / sum : 0;
        double unknown = misfit * sqrt(share * (1 - share));

        if (!errors[i])
            continue;
        add_slopes(g, fit, i, dynamic, sum, errors[i]->slope);
        errors[i]->misfit2 += unknown * unknown;
        if (g->microjoules > 0)
            errors[i]->meter +=
                g->error_joules * (double)parts[i] / (double)g->microjoules;
    }
}

double shares_error_joules(const struct shares_error *error, const struct shares_fit *fit)
{
    double fitted = fit_error(fit, error->slope);

    return sqrt(fitted * fitted + error->misfit2 + error->meter * error->meter);
}
