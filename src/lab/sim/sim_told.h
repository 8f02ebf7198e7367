/* sim_told.h - a simulation of requests as users tell them, played as a daemon would
 *
 * A file has a request a line: {"at_s": T, "job": {...}}, the job as in POST /v1/jobs.
 * They are played on the cluster, with the engine, the planner and the settings that a
 * daemon with this config has; what the jobs really are follows from the engine's seed,
 * their ids and what was told. */
#pragma once

#include "base/intern.h"
#include "base/json.h"
#include "lab/traces/workload.h"
#include "loop/record/quote_score.h"
#include "service/job_parse.h"
#include "service/service_config.h"

#include <stdio.h>

struct told_request {
    struct json_doc *doc;
    struct parsed_job parsed; /* when it has come; its texts live as long as this */
};

struct sim_told {
    struct service_config config;
    struct workload *workload;     /* when each comes; the rest is filled then */
    struct told_request *requests; /* (workload.count) */
    struct auth_identity who;      /* whoever runs the simulation asks */
    struct intern *classes;
    size_t accepted; /* jobs have ids in the order in which they were accepted */
    size_t *index;   /* (accepted) the request of id - 1 */
    FILE *ledger;    /* quotes, plans and decisions, see service/ledger.h */
};

int told_load(struct sim_told *told, const char *config, const char *requests,
              struct err *err);
void told_fini(struct sim_told *told);

/* Play them up to a time of the world; 0: until all is over.  *quotes: what came of what
 * was quoted. */
int told_run(struct sim_told *told, double until_s, FILE *ledger,
             struct quote_score *quotes, struct err *err);
