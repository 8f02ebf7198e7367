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

/* What is asked for contradicts itself: ERR_USAGE. */
int job_options_check(const struct job_options *o, struct err *err);

/* Read the operands: a script and its arguments, whose header is read below the command
 * line's options; or after "--" a command.  The words of the job are call->operands, with
 * the script's interpreter before them where it needs one; *command is for
 * job_command_fini(). */
struct job_command {
    struct job_args args;
    char **words; /* NULL-terminated; (word_count) */
    int word_count;
    const char *name; /* of the script or the program; NULL: there is neither */
    void *held;       /* what args and words point into */
};

int job_command_read(struct job_command *command, const struct command_call *call,
                     bool needed, struct err *err);
void job_command_fini(struct job_command *command);

/* The JobRequest of the API. */
int job_options_json(const struct job_options *o, const struct job_command *command,
                     struct json_out *out, struct err *err);

#endif
