/* conduct.h - between an engine and the loop: what follows from what happened
 *
 * The daemon and `corgi sim` hear the events of an engine and order it about; what an
 * event means for the loop, how often a job is tried again, and what is put right when
 * an engine refuses, is decided here, once.  What is stored and shown of it is the
 * caller's. */
#pragma once

#include "engine/engine.h"
#include "loop/loop.h"

/* A job is given up after so many attempts in a row that were lost or could not be
 * started, and after it ran out of memory so often: what it fits beside is learned by
 * trying.  The first such attempt is followed by another at once, the next ones after
 * 1, 3, 9 s. */
#define CONDUCT_UNFINISHED      5
#define CONDUCT_MEMORY_FAILURES 64
#define CONDUCT_PAUSE_FACTOR    3.0
/* An attempt that has lasted this long went well: counting begins again. */
#define CONDUCT_STEADY_S 600.0

struct conduct_tries {
    int unfinished; /* in a row */
    int memory_failures;
};

/* A window of a job, as its engine or its own program told. */
struct conduct_window {
    struct measurement
        measurement;     /* with neither rate nor held: only progress is told */
    double now_s;        /* windows of the future are refused */
    double steps;        /* of this attempt; NaN: not told */
    double steps_before; /* of earlier ones */
};

/* The loop learns of it.  As loop_measure(); 0 also when there was nothing to learn. */
int conduct_measured(struct loop *loop, const struct conduct_window *window,
                     struct loop_observed *observed, struct err *err);

/* So much is asked of a service, requests/s; a round at once when that has moved far. */
void conduct_demand(struct loop *loop, uint64_t job, double rate, double now_s);

/* What becomes of a job whose attempt is over, or could not begin (END_NOT_STARTED).  The
 * loop is told of lacking memory, and until when a job that is tried again shall wait;
 * nothing else. */
enum conduct_fate { CONDUCT_DONE, CONDUCT_FAILED, CONDUCT_AGAIN, CONDUCT_CANCELLED };
enum conduct_fate conduct_ended(struct loop *loop, uint64_t job, enum engine_end end,
                                struct conduct_tries *tries, double now_s,
                                struct loop_observed *observed);

/* How far a training job is. */
void conduct_progress(struct loop *loop, uint64_t job, double steps_before, double steps);

/* A node woke, failed or is back; jobs that ran there have been queued again by then. */
void conduct_node(struct loop *loop, const struct engine_event *event, double now_s);

/* Wake, sleep or cap.  When the engine refuses, or takes its time to put a node to sleep,
 * the loop is told how things are. */
int conduct_order(struct loop *loop, const struct engine *engine,
                  const struct action *action, double now_s, struct err *err);
