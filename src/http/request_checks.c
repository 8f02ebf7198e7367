/* request_checks.c - the checks between a request in conn.c and its handler
 *
 * In this order: is there such a route, who asks, may they, not too often, does the query
 * make sense, is the body of the right kind and size; and when it has come: is it what
 * the route's schema says. */
#include "http/server_private.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/rng.h"
#include "http/schema.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* A wrong token costs as much as that many requests, which slows down guessing. */
#define WRONG_TOKEN_COST 10

static bool find_route(struct request *r)
{
    char allow[80];

    if (!strcmp(r->head.path, "*"))
        return request_refuse(r, 204, NULL, NULL, " ");
    if (!route_find(r->server->config.routes, r->head.method, r->head.path, &r->match))
        return request_refuse(r, 400, "invalid", NULL,
                              "the path is not properly encoded");
    if (!r->match.allow)
        return request_refuse(r, 404, "not_found", NULL, "there is no %.100s", r->path);
    if (r->match.route)
        return true;
    route_allow(r->match.allow, allow, sizeof(allow));
    request_add_header(r, "Allow", allow);
    if (r->head.method == HTTP_OPTIONS)
        return request_refuse(r, 204, NULL, NULL, " ");
    return request_refuse(r, 405, "unsupported", NULL, "%s is not possible here; try %s",
                          http_method_name(r->head.method), allow);
}

static uint64_t rate_key(const struct request *r)
{
    const char *port = strrchr(r->peer, ':');

    if (r->identity.local)
        return rng_mix(1, r->identity.uid);
    if (*r->identity.token)
        return rng_mix(2, hash_text(r->identity.token));
    return rng_mix(
        3, hash_bytes(r->peer, port ? (size_t)(port - r->peer) : strlen(r->peer)));
}

static bool not_too_often(struct request *r, double cost)
{
    double wait_s;
    char seconds[24];

    if (!r->server->rate || r->identity.role == AUTH_OPERATOR ||
        rate_take(r->server->rate, rate_key(r), cost, clock_wall_s(), &wait_s))
        return true;
    r->server->stats.rate_limited++;
    snprintf(seconds, sizeof(seconds), "%.0f", ceil(wait_s));
    request_add_header(r, "Retry-After", seconds);
    return request_refuse(r, 429, "limit", NULL, "too many requests; try again in %s s",
                          seconds);
}

static double since_1970_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static bool identify(struct request *r)
{
    const struct auth_rules *rules = &r->server->config.auth;
    const char *shown = head_field(&r->head, "authorization");

    /* A token counts on the Unix socket too: an operator may act as somebody less. */
    if (r->conn->is_local && !shown) {
        r->identity = r->conn->local;
        return true;
    }
    if (auth_bearer(rules, shown, since_1970_s(), &r->identity))
        return true;
    if (r->match.route->role == AUTH_NOBODY)
        return true;
    if (!not_too_often(r, WRONG_TOKEN_COST))
        return false;
    request_add_header(r, "WWW-Authenticate", "Bearer");
    return request_refuse(r, 401, "unauthorized", NULL,
                          "the token is not valid; ask an operator for one");
}

static bool may(struct request *r)
{
    enum auth_role least = r->match.route->role;

    if (r->identity.role >= least)
        return true;
    if (r->identity.role == AUTH_NOBODY && !r->identity.local) {
        request_add_header(r, "WWW-Authenticate", "Bearer");
        return request_refuse(r, 401, "unauthorized", NULL,
                              "this needs a token; send it as Authorization: Bearer");
    }
    return request_refuse(r, 403, "forbidden", NULL, "%s is %s, and this needs %s",
                          *r->identity.name ? r->identity.name : "the token",
                          auth_role_name(r->identity.role), auth_role_name(least));
}

static bool read_query(struct request *r)
{
    const char *known = r->match.route->query;
    struct err err = {0};

    if (uri_query_parse(&r->query, r->head.query, &err) < 0)
        return request_refuse(r, 400, err_code_name(err.code), NULL, "%s", err.text);
    for (size_t i = 0; i < r->query.count; i++) {
        const char *name = r->query.pairs[i].name;

        if (!known || !str_in_list(known, ' ', name))
            return request_refuse(r, 400, "invalid", name,
                                  "the query has an unknown parameter '%.60s'%s%s", name,
                                  known ? "; known are: " : "", known ? known : "");
    }
    return true;
}

static bool is_json(const char *content_type)
{
    static const char json[] = "application/json";

    if (!content_type)
        return true;
    if (strncasecmp(content_type, json, strlen(json)) != 0)
        return false;
    content_type += strlen(json);
    return !*content_type || *content_type == ';' ||
           isspace((unsigned char)*content_type);
}

static bool body_fits(struct request *r)
{
    const struct route *route = r->match.route;
    size_t most = r->server->config.limits.body_bytes;

    if (r->head.length > most)
        return request_refuse(r, 413, "limit", NULL, "the body is larger than %zu bytes",
                              most);
    if (r->head.length == 0) {
        if (!route->body || route->body_optional)
            return true;
        return request_refuse(r, r->head.has_length ? 400 : 411, "invalid", NULL,
                              "a JSON body is missing");
    }
    if (!route->body)
        return request_refuse(r, 400, "invalid", NULL, "this takes no body");
    if (!is_json(head_field(&r->head, "content-type")))
        return request_refuse(r, 415, "unsupported", NULL,
                              "send JSON with Content-Type: application/json");
    return true;
}

bool request_check_head(struct request *r)
{
    return find_route(r) && identify(r) && not_too_often(r, 1) && may(r) &&
           read_query(r) && body_fits(r);
}

bool request_check_body(struct request *r, const char *bytes, size_t count)
{
    const struct schema *schema = r->match.route->body;
    char field[SCHEMA_PATH_SIZE];
    struct err err = {0};
    int rc;

    if (!schema)
        return true;
    rc = count > 0 ? json_doc_parse(&r->body, bytes, count, "the body", &err)
                   : json_doc_parse(&r->body, "{}", 2, "the body", &err);
    if (rc < 0)
        return request_refuse(r, err.code == ERR_LIMIT ? 413 : 400,
                              err_code_name(err.code), NULL, "%s", err.text);
    if (schema_check(schema, json_doc_root(r->body), field, &err) < 0)
        return request_refuse(r, 400, err_code_name(err.code), *field ? field : NULL,
                              "%s", err.text);
    return true;
}
