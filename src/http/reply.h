/* reply.h - an answer as a client reads it: head, then a body of known or unknown length
 */
#ifndef CORGI_HTTP_REPLY_H
#define CORGI_HTTP_REPLY_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

#define REPLY_MAX_HEAD 65536

enum reply_framing {
    REPLY_LENGTH,  /* length bytes */
    REPLY_CHUNKED, /* chunks */
    REPLY_CLOSE,   /* all until the end of the connection */
};

struct reply {
    int status;
    char content_type[64];
    enum reply_framing framing;
    size_t length;
    bool keep_alive;
};

/* Read the head in these bytes (without a blank line it is not whole: 0).  Returns its
 * length, or -1 for what is no answer.  `head_only`: of a HEAD request. */
long reply_head(struct reply *reply, const char *bytes, size_t count, bool head_only,
                struct err *err);

/* Takes the chunks apart. */
struct reply_chunks {
    int state;
    size_t left;
    size_t digits;
    bool done;
};

/* Add what is payload to `to`; -1 for what are no chunks. */
int reply_dechunk(struct reply_chunks *chunks, const char *bytes, size_t count,
                  struct str *to, struct err *err);

#endif
