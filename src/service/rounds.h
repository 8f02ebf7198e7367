/* rounds.h - when the loop plans, and carrying out what it decided */
#ifndef CORGI_SERVICE_ROUNDS_H
#define CORGI_SERVICE_ROUNDS_H

#include "service/service_private.h"

/* Something happened that may call for another plan: a round as soon as the gap allows.
 */
void rounds_poke(struct service *s);

/* The loop was told something, or the time was moved: its next round may be due earlier.
 */
void rounds_follow(struct service *s);

/* When the next round is due, on the daemon's clock. */
double rounds_next_s(const struct service *s);

/* For the timer. */
void rounds_due(void *service);

#endif
