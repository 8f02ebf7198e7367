/* route.h - the table that says which request goes where
 *
 * A route is data: method, path pattern, least role, names of its query parameters, the
 * schema of its body, and the function to call.  `/v1/jobs/{id}/cancel` binds id to any
 * one non-empty segment.  A word beats a parameter where both fit. */
#ifndef CORGI_HTTP_ROUTE_H
#define CORGI_HTTP_ROUTE_H

#include "base/err.h"
#include "http/auth.h"
#include "http/head.h"

#include <stdbool.h>
#include <stddef.h>

struct request;
struct schema;

#define ROUTE_MAX_PARAMS   4
#define ROUTE_MAX_SEGMENTS 12

struct route {
    const char *operation;   /* as operationId in the OpenAPI file; NULL ends the table */
    enum http_method method; /* HEAD comes with GET, OPTIONS with everything */
    const char *pattern;
    enum auth_role role;       /* least */
    const char *query;         /* names allowed, blanks between: "state user"; or NULL */
    const struct schema *body; /* NULL: takes none */
    bool body_optional;        /* none at all counts as {} */
    bool audit;                /* changes something: tell the audit hook */
    /* Must answer the request, now or later; see request.h. */
    void (*handle)(void *ctx, struct request *request);
};

struct route_match {
    const struct route *route; /* NULL: see allow */
    unsigned allow;            /* bit m: method m exists on this path; 0: no such path */
    int param_count;
    const char *names[ROUTE_MAX_PARAMS]; /* into the pattern, ends at '}' */
    char *values[ROUTE_MAX_PARAMS];      /* decoded, into the path given */
};

/* Find the route of a path, which is split and percent-decoded in place.  False: the path
 * is malformed.  A method HEAD finds the route of GET. */
bool route_find(const struct route *routes, enum http_method method, char *path,
                struct route_match *match);

/* Our own mistakes in a table: a pattern twice, no handler, a body without a method that
 * has one. */
int route_check(const struct route *routes, struct err *err);

/* "GET, HEAD, OPTIONS" for the header Allow; at least 64 bytes. */
void route_allow(unsigned allow, char *out, size_t size);

#endif
