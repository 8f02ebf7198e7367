/* energy.h - whose joules they are
 *
 * A device's energy is split among the jobs on it: what it draws idle in equal parts, the
 * rest in proportion to what each is believed to add; the error bar grows with how little
 * is known of that.  Hosts and idle devices are nobody's. */
#ifndef CORGI_SERVICE_ENERGY_H
#define CORGI_SERVICE_ENERGY_H

#include "service/state.h"

/* ENGINE_POWER. */
void energy_power(struct service *s, const struct engine_event *event);

#endif
