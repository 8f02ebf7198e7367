/* energy_split.h - whose joules they are
 *
 * A device's energy is split among the jobs on it: what it draws idle in equal parts, the
 * rest as the engine tells, which sees who comes and goes; where the engine cannot tell,
 * in proportion to the watts each job is believed to add, and the error bar grows with
 * how little is known of those.  An idle device's energy is nobody's.  The parts always
 * add up to what the device drew. */
#ifndef CORGI_LOOP_RECORD_ENERGY_SPLIT_H
#define CORGI_LOOP_RECORD_ENERGY_SPLIT_H

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

/* How a job would have run had it been placed the usual way. */
struct energy_reference {
    double watts; /* of one device; NaN: not known */
    double rate;  /* training: steps/s there */
};

/* One job's part in it. */
struct energy_part {
    uint64_t job;
    bool here;           /* else it has left: only what the engine tells is its */
    double added_watts;  /* it is believed to draw beyond idle, above 0 */
    double spread_watts; /* half a 90 % interval of that */
    double told_joules;  /* the engine's word; 0: none */
    double told_error;   /* one standard error of that */
    enum job_kind kind;
    double rate; /* it has; NaN: not known */
    struct energy_reference usual;
    double joules;       /* its part */
    double error_joules; /* half a 90 % interval of that */
    double saved_joules; /* against the usual placement of the same work */
};

/* Fills the last three of each part; returns what is left for nobody. */
double energy_split(const struct energy_window *window, struct energy_part *parts,
                    int count);

/* Joules the usual placement would have taken on one device for what a job did at this
 * rate in the time, less what it took; 0 when the reference is not known. */
double energy_saved(const struct energy_reference *usual, enum job_kind kind, double rate,
                    double seconds, double joules);

#endif
