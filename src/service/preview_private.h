/* preview_private.h - inside of a preview: policy_preview.c and preview_world.c */
#pragma once

#include "engine/conduct.h"
#include "engine/sim/sim_engine.h"

struct preview_job {
    struct job_status was;      /* when the preview was asked for */
    struct sim_request request; /* what the world knows of it */
    struct request_step demand; /* of a service: what is asked of it now, all the time */
    int cls;                    /* its kind in the world; -1: not known yet */
    /* Of a run: */
    int attempt;
    bool runs;
    double steps_before;
    struct conduct_tries tries;
};

struct preview_inside {
    struct loop_options options;
    struct learned_options learned;
    struct cluster *cluster; /* nobody sits there */
    unsigned char *model;    /* what was learned */
    size_t model_bytes;
    size_t count;
    struct preview_job *jobs; /* (count) */
    int kinds;
    struct job *speaker; /* (kinds) a job of each */
    struct world *world; /* NULL: not made yet */
};

/* Tells each job its kind.  Jobs of too many kinds are dropped: returns how many. */
int preview_kinds(struct preview_inside *in);

/* Makes in->world: tables of what the model believes of every kind of job, and what the
 * world knows of each job. */
void preview_world(struct preview_inside *in, const struct model *model);
