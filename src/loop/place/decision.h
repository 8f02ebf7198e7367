/* decision.h - the ledger: what was decided about a job, why, and what else there was
 *
 * loop_round_end() makes one for each action about a job and for each job that falls
 * short; the daemon stores and shows them (`corgi why`), the simulator writes them to a
 * file, both by service/ledger.h. */
#ifndef CORGI_LOOP_PLACE_DECISION_H
#define CORGI_LOOP_PLACE_DECISION_H

#include "loop/job_table.h"
#include "loop/planner.h"

/* Types a decision tells about besides the one that was taken. */
#define DECISION_ALTERNATIVES 8

struct decision_alternative {
    int type;
    const char *verdict; /* possible, too_slow, taken */
    double rate;
    double more_watts, more_joules; /* than where it is; NaN: not known */
    char text[160];
};

struct decision {
    uint64_t job;
    const char *kind; /* start, move, stop, cap, guard */
    double at_s;
    int device_count;
    int devices[LOOP_MAX_GANG];
    double rate, watts, joules; /* expected where it is; NaN: not told */
    const char *help;           /* of a job that falls short: what was done; else NULL */
    double needed;              /* and what it must have */
    char reason[208];
    int alternative_count;
    struct decision_alternative alternatives[DECISION_ALTERNATIVES];
};

/* What there is to look at when a decision is told: the state after it. */
struct decision_ground {
    double now_s;
    const struct cluster *cluster;
    struct jobs *jobs;
    struct model *model;
    const struct optimize_settings *settings;
};

/* The decision behind an action about a job; false: it is about none. */
bool decision_of_action(const struct decision_ground *ground, const struct action *action,
                        struct decision *out);

/* What was done for a job that falls short. */
void decision_of_mend(const struct decision_ground *ground, const struct plan_mend *mend,
                      struct decision *out);

#endif
