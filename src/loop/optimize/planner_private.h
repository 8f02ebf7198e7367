/* planner_private.h - a running placement improved step by step; shared by planner_*.c
 *
 * Every round starts from who runs where.  Who waits is seated where it adds the least
 * cost; who falls short is helped; then single jobs are moved, exchanged and nodes
 * emptied where that earns a multiple of what the moves cost.  The cost: watts of devices
 * and nodes, less the worth of progress, plus a prohibitive one for requirements that are
 * not believed to hold.
 *
 * Why not the best plan from scratch each round: estimates jitter, jobs come and go, and
 * a plan that is one percent better today moves half the cluster (docs/decisions/
 * optimizer-steady.md). */
#pragma once

#include "base/rng.h"
#include "base/vec.h"
#include "loop/estimate/predict.h"
#include "loop/cluster.h"
#include "loop/host_room.h"
#include "loop/node_access.h"
#include "loop/optimize/prediction_table.h"
#include "loop/optimize/plan.h"
#include "world/power.h"

#define PLANNER_STEPS 64 /* of the table of what a limit does */
/* Shapes of jobs whose costs two by two are kept, up to so many jobs; see planner_memo.c.
 */
#define PLANNER_MEMO      320
#define PLANNER_MEMO_JOBS (2 * PLANNER_MEMO)
#define PLANNER_MEMO_HASH 1024 /* a power of two, much more than there are shapes */
/* The cost of a requirement that does not hold, and of one missed altogether. */
#define PLANNER_SHORT_WATTS 1e5
/* Nothing is promised to a job yet: a place is judged by its chance, and what that is
 * worth; with less of it than this a place breaks the requirement like any other. */
#define PLANNER_UNSURE_WATTS 1000.0
#define PLANNER_CHANCE_LEAST PREDICTION_TABLE_HOPE
#define PLANNER_NEVER        1e12 /* the cost of what cannot be, */
#define PLANNER_IMPOSSIBLE   5e11 /* and of nothing that can */
/* The first job on a node is charged this part of it: others will join. */
#define PLANNER_FIRST_SHARE 0.5
/* A full cluster with a long queue: after so many jobs that found no place the others
 * keep theirs in the queue until the next round. */
#define PLANNER_WAITING_TRIES 24
/* With more devices than this a round looks at a part of them, or now and then. */
#define PLANNER_LARGE 512
/* Whoever ends sooner is not moved for less cost. */
#define PLANNER_LEFT_LEAST_S 300.0
/* A place that costs more is not believed to keep all requirements. */
#define PLANNER_KEEPS (0.1 * PLANNER_SHORT_WATTS)

/* A job of the round's input. */
struct planner_job {
    const struct job_status *status;
    size_t seat; /* in the plan: only the head of the queue is looked at */
    const struct table_kind *kind;
    int device;      /* its first; -1: waits */
    double need;     /* rate it must have where it is new */
    double capped;   /* rate it must have, with a margin, under a power limit */
    double keep;     /* rate below which it is helped where it is */
    double unit;     /* best rate alone anywhere: what its progress is measured by */
    uint64_t mark;   /* of its id, see planner_caps.c */
    long asked;      /* when its kind was, as of which the unit is */
    double placed_s; /* when it came where it is */
    int home;        /* its first device as the round began; -1: waits */
    double left_s;   /* see planner_left_s(); NaN: nobody has asked yet */
    double window_s; /* end of its newest window */
    struct host_room room; /* it takes of the node of each of its devices */
    bool bound;            /* to some of the nodes, see node_access.h */
    bool movable;          /* may be moved at all */
    bool unpromised;       /* the job's */
    bool gang;             /* on several devices */
    int beside;            /* see struct planner_gang */
    bool service;
    bool timed;   /* what it needs changes by itself: a deadline */
    bool paced;   /* measured where it is beside whoever is there */
    bool suffers; /* and found to do less than it must */
    bool moved;   /* in this round */
    bool stopped; /* in this round: back to the queue, to keep the power limit */
    bool held;    /* devices are held for it, see planner_queue.c */
    int rank;     /* among those who wait: its place in the queue */
};

/* A job on several devices, and with how many another of its size may share all of them;
 * 0: with none. */
struct planner_gang {
    int job, beside;
};

/* Devices for a job, and what they cost. */
struct planner_seats {
    int job;
    int devices[LOOP_MAX_GANG];
    double cost; /* PLANNER_NEVER: there are none */
};

struct planner_type {
    int caps;
    double cap_watts[PLAN_CAPS_MOST]; /* the first is 0: none */
    double idle_watts;
    double top_watts;
    /* What limits were seen to leave of rates against what the table says: the sums of a
     * line through the origin, in logs; and its slope, at least 1. */
    double seen_square, seen_product;
    double steepness;
    /* Draw and speed under each limit by the draw without, from idle to top. */
    struct power_capped capped[PLAN_CAPS_MOST][PLANNER_STEPS + 1];
};

/* How far above the best guess of a rate a place is judged: 0 at the guess, 1 at what is
 * hoped for. */
struct planner_view {
    double alone, pair;
};

#define PLANNER_PLAYS 23 /* of a forecast; a prime */

/* A job that runs as a forecast begins: where it is among the runs of the play, or that
 * it is not yet; and its rate then. */
struct planner_start {
    int run; /* PLANNER_RUN_LATER, PLANNER_RUN_NONE */
    double rate;
};
#define PLANNER_RUN_LATER (-1)
#define PLANNER_RUN_NONE  (-2)

/* When it ends in the play in which it ends first. */
struct planner_earliest {
    int job;
    double at_s;
};

/* A job in a forecast, on its devices. */
struct planner_run {
    int job;
    double left; /* steps, or seconds of a service; infinite: not told */
    double rate; /* of that a second, */
    double at_s; /* since then */
};

/* A device held for a job that cannot start yet. */
struct planner_hold {
    int job;        /* -1: nobody */
    double until_s; /* when it is believed to get it */
};

/* Power limits a device's present jobs have been under. */
struct planner_caps {
    uint64_t company; /* hash of the jobs; 0: nobody */
    int deepest;      /* level they may have: below it they were seen to fall short */
    double open[2];   /* rates of them without a limit, as they sit; 0: not measured */
    double told_s[2]; /* end of the newest window that was compared with them */
    double looked_s;  /* when the limit was last thought about, and after which window */
    double window_s;
    double noted_s; /* the newest window that was taken note of */
    bool due;       /* to be thought about, see planner.c */
};

/* A place taken for what it may turn out to be, until it is measured. */
struct planner_trial {
    uint64_t job;
    int device;
    double at_s;
    double instead; /* what the place of the best guess was believed to cost, watts */
};

/* What nodes draw, and what they do for that; see planner_price.c. */
struct planner_draws {
    double watts;    /* of all */
    double training; /* part of the watts */
    double units;    /* of training progress */
};

/* What a job costs alone on a type, as it is looked at. */
struct planner_alone {
    long look; /* planner_memo.look when that was worked out */
    double cost;
};

/* And two gangs, as they are looked at. */
struct planner_beside {
    long look;
    int type, a, b;
    double cost;
};
#define PLANNER_BESIDE 8192 /* of them are kept, a power of two */

/* What is kept of a job. */
struct planner_kept {
    long look;  /* planner_memo.look of the rest */
    int slot;   /* of its shape; -1: there are too many */
    float here; /* cost of its device as it runs there now; NaN: nobody has asked yet */
};

/* What was found to cost what, by one view. */
struct planner_memo {
    long look;           /* another number each time it begins anew */
    int slots;           /* taken so far */
    vec_of(float) costs; /* (types, slots, 1 + slots); NaN: nobody has asked yet */
    vec_of(struct planner_kept) jobs; /* (jobs) */
    int table[PLANNER_MEMO_HASH];     /* 1 + the first job of a shape; 0: none */
};

struct planner_state {
    const struct optimize_input *in;       /* of running jobs and the head of the queue */
    vec_of(struct planner_gang) gang_jobs; /* those on several devices, as shown */
    struct optimize_input shown;
    struct optimize_settings settings;
    double limit_watts; /* the cluster may draw now and soon; 0: no limit */
    vec_of(const struct job_status *) shown_jobs;
    vec_of(struct job_stamp) shown_stamps; /* (shown) */
    vec_of(size_t) seats;                  /* (shown) where the plan has each */
    bool typed;                            /* the types have been loaded, */
    bool typed_caps;                       /* with power limits */
    struct prediction_table *table;
    struct rng rng;
    struct planner_type types[CLUSTER_MAX_TYPES];
    vec_of(struct planner_job) jobs;
    /* What was loaded last and is still true need not be loaded again. */
    vec_of(struct planner_job) jobs_before;
    vec_of(struct job_stamp) stamps; /* (jobs) */
    bool may_move_before, reserved_before;
    vec_of(int) was;       /* (jobs) places of the same in jobs_before; -1: new */
    vec_of(int) suffering; /* jobs */
    vec_of(int) members;   /* (devices, 2) jobs; -1: nobody */
    vec_of(bool) usable;   /* (devices) may get a job */
    vec_of(int) node_type; /* (nodes) of all its devices; -1: it has several */
    vec_of(int) node_jobs;
    vec_of(int) node_empty;             /* (nodes) devices with nobody */
    vec_of(struct host_room) node_left; /* (nodes) */
    bool reserved;                      /* some of the nodes are, from some time on */
    struct planner_memo memos[2];
    int aside;                            /* the one that is asked and filled now */
    vec_of(struct planner_alone) alone;   /* (jobs, types) for many jobs, besides */
    vec_of(struct planner_beside) beside; /* (PLANNER_BESIDE) likewise, by hash */
    long looks;                           /* memories begun so far */
    double price;    /* of progress, watts a unit; see planner_price.c */
    double priced_s; /* when it was last looked at */
    vec_of(struct planner_draws) draws; /* (nodes) of a large cluster, as last seen */
    int drawn;                          /* the last of them that was looked at */
    double improved_s; /* when moves for the sake of cost were last looked for */
    bool improves;     /* this round looks for a better placement of what runs */
    struct planner_view view;
    vec_of(struct planner_trial) trials;
    vec_of(struct planner_caps) caps;  /* (devices) */
    vec_of(int) caps_due;              /* devices whose limit is to be thought about */
    bool queued;                       /* somebody did when all limits were last set */
    vec_of(struct planner_hold) holds; /* (devices) */
    struct plan_learning learning;
    double watts_now;      /* of nodes with jobs */
    double used_joules;    /* since the first round */
    double guessed_joules; /* expected to be lost by trials so far */
    vec_of(int) queue;     /* those shown who wait, in their order */
    bool queue_cut;        /* others wait who were not shown */
    vec_of(int) order;
    vec_of(struct planner_seats) gangs; /* moved in this round */
    int preemptions;     /* jobs for which others were looked at in this round */
    vec_of(int) started; /* jobs that got a seat in this round */
    vec_of(int) stopped; /* for the limit on power, in this order */
    const struct plan_terms *terms;  /* of an offer that is being made; NULL: a round */
    struct plan offered;             /* scratch of offers */
    vec_of(struct planner_run) runs; /* likewise, */
    vec_of(struct planner_start) starts;      /* (jobs) */
    vec_of(struct planner_earliest) earliest; /* in order of time, */
    size_t later;                             /* from here on not among the runs */
    long forecast_work;                       /* done for this forecast */
    vec_of(int) left_soon;                    /* devices somebody was told to leave */
};

static inline int *planner_members(const struct planner_state *s, int device)
{
    return &s->members.items[2 * (long)device];
}

/* planner_load.c: the round's jobs, devices and prices. */
void planner_load(struct planner_state *s, const struct optimize_input *in);
/* Has it been where it is long enough to be moved for less cost? */
bool planner_has_settled(const struct planner_state *s, const struct planner_job *j);
/* Watts a unit of its progress is worth; 0 for services. */
static inline double planner_worth(const struct planner_state *s,
                                   const struct planner_job *j)
{
    return j->service ? 0 : s->price * j->status->job.devices;
}
/* How long the job is expected to run on. */
double planner_left_s(const struct planner_state *s, const struct planner_job *j);
/* planner_queue.c: who runs, and the head of the queue in its order. */
void planner_show(struct planner_state *s, const struct optimize_input *in);
/* Those shown who wait, in their order, into s->order. */
void planner_list_waiting(struct planner_state *s);
/* Hold devices for the first who cannot start; when progress has its price. */
void planner_hold_devices(struct planner_state *s);
void planner_hold_nothing(struct planner_state *s);
/* May the job be on its node, and is the device held for nobody else, or will the job be
 * gone in time? */
bool planner_may_use(const struct planner_state *s, int job, int device);
/* Would a gang be done earlier if it waited for a node that holds all of it, instead of
 * spanning the nodes of these devices? */
bool planner_awaits_node(const struct planner_state *s, int job, const int *devices);
/* The job has its devices: what was held for it is anybody's. */
void planner_release(struct planner_state *s, int job);

/* The job comes to these devices, or leaves them. */
void planner_attach(struct planner_state *s, int job, const int *devices, int count);
void planner_detach(struct planner_state *s, int job, const int *devices, int count);

/* planner_room.c: has the node room for so many devices of the job, besides what is held
 * for others? */
bool planner_has_room(const struct planner_state *s, int job, int node, int devices);
/* May the job begin on the node at all, by partitions and reservations?  And is it these
 * alone that keep it from a place? */
bool planner_reaches(const struct planner_state *s, int job, int node);
bool planner_access_binds(struct planner_state *s, int job);
/* For so many of at most so many? */
int planner_room_devices(const struct planner_state *s, int job, int node, int most);
/* For how many of the job's devices would it have room if nobody else was there? */
int planner_room_ever(const struct planner_state *s, int job, int node);
/* Have the nodes of these devices room for all of it? */
bool planner_has_room_all(const struct planner_state *s, int job, const int *devices,
                          int count);
/* And when two jobs on one device each have changed places? */
bool planner_has_room_swapped(const struct planner_state *s, int a, int b);
/* Is it room on hosts alone that keeps the job from a place? */
bool planner_room_binds(struct planner_state *s, int job);

/* What a power limit, by its index, makes of this draw. */
struct power_capped planner_under_cap(const struct planner_type *type, int cap,
                                      double watts);

/* planner_cost.c: watts of a device of this type with these jobs (-1: nobody) above idle;
 * in the end, with the limit that makes it the least.  *cap, unless NULL, is the limit to
 * set now on the way there, and the watts are those with it. */
double planner_cost(struct planner_state *s, int type, int a, int b, double *cap);
/* Watts it draws under this limit (0: none), idle included, as far as is believed, and
 * whether all its requirements hold. */
struct planner_draw {
    double watts;
    bool kept;
};
struct planner_draw planner_draw(struct planner_state *s, int type, int a, int b,
                                 double cap_watts);
/* Watts the node costs for being awake with jobs. */
double planner_node_cost(const struct planner_state *s, int node);
/* May the job have this device at all? */
bool planner_allowed(const struct planner_state *s, int job, int device);
/* What it adds to seat the job there; share: of the node's cost, if it is the first. */
double planner_add_cost(struct planner_state *s, int job, int device, double share);
/* What its place costs now, the node included when it is alone there. */
double planner_place_cost(struct planner_state *s, int job);

/* planner_caps.c: remember the limits under which jobs were seen to fall short; after
 * loading, in a round. */
void planner_learn_caps(struct planner_state *s);
/* The level of power limit that jobs were measured under on their device as they are now,
 * and the deepest that is not known to be too deep for them. */
struct planner_cap_range {
    int now, deepest;
};
struct planner_cap_range planner_cap_range(const struct planner_state *s, int device,
                                           int a, int b);
/* What a limit must leave of the requirement, for a job with so many windows here. */
double planner_cap_margin(int windows);

/* planner_price.c: what the cluster draws, and what progress is worth. */
void planner_set_price(struct planner_state *s);

/* The price and the worth of jobs by the terms of the last plan, for an offer. */
void planner_take_terms(struct planner_state *s);

/* planner_memo.c: what is kept of costs, after loading; places are judged by this view
 * from now on. */
void planner_memo_load(struct planner_state *s);
void planner_memo_fini(struct planner_state *s);
void planner_look(struct planner_state *s, struct planner_view view);
/* For a moment by another view, always the same one until the next planner_look(); then
 * back.  What was kept is not forgotten. */
void planner_look_aside(struct planner_state *s, bool aside, struct planner_view view);
/* Where the cost of the two is kept; NULL: nowhere. */
float *planner_memo_of(struct planner_state *s, int type, int a, int b);
/* Where the cost of a job alone is kept when there are many jobs; else NULL. */
struct planner_alone *planner_alone_of(struct planner_state *s, int type, int job);
/* And that of two gangs, in this order: a forecast asks for the same two at each end of
 * somebody's.  It may be of others: look, type, a and b tell. */
struct planner_beside *planner_beside_of(struct planner_state *s, int type, int a, int b);
/* Is this what runs now on a device of this type, nobody else beside? */
bool planner_runs_here(const struct planner_state *s, int type, int a, int b);

/* planner_explore.c */
/* May places be tried for what they may turn out to be?  Then by these views. */
bool planner_is_bold(const struct planner_state *s);
void planner_look_to_place(struct planner_state *s);
void planner_look_to_move(struct planner_state *s);
/* The job has been given this device, at best guess dearer than another. */
void planner_note_trial(struct planner_state *s, int job, int device, double instead,
                        double dearer);
/* Compare what trials were measured to cost; after loading. */
void planner_settle_trials(struct planner_state *s);
/* The probability that the job keeps its requirement, from a guess and what is hoped. */
double planner_chance(const struct planner_job *job, double expected, double hope);
/* An empty device of the type with the best chance to keep the requirement of a job that
 * no place is believed to keep; -1: none. */
int planner_hopeful_place(const struct planner_state *s, int job);

/* planner_place.c: seats for who waits. */
void planner_place_waiting(struct planner_state *s, struct plan *plan);
/* The cheapest free devices for a job; false: there are none. */
bool planner_find_seats(struct planner_state *s, int job, struct planner_seats *best);
/* What a gang costs on these devices, beside whoever is there, the nodes it would have
 * for itself included; while it is on none. */
double planner_gang_cost(struct planner_state *s, int job, const int *devices);
/* Every place left breaks a promise.  Waiting is free up to the grace time if a better
 * place can come free; after that any progress is better than none.  Who has no promise
 * yet waits for nothing: it gets one only when it was measured. */
bool planner_rather_waits(const struct planner_state *s, int job, double cost,
                          double at_s);
double planner_grace_ends_s(const struct planner_state *s, int job);

/* planner_preempt.c: may others be stopped for the job, once its grace time is over?  And
 * devices for it from those who are, if then all requirements are kept: they have left,
 * and the plan says so. */
bool planner_preempts(const struct planner_state *s, int job);
bool planner_preempt(struct planner_state *s, struct plan *plan, int job,
                     struct planner_seats *seats);

/* planner_forecast.c: of an offer without a place, a free place that is too slow, who
 * goes before, and when the job is expected to start. */
void planner_offer_later(struct planner_state *s, const struct optimize_input *in,
                         struct place_offer *offer);

/* planner_runs.c: who runs in a play of a forecast, by the draws of what is left; before
 * the first play, and before each. */
void planner_runs_list(struct planner_state *s);
void planner_runs_begin(struct planner_state *s);
/* The job comes, or goes, and whoever is on the devices goes on at another rate. */
void planner_runs_add(struct planner_state *s, int job, int play, double at_s);
void planner_runs_drop(struct planner_state *s, size_t run);
void planner_runs_change(struct planner_state *s, const int *devices, int count, int play,
                         double at_s);
/* The run that ends next, if it does not after this time; SIZE_MAX: nobody's end is
 * known. */
size_t planner_runs_next(struct planner_state *s, int play, double until_s, double *at_s);

/* planner_limit.c: the limit on the power of the whole cluster.  Of a plan whose seats
 * and caps are written: lowers caps, takes back starts, stops jobs. */
void planner_keep_limit(struct planner_state *s, struct plan *plan);

/* planner_improve.c: moves that help who falls short, gangs included, and that pay. */
void planner_mend(struct planner_state *s);
void planner_improve(struct planner_state *s);
/* Joules a move of the job must save, and over how long. */
double planner_hurdle(const struct planner_state *s, const struct planner_job *j);
double planner_horizon(const struct planner_state *s, const struct planner_job *j);
/* May it be moved for less cost, after what moves took from it so far? */
bool planner_within_budget(const struct planner_state *s, const struct planner_job *j);
/* How many who fall short are helped in this round, and from which of them on. */
int planner_mends(const struct planner_state *s);
size_t planner_first_mended(struct planner_state *s);
/* Is it long enough where it is to be moved again, after so many moves? */
bool planner_has_waited(const struct planner_state *s, const struct planner_job *j);

/* planner_gangs.c: the same for gangs, as a whole to devices that are free. */
void planner_mend_gangs(struct planner_state *s);
void planner_improve_gangs(struct planner_state *s);
