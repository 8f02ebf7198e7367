/* core_state.h - the inside of struct core, shared by core.c and core_predict.c only */
#ifndef CORGI_LOOP_CORE_CORE_STATE_H
#define CORGI_LOOP_CORE_CORE_STATE_H

#include "loop/core/core.h"

struct core {
    struct kernel_params params;
    struct kernel kernel;
    bool relative;
    struct job_trait *jobs; /* (job_capacity) */
    int job_count, job_capacity;
    double *alike; /* (job_capacity, job_capacity) */
    struct gpu_trait *gpus;
    int gpu_count;
    size_t count, capacity; /* observations */
    struct cell *cells;
    double *values;
    double *extra;  /* variance beyond the kernel's noise */
    double *factor; /* (capacity, capacity) lower Cholesky of the covariance */
    double *white;  /* (capacity) factor^-1 (values - mean) */
    double *weight; /* (capacity) covariance^-1 (values - mean) */
};

#endif
