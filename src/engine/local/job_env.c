/* job_env.c - see job_env.h */
#include "engine/local/job_env.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prefixes of what only the engine may say. */
static const char *const ours[] = {
    "CORGI_",
    "CUDA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUDA_MPS_PIPE_DIRECTORY",
    "CUDA_MPS_LOG_DIRECTORY",
};

static size_t name_length(const char *entry)
{
    return strcspn(entry, "=");
}

/* Takes the entry. */
static void put(struct job_env *env, char *entry)
{
    size_t length = name_length(entry);

    for (size_t i = 0; i < env->count; i++)
        if (name_length(env->items[i]) == length &&
            memcmp(env->items[i], entry, length) == 0) {
            free(env->items[i]);
            env->items[i] = entry;
            return;
        }
    vec_push(env, entry);
    vec_reserve(env, env->count + 1);
    env->items[env->count] = NULL;
}

void job_env_set(struct job_env *env, const char *name, const char *format, ...)
{
    struct str entry = {0};
    char value[4096];
    va_list args;

    va_start(args, format);
    vsnprintf(value, sizeof(value), format, args);
    va_end(args);
    str_addf(&entry, "%s=%s", name, value);
    put(env, str_take(&entry));
}

static bool is_ours(const char *entry)
{
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        size_t length = strlen(ours[i]);

        if (strncmp(entry, ours[i], length) == 0 &&
            (ours[i][length - 1] == '_' || entry[length] == '='))
            return true;
    }
    return false;
}

static bool is_entry(const char *entry)
{
    size_t length = name_length(entry);

    if (length == 0 || entry[length] != '=' || isdigit((unsigned char)entry[0]))
        return false;
    for (size_t i = 0; i < length; i++)
        if (!isgraph((unsigned char)entry[i]))
            return false;
    return true;
}

int job_env_add(struct job_env *env, const char *const *entries, struct err *err)
{
    size_t bytes = 0;

    for (size_t i = 0; entries && entries[i]; i++) {
        bytes += strlen(entries[i]) + 1;
        if (bytes > JOB_ENV_MAX_BYTES)
            return err_set(err, ERR_LIMIT, "the environment is larger than %u bytes",
                           JOB_ENV_MAX_BYTES);
        if (!is_entry(entries[i]))
            return err_set(err, ERR_INVALID,
                           "'%.40s' in the environment is no NAME=value", entries[i]);
    }
    for (size_t i = 0; entries && entries[i]; i++)
        if (!is_ours(entries[i]))
            put(env, mem_strdup(entries[i]));
    return 0;
}

void job_env_fini(struct job_env *env)
{
    for (size_t i = 0; i < env->count; i++)
        free(env->items[i]);
    vec_free(env);
}
