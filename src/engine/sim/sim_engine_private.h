/* sim_engine_private.h - the inside of the simulated engine, for the files of this folder
 * only: sim_engine.c (the operations), sim_world.c (what happens), event_queue.c (when),
 * sim_reports.c (what probes tell of it), sim_journal.c, guess_class.c */
#pragma once

#include "base/map.h"
#include "base/rng.h"
#include "base/vec.h"
#include "engine/sim/sim_engine.h"

enum event_kind {
    EVENT_NODE_FAILS, /* subject of the first four: node */
    EVENT_NODE_UP,
    EVENT_AWAKE, /* stamp tells a stale one, also of the next */
    EVENT_ASLEEP,
    EVENT_DRIFT,   /* rates of all classes move */
    EVENT_FINISH,  /* subject from here on: job.  Its work is done or its time over */
    EVENT_READY,   /* its node is awake and its checkpoint read */
    EVENT_SPEED,   /* its environment changes its speed */
    EVENT_LEFT,    /* it was told to stop, and has */
    EVENT_DEMAND,  /* of a service: look what is asked of it */
    EVENT_MEASURE, /* a probe reports */
    EVENT_POWER,   /* no subject: tell what every device has drawn */
    EVENT_KINDS,
};

struct event {
    double at_s;
    uint64_t sequence; /* filled by events_push */
    enum event_kind kind;
    uint64_t subject;
    uint64_t stamp;
};

struct events {
    vec_of(struct event) heap; /* the next one first */
    uint64_t next_sequence;
};

enum run_state {
    RUN_EXPECTED, /* never started */
    RUN_STARTING, /* waits for its node or its checkpoint */
    RUN_ACTIVE,
    RUN_STOPPED, /* its steps are kept for the next attempt */
    RUN_ENDED,   /* known until a daemon has heard of it */
};

/* A job of the world. */
struct run {
    struct sim_request request;
    bool given; /* the request came from sim_engine_expect() */
    bool known; /* the request is filled: a daemon named the job since the engine began */
    double factor; /* on the rate of the request's class: devices beyond its scale, work
                      a step that is not the class's */
    int attempt;
    bool started; /* some attempt was */
    enum run_state state;
    double ready_s, began_s;
    double before;  /* steps of earlier attempts */
    double steps;   /* of this one */
    double served;  /* a service: requests answered, of all attempts */
    double done_to; /* these are booked up to this time */
    double rate;    /* now */
    double demand;  /* a service: of the requests its part, now; 0: training */
    double total;   /* steps it takes; 0: ends by time */
    double ends_s;  /* a service: when its time is over; INFINITY: not yet known */
    double measured_s, measured_rate,
        measure_at_s;     /* last report; when the next is due */
    double demand_told_s; /* requests are counted from then on; 0: never told */
    double written;       /* steps the journal has */
    int exit_status;
    double speed, speed_after_s;
    double leave_s;          /* it takes to stop when told to */
    enum run_state leave_to; /* then; RUN_EXPECTED: it was not told to */
    uint64_t service; /* whose requests it shares with the other replicas; its own id */
    struct request_step demand_steps[SIM_ENGINE_DEMAND_STEPS]; /* of its environment */
    struct rng noise;
    enum engine_end end;
    uint64_t stamp[EVENT_KINDS]; /* of its valid event of each kind; 0: none */
    int device_count;            /* it sits on these while it starts or runs */
    int devices[LOOP_MAX_GANG];
};

struct occasion { /* an event that waits for dispatch() to tell it */
    struct engine_event event;
    char text[120];
};

struct ended { /* a job whose end was told, at a time of the wall */
    uint64_t job;
    double told_s;
};

struct sim_device {
    double watts;     /* now */
    double joules;    /* since last told */
    double joules_to; /* booked up to */
    double told_to;
    double changed_s; /* when its jobs or its cap last changed */
};

struct sim_engine {
    struct sim_engine_options options;
    struct cluster *cluster; /* who sits where, caps, states of nodes */
    struct world *made;      /* the world, when it is ours */
    struct truth truth;
    struct events events;
    uint64_t stamps;            /* given so far */
    uint64_t *awake_stamp;      /* (nodes) of the valid EVENT_AWAKE or EVENT_ASLEEP */
    double origin_s;            /* the world's time when the engine began */
    double wall_s;              /* and the wall's */
    double now_s;               /* the world is computed up to here */
    struct sim_device *devices; /* (devices) */
    int timer;                  /* descriptor; -1: nobody waits for it */
    int journal;                /* descriptor; -1: none */
    double journaled_s;         /* wall time of the last steps written */
    long journal_bytes;
    bool journal_torn; /* its last line is cut short */
    uint64_t last_job; /* the largest number in the journal as it was found */
    struct rng failures;
    struct map *index;         /* job -> position in runs */
    struct map *entered;       /* jobs that were handed in */
    vec_of(struct run *) runs; /* that run, will again, or have just ended */
    vec_of(uint64_t) replicas; /* of them those that serve another's requests */
    vec_of(struct ended) past; /* kept a while for a daemon that comes back */
    vec_of(struct occasion) news;
    struct engine_sink sink;
};

/* News that are gathered before they are told: a world that leaps far ahead has millions.
 */
#define SIM_ENGINE_NEWS 4096

/* event_queue.c */
void events_push(struct events *events, struct event event);
bool events_pop(struct events *events, struct event *event); /* false: none left */

/* sim_engine.c */
struct run *sim_engine_find(const struct sim_engine *e, uint64_t job); /* NULL: none */
struct run *sim_engine_add(struct sim_engine *e, uint64_t job);        /* must be new */
void sim_engine_forget(struct sim_engine *e, uint64_t job);
struct engine_event *sim_engine_tell(struct sim_engine *e, enum engine_event_kind kind,
                                     const struct run *run, const char *text);
void sim_engine_tell_end(struct sim_engine *e, const struct run *run, const char *text);

/* guess_class.c: what a job is in the world, from what its user told. */
void sim_engine_describe(struct sim_engine *e, struct run *run,
                         const struct engine_job *job);
void sim_engine_give(struct sim_engine *e, struct run *run,
                     const struct sim_request *request);

/* sim_world.c */
void sim_world_begin(struct sim_engine *e); /* the first events of the world */
void sim_world_at(struct sim_engine *e, struct run *run, enum event_kind kind,
                  double at_s); /* instead of the event of this kind that stands */
double sim_world_next_s(struct sim_engine *e); /* INFINITY: nothing will happen */
void sim_world_advance(struct sim_engine *e,
                       double to_s); /* or until there is much news */
void sim_world_seat(struct sim_engine *e, struct run *run, const int *devices, int count);
/* It leaves its devices and has ended, or waits to go on. */
void sim_world_end(struct sim_engine *e, struct run *run, enum engine_end end,
                   enum run_state state, const char *text);
void sim_world_cap(struct sim_engine *e, int device, double watts);
void sim_world_node(struct sim_engine *e, int node, enum node_state state);
/* Book a job up to now, before anything of it changes; recompute a job's devices. */
void sim_world_settle(struct sim_engine *e, struct run *run);
void sim_world_touch(struct sim_engine *e, const struct run *run);
double sim_world_done(const struct run *run, double at_s);

/* sim_reports.c: what probes tell. */
void sim_reports_begin(struct sim_engine *e, struct run *run); /* it runs now */
void sim_reports_end(struct sim_engine *e, struct run *run);
void sim_reports_rate(struct sim_engine *e, struct run *run); /* its rate has changed */
void sim_reports_measure(struct sim_engine *e, struct run *run); /* an event of its */
void sim_reports_demand(struct sim_engine *e, struct run *run);  /* likewise */
double sim_reports_asked(const struct sim_engine *e, const struct run *run);
void sim_reports_replicas(struct sim_engine *e,
                          const struct run *run); /* more or fewer */
void sim_reports_power(struct sim_engine *e, const int *devices, int count);
void sim_reports_watts(struct sim_engine *e, int device, double watts); /* from now on */

/* sim_journal.c: the world's memory. */
#define JOURNAL_NODE "node %d %d" /* is it asleep? */
#define JOURNAL_CAP  "cap %d %.3f"
int journal_open(struct sim_engine *e, struct err *err);
void journal_note(struct sim_engine *e, const char *format, ...) /* a line */
    __attribute__((format(printf, 2, 3)));
void journal_start(struct sim_engine *e, const struct run *run);
void journal_end(struct sim_engine *e, const struct run *run);
/* Steps and the clock, when it is time or the daemon ends. */
void journal_steps(struct sim_engine *e, bool at_once);
