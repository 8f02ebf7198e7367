/* planner.h - the interface of all planners: what optimize/ gets and gives
 *
 * A planner gets the whole state and returns a whole plan; place/ turns the difference to
 * what runs into actions.  Corgi's own lives in optimize/, the conventional
 * policies it is compared with in lab/policy; they see the same jobs, cluster and
 * estimates. */
#pragma once

#include "model/model.h"
#include "loop/power_schedule.h"
#include "loop/types.h"

struct fair_shares;
struct lengths;

/* Jobs a planner may seat on one device: three have not been measured side by side, and
 * a setting that asks for more is refused. */
#define PLANNER_MAX_SHARE 2

/* Who may be stopped for a job that waits beyond the grace time. */
enum preempt {
    PREEMPT_NOBODY,
    PREEMPT_BEST_EFFORT, /* best effort, for what was promised */
    PREEMPT_PRIORITY,    /* and smaller priorities for larger ones */
};

struct optimize_settings {
    int share_max;     /* theta: jobs on one device, 1 .. PLANNER_MAX_SHARE */
    bool sleep;        /* idle nodes may sleep */
    bool caps;         /* power caps may be set */
    bool moves;        /* running jobs may be moved */
    double confidence; /* requirements hold with this probability (a job may ask more) */
    double trial_confidence; /* the same for a place that can be left again */
    double progress_watts;   /* price of progress: watts a unit of it is worth, until
                                the planner has found that out itself */
    double move_s;           /* work lost by a move */
    double grace_s;          /* a wait up to this is no violation */
    struct power_schedule power_limit; /* of the whole cluster */
    int preempt;                       /* enum preempt */
    double fair_share_s; /* half-life of what users had; 0: users are not told apart */
    double explore;      /* share of the cluster's energy that may be spent on learning */
};

/* What tells a planner whether it has seen a job as it is now.  Two of one input, or of
 * two, that are alike in `changed` are the same job in the same state and company. */
struct job_stamp {
    long admitted; /* larger ones came later */
    long changed;  /* 0: nobody knows */
    uint64_t id;   /* of the job */
    bool waits;    /* or runs */
};

struct optimize_input {
    double now_s;
    const struct cluster *cluster; /* devices[].jobs hold the current placement */
    size_t job_count;
    const struct job_status *const *jobs; /* waiting and running, in order of admission */
    const struct job_stamp
        *stamps; /* (job_count) NULL: all jobs are new to the planner */
    struct model *model;
    const struct lengths *lengths;    /* how long jobs run on; NULL: as was told */
    const struct fair_shares *shares; /* of users; NULL: all are one */
    const struct optimize_settings *settings;
};

/* Does the job wait?  Asked of all of them, most of which need not be looked up. */
static inline bool optimize_input_waits(const struct optimize_input *in, size_t i)
{
    return in->stamps ? in->stamps[i].waits : in->jobs[i]->state == JOB_WAITING;
}

/* Where the last job of an input would be placed if a round were held now. */
struct place_offer {
    bool placed;                 /* it would start at once */
    enum unplaced_reason reason; /* why not */
    int device_count;            /* of the place; also of a free one that is too slow for
                                    it (UNPLACED_RATE); 0: there is none */
    int devices[LOOP_MAX_GANG];
    int ahead;      /* jobs that wait and go before it */
    double start_s; /* when it is expected to start; NaN: not known */
};

struct planner_ops {
    const char *name;
    void *(*create)(uint64_t seed);
    /* Fill *plan: a seat for every job in input order, caps and node states.  Never
     * fails: what cannot be placed waits with a reason. */
    void (*plan)(void *self, const struct optimize_input *in, struct plan *plan);
    /* Where the last job of the input would go, on the terms of the last plan.  Writes
     * nothing in self that a plan depends on.  NULL: this planner names no places. */
    void (*offer)(void *self, const struct optimize_input *in,
                  const struct plan_terms *terms, struct place_offer *offer);
    void (*destroy)(void *self);
};

struct planner {
    const struct planner_ops *ops;
    void *self;
};

/* Corgi's own planner (optimize/planner.c): a running placement improved step by step. */
extern const struct planner_ops corgi_planner_ops;
