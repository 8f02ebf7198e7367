/* energy_books.h - whose joules they are
 *
 * A device's energy is split among the jobs on it: what it draws idle in equal parts, the
 * rest as the engine tells, which sees who comes and goes; where it cannot tell, in
 * proportion to what each is believed to add, and the error bar grows with how little is
 * known of that.  Hosts and idle devices are nobody's. */
#ifndef CORGI_SERVICE_ENERGY_BOOKS_H
#define CORGI_SERVICE_ENERGY_BOOKS_H

#include "service/service_private.h"

/* Up to this moment: what was booked, and since the last word of its devices what it is
 * believed to have drawn. */
struct energy_so_far {
    double joules, error; /* half a 90 % interval */
    double booked;        /* of that, in the store already */
    double busy_s;        /* device time of what is not */
};
struct energy_so_far energy_so_far(const struct service *s, const struct record *r);

/* ENGINE_POWER. */
void energy_power(struct service *s, const struct engine_event *event);

#endif
