/* attempt.h - one start of one job, from the fork to the last process of it
 *
 * Files of an attempt are in <state>/jobs/ID/attempt-N/, which belongs to the job's user:
 * nothing in there is believed that could hurt somebody else. */
#ifndef CORGI_ENGINE_LOCAL_ATTEMPT_H
#define CORGI_ENGINE_LOCAL_ATTEMPT_H

#include "base/poller.h"
#include "base/process.h"
#include "engine/engine.h"
#include "engine/local/cpu_quota.h"
#include "probe/probe_report.h"

enum attempt_state {
    ATTEMPT_LAUNCHING, /* forked, the probe is not there yet */
    ATTEMPT_RUNNING,   /* the probe runs */
    ATTEMPT_SWEEPING,  /* the probe is gone, what it left is being killed */
    ATTEMPT_OVER,      /* told; to be freed */
};

enum attempt_stop {
    ATTEMPT_WANTED,     /* nobody wants it to stop */
    ATTEMPT_CHECKPOINT, /* was sent the checkpoint signal */
    ATTEMPT_TERM,       /* SIGTERM */
    ATTEMPT_KILL,       /* its processes were killed, the probe may still tell how */
    ATTEMPT_KILL_PROBE, /* the probe too */
};

struct local_engine;

struct attempt {
    struct local_engine *engine;
    uint64_t job;
    int number;
    uid_t uid;
    gid_t gid;
    double grace_s;
    int checkpoint_signal;
    bool nobody; /* found after a restart, not named by the daemon: tells no events */
    int device_count;
    int devices[LOOP_MAX_GANG];
    char *dir;
    char group[CPU_QUOTA_PATH_SIZE];

    enum attempt_state state;
    struct process_id probe;
    int pidfd;     /* -1: there is none */
    int result_fd; /* of the launch; -1: known */
    struct poller_watch probe_watch, result_watch;
    bool child;      /* of this process: has to be waited for */
    int wait_status; /* of the probe; meaningful when waited */
    bool waited;
    bool told_start;
    bool launch_failed;

    enum attempt_stop stop;
    int owed_signal;     /* to the probe, when it has started the command; 0: none */
    double stop_epoch_s; /* when the stop was asked for, since the epoch */
    double deadline_s;   /* of the present step of stopping or sweeping; monotonic */
    bool forced;         /* grace was over, it was killed */
    bool out_of_memory;
    bool stubborn_told;
    char why[240]; /* what the engine knows of the end, first reason wins */

    struct process_ids members; /* processes of the job, the probe too, when last seen */
    double cpu_s;               /* used, as last counted; NaN: not counted yet */
    double rss_bytes;
    uint64_t oom_kills; /* of its cgroup when it began */
};

/* Of a job the daemon names, and of one that was found and nobody names. */
struct attempt *attempt_create(struct local_engine *e, const struct engine_job *job);
struct attempt *attempt_create_nobody(struct local_engine *e, uint64_t job, int number);
void attempt_destroy(struct attempt *attempt); /* NULL is fine */

/* The first reason stays: later ones follow from it. */
void attempt_explain(struct attempt *attempt, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Bounded, of the user's folder: no link is followed.  False when not there or not right.
 */
bool attempt_read_status(const struct attempt *attempt, struct probe_report *status);
bool attempt_read_pids(const struct attempt *attempt, struct process_id *probe,
                       struct process_id *child);
/* The last line the probe wrote to its own messages, for when it failed. */
void attempt_read_message(const struct attempt *attempt, char *text, size_t size);

/* Stop watching and close them. */
void attempt_close_probe(struct attempt *attempt);
void attempt_close_result(struct attempt *attempt);

/* Does a process carry the attempt's marks in the environment it was started with? */
bool attempt_marked(const struct attempt *attempt, pid_t pid);

#endif
