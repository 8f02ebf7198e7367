/* listeners.h - where people come in: sockets, who they are, what they may, their limits
 */
#ifndef CORGI_SERVICE_LISTENERS_H
#define CORGI_SERVICE_LISTENERS_H

#include "service/service_private.h"

/* Server, streams and metrics; nobody can connect yet. */
int listeners_make(struct service *s, struct err *err);

/* Listen: on what systemd gave, else on the Unix socket; and on TCP if configured. */
int listeners_open(struct service *s, struct err *err);

/* Other limits, rules and certificates for the requests to come. */
int listeners_reload(struct service *s, const struct service_config *fresh,
                     struct err *err);

#endif
