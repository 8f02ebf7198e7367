/* daemon_metrics.h - numbers for Prometheus */
#ifndef CORGI_SERVICE_DAEMON_METRICS_H
#define CORGI_SERVICE_DAEMON_METRICS_H

#include "service/service_private.h"

struct daemon_metrics {
    struct service *service;
    struct metric *jobs, *ended, *rate_ratio, *joules, *watts, *device_joules, *busy;
    struct metric *nodes, *submissions, *submission_s, *requests, *request_s;
    struct metric *rounds, *decision_s, *actions, *stale, *adapted;
    struct metric *error, *covered, *observations, *error_recent, *coverage_recent;
    struct metric *refused, *guard, *broken, *promised_s, *kept_s;
    struct metric *commit_s, *store_rows, *store_bytes, *store_failing, *store_waiting;
    struct metric *turn_s, *work_s;
    struct metric *streams, *stream_bytes, *connections, *rate_limited;
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

#endif
