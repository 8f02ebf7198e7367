/* replicas.h - services whose replicas follow what is asked of them
 *
 * A service that may have several replicas is a job like any other, its first replica;
 * each further one is a job of its own with the same command (CORGI_SERVICE and
 * CORGI_REPLICA in its environment), made and ended by the daemon.  So placing, moving,
 * measuring, energy and a restart need to know nothing of services.
 *
 * At submission the rate asked for is split into as few equal shares as can be promised;
 * each replica carries one.  Then the measured demand decides: more replicas at once,
 * fewer after it has been less for a while, none (if the job allows it) when nobody asks.
 */
#ifndef CORGI_SERVICE_REPLICAS_H
#define CORGI_SERVICE_REPLICAS_H

#include "service/service_private.h"
#include "service/tx.h"

/* Read what the stored request says of replicas into the record. */
void replicas_know(struct record *record);
/* The extra of a request, as JSON: for the store. */
struct replicas_extra {
    bool scale_to_zero;
    int max, shares;
    uint64_t of; /* the service this is a replica of; 0: none */
    int number;
};
void replicas_extra(struct str *out, const struct replicas_extra *extra);

/* The job as the loop shall see it: its share of what was asked for. */
struct job replicas_share(const struct record *record);

/* Demand or latency of a replica was measured: look at its service at the next tick. */
void replicas_measured(struct service *s, struct record *record);
/* Requests come for a service that has no replica. */
void replicas_wake(struct service *s, struct record *record);
/* Grow and shrink what needs it; now and then. */
void replicas_tick(struct service *s);

/* The service is over: so are its other replicas. */
void replicas_end(struct service *s, struct tx *tx, const struct record *service,
                  enum job_state state);

/* Replicas that have devices, the first included; requests/s asked of all together (NaN:
 * not measured). */
int replicas_running(const struct service *s, const struct record *service);
double replicas_demand(const struct service *s, const struct record *service);

/* Scaled to zero: waits for requests. */
bool replicas_at_zero(const struct record *record);

#endif
