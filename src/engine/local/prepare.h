/* prepare.h - the environment and the command line a job is started with */
#ifndef CORGI_ENGINE_LOCAL_PREPARE_H
#define CORGI_ENGINE_LOCAL_PREPARE_H

#include "engine/local/job_env.h"
#include "engine/local/local_private.h"

#include <pwd.h>

struct prepare_words {
    vec_of(char *) argv; /* the last one is NULL */
};

int prepare_env(struct job_env *env, const struct local_engine *e,
                const struct attempt *a, const struct engine_job *job,
                const struct passwd *user, struct err *err);

/* The probe's options, then the job's command. */
void prepare_words(struct prepare_words *words, const struct local_engine *e,
                   const struct attempt *a, const struct engine_job *job);
void prepare_words_fini(struct prepare_words *words);

#endif
