/* history.h - how jobs came to where they are: transitions, decisions, promises, guard
 *
 * All of it is only ever added to.  A transition goes into the same batch as the
 * progress it tells of, so that a job and its history never disagree. */
#ifndef CORGI_STORE_HISTORY_H
#define CORGI_STORE_HISTORY_H

#include "loop/types.h"
#include "store/reader.h"
#include "store/store.h"

struct store_transition {
    uint64_t job;
    double at_s;
    bool first; /* of a new job: there is no `from` */
    enum job_state from;
    enum job_state to;  /* the same as from for holds, moves, updates */
    const char *what;   /* submitted, started, moved, held, ...: one word */
    const char *reason; /* a sentence; NULL: none */
    int attempt;
    const char *devices; /* names, comma between; NULL: none */
};

void store_add_transition(struct store_batch *batch, const struct store_transition *t);

typedef int (*store_transition_row)(void *ctx, const struct store_transition *t);
int store_read_transitions(struct store_reader *reader, uint64_t job,
                           store_transition_row row, void *ctx, struct err *err);

/* A line of the ledger. */
struct store_decision {
    uint64_t id; /* store_take_id(STORE_DECISION_ID) */
    uint64_t job;
    double at_s;
    uint64_t round;
    const char *what;    /* start, move, stop, wait, cap, ...: one word */
    const char *devices; /* names, comma between; NULL: none */
    double rate;         /* predicted; NaN: none */
    double watts;
    double joules;
    const char *reason;
    const char *alternatives; /* JSON array of what else was possible, with joules */
};

struct store_decision_filter {
    uint64_t job;       /* 0: any */
    double from_s;      /* 0: any */
    double to_s;        /* 0: any */
    uint64_t before_id; /* newest first; 0: from the newest on */
    int limit;          /* 0: 1000 */
};

void store_add_decision(struct store_batch *batch, const struct store_decision *d);

typedef int (*store_decision_row)(void *ctx, const struct store_decision *d);
int store_read_decisions(struct store_reader *reader,
                         const struct store_decision_filter *filter,
                         store_decision_row row, void *ctx, struct err *err);

/* What was promised, or offered. */
struct store_quote {
    uint64_t id;  /* store_take_id(STORE_QUOTE_ID) */
    uint64_t job; /* 0: asked for without submitting */
    const char *user;
    double at_s;
    const char *verdict; /* accepted, queued, counter, refused */
    double rate;         /* promised; NaN: none, so the next ones */
    double confidence;
    double joules, joules_low, joules_high;
    double start_s;
    double valid_until_s;
    const char *devices;
    const char *neighbour;
    const char *detail; /* JSON: the answer as it was given; NULL: none */
};

void store_add_quote(struct store_batch *batch, const struct store_quote *quote);

typedef int (*store_quote_row)(void *ctx, const struct store_quote *quote);
int store_read_quotes(struct store_reader *reader, uint64_t job, store_quote_row row,
                      void *ctx, struct err *err); /* oldest first */

/* A promise that did not hold, and what was done. */
struct store_guard {
    uint64_t job;
    double at_s;
    const char *kind; /* rate, latency, deadline: what broke */
    double promised;
    double measured;
    double window_s; /* how long it was broken */
    const char *device;
    const char *action; /* move_neighbour, lift_cap, move_job, none */
    const char *reason;
};

void store_add_guard(struct store_batch *batch, const struct store_guard *guard);

#endif
