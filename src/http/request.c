/* request.c - conn.c makes a request of each head it has read and has it checked here;
 * the route's handler in service/ gets what passes and answers here, and conn.c sends it
 *
 * The checks, in this order: is there such a route, who asks, may they, not too often,
 * does the query make sense, is the body of the right kind and size; and when it has
 * come: is it what the route's schema says. */
#include "http/request.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/json_out.h"
#include "base/json_schema.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/rng.h"
#include "http/server_private.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define JSON_TYPE "application/json"

/* A wrong token costs as much as that many requests, which slows down guessing. */
#define WRONG_TOKEN_COST 10

struct request *request_create(struct conn *c)
{
    struct request *r = mem_new(struct request);
    struct server *s = c->server;

    r->server = s;
    r->conn = c;
    r->began_s = clock_wall_s();
    r->identity = (struct auth_identity){.uid = AUTH_NO_ID, .gid = (gid_t)AUTH_NO_ID};
    str_copy(r->peer, sizeof(r->peer), c->peer);
    LIST_INSERT_HEAD(&s->requests, r, link);
    return r;
}

void request_destroy(struct request *r)
{
    if (r->server)
        LIST_REMOVE(r, link);
    json_doc_destroy(r->document);
    free(r->head_text);
    free(r->path);
    str_fini(&r->refusal);
    str_fini(&r->headers);
    free(r);
}

void request_count(struct request *r, int status)
{
    const struct server_config *config = r->server ? &r->server->config : NULL;
    const struct route *route = r->match.route;

    if (config && config->answered)
        config->answered(config->ctx, r, status);
    if (config && config->audit &&
        ((route && route->audit) || status == 401 || status == 403))
        config->audit(config->ctx, r, status);
}

/* ---- routes ------------------------------------------------------------------------ */

/* A path as its segments, each of them decoded. */
struct segments {
    int count;
    char *text[ROUTE_MAX_SEGMENTS];
};

/* False when it is malformed; a path with more segments than any pattern has one count
 * too many and fits none. */
static bool split(char *path, struct segments *segments)
{
    segments->count = 0;
    if (*path != '/')
        return false;
    while (path) {
        char *text = path + 1;

        path = strchr(text, '/');
        if (path)
            *path = '\0';
        if (!uri_decode(text) || !strcmp(text, ".") || !strcmp(text, ".."))
            return false;
        if (segments->count < ROUTE_MAX_SEGMENTS)
            segments->text[segments->count] = text;
        segments->count++;
    }
    return true;
}

/* Compare with a pattern and note its parameters; words gets a bit for every segment that
 * is a word, the first the highest, so that larger is more to the point. */
static bool fits(const char *pattern, const struct segments *segments,
                 struct route_match *match, unsigned *words)
{
    int i;

    match->param_count = 0;
    *words = 0;
    for (i = 0; *pattern == '/'; i++) {
        const char *word = pattern + 1;
        size_t length = strcspn(word, "/");

        pattern = word + length;
        if (i >= segments->count || i >= ROUTE_MAX_SEGMENTS)
            return false;
        if (*word == '{') {
            if (!*segments->text[i])
                return false;
            assert(match->param_count < ROUTE_MAX_PARAMS);
            match->names[match->param_count] = word + 1;
            match->values[match->param_count++] = segments->text[i];
        } else if (strlen(segments->text[i]) == length &&
                   !memcmp(segments->text[i], word, length)) {
            *words |= 1u << (ROUTE_MAX_SEGMENTS - i);
        } else {
            return false;
        }
    }
    return i == segments->count;
}

bool route_find(const struct route *routes, enum http_method method, char *path,
                struct route_match *match)
{
    enum http_method wanted = method == HTTP_HEAD ? HTTP_GET : method;
    struct segments segments;
    unsigned best = 0;

    *match = (struct route_match){0};
    if (!split(path, &segments))
        return false;
    for (const struct route *route = routes; route->operation; route++) {
        struct route_match found = {0};
        unsigned words;

        if (!fits(route->pattern, &segments, &found, &words))
            continue;
        if (words > best || !match->allow) {
            found.allow = 0;
            *match = found;
            best = words;
        } else if (words < best) {
            continue;
        }
        match->allow |= 1u << route->method;
        if (route->method == wanted) {
            found.allow = match->allow;
            found.route = route;
            *match = found;
        }
    }
    if (match->allow & 1u << HTTP_GET)
        match->allow |= 1u << HTTP_HEAD;
    if (match->allow)
        match->allow |= 1u << HTTP_OPTIONS;
    return true;
}

/* ---- answers ----------------------------------------------------------------------- */

void request_add_header(struct request *r, const char *name, const char *value)
{
    str_addf(&r->headers, "%s: ", name);
    for (const char *c = value; *c; c++)
        str_addf(&r->headers, "%c", (unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c);
    str_add(&r->headers, "\r\n");
}

void request_answer_bytes(struct request *r, int status, const char *content_type,
                          const void *bytes, size_t count)
{
    assert(r->handled);
    request_count(r, status);
    if (r->conn)
        conn_answer(r->conn, status, content_type, &r->headers, bytes, count);
    request_destroy(r);
}

void request_answer(struct request *r, int status, struct str *json)
{
    request_answer_bytes(r, status, JSON_TYPE, str_text(json), json->length);
    str_fini(json);
}

static void error_json(struct str *out, const char *code, const char *field,
                       const char *format, va_list args)
{
    char message[sizeof(((struct err *)NULL)->text)];
    struct json_out json;

    vsnprintf(message, sizeof(message), format, args);
    json_out_init(&json, out, false);
    json_out_begin_object(&json);
    json_out_key(&json, "error");
    json_out_begin_object(&json);
    json_out_key_string(&json, "code", code);
    json_out_key_string(&json, "message", message);
    if (field)
        json_out_key_string(&json, "field", field);
    json_out_end(&json);
    json_out_end(&json);
}

void request_answer_error(struct request *r, int status, const char *code,
                          const char *field, const char *format, ...)
{
    struct str json = {0};
    va_list args;

    va_start(args, format);
    error_json(&json, code, field, format, args);
    va_end(args);
    request_answer(r, status, &json);
}

void request_fail(struct request *r, const char *field, const struct err *err)
{
    static const int statuses[ERR_CODE_COUNT] = {
        [ERR_NONE] = 500,       [ERR_INVALID] = 400,     [ERR_FORMAT] = 400,
        [ERR_NOT_FOUND] = 404,  [ERR_EXISTS] = 409,      [ERR_LIMIT] = 429,
        [ERR_INFEASIBLE] = 422, [ERR_UNSUPPORTED] = 501, [ERR_USAGE] = 400,
        [ERR_SYSTEM] = 503,
    };
    int status = statuses[err->code];

    if (status >= 500)
        log_error("request_failed", LOG_STR("method", http_method_names[r->head.method]),
                  LOG_STR("path", r->path), LOG_ERR(err));
    request_answer_error(r, status, err_code_name(err->code), field, "%s", err->text);
}

bool request_refuse(struct request *r, int status, const char *code, const char *field,
                    const char *format, ...)
{
    va_list args;

    r->refused = status;
    str_clear(&r->refusal);
    va_start(args, format);
    error_json(&r->refusal, code, field, format, args);
    va_end(args);
    return false;
}

/* ---- checks ------------------------------------------------------------------------ */

/* Only OPTIONS gets here: an answer without a body is all there is to say. */
static bool nothing_more(struct request *r)
{
    r->refused = 204;
    return false;
}

static bool wrong_method(struct request *r)
{
    struct str allow = {0};

    for (int m = 0; m < HTTP_METHOD_COUNT; m++)
        if (r->match.allow & 1u << m)
            str_addf(&allow, "%s%s", allow.length ? ", " : "", http_method_names[m]);
    request_add_header(r, "Allow", str_text(&allow));
    if (r->head.method == HTTP_OPTIONS)
        nothing_more(r);
    else
        request_refuse(r, 405, "unsupported", NULL, "%s is not possible here; try %s",
                       http_method_names[r->head.method], str_text(&allow));
    str_fini(&allow);
    return false;
}

static bool find_route(struct request *r)
{
    if (!strcmp(r->head.path, "*"))
        return nothing_more(r);
    if (!route_find(r->server->config.routes, r->head.method, r->head.path, &r->match))
        return request_refuse(r, 400, "invalid", NULL,
                              "the path is not properly encoded");
    if (!r->match.allow)
        return request_refuse(r, 404, "not_found", NULL, "there is no %.100s", r->path);
    return r->match.route || wrong_method(r);
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

static bool within_rate(struct request *r, struct auth_rate *rate, double cost,
                        const char *too_much)
{
    double wait_s;
    char seconds[24];

    if (!rate || r->identity.role == AUTH_OPERATOR ||
        auth_rate_take(rate, rate_key(r), cost, clock_wall_s(), &wait_s))
        return true;
    r->server->stats.rate_limited++;
    snprintf(seconds, sizeof(seconds), "%.0f", ceil(wait_s));
    request_add_header(r, "Retry-After", seconds);
    return request_refuse(r, 429, "limit", NULL, "%s; try again in %s s", too_much,
                          seconds);
}

static bool not_too_often(struct request *r, double cost)
{
    return within_rate(r, r->server->rate, cost, "too many requests");
}

/* One that is too large to be taken counts as the largest that is not. */
static bool not_too_much(struct request *r)
{
    size_t most = r->server->config.limits.body_bytes;

    return within_rate(r, r->server->bytes,
                       (double)(r->head.length < most ? r->head.length : most),
                       "too many bytes in a short time");
}

bool request_spend(struct request *r, double requests)
{
    struct str refusal;

    if (!r->server || not_too_often(r, requests))
        return true;
    refusal = r->refusal;
    r->refusal = (struct str){0};
    request_answer(r, r->refused, &refusal);
    return false;
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
    if (auth_bearer(rules, shown, clock_epoch_s(), &r->identity))
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

    if (auth_role_may(r->identity.role, least))
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
        if (!route->body || route->body->optional)
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
           read_query(r) && not_too_much(r) && body_fits(r);
}

bool request_check_body(struct request *r, const char *bytes, size_t count)
{
    const struct schema *schema = r->match.route->body;
    char field[SCHEMA_PATH_SIZE];
    struct err err = {0};

    if (!schema)
        return true;
    if (json_doc_parse_few(&r->document, count ? bytes : "{}", count ? count : 2,
                           "the body", schema_most_values(schema), &err) < 0)
        return request_refuse(r, err.code == ERR_LIMIT ? 413 : 400,
                              err_code_name(err.code), NULL, "%s", err.text);
    r->body = json_doc_root(r->document);
    if (schema_check(schema, r->body, field, &err) < 0)
        return request_refuse(r, 400, err_code_name(err.code), *field ? field : NULL,
                              "%s", err.text);
    return true;
}

/* ---- what handlers ask for --------------------------------------------------------- */

const char *request_param(const struct request *r, const char *name)
{
    size_t length = strlen(name);

    for (int i = 0; i < r->match.param_count; i++)
        if (!strncmp(r->match.names[i], name, length) && r->match.names[i][length] == '}')
            return r->match.values[i];
    assert(!"the route has no such parameter");
    return "";
}

int request_param_id(struct request *r, const char *name, uint64_t *id)
{
    uint64_t number;

    if (parse_u64(request_param(r, name), &number) && number > 0) {
        *id = number;
        return 0;
    }
    request_answer_error(r, 404, "not_found", name, "'%.60s' is not the number of one",
                         request_param(r, name));
    return -1;
}

bool request_gone(const struct request *r)
{
    return !r->conn || r->conn->ended;
}
