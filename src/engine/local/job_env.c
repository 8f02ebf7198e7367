/* job_env.c - the environment of a job
 *
 * start.c fills one for each start, which corgi-probe gives to the job, and another one
 * for corgi-probe itself. */
#include "engine/local/local_private.h"

#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USUAL_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

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

/* Of a replica the daemon says which it is, in the job's own environment. */
static bool is_ours(const char *entry)
{
    if (str_starts(entry, "CORGI_SERVICE=") || str_starts(entry, "CORGI_REPLICA="))
        return false;
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

static void add_devices(struct job_env *env, const struct local_engine *e,
                        const struct attempt *a)
{
    struct str numbers = {0}, uuids = {0};

    for (int i = 0; i < a->device_count; i++) {
        const struct local_device *d = &e->devices[a->devices[i]];

        str_addf(&numbers, "%s%d", i ? "," : "", a->devices[i]);
        if (d->gpu >= 0)
            str_addf(&uuids, "%s%s", uuids.length ? "," : "",
                     gpu_device(e->gpu, d->gpu)->uuid);
    }
    job_env_set(env, "CORGI_DEVICES", "%s", str_text(&numbers));
    /* On a CPU device a job must not see any GPU: the list is empty then. */
    job_env_set(env, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    job_env_set(env, "CUDA_VISIBLE_DEVICES", "%s", str_text(&uuids));
    job_env_set(env, "ROCR_VISIBLE_DEVICES", "%s", str_text(&uuids));
    str_fini(&numbers);
    str_fini(&uuids);
}

/* A process that was started outside of MPS cannot be joined inside of it later, so all
 * that may share are started in it; the share of threads counts for those who find
 * somebody there. */
static void add_mps(struct job_env *env, const struct local_engine *e,
                    const struct attempt *a, bool may_share)
{
    int most = 0;

    if (!e->options.mps_directory || !may_share || e->devices[a->devices[0]].gpu < 0)
        return;
    for (int i = 0; i < a->device_count; i++) {
        int jobs = cpu_quota_jobs_on(e, a->devices[i]);

        most = jobs > most ? jobs : most;
    }
    job_env_set(env, "CUDA_MPS_PIPE_DIRECTORY", "%s/pipe", e->options.mps_directory);
    job_env_set(env, "CUDA_MPS_LOG_DIRECTORY", "%s/log", e->options.mps_directory);
    if (most > 1)
        job_env_set(env, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "%d",
                    e->options.mps_percentage > 0 ? e->options.mps_percentage
                                                  : 100 / most);
}

/* How many threads libraries should start: the cores of the devices, not all cores. */
static void add_threads(struct job_env *env, const struct local_engine *e,
                        const struct attempt *a)
{
    int cores = 0;

    for (int i = 0; i < a->device_count; i++)
        cores += e->devices[a->devices[i]].cpu.core_count;
    if (cores > 0)
        job_env_set(env, "OMP_NUM_THREADS", "%d", cores);
}

/* By which its processes are found again, and its devices. */
static void add_marks(struct job_env *env, const struct local_engine *e,
                      const struct attempt *a)
{
    job_env_set(env, "CORGI_ENGINE", "%s", e->state_dir);
    job_env_set(env, "CORGI_JOB_ID", "%llu", (unsigned long long)a->job);
    job_env_set(env, "CORGI_ATTEMPT", "%d", a->number);
    job_env_set(env, "CORGI_NODE", "%s", e->node);
    add_devices(env, e, a);
}

void job_env_fill_probe(struct job_env *env, const struct local_engine *e,
                        const struct attempt *a)
{
    job_env_set(env, "PATH", "%s", USUAL_PATH);
    job_env_set(env, "LANG", "C.UTF-8");
    add_marks(env, e, a);
    job_env_set(env, PROBE_KEY_MARK, "%s", a->key);
}

int job_env_fill(struct job_env *env, const struct local_engine *e,
                 const struct attempt *a, const struct engine_job *job,
                 const struct passwd *user, struct err *err)
{
    const char *lang = getenv("LANG");

    job_env_set(env, "PATH", "%s",
                e->options.search_path ? e->options.search_path : USUAL_PATH);
    job_env_set(env, "HOME", "%s", user->pw_dir);
    job_env_set(env, "USER", "%s", user->pw_name);
    job_env_set(env, "LOGNAME", "%s", user->pw_name);
    job_env_set(env, "SHELL", "%s", user->pw_shell[0] ? user->pw_shell : "/bin/sh");
    job_env_set(env, "LANG", "%s", lang && *lang ? lang : "C.UTF-8");
    add_threads(env, e, a);
    if (job_env_add(env, job->env, err) < 0)
        return -1;
    add_marks(env, e, a);
    add_mps(env, e, a, job->job->may_share);
    return 0;
}
