/* energy_split.c - see energy_split.h
 *
 * service/energy_books.c calls it for each reading of a device that the engine reports
 * and puts the parts into the store. */
#include "loop/record/energy_split.h"

#include "base/normal.h"

#include <math.h>

static double error_of(const struct energy_window *w)
{
    return w->modelled ? ENERGY_MODEL_ERROR : ENERGY_METER_ERROR;
}

static int count_here(const struct energy_part *parts, int count)
{
    int here = 0;

    for (int i = 0; i < count; i++)
        here += parts[i].here;
    return here;
}

/* Each part is what the engine has seen of the job, and of the rest a job that is there
 * gets an equal share. */
static double split_as_told(const struct energy_window *w, struct energy_part *parts,
                            int count)
{
    double rest = w->joules;
    int here = count_here(parts, count);

    for (int i = 0; i < count; i++)
        rest -= parts[i].told_joules;
    rest = fmax(rest, 0); /* a rounding below */
    for (int i = 0; i < count; i++) {
        struct energy_part *p = &parts[i];
        double idle = p->here ? rest / here : 0;

        p->joules = idle + p->told_joules;
        p->error_joules =
            error_of(w) * idle + (w->modelled ? ENERGY_MODEL_ERROR * p->told_joules
                                              : NORMAL_90_SHORT * p->told_error);
    }
    return here > 0 ? 0 : rest;
}

/* A part is sure when the job is alone; else as sure as the watts it is made from. */
static double split_as_believed(const struct energy_window *w, struct energy_part *parts,
                                int count)
{
    double idle = fmin(w->idle_joules, w->joules), dynamic = w->joules - idle, sum = 0;
    int here = count_here(parts, count);

    for (int i = 0; i < count; i++)
        sum += parts[i].here ? parts[i].added_watts : 0;
    for (int i = 0; i < count; i++) {
        struct energy_part *p = &parts[i];
        double share = p->here ? p->added_watts / sum : 0;
        double unsure = here > 1 && p->here ? fmin(1, p->spread_watts / p->added_watts) *
                                                  (1 - share) * share * dynamic
                                            : 0;

        p->joules = p->here ? idle / here + share * dynamic : 0;
        p->error_joules = hypot(unsure, error_of(w) * p->joules);
    }
    return here > 0 ? 0 : w->joules;
}

double energy_saved(const struct energy_reference *usual, enum job_kind kind, double rate,
                    double seconds, double joules)
{
    double would_take = usual->watts * seconds;

    if (kind == JOB_TRAINING)
        would_take *= rate / usual->rate;
    return isfinite(would_take) ? would_take - joules : 0;
}

double energy_split(const struct energy_window *w, struct energy_part *parts, int count)
{
    double rest =
        w->told ? split_as_told(w, parts, count) : split_as_believed(w, parts, count);

    for (int i = 0; i < count; i++) {
        struct energy_part *p = &parts[i];

        p->saved_joules = energy_saved(&p->usual, p->kind, p->rate,
                                       p->here ? w->seconds : 0, p->joules);
    }
    return rest;
}
