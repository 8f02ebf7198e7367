/* decision.h - the ledger: what was decided about a job, why, and what else there was
 *
 * loop_round_end() makes one for each action about a job and for each job that falls
 * short; the daemon stores and shows them (`corgi why`), the simulator writes them to a
 * file, both by service/ledger.h. */
#pragma once

#include "loop/job_table.h"
#include "loop/planner.h"

/* Types a decision tells about besides the one that was taken. */
#define DECISION_ALTERNATIVES 8

/* Why a type was not taken; see decision_verdict(). */
enum decision_verdict {
    DECISION_POSSIBLE, /* it could have been */
    DECISION_TOO_LITTLE_MEMORY,
    DECISION_TOO_SLOW,
    DECISION_TAKEN,
    DECISION_NOT_ALLOWED, /* all of them are where it may not begin, see node_access.h */
    DECISION_VERDICTS
};

struct decision_alternative {
    int type;
    enum decision_verdict verdict;
    double rate;   /* as is believed of the job alone there */
    double sure;   /* at the confidence a place is given at: this is what decides */
    double needed; /* 0: nothing is */
    double watts;
    double fits;                    /* probability that memory suffices */
    double more_watts, more_joules; /* than where it is; NaN: not known */
    char text[160];
};

/* Each is a sentence; see decision_sentence(). */
enum decision_reason {
    DECISION_START_KEEPS,   /* where its requirement is believed to be kept */
    DECISION_START_EFFORT,  /* it has none */
    DECISION_START_SHORT,   /* nothing better was free */
    DECISION_START_INSTEAD, /* nothing better was free, and others were stopped for it */
    DECISION_MOVE_PROMISE,  /* it fell short where it was */
    DECISION_MOVE_COST,     /* it takes less energy for the same work */
    DECISION_MOVE_PLAN,     /* others do */
    DECISION_STOP,
    DECISION_STOP_FOR, /* for another job */
    DECISION_CAP,
    DECISION_UNCAP,
    DECISION_SLOW, /* below its promise; what was done follows, see decision_help() */
    DECISION_LATE, /* the same of a service's latency */
    DECISION_REASONS
};

struct decision {
    uint64_t job;
    const char *kind; /* start, move, stop, cap, guard */
    enum decision_reason why;
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

/* All that is ever said, with {figures} still in it: a test says each of them. */
const char *decision_sentence(enum decision_reason reason);
const char *decision_help(enum plan_help help);
const char *decision_verdict(enum decision_verdict verdict); /* a word, as in the API */
const char *decision_why_not(enum decision_verdict verdict); /* a sentence */

/* What a job had where it was before it was moved. */
struct decision_before {
    uint64_t job;
    double rate, watts;
};

/* What there is to look at when a decision is told: the state after it. */
struct decision_ground {
    double now_s;
    const struct cluster *cluster;
    struct jobs *jobs;
    struct model *model;
    const struct lengths *lengths;
    const struct optimize_settings *settings;
    const struct plan *plan; /* that was carried out; NULL: none */
    size_t before_count;
    const struct decision_before *before; /* (before_count) of jobs that were moved */
};

/* How a job that runs does where it is, by what is believed. */
struct decision_before decision_look(const struct decision_ground *ground,
                                     const struct job_status *status);

/* The decision behind an action about a job; false: it is about none. */
bool decision_of_action(const struct decision_ground *ground, const struct action *action,
                        struct decision *out);

/* The places of a job that waits, and why each is not taken. */
void decision_of_waiting(const struct decision_ground *ground,
                         const struct job_status *status, struct decision *out);

/* What was done for a job that falls short. */
void decision_of_mend(const struct decision_ground *ground, const struct plan_mend *mend,
                      struct decision *out);
