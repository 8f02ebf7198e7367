/* sim_args.h - what corgi sim can be told on the command line */
#pragma once

#include "base/options.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct sim_args {
    const char *cluster;
    const char *config;
    const char *trace;
    const char *requests;
    const char *daemon;
    const char *ledger;
    const char *workload;
    const char *throughputs;
    const char *watts;
    const char *arrivals;
    int arrivals_format;
    const char *slurm_jobs;
    const char *slurm_nodes;
    const char *slurm_types;
    bool slurm_any_type;
    const char *demand;
    const char *replace;
    double power_limit_watts;
    const char *policy;
    const char *load;
    double price, co2_g; /* of a kWh; 0: not told */
    const char *out;
    const char *sleep;
    uint64_t seed;
    int seeds;
    int threads;
    int share;
    double days;
    int limit;
    double mtbf_s;
    int model; /* enum network_choice */
    int protocol;
    double noise, gang_interference, cap_steepness;
    double until_s;
    bool check;
    bool bound;
    bool timings;
    bool json;
};

extern const struct option_spec sim_options[];

/* Add " --name value" for every option that is not at its default, in the order of the
 * table, save those named in `except` (ends with NULL).  Values are quoted for a shell
 * where they need to be.  args_size: of the struct the options fill. */
void options_words(const struct option_spec *specs, const void *args, size_t args_size,
                   const char *const *except, struct str *out);
