/* features.h - from what a user tells and a data sheet says to what the estimator sees
 *
 * Everything a user may leave out has a neutral value here. */
#ifndef CORGI_MODEL_FEATURES_H
#define CORGI_MODEL_FEATURES_H

#include "model/kernel.h"
#include "world/descriptor.h"
#include "world/gpu_sheet.h"

/* Multiply-adds forward to operations of a training step: forward and twice backward,
 * two operations each. */
#define FEATURES_OPS_PER_MAC 6.0

/* family: the caller's number for descriptor->family, -1 when none was told. */
struct job_trait features_of_job(const struct job_descriptor *descriptor, int family);
struct gpu_trait features_of_gpu(const struct gpu_sheet *sheet);

/* Where the user told no work a measured rate stands in: at a typical share of peak
 * speed, ops = share * peak / rate.  mean_log_step is the mean over measured GPUs of
 * ln(peak TFLOPS * 1e12 / rate). */
void features_work_from_rate(struct job_trait *trait, double mean_log_step);

#endif
