/* job_parse.h - a job as asked for in JSON, made into one of ours
 *
 * The schema has been checked; here is what depends on the cluster, the user and the
 * engine, and what was left out is filled in. */
#pragma once

#include "base/config.h"
#include "base/json_out.h"
#include "http/auth.h"
#include "base/json_schema.h"
#include "service/job_records.h"

struct intern;

struct parsed_job {
    struct store_job job; /* strings are in `texts`, or borrowed from body and identity */
    vec_of(char *) texts;
    vec_of(const char *) argv, env;
    bool accept_counter;
    struct record_replicas replicas;
    struct job_groups there; /* account, QOS and partition it is handed in to */
};

/* What a request is read against. */
struct job_parse_context {
    const struct cluster *cluster;
    const struct intern *classes; /* kinds of jobs known so far */
    int classes_max;              /* the estimator tells apart */
    bool command_needed;          /* the engine runs real programs */
    bool account_needed;          /* and runs them as the user who asks */
    int priority_max;             /* this user may ask for */
    double stop_grace_max_s;      /* anybody may ask for */
    bool gangs_alone; /* jobs of several devices do not share them: Slurm has no such
                         parts */
    /* Of these the job goes to one, the first unless it says another; NULL: the engine
     * has neither partitions nor accounts. */
    const struct config_list *partitions;
    double now_s;
};

/* 0, or -1 with the sentence and the field it is about ("" for none).  End it with
 * job_parse_fini() in any case. */
int job_parse(const struct job_parse_context *context, const struct auth_identity *who,
              const struct json_value *body, struct parsed_job *out,
              char field[SCHEMA_PATH_SIZE], struct err *err);
void job_parse_fini(struct parsed_job *parsed);

/* The kind of a job of which no more is known than its name, its user and what it runs
 * (NULL: not known), as if it had been asked for; see struct job_parse_context. */
void job_parse_guess_kind(const struct intern *classes, int classes_max, const char *user,
                          const char *command, struct job *job);

/* What a job's user asked for where another scheduler took it in, laid over what that one
 * tells: kind, work, need, descriptor and whether it shares or moves; types only as far
 * as that one allows them.  How much of what it gets is the other's word. */
int job_parse_asked(const struct job_parse_context *context, const char *user,
                    const struct json_value *asked, struct job *job,
                    char field[SCHEMA_PATH_SIZE], struct err *err);

/* The kind of a job that was taken is known from now on. */
void job_parse_know_class(struct intern *classes, const struct job *job);

/* Lay the members of an update, or of a what-if, over a job. */
int job_parse_change(const struct job_parse_context *context,
                     const struct json_value *change, struct parsed_job *out,
                     char field[SCHEMA_PATH_SIZE], struct err *err);

/* A digest of a body that does not depend on blanks. */
void job_parse_digest(const struct json_value *body,
                      unsigned char digest[STORE_DIGEST_BYTES]);

/* The bits of allowed types from their names, with commas between; types the cluster does
 * not have (any more) are passed over; names NULL or "": 0. */
uint64_t job_parse_types(const struct cluster *cluster, const char *names);
