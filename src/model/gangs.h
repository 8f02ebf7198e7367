/* gangs.h - what a job gains from several devices, on one node or spread over more
 *
 * Devices of a gang exchange gradients each step: that takes a share of the step that
 * follows from the size of the model, the speed of the link and the rate on one device.
 * Measured gangs correct it for their type, their family and their kind. */
#pragma once

#include "model/running.h"
#include "world/gpu_sheet.h"

struct gangs {
    const struct gpu_sheet *types; /* (types) borrowed */
    struct mean_book *book;        /* of what was measured, which checkpoints keep */
};

struct gangs_case {
    uint64_t cls;    /* any number that stands for the class for good */
    uint64_t family; /* the same for its family; 0: none told */
    int type;
    int devices;
    bool spread;            /* over several nodes */
    double params_millions; /* 0: unknown */
    double log_rate;        /* steps/s of one device alone, ln */
};

struct gangs_guess {
    double mean; /* ln of the rate of all devices over that of one */
    double var;
    int observations;
};

struct gangs *gangs_create(const struct gpu_sheet *types);
void gangs_destroy(struct gangs *scale); /* NULL is fine */

struct gangs_guess gangs_predict(const struct gangs *scale, const struct gangs_case *at);

/* A gang was measured, and one device of its kind too: the ln of what it gained, of which
 * var is not known.  share: what it counts as among all, 0..1. */
void gangs_observe(struct gangs *scale, const struct gangs_case *at, double gain,
                   double var, double share);
