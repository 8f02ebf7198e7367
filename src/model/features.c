/* features.c - descriptors and data sheets as numbers, see features.h */
#include "model/features.h"

#include <math.h>

/* Work a sample of a job nobody described: the middle of what jobs of today need. */
#define GMAC_UNTOLD 1.0

/* Typical achieved share of peak, where a rate has to stand in for the work. */
#define SHARE_OF_PEAK 0.2

struct job_trait features_of_job(const struct job_descriptor *descriptor, int family)
{
    double batch = descriptor->batch > 0 ? descriptor->batch : 1;
    double gmac =
        descriptor->gmac_per_sample > 0 ? descriptor->gmac_per_sample : GMAC_UNTOLD;

    return (struct job_trait){
        .family = family,
        .beta = log2(batch) / 2,
        .omega = log(gmac * 1e9 * FEATURES_OPS_PER_MAC * batch) / 3,
        .untold = !(descriptor->gmac_per_sample > 0),
    };
}

struct gpu_trait features_of_gpu(const struct gpu_sheet *sheet)
{
    return (struct gpu_trait){
        .speed = log(sheet->fp32_tflops / 10),
        .bandwidth = log(sheet->bandwidth_gbs / 600),
    };
}

void features_work_from_rate(struct job_trait *trait, double mean_log_step)
{
    trait->omega = (mean_log_step + log(SHARE_OF_PEAK)) / 3;
}
