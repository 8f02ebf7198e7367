/* streaming_reply.h - an answer that does not end: bytes go out as they come up
 *
 * conn.c does it; sse.c sends events with it. */
#ifndef CORGI_HTTP_STREAMING_REPLY_H
#define CORGI_HTTP_STREAMING_REPLY_H

#include "http/request.h"

#include <stddef.h>

struct streaming_reply_events {
    void (*written)(void *ctx); /* all bytes have left */
    void (*gone)(void *ctx);    /* the client has, and the reply with it */
};

struct streaming_reply;

/* Answer a request with 200 and no length.  NULL when there is nobody to send to, the
 * client being gone or having asked for the head alone; the request is answered anyway.
 */
struct streaming_reply *streaming_reply_begin(struct request *r, const char *content_type,
                                              const struct streaming_reply_events *events,
                                              void *ctx);

void streaming_reply_write(struct streaming_reply *p, const void *bytes, size_t count);
size_t streaming_reply_unwritten(const struct streaming_reply *p);
void streaming_reply_patience(struct streaming_reply *p,
                              double seconds); /* a client may take no byte for */

/* Send what is there, then close; there are no more callbacks. */
void streaming_reply_end(struct streaming_reply *p);

#endif
