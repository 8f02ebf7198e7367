/* views.h - jobs, devices and nodes as JSON, as docs/openapi.yaml says */
#pragma once

#include "service/service_private.h"

/* waiting, held, running, done, failed, cancelled. */
/* Of a record: also leaving, and waiting as long as others have not left its devices. */
const char *views_record_state(const struct service *s, const struct record *r);
const char *views_job_state(enum job_state state, bool held);

/* An array of places. */
void views_places(struct json_out *out, const struct service *s, const int *devices,
                  int count);
/* From names with commas between, as the store keeps them. */
void views_places_named(struct json_out *out, const struct service *s, const char *names);

/* How much of a job is shown. */
struct views_how {
    bool whole;              /* with its quote */
    const char *first_quote; /* JSON, shown with the whole; NULL: none */
    /* Who asks: the owner and operators also see the command, the owner alone the
     * environment; others see nothing of neighbours that are not theirs but their number.
     */
    const struct auth_identity *who;
};

void views_record(struct json_out *out, const struct service *s, const struct record *r,
                  struct views_how how);
/* A job that has ended; quote_json may be NULL. */
void views_stored(struct json_out *out, const struct service *s,
                  const struct store_job *job, char *quote_json, struct views_how how);

/* What was saved, with its 90 % interval; null where it is not known. */
void views_saving(struct json_out *out, bool known, double joules, double error);

/* free, busy, drained, failed, asleep. */
const char *views_device_state(const struct cluster *cluster, int device);
void views_device(struct json_out *out, const struct service *s, int device,
                  const struct auth_identity *who);
void views_node(struct json_out *out, const struct service *s, int node,
                const struct auth_identity *who);
extern const char *const views_node_states[]; /* of enum node_state; ends with NULL */
double views_host_watts(const struct node *node);
void views_neighbour(struct json_out *out, const struct service *s, uint64_t job,
                     const struct auth_identity *who);

/* The file a job's attempt prints to, which the caller frees; NULL: there is none. */
char *views_output_path(const struct service *s, const struct store_request *request,
                        int attempt);

/* A member whose text is JSON already; NULL: null. */
void views_raw(struct json_out *out, const char *key, const char *json);
