/* watts.h - the power a job draws on each GPU type
 *
 * Data-sheet limits are a bad power model: jobs draw 0.1 to 0.9 of them.  What was
 * measured on one type is carried to another along the line that other jobs' draws on
 * both types follow, as a share of the dynamic range. */
#pragma once

#include "base/vec.h"
#include "model/codec.h"
#include "world/world.h"

struct watts_row {
    int kind;                    /* equal: told alike by whichever user; -1: of its own */
    double seen[WORLD_MAX_GPUS]; /* ln share of the dynamic range, NaN: never */
};

struct watts {
    vec_of(struct watts_row) rows; /* (jobs) */
    struct gpu_sheet sheets[WORLD_MAX_GPUS];
    int gpus;
};

struct watts_guess {
    double watts;  /* of a device that runs the job alone, no cap */
    double sd_log; /* of a new measurement */
    int observations;
};

struct watts *watts_create(void);
void watts_destroy(struct watts *watts); /* NULL is fine */

int watts_add_job(struct watts *watts);
int watts_add_job_of(struct watts *watts, int kind);
void watts_add_gpu(struct watts *watts, const struct gpu_sheet *sheet);

void watts_observe(struct watts *watts, int job, int gpu, double device_watts);
/* A job that was never added gets what one would of which nothing is known. */
struct watts_guess watts_predict(const struct watts *watts, int job, int gpu);
/* The same; where it was not measured itself the median of its kind goes first. */
struct watts_guess watts_predict_of(const struct watts *watts, int job, int kind,
                                    int gpu);

/* For checkpoints; reading needs the GPU types added and no job yet. */
void watts_code(struct watts *watts, struct codec *c);
