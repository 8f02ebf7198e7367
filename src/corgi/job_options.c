/* job_options.c - the tables that base/options.c reads the options of corgi submit, corgi
 * quote and #CORGI lines by; job_json.c sends what they fill */
#include "corgi/job_options.h"

#include <stddef.h>

const char *const job_kinds[] = {"training", "inference", NULL};
const char *const job_models[] = {"unknown", "conv", "attention", "rnn",   "embedding",
                                  "gan",     "rl",   "diffusion", "other", NULL};

/* A job's times end here: a century. */
#define LONGEST_S        3155760000.0

#define JOB(member, ...) OPT(struct job_args, job.member, __VA_ARGS__)

#define JOB_OPTIONS                                                                      \
    JOB(min_rate, DOUBLE, "min-rate", 'r', "RATE",                                       \
        "steps/s it must do at least while it runs", .min = 1e-9, .max = 1e9),           \
        JOB(requests, DOUBLE, "requests", 0, "RATE", "requests/s a service must stand",  \
            .min = 1e-9, .max = 1e9),                                                    \
        JOB(latency_s, SECONDS, "latency", 0, "TIME",                                    \
            "99th percentile a service must keep, with --requests", .max = 3600),        \
        JOB(within_s, SECONDS, "within", 'w', "TIME",                                    \
            "all its steps must be done so long after submission, as 8h",                \
            .max = LONGEST_S),                                                           \
        JOB(deadline, STRING, "deadline", 0, "TIME",                                     \
            "all its steps must be done by then, as 2026-03-01T18:00"),                  \
        JOB(confidence, DOUBLE, "confidence", 0, "P",                                    \
            "probability with which the need must hold; the policy's without it",        \
            .min = 0.5, .max = 0.999),                                                   \
        JOB(steps, DOUBLE, "steps", 'n', "COUNT", "steps a training job has",            \
            .max = 1e15),                                                                \
        JOB(duration_s, SECONDS, "duration", 0, "TIME",                                  \
            "how long a service is wanted; until cancelled without it",                  \
            .max = LONGEST_S),                                                           \
        JOB(name, STRING, "name", 'J', "NAME",                                           \
            "name of the job; the command's without it"),                                \
        JOB(kind, CHOICE, "kind", 'k', "KIND", "training, or inference for a service",   \
            .choices = job_kinds, .default_text = "training"),                           \
        JOB(gpus, INT, "gpus", 'G', "COUNT", "GPUs it runs on, all at once", .min = 1,   \
            .max = 64, .default_text = "1"),                                             \
        JOB(memory_gb, DOUBLE, "memory", 'm', "GB", "GPU memory it needs on each",       \
            .max = 1e5),                                                                 \
        JOB(priority, INT, "priority", 'p', "N", "larger goes first", .min = -1000000,   \
            .max = 1000000, .default_text = "0"),                                        \
        JOB(types, STRING, "types", 't', "TYPE,...",                                     \
            "GPU types it may run on; any without it"),                                  \
        JOB(exclusive, FLAG, "exclusive", 0, NULL,                                       \
            "never beside another job on one GPU"),                                      \
        JOB(no_move, FLAG, "no-move", 0, NULL, "never stopped to be started elsewhere"), \
        JOB(family, STRING, "family", 0, "NAME",                                         \
            "what it is, as ResNet-50: jobs of a family teach Corgi about each other"),  \
        JOB(model, CHOICE, "model", 0, "KIND", "kind of network", .choices = job_models, \
            .default_text = "unknown"),                                                  \
        JOB(batch, INT, "batch", 'b', "N", "samples a step or a request",                \
            .max = 1000000000),                                                          \
        JOB(gmac, DOUBLE, "gmac", 0, "GMAC", "forward multiply-adds of a sample, 10^9",  \
            .max = 1e9),                                                                 \
        JOB(params, DOUBLE, "params", 0, "MILLIONS", "parameters, 10^6", .max = 1e9),    \
        JOB(sample_mb, DOUBLE, "sample-mb", 0, "MB", "GPU memory of a sample",           \
            .max = 1e9),                                                                 \
        JOB(scale_to_zero, FLAG, "scale-to-zero", 0, NULL,                               \
            "a service may have no replica while nobody asks"),                          \
        JOB(max_replicas, INT, "max-replicas", 0, "N", "most replicas of a service",     \
            .max = 64),                                                                  \
        JOB(hold, FLAG, "hold", 0, NULL,                                                 \
            "submit it, but do not start it before 'corgi release'"),                    \
        JOB(accept_counter, FLAG, "accept-counter", 0, NULL,                             \
            "when only a lower rate can be promised, take that"),                        \
        JOB(directory, STRING, "directory", 'D', "DIR",                                  \
            "where it runs; here without it"),                                           \
        JOB(output, STRING, "output", 'o', "FILE", "file for what it prints"),           \
        JOB(export, STRING, "export", 0, "NAMES",                                        \
            "environment it gets: ALL, NONE, or NAME and NAME=VALUE with commas "        \
            "between",                                                                   \
            .default_text = "ALL"),                                                      \
        JOB(metrics_url, STRING, "metrics-url", 0, "URL",                                \
            "Prometheus endpoint of the job, to measure its rate"),                      \
        JOB(metrics_counter, STRING, "metrics-counter", 0, "NAME",                       \
            "the counter of steps there"),                                               \
        JOB(progress_file, STRING, "progress-file", 0, "FILE",                           \
            "file the job writes its count of steps to"),                                \
        JOB(grace_s, SECONDS, "grace", 0, "TIME",                                        \
            "from SIGTERM to SIGKILL when it is stopped", .max = 86400),                 \
        JOB(checkpoint_signal, INT, "checkpoint-signal", 0, "NUMBER",                    \
            "sent before it is moved, so that it writes a checkpoint", .max = 64)

const struct option_spec job_submit_options[] = {
    JOB_OPTIONS,
    OPT(struct job_args, wait, FLAG, "wait", 'W', NULL,
        "wait until the job ends; fail when it does"),
    DAEMON_TABLE_OPTIONS,
    {0},
};

const struct option_spec job_quote_options[] = {
    JOB_OPTIONS,
    OPT(struct job_args, what_if, STRING, "what-if", 0, "CHANGES",
        "also quote it changed, with commas between: gpus=N, rate=R, share, "
        "exclusive, move, stay, type=T"),
    DAEMON_TABLE_OPTIONS,
    {0},
};

const char *job_unit(const struct job_options *o)
{
    return o->kind == 1 ? "requests/s" : "steps/s";
}

int job_options_check(const struct job_options *o, struct err *err)
{
    int needs =
        (o->min_rate > 0) + (o->requests > 0) + (o->within_s > 0 || o->deadline != NULL);

    if (needs > 1)
        return err_set(err, ERR_USAGE,
                       "a job has one need: --min-rate, --requests, or --within or "
                       "--deadline");
    if (o->within_s > 0 && o->deadline)
        return err_set(err, ERR_USAGE, "--within and --deadline exclude each other");
    if ((o->within_s > 0 || o->deadline) && !(o->steps > 0))
        return err_set(err, ERR_USAGE, "a deadline needs --steps");
    if (o->latency_s > 0 && !(o->requests > 0))
        return err_set(err, ERR_USAGE, "--latency goes with --requests");
    if (o->requests > 0 && o->kind == 0)
        return err_set(err, ERR_USAGE, "--requests is for --kind inference");
    return 0;
}
