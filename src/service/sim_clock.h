/* sim_clock.h - a simulated world whose time an operator moves
 *
 * With `sim.clock: stepped` time stands still until POST /v1/sim/advance says how far to
 * go.  The world then goes from event to event; at each one, all that follows from it is
 * waited for (rounds, replicas, what is learned, writes to the store) before it goes on.
 * So the same requests give the same decisions, however fast the machine is. */
#ifndef CORGI_SERVICE_SIM_CLOCK_H
#define CORGI_SERVICE_SIM_CLOCK_H

#include "service/service_private.h"

/* Is the daemon's time moved by hand?  What is timed then follows service_now_s(). */
bool sim_clock_stepped(const struct service *s);

/* Store a line of loop/ledger.h, which is taken; without a stepped clock nobody asks. */
void sim_clock_ledger(struct service *s, struct str *line);

/* An operator is told that the daemon ends; before the server goes. */
void sim_clock_end(struct service *s);

#endif
