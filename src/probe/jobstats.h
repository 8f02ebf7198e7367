/* jobstats.h - what Princeton's jobstats keeps of a job that ended
 *
 * Sites that run jobstats find in a job's AdminComment `JS1:` and base64 of gzipped JSON:
 * what each of its GPUs was used and held, by node.  A job that was too short has
 * `JS1:Short`, one that nothing was seen of `JS1:None`.  Text of others stands there too:
 * it is no error. */
#pragma once

#include "base/err.h"

#include <stdbool.h>

#define JOBSTATS_MAX_TEXT ((size_t)64 << 10) /* of the comment */
#define JOBSTATS_MAX_JSON ((size_t)1 << 20)
#define JOBSTATS_MAX_GPUS 4096

/* A GPU with less than this mean use counts as hardly used. */
#define JOBSTATS_HARDLY_USED 0.15

enum jobstats_kind {
    JOBSTATS_ABSENT, /* the comment is somebody else's, or empty */
    JOBSTATS_SHORT,
    JOBSTATS_NONE,
    JOBSTATS_KNOWN,
};

struct jobstats {
    int gpus;          /* that were seen; 0: it had none */
    int unused_gpus;   /* of these with a use of 0 all the time */
    double gpu_use;    /* mean share of the time, 0..1; NaN: not seen */
    double gpu_gb;     /* held on the GPU that held most; NaN: not seen */
    double gpu_all_gb; /* what that one has; NaN: not seen */
    double seconds;    /* it was watched for; NaN: not told */
};

/* *kind is set, and *stats when it is KNOWN.  ERR_FORMAT or ERR_LIMIT: it begins with
 * JS1: and is damaged; both are then untouched. */
int jobstats_read(const char *comment, enum jobstats_kind *kind, struct jobstats *stats,
                  struct err *err);
