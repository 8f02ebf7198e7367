/* promise.h - is a promise kept?  The accounts of it: time under a promise, and time of
 * that in which it was kept.  The planner helps who falls short. */
#pragma once

#include "loop/types.h"

/* Of one job, from window to window. */
struct promise {
    double below_since_s; /* NaN: it is kept */
    double checked_s;     /* time under it is counted up to here; NaN: not begun */
};

#define PROMISE_NEW ((struct promise){.below_since_s = NAN, .checked_s = NAN})

/* What was promised, and what the last windows said. */
struct promise_facts {
    double promised_rate; /* NaN: none */
    double rate;      /* steps/s it did or requests/s it answered; NaN: not measured */
    double window_s;  /* over so long */
    double latency_s; /* of a service, 99th percentile; NaN: not measured */
    double tolerance; /* share a rate may fall short: noise of measuring */
};

struct promise_time {
    double promised_s, kept_s;
};

/* A window of a running job was measured: the time since the one before counts, by how
 * the job does now. */
struct promise_time promise_check(struct promise *promise,
                                  const struct job_status *status,
                                  const struct promise_facts *facts, double now_s);
