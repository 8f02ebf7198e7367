/* trace_alibaba.h - the pod list of Alibaba's GPU clusters
 *
 * CSV with the columns num_gpu,qos,creation_time,deletion_time,scheduled_time and, if
 * there, gpu_spec and gpu_milli.  Pods without a GPU or never scheduled are left out.  LS
 * and Guaranteed pods are services, Burstable ones training with a required rate, BE ones
 * ask for nothing.  A pod that asks for thousandths of a GPU needs that share of the
 * reference rate; of others the share is drawn.
 *
 * Two types its operators do not disclose: G2, most of the cluster, is played by the A10
 * and G3 by the A100, in gpu_spec as in the built-in cluster `alibaba`.  On a cluster
 * without these cards such a wish binds nobody. */
#ifndef CORGI_LAB_TRACES_TRACE_ALIBABA_H
#define CORGI_LAB_TRACES_TRACE_ALIBABA_H

#include "lab/traces/arrivals.h"

extern const struct arrivals_reader trace_alibaba_reader;

#endif
