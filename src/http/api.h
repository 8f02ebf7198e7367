/* api.h - the routes of Corgi's API as data, and the schemas of their bodies
 *
 * The service has a function a route and makes its table from the list:
 *
 *     #define ROUTE(op, ...) {API_ROUTE(op, __VA_ARGS__), .handle = handle_##op},
 *     static const struct route routes[] = {API_ROUTES(ROUTE){0}};
 *
 * docs/openapi.yaml describes the same; tests/unit/test_openapi.c compares both ways. */
#pragma once

#include "http/request.h"
#include "base/json_schema.h"

/* operation, method, pattern, least role, query names, body, audit */
#define API_ROUTES(X)                                                                    \
    X(dashboard, GET, "/", NOBODY, NULL, NULL, false)                                    \
    X(dashboard_file, GET, "/ui/{file}", NOBODY, NULL, NULL, false)                      \
    X(health, GET, "/healthz", NOBODY, NULL, NULL, false)                                \
    X(ready, GET, "/readyz", NOBODY, NULL, NULL, false)                                  \
    X(metrics, GET, "/metrics", VIEWER, NULL, NULL, false)                               \
    X(version, GET, "/v1/version", NOBODY, NULL, NULL, false)                            \
    X(whoami, GET, "/v1/whoami", VIEWER, NULL, NULL, false)                              \
    X(summary, GET, "/v1/summary", VIEWER, NULL, NULL, false)                            \
    X(trends, GET, "/v1/trends", VIEWER, "from_s step_s", NULL, false)                   \
    X(list_jobs, GET, "/v1/jobs", VIEWER, API_JOBS_QUERY, NULL, false)                   \
    X(submit_job, POST, "/v1/jobs", USER, NULL, &api_job_request, true)                  \
    X(show_job, GET, "/v1/jobs/{id}", VIEWER, NULL, NULL, false)                         \
    X(update_job, PATCH, "/v1/jobs/{id}", USER, NULL, &api_job_update, true)             \
    X(cancel_job, POST, "/v1/jobs/{id}/cancel", USER, NULL, &api_cancel, true)           \
    X(hold_job, POST, "/v1/jobs/{id}/hold", USER, NULL, &api_reason, true)               \
    X(release_job, POST, "/v1/jobs/{id}/release", USER, NULL, &api_reason, true)         \
    X(requeue_job, POST, "/v1/jobs/{id}/requeue", USER, NULL, &api_reason, true)         \
    X(job_history, GET, "/v1/jobs/{id}/history", VIEWER, API_PAGE_QUERY, NULL, false)    \
    X(job_output, GET, "/v1/jobs/{id}/output", VIEWER, "attempt offset lines", NULL,     \
      false)                                                                             \
    X(make_job_token, POST, "/v1/jobs/{id}/token", USER, NULL, &api_job_token, true)     \
    X(job_measurements, GET, "/v1/jobs/{id}/measurements", VIEWER,                       \
      "from_s to_s step_s limit", NULL, false)                                           \
    X(quote, POST, "/v1/quotes", USER, NULL, &api_quote_request, false)                  \
    X(list_nodes, GET, "/v1/nodes", VIEWER, "state", NULL, false)                        \
    X(show_node, GET, "/v1/nodes/{node}", VIEWER, NULL, NULL, false)                     \
    X(drain_node, POST, "/v1/nodes/{node}/drain", OPERATOR, NULL, &api_reason, true)     \
    X(resume_node, POST, "/v1/nodes/{node}/resume", OPERATOR, NULL, &api_reason, true)   \
    X(power_node, POST, "/v1/nodes/{node}/power", OPERATOR, NULL, &api_node_power, true) \
    X(list_devices, GET, "/v1/devices", VIEWER, "node type state", NULL, false)          \
    X(show_device, GET, "/v1/devices/{device}", VIEWER, NULL, NULL, false)               \
    X(drain_device, POST, "/v1/devices/{device}/drain", OPERATOR, NULL, &api_reason,     \
      true)                                                                              \
    X(resume_device, POST, "/v1/devices/{device}/resume", OPERATOR, NULL, &api_reason,   \
      true)                                                                              \
    X(power_device, POST, "/v1/devices/{device}/power", OPERATOR, NULL,                  \
      &api_device_power, true)                                                           \
    X(estimates, GET, "/v1/estimates", VIEWER, "job type beside limit", NULL, false)     \
    X(list_decisions, GET, "/v1/decisions", VIEWER,                                      \
      "job device kind from_s to_s limit after", NULL, false)                            \
    X(show_decision, GET, "/v1/decisions/{decision}", VIEWER, NULL, NULL, false)         \
    X(energy, GET, "/v1/energy", VIEWER, "by job user device from_s to_s step_s limit",  \
      NULL, false)                                                                       \
    X(report_measurements, POST, "/v1/measurements", USER, NULL, &api_measurements,      \
      false)                                                                             \
    X(report, POST, "/v1/reports", REPORTER, NULL, &api_reports, false)                  \
    X(events, GET, "/v1/events", VIEWER, "job types last_event_id", NULL, false)         \
    X(show_policy, GET, "/v1/policy", VIEWER, NULL, NULL, false)                         \
    X(update_policy, PATCH, "/v1/policy", OPERATOR, NULL, &api_policy_update, true)      \
    X(preview_policy, POST, "/v1/policy/preview", OPERATOR, NULL, &api_policy_preview,   \
      true)                                                                              \
    X(learned, GET, "/v1/learned", VIEWER, NULL, NULL, false)                            \
    X(advice, GET, "/v1/advice", VIEWER, "days", NULL, false)                            \
    X(publish_advice, PUT, "/v1/advice", OPERATOR, NULL, &api_advice, true)              \
    X(advance_sim, POST, "/v1/sim/advance", OPERATOR, NULL, &api_sim_advance, true)      \
    X(list_quotas, GET, "/v1/quotas", VIEWER, NULL, NULL, false)                         \
    X(set_quota, PUT, "/v1/quotas/{user}", OPERATOR, NULL, &api_quota, true)             \
    X(list_audit, GET, "/v1/audit", OPERATOR, API_PAGE_QUERY, NULL, false)               \
    X(list_tokens, GET, "/v1/tokens", OPERATOR, NULL, NULL, false)                       \
    X(make_token, POST, "/v1/tokens", OPERATOR, NULL, &api_token_request, true)          \
    X(revoke_token, DELETE, "/v1/tokens/{token}", OPERATOR, NULL, NULL, true)

#define API_ROUTE(op, verb, path, least, names, schema, audited)                         \
    .operation = #op, .method = HTTP_##verb, .pattern = path, .role = AUTH_##least,      \
    .query = names, .body = schema, .audit = audited

#define API_PAGE_QUERY "limit after"
#define API_JOBS_QUERY "state user name kind type node from_s to_s limit after order"

/* Limits that several of them share; the OpenAPI file says the same. */
#define API_MAX_STEPS       1e15
#define API_MAX_RATE        1e9
#define API_MAX_TIME_S      1e11 /* since 1970: past the year 5000 */
#define API_MAX_PAGE        1000
#define API_MAX_PRIORITY    1000000
#define API_MAX_GRACE_S     86400 /* of a stop */
#define API_MAX_SHARE       2     /* jobs the planner seats on one GPU */
#define API_MAX_POWER_HOURS 24    /* with a limit of their own: POWER_SCHEDULE_MAX */
#define API_MAX_REPORTS     512   /* in one request */
#define API_MAX_REPORT      2048  /* bytes of one: PROBE_REPORT_MAX_LINE */
#define API_RUN_BYTES       32    /* of a probe's run: hex digits */
#define API_MAX_ADVICE      500000 /* bytes: a body has a megabyte, and JSON in it quotes */
#define API_DEFAULT_PAGE    100

extern const struct schema api_job_request;    /* JobRequest */
extern const struct schema api_job_update;     /* JobUpdate */
extern const struct schema api_quote_request;  /* QuoteRequest */
extern const struct schema api_reason;         /* Reason */
extern const struct schema api_cancel;         /* Cancel */
extern const struct schema api_node_power;     /* NodePower */
extern const struct schema api_device_power;   /* DevicePower */
extern const struct schema api_measurements;   /* Measurements */
extern const struct schema api_reports;        /* Reports */
extern const struct schema api_job_token;      /* JobTokenRequest */
extern const struct schema api_policy_update;  /* PolicyUpdate */
extern const struct schema api_policy_preview; /* PolicyPreview */
extern const struct schema api_advice;         /* AdvicePublished */
extern const struct schema api_sim_advance;    /* SimAdvance */
extern const struct schema api_quota;          /* QuotaUpdate */
extern const struct schema api_token_request;  /* TokenRequest */
