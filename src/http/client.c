/* client.c - see client.h */
#include "http/client.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "http/client_private.h"
#include "http/reply.h"
#include "http/uri.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define READ_BYTES    16384
#define RETRY_FIRST_S 0.1

/* ---- where to ---------------------------------------------------------------------- */

static int read_url(struct client *c, const char *url, struct err *err)
{
    bool tls = str_starts(url, "https://");
    const char *rest = url + (tls ? 8 : 7);
    const char *end, *colon;

    if (!tls && !str_starts(url, "http://"))
        return err_set(err, ERR_INVALID,
                       "'%.100s' is not a URL like http://127.0.0.1:8421", url);
    end = rest + strcspn(rest, "/");
    if (*rest == '[') {
        const char *close = memchr(rest, ']', (size_t)(end - rest));

        if (!close)
            return err_set(err, ERR_INVALID, "'%.100s' lacks a ']'", url);
        c->host = strndup(rest + 1, (size_t)(close - rest - 1));
        colon = close + 1 < end ? close + 1 : NULL;
    } else {
        colon = memchr(rest, ':', (size_t)(end - rest));
        c->host = strndup(rest, (size_t)((colon ? colon : end) - rest));
    }
    c->port = colon && colon + 1 < end ? strndup(colon + 1, (size_t)(end - colon - 1))
                                       : mem_strdup(tls ? "443" : "80");
    c->tls = tls;
    if (!*c->host || strlen(end) > 1)
        return err_set(err, ERR_INVALID,
                       "'%.100s' is not a URL like http://127.0.0.1:8421", url);
    return 0;
}

struct client *client_create(const struct client_config *config, struct err *err)
{
    struct client *c = mem_new(struct client);
    struct str where = {0};

    c->connect_s = config->connect_s > 0 ? config->connect_s : 5;
    c->answer_s = config->answer_s > 0 ? config->answer_s : 60;
    c->max_bytes = config->max_bytes ? config->max_bytes : (size_t)64 << 20;
    c->token = config->token ? mem_strdup(config->token) : NULL;
    c->ca_file = config->ca_file ? mem_strdup(config->ca_file) : NULL;
    if (config->url) {
        if (read_url(c, config->url, err) < 0) {
            client_destroy(c);
            return NULL;
        }
        str_add(&where, config->url);
    } else {
        c->socket = mem_strdup(config->socket);
        str_addf(&where, "the Unix socket %s", config->socket);
    }
    c->where = str_take(&where);
    return c;
}

void client_destroy(struct client *c)
{
    if (!c)
        return;
    wire_close(c->wire);
    str_fini(&c->in);
    if (c->token)
        explicit_bzero(c->token, strlen(c->token));
    free(c->token);
    free(c->ca_file);
    free(c->socket);
    free(c->host);
    free(c->port);
    free(c->where);
    free(c);
}

const char *client_where(const struct client *c)
{
    return c->where;
}

void client_hang_up(struct client *c)
{
    wire_close(c->wire);
    c->wire = NULL;
    str_clear(&c->in);
}

static int connect_wire(struct client *c, struct err *err)
{
    const struct wire_target target = {.socket = c->socket,
                                       .host = c->host,
                                       .port = c->port,
                                       .tls = c->tls,
                                       .ca_file = c->ca_file};

    if (c->wire)
        return 0;
    c->wire = wire_open(&target, c->connect_s, err);
    return c->wire ? 0 : -1;
}

/* ---- one exchange ------------------------------------------------------------------ */

int client_send(struct client *c, const struct client_request *q, const char *headers,
                struct err *err)
{
    struct str text = {0};
    size_t length = q->body ? strlen(q->body) : 0;
    int rc;

    if (connect_wire(c, err) < 0)
        return -1;
    str_addf(&text, "%s %s HTTP/1.1\r\nHost: %s\r\nAccept: %s\r\n%s",
             http_method_name(q->method), q->path, c->host ? c->host : "localhost",
             *headers ? "text/event-stream" : "application/json", headers);
    if (c->token)
        str_addf(&text, "Authorization: Bearer %s\r\n", c->token);
    if (q->idempotency_key)
        str_addf(&text, "Idempotency-Key: %s\r\n", q->idempotency_key);
    if (q->body)
        str_add(&text, "Content-Type: application/json\r\n");
    if (q->body || q->method == HTTP_POST || q->method == HTTP_PUT ||
        q->method == HTTP_PATCH)
        str_addf(&text, "Content-Length: %zu\r\n", length);
    str_add(&text, "\r\n");
    str_add_bytes(&text, q->body ? q->body : "", length);
    rc = wire_write(c->wire, text.text, text.length, c->answer_s, err);
    if (c->token)
        explicit_bzero(text.text, text.length);
    str_fini(&text);
    return rc;
}

/* More bytes into c->in; 0 at the end of the connection. */
static long read_more(struct client *c, double until_s, struct err *err)
{
    char bytes[READ_BYTES];
    double left_s = until_s - clock_wall_s();
    long count = wire_read(c->wire, bytes, sizeof(bytes), left_s > 0 ? left_s : 0, err);

    if (count < 0 && err->code == ERR_LIMIT)
        err_set(err, ERR_SYSTEM, "there was no answer within %g s", c->answer_s);
    if (count > 0)
        str_add_bytes(&c->in, bytes, (size_t)count);
    return count;
}

static void use(struct client *c, size_t count)
{
    if (count == 0)
        return;
    memmove(c->in.text, c->in.text + count, c->in.length - count + 1);
    c->in.length -= count;
}

int client_read_head(struct client *c, struct reply *reply, bool head_only,
                     double until_s, struct err *err)
{
    for (;;) {
        long used = reply_head(reply, str_text(&c->in), c->in.length, head_only, err);
        long more;

        if (used < 0)
            return -1;
        use(c, (size_t)used);
        if (used > 0 && reply->status >= 200)
            return 0;
        if (used > 0)
            continue; /* 100 Continue and the like */
        more = read_more(c, until_s, err);
        if (more < 0)
            return -1;
        if (more == 0)
            return err_set(err, ERR_SYSTEM,
                           "the connection was closed without an answer");
    }
}

static int too_large(const struct client *c, struct err *err)
{
    return err_set(err, ERR_LIMIT, "the answer is larger than %zu bytes", c->max_bytes);
}

static int read_body(struct client *c, const struct reply *reply, struct str *body,
                     double until_s, struct err *err)
{
    struct reply_chunks chunks = {0};

    if (reply->framing == REPLY_LENGTH && reply->length > c->max_bytes)
        return too_large(c, err);
    for (;;) {
        long more;

        if (reply->framing == REPLY_CHUNKED) {
            if (reply_dechunk(&chunks, str_text(&c->in), c->in.length, body, err) < 0)
                return -1;
        } else {
            size_t here = c->in.length;

            if (reply->framing == REPLY_LENGTH && here > reply->length - body->length)
                here = reply->length - body->length;
            str_add_bytes(body, str_text(&c->in), here);
        }
        str_clear(&c->in); /* we ask one thing at a time: nothing else can follow */
        if (body->length > c->max_bytes)
            return too_large(c, err);
        if (chunks.done ||
            (reply->framing == REPLY_LENGTH && body->length == reply->length))
            return 0;
        more = read_more(c, until_s, err);
        if (more < 0)
            return -1;
        if (more == 0 && reply->framing == REPLY_CLOSE)
            return 0;
        if (more == 0)
            return err_set(err, ERR_SYSTEM,
                           "the connection was closed within the answer");
    }
}

int client_read_answer(struct client *c, const struct reply *reply,
                       struct client_answer *answer, double until_s, struct err *err)
{
    struct client_answer made = {.status = reply->status};
    struct str body = {0};
    struct err ignored;

    if (read_body(c, reply, &body, until_s, err) < 0) {
        str_fini(&body);
        return -1;
    }
    if (!reply->keep_alive || reply->framing == REPLY_CLOSE)
        client_hang_up(c);
    memcpy(made.content_type, reply->content_type, sizeof(made.content_type));
    made.length = body.length;
    if (str_starts(made.content_type, "application/json"))
        json_doc_parse(&made.json, str_text(&body), body.length, "the answer", &ignored);
    str_add(&body, "");
    made.body = body.text ? str_take(&body) : mem_strdup("");
    *answer = made;
    return 0;
}

static int exchange(struct client *c, const struct client_request *q,
                    struct client_answer *answer, struct err *err)
{
    double until_s = clock_wall_s() + c->answer_s;
    bool used_before = c->wire != NULL;
    struct reply reply;
    int rc = -1;

    if (client_send(c, q, "", err) == 0 &&
        client_read_head(c, &reply, q->method == HTTP_HEAD, until_s, err) == 0)
        rc = client_read_answer(c, &reply, answer, until_s, err);
    if (rc < 0)
        client_hang_up(c);
    /* The server may have closed a connection that was idle; that says nothing. */
    if (rc < 0 && used_before && err->code == ERR_SYSTEM &&
        (q->method == HTTP_GET || q->method == HTTP_HEAD || q->idempotency_key))
        return exchange(c, q, answer, err);
    return rc;
}

int client_call(struct client *c, const struct client_request *request,
                struct client_answer *answer, struct err *err)
{
    double pause_s = RETRY_FIRST_S;

    for (int tries = 0;; tries++) {
        struct timespec pause;

        if (exchange(c, request, answer, err) == 0)
            return 0;
        if (tries >= request->retries ||
            (err->code != ERR_SYSTEM && err->code != ERR_NOT_FOUND))
            return err_prefix(err, "%s", c->where);
        pause.tv_sec = (time_t)pause_s;
        pause.tv_nsec = (long)((pause_s - (double)pause.tv_sec) * 1e9);
        nanosleep(&pause, NULL);
        pause_s *= 2;
    }
}

void client_answer_fini(struct client_answer *answer)
{
    free(answer->body);
    json_doc_destroy(answer->json);
    *answer = (struct client_answer){0};
}

static enum err_code code_of(const char *name)
{
    for (int i = 0; name && i < ERR_CODE_COUNT; i++)
        if (!strcmp(name, err_code_name((enum err_code)i)))
            return (enum err_code)i;
    return ERR_INVALID;
}

void client_answer_error(const struct client_answer *answer, struct err *err)
{
    const struct json_value *error =
        answer->json ? json_value_get(json_doc_root(answer->json), "error") : NULL;
    const char *message = json_value_string(json_value_get(error, "message"));

    if (answer->status >= 200 && answer->status < 300)
        *err = (struct err){0};
    else if (message)
        err_set(err, code_of(json_value_string(json_value_get(error, "code"))), "%s",
                message);
    else
        err_set(err, ERR_FORMAT, "the server answered %d %s", answer->status,
                http_status_name(answer->status));
}

char *client_encode(const char *text)
{
    struct str out = {0};

    uri_encode(&out, text);
    return out.text ? str_take(&out) : mem_strdup("");
}

void client_idempotency_key(char key[33])
{
    unsigned char random[16];

    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        abort(); /* 16 bytes never fall short on Linux */
    for (int i = 0; i < 16; i++)
        snprintf(key + 2L * i, 3, "%02x", random[i]);
}
