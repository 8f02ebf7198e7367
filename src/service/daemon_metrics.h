/* daemon_metrics.h - numbers for Prometheus */
#pragma once

#include "service/service_private.h"

/* Every metric: its member below, its kind, its name, help, labels and bounds. */
#define DAEMON_METRICS(M)                                                                \
    M(jobs, gauge, "corgi_jobs", "Jobs by state.", "state")                              \
    M(ended, counter, "corgi_jobs_ended_total", "Jobs ended since the daemon began.",    \
      "state")                                                                           \
    M(rate_ratio, gauge, "corgi_job_rate_ratio",                                         \
      "Measured over required rate of running jobs.", "job user")                        \
    M(joules, counter, "corgi_energy_joules_total",                                      \
      "Energy of the whole cluster, hosts and idle included.", NULL)                     \
    M(watts, gauge, "corgi_device_power_watts", "Draw of devices.", "device node type")  \
    M(device_joules, counter, "corgi_device_energy_joules_total",                        \
      "Energy of devices since the daemon began.", "device node type")                   \
    M(busy, gauge, "corgi_device_jobs", "Jobs on devices.", "device node type")          \
    M(nodes, gauge, "corgi_nodes", "Nodes by state.", "state")                           \
    M(rounds, counter, "corgi_rounds_total", "Rounds of planning.", NULL)                \
    M(decision_s, histogram, "corgi_decision_duration_seconds", "Time to make a plan.",  \
      NULL, seconds, COUNT(seconds))                                                     \
    M(actions, counter, "corgi_actions_total", "Actions decided on.", "action")          \
    M(advised, counter, "corgi_advised_actions_total",                                   \
      "Actions that a daemon which only advises would have taken, in every round.",      \
      "action")                                                                          \
    M(stale, counter, "corgi_plans_stale_total",                                         \
      "Plans dropped because the state had moved on.", NULL)                             \
    M(adapted, counter, "corgi_model_adaptations_total", "Times the model was adapted.", \
      NULL)                                                                              \
    M(networks, counter, "corgi_network_lessons_total",                                  \
      "Lessons of P1 and P2, by whether they were taken or rolled back.",                \
      "network outcome")                                                                 \
    M(network_error, gauge, "corgi_network_error_ratio",                                 \
      "Mean log error for families P1 and P2 never learn from, at the last lesson.",     \
      "network when")                                                                    \
    M(error, histogram, "corgi_prediction_error_ratio",                                  \
      "Error of predicted rates, |log(measured/predicted)|.", "source", errors,          \
      COUNT(errors))                                                                     \
    M(covered, counter, "corgi_predictions_covered_total",                               \
      "Measured rates inside the 90 % interval.", "source")                              \
    M(observations, counter, "corgi_observations_total",                                 \
      "Measurements the model learned from.", NULL)                                      \
    M(error_recent, gauge, "corgi_prediction_error_recent_ratio",                        \
      "Running mean of the error of predictions.", NULL)                                 \
    M(coverage_recent, gauge, "corgi_prediction_coverage_ratio",                         \
      "Running share of measurements inside the interval.", NULL)                        \
    M(refused, counter, "corgi_measurements_refused_total",                              \
      "Windows that taught nothing, by reason.", "reason")                               \
    M(guard, counter, "corgi_guard_actions_total", "Acts on broken promises.", "action") \
    M(broken, gauge, "corgi_promises_broken", "Running jobs below what was promised.",   \
      NULL)                                                                              \
    M(promised_s, counter, "corgi_promised_seconds_total", "Job time under a promise.",  \
      NULL)                                                                              \
    M(kept_s, counter, "corgi_promise_kept_seconds_total",                               \
      "Job time with the promise kept.", NULL)                                           \
    M(quoted, counter, "corgi_quoted_windows_total",                                     \
      "First windows of jobs at the place they were quoted.", "source company kind")     \
    M(quoted_kept, counter, "corgi_quoted_windows_kept_total",                           \
      "Of these, not below the rate quoted at this confidence.",                         \
      "source company kind confidence")                                                  \
    M(quoted_starts, counter, "corgi_quoted_starts_total",                               \
      "Jobs that had to wait and started, by whether they were told when.", "told")      \
    M(quoted_good, counter, "corgi_quoted_starts_good_total",                            \
      "Of those told, started within a fifth of the wait or 30 s of it.", NULL)          \
    M(submissions, counter, "corgi_submissions_total", "Submissions by answer.",         \
      "verdict")                                                                         \
    M(submission_s, histogram, "corgi_submission_duration_seconds",                      \
      "From the request to the answer, stored.", NULL, seconds, COUNT(seconds))          \
    M(requests, counter, "corgi_http_requests_total", "Requests answered.",              \
      "operation code")                                                                  \
    M(request_s, histogram, "corgi_http_request_duration_seconds",                       \
      "Time to answer requests.", "method", seconds, COUNT(seconds))                     \
    M(commit_s, counter, "corgi_store_commits_total", "Durable commits.", NULL)          \
    M(store_rows, counter, "corgi_store_rows_total", "Rows written.", NULL)              \
    M(store_bytes, gauge, "corgi_store_size_bytes", "Size of the store.", "part")        \
    M(store_failing, gauge, "corgi_store_failing", "1 while the store cannot write.",    \
      NULL)                                                                              \
    M(store_shortened, gauge, "corgi_store_shortened",                                   \
      "1 when the store held less than was acknowledged as the daemon started.", NULL)   \
    M(store_waiting, gauge, "corgi_store_waiting_rows", "Rows that wait for the disk.",  \
      NULL)                                                                              \
    M(turn_s, histogram, "corgi_loop_turn_seconds",                                      \
      "Processor time the state's thread works before it looks for news again.", NULL,   \
      seconds, COUNT(seconds))                                                           \
    M(work_s, histogram, "corgi_loop_work_seconds",                                      \
      "Processor time of the state's thread by what it worked at: the operation of a "   \
      "request, or a part of the daemon.",                                               \
      "work", pieces, COUNT(pieces))                                                     \
    M(streams, gauge, "corgi_event_streams", "Clients that follow.", NULL)               \
    M(stream_bytes, gauge, "corgi_event_buffered_bytes",                                 \
      "Bytes that wait for slow clients.", NULL)                                         \
    M(connections, gauge, "corgi_http_connections", "Open connections.", NULL)           \
    M(rate_limited, counter, "corgi_http_rate_limited_total",                            \
      "Requests refused for coming too often.", NULL)

struct daemon_metrics {
    struct service *service;
#define MEMBER(member, ...) struct metric *member;
    DAEMON_METRICS(MEMBER)
#undef MEMBER
    double slow_said_s;  /* on the wall's clock */
    uint64_t slow_turns; /* since then */
};

struct daemon_metrics *daemon_metrics_create(struct service *s);
void daemon_metrics_write(struct service *s, struct str *out); /* as they are now */
void daemon_metrics_destroy(struct daemon_metrics *f);         /* NULL is fine */

void daemon_metrics_prediction(struct service *s, const struct estimate *expected,
                               double rate);
void daemon_metrics_submission(struct service *s, const char *verdict, double asked_s);
void daemon_metrics_answer(struct service *s, const struct request *r, int status);
