/* ending.h - how a job ended, as numbers and as a sentence */
#ifndef CORGI_PROBE_ENDING_H
#define CORGI_PROBE_ENDING_H

#include "probe/probe_report.h"

#include <stdbool.h>
#include <stddef.h>

struct ending {
    int wait_status; /* of the job's first process, as waitpid() gives it */
    bool asked;      /* we were told to stop it */
    bool killed;     /* it did not stop within the grace, so we killed it */
    double grace_s;
    size_t left_behind;     /* processes that outlived it and were stopped */
    const char *kernel_oom; /* from memory_out_killed(); NULL: none */
    const char *tail;       /* the end of its output */
    size_t tail_length;
    double dropped_bytes; /* of its output, because the file was to stay small */
    uint64_t lost_bytes;  /* of its output, and why */
    int lost_errno;
};

/* Fill exit, signal, oom and text. */
void ending_tell(const struct ending *ending, struct probe_status *status);

/* The last line with something in it, cleaned; "" when there is none. */
void ending_last_line(const char *tail, size_t length, char *line, size_t size);

#endif
