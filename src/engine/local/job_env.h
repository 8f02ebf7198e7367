/* job_env.h - the environment of a job: clean, then ours, then what its user asked for
 *
 * Nothing of the daemon's own environment gets in.  The variables that name a job's
 * devices, and those by which the engine finds its processes, cannot be overwritten. */
#ifndef CORGI_ENGINE_LOCAL_JOB_ENV_H
#define CORGI_ENGINE_LOCAL_JOB_ENV_H

#include "base/err.h"

#include <stddef.h>

#define JOB_ENV_MAX_BYTES (1U << 20)

struct job_env {
    char **items; /* NULL-terminated */
    size_t count;
    size_t capacity;
};

/* NAME=value; a name that is there gets the new value. */
void job_env_set(struct job_env *env, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The user's, NULL-terminated or NULL.  Names that only the engine may set are passed
 * over: they are often there by accident, from the shell a job was submitted in. */
int job_env_add(struct job_env *env, const char *const *entries, struct err *err);

void job_env_fini(struct job_env *env);

#endif
