/* cpu_load.h - use of the processor, by looks at /proc/stat */
#ifndef CORGI_GPU_CPU_LOAD_H
#define CORGI_GPU_CPU_LOAD_H

#include <stdbool.h>

struct cpu_load {
    double busy, total; /* ticks at the last look */
    bool started;
};

/* 0..1 since the last call; NaN at the first, or when nothing could be read. */
double cpu_load_read(struct cpu_load *load, const char *proc);

/* Ticks since the machine was started; false when they cannot be read. */
bool cpu_load_ticks(const char *proc, double *busy, double *total);

/* The first line of /proc/stat, in ticks; false when it is not one. */
bool cpu_load_parse(const char *text, double *busy, double *total);

#endif
