/* descriptor.h - what a user tells of a job at submission
 *
 * Everything may be missing: 0, an empty family, MODEL_UNKNOWN.  The estimator works
 * without and gets sharper with. */
#pragma once

#include "base/err.h"

#define DESCRIPTOR_FAMILY_SIZE 48

enum model_kind {
    MODEL_UNKNOWN,
    MODEL_CONV,
    MODEL_ATTENTION,
    MODEL_RNN,
    MODEL_EMBEDDING,
    MODEL_GAN,
    MODEL_RL,
    MODEL_DIFFUSION,
    MODEL_OTHER,
    MODEL_KIND_COUNT
};

struct job_descriptor {
    char family[DESCRIPTOR_FAMILY_SIZE]; /* "ResNet-50"; jobs of one family are alike */
    enum model_kind model;
    int batch;                   /* samples a step or a request; 0: unknown */
    double gmac_per_sample;      /* forward multiply-adds, 10^9; 0: unknown */
    double params_millions;      /* 0: unknown */
    double memory_mb_per_sample; /* activations and input; 0: unknown */
};

extern const char *const model_kind_names[MODEL_KIND_COUNT + 1]; /* ends with NULL */
enum model_kind model_kind_find(const char *name); /* MODEL_UNKNOWN when unknown */
