/* test_http_server.c - a real server over real sockets: what it hands on, what it refuses
 */
#include "support/http_things.h"
#include "support/test.h"

CASE(handlers_get_parameters_query_and_identity)
{
    struct http_case c;
    char uid[32];

    snprintf(uid, sizeof(uid), "\"uid\":%d", (int)getuid());
    start(&c, &plain);
    expect(&c, "GET /things/a%20b?verbose=x%2By+z HTTP/1.1\r\n" HOST "\r\n", 200,
           "{\"id\":\"a b\",\"verbose\":\"x+y z\",\"role\":\"operator\"");
    expect(&c, "GET /things/7 HTTP/1.1\r\n" HOST "\r\n", 200, uid);
    expect(&c, "GET http://x/things/7 HTTP/1.1\r\n" HOST "\r\n", 200, "\"id\":\"7\"");
    finish(&c);
}

CASE(bodies_are_checked_before_the_handler)
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
CASE(malformed_requests_are_refused_in_json)
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

    start(&c, &plain);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        expect(&c, cases[i].text, cases[i].status, "{\"error\":{\"code\":\"");
        expect(&c, cases[i].text, cases[i].status, "Content-Type: application/json");
    }
    assert_int_equal(handled, 0);
    expect(&c, "GET /things/7 HTTP/1.1\r\n" HOST "\r\n", 200, "\"id\":\"7\"");
    finish(&c);
}

CASE(a_nul_in_the_head_is_refused)
{
    static const char text[] = "GET /things/7 HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n";
    struct http_case c;
    char *answer;

    start(&c, &plain);
    answer = http_case_ask_bytes(&c, text, sizeof(text) - 1);
    assert_int_equal(http_case_status(answer), 400);
    free(answer);
    finish(&c);
}

CASE(methods_answer_as_http_wants)
{
    struct http_case c;
    char *answer;

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

CASE(connections_go_on_and_requests_may_come_at_once)
{
    struct str heard = {0};
    struct http_case c;
    const char *at;
    int fd;

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

CASE(large_requests_come_in_pieces)
{
    struct str heard = {0};
    struct http_case c;
    const char *text = "POST /things HTTP/1.1\r\n" HOST "Expect: 100-continue\r\n"
                       "Content-Length: 14\r\n\r\n";
    int fd;

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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
