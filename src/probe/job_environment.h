/* job_environment.h - the environment of the job, which is not the probe's own
 *
 * An engine starts the probe with a clean environment and hands over the job's through a
 * descriptor: what a user may say to the dynamic linker or to a library acts in the job
 * and not in what measures it.  A probe that a person starts gives the job its own. */
#pragma once

#include "base/err.h"

#include <stddef.h>

struct job_environment {
    char *text;   /* all entries, a NUL behind each; NULL: the probe's own */
    char **items; /* ends with NULL */
    char *heartbeat;
};

/* From the descriptor, which is closed; -1: the probe's own.  ERR_FORMAT when it does not
 * hold entries NAME=value with a NUL behind each, ERR_LIMIT beyond 4 MiB. */
int job_environment_read(struct job_environment *env, int fd, struct err *err);

/* When everything is set up that the job shall find in there. */
char *const *job_environment_items(struct job_environment *env);

void job_environment_fini(struct job_environment *env);
