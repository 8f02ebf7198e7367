/* uri.h - paths and query strings, decoded */
#ifndef CORGI_HTTP_URI_H
#define CORGI_HTTP_URI_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

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

#endif
