/* replica_jobs.h - the replicas of a service as jobs
 *
 * A service that may have several replicas is a job like any other, its first replica;
 * each further one is a job of its own with the same command (CORGI_SERVICE and
 * CORGI_REPLICA in its environment), made and ended by the daemon.  So placing, moving,
 * measuring, energy and a restart need to know nothing of services.
 *
 * At submission the rate asked for is split into as few equal shares as can be promised;
 * each replica carries one.  After that loop/replicas decides how many there are; this
 * module gathers the facts, makes and ends the jobs. */
#pragma once

#include "service/service_private.h"

/* Demand or latency of a replica was measured: look at its service at the next tick. */
void replica_jobs_measured(struct service *s, const struct record *record);
/* So many requests/s come for a service that may have no replica. */
void replica_jobs_asked(struct service *s, struct record *record, double asked);
/* Grow and shrink what needs it; now and then. */
void replica_jobs_tick(struct service *s);
