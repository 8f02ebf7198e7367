/* progress_file.h - a file in which a job keeps how far it is
 *
 * Its last line is a count ("1234", "1234/5000"), key=value pairs ("steps=1234") or a
 * JSON object ({"step": 1234}).  The time of a count is when the file was written, so
 * looking seldom costs no accuracy. */
#ifndef CORGI_PROBE_PROGRESS_FILE_H
#define CORGI_PROBE_PROGRESS_FILE_H

#include "probe/match.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

struct progress_file {
    const char *path; /* borrowed */
    struct timespec written;
    off_t size;
};

/* A count that was in the file before the job began is not the job's. */
void progress_file_init(struct progress_file *file, const char *path);

/* True when it was written anew and says something; age_s is how long ago. */
bool progress_file_look(struct progress_file *file, struct match_hit *hit, double *age_s);

/* The text of the whole file or of its end. */
bool progress_file_parse(const char *text, size_t length, struct match_hit *hit);

#endif
