/* tls.h - the server's certificate, for streams that want it */
#ifndef CORGI_HTTP_TLS_H
#define CORGI_HTTP_TLS_H

#include "base/err.h"

struct tls;

/* TLS 1.2 and later with this certificate chain and key, both PEM files; NULL: failed. */
struct tls *tls_create(const char *certificate, const char *key, struct err *err);
void tls_destroy(struct tls *tls); /* NULL is fine; sessions go on */

/* OpenSSL's session for one connection, for socket_stream.c, which owns it then. */
struct ssl_st *tls_session(struct tls *tls);

#endif
