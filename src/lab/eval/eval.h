/* eval.h - `corgi eval`: how good the estimates are, on measured tables
 *
 * Protocols lofo and lojo hold out a family or a job type, online plays a stream of
 * arrivals.  Every table has the baselines beside the product. */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct eval_options {
    const char *throughputs; /* the table; for power the folder of Zeus tables;
                                "synthetic": a world drawn from the seed */
    int types;               /* GPU types of a synthetic world; 0: 3 */
    int jobs;                /* at most so many kinds of jobs in it; 0: 36 */
    const char *descriptors; /* NULL: none */
    const char *counters;    /* of jobs that ran alone; "watts": the table's own; NULL:
                                none */
    const char *format;      /* gavel, csv; NULL: by the file's name */
    const char *sheets;      /* data sheets of GPUs not in the catalogue; NULL: none */
    const char *protocol;    /* lofo, lojo, online, power; NULL: lofo */
    const char *arch;        /* blend, core, networks, baseline; all: every part left out
                                in turn too; NULL: these without that */
    const char *curve;       /* write the learning curve here as SVG; NULL: no */
    uint64_t seed;
    int seeds; /* 0: 3 */
    bool json;
    void (*progress)(void *ctx, double share); /* told how far it is; NULL: nobody */
    void *progress_ctx;
};

/* 0 when done; -1 with err when a file cannot be read or an option is wrong. */
int eval_main(const struct eval_options *options, FILE *out, struct err *err);

/* A table as the protocols see it; the caller ends it with measured_destroy(). */
struct measured;
int eval_load_measured(struct measured **table, const char *path, uint64_t seed,
                       struct err *err);
