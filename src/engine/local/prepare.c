/* prepare.c - see prepare.h */
#include "engine/local/prepare.h"

#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define USUAL_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static void add_devices(struct job_env *env, const struct local_engine *e,
                        const struct attempt *a)
{
    struct str numbers = {0}, uuids = {0};

    for (int i = 0; i < a->device_count; i++) {
        const struct local_device *d = &e->devices[a->devices[i]];

        str_addf(&numbers, "%s%d", i ? "," : "", a->devices[i]);
        if (!d->cpu)
            str_addf(&uuids, "%s%s", uuids.length ? "," : "", d->uuid);
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

    if (!e->mps_directory || !may_share || e->devices[a->devices[0]].cpu)
        return;
    for (int i = 0; i < a->device_count; i++) {
        int jobs = cpu_quota_jobs_on(e->quota, a->devices[i]);

        most = jobs > most ? jobs : most;
    }
    job_env_set(env, "CUDA_MPS_PIPE_DIRECTORY", "%s/pipe", e->mps_directory);
    job_env_set(env, "CUDA_MPS_LOG_DIRECTORY", "%s/log", e->mps_directory);
    if (most > 1)
        job_env_set(env, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "%d",
                    e->options.mps_percentage > 0 ? e->options.mps_percentage
                                                  : 100 / most);
}

/* How many threads libraries should start: the cores of the devices, not all there are.
 */
static void add_threads(struct job_env *env, const struct local_engine *e,
                        const struct attempt *a)
{
    int cores = 0;

    for (int i = 0; i < a->device_count; i++)
        cores += e->cpus[a->devices[i]].core_count;
    if (cores > 0)
        job_env_set(env, "OMP_NUM_THREADS", "%d", cores);
}

int prepare_env(struct job_env *env, const struct local_engine *e,
                const struct attempt *a, const struct engine_job *job,
                const struct passwd *user, struct err *err)
{
    const char *lang = getenv("LANG");

    job_env_set(env, "PATH", "%s", e->search_path ? e->search_path : USUAL_PATH);
    job_env_set(env, "HOME", "%s", user->pw_dir);
    job_env_set(env, "USER", "%s", user->pw_name);
    job_env_set(env, "LOGNAME", "%s", user->pw_name);
    job_env_set(env, "SHELL", "%s", user->pw_shell[0] ? user->pw_shell : "/bin/sh");
    job_env_set(env, "LANG", "%s", lang && *lang ? lang : "C.UTF-8");
    add_threads(env, e, a);
    if (job_env_add(env, job->env, err) < 0)
        return -1;
    job_env_set(env, "CORGI_ENGINE", "%s", e->state_dir);
    job_env_set(env, "CORGI_JOB_ID", "%llu", (unsigned long long)a->job);
    job_env_set(env, "CORGI_ATTEMPT", "%d", a->number);
    job_env_set(env, "CORGI_NODE", "%s", e->node);
    add_devices(env, e, a);
    add_mps(env, e, a, job->job->may_share);
    return 0;
}

static void add_word(struct prepare_words *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add_word(struct prepare_words *w, const char *format, ...)
{
    char *word = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&word, format, args) < 0)
        abort(); /* out of memory: as mem.h would */
    va_end(args);
    vec_push(&w->argv, word);
}

void prepare_words(struct prepare_words *w, const struct local_engine *e,
                   const struct attempt *a, const struct engine_job *job)
{
    add_word(w, "corgi-probe");
    add_word(w, "--job=%llu", (unsigned long long)a->job);
    add_word(w, "--attempt=%d", a->number);
    add_word(w, "--dir=%s", a->dir);
    add_word(w, "--report=unix:%s", e->report_path);
    add_word(w, "--output=%s", job->output ? job->output : a->output);
    if (!job->output)
        add_word(w, "--output-mb=%.15g", e->options.output_bytes / 1e6);
    add_word(w, "--window=%g", e->options.window_s);
    add_word(w, "--grace=%g", a->grace_s);
    if (job->metrics_url)
        add_word(w, "--metrics-url=%s", job->metrics_url);
    if (job->metrics_counter)
        add_word(w, "--metrics-counter=%s", job->metrics_counter);
    if (job->progress_file)
        add_word(w, "--progress=%s", job->progress_file);
    if (job->job->kind == JOB_INFERENCE)
        add_word(w, "--service");
    add_word(w, "--");
    for (size_t i = 0; job->argv[i]; i++)
        add_word(w, "%s", job->argv[i]);
    vec_push(&w->argv, NULL);
}

void prepare_words_fini(struct prepare_words *w)
{
    vec_each (char *, word, &w->argv)
        free(*word);
    vec_free(&w->argv);
}
