/* readmit.h - what becomes of a stored job when the daemon comes back
 *
 * The store says how each job was, the cluster may have changed and the engine knows what
 * still runs.  A job that waited waits again; one that ran is taken over where the engine
 * still has it and goes back to the queue where not; what cannot come back at all ends,
 * and its owner is told why. */
#pragma once

#include "loop/types.h"

enum readmit_engine {
    READMIT_NOT_ASKED, /* the engine was not asked for the attempt yet */
    READMIT_RUNS,      /* it has it */
    READMIT_GONE,      /* it has nothing of it */
};

struct readmit_facts {
    enum job_state state; /* as stored: JOB_WAITING or JOB_RUNNING */
    bool at_zero;         /* waits as a service that was scaled to zero */
    bool orphan;          /* a replica whose service has ended */
    const char *refused;  /* why this cluster cannot take it at all; NULL: it can */
    int devices_named;    /* devices it ran on, as stored */
    int devices_found;    /* of which the cluster still has */
    bool seats_refused;   /* its devices are there, but not for it */
    enum readmit_engine engine;
};

enum readmit_step {
    READMIT_WAIT,    /* back in the queue, as it was */
    READMIT_ASK,     /* ask the engine for its attempt */
    READMIT_ADOPT,   /* it runs: go on with it */
    READMIT_REQUEUE, /* it ran and does not any more: back to the queue */
    READMIT_CANCEL,
    READMIT_FAIL,
};

struct readmit {
    enum readmit_step step;
    bool release;       /* it was held by the daemon itself: let it start */
    const char *code;   /* of the reason, as in the API */
    const char *reason; /* NULL: nothing to tell */
};

struct readmit readmit_decide(const struct readmit_facts *facts);
