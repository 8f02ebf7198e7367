/* job_request.h - the options that describe a job, for submit, quote and script headers,
 * and the request they make */
#pragma once

#include "base/command.h"
#include "base/directives.h"
#include "base/json_out.h"
#include "corgi/daemon.h"

struct job_options {
    const char *name;
    int kind;
    double min_rate, requests, latency_s;
    double within_s;
    const char *deadline;
    double confidence;
    double steps, duration_s;
    int gpus;
    double memory_gb;
    double cpus;
    double host_memory_gb;
    int priority;
    const char *types;
    bool exclusive, no_move, hold, accept_counter;
    const char *family;
    int model;
    int batch;
    double gmac, params, sample_mb;
    const char *directory, *output, *export;
    const char *metrics_url, *metrics_counter, *progress_file;
    double grace_s;
    int checkpoint_signal;
    bool scale_to_zero;
    int max_replicas;
    const char *account, *qos, *partition;
};

/* What submit and quote parse into; submit alone knows the last ones. */
struct job_args {
    struct daemon_args daemon;
    struct job_options job;
    bool wait;
    const char *what_if;
};

extern const struct option_spec job_submit_options[];
extern const struct option_spec job_quote_options[];
/* Of the #CORGI lines of a script that another scheduler hands in. */
extern const struct option_spec job_header_options[];

/* The #CORGI lines of a script, read over what args holds.  ERR_USAGE with the script's
 * name and the line. */
int job_read_header(const struct option_spec *specs, const struct directives *lines,
                    const char *script, void *args, struct err *err);

const char *job_unit(const struct job_options *o); /* what its rates are in */

/* What is asked for contradicts itself: ERR_USAGE. */
int job_options_check(const struct job_options *o, struct err *err);

/* The next of some words with commas between, cut to the buffer; false at the end. */
bool job_next_word(const char **list, char *word, size_t size);

/* The JobRequest of the API.  program: its name is the job's without --name; NULL: there
 * is none.  words: what runs, ends with NULL. */
int job_request_json(const struct job_options *o, const char *program, char *const *words,
                     struct json_out *out, struct err *err);
