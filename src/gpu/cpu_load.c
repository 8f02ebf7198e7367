/* cpu_load.c - use of the processor from /proc/stat, see cpu_load.h
 *
 * cpu_model.c asks for the share in use, the local engine's device_power.c for the time
 * of the whole machine. */
#include "gpu/cpu_load.h"

#include "base/str.h"
#include "gpu/sysfs.h"

#include <math.h>
#include <stdlib.h>

#define FIELDS                                                                           \
    8 /* user nice system idle iowait irq softirq steal; guests are in user              \
       */

bool cpu_load_parse(const char *text, double *busy, double *total)
{
    double sum = 0, idle = 0;

    if (!str_starts(text, "cpu "))
        return false;
    text += 4;
    for (int i = 0; i < FIELDS; i++) {
        char *end;
        double ticks = (double)strtoull(text, &end, 10);

        if (end == text)
            return false;
        sum += ticks;
        if (i == 3 || i == 4)
            idle += ticks;
        text = end;
    }
    *busy = sum - idle;
    *total = sum;
    return true;
}

bool cpu_load_ticks(const char *proc, double *busy, double *total)
{
    char line[512];

    /* The file is long on large machines; its first line is all that is needed. */
    return sysfs_head(proc, "stat", line, sizeof(line)) == GPU_OK &&
           cpu_load_parse(line, busy, total);
}

double cpu_load_read(struct cpu_load *load, const char *proc)
{
    double busy, total, share = NAN;

    if (!cpu_load_ticks(proc, &busy, &total))
        return NAN;
    if (load->started && total > load->total)
        share = fmin(fmax((busy - load->busy) / (total - load->total), 0), 1);
    load->busy = busy;
    load->total = total;
    load->started = true;
    return share;
}
