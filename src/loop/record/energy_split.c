/* energy_split.c - see energy_split.h
 *
 * service/energy_books.c calls it for each reading of a device that the engine reports
 * and puts the parts into the store. */
#include "loop/record/energy_split.h"

#include "base/normal.h"

#include <math.h>

/* How much of the error of a saving the errors of other jobs share; from simulations with
 * other seeds than those that are reported, see docs/decisions/saved-energy.md. */
#define COMMON_ERROR 0.25

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

double energy_split(const struct energy_window *w, struct energy_part *parts, int count)
{
    return w->told ? split_as_told(w, parts, count) : split_as_believed(w, parts, count);
}

/* ---- what was saved ---------------------------------------------------------------- */

/* A meter that reads too much has taught the model watts that are too many by the same
 * share: its error is one of the difference.  Who used it on a shared device is another
 * matter. */
struct energy_saving energy_saved(const struct reference_energy *reference,
                                  const struct energy_use *use)
{
    double scale_joules = ENERGY_METER_ERROR * (use->joules - use->modelled_joules) +
                          ENERGY_MODEL_ERROR * use->modelled_joules;
    double scale = use->joules > 0 ? scale_joules / use->joules : 0;
    double split = sqrt(
        fmax(0, use->error_joules * use->error_joules - scale_joules * scale_joules));
    double saved = reference->joules - use->joules;

    if (!isfinite(saved))
        return (struct energy_saving){.unknown = use->joules};
    return (struct energy_saving){
        .joules = saved, .error = hypot(hypot(reference->error, scale * saved), split)};
}

void energy_savings_add(struct energy_savings *sum, const struct energy_saving *one)
{
    double error = one->error + one->unknown;

    sum->joules += one->joules;
    sum->errors += error;
    sum->squares += error * error;
    sum->known = sum->known || one->error > 0;
}

double energy_savings_error(const struct energy_savings *sum)
{
    return sqrt(COMMON_ERROR * sum->errors * sum->errors +
                (1 - COMMON_ERROR) * sum->squares);
}
