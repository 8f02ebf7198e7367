/* gpu_csv.h - data sheets of cards the catalogue does not hold, from a CSV file
 *
 * Columns name, fp32_tflops, bandwidth_gbs, memory_gb, sms, tdp_watts, year; and when
 * known title, fp16_tflops, idle_watts, cap_min_watts, source.  See docs/formats.md. */
#pragma once

#include "world/gpu_sheet.h"

#define GPU_CSV_MAX 256 /* cards in one file */

/* The caller frees *sheets; on failure both outputs are untouched. */
int gpu_csv_load(struct gpu_sheet **sheets, size_t *count, const char *path,
                 struct err *err);
