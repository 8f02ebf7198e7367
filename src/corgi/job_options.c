/* job_options.c - see job_options.h: the tables */
#include "corgi/job_options.h"

const char *const job_kinds[] = {"training", "inference", NULL};
const char *const job_models[] = {"unknown", "conv", "attention", "rnn",   "embedding",
                                  "gan",     "rl",   "diffusion", "other", NULL};

#define AT(member) .offset = offsetof(struct job_args, job.member)
#define TEXT(n, a, m, h)                                                                 \
    {                                                                                    \
        .name = (n), .type = OPTION_STRING, .argument = (a), AT(m), .help = (h)          \
    }
#define FLAG(n, m, h)                                                                    \
    {                                                                                    \
        .name = (n), .type = OPTION_FLAG, AT(m), .help = (h)                             \
    }
#define NUMBER(n, l, a, m, low, high, h)                                                 \
    {                                                                                    \
        .name = (n), .letter = (l), .type = OPTION_DOUBLE, .argument = (a), AT(m),       \
        .min = (low), .max = (high), .help = (h)                                         \
    }
#define SECONDS(n, l, m, high, h)                                                        \
    {                                                                                    \
        .name = (n), .letter = (l), .type = OPTION_SECONDS, .argument = "TIME", AT(m),   \
        .min = 0, .max = (high), .help = (h)                                             \
    }

#define NEED_OPTIONS                                                                     \
    NUMBER("min-rate", 'r', "RATE", min_rate, 1e-9, 1e9,                                 \
           "steps/s it must do at least while it runs"),                                 \
        NUMBER("requests", 0, "RATE", requests, 1e-9, 1e9,                               \
               "requests/s a service must stand"),                                       \
        SECONDS("latency", 0, latency_s, 3600,                                           \
                "99th percentile a service must keep, with --requests"),                 \
        SECONDS("within", 'w', within_s, 3155760000.0,                                   \
                "all its steps must be done so long after submission, as 8h"),           \
        TEXT("deadline", "TIME", deadline,                                               \
             "all its steps must be done by then, as 2026-03-01T18:00"),                 \
        NUMBER("confidence", 0, "P", confidence, 0.5, 0.999,                             \
               "probability with which the need must hold; the policy's without it"),    \
        NUMBER("steps", 'n', "COUNT", steps, 0, 1e15, "steps a training job has"),       \
        SECONDS("duration", 0, duration_s, 3155760000.0,                                 \
                "how long a service is wanted; until cancelled without it")

#define SHAPE_OPTIONS                                                                    \
    {.name = "name",                                                                     \
     .letter = 'J',                                                                      \
     .type = OPTION_STRING,                                                              \
     .argument = "NAME",                                                                 \
     AT(name),                                                                           \
     .help = "name of the job; the command's without it"},                               \
        {.name = "kind",                                                                 \
         .letter = 'k',                                                                  \
         .type = OPTION_CHOICE,                                                          \
         .argument = "KIND",                                                             \
         .choices = job_kinds,                                                           \
         .default_text = "training",                                                     \
         AT(kind),                                                                       \
         .help = "training, or inference for a service"},                                \
        {.name = "gpus",                                                                 \
         .letter = 'G',                                                                  \
         .type = OPTION_INT,                                                             \
         .argument = "COUNT",                                                            \
         .min = 1,                                                                       \
         .max = 64,                                                                      \
         .default_text = "1",                                                            \
         AT(gpus),                                                                       \
         .help = "GPUs it runs on, all at once"},                                        \
        NUMBER("memory", 'm', "GB", memory_gb, 0, 1e5, "GPU memory it needs on each"),   \
        {.name = "priority",                                                             \
         .letter = 'p',                                                                  \
         .type = OPTION_INT,                                                             \
         .argument = "N",                                                                \
         .min = -1000000,                                                                \
         .max = 1000000,                                                                 \
         .default_text = "0",                                                            \
         AT(priority),                                                                   \
         .help = "larger goes first"},                                                   \
        {.name = "types",                                                                \
         .letter = 't',                                                                  \
         .type = OPTION_STRING,                                                          \
         .argument = "TYPE,...",                                                         \
         AT(types),                                                                      \
         .help = "GPU types it may run on; any without it"},                             \
        FLAG("exclusive", exclusive, "never beside another job on one GPU"),             \
        FLAG("no-move", no_move, "never stopped to be started elsewhere"),               \
        TEXT("family", "NAME", family,                                                   \
             "what it is, as ResNet-50: jobs of a family "                               \
             "teach Corgi about each other"),                                            \
        {.name = "model",                                                                \
         .type = OPTION_CHOICE,                                                          \
         .argument = "KIND",                                                             \
         .choices = job_models,                                                          \
         .default_text = "unknown",                                                      \
         AT(model),                                                                      \
         .help = "kind of network"},                                                     \
        {.name = "batch",                                                                \
         .letter = 'b',                                                                  \
         .type = OPTION_INT,                                                             \
         .argument = "N",                                                                \
         .min = 0,                                                                       \
         .max = 1000000000,                                                              \
         AT(batch),                                                                      \
         .help = "samples a step or a request"},                                         \
        NUMBER("gmac", 0, "GMAC", gmac, 0, 1e9,                                          \
               "forward multiply-adds of a sample, 10^9"),                               \
        NUMBER("params", 0, "MILLIONS", params, 0, 1e9, "parameters, 10^6"),             \
        NUMBER("sample-mb", 0, "MB", sample_mb, 0, 1e9, "GPU memory of a sample"),       \
        FLAG("scale-to-zero", scale_to_zero,                                             \
             "a service may have no replica while nobody asks"),                         \
    {                                                                                    \
        .name = "max-replicas", .type = OPTION_INT, .argument = "N", .min = 0,           \
        .max = 64, AT(max_replicas), .help = "most replicas of a service"                \
    }

#define RUN_OPTIONS                                                                      \
    FLAG("hold", hold, "submit it, but do not start it before 'corgi release'"),         \
        FLAG("accept-counter", accept_counter,                                           \
             "when only a lower rate can be promised, take that"),                       \
        {.name = "directory",                                                            \
         .letter = 'D',                                                                  \
         .type = OPTION_STRING,                                                          \
         .argument = "DIR",                                                              \
         AT(directory),                                                                  \
         .help = "where it runs; here without it"},                                      \
        {.name = "output",                                                               \
         .letter = 'o',                                                                  \
         .type = OPTION_STRING,                                                          \
         .argument = "FILE",                                                             \
         AT(output),                                                                     \
         .help = "file for what it prints"},                                             \
        {.name = "export",                                                               \
         .type = OPTION_STRING,                                                          \
         .argument = "NAMES",                                                            \
         .default_text = "ALL",                                                          \
         AT(export),                                                                     \
         .help = "environment it gets: ALL, NONE, or NAME and NAME=VALUE with commas "   \
                 "between"},                                                             \
        TEXT("metrics-url", "URL", metrics_url,                                          \
             "Prometheus endpoint of the job, to measure its rate"),                     \
        TEXT("metrics-counter", "NAME", metrics_counter, "the counter of steps there"),  \
        TEXT("progress-file", "FILE", progress_file,                                     \
             "file the job writes its count of steps to"),                               \
        SECONDS("grace", 0, grace_s, 86400,                                              \
                "from SIGTERM to SIGKILL when it is stopped"),                           \
    {                                                                                    \
        .name = "checkpoint-signal", .type = OPTION_INT, .argument = "NUMBER", .min = 0, \
        .max = 64, AT(checkpoint_signal),                                                \
        .help = "sent before it is moved, so that it writes a checkpoint"                \
    }

const struct option_spec job_submit_options[] = {
    NEED_OPTIONS,
    SHAPE_OPTIONS,
    RUN_OPTIONS,
    {.name = "wait",
     .letter = 'W',
     .type = OPTION_FLAG,
     .offset = offsetof(struct job_args, wait),
     .help = "wait until the job ends; fail when it does"},
    DAEMON_JSON_OPTION(struct job_args),
    DAEMON_PARSABLE_OPTION(struct job_args),
    DAEMON_CONNECT_OPTIONS(struct job_args),
    {0},
};

const struct option_spec job_quote_options[] = {
    NEED_OPTIONS,
    SHAPE_OPTIONS,
    RUN_OPTIONS,
    {.name = "what-if",
     .type = OPTION_STRING,
     .argument = "CHANGES",
     .offset = offsetof(struct job_args, what_if),
     .help = "also quote it changed, with commas between: gpus=N, rate=R, share, "
             "exclusive, move, stay, type=T"},
    DAEMON_JSON_OPTION(struct job_args),
    DAEMON_PARSABLE_OPTION(struct job_args),
    DAEMON_CONNECT_OPTIONS(struct job_args),
    {0},
};

/* ---- checks ------------------------------------------------------------------------ */

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
