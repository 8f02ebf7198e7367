/* watts.h - the power a job draws on each GPU type
 *
 * Data-sheet limits are a bad power model: jobs draw 0.1 to 0.9 of them.  What was
 * measured on one type is carried to another along the line that other jobs' draws on
 * both types follow, as a share of the dynamic range. */
#ifndef CORGI_MODEL_WATTS_H
#define CORGI_MODEL_WATTS_H

#include "base/bytes.h"
#include "world/gpu_sheet.h"

struct watts;

struct watts_guess {
    double watts;  /* of a device that runs the job alone, no cap */
    double sd_log; /* of a new measurement */
    int observations;
};

struct watts *watts_create(void);
void watts_destroy(struct watts *watts); /* NULL is fine */

/* busy: what is believed of the share in use before anything is measured; 0: unknown. */
int watts_add_job(struct watts *watts, double busy);
int watts_add_gpu(struct watts *watts, const struct gpu_sheet *sheet);

void watts_observe(struct watts *watts, int job, int gpu, double device_watts);
struct watts_guess watts_predict(const struct watts *watts, int job, int gpu);
/* Of a job that was never added and of which nothing is believed. */
struct watts_guess watts_predict_guest(const struct watts *watts, int gpu);

/* For checkpoints; reading needs the GPU types added and no job yet. */
void watts_write(const struct watts *watts, struct bytes_out *out);
void watts_read(struct watts *watts, struct bytes_in *in);

int watts_job_count(const struct watts *watts);

#endif
