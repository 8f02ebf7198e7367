/* advice.h - what an operator's jobs cost as they ran, and what Corgi would have saved
 *
 * `corgi advise` plays a list of Slurm's jobs several times, each time with what the jobs
 * compute drawn anew: once where and when they really ran, once under each policy
 * (lab/sim/sweep.h).  Here is what follows: who would have gained and lost, how well the
 * replay of the real schedule meets the record, who holds GPUs without using them. */
#pragma once

#include "base/json_out.h"
#include "base/str.h"
#include "lab/sim/gains.h"
#include "probe/jobstats.h"

/* How far the replay of the real schedule is from the record. */
struct advice_fit {
    size_t jobs, ended; /* of the list; that ended in all replays */
    double record_kwh;  /* from places, times and the power model alone, mean of draws */
    double replay_kwh;  /* of the replay */
    double energy_percent; /* mean distance of the two */
    double ends_percent;   /* distance of ends in percent of the time a job ran: mean, */
    double ends_percent_p95;
    double ends_within;    /* share of jobs within 5 % */
    size_t metered;        /* jobs whose energy was metered, by whomever */
    double metered_kwh;    /* that, */
    double metered_replay; /* and of the same jobs' GPUs in the replay, kWh */
};

/* GPUs that a user's jobs hold and hardly use, by the counters of jobstats. */
struct advice_idle {
    const char *name;
    size_t jobs, counted; /* with hardly used GPUs; with counters at all */
    double gpu_h;         /* held by the first */
    double unused_gpu_h;  /* of that on GPUs that did nothing at all */
    double use;           /* percent, mean of gpu_h */
    double held_gb;       /* of a GPU's memory, mean of their jobs; NaN: not counted */
    size_t held_jobs;     /* of which that was counted */
};

struct advice {
    const struct sweep *sweep; /* borrowed: as it ran first, then Corgi, then others */
    struct advice_fit fit;
    size_t user_count, day_count, idle_count;
    struct gains_group *users;  /* as they ran and under Corgi, by GPU-hours */
    struct gains_group *by_day; /* the same of the jobs of each day, by day */
    struct advice_idle *idle;   /* by GPU-hours */
    double first_s;             /* Slurm's time of the first submission */
    double days;                /* from the first submission to the last end */
    const char *warnings;       /* of the record itself, sentences with a newline each,
                                   borrowed;       NULL: none */
};

/* sweep is of these options, its first row policy_as_it_ran and its second Corgi. */
int advice_init(struct advice *advice, const struct sweep *sweep,
                const struct sweep_options *options, struct err *err);
void advice_fini(struct advice *advice);

struct advice_prices {
    double per_kwh; /* 0: not told */
    double co2_g;
    const char *currency;
};

/* For people; for programs (docs/json.md); as a part of the report's page. */
int advice_print(const struct advice *advice, const struct sweep_options *options,
                 const struct advice_prices *prices, struct err *err);
void advice_json(const struct advice *advice, const struct sweep_options *options,
                 const struct advice_prices *prices, struct str *out);
void advice_html(const struct advice *advice, const struct sweep_options *options,
                 const struct advice_prices *prices, struct str *out);
