/* gpu_sheet.h - data sheets of GPU types
 *
 * The catalogue holds real cards from public data sheets, so that Corgi knows something
 * of a GPU nobody has measured.  A K80 counts as one of its two halves, as the driver
 * shows it. */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define GPU_NAME_SIZE 32

struct gpu_sheet {
    char name[GPU_NAME_SIZE]; /* catalogue key, lower case: "v100-16" */
    char title[64];           /* "NVIDIA Tesla V100 PCIe 16 GB" */
    double fp32_tflops;
    double fp16_tflops; /* dense, tensor or matrix cores where there are any */
    double bandwidth_gbs;
    double memory_gb;
    int sms;      /* streaming multiprocessors or compute units */
    double cores; /* of a CPU device: processor seconds it gives a second; 0: a GPU */
    double tdp_watts;
    double idle_watts;
    double cap_min_watts; /* lowest power limit that may be set; 0: caps not supported */
    int year;
    char source[96]; /* where the figures come from */
};

/* All cards in a fixed order, oldest first. */
const struct gpu_sheet *gpu_catalogue(size_t *count);

/* By name or common alias ("v100", "NVIDIA A100-SXM4-40GB"), case ignored; NULL when
 * unknown. */
const struct gpu_sheet *gpu_find(const char *name);

/* Is this one of the sheet's names: key, title, or alias of the card of the same key? */
bool gpu_named(const struct gpu_sheet *sheet, const char *name);
