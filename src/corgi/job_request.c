/* job_request.c - the options that describe a job: the tables by which base/options.c
 * reads those of corgi submit, corgi quote and #CORGI lines, and the JobRequest of the
 * API that cmd_submit.c sends of them */
#include "corgi/job_request.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_VARIABLES   1000
#define MAX_EXPORT      ((size_t)512 << 10) /* bytes of environment */
#define MAX_VALUE_BYTES 65535
#define MAX_NAME_BYTES  79
/* Of --export USUAL. */
#define USUAL_NAMES                                                                      \
    "PATH", "LANG", "LC_", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPATH",              \
        "PYTHONUNBUFFERED", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV",          \
        "CUDA_HOME", "OMP_", "NCCL_", "CORGI_"
#define MAX_GPUS 64 /* as the API says */

extern char **environ;

static const char *const kinds[] = {"training", "inference", NULL};
static const char *const models[] = {"unknown", "conv", "attention", "rnn",   "embedding",
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
            "99th percentile a service must keep, as 50ms, with --requests",             \
            .max = 3600),                                                                \
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
            .choices = kinds, .default_text = "training"),                               \
        JOB(gpus, INT, "gpus", 'G', "COUNT", "GPUs it runs on, all at once", .min = 1,   \
            .max = 1000000, .default_text = "1"),                                        \
        JOB(memory_gb, DOUBLE, "memory", 'm', "GB", "GPU memory it needs on each",       \
            .max = 1e5),                                                                 \
        JOB(cpus, DOUBLE, "cpus", 0, "COUNT",                                            \
            "processors it takes of its nodes, for all its GPUs together", .max = 1e6),  \
        JOB(host_memory_gb, DOUBLE, "host-memory", 0, "GB",                              \
            "memory it takes of its nodes, likewise", .max = 1e6),                       \
        JOB(priority, INT, "priority", 'p', "N", "larger goes first", .min = -1000000,   \
            .max = 1000000, .default_text = "0"),                                        \
        JOB(types, STRING, "types", 't', "TYPE,...",                                     \
            "GPU types it may run on; any without it"),                                  \
        JOB(exclusive, FLAG, "exclusive", 0, NULL,                                       \
            "never beside another job on one GPU"),                                      \
        JOB(no_move, FLAG, "no-move", 0, NULL, "never stopped to be started elsewhere"), \
        JOB(family, STRING, "family", 0, "NAME",                                         \
            "what it is, as ResNet-50: jobs of a family teach Corgi about each other"),  \
        JOB(model, CHOICE, "model", 0, "KIND", "kind of network", .choices = models,     \
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
            "environment it gets, with commas between: NAME, NAME=VALUE, USUAL, ALL, "   \
            "NONE",                                                                      \
            .default_text = "USUAL"),                                                    \
        JOB(metrics_url, STRING, "metrics-url", 0, "URL",                                \
            "Prometheus endpoint of the job, to measure its rate; {replica}: its "       \
            "number"),                                                                   \
        JOB(metrics_counter, STRING, "metrics-counter", 0, "NAME",                       \
            "the counter of steps there"),                                               \
        JOB(progress_file, STRING, "progress-file", 0, "FILE",                           \
            "file the job writes its count of steps to"),                                \
        JOB(grace_s, SECONDS, "grace", 0, "TIME",                                        \
            "from SIGTERM to SIGKILL when it is stopped", .max = 86400),                 \
        JOB(checkpoint_signal, INT, "checkpoint-signal", 0, "NUMBER",                    \
            "sent before it is moved, so that it writes a checkpoint", .max = 64)

/* A script that Slurm takes says these to Slurm. */
#define THERE_OPTIONS                                                                    \
    JOB(account, STRING, "account", 'A', "NAME",                                         \
        "account in Slurm that it is reckoned to; Slurm's default without it"),          \
        JOB(qos, STRING, "qos", 0, "NAME", "its QOS in Slurm"),                          \
        JOB(partition, STRING, "partition", 0, "NAME",                                   \
            "its partition in Slurm; the first that Corgi places jobs in without it")

const struct option_spec job_submit_options[] = {
    JOB_OPTIONS,
    THERE_OPTIONS,
    OPT(struct job_args, wait, FLAG, "wait", 'W', NULL,
        "wait until the job ends, and end with its exit status"),
    DAEMON_TABLE_OPTIONS,
    {0},
};

const struct option_spec job_quote_options[] = {
    JOB_OPTIONS,
    THERE_OPTIONS,
    OPT(struct job_args, what_if, STRING, "what-if", 0, "CHANGES",
        "also quote it changed, with commas between: gpus=N, rate=R, share, "
        "exclusive, move, stay, type=T"),
    DAEMON_TABLE_OPTIONS,
    {0},
};

const struct option_spec job_header_options[] = {JOB_OPTIONS, {0}};

int job_read_header(const struct option_spec *specs, const struct directives *lines,
                    const char *script, void *args, struct err *err)
{
    for (size_t i = 0; i < lines->count; i++) {
        const struct directive *d = &lines->items[i];
        bool help;
        int first =
            options_parse(specs, false, args, d->word_count, d->words, &help, err);

        if (first >= 0 && help)
            first = err_set(err, ERR_USAGE, "--help has no place in a script");
        else if (first >= 0 && first < d->word_count)
            first = err_set(err, ERR_USAGE, "'%.60s' is not an option", d->words[first]);
        if (first < 0)
            return err_prefix(err, "%s line %d", script, d->line);
    }
    return 0;
}

const char *job_unit(const struct job_options *o)
{
    return o->kind == 1 ? "requests/s" : "steps/s";
}

int job_options_check(const struct job_options *o, struct err *err)
{
    int needs =
        (o->min_rate > 0) + (o->requests > 0) + (o->within_s > 0 || o->deadline != NULL);

    if (o->gpus > MAX_GPUS)
        return err_set(
            err, ERR_USAGE,
            "option --gpus takes %d at most: Corgi places all GPUs of a job in "
            "one step, and plans for no more than that",
            MAX_GPUS);
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

/* ---- the request ------------------------------------------------------------------- */

static int read_deadline(const char *text, double *since_1970_s, struct err *err)
{
    static const char *const forms[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M",
                                        "%Y-%m-%d %H:%M", "%Y-%m-%d"};

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct tm tm = {.tm_isdst = -1};
        const char *end = strptime(text, forms[i], &tm);
        time_t when;

        if (!end || *end)
            continue;
        when = mktime(&tm);
        if (when != (time_t)-1) {
            *since_1970_s = (double)when;
            return 0;
        }
    }
    return err_set(err, ERR_USAGE,
                   "option --deadline takes a time like 2026-03-01T18:00, not '%.40s'",
                   text);
}

/* What was given: 0 stands for "not given". */
static void add_given(struct json_out *out, const char *key, double number)
{
    if (number > 0)
        json_out_key_number(out, key, number);
}

static void add_given_int(struct json_out *out, const char *key, int number)
{
    if (number)
        json_out_key_int(out, key, number);
}

static void add_given_text(struct json_out *out, const char *key, const char *text)
{
    if (text)
        json_out_key_string(out, key, text);
}

static int add_need(const struct job_options *o, struct json_out *out, struct err *err)
{
    double deadline_s = 0;

    if (o->deadline && read_deadline(o->deadline, &deadline_s, err) < 0)
        return -1;
    json_out_key(out, "need");
    json_out_begin_object(out);
    if (o->requests > 0) {
        json_out_key_string(out, "kind", "service");
        json_out_key_number(out, "rate", o->requests);
        add_given(out, "latency_s", o->latency_s);
    } else if (o->min_rate > 0) {
        json_out_key_string(out, "kind", "rate");
        json_out_key_number(out, "rate", o->min_rate);
    } else if (o->within_s > 0 || o->deadline) {
        json_out_key_string(out, "kind", "deadline");
        json_out_key_number(out, o->deadline ? "deadline_s" : "within_s",
                            o->deadline ? deadline_s : o->within_s);
    } else {
        json_out_key_string(out, "kind", "best_effort");
    }
    add_given(out, "confidence", o->confidence);
    json_out_end(out);
    return 0;
}

static void add_descriptor(const struct job_options *o, struct json_out *out)
{
    json_out_key(out, "descriptor");
    json_out_begin_object(out);
    add_given_text(out, "family", o->family);
    if (o->model)
        json_out_key_string(out, "model", models[o->model]);
    add_given_int(out, "batch", o->batch);
    add_given(out, "gmac_per_sample", o->gmac);
    add_given(out, "params_millions", o->params);
    add_given(out, "memory_mb_per_sample", o->sample_mb);
    json_out_end(out);
}

bool job_next_word(const char **list, char *word, size_t size)
{
    size_t length;

    if (!*list || !**list)
        return false;
    length = strcspn(*list, ",");
    snprintf(word, size, "%.*s", (int)length, *list);
    *list += length;
    *list += **list == ',';
    return true;
}

static void add_list(struct json_out *out, const char *key, const char *list)
{
    char word[80];

    json_out_key(out, key);
    json_out_begin_array(out);
    while (job_next_word(&list, word, sizeof(word)))
        if (*word)
            json_out_string(out, word);
    json_out_end(out);
}

static void add_shape(const struct job_options *o, struct json_out *out)
{
    json_out_key_string(out, "kind", kinds[o->kind]);
    add_given_int(out, "gpus", o->gpus);
    add_given(out, "total_steps", o->steps);
    add_given(out, "duration_s", o->duration_s);
    add_given(out, "memory_gb", o->memory_gb);
    add_given(out, "cpus", o->cpus);
    add_given(out, "host_memory_gb", o->host_memory_gb);
    add_given_int(out, "priority", o->priority);
    if (o->types)
        add_list(out, "types", o->types);
    if (o->exclusive)
        json_out_key_bool(out, "share", false);
    if (o->no_move)
        json_out_key_bool(out, "move", false);
    if (o->hold)
        json_out_key_bool(out, "hold", true);
    if (o->accept_counter)
        json_out_key_string(out, "on_counter", "accept");
    if (o->scale_to_zero)
        json_out_key_bool(out, "scale_to_zero", true);
    add_given_int(out, "max_replicas", o->max_replicas);
    add_given_text(out, "account", o->account);
    add_given_text(out, "qos", o->qos);
    add_given_text(out, "partition", o->partition);
}

/* What a job gets without --export: what makes programs be found and speak the user's
 * language, and no secret.  A name that ends with _ stands for all that begin so. */
static const char *const usual[] = {USUAL_NAMES, NULL};

static bool is_usual(const char *pair)
{
    for (const char *const *name = usual; *name; name++)
        if (str_starts(pair, *name) &&
            (str_ends(*name, "_") || pair[strlen(*name)] == '='))
            return true;
    return false;
}

struct variables {
    vec_of(char *) pairs; /* "NAME=VALUE" */
};

/* The last of a name counts; a secret of our own stays here. */
static void put_variable(struct variables *v, const char *pair)
{
    size_t length = strcspn(pair, "=") + 1;

    if (length < 2 || !pair[length - 1] || str_starts(pair, "CORGI_TOKEN="))
        return;
    vec_each (char *, had, &v->pairs)
        if (strncmp(*had, pair, length) == 0) {
            free(*had);
            *had = mem_strdup(pair);
            return;
        }
    vec_push(&v->pairs, mem_strdup(pair));
}

/* A word of --export: ALL, USUAL, NONE, NAME=VALUE or NAME. */
static void export_word(struct variables *v, const char *word)
{
    bool all = !strcmp(word, "ALL");
    struct str pair = {0};

    if (all || !strcmp(word, "USUAL")) {
        for (char **entry = environ; *entry; entry++)
            if (all || is_usual(*entry))
                put_variable(v, *entry);
    } else if (strchr(word, '=')) {
        put_variable(v, word);
    } else if (getenv(word)) {
        str_addf(&pair, "%s=%s", word, getenv(word));
        put_variable(v, str_text(&pair));
    }
    str_fini(&pair);
}

static int write_variables(const struct variables *v, struct json_out *out,
                           struct err *err)
{
    size_t bytes = 0;

    json_out_key(out, "environment");
    json_out_begin_object(out);
    vec_each (char *, pair, &v->pairs) {
        const char *equals = strchr(*pair, '=');
        char name[256];

        if ((size_t)(equals - *pair) >= sizeof(name))
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)(equals - *pair), *pair);
        bytes += strlen(*pair);
        if (bytes > MAX_EXPORT || strlen(equals + 1) > MAX_VALUE_BYTES ||
            v->pairs.count > MAX_VARIABLES)
            return err_set(err, ERR_USAGE,
                           "the environment is too large to send along; choose from it "
                           "with --export NAME,...");
        json_out_key_string(out, name, equals + 1);
    }
    json_out_end(out);
    return 0;
}

static int add_environment(const struct job_options *o, struct json_out *out,
                           struct err *err)
{
    struct variables v = {0};
    int rc;

    for (const char *list = o->export; *list; list += *list == ',') {
        struct str word = {0};

        str_add_bytes(&word, list, strcspn(list, ","));
        list += word.length;
        export_word(&v, str_text(&word));
        str_fini(&word);
    }
    rc = write_variables(&v, out, err);
    vec_each (char *, pair, &v.pairs)
        free(*pair);
    vec_free(&v.pairs);
    return rc;
}

/* Paths are the user's, seen from here: the daemon wants them whole. */
static void add_path(struct json_out *out, const char *key, const char *path)
{
    struct str whole = {0};
    char *here;

    if (!path)
        return;
    here = *path == '/' ? NULL : get_current_dir_name();
    if (here)
        str_addf(&whole, "%s/", here);
    str_add(&whole, path);
    json_out_key_string(out, key, str_text(&whole));
    str_fini(&whole);
    free(here);
}

static int add_run(const struct job_options *o, char *const *words, struct json_out *out,
                   struct err *err)
{
    char *here;

    add_given(out, "stop_grace_s", o->grace_s);
    add_given_int(out, "checkpoint_signal", o->checkpoint_signal);
    if (!*words)
        return 0;
    json_out_key(out, "command");
    json_out_begin_array(out);
    for (; *words; words++)
        json_out_string(out, *words);
    json_out_end(out);
    here = o->directory ? NULL : get_current_dir_name();
    add_path(out, "directory", o->directory ? o->directory : here);
    free(here);
    add_path(out, "output", o->output);
    add_path(out, "progress_file", o->progress_file);
    add_given_text(out, "metrics_url", o->metrics_url);
    add_given_text(out, "metrics_counter", o->metrics_counter);
    return add_environment(o, out, err);
}

int job_request_json(const struct job_options *o, const char *program, char *const *words,
                     struct json_out *out, struct err *err)
{
    char name[MAX_NAME_BYTES + 1];

    json_out_begin_object(out);
    if (o->name || program) {
        str_copy(name, sizeof(name), o->name ? o->name : program);
        json_out_key_string(out, "name", name);
    }
    add_shape(o, out);
    add_descriptor(o, out);
    if (add_need(o, out, err) < 0 || add_run(o, words, out, err) < 0)
        return -1;
    json_out_end(out);
    return 0;
}
