/* handlers.h - a function for every route of http/api.h, and what they share */
#pragma once

#include "http/api.h"
#include "service/service_private.h"

#define HANDLERS_DECLARE(op, ...) void handle_##op(void *ctx, struct request *request);
API_ROUTES(HANDLERS_DECLARE)
#undef HANDLERS_DECLARE

extern const struct route handlers_routes[];

/* For sse_config: what a client missed, from the store. */
enum sse_replay handlers_replay(void *service, uint64_t after, struct sse_page *page);

/* ---- query parameters: false when the request was answered with 400 --------------- */

bool handlers_number(struct request *r, const char *name, double min, double max,
                     double *value); /* untouched when not given */
bool handlers_limit(struct request *r, int *limit);
bool handlers_after(struct request *r, uint64_t *after); /* 0 when not given */
bool handlers_choice(struct request *r, const char *name, const char *const *choices,
                     int *value); /* untouched when not given */

/* ---- answers ---------------------------------------------------------------------- */

/* An answer in the making: a JSON object that is open, and with `list` its first member
 * is an array that is open too. */
struct handlers_answer {
    struct request *request;
    struct str text;
    struct json_out out;
    bool only_stored; /* what is committed changes nothing but the store */
};
void handlers_value(struct handlers_answer *answer, struct request *r); /* any JSON */
void handlers_begin(struct handlers_answer *answer, struct request *r, const char *list);
/* End the array of a page: `next` is the last that was looked at, null on the last page.
 */
void handlers_page(struct handlers_answer *answer, bool more, uint64_t last);
/* End whatever is open and answer with it; or with an error instead. */
void handlers_answer(struct handlers_answer *answer, int status);
void handlers_fail(struct handlers_answer *answer, const struct err *err);

/* Does the daemon take changes now?  Else the request was answered with 503. */
bool handlers_writable(struct service *s, struct request *r);
/* The same, and may it start, stop and order anything?  A daemon that only advises may
 * not: 409. */
bool handlers_may_act(struct service *s, struct request *r);

/* The record of the route's {id} that the asker may see, or change.  NULL when the
 * request was answered: 404, 403, or 409 for a change to a job that has ended. */
struct record *handlers_record(struct service *s, struct request *r);
/* The same, also of a job that is leaving, which handlers_record() answers with 409. */
struct record *handlers_record_leaving(struct service *s, struct request *r);

/* The record has its quote again, from the store, until it is dropped; most are never
 * asked for, so they are not kept.  handlers_drop_quote() after it was shown. */
void handlers_recall_quote(struct service *s, struct record *record);
void handlers_drop_quote(struct record *record);

/* The route's {id} is a job that the asker may see, ended or not.  False: answered. */
bool handlers_may_look(struct service *s, struct request *r, uint64_t *id);

/* 403: the job is another user's. */
void handlers_forbid(struct request *r, uint64_t job);

/* The quote a job was given first, or last, as JSON that the caller frees; NULL: none. */
char *handlers_quote(struct service *s, uint64_t job, bool first);

/* `reason` of the body; NULL when there is none. */
const char *handlers_reason(const struct request *r);

/* End whatever is open and answer with it once the tx is stored, else with 503.  What was
 * done is not undone: a job that fills the disk can be cancelled. */
struct tx;
void handlers_commit(struct handlers_answer *answer, struct tx *tx, int status);

/* Settings of the request's body over those that are there; false: some make no sense
 * together, and the request was answered. */
bool handlers_take_policy(struct request *r, struct optimize_settings *settings);

/* The limit on the cluster's power in force now. */
void handlers_power_limit(struct json_out *out, const struct service *s);

/* A preview that is being played is waited for, and answered. */
void handlers_end_preview(struct service *s);

/* Reads of output that are under way find nobody any more. */
void handlers_end_output(struct service *s);

/* What probes have told so far is forgotten. */
void handlers_end_reports(struct service *s);

/* The daemon ends: whoever waits for the time to be moved is told so. */
void handlers_end(struct service *s);
