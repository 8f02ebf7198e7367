/* request.h - one request as its handler sees it, and the ways to answer it
 *
 * A request is answered exactly once, now or later, on the reactor's thread; answering
 * ends it, also when the client has gone meanwhile, and nothing of it may be touched
 * afterwards.  Until then everything borrowed from it stays.  A handler that waits for
 * the store keeps the pointer and answers from the callback:
 *
 *     static void committed(void *ctx)
 *     {
 *         struct submission *s = ctx;
 *         request_answer(s->request, 201, &s->json);
 *     }
 *
 * If that takes longer than the server's answer limit the client hears 503 and the
 * handler's own answer later is dropped; the request still has to be answered then. */
#ifndef CORGI_HTTP_REQUEST_H
#define CORGI_HTTP_REQUEST_H

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "http/auth.h"
#include "http/head.h"
#include "http/route.h"

#include <stdint.h>

struct request;

/* ---- what was asked ---------------------------------------------------------------- */

const struct route *request_route(const struct request *r);
enum http_method request_method(const struct request *r);
const char *request_path(const struct request *r); /* as sent, without the query */
const struct auth_identity *request_identity(const struct request *r);

/* A parameter of the route's pattern, decoded; asking for one it lacks is asserted. */
const char *request_param(const struct request *r, const char *name);

/* The parameter as a positive whole number.  Otherwise the request is answered with 404,
 * is gone, and -1 is returned. */
int request_param_id(struct request *r, const char *name, uint64_t *id);

/* A query parameter, decoded; NULL: not given.  Only names in the route's table come
 * this far, each at most once. */
const char *request_query(const struct request *r, const char *name);

const char *request_header(const struct request *r, const char *name); /* NULL: none */

/* The JSON body, which has passed the route's schema; NULL when the route has none. */
const struct json_value *request_body(const struct request *r);

/* True once the client has hung up: the answer will not be read. */
bool request_gone(const struct request *r);

/* Seconds since the request was read. */
double request_age_s(const struct request *r);

/* ---- answers ----------------------------------------------------------------------- */

/* A header of the answer, before it is given.  Bytes that cannot stand in a header are
 * replaced. */
void request_add_header(struct request *r, const char *name, const char *value);

/* JSON; the text is taken and left empty. */
void request_answer(struct request *r, int status, struct str *json);

/* Anything else; copied. */
void request_answer_bytes(struct request *r, int status, const char *content_type,
                          const void *bytes, size_t count);
void request_answer_empty(struct request *r, int status); /* 204 and the like */

/* {"error":{"code":..,"message":..,"field":..}}; field NULL: none. */
void request_answer_error(struct request *r, int status, const char *code,
                          const char *field, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* The same from an err, with the status its code has:
 *   invalid, format, usage 400; not_found 404; exists 409; infeasible 422; limit 429;
 *   unsupported 501; system 503 (logged; the sentence is shown). */
void request_fail(struct request *r, const char *field, const struct err *err);

#endif
