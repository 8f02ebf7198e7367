/* sim_recording.h - what one run leaves behind for the report, besides its result
 *
 * Who sat where from when to when, which nodes slept, and how wrong the first estimate of
 * every cell was.  Only looks on: a run gives the same schedule with and without it.
 * Memory is bounded whatever the run: places are kept up to a limit, errors are merged
 * pair by pair when there are too many. */
#pragma once

#include "base/intern.h"
#include "base/vec.h"
#include "loop/types.h"

#define RECORDING_MAX_SPANS  20000
#define RECORDING_MAX_SIGHTS 1024

enum recording_why { RECORDING_STARTED, RECORDING_MOVED, RECORDING_RESTARTED };

/* A job's stay on one device: it waits for the node or its checkpoint up to ready_s. */
struct recording_span {
    uint64_t job;
    int name; /* in the names of the recording */
    int device;
    enum job_kind kind;
    enum recording_why why;
    double from_s, ready_s, to_s;
};

/* A time a node was not there for jobs: asleep, waking or down. */
struct recording_away {
    int node;
    enum node_state state;
    double from_s, to_s;
};

/* Errors of first sights, so many of them merged into their means. */
struct recording_sight {
    double at_s;
    double abs_log_error;
    int count;
};

struct recording_device {
    int type; /* in the names of the recording */
    int node;
    int node_name; /* likewise */
};

struct sim_recording {
    bool places; /* else only sights are kept */
    struct intern *names;
    int device_count;
    struct recording_device *devices; /* (device_count) */
    int node_count;
    size_t *away_now; /* (node_count) index + 1 of what is open; 0: awake */
    vec_of(struct recording_span) spans;
    vec_of(struct recording_away) away;
    vec_of(struct recording_sight) sights;
    int merged;   /* sights an entry stands for */
    double cut_s; /* places are complete up to here; INFINITY: all */
    double end_s;
};

struct sim_recording *recording_create(const struct cluster *cluster, bool places);
void recording_destroy(struct sim_recording *r); /* NULL is fine */

/* The calls below take NULL for "nobody records".  A stay begins; the result is for
 * recording_leave(), 0 when it is not kept. */
size_t recording_seat(struct sim_recording *r, const struct job *job,
                      const struct action *action, enum recording_why why, double now_s,
                      double ready_s);
void recording_leave(struct sim_recording *r, size_t seat, double now_s);
void recording_node(struct sim_recording *r, int node, enum node_state state,
                    double now_s);
void recording_sight(struct sim_recording *r, double at_s, double abs_log_error);
void recording_end(struct sim_recording *r, double now_s);
