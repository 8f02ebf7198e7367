/* engine.h - what carries out the loop's actions: a simulator, this machine, Slurm
 *
 * The daemon turns each action of a round into calls of an engine, and an engine tells
 * what happens as events.  Everything happens on the thread that owns the loop: an engine
 * offers a descriptor to wait for, and calls its sink only from dispatch().  What takes
 * long is done by threads or processes of the engine's own. */
#pragma once

#include "base/err.h"
#include "loop/cluster.h"
#include "loop/job_groups.h"
#include "loop/types.h"

#include <sys/types.h>

#define ENGINE_REPLICA "{replica}"

/* A job as an engine needs it.  All pointers are borrowed for the time of the call. */
struct engine_job {
    const struct job *job; /* as the loop knows it */
    int attempt;           /* 1: the first start; a restart or a move counts it up */
    int replica;           /* of a service, from 1 on */
    uid_t uid;
    gid_t gid;
    const char *directory;   /* working directory, absolute */
    const char *const *argv; /* NULL-terminated */
    const char *const *env;  /* NAME=value, NULL-terminated, over a clean environment */
    const char *output;      /* file for stdout and stderr; NULL: the engine's choice */
    const char *metrics_url; /* Prometheus endpoint of the job, ENGINE_REPLICA in it
                                stands for the replica's number; NULL: none */
    const char *metrics_counter; /* name of the counter there; NULL: known ones */
    const char *progress_file;   /* NULL: none */
    double stop_grace_s;         /* between SIGTERM and SIGKILL */
    int checkpoint_signal;       /* sent before a move; 0: SIGTERM alone */
    int device_count;
    const int *devices; /* (device_count) */
    const char *ref;    /* what the engine calls it; NULL: it has not said yet */
    const char *token;  /* with it its probe may report; NULL: none */
    const struct job_groups *there; /* what it is to belong to; NULL: nothing is said */
};

enum engine_stop {
    ENGINE_STOP_CANCEL, /* it is not wanted any more */
    ENGINE_STOP_MOVE,   /* checkpoint first: it will be started elsewhere */
    ENGINE_STOP_KILL,   /* at once, whatever time it had; also of one that is leaving */
};

/* What stop() returns when nothing of the job is left already. */
#define ENGINE_GONE 1
/* What sleep() returns when the node does not sleep before NODE_ASLEEP. */
#define ENGINE_FALLING 1

enum engine_event_kind {
    ENGINE_STARTED,     /* job, attempt, devices it really got; none: as it was told */
    ENGINE_ENDED,       /* job, attempt, end, exit_status, signal, text; attempt 0: the
                           job itself is over, whether it runs or waits */
    ENGINE_MEASURED,    /* job, measurement, steps, source, confidence */
    ENGINE_DEMAND,      /* job (a service), measurement.rate: requests/s asked of it */
    ENGINE_POWER,       /* device, watts, joules since the last such event, modelled,
                           shares; joules NaN: nobody meters it here */
    ENGINE_HOST_POWER,  /* node, watts of it without its devices; NaN: nobody meters it */
    ENGINE_NODE_AWAKE,  /* node */
    ENGINE_NODE_DOWN,   /* node, text */
    ENGINE_NODE_UP,     /* node */
    ENGINE_DEVICE_LOST, /* device, text: unplugged or its driver hangs */
    ENGINE_DEVICE_BACK, /* device */
    ENGINE_WARNING,     /* text, job (0: none) */
    /* Of engines that have a will of their own, as Slurm. */
    ENGINE_ENTERED,      /* job, text: it waits there too, under this name */
    ENGINE_REFUSED,      /* job, text why, never empty: it never will be taken in */
    ENGINE_JOB_FOUND,    /* found: somebody handed it in there; it waits */
    ENGINE_JOB_CHANGED,  /* job, found: held, released, other limits, queued again */
    ENGINE_JOB_COUNTED,  /* job, which may have ended: counted */
    ENGINE_JOB_BELONGS,  /* job, there: its account, QOS and partition, when they are
                            others than were told */
    ENGINE_NODE_FALLING, /* node: somebody put it to sleep, it does not sleep yet */
    ENGINE_NODE_ASLEEP,  /* node: it has fallen asleep, whoever wanted that */
    ENGINE_NODE_ROOM,    /* node, room: what it has left for our jobs together */
    ENGINE_NODE_ACCESS,  /* node, access: who may be there, see loop/node_access.h;
                              text: what the engine calls that, for people */
    ENGINE_GROUP_ENDS, /* group, ends_s: its jobs end by then; 0: it is no reservation */
    ENGINE_JOB_BOUND,  /* job, group, limit_s: where it may be, and for how long */
    ENGINE_NODE_DRAINED,   /* node, text: nothing new may start there */
    ENGINE_NODE_UNDRAINED, /* node */
    ENGINE_NODE_ADDED,     /* spec: the cluster has one more, behind all others */
    ENGINE_DEVICE_TAKEN,   /* device, text: by a job that will not be told of, or none */
    ENGINE_DEVICE_FREE,    /* device */
    ENGINE_NOTICE,  /* text: so it is, and operators should know; NULL: no longer */
    ENGINE_OFFLINE, /* text: it cannot be reached; what is known may be old */
    ENGINE_ONLINE,  /* it can */
};

enum engine_end {
    ENGINE_END_DONE,          /* exit status 0 */
    ENGINE_END_FAILED,        /* exit status or signal of its own */
    ENGINE_END_STOPPED,       /* because we said so */
    ENGINE_END_OUT_OF_MEMORY, /* of the device or of the machine; text tells */
    ENGINE_END_NOT_STARTED,   /* could not be started; text tells why */
    ENGINE_END_LOST,          /* ended while nobody looked, its status is not known */
    ENGINE_END_CANCELLED,     /* by its owner, or an operator, in the engine itself */
    ENGINE_END_TIME_LIMIT,    /* it ran as long as it was allowed to */
    ENGINE_END_REQUEUED,      /* the engine itself put it back into the queue */
    ENGINE_END_NO_ROOM, /* its place was not free after all: it waits, and nothing counts
                           against it */
    ENGINE_END_UNKNOWN, /* it may have ended well: it is never run again by itself */
};

/* A job somebody handed in to the engine itself.  Texts are borrowed for the call. */
struct engine_found {
    const char *ref;  /* what the engine calls it */
    double submit_s;  /* changes when the engine queues it again; */
    int restarts;     /* then this has grown, unless the engine lost its memory */
    const char *user; /* never NULL; the next ones may be */
    uid_t uid;
    gid_t gid;
    const char *name, *command, *directory;
    struct job_groups there; /* its account, QOS and partitions */
    const char *asked;       /* what its user asked for, as a JobRequest in JSON */
    /* SHA-256 of the token that its probes report with: 64 hexadecimal digits, and
     * whatever may stand behind them. */
    const char *token_digest;
    int devices;         /* it asks for, all at once */
    bool shares;         /* it may share its device */
    bool part;           /* it asks for a part of one */
    uint64_t types;      /* bit t: may run on GPU type t; 0: any */
    int cpus;            /* of all its nodes together; 0: not told */
    double memory_mb;    /* of the host, likewise */
    double limit_s;      /* 0: none */
    int group;           /* of nodes it may use; 0: all */
    bool held;           /* by its owner or an operator of the engine */
    bool planned;        /* ours to place and to start: it waits for that; else it is only
                            watched */
    uint64_t *job_out;   /* of JOB_FOUND: the sink says its number; 0: it is not wanted,
                            as it is known to have ended */
    uint64_t *ended_out; /* of JOB_FOUND, not NULL: nothing is taken up, the sink only
                            says the number of the job that has ended, by `number` if that
                            is one, else by user and ref; 0: none has */
    uint64_t number;
};

/* What somebody else's counters saw of a job, over all of its life. */
struct engine_counted {
    double gpu_use;       /* mean share of the time its devices worked, 0..1 */
    int unused_gpus;      /* of its devices did nothing at all */
    double gpu_memory_gb; /* held on the device that held most; NaN: not seen */
};

/* A job's part of what a device drew beyond what it draws idle, since the last event.
 * Neither figure is negative, and over all events they add up. */
struct engine_share {
    uint64_t job; /* may have ended a while ago */
    double joules;
    double error_joules; /* summed up: one standard error of its joules here */
};

struct engine_event {
    enum engine_event_kind kind;
    double at_s; /* seconds since the epoch, or the engine's own clock when simulated */
    uint64_t job;
    int attempt;
    int node;
    int device;
    enum engine_end end;
    int exit_status;
    int signal;
    struct measurement measurement;
    double steps; /* done since the attempt began, by the job's own count; NaN: n/a */
    const char *source; /* heartbeat, prometheus, log, progress, activity, simulated */
    double confidence;  /* in the source, 0..1 */
    double watts;
    double joules;
    bool modelled; /* power comes from a model, not from a meter */
    bool divided;  /* shares tell whose the joules are, the rest is idle's */
    int share_count;
    const struct engine_share *shares; /* (share_count) */
    const char *text;
    const struct engine_found *found;
    const struct job_groups *there; /* of JOB_BELONGS */
    int device_count;
    const int *devices;           /* (device_count) */
    const struct node_spec *spec; /* of NODE_ADDED */
    struct host_room room;        /* of NODE_ROOM; infinite: not bounded */
    struct node_access access;    /* of NODE_ACCESS */
    int group;
    double ends_s, limit_s;
    struct engine_counted counted;
};

struct engine_sink {
    void (*event)(void *ctx, const struct engine_event *event);
    void *ctx;
};

struct engine_ops {
    const char *name;
    /* What there is; the caller ends it with cluster_destroy(). */
    int (*cluster)(void *self, struct cluster **cluster, struct err *err);
    int (*fd)(void *self); /* readable: call dispatch(); belongs to the engine */
    void (*dispatch)(void *self, double now_s);
    /* Engines with a queue of their own; NULL ops: it has none.  A job that was admitted
     * is handed in on hold: asked for, not done, the sink hears ENTERED or REFUSED.  Of a
     * job that is known already (after a restart each one is told again) nothing is done
     * twice.  leave() takes out one that waits; not knowing it is no error. */
    int (*enter)(void *self, const struct engine_job *job, struct err *err);
    int (*leave)(void *self, uint64_t job, struct err *err);
    /* Asked for, not done: the sink hears STARTED or ENDED. */
    int (*start)(void *self, const struct engine_job *job, struct err *err);
    /* 0: it is leaving, and its devices are not free before ENDED; ENGINE_GONE: they are
     * free, and ENDED is told all the same. */
    int (*stop)(void *self, uint64_t job, enum engine_stop how, struct err *err);
    int (*cap)(void *self, int device, double watts, struct err *err); /* 0: lift it */
    /* The file an attempt prints to when its job names none; the caller frees.  NULL op:
     * nothing is printed. */
    char *(*output)(void *self, uint64_t job, int attempt);
    /* Asked for, not done: AWAKE comes later.  One that refuses is asleep as before. */
    int (*wake)(void *self, int node, struct err *err);
    /* 0: it sleeps; ENGINE_FALLING: it will. */
    int (*sleep)(void *self, int node, struct err *err);
    /* The largest number of a job it remembers, 0: none: new jobs get greater ones. */
    uint64_t (*last_job)(void *self);
    /* After a restart of the daemon: is this attempt still there?  Its events come as if
     * it had been started here, an end that happened meanwhile comes as ENDED.
     * ERR_NOT_FOUND: nothing is known of it. */
    int (*adopt)(void *self, const struct engine_job *job, struct err *err);
    /* After all adopts: whatever of ours still runs and was not named is stopped; jobs
     * that others handed in to the engine are found instead. */
    void (*adopted)(void *self);
    /* Jobs that run go on, for the next daemon to adopt. */
    void (*destroy)(void *self);
};

struct engine {
    const struct engine_ops *ops;
    void *self;
};
