/* request.c - a request from conn.c to its handler in service/, and the answer back */
#include "http/request.h"

#include "base/clock.h"
#include "base/json_out.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/parse.h"
#include "http/server_private.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JSON_TYPE "application/json"

struct request *request_create(struct conn *c, const char *head, size_t count)
{
    struct request *r = mem_new(struct request);
    struct server *s = c->server;

    r->server = s;
    r->conn = c;
    r->ctx = s->config.ctx;
    r->began_s = clock_wall_s();
    r->identity = (struct auth_identity){.uid = AUTH_NO_ID, .gid = (gid_t)AUTH_NO_ID};
    str_copy(r->peer, sizeof(r->peer), c->peer);
    r->head_text = mem_array(char, count + 1);
    memcpy(r->head_text, head, count);
    r->next = s->requests;
    r->link = &s->requests;
    if (r->next)
        r->next->link = &r->next;
    s->requests = r;
    s->stats.in_flight++;
    return r;
}

void request_destroy(struct request *r)
{
    if (r->server) {
        *r->link = r->next;
        if (r->next)
            r->next->link = r->link;
        r->server->stats.in_flight--;
    }
    json_doc_destroy(r->body);
    free(r->head_text);
    free(r->path);
    free(r->refusal);
    str_fini(&r->headers);
    free(r);
}

void request_count(struct request *r, int status)
{
    const struct route *route = r->match.route;
    const struct server_audit entry = {
        .identity = &r->identity,
        .peer = r->peer,
        .method = http_method_name(r->head.method),
        .path = r->path ? r->path : "",
        .operation = route ? route->operation : NULL,
        .status = status,
        .seconds = clock_wall_s() - r->began_s,
    };

    if (!r->server)
        return;
    if (r->server->config.answered)
        r->server->config.answered(r->ctx, &entry);
    if (r->server->config.audit &&
        ((route && route->audit) || status == 401 || status == 403))
        r->server->config.audit(r->ctx, &entry);
}

/* ---- what was asked ---------------------------------------------------------------- */

const struct route *request_route(const struct request *r)
{
    return r->match.route;
}

enum http_method request_method(const struct request *r)
{
    return r->head.method;
}

const char *request_path(const struct request *r)
{
    return r->path;
}

const struct auth_identity *request_identity(const struct request *r)
{
    return &r->identity;
}

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

const char *request_query(const struct request *r, const char *name)
{
    return uri_query_get(&r->query, name);
}

const char *request_header(const struct request *r, const char *name)
{
    return head_field(&r->head, name);
}

const struct json_value *request_body(const struct request *r)
{
    return r->body ? json_doc_root(r->body) : NULL;
}

bool request_gone(const struct request *r)
{
    return !r->conn || r->conn->ended;
}

double request_age_s(const struct request *r)
{
    return clock_wall_s() - r->began_s;
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

void request_answer_empty(struct request *r, int status)
{
    request_answer_bytes(r, status, NULL, "", 0);
}

static void error_json(struct str *out, const char *code, const char *field,
                       const char *message)
{
    struct json_out json;

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
    char message[sizeof(((struct err *)NULL)->text)];
    struct str json = {0};
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    error_json(&json, code, field, message);
    request_answer(r, status, &json);
}

static int status_of(enum err_code code)
{
    static const int statuses[ERR_CODE_COUNT] = {
        [ERR_NONE] = 500,       [ERR_INVALID] = 400,     [ERR_FORMAT] = 400,
        [ERR_NOT_FOUND] = 404,  [ERR_EXISTS] = 409,      [ERR_LIMIT] = 429,
        [ERR_INFEASIBLE] = 422, [ERR_UNSUPPORTED] = 501, [ERR_USAGE] = 400,
        [ERR_SYSTEM] = 503,
    };

    return statuses[code];
}

void request_fail(struct request *r, const char *field, const struct err *err)
{
    int status = status_of(err->code);

    if (status >= 500)
        log_error("request_failed", LOG_STR("method", http_method_name(r->head.method)),
                  LOG_STR("path", r->path), LOG_ERR(err));
    request_answer_error(r, status, err_code_name(err->code), field, "%s", err->text);
}

bool request_refuse(struct request *r, int status, const char *code, const char *field,
                    const char *format, ...)
{
    char message[sizeof(((struct err *)NULL)->text)];
    struct str json = {0};
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    r->refused = status;
    free(r->refusal);
    r->refusal = NULL;
    if (code) {
        error_json(&json, code, field, message);
        r->refusal = str_take(&json);
    }
    return false;
}
