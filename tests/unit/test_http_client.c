/* test_http_client.c - the client against the server: Unix, TCP and TLS */
#include "support/http_case.h"

#include "base/json_schema.h"
#include "http/client.h"
#include "http/sse.h"

static struct sse_hub *hub;
static struct http_case c;

static void handle_echo(void *ctx, struct request *r)
{
    struct str json = {0};

    (void)ctx;
    str_addf(&json, "{\"id\":\"%s\",\"user\":\"%s\",\"key\":\"%s\"}",
             request_param(r, "id"), r->identity.name,
             head_field(&r->head, "idempotency-key")
                 ? head_field(&r->head, "idempotency-key")
                 : "");
    request_answer(r, 200, &json);
}

static void handle_large(void *ctx, struct request *r)
{
    struct str text = {0};

    (void)ctx;
    while (text.length < 3 << 20)
        str_add(&text,
                "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
    request_answer_bytes(r, 200, "text/plain", text.text, text.length);
    str_fini(&text);
}

static const struct schema_field note_fields[] = {
    {.name = "note", .type = SCHEMA_STRING, .max = 1 << 20}, {0}};
static const struct schema note = {.name = "Note", .fields = note_fields};

static void handle_note(void *ctx, struct request *r)
{
    struct str json = {0};

    (void)ctx;
    str_addf(&json, "{\"heard\":%zu}",
             strlen(json_value_string(json_value_get(r->body, "note"))));
    request_answer(r, 200, &json);
}

static void send_two(void *ctx)
{
    (void)ctx;
    for (uint64_t id = 1; id <= 2; id++)
        sse_hub_send(hub,
                     &(struct sse_event){
                         .id = id, .type = "job", .data = "{}", .owner = SSE_EVERYBODY});
    sse_hub_close(hub, "enough");
}

static void handle_events(void *ctx, struct request *r)
{
    (void)ctx;
    sse_hub_join(hub, r, &(struct sse_subscription){.owner = SSE_EVERYBODY}, 0);
    reactor_post(c.reactor, send_two, NULL);
}

static const struct route routes[] = {
    {.operation = "echo",
     .pattern = "/echo/{id}",
     .role = AUTH_VIEWER,
     .handle = handle_echo},
    {.operation = "note",
     .method = HTTP_POST,
     .pattern = "/note",
     .body = &note,
     .handle = handle_note},
    {.operation = "large", .pattern = "/large", .handle = handle_large},
    {.operation = "events", .pattern = "/events", .handle = handle_events},
    {0},
};

static struct auth_token token;

static bool find_token(void *ctx, const char *id, struct auth_token_record *record)
{
    (void)ctx;
    if (strcmp(id, token.id) != 0)
        return false;
    memcpy(record->digest, token.digest, sizeof(record->digest));
    record->identity.role = AUTH_VIEWER;
    str_copy(record->identity.name, sizeof(record->identity.name), "ada");
    return true;
}

static const struct server_config config = {
    .routes = routes, .auth = {.local_role = AUTH_VIEWER, .find_token = find_token}};

static void make(void)
{
    const struct sse_config events = {0};

    http_case_make(&c, &config);
    hub = sse_hub_create(c.reactor, &events);
}

static void finish(void)
{
    http_case_stop(&c);
    sse_hub_destroy(hub);
    http_case_end(&c);
}

static struct client *client_of(const struct client_config *where)
{
    struct err err = {0};
    struct client *client = client_create(where, &err);

    if (!client)
        fail_msg("%s", err.text);
    return client;
}

static void ask(struct client *client, const char *path, int status, const char *part)
{
    const struct client_request q = {.method = HTTP_GET, .path = path};
    struct client_answer answer = {0};
    struct err err = {0};

    if (client_call(client, &q, &answer, &err) < 0)
        fail_msg("%s: %s", path, err.text);
    assert_int_equal(answer.status, status);
    if (!strstr(answer.body, part))
        fail_msg("want %s in %s", part, answer.body);
    client_answer_fini(&answer);
}

struct tally {
    int begun, events, byes;
};

static bool count_event(void *ctx, const struct client_event *event)
{
    struct tally *t = ctx;

    if (!event)
        t->begun++;
    else if (!strcmp(event->type, "bye"))
        t->byes++;
    else
        t->events++;
    return true;
}

static void follow(struct client *client)
{
    struct tally t = {0};
    const struct client_stream stream = {
        .path = "/events", .event = count_event, .ctx = &t};
    struct err err = {0};
    int rc = client_follow(client, &stream, &err);

    if (rc != 1)
        fail_msg("%d %s", rc, err.text);
    assert_int_equal(t.begun, 1);
    assert_int_equal(t.events, 2);
    assert_int_equal(t.byes, 1);
}

CASE(the_client_speaks_to_a_unix_socket)
{
    struct client_config where = {0};
    struct client *client;

    make();
    http_case_start(&c);
    where.socket = c.socket;
    client = client_of(&where);
    for (int i = 0; i < 3; i++)
        ask(client, "/echo/7", 200, "\"id\":\"7\"");
    ask(client, "/nothing", 404, "not_found");
    ask(client, "/large", 200, "0123456789abcdef");
    follow(client);
    ask(client, "/echo/8", 200, "\"id\":\"8\"");
    client_destroy(client);
    where.max_bytes = 1000;
    client = client_of(&where);
    {
        const struct client_request q = {.method = HTTP_GET, .path = "/large"};
        struct client_answer answer = {0};
        struct err err = {0};

        assert_int_equal(client_call(client, &q, &answer, &err), -1);
        assert_int_equal(err.code, ERR_LIMIT);
    }
    client_destroy(client);
    finish();
}

CASE(errors_of_the_server_are_sentences)
{
    struct client_config where = {0};
    struct client *client;
    const struct client_request q = {.method = HTTP_GET, .path = "/nothing"};
    const struct client_stream stream = {.path = "/nothing", .event = count_event};
    struct client_answer answer = {0};
    struct err err = {0};

    make();
    http_case_start(&c);
    where.socket = c.socket;
    client = client_of(&where);
    assert_int_equal(client_call(client, &q, &answer, &err), 0);
    client_answer_error(&answer, &err);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_string_equal(err.text, "there is no /nothing");
    client_answer_fini(&answer);
    assert_int_equal(client_follow(client, &stream, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    client_destroy(client);
    finish();
}

CASE(the_client_comes_back_after_a_restart)
{
    struct client_config where = {0};
    struct client *client;
    struct err err = {0};

    make();
    http_case_start(&c);
    where.socket = c.socket;
    client = client_of(&where);
    ask(client, "/echo/1", 200, "\"id\":\"1\"");
    http_case_stop(&c);
    server_destroy(c.server);
    c.server = server_create(c.reactor, &config);
    assert_int_equal(
        server_listen_unix(c.server, &(struct server_unix){.path = c.socket}, &err), 0);
    http_case_start(&c);
    ask(client, "/echo/2", 200, "\"id\":\"2\""); /* its connection was gone */
    client_destroy(client);
    finish();
}

CASE(nobody_there_is_told_apart)
{
    const struct client_request q = {.method = HTTP_GET, .path = "/", .retries = 1};
    struct client_config where = {.socket = "/nonexistent/x.sock", .connect_s = 1};
    struct client *client = client_of(&where);
    struct client_answer answer = {0};
    struct err err = {0};
    int fd;
    char path[64];
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    assert_int_equal(client_call(client, &q, &answer, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    client_destroy(client);
    /* Somebody accepts but never answers. */
    snprintf(path, sizeof(path), "/tmp/corgi-mute-%d", (int)getpid());
    unlink(path);
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    str_copy(address.sun_path, sizeof(address.sun_path), path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 5), 0);
    where = (struct client_config){.socket = path, .answer_s = 0.05};
    client = client_of(&where);
    assert_int_equal(client_call(client, &q, &answer, &err), -1);
    assert_int_equal(err.code, ERR_SYSTEM);
    client_destroy(client);
    close(fd);
    unlink(path);
}

/* Takes one connection after the other and sends the same bytes to each. */
struct canned {
    int fd;
    const char *answer;
};

static void *send_canned(void *ctx)
{
    const struct canned *k = ctx;
    char heard[2000];
    int fd;

    while ((fd = accept(k->fd, NULL, NULL)) >= 0) {
        if (read(fd, heard, sizeof(heard)) > 0 &&
            write(fd, k->answer, strlen(k->answer)) < 0)
            fail_msg("the client has gone");
        close(fd);
    }
    return NULL;
}

/* What the client makes of these bytes: ERR_NONE, or the error's code. */
static enum err_code hear(const char *bytes, const char *body)
{
    const struct client_request q = {.method = HTTP_GET, .path = "/x"};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct canned k = {.fd = socket(AF_UNIX, SOCK_STREAM, 0), .answer = bytes};
    struct client_config where = {.socket = address.sun_path, .answer_s = 5};
    struct client_answer answer = {0};
    struct err err = {0};
    struct client *client;
    pthread_t thread;

    snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/corgi-canned-%d",
             (int)getpid());
    unlink(address.sun_path);
    assert_int_equal(bind(k.fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(k.fd, 5), 0);
    assert_int_equal(pthread_create(&thread, NULL, send_canned, &k), 0);
    client = client_of(&where);
    if (client_call(client, &q, &answer, &err) == 0 && body)
        assert_string_equal(answer.body, body);
    client_answer_fini(&answer);
    client_destroy(client);
    shutdown(k.fd, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(k.fd);
    unlink(address.sun_path);
    return err.code;
}

CASE(answers_that_are_none_are_refused)
{
    static const char *const bad[] = {

        "SSH-2.0\r\n\r\n", "\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", ""};

    assert_int_equal(hear("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"
                          "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n"
                          " world\r\n0\r\nA: b\r\n\r\n",
                          "hello world"),
                     ERR_NONE);
    assert_int_equal(hear("HTTP/1.0 404 Not Found\r\n\r\nuntil the end", "until the end"),
                     ERR_NONE);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (hear(bad[i], NULL) == ERR_NONE)
            fail_msg("taken: %s", bad[i]);
    assert_int_equal(hear("SSH-2.0\r\n\r\n", NULL), ERR_FORMAT);
}

CASE(urls_are_checked)
{
    static const char *const bad[] = {"ftp://x",     "http://",    "x",
                                      "http://[::1", "http://a/b", "https://:80",
                                      "http://a?b",  "http://u@a"};
    struct err err;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        err = (struct err){0};
        assert_null(client_create(&(struct client_config){.url = bad[i]}, &err));
        assert_int_equal(err.code, ERR_INVALID);
    }
}

static bool make_certificate(char *certificate, char *key, size_t size)
{
    char command[600];

    snprintf(certificate, size, "%s/cert.pem", c.folder);
    snprintf(key, size, "%s/key.pem", c.folder);
    snprintf(command, sizeof(command),
             "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
             "-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1,DNS:localhost "
             "-days 2 -keyout %s -out %s >/dev/null 2>&1",
             key, certificate);
    return system(command) == 0;
}

/* A body that the server cannot read ahead of being asked, and one right behind it. */
static void send_large(struct client *client)
{
    const int sizes[] = {900000, 5, 65530};

    for (int i = 0; i < 3; i++) {
        struct client_request q = {.method = HTTP_POST, .path = "/note"};
        struct client_answer answer;
        struct str body = {0};
        struct err err = {0};
        char want[32];

        str_addf(&body, "{\"note\":\"%0*d\"}", sizes[i], 0);
        snprintf(want, sizeof(want), "{\"heard\":%d}", sizes[i]);
        q.body = str_text(&body);
        if (client_call(client, &q, &answer, &err) < 0)
            fail_msg("%s", err.text);
        assert_string_equal(answer.body, want);
        client_answer_fini(&answer);
        str_fini(&body);
    }
}

CASE(tcp_wants_a_token_and_tls_a_certificate)
{
    struct client_config where = {0};
    struct client *client;
    struct client_answer answer = {0};
    const struct client_request q = {.method = HTTP_GET, .path = "/echo/1"};
    char certificate[120], key[120], url[64], plain[64];
    struct server_tcp tls = {.address = "127.0.0.1:0"};
    struct err err = {0};

    assert_int_equal(auth_token_make(&token, &err), 0);
    make();
    if (!make_certificate(certificate, key, sizeof(key))) {
        printf("skipped: tls (the command openssl is missing)\n");
        finish();
        return;
    }
    tls.certificate = certificate;
    assert_int_equal(server_listen_tcp(c.server, &tls, &err), -1); /* without its key */
    tls.key = key;
    if (server_listen_tcp(c.server, &tls, &err) < 0 ||
        server_listen_tcp(c.server, &(struct server_tcp){.address = "localhost:0"}, &err))
        fail_msg("%s", err.text);
    snprintf(url, sizeof(url), "https://127.0.0.1:%d", server_port(c.server, 0));
    snprintf(plain, sizeof(plain), "http://127.0.0.1:%d", server_port(c.server, 1));
    http_case_start(&c);

    where = (struct client_config){.url = url, .ca_file = certificate};
    client = client_of(&where);
    ask(client, "/echo/1", 401, "this needs a token");
    client_destroy(client);
    where.token = token.text;
    client = client_of(&where);
    ask(client, "/echo/1", 200, "\"user\":\"ada\"");
    ask(client, "/large", 200, "0123456789abcdef");
    ask(client, "/echo/2", 200, "\"id\":\"2\"");
    send_large(client);
    follow(client);
    client_destroy(client);
    where.ca_file = NULL; /* the system does not know it */
    client = client_of(&where);
    assert_int_equal(client_call(client, &q, &answer, &err), -1);
    assert_non_null(strstr(err.text, "certificate"));
    client_destroy(client);
    where.url = plain;
    client = client_of(&where);
    ask(client, "/echo/3", 200, "\"user\":\"ada\"");
    send_large(client);
    client_destroy(client);
    http_case_stop(&c);
    assert_int_equal(server_reload(c.server, &config, &err), 0);
    unlink(key); /* then all stays as it is */
    assert_int_equal(server_reload(c.server, &config, &err), -1);
    http_case_start(&c);
    where = (struct client_config){.url = url, .ca_file = certificate};
    client = client_of(&where);
    ask(client, "/echo/1", 401, "this needs a token");
    client_destroy(client);
    finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_client_speaks_to_a_unix_socket),
        cmocka_unit_test(errors_of_the_server_are_sentences),
        cmocka_unit_test(the_client_comes_back_after_a_restart),
        cmocka_unit_test(nobody_there_is_told_apart),
        cmocka_unit_test(answers_that_are_none_are_refused),
        cmocka_unit_test(urls_are_checked),
        cmocka_unit_test(tcp_wants_a_token_and_tls_a_certificate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
