/* push.h - an answer that does not end: bytes go out as they come up */
#ifndef CORGI_HTTP_PUSH_H
#define CORGI_HTTP_PUSH_H

#include "http/request.h"

#include <stddef.h>

struct push_events {
    void (*written)(void *ctx); /* all bytes have left */
    void (*gone)(void *ctx);    /* the client, and with it the push */
};

struct push {
    const struct push_events *events;
    void *ctx;
};

/* Answer a request with 200 and no length.  NULL when there is nobody to push to, the
 * client being gone or having asked for the head alone; the request is answered anyway.
 */
struct push *push_begin(struct request *r, const char *content_type,
                        const struct push_events *events, void *ctx);

void push_write(struct push *p, const void *bytes, size_t count);
size_t push_unwritten(const struct push *p);
void push_patience(struct push *p, double seconds); /* a client may take no byte for */

/* Send what is there, then close; there are no more callbacks. */
void push_end(struct push *p);

#endif
