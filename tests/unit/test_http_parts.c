/* test_http_parts.c - the parts of the server and client that need no socket */
#include "base/directives.h"
#include "base/str.h"
#include "http/auth.h"
#include "http/head.h"
#include "http/request.h"
#include "http/client.h"
#include "support/test.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- paths and queries ------------------------------------------------------------- */

CASE(uris_are_decoded_strictly)
{
    static const char *const bad[] = {
        "%",      "%4",  "%zz",    "%00",       "%0a",
        "%7f",    "%ff", "%c0%af", "%ed%a0%80", "%f8%88%80%80%80",
        "a%e2%82"};
    char text[64] = "a%20b%C3%A9%2F";

    assert_true(uri_decode(text));
    assert_string_equal(text, "a b\xc3\xa9/");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        str_copy(text, sizeof(text), bad[i]);
        if (uri_decode(text))
            fail_msg("%s was taken", bad[i]);
    }
}

CASE(queries_have_each_name_once)
{
    char text[] = "state=running&&user=a+b&flag&empty=";
    char twice[] = "a=1&a=2", nameless[] = "=1", broken[] = "a=%";
    struct uri_query q;
    struct err err = {0};

    assert_int_equal(uri_query_parse(&q, text, &err), 0);
    assert_string_equal(uri_query_get(&q, "state"), "running");
    assert_string_equal(uri_query_get(&q, "user"), "a b");
    assert_string_equal(uri_query_get(&q, "flag"), "");
    assert_string_equal(uri_query_get(&q, "empty"), "");
    assert_null(uri_query_get(&q, "other"));
    assert_int_equal(uri_query_parse(&q, twice, &err), -1);
    assert_int_equal(uri_query_parse(&q, nameless, &err), -1);
    assert_int_equal(uri_query_parse(&q, broken, &err), -1);
    assert_int_equal(uri_query_parse(&q, NULL, &err), 0);
}

CASE(words_beat_parameters)
{
    static const struct route routes[] = {
        {.operation = "any", .pattern = "/jobs/{id}"},
        {.operation = "word", .pattern = "/jobs/all"},
        {.operation = "deep", .pattern = "/jobs/{id}/parts/{part}"},
        {.operation = "drop", .method = HTTP_DELETE, .pattern = "/jobs/all"},
        {0}};
    char word[] = "/jobs/all", any[] = "/jobs/x", deep[] = "/jobs/a%2Fb/parts/c";
    char none[] = "/jobs", slash[] = "/jobs/", drop[] = "/jobs/x";
    struct route_match m;

    assert_true(route_find(routes, HTTP_GET, word, &m));
    assert_string_equal(m.route->operation, "word");
    assert_true(route_find(routes, HTTP_HEAD, any, &m));
    assert_string_equal(m.route->operation, "any");
    assert_true(route_find(routes, HTTP_GET, deep, &m));
    assert_int_equal(m.param_count, 2);
    assert_string_equal(m.values[0], "a/b");
    assert_string_equal(m.values[1], "c");
    assert_true(route_find(routes, HTTP_GET, none, &m));
    assert_int_equal(m.allow, 0);
    assert_true(route_find(routes, HTTP_GET, slash, &m));
    assert_int_equal(m.allow, 0);
    assert_true(route_find(routes, HTTP_DELETE, drop, &m)); /* the word's, not this one */
    assert_null(m.route);
    assert_true(m.allow & 1u << HTTP_GET);
    assert_false(m.allow & 1u << HTTP_DELETE);
}

/* ---- events ------------------------------------------------------------------------ */

static struct str heard;

static bool hear(void *ctx, const struct client_event *event)
{
    (void)ctx;
    str_addf(&heard, "[%s|%s|%s]", event->id, event->type, event->data);
    return strcmp(event->type, "stop") != 0;
}

CASE(event_streams_are_read_as_the_standard_says)
{
    static const char text[] =
        "\xef\xbb\xbfretry: 5\n: comment\n\ndata: a\ndata:b\ndata\n\n"
        "id: 7\revent: x\rdata: {\"k\": 1}\r\r\nid\n\n"
        "data: c\r\n\r\nevent: nothing\n\nevent: stop\ndata: e\n\n"
        "data: after\n\n";
    struct sse_parse p = {.event = hear};
    struct err err = {0};
    int rc = 0;

    for (size_t i = 0; i < strlen(text) && rc == 0; i++)
        rc = sse_parse_feed(&p, text + i, 1, &err);
    assert_int_equal(rc, 1);
    assert_string_equal(str_text(&heard), "[|message|a\nb\n][7|x|{\"k\": 1}]"
                                          "[|message|c][|stop|e]");
    sse_parse_fini(&p);
    str_fini(&heard);
}

/* ---- headers of scripts ------------------------------------------------------------ */

CASE(directives_are_split_like_a_shell_would)
{
    static const char text[] = "#!/bin/sh\n#CORGI --name \"a 'b' \\\"c\\\"\" x\\ y ''\r\n"
                               "\n  # CORGI not this\n#CORGIX nor this\n#CORGI\n"
                               "#CORGI --gpus 'it''s'\nmake\n#CORGI --late\n";
    static const char *const bad[] = {"#CORGI 'a\n", "#CORGI \"a", "#CORGI a\\",
                                      "#CORGI \"a\\"};
    struct directives d = {0};
    struct err err = {0};

    assert_int_equal(directives_parse(&d, "#CORGI", text, strlen(text), "x.sh", &err), 0);
    assert_int_equal(d.count, 3);
    assert_int_equal(d.items[0].line, 2);
    assert_int_equal(d.items[0].word_count, 5);
    assert_string_equal(d.items[0].words[2], "a 'b' \"c\"");
    assert_string_equal(d.items[0].words[3], "x y");
    assert_string_equal(d.items[0].words[4], "");
    assert_int_equal(d.items[1].word_count, 1);
    assert_string_equal(d.items[2].words[2], "its");
    directives_fini(&d);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(
            directives_parse(&d, "#CORGI", bad[i], strlen(bad[i]), "x.sh", &err), -1);
}

/* ---- identities -------------------------------------------------------------------- */

static struct auth_token kept;
static double expires_s;

static bool find(void *ctx, const char *id, struct auth_token_record *record)
{
    (void)ctx;
    if (strcmp(id, kept.id) != 0)
        return false;
    memcpy(record->digest, kept.digest, sizeof(record->digest));
    record->identity.role = AUTH_USER;
    str_copy(record->identity.name, sizeof(record->identity.name), "ada");
    record->expires_s = expires_s;
    return true;
}

CASE(tokens_are_known_by_their_digest)
{
    const struct auth_rules rules = {.find_token = find};
    struct auth_identity who;
    struct auth_token other;
    char header[128];

    assert_int_equal(auth_token_make(&kept, NULL), 0);
    assert_int_equal(auth_token_make(&other, NULL), 0);
    assert_string_not_equal(kept.text, other.text);
    snprintf(header, sizeof(header), "Bearer %s", kept.text);
    assert_true(auth_bearer(&rules, header, 100, &who));
    assert_int_equal(who.role, AUTH_USER);
    assert_string_equal(who.name, "ada");
    assert_string_equal(who.token, kept.id);
    expires_s = 50;
    assert_false(auth_bearer(&rules, header, 100, &who));
    assert_int_equal(who.role, AUTH_NOBODY);
    expires_s = 0;
    for (size_t i = strlen("Bearer "); header[i]; i++) { /* any other character */
        char was = header[i];

        header[i] = was == 'a' ? 'b' : 'a';
        assert_false(auth_bearer(&rules, header, 100, &who));
        header[i] = was;
    }
    snprintf(header, sizeof(header), "Basic %s", kept.text);
    assert_false(auth_bearer(&rules, header, 100, &who));
    assert_true(auth_bearer(&rules, NULL, 100, &who)); /* nobody in particular */
    assert_int_equal(who.role, AUTH_NOBODY);
    assert_int_equal(who.uid, AUTH_NO_ID);
}

CASE(the_kernel_tells_who_is_there)
{
    const struct auth_rules rules = {.local_role = AUTH_VIEWER};
    struct auth_identity who;
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_true(auth_peer(pair[0], &who));
    auth_account(&rules, &who);
    assert_int_equal(who.uid, geteuid());
    assert_int_equal(who.pid, getpid());
    assert_true(who.local);
    assert_int_equal(who.role, AUTH_OPERATOR); /* whom the daemon runs as */
    close(pair[0]);
    close(pair[1]);
}

CASE(buckets_fill_again_and_are_bounded)
{
    struct auth_rate *rate = auth_rate_create(2, 4, 3);
    double wait_s;

    for (int i = 0; i < 4; i++)
        assert_true(auth_rate_take(rate, 1, 1, 0, &wait_s));
    assert_false(auth_rate_take(rate, 1, 1, 0, &wait_s));
    assert_true(wait_s == 0.5);
    assert_true(auth_rate_take(rate, 2, 1, 0, &wait_s)); /* another one's */
    assert_true(auth_rate_take(rate, 1, 1, 0.5, &wait_s));
    assert_false(auth_rate_take(rate, 1, 1, 0.5, &wait_s));
    for (uint64_t key = 10; key < 1000; key++)
        assert_true(auth_rate_take(rate, key, 1, 0.5, &wait_s));
    /* Who was nearly out of tokens is remembered longest. */
    assert_false(auth_rate_take(rate, 1, 1, 0.5, &wait_s));
    auth_rate_destroy(rate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uris_are_decoded_strictly),
        cmocka_unit_test(queries_have_each_name_once),
        cmocka_unit_test(words_beat_parameters),
        cmocka_unit_test(event_streams_are_read_as_the_standard_says),
        cmocka_unit_test(directives_are_split_like_a_shell_would),
        cmocka_unit_test(tokens_are_known_by_their_digest),
        cmocka_unit_test(the_kernel_tells_who_is_there),
        cmocka_unit_test(buckets_fill_again_and_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
