/* test_http_access.c - who may do what, and where a server may listen */
#include "support/http_things.h"

#include "http/api.h"
#include "support/test.h"

#include <sys/stat.h>

static int audits, refused_audits;

static void note_audit(void *ctx, const struct request *r, int status)
{
    (void)ctx;
    assert_non_null(r->path);
    audits += status < 400;
    refused_audits += status == 401 || status == 403;
}

CASE(changes_and_refusals_are_audited)
{
    struct server_config config = plain;
    struct str heard = {0};
    struct http_case c;
    int fd;

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

CASE(sockets_are_handled_as_unix_users_expect)
{
    struct http_case c, other;
    struct stat there;
    struct err err = {0};
    struct server_unix where = {0};
    FILE *file;

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

CASE(addresses_beyond_loopback_need_tls)
{
    static const char *const wrong[] = {"0.0.0.0:0",    "[::]:0",          "10.1.2.3:1",
                                        "nonsense",     "127.0.0.1:99999", "[::1",
                                        "example.org:1"};
    struct http_case c;
    struct err err;

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

/* ---- every route of the API, for every kind of asker --------------------------------
 */

static void handle_any(void *ctx, struct request *r)
{
    (void)ctx;
    handled++;
    request_answer_bytes(r, 204, NULL, "", 0);
}

#define ROUTE(op, verb, path, least, names, schema, audited)                             \
    {API_ROUTE(op, verb, path, least, names, NULL, audited), .handle = handle_any},

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

    str_addf(&text, "%s ", http_method_names[route->method]);
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

CASE(every_route_refuses_those_who_may_not)
{
    static const unsigned char key[AUTH_KEY_BYTES] = "of this test";
    struct server_config config = {.routes = api_routes,
                                   .auth = {.find_token = find_token, .job_key = key}};
    struct http_case c;
    char wrong[AUTH_TOKEN_SIZE], of_job[AUTH_JOB_TOKEN_SIZE];
    int port;

    for (int role = AUTH_VIEWER; role <= AUTH_OPERATOR; role++)
        assert_int_equal(auth_token_make(&tokens[role], NULL), 0);
    assert_int_equal(auth_job_token_make(key, 7, 1e10, of_job, NULL), 0);
    str_copy(wrong, sizeof(wrong), tokens[AUTH_OPERATOR].text);
    wrong[strlen(wrong) - 1] ^= 1;
    http_case_make(&c, &config);
    assert_int_equal(
        server_listen_tcp(c.server, &(struct server_tcp){.address = "127.0.0.1:0"}, NULL),
        0);
    port = server_port(c.server, 0);
    http_case_start(&c);
    for (const struct route *r = api_routes; r->operation; r++) {
        bool open = r->role == AUTH_NOBODY, reports = r->role == AUTH_REPORTER;

        assert_int_equal(ask_as(port, r, NULL), open ? 204 : 401);
        assert_int_equal(ask_as(port, r, wrong), open ? 204 : 401);
        assert_int_equal(ask_as(port, r, "nonsense"), open ? 204 : 401);
        for (int role = AUTH_VIEWER; role <= AUTH_OPERATOR; role++)
            assert_int_equal(ask_as(port, r, tokens[role].text),
                             role >= (int)(reports ? AUTH_USER : r->role) ? 204 : 403);
        /* A job's token opens one route, and that one for reports. */
        assert_int_equal(ask_as(port, r, of_job), open || reports ? 204 : 403);
        assert_int_equal(reports, !strcmp(r->operation, "report"));
        /* A viewer changes nothing. */
        if (r->method != HTTP_GET && !reports)
            assert_true(r->role > AUTH_VIEWER);
    }
    http_case_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_and_refusals_are_audited),
        cmocka_unit_test(sockets_are_handled_as_unix_users_expect),
        cmocka_unit_test(addresses_beyond_loopback_need_tls),
        cmocka_unit_test(every_route_refuses_those_who_may_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
