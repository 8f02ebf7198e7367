/* daemon_metrics.h - numbers for Prometheus */
#ifndef CORGI_SERVICE_DAEMON_METRICS_H
#define CORGI_SERVICE_DAEMON_METRICS_H

#include "service/service_private.h"

struct daemon_metrics;

struct daemon_metrics *daemon_metrics_create(struct service *s);
void daemon_metrics_write(struct service *s, struct str *out); /* as they are now */
void daemon_metrics_destroy(struct daemon_metrics *f);         /* NULL is fine */

void daemon_metrics_action(struct service *s, enum action_kind kind);
void daemon_metrics_round(struct service *s, double work_s);
void daemon_metrics_prediction(struct service *s, const struct estimate *expected,
                               double rate);
void daemon_metrics_refused(struct service *s, const char *reason);
void daemon_metrics_guard(struct service *s, const char *action);
void daemon_metrics_submission(struct service *s, const char *verdict, double asked_s);
void daemon_metrics_answer(struct service *s, const struct request *r, int status);

#endif
