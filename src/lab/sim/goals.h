/* goals.h - what Corgi promises of itself, and what a sweep says to that
 *
 * Every goal is judged at each load it is set for, on rows where idle nodes sleep, by the
 * mean over paired seeds; it is met when it is met at all of them.  Energy saved counts
 * only where promises are kept as well as by the opponent.  A goal whose rows are not in
 * the sweep is listed as not measured, and none is left out. */
#pragma once

#include "base/json_out.h"
#include "base/table.h"
#include "lab/sim/run_measure.h"
#include "lab/sim/sweep.h"

/* A saving counts only where promises are kept as well, up to so many points. */
#define GOALS_MARGIN_TIME    0.5
#define GOALS_MARGIN_JOBS    1.0
#define GOALS_MARGIN_SERVICE 0.1
/* What a policy must reach to be called good at keeping them, percent. */
#define GOALS_SLA_TIME 99.3
#define GOALS_SLA_JOBS 97.0

#define GOALS_MAX      16

enum goals_kind {
    GOALS_VALUE,   /* of the policy itself */
    GOALS_PERCENT, /* above the opponent, seed by seed */
    GOALS_POINTS,  /* the same as a difference of percentages */
};

struct goals_goal {
    const char *name;
    const char *policy;
    const char *opponent; /* NULL: none */
    const char *unit;
    measure *value;
    enum goals_kind kind;
    double scale; /* from the measure to the unit */
    double must, target;
    double load_max; /* it is set for loads from 30 % to this */
    bool saving;     /* counts only where promises are kept as well as by the opponent */
};

enum goals_met { GOALS_UNKNOWN, GOALS_NO, GOALS_MUST, GOALS_TARGET };

struct goals_at {
    double load; /* NaN: a trace */
    struct sweep_mean measured;
    bool promises_kept; /* as well as by the opponent; true where that does not count */
    enum goals_met met;
    bool clear; /* the whole 95 % interval reaches what is met; false with one seed */
};

struct goals_line {
    const struct goals_goal *goal;
    size_t count;
    struct goals_at *at;          /* (count) by load */
    const struct goals_at *worst; /* NULL: not measured */
};

struct goals {
    size_t count;
    struct goals_line lines[GOALS_MAX];
    bool by_protocol; /* on the workload, the cluster and the seeds they are set for */
};

void goals_init(struct goals *goals, const struct sweep *sweep,
                const struct sweep_options *options);
void goals_fini(struct goals *goals);

/* Is any comparison with an opponent among what was measured? */
bool goals_compare(const struct goals *goals);
bool goals_less_is_better(const struct goals_goal *goal);
const char *goals_verdict(const struct goals_line *line); /* a word for people */

/* A line a goal, at the load where it does worst. */
struct table *goals_table(const struct goals *goals);
/* A list, as the value of a key that is already written. */
void goals_json(const struct goals *goals, struct json_out *out);
