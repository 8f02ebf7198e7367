/* cpu_load.h - share of the processor in use between two looks at /proc/stat */
#ifndef CORGI_GPU_CPU_LOAD_H
#define CORGI_GPU_CPU_LOAD_H

#include <stdbool.h>

struct cpu_load {
    double busy, total; /* ticks at the last look */
    bool started;
};

/* 0..1 since the last call; NaN at the first, or when nothing could be read. */
double cpu_load_read(struct cpu_load *load, const char *proc);

/* The first line of /proc/stat, in ticks; false when it is not one. */
bool cpu_load_parse(const char *text, double *busy, double *total);

#endif
