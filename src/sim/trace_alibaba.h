/* trace_alibaba.h - the pod list of Alibaba's GPU clusters
 *
 * CSV with the columns num_gpu,qos,creation_time,deletion_time,scheduled_time and, if
 * there, gpu_spec.  Pods without a GPU or never scheduled are left out.  LS and
 * Guaranteed pods are services, Burstable ones training with a required rate, BE ones ask
 * for nothing.  Types its operators do not disclose (G2, G3) bind nobody. */
#ifndef CORGI_SIM_TRACE_ALIBABA_H
#define CORGI_SIM_TRACE_ALIBABA_H

#include "sim/arrivals.h"

int trace_alibaba_load(struct arrivals *arrivals, const char *path, struct err *err);
int trace_alibaba_parse(struct arrivals *arrivals, const char *text, size_t length,
                        const char *name, struct err *err);

#endif
