/* sse_parse.h - an event stream as it comes in, byte by byte */
#ifndef CORGI_HTTP_SSE_PARSE_H
#define CORGI_HTTP_SSE_PARSE_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

#define SSE_PARSE_MAX_LINE ((size_t)1 << 20)
#define SSE_PARSE_MAX_DATA ((size_t)4 << 20)

struct sse_parse {
    struct str line; /* not yet whole */
    struct str type, data, id;
    bool has_data;
    bool after_cr; /* a LF now belongs to the line that has ended */
    bool begun;    /* a byte-order mark can only stand before */
    /* Called for every event, with what the fields above hold; false stops. */
    bool (*event)(void *ctx, const char *id, const char *type, const char *data);
    void *ctx;
};

void sse_parse_fini(struct sse_parse *p);

/* 0 to go on, 1 when event() said stop, -1 with ERR_LIMIT for what is too long. */
int sse_parse_feed(struct sse_parse *p, const char *bytes, size_t count, struct err *err);

#endif
