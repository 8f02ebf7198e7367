/* report_desk.h - which probe runs report for which jobs, and how far each has come
 *
 * A run is one start of corgi-probe: it has a random id, and numbers its reports from 1.
 * From one node and rank only one run at a time may speak for a job: a second one is a
 * copy that should not be there, or somebody who found the token.  What was told before
 * is known again by its number, so a batch that comes twice counts once. */
#pragma once

#include "base/err.h"
#include "http/api.h"

#include <stdbool.h>
#include <stdint.h>

#define REPORT_NODE_SIZE 256
#define REPORT_MAX_RUNS  64 /* of a job: nodes and ranks */
/* Of all jobs; the one that was silent longest goes. */
#define REPORT_MAX_ALL_RUNS 20000

/* A run may be followed by another one when it has told its end, or is silent for so
 * long. */
#define REPORT_SILENT_S 60.0
/* Slurm's clock and the daemon's may be apart so much. */
#define REPORT_CLOCKS_S 5.0

struct report_run {
    uint64_t job;
    char id[API_RUN_BYTES + 1];
    char node[REPORT_NODE_SIZE];
    int rank;
    uint64_t next;  /* number of the report that comes next */
    uint64_t lost;  /* numbers that never came: its spool was full */
    double heard_s; /* by the daemon's clock */
    double told_s;  /* end of its last window; -INFINITY: none */
    bool ended;
    int attempt; /* of the job that it is; 0: not known yet */
};

/* How the job of a run stands. */
struct report_job {
    bool fenced;    /* who has no claim must end */
    bool starts;    /* an attempt is to begin, */
    bool runs;      /* or has */
    bool here;      /* on the node the run is on */
    int attempt;    /* that one */
    int leaving;    /* attempt that was told to stop, and may take its time; 0: none */
    double began_s; /* the attempt, by the daemon's clock; one that starts: not before */
};

enum report_claim {
    REPORT_FREE,  /* nobody fences the job */
    REPORT_HOLDS, /* the run may go on */
    REPORT_LOST,  /* it must end: another one has taken its place, or the job is over */
};

struct report_desk;

struct report_desk *report_desk_create(void);
void report_desk_destroy(struct report_desk *desk); /* NULL is fine */

/* The run that says it is this one; a new one is taken up (its attempt: the job's now,
 * which does not wait for runs of those before).  NULL: ERR_INVALID when the id is none,
 * ERR_EXISTS when another run speaks for that node and rank, ERR_LIMIT when the job has
 * too many.  Borrowed until the next call. */
struct report_run *report_desk_run(struct report_desk *desk, const struct report_run *who,
                                   double now_s, struct err *err);

/* May the run go on?  Who is heard for the first time gets the attempt that runs, if it
 * is on its node and did not begin (began_s, by the daemon's clock; NaN: not known)
 * before it; one that only starts may be the run's, likewise.  See
 * docs/decisions/slurm-fencing.md. */
enum report_claim report_desk_claim(struct report_run *run, const struct report_job *job,
                                    double began_s);

/* Forget what was said of a job. */
void report_desk_forget(struct report_desk *desk, uint64_t job);
