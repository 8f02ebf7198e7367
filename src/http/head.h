/* head.h - what a request says before its body, read strictly: the request line with its
 * path and query, and the headers
 *
 * What proxies and servers have been known to understand differently is refused: lengths
 * given twice, a length beside Transfer-Encoding, lines that end in a bare LF, folded
 * headers, blanks before a colon, control characters. */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- methods and statuses ---------------------------------------------------------- */

enum http_method {
    HTTP_GET,
    HTTP_HEAD,
    HTTP_POST,
    HTTP_PUT,
    HTTP_PATCH,
    HTTP_DELETE,
    HTTP_OPTIONS,
    HTTP_METHOD_COUNT
};

extern const char *const http_method_names[HTTP_METHOD_COUNT];

const char *http_status_name(int status); /* "Not Found"; "Status" when unknown */

/* ---- the request line and the headers ---------------------------------------------- */

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

/* Read the head in text, which has a NUL behind its length and is cut up in place; the
 * result points into it.  On failure err has the reason and *status the answer's. */
int head_parse(struct head *head, char *text, size_t length, int *status,
               struct err *err);

const char *head_field(const struct head *head, const char *name); /* NULL: none */

/* ---- paths and queries ------------------------------------------------------------- */

#define URI_MAX_PAIRS 32

/* Decode %XX in place.  False for a broken escape, for what decodes to a control
 * character, and for what is not UTF-8 then. */
bool uri_decode(char *text);

struct uri_query {
    size_t count;
    struct uri_pair {
        const char *name, *value; /* decoded, into the text given */
    } pairs[URI_MAX_PAIRS];
};

/* Split "a=1&b=x%20y" in place; '+' stands for a blank.  ERR_INVALID for what is
 * malformed or given twice, ERR_LIMIT for too many; err names it. */
int uri_query_parse(struct uri_query *query, char *text, struct err *err);

const char *uri_query_get(const struct uri_query *query, const char *name);
