/* job_json.c - what job_command.c has read of a job, as the JobRequest the API wants */
#include "corgi/job_options.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_VARIABLES   1000
#define MAX_EXPORT      ((size_t)512 << 10) /* bytes of environment */
#define MAX_VALUE_BYTES 65535
#define MAX_NAME_BYTES  79

extern char **environ;

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
        json_out_key_string(out, "model", job_models[o->model]);
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
    json_out_key_string(out, "kind", job_kinds[o->kind]);
    json_out_key_int(out, "gpus", o->gpus);
    add_given(out, "total_steps", o->steps);
    add_given(out, "duration_s", o->duration_s);
    add_given(out, "memory_gb", o->memory_gb);
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
}

/* "NAME=VALUE" into the object; a secret of our own stays here. */
static int add_variable(struct json_out *out, const char *pair, size_t *bytes, int *count,
                        struct err *err)
{
    const char *equals = strchr(pair, '=');
    char name[256];

    if (!equals || equals == pair || (size_t)(equals - pair) >= sizeof(name))
        return 0;
    snprintf(name, sizeof(name), "%.*s", (int)(equals - pair), pair);
    if (!strcmp(name, "CORGI_TOKEN"))
        return 0;
    *bytes += strlen(pair);
    if (*bytes > MAX_EXPORT || strlen(equals + 1) > MAX_VALUE_BYTES ||
        ++*count > MAX_VARIABLES)
        return err_set(err, ERR_USAGE,
                       "the environment is too large to send along; choose from it with "
                       "--export NAME,...");
    json_out_key_string(out, name, equals + 1);
    return 0;
}

static int add_named_variable(struct json_out *out, const char *word, size_t *bytes,
                              int *count, struct err *err)
{
    struct str pair = {0};
    const char *value = strchr(word, '=') ? NULL : getenv(word);
    int rc = 0;

    if (value) {
        str_addf(&pair, "%s=%s", word, value);
        rc = add_variable(out, str_text(&pair), bytes, count, err);
    } else if (strchr(word, '=')) {
        rc = add_variable(out, word, bytes, count, err);
    }
    str_fini(&pair);
    return rc;
}

static int add_environment(const struct job_options *o, struct json_out *out,
                           struct err *err)
{
    const char *list = o->export;
    size_t bytes = 0;
    int count = 0, rc = 0;

    json_out_key(out, "environment");
    json_out_begin_object(out);
    if (!strcmp(list, "ALL")) {
        for (char **pair = environ; *pair && rc == 0; pair++)
            rc = add_variable(out, *pair, &bytes, &count, err);
    } else if (strcmp(list, "NONE") != 0) {
        while (*list && rc == 0) {
            size_t length = strcspn(list, ",");
            struct str word = {0};

            str_add_bytes(&word, list, length);
            rc = add_named_variable(out, str_text(&word), &bytes, &count, err);
            str_fini(&word);
            list += length;
            list += *list == ',';
        }
    }
    json_out_end(out);
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

static int add_run(const struct job_options *o, const struct job_command *command,
                   struct json_out *out, struct err *err)
{
    char *here;

    if (command->word_count == 0)
        return 0;
    json_out_key(out, "command");
    json_out_begin_array(out);
    for (int i = 0; i < command->word_count; i++)
        json_out_string(out, command->words[i]);
    json_out_end(out);
    here = o->directory ? NULL : get_current_dir_name();
    add_path(out, "directory", o->directory ? o->directory : here);
    free(here);
    add_path(out, "output", o->output);
    add_path(out, "progress_file", o->progress_file);
    add_given_text(out, "metrics_url", o->metrics_url);
    add_given_text(out, "metrics_counter", o->metrics_counter);
    add_given(out, "stop_grace_s", o->grace_s);
    add_given_int(out, "checkpoint_signal", o->checkpoint_signal);
    return add_environment(o, out, err);
}

int job_options_json(const struct job_command *command, struct json_out *out,
                     struct err *err)
{
    const struct job_options *o = &command->args.job;
    char name[MAX_NAME_BYTES + 1];

    json_out_begin_object(out);
    if (o->name || command->name) {
        str_copy(name, sizeof(name), o->name ? o->name : command->name);
        json_out_key_string(out, "name", name);
    }
    add_shape(o, out);
    add_descriptor(o, out);
    if (add_need(o, out, err) < 0 || add_run(o, command, out, err) < 0)
        return -1;
    json_out_end(out);
    return 0;
}
