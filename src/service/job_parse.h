/* job_parse.h - a job as asked for in JSON, made into one of ours
 *
 * The schema has been checked; here is what depends on the cluster, the user and the
 * engine, and what was left out is filled in. */
#ifndef CORGI_SERVICE_JOB_PARSE_H
#define CORGI_SERVICE_JOB_PARSE_H

#include "http/schema.h"
#include "service/service_private.h"

struct parsed_job {
    struct store_job job; /* strings are in `texts`, or borrowed from body and identity */
    vec_of(char *) texts;
    vec_of(const char *) argv, env;
    bool accept_counter;
    struct record_replicas replicas;
};

/* 0, or -1 with the sentence and the field it is about ("" for none).  End it with
 * job_parse_fini() in any case. */
int job_parse(struct service *s, const struct auth_identity *who,
              const struct json_value *body, struct parsed_job *out,
              char field[SCHEMA_PATH_SIZE], struct err *err);
void job_parse_fini(struct parsed_job *parsed);

/* Write what is known of replicas into the request. */
void job_parse_set_replicas(struct parsed_job *parsed, int shares);

/* Lay the members of an update, or of a what-if, over a job. */
int job_parse_change(struct service *s, const struct json_value *change,
                     struct parsed_job *out, char field[SCHEMA_PATH_SIZE],
                     struct err *err);

/* A digest of a body that does not depend on blanks. */
void job_parse_digest(const struct json_value *body,
                      unsigned char digest[STORE_DIGEST_BYTES]);

/* A JSON value written again. */
void job_parse_copy(struct json_out *out, const struct json_value *value);

/* The bits of allowed types from their names, with commas between; types the cluster does
 * not have (any more) are passed over; names NULL or "": 0. */
uint64_t job_parse_types(const struct service *s, const char *names);

#endif
