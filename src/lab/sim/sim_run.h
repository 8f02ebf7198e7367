/* sim_run.h - one simulation: a workload, a cluster, a planner, a virtual clock
 *
 * The simulator is an engine for the very loop the daemon runs: it carries out the loop's
 * actions on the truth, reports noisy measurements, lets nodes fail, and keeps the books.
 */
#pragma once

#include "base/err.h"
#include "loop/loop.h"
#include "model/network_choice.h"
#include "lab/sim/sim_meter.h"
#include "lab/sim/quarter_stats.h"
#include "lab/sim/sim_recording.h"
#include "engine/sim/truth.h"
#include "lab/traces/workload.h"

struct real_schedule;
struct sim_told;

/* A job has kept its promise when it was broken at most this share of its time. */
#define SIM_FORGIVEN       0.01
#define SIM_FORGIVEN_FIRST 0.05 /* by the first protocol */

struct sim_options {
    struct optimize_settings settings;
    uint64_t seed;
    double tick_s;       /* demand moves and probes report this often */
    double round_s;      /* the loop's timer, besides rounds on events */
    double measure_s;    /* a job in a steady place is measured this often */
    double noise_sd;     /* of the log of a measured rate */
    double node_mtbf_s;  /* mean time between failures of a node; 0: none */
    double repair_s;     /* a failed node is back after this */
    double checkpoint_s; /* a failure loses what was done since the last checkpoint */
    size_t unquoted;     /* so many enter without a quote; for benchmarks */
    double forgiven;     /* see SIM_FORGIVEN */
    double limit_s;      /* stop here whatever still runs; 0: at the end of all work */
    double gang_interference, cap_steepness; /* see truth.h; 0: none */
    bool drawn_power;                        /* likewise */
    double drift;    /* of rates over the days, see truth.h; 0: none */
    double alone_sd; /* hidden factors of each job, see truth.h */
    double beside_sd;
    enum network_choice networks; /* architecture of P1 and P2 */
    bool record_sights; /* keep the errors of first estimates, see sim_recording.h */
    bool record_places; /* and who ran where */
    bool check;         /* look for broken rules at every event, see sim_check.h */
};

struct sim_options sim_default_options(void);

enum sim_end { SIM_FINISHED, SIM_RUNNING, SIM_WAITING, SIM_REFUSED, SIM_FAILED };

/* What became of one request. */
struct sim_job_result {
    enum sim_end end;
    double wait_s;     /* until its first start; NaN: never started */
    double counted_s;  /* time its requirement was judged */
    double violated_s; /* of that, not met */
    double end_s;      /* of one that finished; NaN: it did not */
    double joules;     /* of its devices, in equal parts where they are shared */
    double arrival_s;  /* as requested, so the next ones */
    double asked_s;    /* alone on the reference GPUs; of a service: it is wanted */
    int devices;
    bool service;
    double misplaced_s; /* longest in one place that costs far more than a free one */
    int moves;
    int restarts;
};

struct sim_result {
    size_t jobs, finished, running, waiting, refused, failed;
    struct meter_totals energy;
    double saved_j, saved_error_j; /* as the daemon would tell, half a 90 % interval */
    double bound_j; /* no plan takes less, see energy_bound.h; NaN: not asked for */
    double end_s;
    double work_h;   /* done, in reference GPU hours */
    double useful_h; /* of that, while the requirement held */
    double sla_time; /* share of judged job-time with the requirement met */
    double sla_jobs; /* share of jobs that missed it at most 1 % of their time, */
    double sla_jobs_5, sla_jobs_01; /* 5 % and 0.1 % */
    double wait_p50_s, wait_p95_s;
    double moves_per_job;
    double service_time;  /* of services, share of their judged time within rate and
                             latency; NaN: there is none */
    double service_moves; /* and moves of each */
    long restarts;
    long rounds;
    double decision_p50_ms, decision_p99_ms; /* of processor time */
    struct refine_score estimates;
    struct plan_learning learning; /* what the planner tried in order to learn */
    struct quarter quarters[QUARTERS_PARTS];
    struct quote_score quotes;
    struct sim_job_result *job_results; /* (jobs) */
    struct sim_recording *recording;    /* NULL: not asked for */
};

/* What the planner is told of rates and watts. */
enum sim_model {
    SIM_MODEL_LEARNED,  /* first estimates, refined by what is measured: the default */
    SIM_MODEL_INITIAL,  /* first estimates alone */
    SIM_MODEL_FEEDBACK, /* constants, corrected by measurements of the same job alone */
    SIM_MODEL_SHEET,    /* data-sheet ratios and running means: for policies that ask for
                           no rates, where learning would only cost time */
    SIM_MODEL_ORACLE,   /* the truth: a bound, not a policy */
};

/* Called now and then with the share of the work that is over; it only grows. */
typedef void sim_progress(void *ctx, double share);

/* Between probes and the loop: what a job's probe measured is told as this makes it, and
 * what the loop saw of it.  Either may be NULL. */
struct sim_probes {
    void *ctx;
    void (*tells)(void *ctx, const struct job *job, struct measurement *m);
    void (*seen)(void *ctx, const struct observation *seen);
};

/* What a run needs besides options; all borrowed. */
struct sim_setup {
    const struct world *world;
    const struct workload *workload;
    const struct cluster *cluster;
    const int *gpu_of_type;            /* (cluster types) */
    const struct planner_ops *planner; /* decides */
    enum sim_model model;              /* what it is told */
    int late_type;                     /* nodes of this type join at late_s, if that is
                                          not 0 */
    double late_s;
    struct sim_told *told; /* requests as users tell them, see sim_told.h; then workload
                              is its own and the rest of this is not used.  NULL: none */
    const struct real_schedule *schedule; /* followed, instead of asking the planner; the
                                             workload is of the same list.  NULL: none */
    const struct fair_share_rule *shares; /* (share_count) of users */
    size_t share_count;
    const struct sim_probes *probes; /* NULL: they tell what they measure */
    sim_progress *progress;          /* told before the end only; NULL: nobody */
    void *progress_ctx;
};

int sim_run(const struct sim_options *options, const struct sim_setup *setup,
            struct sim_result *result, struct err *err);
void sim_result_fini(struct sim_result *result);
