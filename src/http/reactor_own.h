/* reactor_own.h - what stream.c needs of a reactor and nobody else does */
#ifndef CORGI_HTTP_REACTOR_OWN_H
#define CORGI_HTTP_REACTOR_OWN_H

#include "http/reactor.h"

struct event_base *reactor_base(struct reactor *r);

#endif
