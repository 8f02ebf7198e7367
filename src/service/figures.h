/* figures.h - numbers for Prometheus */
#ifndef CORGI_SERVICE_FIGURES_H
#define CORGI_SERVICE_FIGURES_H

#include "service/mind.h"
#include "service/state.h"

struct figures;

struct figures *figures_create(struct service *s);
void figures_destroy(struct figures *f); /* NULL is fine */

void figures_action(struct service *s, enum action_kind kind);
void figures_round(struct service *s, const struct mind_timing *timing);
void figures_prediction(struct service *s, const struct estimate *expected, double rate);
void figures_guard(struct service *s, const char *action);
void figures_submission(struct service *s, const char *verdict, double seconds);
void figures_answer(struct service *s, const struct server_audit *entry);

#endif
