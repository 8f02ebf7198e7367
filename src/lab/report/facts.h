/* facts.h - what a sweep says, before anybody draws it
 *
 * For each load: every policy's means, its energy against a reference on the same seeds,
 * and a verdict on Corgi that does not flatter.  The reference is the strongest opponent
 * that keeps its promises: of the conventional policies (true rates do not count) that
 * meet the goals or keep promises about as well as Corgi, the one with the least energy.
 */
#pragma once

#include "lab/sim/goals.h"
#include "lab/sim/sweep.h"

enum facts_role { FACTS_CORGI, FACTS_VARIANT, FACTS_OPPONENT, FACTS_ORACLE };

enum facts_part {
    FACTS_DEVICE,
    FACTS_HOST,
    FACTS_IDLE,
    FACTS_ASLEEP,
    FACTS_WAKE,
    FACTS_PARTS
};

struct facts_line {
    const struct sweep_row *row;
    enum facts_role role;
    struct sweep_mean kwh;
    struct sweep_mean sla_time, sla_jobs; /* percent */
    double service_time;                  /* percent; NaN: no services */
    struct sweep_mean against;           /* energy above the reference, percent, paired */
    struct sweep_mean against_corgi;     /* the same above Corgi */
    struct sweep_mean sla_against_corgi; /* points of job-time above Corgi, paired */
    double parts_kwh[FACTS_PARTS];
    double wait_p95_min, moves, wh_per_work;
    double efficiency_allocated, efficiency_powered; /* work per GPU-hour */
    double decision_p99_ms;
    size_t jobs, finished;
    bool on_front; /* nobody without true rates is better in energy and job-time both */
};

enum facts_verdict {
    FACTS_NO_CORGI,    /* it was not among the policies */
    FACTS_NO_OPPONENT, /* nothing to compare it with */
    FACTS_NO_PEER,     /* no opponent keeps promises as well */
    FACTS_BETTER,      /* likewise, and the one that keeps them best uses more energy and
                          keeps fewer */
    FACTS_SAVES,
    FACTS_COSTS,
    FACTS_UNCLEAR, /* the interval holds zero */
    FACTS_BREAKS,  /* uses less, but keeps promises worse: no saving */
    FACTS_VERDICTS
};

struct facts_load {
    char label[32]; /* "50 % load", "as it came" */
    size_t count;
    struct facts_line *lines; /* in the order of the sweep */
    int corgi;                /* index of its line; -1: none */
    int reference;            /* likewise; -1: no opponent */
    enum facts_verdict verdict;
};

struct facts {
    size_t load_count;
    struct facts_load *loads;
    int seeds;
    bool again; /* some load comes twice, with sleep and without */
};

void facts_init(struct facts *facts, const struct sweep *sweep);
void facts_fini(struct facts *facts);

const char *facts_part_name(enum facts_part part);

/* The line whose learning is shown: Corgi's, else that of the first policy that learns;
 * NULL: there is none. */
const struct facts_line *facts_learner(const struct facts_load *load);

/* Mean error of the learner's first estimates, in percent, and its mean time, over so
 * many parts of its runs with as many first sights each; NaN where there was none, and
 * false when there was none at all. */
bool facts_learning(const struct facts_load *load, int bins, double *percent,
                    double *at_s);
