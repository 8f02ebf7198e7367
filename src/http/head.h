/* head.h - the request line and the headers, read strictly
 *
 * What proxies and servers have been known to understand differently is refused: lengths
 * given twice, a length beside Transfer-Encoding, lines that end in a bare LF, folded
 * headers, blanks before a colon, control characters. */
#ifndef CORGI_HTTP_HEAD_H
#define CORGI_HTTP_HEAD_H

#include "base/err.h"
#include "http/method.h"

#include <stdbool.h>
#include <stddef.h>

#define HEAD_MAX_FIELDS 64

struct head {
    enum http_method method;
    char *path;  /* "/v1/jobs", still encoded; "*" for OPTIONS */
    char *query; /* behind the '?', still encoded; NULL: none */
    bool keep_alive;
    bool http_1_0;
    bool expects_continue;
    bool has_length;
    size_t length; /* of the body */
    size_t field_count;
    struct head_field {
        const char *name, *value;
    } fields[HEAD_MAX_FIELDS];
};

/* Where the head ends in these bytes: the count of bytes with the blank line, or 0 when
 * it has not come yet.  *seen is what was looked at before, 0 at first. */
size_t head_end(const char *bytes, size_t count, size_t *seen);

/* Read the head in text, which has a NUL behind its length and is cut up in place; the
 * result points into it.  On failure err has the reason and *status the answer's. */
int head_parse(struct head *head, char *text, size_t length, int *status,
               struct err *err);

const char *head_field(const struct head *head, const char *name); /* NULL: none */

#endif
