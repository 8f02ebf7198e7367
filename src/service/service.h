/* service.h - the daemon: the loop as a service people and programs talk to
 *
 *     service = service_create(&config, path, &err);
 *     status = service_run(service, &err);
 *     service_destroy(service);
 *
 * One thread owns the state and waits in service_run(); the store writes and the planning
 * thread plans on threads of their own. */
#pragma once

#include "service/service_config.h"

struct service;

/* Takes the config.  path (may be NULL) is read again at SIGHUP.  Rebuilds the state and
 * listens; NULL: err says why not. */
struct service *service_create_take(struct service_config *config, const char *path,
                                    struct err *err);

/* Until SIGTERM or SIGINT. */
int service_run(struct service *service, struct err *err);

/* What runs goes on, for the next daemon. */
void service_destroy(struct service *service); /* NULL is fine */
