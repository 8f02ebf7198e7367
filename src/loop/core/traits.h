/* traits.h - from what a user tells and a data sheet says to what the estimator sees
 *
 * Everything a user may leave out has a neutral value here. */
#ifndef CORGI_LOOP_CORE_TRAITS_H
#define CORGI_LOOP_CORE_TRAITS_H

#include "loop/core/kernel.h"
#include "world/descriptor.h"
#include "world/gpu_sheet.h"

/* Multiply-adds forward to operations of a training step: forward and twice backward,
 * two operations each. */
#define TRAITS_OPS_PER_MAC 6.0

/* family: the caller's number for descriptor->family, -1 when none was told. */
struct job_trait traits_of_job(const struct job_descriptor *descriptor, int family);
struct gpu_trait traits_of_gpu(const struct gpu_sheet *sheet);

/* Where the user told no work a measured rate stands in: at a typical share of peak
 * speed, ops = share * peak / rate.  mean_log_step is the mean over measured GPUs of
 * ln(peak TFLOPS * 1e12 / rate). */
void traits_work_from_rate(struct job_trait *trait, double mean_log_step);

#endif
