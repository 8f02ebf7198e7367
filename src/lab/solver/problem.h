/* problem.h - what the solver is asked and what it answers, as plain structs
 *
 * instance.h draws problems from a world; the solver, the reference solvers and the
 * checker read the same one.
 *
 * Rates and watts are tables over classes of jobs; a job adds its own speed, drag and
 * need.  A device costs its watts minus the worth of the progress its jobs make; cost
 * depends on classes alone, a job's own factors decide only whether its need is met.
 *
 * A power cap is a variant of its type.  A job of a class with several devices becomes as
 * many tasks, each on a device of its own; the job runs at the rate of its slowest task.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROBLEM_MAX_TYPES 64
#define PROBLEM_ANY_TYPE  UINT64_MAX
#define PROBLEM_MAX_SHARE 2 /* jobs on a device */

struct problem_type {
    int devices;       /* that may be used */
    int first_variant; /* variants first_variant .. + variant_count - 1; the first has no
                          cap */
    int variant_count;
    double idle_watts; /* of a device without jobs on a node that is awake */
};

struct problem_variant {
    int type;
    double cap_watts; /* 0: none */
};

struct problem_class {
    int devices;     /* tasks of a job of this class, 1 or more */
    double progress; /* watts that one unit of rate of the whole job is worth */
    double spread;   /* factor on the rate when the tasks are on several nodes, (0, 1];
                        no matter with one device */
};

struct problem_job {
    int class_id;
    uint64_t types; /* bit t: may run on type t */
    bool may_share; /* with jobs that may, too */
    bool pinned;    /* stays where it is */
    double need;    /* least rate of the whole job; 0: none */
    double penalty; /* watts; the harm of not running it */
    int first_task; /* filled by problem_number_tasks() */
};

struct problem_node {
    int first_device;
    int device_count;
    double host_watts;  /* awake, without devices */
    double sleep_watts; /* asleep, everything */
    double wake_watts;  /* what waking it costs, as watts over the planning period */
    bool awake;         /* now */
    bool may_sleep;
};

struct problem_device {
    int type;
    int node;
    bool closed; /* may not be used; counts as idle while its node is awake */
};

struct problem {
    int type_count;
    struct problem_type *types;
    int variant_count;
    struct problem_variant *variants;
    int class_count;
    struct problem_class *classes;
    float *alone_rate;  /* (variants, classes) of the whole job; 0: does not run */
    float *alone_watts; /* (variants, classes) of one device */
    float *pair_rate;   /* (variants, classes, classes) of the first beside the second;
                           0: the two cannot share */
    float *pair_watts;  /* (variants, classes, classes) symmetric */
    int job_count;
    struct problem_job *jobs;
    float *speed; /* (jobs, types) factor on the tables' rates */
    float *drag;  /* (jobs) factor on the rate of whoever shares with it */
    int task_count;
    int *now;       /* (tasks) device it is on; -1: none */
    int node_count; /* 0: devices are only counted, idle ones cost nothing */
    struct problem_node *nodes;
    int device_count;
    struct problem_device *devices;
    double move_watts;         /* charge for moving a running job */
    bool sleep;                /* nodes may be put to sleep */
    struct problem_size *room; /* what is allocated; problem.c's own */
};

struct problem_size {
    int types, variants, classes, jobs, tasks, nodes, devices;
};

/* Arrays are zeroed; speed and drag are 1, now is -1. */
struct problem *problem_create(const struct problem_size *size);
void problem_destroy(struct problem *p); /* NULL is fine */

/* The same problem made ready for other contents; allocates only to grow. */
void problem_reset(struct problem *p, const struct problem_size *size);

/* Set first_task of every job and task_count, from classes; room for now must be there.
 */
void problem_number_tasks(struct problem *p);

static inline size_t problem_cell(const struct problem *p, int variant, int k, int l)
{
    return ((size_t)variant * (size_t)p->class_count + (size_t)k) *
               (size_t)p->class_count +
           (size_t)l;
}

/* Rates of one or two jobs together on a device, without their own factors, and its
 * watts; false: they cannot share. */
bool problem_rates(const struct problem *p, int variant, const int *jobs, int count,
                   float *rate, float *watts);

/* ---- answers ------------------------------------------------------------------------
 */

/* A device in use: jobs from the first on, -1 behind the last. */
struct solution_device {
    int variant;
    int device; /* physical; -1 when the problem only counts devices */
    int jobs[PROBLEM_MAX_SHARE];
};

static inline struct solution_device solution_device_of(int variant, int a, int b)
{
    return (struct solution_device){variant, -1, {a, b}};
}

static inline int solution_device_jobs(const struct solution_device *d)
{
    int count = 0;

    while (count < PROBLEM_MAX_SHARE && d->jobs[count] >= 0)
        count++;
    return count;
}

static inline bool solution_device_has(const struct solution_device *d, int job)
{
    for (int e = 0; e < PROBLEM_MAX_SHARE; e++)
        if (d->jobs[e] == job)
            return true;
    return false;
}

enum solution_state {
    SOLUTION_SERVED,
    SOLUTION_UNSERVED, /* no room, or no device that would meet the need */
};

struct solution {
    int device_count;
    struct solution_device *devices; /* (tasks of the problem) */
    int job_count;
    enum solution_state *state; /* (jobs) */
    int node_count;
    bool *awake;     /* (nodes) */
    double cost;     /* objective, all of it */
    double watts;    /* devices and nodes */
    double progress; /* worth of the progress made, in watts; part of cost, negative */
    double bound;    /* proven: no plan costs less; -INFINITY when not known */
    double gap;      /* (cost - bound) / (cost + progress) */
    int unserved;    /* jobs */
    int moves;
    int device_room, job_room, node_room;
};

void solution_fit(struct solution *s, const struct problem *p); /* room for p's size */
void solution_copy(struct solution *to, const struct solution *from,
                   const struct problem *p);
void solution_fini(struct solution *s);
double solution_gap(const struct solution *s);
