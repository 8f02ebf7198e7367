/* reactor_private.h - what socket_stream.c needs of a reactor and nobody else does */
#ifndef CORGI_HTTP_REACTOR_PRIVATE_H
#define CORGI_HTTP_REACTOR_PRIVATE_H

#include "http/reactor.h"

struct event_base *reactor_base(struct reactor *r);

#endif
