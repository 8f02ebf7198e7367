/* http_things.h - a server of things: routes of every kind, for tests of the server
 *
 * Its handlers count their calls; one answers late, from a thread, and one not before the
 * test says so. */
#pragma once

#include "support/http_case.h"

#include "base/json.h"
#include "base/json_schema.h"

#include <stdatomic.h>
#include <time.h>

#define HOST "Host: x\r\n"

static atomic_int handled;               /* calls of any handler */
static struct reactor *turning;          /* the server's */
static atomic_int late;                  /* requests a thread of handle_slow() has */
static _Atomic(struct request *) parked; /* by handle_park, not yet answered */
static atomic_int parked_gone;

static const struct schema_field thing_fields[] = {
    {.name = "name", .type = SCHEMA_STRING, .required = true, .min = 1, .max = 10},
    {.name = "size", .type = SCHEMA_NUMBER, .min = 0, .max = 5},
    {0},
};
static const struct schema thing = {.name = "Thing", .fields = thing_fields};
static const struct schema things = {
    .name = "Things", .fields = thing_fields, .optional = true};

static inline void handle_show(void *ctx, struct request *r)
{
    const char *verbose = uri_query_get(&r->query, "verbose");
    struct str json = {0};

    (void)ctx;
    handled++;
    str_addf(&json, "{\"id\":\"%s\",\"verbose\":\"%s\",\"role\":\"%s\",\"uid\":%d}",
             request_param(r, "id"), verbose ? verbose : "-",
             auth_role_name(r->identity.role), (int)r->identity.uid);
    request_answer(r, 200, &json);
}

static inline void handle_make(void *ctx, struct request *r)
{
    const char *name = json_value_string(json_value_get(r->body, "name"));
    struct str json = {0};

    (void)ctx;
    handled++;
    str_addf(&json, "{\"made\":\"%s\"}", name);
    request_answer(r, 201, &json);
}

static inline void handle_touch(void *ctx, struct request *r)
{
    (void)ctx;
    handled++;
    request_add_header(r, "X-Note", "a\r\nX-Evil: 1");
    request_answer_bytes(r, 204, NULL, "", 0);
}

static inline void answer_late(void *ctx)
{
    struct request *r = ctx;
    struct str json = {0};

    str_addf(&json, "{\"gone\":%s}", request_gone(r) ? "true" : "false");
    parked_gone += request_gone(r);
    request_answer(r, 200, &json);
}

static inline void answer_slow(void *ctx)
{
    answer_late(ctx);
    late--;
}

static inline void *sleep_a_little(void *ctx)
{
    const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};

    nanosleep(&pause, NULL);
    reactor_post(turning, answer_slow, ctx);
    return NULL;
}

static inline void handle_slow(void *ctx, struct request *r)
{
    pthread_t thread;

    (void)ctx;
    handled++;
    late++;
    assert_int_equal(pthread_create(&thread, NULL, sleep_a_little, r), 0);
    pthread_detach(thread);
}

static inline void handle_park(void *ctx, struct request *r)
{
    (void)ctx;
    handled++;
    parked = r;
}

static const struct route routes[] = {
    {.operation = "show",
     .method = HTTP_GET,
     .pattern = "/things/{id}",
     .role = AUTH_VIEWER,
     .query = "verbose page",
     .handle = handle_show},
    {.operation = "make",
     .method = HTTP_POST,
     .pattern = "/things",
     .role = AUTH_USER,
     .body = &thing,
     .audit = true,
     .handle = handle_make},
    {.operation = "touch",
     .method = HTTP_POST,
     .pattern = "/things/{id}/touch",
     .role = AUTH_USER,
     .body = &things,
     .handle = handle_touch},
    {.operation = "slow",
     .method = HTTP_GET,
     .pattern = "/slow",
     .role = AUTH_NOBODY,
     .handle = handle_slow},
    {.operation = "park",
     .method = HTTP_GET,
     .pattern = "/park",
     .role = AUTH_NOBODY,
     .handle = handle_park},
    {.operation = "erase",
     .method = HTTP_DELETE,
     .pattern = "/things/{id}",
     .role = AUTH_OPERATOR,
     .handle = handle_touch},
    {0},
};

static const struct server_config plain = {.routes = routes,
                                           .auth = {.local_role = AUTH_USER}};

static inline void start(struct http_case *c, const struct server_config *config)
{
    http_case_make(c, config);
    turning = c->reactor;
    handled = 0;
    http_case_start(c);
}

static inline void finish(struct http_case *c)
{
    http_case_stop(c);
    while (late > 0)
        reactor_step(c->reactor, 0.01);
    http_case_end(c);
}

/* One request, and what must come of it. */
static inline void expect(const struct http_case *c, const char *request, int status,
                          const char *part)
{
    char *answer = http_case_ask(c, request);

    if (http_case_status(answer) != status || (part && !strstr(answer, part)))
        fail_msg("want %d with %s\nfor %s\ngot %s", status, part ? part : "", request,
                 answer);
    free(answer);
}
