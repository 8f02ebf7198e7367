/* test_http_server.c - a real server over real sockets: what it hands on, what it refuses
 */
#include "support/http_case.h"

#include "base/json.h"
#include "http/api.h"
#include "http/schema.h"
#include "http/workers.h"

#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>

#define HOST "Host: x\r\n"

static atomic_int handled; /* calls of any handler */
static struct workers *workers;
static _Atomic(struct request *) parked; /* by handle_park, not yet answered */
static atomic_int parked_gone;

static const struct schema_field thing_fields[] = {
    {.name = "name", .type = SCHEMA_STRING, .required = true, .min = 1, .max = 10},
    {.name = "size", .type = SCHEMA_NUMBER, .min = 0, .max = 5},
    {0},
};
static const struct schema thing = {.name = "Thing", .fields = thing_fields};

static void handle_show(void *ctx, struct request *r)
{
    const char *verbose = request_query(r, "verbose");
    struct str json = {0};

    (void)ctx;
    handled++;
    str_addf(&json, "{\"id\":\"%s\",\"verbose\":\"%s\",\"role\":\"%s\",\"uid\":%d}",
             request_param(r, "id"), verbose ? verbose : "-",
             auth_role_name(request_identity(r)->role), (int)request_identity(r)->uid);
    request_answer(r, 200, &json);
}

static void handle_make(void *ctx, struct request *r)
{
    const char *name = json_value_string(json_value_get(request_body(r), "name"));
    struct str json = {0};

    (void)ctx;
    handled++;
    str_addf(&json, "{\"made\":\"%s\"}", name);
    request_answer(r, 201, &json);
}

static void handle_touch(void *ctx, struct request *r)
{
    (void)ctx;
    handled++;
    request_add_header(r, "X-Note", "a\r\nX-Evil: 1");
    request_answer_empty(r, 204);
}

static void sleep_a_little(void *ctx)
{
    const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};

    (void)ctx;
    nanosleep(&pause, NULL);
}

static void answer_late(void *ctx)
{
    struct request *r = ctx;
    struct str json = {0};

    str_addf(&json, "{\"gone\":%s}", request_gone(r) ? "true" : "false");
    parked_gone += request_gone(r);
    request_answer(r, 200, &json);
}

static void handle_slow(void *ctx, struct request *r)
{
    struct err err = {0};

    (void)ctx;
    handled++;
    if (workers_run(workers, sleep_a_little, answer_late, r, &err) < 0)
        request_fail(r, NULL, &err);
}

static void handle_park(void *ctx, struct request *r)
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
     .body = &thing,
     .body_optional = true,
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

static void start(struct http_case *c, const struct server_config *config)
{
    struct err err = {0};

    http_case_make(c, config);
    workers = workers_create(c->reactor, "test", 2, 100, &err);
    assert_non_null(workers);
    handled = 0;
    http_case_start(c);
}

static void finish(struct http_case *c)
{
    http_case_stop(c);
    workers_destroy(workers);
    workers = NULL;
    http_case_end(c);
}

/* One request, and what must come of it. */
static void expect(const struct http_case *c, const char *request, int status,
                   const char *part)
{
    char *answer = http_case_ask(c, request);

    if (http_case_status(answer) != status || (part && !strstr(answer, part)))
        fail_msg("want %d with %s\nfor %s\ngot %s", status, part ? part : "", request,
                 answer);
    free(answer);
}

static void handlers_get_parameters_query_and_identity(void **state)
{
    struct http_case c;
    char uid[32];

    (void)state;
    snprintf(uid, sizeof(uid), "\"uid\":%d", (int)getuid());
    start(&c, &plain);
    expect(&c, "GET /things/a%20b?verbose=x%2By+z HTTP/1.1\r\n" HOST "\r\n", 200,
           "{\"id\":\"a b\",\"verbose\":\"x+y z\",\"role\":\"operator\"");
    expect(&c, "GET /things/7 HTTP/1.1\r\n" HOST "\r\n", 200, uid);
    expect(&c, "GET http://x/things/7 HTTP/1.1\r\n" HOST "\r\n", 200, "\"id\":\"7\"");
    finish(&c);
}

static void bodies_are_checked_before_the_handler(void **state)
{
    static const struct {
        const char *body;
        int status;
        const char *part;
    } cases[] = {
        {"{\"name\":\"ada\"}", 201, "{\"made\":\"ada\"}"},
        {"{\"name\":\"ada\",\"size\":9}", 400, "\"field\":\"size\""},
        {"{\"name\":7}", 400, "\"field\":\"name\""},
        {"{}", 400, "\"field\":\"name\""},
        {"{\"name\":\"a\",\"name\":\"b\"}", 400, "\"code\":\"format\""},
        {"{\"name\":\"a\",\"nmae\":1}", 400, "did you mean 'name'"},
        {"[1,2]", 400, "want an object"},
        {"{\"name\":", 400, "is not JSON"},
        {"\xff\xfe", 400, "is not JSON"},
        {"{\"name\":\"a\\u0000b\"}", 400, "error"},
    };
    struct http_case c;
    char text[400];

    (void)state;
    start(&c, &plain);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(text, sizeof(text),
                 "POST /things HTTP/1.1\r\n" HOST
                 "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                 strlen(cases[i].body), cases[i].body);
        expect(&c, text, cases[i].status, cases[i].part);
    }
    assert_int_equal(handled, 1);
    finish(&c);
}

/* The corpus of what must not get through; every refusal is JSON. */
static void malformed_requests_are_refused_in_json(void **state)
{
    static const struct {
        const char *text;
        int status;
    } cases[] = {
        {"GET /things/7 HTTP/1.1\r\n\r\n", 400},              /* no Host */
        {"GET /things/7 HTTP/1.1\r\n" HOST HOST "\r\n", 400}, /* two */
        {"GET /things/7 HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
        {"GET /things/7 HTTP/1.1\r\nHost: x\n\r\n\r\n", 400},          /* bare LF */
        {"GET /things/7 HTTP/1.1\r\nHost : x\r\n\r\n", 400},           /* blank, colon */
        {"GET /things/7 HTTP/1.1\r\n" HOST "A: b\r\n c\r\n\r\n", 400}, /* folded */
        {"GET /things/7 HTTP/1.1\r\n" HOST "A: b\001c\r\n\r\n", 400},
        {"GET /things/7 HTTP/1.1\r\n" HOST ": b\r\n\r\n", 400},
        {"GET /things/7 HTTP/1.1\r\n" HOST "nonsense\r\n\r\n", 400},
        {"GET  /things/7 HTTP/1.1\r\n" HOST "\r\n", 400},
        {"GET things/7 HTTP/1.1\r\n" HOST "\r\n", 400},
        {"GET /things/\x80 HTTP/1.1\r\n" HOST "\r\n", 400},
        {"GET /things/%zz HTTP/1.1\r\n" HOST "\r\n", 400},
        {"GET /things/%00 HTTP/1.1\r\n" HOST "\r\n", 400},
        {"GET /things/%ff HTTP/1.1\r\n" HOST "\r\n", 400}, /* not UTF-8 */
        {"GET /things/../etc HTTP/1.1\r\n" HOST "\r\n", 400},
        {"GET /things/%2e%2e HTTP/1.1\r\n" HOST "\r\n", 400},
        {"GET /things/7#x HTTP/1.1\r\n" HOST "\r\n", 400},
        {"GET /things/7\r\n" HOST "\r\n", 400}, /* HTTP/0.9 */
        {"GET /things/7 HTTP/2.0\r\n" HOST "\r\n", 505},
        {"GET /things/7 HTTPS/1.1\r\n" HOST "\r\n", 400},
        {"BREW /things/7 HTTP/1.1\r\n" HOST "\r\n", 501},
        {"G(T /things/7 HTTP/1.1\r\n" HOST "\r\n", 400},
        {"\x16\x03\x01\x02\r\n\r\n", 400}, /* TLS on plain */
        {"POST /things HTTP/1.1\r\n" HOST
         "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
         400},
        {"POST /things HTTP/1.1\r\n" HOST "Content-Length: 2, 2\r\n\r\n{}", 400},
        {"POST /things HTTP/1.1\r\n" HOST "Content-Length: +2\r\n\r\n{}", 400},
        {"POST /things HTTP/1.1\r\n" HOST "Content-Length: -1\r\n\r\n{}", 400},
        {"POST /things HTTP/1.1\r\n" HOST "Content-Length: 0x2\r\n\r\n{}", 400},
        {"POST /things HTTP/1.1\r\n" HOST "Content-Length:\r\n\r\n{}", 400},
        {"POST /things HTTP/1.1\r\n" HOST
         "Content-Length: 99999999999999999999\r\n\r\n{}",
         413},
        {"POST /things HTTP/1.1\r\n" HOST "Content-Length: 2000000\r\n\r\n{}", 413},
        {"POST /things HTTP/1.1\r\n" HOST
         "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
         400},
        {"POST /things HTTP/1.1\r\n" HOST
         "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
         411},
        {"POST /things HTTP/1.1\r\n" HOST
         "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n",
         400},
        {"POST /things HTTP/1.1\r\n" HOST "\r\n", 411},
        {"POST /things HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", 400},
        {"POST /things HTTP/1.1\r\n" HOST "Content-Type: text/plain\r\n"
         "Content-Length: 2\r\n\r\n{}",
         415},
        {"POST /things HTTP/1.1\r\n" HOST
         "Expect: miracles\r\nContent-Length: 2\r\n\r\n{}",
         417},
        {"GET /things/7 HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n{}", 400},
        {"GET /things/7?nope=1 HTTP/1.1\r\n" HOST "\r\n", 400},
        {"GET /things/7?page=1&page=2 HTTP/1.1\r\n" HOST "\r\n", 400},
        {"GET /things/7?page=%g HTTP/1.1\r\n" HOST "\r\n", 400},
        {"GET /nothing HTTP/1.1\r\n" HOST "\r\n", 404},
        {"GET /things/7/8/9/10/11/12/13/14/15/16/17/18/19 HTTP/1.1\r\n" HOST "\r\n", 404},
        {"GET /things/ HTTP/1.1\r\n" HOST "\r\n", 404},
        {"PUT /things HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n{}", 405},
    };
    struct http_case c;

    (void)state;
    start(&c, &plain);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        expect(&c, cases[i].text, cases[i].status, "{\"error\":{\"code\":\"");
        expect(&c, cases[i].text, cases[i].status, "Content-Type: application/json");
    }
    assert_int_equal(handled, 0);
    expect(&c, "GET /things/7 HTTP/1.1\r\n" HOST "\r\n", 200, "\"id\":\"7\"");
    finish(&c);
}

static void a_nul_in_the_head_is_refused(void **state)
{
    static const char text[] = "GET /things/7 HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n";
    struct http_case c;
    char *answer;

    (void)state;
    start(&c, &plain);
    answer = http_case_ask_bytes(&c, text, sizeof(text) - 1);
    assert_int_equal(http_case_status(answer), 400);
    free(answer);
    finish(&c);
}

static void methods_answer_as_http_wants(void **state)
{
    struct http_case c;
    char *answer;

    (void)state;
    start(&c, &plain);
    expect(&c, "OPTIONS /things/7 HTTP/1.1\r\n" HOST "\r\n", 204,
           "Allow: GET, HEAD, DELETE, OPTIONS\r\n");
    expect(&c, "OPTIONS * HTTP/1.1\r\n" HOST "\r\n", 204, NULL);
    expect(&c, "PATCH /things/7 HTTP/1.1\r\n" HOST "\r\n", 405,
           "Allow: GET, HEAD, DELETE, OPTIONS\r\n");
    answer = http_case_ask(&c, "HEAD /things/7 HTTP/1.1\r\n" HOST "\r\n");
    assert_int_equal(http_case_status(answer), 200);
    assert_non_null(strstr(answer, "Content-Length: "));
    assert_null(strstr(answer, "Content-Length: 0\r\n"));
    assert_string_equal(http_case_body(answer), "");
    free(answer);
    answer = http_case_ask(&c, "POST /things/7/touch HTTP/1.1\r\n" HOST "\r\n");
    assert_int_equal(http_case_status(answer), 400); /* {} lacks the name */
    free(answer);
    answer = http_case_ask(&c, "DELETE /things/7 HTTP/1.1\r\n" HOST "\r\n");
    assert_int_equal(http_case_status(answer), 204);
    assert_null(strstr(answer, "\nX-Evil"));
    assert_null(strstr(answer, "Content-Length"));
    free(answer);
    finish(&c);
}

static void connections_go_on_and_requests_may_come_at_once(void **state)
{
    struct str heard = {0};
    struct http_case c;
    const char *at;
    int fd;

    (void)state;
    start(&c, &plain);
    fd = http_case_connect(&c);
    http_case_say(fd, "GET /things/1 HTTP/1.1\r\n" HOST "\r\n");
    http_case_hear_text(fd, &heard, "\"id\":\"1\"");
    assert_non_null(strstr(str_text(&heard), "Connection: keep-alive\r\n"));
    str_clear(&heard);
    /* Refused ones do not end it, and answers keep the order also when one is late. */
    http_case_say(fd, "GET /slow HTTP/1.1\r\n" HOST "\r\n"
                      "POST /things HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n{}"
                      "POST /nope HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nxxxxx"
                      "\r\nGET /things/2 HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n");
    http_case_hear_all(fd, &heard);
    at = strstr(str_text(&heard), "{\"gone\":false}");
    assert_non_null(at);
    at = strstr(at, "HTTP/1.1 400 ");
    assert_non_null(at);
    at = strstr(at, "HTTP/1.1 404 ");
    assert_non_null(at);
    at = strstr(at, "\"id\":\"2\"");
    assert_non_null(at);
    assert_non_null(strstr(str_text(&heard), "Connection: close\r\n"));
    close(fd);
    str_fini(&heard);
    expect(&c, "GET /things/3 HTTP/1.0\r\n\r\n", 200, "Connection: close\r\n");
    finish(&c);
}

static void large_requests_come_in_pieces(void **state)
{
    struct str heard = {0};
    struct http_case c;
    const char *text = "POST /things HTTP/1.1\r\n" HOST "Expect: 100-continue\r\n"
                       "Content-Length: 14\r\n\r\n";
    int fd;

    (void)state;
    start(&c, &plain);
    fd = http_case_connect(&c);
    for (const char *byte = text; *byte; byte++)
        http_case_send(fd, byte, 1);
    http_case_hear_text(fd, &heard, "HTTP/1.1 100 Continue\r\n\r\n");
    http_case_say(fd, "{\"name\":");
    http_case_say(fd, "\"bob\"}");
    http_case_hear_text(fd, &heard, "{\"made\":\"bob\"}");
    close(fd);
    str_fini(&heard);
    finish(&c);
}

static void limits_hold(void **state)
{
    struct server_config config = plain;
    struct str text = {0}, heard = {0};
    struct http_case c;
    int first, second, third;

    (void)state;
    config.limits =
        (struct server_limits){.head_bytes = 1000, .body_bytes = 500, .connections = 2};
    start(&c, &config);
    str_add(&text, "GET /things/7 HTTP/1.1\r\n" HOST "A: ");
    while (text.length < 3000)
        str_add(&text, "xxxxxxxxxx");
    expect(&c, str_text(&text), 431, "{\"error\":{\"code\":\"limit\"");
    str_clear(&text);
    str_add(&text, "POST /things HTTP/1.1\r\n" HOST "Content-Length: 200000\r\n\r\n");
    while (text.length < 200000)
        str_add(&text, "xxxxxxxxxx");
    expect(&c, str_text(&text), 413, "{\"error\":{\"code\":\"limit\"");
    first = http_case_connect(&c);
    http_case_say(first, "GET /things/1 HTTP/1.1\r\n" HOST "\r\n");
    http_case_hear_text(first, &heard, "\"id\":\"1\"");
    second = http_case_connect(&c);
    http_case_say(second, "GET /things/2 HTTP/1.1\r\n" HOST "\r\n");
    http_case_hear_text(second, &heard, "\"id\":\"2\"");
    third = http_case_connect(&c);
    str_clear(&heard);
    http_case_hear_all(third, &heard);
    assert_int_equal(http_case_status(str_text(&heard)), 503);
    assert_int_equal(strlen(http_case_body(str_text(&heard))), 70);
    close(third);
    close(second);
    close(first);
    str_fini(&heard);
    str_fini(&text);
    finish(&c);
}

static void slow_clients_are_told_and_closed(void **state)
{
    struct server_config config = plain;
    struct str heard = {0};
    struct http_case c;
    int fd;

    (void)state;
    config.limits = (struct server_limits){
        .head_s = 0.05, .body_s = 0.05, .answer_s = 0.05, .idle_s = 0.2};
    start(&c, &config);
    fd = http_case_connect(&c);
    http_case_say(fd, "GET /things/1 HTT");
    http_case_hear_all(fd, &heard);
    assert_int_equal(http_case_status(str_text(&heard)), 408);
    close(fd);
    str_clear(&heard);
    fd = http_case_connect(&c);
    http_case_say(fd, "POST /things HTTP/1.1\r\n" HOST "Content-Length: 9\r\n\r\n{");
    http_case_hear_all(fd, &heard);
    assert_int_equal(http_case_status(str_text(&heard)), 408);
    close(fd);
    str_clear(&heard);
    fd = http_case_connect(&c);
    http_case_say(fd, "GET /park HTTP/1.1\r\n" HOST "\r\n");
    http_case_hear_all(fd, &heard);
    assert_int_equal(http_case_status(str_text(&heard)), 503);
    assert_non_null(strstr(str_text(&heard), "\"timeout\""));
    close(fd);
    str_clear(&heard);
    fd = http_case_connect(&c);
    http_case_hear_all(fd, &heard); /* says nothing, is closed without a word */
    assert_int_equal(heard.length, 0);
    close(fd);
    http_case_stop(&c);
    answer_late(parked); /* the handler's answer comes after all, into the void */
    str_fini(&heard);
    finish(&c);
}

static void a_client_that_left_does_no_harm(void **state)
{
    struct http_case c;
    int fd;

    (void)state;
    start(&c, &plain);
    parked_gone = 0;
    fd = http_case_connect(&c);
    http_case_say(fd, "GET /slow HTTP/1.1\r\n" HOST "\r\n");
    while (handled < 1)
        usleep(1000);
    close(fd);
    while (parked_gone < 1)
        usleep(1000);
    expect(&c, "GET /things/3 HTTP/1.1\r\n" HOST "\r\n", 200, "\"id\":\"3\"");
    /* And the other way round: the server goes, the handler answers later. */
    fd = http_case_connect(&c);
    http_case_say(fd, "GET /park HTTP/1.1\r\n" HOST "\r\n");
    while (handled < 3)
        usleep(1000);
    http_case_stop(&c);
    server_destroy(c.server);
    c.server = NULL;
    answer_late(parked);
    close(fd);
    finish(&c);
}

static void stop_drain(void *ctx)
{
    reactor_stop(ctx);
}

static void begin_drain(void *ctx)
{
    struct http_case *c = ctx;

    server_drain(c->server, 10, stop_drain, c->reactor);
}

static void draining_finishes_what_was_begun(void **state)
{
    struct str heard = {0};
    struct http_case c;
    struct server_stats stats;
    int busy, idle;

    (void)state;
    start(&c, &plain);
    idle = http_case_connect(&c);
    busy = http_case_connect(&c);
    http_case_say(busy, "GET /slow HTTP/1.1\r\n" HOST "\r\n");
    while (handled < 1)
        usleep(1000);
    reactor_post(c.reactor, begin_drain, &c);
    http_case_hear_all(busy, &heard);
    assert_non_null(strstr(str_text(&heard), "{\"gone\":false}"));
    assert_non_null(strstr(str_text(&heard), "Connection: close\r\n"));
    assert_false(http_case_hear(idle, &heard));
    close(busy);
    close(idle);
    pthread_join(c.thread, NULL);
    c.running = false;
    server_stats(c.server, &stats);
    assert_int_equal(stats.connections, 0);
    assert_int_equal(access(c.socket, F_OK), -1);
    str_fini(&heard);
    finish(&c);
}

static void too_many_requests_have_to_wait(void **state)
{
    struct server_config config = plain;
    struct str text = {0};
    struct http_case c;
    char *answer;

    (void)state;
    config.auth.anonymous_role = AUTH_VIEWER;
    config.limits.requests_per_s = 0.001;
    config.limits.burst = 3;
    http_case_make(&c, &config);
    assert_int_equal(
        server_listen_tcp(c.server, &(struct server_tcp){.address = "127.0.0.1:0"}, NULL),
        0);
    http_case_start(&c);
    for (int i = 0; i < 4; i++) {
        int fd = http_case_connect_tcp(server_port(c.server, 0));

        str_clear(&text);
        http_case_say(fd, "GET /things/1 HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n");
        http_case_hear_all(fd, &text);
        close(fd);
        assert_int_equal(http_case_status(str_text(&text)), i < 3 ? 200 : 429);
    }
    answer = str_take(&text);
    assert_non_null(strstr(answer, "Retry-After: "));
    free(answer);
    http_case_end(&c);
}

static int audits, refused_audits;

static void note_audit(void *ctx, const struct server_audit *entry)
{
    (void)ctx;
    audits += entry->status < 400;
    refused_audits += entry->status == 401 || entry->status == 403;
}

static void changes_and_refusals_are_audited(void **state)
{
    struct server_config config = plain;
    struct str heard = {0};
    struct http_case c;
    int fd;

    (void)state;
    config.audit = note_audit;
    audits = refused_audits = 0;
    http_case_make(&c, &config);
    assert_int_equal(
        server_listen_tcp(c.server, &(struct server_tcp){.address = "127.0.0.1:0"}, NULL),
        0);
    http_case_start(&c);
    expect(&c, "GET /things/7 HTTP/1.1\r\n" HOST "\r\n", 200, NULL);
    expect(&c,
           "POST /things HTTP/1.1\r\n" HOST
           "Content-Length: 14\r\n\r\n{\"name\":\"bob\"}",
           201, NULL);
    fd = http_case_connect_tcp(server_port(c.server, 0));
    http_case_say(fd, "GET /things/1 HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n");
    http_case_hear_all(fd, &heard);
    assert_int_equal(http_case_status(str_text(&heard)), 401);
    assert_non_null(strstr(str_text(&heard), "WWW-Authenticate: Bearer"));
    close(fd);
    http_case_end(&c);
    assert_int_equal(audits, 1);
    assert_int_equal(refused_audits, 1);
    str_fini(&heard);
}

static void sockets_are_handled_as_unix_users_expect(void **state)
{
    struct http_case c, other;
    struct stat there;
    struct err err = {0};
    struct server_unix where = {0};
    FILE *file;

    (void)state;
    http_case_make(&c, &plain);
    assert_int_equal(stat(c.socket, &there), 0);
    assert_int_equal(there.st_mode & 0777, 0666);
    http_case_make(&other, &plain);
    where.path = c.socket; /* served: refused */
    assert_int_equal(server_listen_unix(other.server, &where, &err), -1);
    assert_int_equal(err.code, ERR_EXISTS);
    server_destroy(c.server);
    c.server = NULL;
    assert_int_equal(stat(c.socket, &there), -1); /* gone with its server */
    file = fopen(c.socket, "w");                  /* something else: left alone */
    assert_non_null(file);
    fclose(file);
    assert_int_equal(server_listen_unix(other.server, &where, &err), -1);
    assert_int_equal(err.code, ERR_EXISTS);
    unlink(c.socket);
    {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);

        str_copy(address.sun_path, sizeof(address.sun_path), c.socket);
        assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
        close(fd); /* a file nobody serves any more: replaced */
    }
    where.mode = 0660;
    if (server_listen_unix(other.server, &where, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(stat(c.socket, &there), 0);
    assert_int_equal(there.st_mode & 0777, 0660);
    where.path =
        "/tmp/a-path-that-is-too-long-for-a-socket-address-because-the-kernel-has-"
        "only-108-bytes-for-it-and-this-is-more";
    assert_int_equal(server_listen_unix(other.server, &where, &err), -1);
    assert_int_equal(err.code, ERR_LIMIT);
    http_case_end(&other);
    http_case_end(&c);
}

static void addresses_beyond_loopback_need_tls(void **state)
{
    static const char *const wrong[] = {"0.0.0.0:0",    "[::]:0",          "10.1.2.3:1",
                                        "nonsense",     "127.0.0.1:99999", "[::1",
                                        "example.org:1"};
    struct http_case c;
    struct err err;

    (void)state;
    http_case_make(&c, &plain);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        err = (struct err){0};
        assert_int_equal(
            server_listen_tcp(c.server, &(struct server_tcp){.address = wrong[i]}, &err),
            -1);
        assert_int_equal(err.code, ERR_INVALID);
    }
    http_case_end(&c);
}

static void wrong_route_tables_are_found(void **state)
{
    static const struct route twice[] = {
        {.operation = "a", .pattern = "/x", .handle = handle_park},
        {.operation = "b", .pattern = "/x", .handle = handle_park},
        {0}};
    static const struct route bare[] = {{.operation = "a", .pattern = "/x"}, {0}};
    struct err err = {0};

    (void)state;
    assert_int_equal(route_check(routes, &err), 0);
    assert_int_equal(route_check(twice, &err), -1);
    assert_int_equal(route_check(bare, &err), -1);
}

/* ---- every route of the API, for every kind of asker --------------------------------
 */

static void handle_any(void *ctx, struct request *r)
{
    (void)ctx;
    handled++;
    request_answer_empty(r, 204);
}

#define ROUTE(op, verb, path, least, names, schema, bare, audited)                       \
    {.operation = #op,                                                                   \
     .method = HTTP_##verb,                                                              \
     .pattern = path,                                                                    \
     .role = AUTH_##least,                                                               \
     .query = names,                                                                     \
     .audit = audited,                                                                   \
     .handle = handle_any},

static const struct route api_routes[] = {API_ROUTES(ROUTE){0}};

static struct auth_token tokens[AUTH_OPERATOR + 1];

static bool find_token(void *ctx, const char *id, struct auth_token_record *record)
{
    (void)ctx;
    for (int role = AUTH_VIEWER; role <= AUTH_OPERATOR; role++) {
        if (strcmp(id, tokens[role].id) != 0)
            continue;
        memcpy(record->digest, tokens[role].digest, sizeof(record->digest));
        record->identity.role = (enum auth_role)role;
        record->identity.uid = 1000;
        str_copy(record->identity.name, sizeof(record->identity.name), "ada");
        return true;
    }
    return false;
}

static int ask_as(int port, const struct route *route, const char *token)
{
    struct str text = {0}, heard = {0};
    int fd = http_case_connect_tcp(port), status;

    str_addf(&text, "%s ", http_method_name(route->method));
    for (const char *c = route->pattern; *c; c++)
        if (!strchr("{}", *c))
            str_add_bytes(&text, c, 1);
    str_add(&text, " HTTP/1.1\r\n" HOST "Connection: close\r\n");
    if (token)
        str_addf(&text, "Authorization: Bearer %s\r\n", token);
    str_add(&text, "\r\n");
    http_case_say(fd, str_text(&text));
    http_case_hear_all(fd, &heard);
    close(fd);
    status = http_case_status(str_text(&heard));
    str_fini(&text);
    str_fini(&heard);
    return status;
}

static void every_route_refuses_those_who_may_not(void **state)
{
    struct server_config config = {.routes = api_routes, .auth.find_token = find_token};
    struct http_case c;
    char wrong[AUTH_TOKEN_SIZE];
    int port;

    (void)state;
    for (int role = AUTH_VIEWER; role <= AUTH_OPERATOR; role++)
        assert_int_equal(auth_token_make(&tokens[role], NULL), 0);
    str_copy(wrong, sizeof(wrong), tokens[AUTH_OPERATOR].text);
    wrong[strlen(wrong) - 1] ^= 1;
    http_case_make(&c, &config);
    assert_int_equal(
        server_listen_tcp(c.server, &(struct server_tcp){.address = "127.0.0.1:0"}, NULL),
        0);
    port = server_port(c.server, 0);
    http_case_start(&c);
    for (const struct route *r = api_routes; r->operation; r++) {
        bool open = r->role == AUTH_NOBODY;

        assert_int_equal(ask_as(port, r, NULL), open ? 204 : 401);
        assert_int_equal(ask_as(port, r, wrong), open ? 204 : 401);
        assert_int_equal(ask_as(port, r, "nonsense"), open ? 204 : 401);
        for (int role = AUTH_VIEWER; role <= AUTH_OPERATOR; role++)
            assert_int_equal(ask_as(port, r, tokens[role].text),
                             role >= (int)r->role ? 204 : 403);
        /* A viewer changes nothing. */
        if (r->method != HTTP_GET)
            assert_true(r->role > AUTH_VIEWER);
    }
    http_case_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handlers_get_parameters_query_and_identity),
        cmocka_unit_test(bodies_are_checked_before_the_handler),
        cmocka_unit_test(malformed_requests_are_refused_in_json),
        cmocka_unit_test(a_nul_in_the_head_is_refused),
        cmocka_unit_test(methods_answer_as_http_wants),
        cmocka_unit_test(connections_go_on_and_requests_may_come_at_once),
        cmocka_unit_test(large_requests_come_in_pieces),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(slow_clients_are_told_and_closed),
        cmocka_unit_test(a_client_that_left_does_no_harm),
        cmocka_unit_test(draining_finishes_what_was_begun),
        cmocka_unit_test(too_many_requests_have_to_wait),
        cmocka_unit_test(changes_and_refusals_are_audited),
        cmocka_unit_test(sockets_are_handled_as_unix_users_expect),
        cmocka_unit_test(addresses_beyond_loopback_need_tls),
        cmocka_unit_test(wrong_route_tables_are_found),
        cmocka_unit_test(every_route_refuses_those_who_may_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
