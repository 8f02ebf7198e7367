/* energy_split.h - whose joules they are
 *
 * A device's energy is split among the jobs on it: what it draws idle in equal parts, the
 * rest as the engine tells, which sees who comes and goes; where the engine cannot tell,
 * in proportion to the watts each job is believed to add, and the error bar grows with
 * how little is known of those.  An idle device's energy is nobody's.  The parts always
 * add up to what the device drew. */
#pragma once

#include "loop/record/reference_place.h"
#include "loop/types.h"

/* Half a 90 % interval, as a share, of what a meter says and of what a model says. */
#define ENERGY_METER_ERROR 0.03
#define ENERGY_MODEL_ERROR 0.20

/* What one device drew since it was last read. */
struct energy_window {
    double seconds;
    double joules;
    double idle_joules; /* what it would have drawn with no job */
    bool modelled;      /* no meter has measured it */
    bool told;          /* the engine says what each job drew beyond idle */
};

/* One job's part in it. */
struct energy_part {
    uint64_t job;
    bool here;           /* else it has left: only what the engine tells is its */
    double added_watts;  /* it is believed to draw beyond idle, above 0 */
    double spread_watts; /* half a 90 % interval of that */
    double told_joules;  /* the engine's word; 0: none */
    double told_error;   /* one standard error of that */
    double joules;       /* its part */
    double error_joules; /* half a 90 % interval of that */
};

/* Fills the last two of each part; returns what is left for nobody. */
double energy_split(const struct energy_window *window, struct energy_part *parts,
                    int count);

/* ---- what was saved ---------------------------------------------------------------- */

/* What a job has used so far; sums over its devices and time. */
struct energy_use {
    double joules, error_joules, modelled_joules;
    double busy_s; /* device time */
};

/* What it has saved so far against the reference placement of the same work. */
struct energy_saving {
    double joules;  /* 0: not known */
    double error;   /* half a 90 % interval of that */
    double unknown; /* joules it used of which nobody knows what they saved */
};
struct energy_saving energy_saved(const struct reference_energy *reference,
                                  const struct energy_use *use);

/* The savings of many jobs.  What is not known counts as nothing saved, and may have been
 * as much, more or less, as was used. */
struct energy_savings {
    double joules, errors, squares;
    bool known; /* of one of them at least */
};
void energy_savings_add(struct energy_savings *sum, const struct energy_saving *one);

/* Half a 90 % interval of the sum: what is wrong about one job is partly wrong about all,
 * because they share what is believed of a type. */
double energy_savings_error(const struct energy_savings *sum);
