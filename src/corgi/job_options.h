/* job_options.h - the options that describe a job, for submit, quote and script headers
 */
#ifndef CORGI_CORGI_JOB_OPTIONS_H
#define CORGI_CORGI_JOB_OPTIONS_H

#include "base/command.h"
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
};

/* What submit and quote parse into; submit alone knows the last ones. */
struct job_args {
    struct daemon_args daemon;
    struct job_options job;
    bool wait;
    const char *what_if;
};

extern const char *const job_kinds[];
extern const char *const job_models[];
extern const struct option_spec job_submit_options[];
extern const struct option_spec job_quote_options[];

const char *job_unit(const struct job_options *o); /* what its rates are in */

/* What is asked for contradicts itself: ERR_USAGE. */
int job_options_check(const struct job_options *o, struct err *err);

/* The operands: a script and its arguments, whose header is read below the command line's
 * options; or after "--" a command. */
struct job_command {
    struct job_args args;
    char **words; /* the job's: NULL-terminated; (word_count) */
    int word_count;
    const char *name; /* of the script or the program; NULL: there is neither */
    void *held;       /* what args and words point into */
};

/* The next of some words with commas between, cut to the buffer; false at the end. */
bool job_next_word(const char **list, char *word, size_t size);

/* The JobRequest of the API. */
int job_options_json(const struct job_command *command, struct json_out *out,
                     struct err *err);

/* The whole of a command that tells the daemon of a job: read the operands (there must be
 * some, or not), put the body together, POST it, and give the answer to told(); its
 * result is the exit status.  err of told() has ERR_NONE when the answer is 2xx. */
int job_command_run(
    const struct command_call *call, bool needed, const struct client_request *request,
    int (*body)(const struct job_command *command, struct json_out *out, struct err *err),
    int (*told)(const struct command_call *call, const struct job_args *args,
                const struct client_answer *answer, const struct err *err));

#endif
