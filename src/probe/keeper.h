/* keeper.h - the job's processes from start to the very last one
 *
 * Signals go on to the job's process group.  After a SIGTERM the job has its grace, then
 * everything below the probe is killed, detached processes too.  When the job's first
 * process ends by itself, what it left behind may finish for a moment, is asked to stop,
 * and is then killed: a job is over when nothing of it runs. */
#ifndef CORGI_PROBE_KEEPER_H
#define CORGI_PROBE_KEEPER_H

#include "probe/child.h"

#include <stdbool.h>
#include <stddef.h>

struct keeper {
    struct child child;
    double grace_s;
    bool asked;      /* SIGTERM came */
    bool killed;     /* the grace was over before the job was */
    bool ended;      /* the first process */
    bool gone;       /* all of them */
    int wait_status; /* of the first */
    double ended_s;  /* when the first ended */
    size_t left_behind;
    double kill_at_s; /* infinity: no reason to */
    double term_at_s; /* likewise: ask what was left behind to stop */
    bool kernel_kill; /* any process of the job died of a SIGKILL that was not ours */
};

void keeper_init(struct keeper *keeper, const struct child *child, double grace_s);

/* A signal for the job. */
void keeper_signal(struct keeper *keeper, int signal, double now_s);

/* Something below us has ended. */
void keeper_reap(struct keeper *keeper, double now_s);

void keeper_tick(struct keeper *keeper, double now_s);
double keeper_due_s(const struct keeper *keeper);

#endif
