/* model.c - watts of a device that has no meter, see gpu.h
 *
 * The draw of the data sheet's card at the measured utilisation.  "Utilisation" is the
 * share of time with something running, which says little of how hard it runs: a kernel
 * on one multiprocessor and one on all count the same.  So the error bar is wide. */
#include "gpu/gpu_devices.h"

#include "world/power.h"

#include <math.h>

/* Of the dynamic range.  Busy devices at the same utilisation differ by about this much
 * from one kind of job to another; near idle there is less to be wrong about. */
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
