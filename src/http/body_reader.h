/* body_reader.h - large bodies are read on a thread of their own
 *
 * To read and check a body of a megabyte takes many times as long as to answer a usual
 * request, and while the reactor's thread does it nobody else is served.  So conn.c hands
 * large ones over; each comes back on the reactor's thread, read or refused, by
 * conn_body_read().  How many bytes of them one user may send is bounded by
 * server_limits.bytes_per_s. */
#pragma once

#include "http/request.h"
#include "http/reactor.h"

/* Bodies above this are worth the way to another thread and back. */
#define BODY_READER_LARGE 8192

struct body_reader;

/* NULL: no thread could be started; bodies are read where they arrive, then. */
struct body_reader *body_reader_create(struct reactor *reactor);

/* Requests that are not back yet are dropped without an answer.  NULL is fine. */
void body_reader_destroy(struct body_reader *reader);

/* The bytes are copied.  The request counts as a handler's until it is back. */
void body_reader_hand_over(struct body_reader *reader, struct request *request,
                           const char *bytes, size_t count);
