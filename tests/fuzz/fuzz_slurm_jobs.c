/* fuzz_slurm_jobs.c - jobs that are taken make arrivals, and a cluster if that fits */
#include "fuzz/fuzz.h"

#include "fixture/text_file.h"
#include "fuzz/fuzz_arrivals.h"
#include "lab/traces/slurm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char names[] = "gpu=l4";
    const struct slurm_options options = {.jobs = "fuzz", .names = names};
    struct slurm_jobs jobs = {0};
    struct slurm slurm = {0};
    struct err err = {0};

    if (slurm_jobs_load(&jobs, text_file_of("fuzz", data, size), NULL, names, &err) < 0) {
        if (jobs.jobs || !err.text[0])
            abort();
        return 0;
    }
    for (size_t i = 0; i < jobs.count; i++)
        fuzz_check_arrival(&jobs.jobs[i].arrival);
    if (slurm_build(&slurm, &jobs, NULL, &options, &err) == 0) {
        fuzz_check_arrivals(&slurm.arrivals);
        if (slurm.cluster->device_count < 1 || slurm.arrivals.count != jobs.count)
            abort();
        slurm_fini(&slurm);
    } else if (!err.text[0]) {
        abort();
    }
    slurm_jobs_fini(&jobs);
    return 0;
}
