/* gpu_backend.c - names of what devices tell, an empty sample, the model of power
 *
 * Backends and gpu_devices.c fill samples with it; logs and JSON show the names. */
#include "gpu/gpu_backend.h"

#include "world/power.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Errors of the model, of the dynamic range.  "Utilisation" is the share of time with
 * something running, which says little of how hard it runs.  Busy devices at the same
 * utilisation differ by about this much from one kind of job to another; near idle there
 * is less to be wrong about. */
#define BUSY_ERROR 0.25
#define IDLE_ERROR 0.05
#define BLIND      0.29 /* sd of a uniform guess between idle and full */

double gpu_model_watts(const struct gpu_sheet *sheet, double utilisation,
                       double *error_watts)
{
    bool known = isfinite(utilisation);
    double busy = known ? fmin(fmax(utilisation, 0), 1) : 0.5;
    double range = sheet->tdp_watts - sheet->idle_watts;
    double spread = known ? IDLE_ERROR + (BUSY_ERROR - IDLE_ERROR) * busy : BLIND;

    if (error_watts)
        *error_watts = spread * range;
    return power_draw_watts(sheet, busy);
}

const char *gpu_status_name(enum gpu_status status)
{
    static const char *const names[] = {"ok",   "unsupported", "denied",
                                        "lost", "hung",        "failed"};

    assert((size_t)status < sizeof(names) / sizeof(names[0]));
    return names[status];
}

const char *gpu_kind_name(enum gpu_kind kind)
{
    static const char *const names[] = {"gpu", "mig", "cpu"};

    assert((size_t)kind < sizeof(names) / sizeof(names[0]));
    return names[kind];
}

const char *gpu_method_name(enum gpu_method method)
{
    static const char *const names[] = {"none", "instant", "average-1s",
                                        "energy-difference", "model"};

    assert((size_t)method < sizeof(names) / sizeof(names[0]));
    return names[method];
}

const char *gpu_throttle_text(unsigned throttle, char *out, size_t size)
{
    static const char *const words[] = {"idle",  "power",  "heat",
                                        "brake", "clocks", "other"};
    size_t used = 0;

    assert(size > 0);
    out[0] = '\0';
    for (size_t bit = 0; bit < sizeof(words) / sizeof(words[0]); bit++) {
        size_t length = strlen(words[bit]);

        if (!(throttle & 1u << bit))
            continue;
        if (used + (used > 0) + length >= size)
            break;
        if (used > 0)
            out[used++] = ',';
        memcpy(out + used, words[bit], length + 1);
        used += length;
    }
    return out;
}

void gpu_sample_clear(struct gpu_sample *sample)
{
    memset(sample, 0, sizeof(*sample));
    sample->watts = sample->watts_error = sample->energy_joules = NAN;
    sample->utilisation = sample->memory_used_bytes = NAN;
    sample->temperature_c = sample->limit_watts = NAN;
}
