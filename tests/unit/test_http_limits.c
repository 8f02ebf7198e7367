/* test_http_limits.c - size, time, number and pace of what clients may do to a server */
#include "support/http_things.h"
#include "support/test.h"

CASE(limits_hold)
{
    struct server_config config = plain;
    struct str text = {0};
    struct http_case c;

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
    str_fini(&text);
    finish(&c);
}

/* Ask on a new connection with a body of this many values, or bytes; the status. */
static int send_list(struct http_case *c, size_t values, size_t bytes)
{
    struct str text = {0}, body = {0};
    char *answer;
    int status;

    str_add(&body, "{\"name\":[0");
    for (size_t i = 1; i < values; i++)
        str_add(&body, ",0");
    str_add(&body, "]");
    while (body.length < bytes)
        str_add(&body, "          ");
    str_add(&body, "}");
    str_addf(&text, "POST /things HTTP/1.1\r\n" HOST "Content-Length: %zu\r\n\r\n%s",
             body.length, str_text(&body));
    answer = http_case_ask(c, str_text(&text));
    status = http_case_status(answer);
    free(answer);
    str_fini(&text);
    str_fini(&body);
    return status;
}

CASE(bodies_with_more_values_than_the_schema_has_are_not_read)
{
    struct http_case c;

    start(&c, &plain);
    assert_int_equal(send_list(&c, 1, 0), 400);     /* a list is not a name */
    assert_int_equal(send_list(&c, 10, 0), 413);    /* two members: that is no thing */
    assert_int_equal(send_list(&c, 1, 50000), 400); /* the same on another thread */
    assert_int_equal(send_list(&c, 10000, 0), 413);
    expect(&c, "GET /things/3 HTTP/1.1\r\n" HOST "\r\n", 200, "\"id\":\"3\"");
    finish(&c);
}

CASE(large_bodies_reach_their_handler_too)
{
    struct str text = {0}, blanks = {0};
    struct http_case c;

    start(&c, &plain);
    while (blanks.length < 300000)
        str_add(&blanks, "          ");
    str_addf(&text,
             "POST /things HTTP/1.1\r\n" HOST
             "Content-Length: %zu\r\n\r\n%s{\"name\":\"big\"}"
             "GET /things/3 HTTP/1.1\r\n" HOST "\r\n",
             blanks.length + 14, str_text(&blanks));
    expect(&c, str_text(&text), 201, "{\"made\":\"big\"}HTTP/1.1 200");
    str_fini(&text);
    str_fini(&blanks);
    finish(&c);
}

/* A body of this many bytes over TCP, where nobody is an operator; the status. */
static int send_blanks(struct http_case *c, int bytes)
{
    int fd = http_case_connect_tcp(server_port(c->server, 0)), status;
    struct str text = {0};

    str_addf(&text,
             "POST /things HTTP/1.1\r\n" HOST
             "Connection: close\r\nContent-Length: %d\r\n\r\n%*s",
             bytes, bytes, "");
    http_case_say(fd, str_text(&text));
    str_clear(&text);
    http_case_hear_all(fd, &text);
    status = http_case_status(str_text(&text));
    close(fd);
    str_fini(&text);
    return status;
}

CASE(bytes_of_bodies_are_limited_by_user)
{
    struct server_config config = plain;
    struct http_case c;

    config.auth.anonymous_role = AUTH_USER;
    config.limits.bytes_per_s = 1; /* and a body of the largest size at once */
    config.limits.body_bytes = 200000;
    http_case_make(&c, &config);
    assert_int_equal(
        server_listen_tcp(c.server, &(struct server_tcp){.address = "127.0.0.1:0"}, NULL),
        0);
    http_case_start(&c);
    assert_int_equal(send_blanks(&c, 90000), 400); /* blanks are not JSON */
    assert_int_equal(send_blanks(&c, 90000), 400);
    assert_int_equal(send_blanks(&c, 90000), 429);
    assert_int_equal(send_blanks(&c, 300000), 429); /* of any size, it is counted */
    assert_int_equal(send_blanks(&c, 2000), 400);   /* a small one has room */
    http_case_end(&c);
}

CASE(connections_are_limited)
{
    struct server_config config = plain;
    struct str heard = {0};
    struct http_case c;
    int first, second, third;

    config.limits.connections = 2;
    start(&c, &config);
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
    finish(&c);
}

CASE(slow_clients_are_told_and_closed)
{
    struct server_config config = plain;
    struct str heard = {0};
    struct http_case c;
    int fd;

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

/* Ask for what takes a while and leave.  The server may be slow to notice: then it has
 * answered before. */
static void leave_early(struct http_case *c)
{
    int before = handled, fd = http_case_connect(c);

    http_case_say(fd, "GET /slow HTTP/1.1\r\n" HOST "\r\n");
    while (handled == before)
        usleep(1000);
    close(fd);
    while (late > 0)
        usleep(1000);
}

CASE(a_client_that_left_does_no_harm)
{
    struct http_case c;
    int fd, before;

    start(&c, &plain);
    parked_gone = 0;
    for (int i = 0; parked_gone < 1; i++) {
        assert_int_not_equal(i, 100);
        leave_early(&c);
    }
    expect(&c, "GET /things/3 HTTP/1.1\r\n" HOST "\r\n", 200, "\"id\":\"3\"");
    /* And the other way round: the server goes, the handler answers later. */
    before = handled;
    fd = http_case_connect(&c);
    http_case_say(fd, "GET /park HTTP/1.1\r\n" HOST "\r\n");
    while (handled == before)
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

CASE(draining_finishes_what_was_begun)
{
    struct str heard = {0};
    struct http_case c;
    struct server_stats stats;
    int busy, idle;

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

CASE(too_many_requests_have_to_wait)
{
    struct server_config config = plain;
    struct str text = {0};
    struct http_case c;
    char *answer;

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

CASE(nobody_takes_all_connections)
{
    struct server_config config = plain;
    struct str heard = {0};
    struct http_case c;
    int fds[3];

    config.auth.anonymous_role = AUTH_VIEWER;
    config.limits.connections = 8;
    http_case_make(&c, &config);
    assert_int_equal(
        server_listen_tcp(c.server, &(struct server_tcp){.address = "127.0.0.1:0"}, NULL),
        0);
    http_case_start(&c);
    for (int i = 0; i < 3; i++) {
        fds[i] = http_case_connect_tcp(server_port(c.server, 0));
        str_clear(&heard);
        http_case_say(fds[i], "GET /things/1 HTTP/1.1\r\n" HOST "\r\n");
        http_case_hear_text(fds[i], &heard, "\r\n\r\n{");
        assert_int_equal(http_case_status(str_text(&heard)), i < 2 ? 200 : 503);
    }
    expect(&c, "GET /things/1 HTTP/1.1\r\n" HOST "\r\n", 200, NULL); /* others may */
    for (int i = 0; i < 3; i++)
        close(fds[i]);
    str_fini(&heard);
    http_case_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(bodies_with_more_values_than_the_schema_has_are_not_read),
        cmocka_unit_test(large_bodies_reach_their_handler_too),
        cmocka_unit_test(bytes_of_bodies_are_limited_by_user),
        cmocka_unit_test(connections_are_limited),
        cmocka_unit_test(slow_clients_are_told_and_closed),
        cmocka_unit_test(a_client_that_left_does_no_harm),
        cmocka_unit_test(draining_finishes_what_was_begun),
        cmocka_unit_test(too_many_requests_have_to_wait),
        cmocka_unit_test(nobody_takes_all_connections),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
