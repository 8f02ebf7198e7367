/* wire.h - the client's connection: blocking, with limits on time, plain or TLS */
#ifndef CORGI_HTTP_WIRE_H
#define CORGI_HTTP_WIRE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct wire;

struct wire_target {
    const char *socket; /* Unix; or: */
    const char *host, *port;
    bool tls;
    const char *ca_file; /* NULL: the system's */
};

/* NULL: ERR_NOT_FOUND when nobody listens there, else ERR_SYSTEM. */
struct wire *wire_open(const struct wire_target *target, double limit_s, struct err *err);
void wire_close(struct wire *w); /* NULL is fine */

int wire_write(struct wire *w, const char *bytes, size_t count, double limit_s,
               struct err *err);

/* Bytes read, 0 at the end, -1 with ERR_SYSTEM; ERR_LIMIT when nothing came in time. */
long wire_read(struct wire *w, char *bytes, size_t most, double limit_s, struct err *err);

#endif
