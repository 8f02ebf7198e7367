/* energy_books.h - the joules of devices, hosts and jobs, booked as they are told
 *
 * Hosts and idle devices are nobody's; the rest is split by loop/record/energy_split. */
#ifndef CORGI_SERVICE_ENERGY_BOOKS_H
#define CORGI_SERVICE_ENERGY_BOOKS_H

#include "service/service_private.h"

/* ENGINE_POWER. */
void energy_power(struct service *s, const struct engine_event *event);

#endif
