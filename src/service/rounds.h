/* rounds.h - when the loop plans, and carrying out what it decided */
#ifndef CORGI_SERVICE_ROUNDS_H
#define CORGI_SERVICE_ROUNDS_H

#include "service/service_private.h"

/* Something happened that may call for another plan: a round as soon as the gap allows.
 */
void rounds_poke(struct service *s);

/* With a stepped clock: when the next one is due, and that time has moved. */
double rounds_next_s(const struct service *s);
void rounds_clock_moved(struct service *s);

/* For the timer. */
void rounds_due(void *service);

#endif
