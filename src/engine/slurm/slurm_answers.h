/* slurm_answers.h - rows of the helper's answers as structs
 *
 * The helper is a program of ours, but what it passes on is written by users and by
 * Slurm's configuration: every text is bounded, every number checked, and a row that
 * makes no sense is left out. */
#pragma once

#include "base/json.h"
#include "engine/slurm/slurm_gres.h"

#include <stdbool.h>
#include <stdint.h>

#define SLURM_ID_SIZE      48
#define SLURM_NAME_SIZE    64
#define SLURM_ADDRESS_SIZE 128
#define SLURM_MOST_GPUS    64 /* of a node */
#define SLURM_MOST_HOSTS   64 /* of a job that is followed to its devices */

struct slurm_node_row {
    char name[SLURM_NAME_SIZE];
    bool down, asleep, falling, drained; /* falling: asleep, and not sleeping yet */
    bool reserved;                       /* for some jobs: see slurm_access.h */
    bool idle;                           /* no job has a part of it */
    uint64_t used;                       /* its GPUs that slurmctld counts as used */
    char reason[160];
    struct slurm_gres gres;
    char features[256];
    int cpus;
    double memory_mb;
    char address[SLURM_ADDRESS_SIZE]; /* as Slurm reaches it; else its name */
    double watts;                     /* as Slurm meters it; NaN: it does not */
};

enum slurm_job_stands {
    SLURM_JOB_WAITS,
    SLURM_JOB_RUNS, /* also while it is completing: its devices are not free */
    SLURM_JOB_DONE,
    SLURM_JOB_FAILED,
    SLURM_JOB_CANCELLED,
    SLURM_JOB_TIMEOUT,
};

struct slurm_job_row {
    char id[SLURM_ID_SIZE];
    enum slurm_job_stands stands;
    const char *state; /* Slurm's word, borrowed as all texts; never NULL */
    double submit_s, start_s, end_s, limit_s; /* 0: none */
    int restarts, exit_status, signal;
    bool held;
    bool launch_failed; /* that is why it is held */
    uint32_t uid, gid;
    const char *user; /* never NULL; the next ones may be */
    const char *name, *partition, *account, *qos, *command, *directory;
    const char *reservation;
    const char *admin_comment, *features;
    bool completing;        /* what ran of it is still being looked for */
    bool depends;           /* on jobs that have not ended */
    struct slurm_gres wish; /* of all its nodes together */
    int node_gpus; /* whole GPUs of one kind it asks for on each node; 0: it asks for
                      something else, or in another way */
    int cpus, num_nodes;
    double memory_mb; /* of all its nodes together */
    int host_count;   /* where it is or was */
    struct {
        const char *node;
        uint64_t gpus; /* bits; 0: not told */
    } hosts[SLURM_MOST_HOSTS];
};

/* False: it cannot be meant. */
bool slurm_answers_node(const struct json_value *row, struct slurm_node_row *node);
bool slurm_answers_job(const struct json_value *row, struct slurm_job_row *job);

/* Does it ask for GPUs or parts of them? */
bool slurm_job_wants_gpus(const struct slurm_job_row *job);
