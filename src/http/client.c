/* client.c - the commands of corgi ask the daemon here
 *
 * corgi/daemon.c makes one client for a command; client_call() brings one answer, and
 * client_follow() gives every event to its caller until one of the two ends it.  libcurl
 * does the connection, TLS and the lookup of names; only this file knows it. */
#include "http/client.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/un.h>
#include <time.h>

#define RETRY_FIRST_S 0.1
#define SILENT_S      60.0 /* the server sends a comment every 15 s */

struct client {
    CURL *curl;   /* keeps the connection between calls */
    char *socket; /* NULL: over TCP */
    char *base;   /* "http://host:port", what paths are put behind */
    char *ca_file, *token, *where;
    double connect_s, answer_s;
    size_t max_bytes;
};

/* One question and what has come of its answer. */
struct exchange {
    struct client *client;
    struct str body;
    const struct client_stream *stream; /* NULL: an answer that ends */
    struct sse_parse events;
    bool begun;     /* the answer is a stream of events */
    bool stopped;   /* by the caller's event() */
    double heard_s; /* when the last byte came */
    struct err *err;
    char problem[CURL_ERROR_SIZE];
};

/* ---- where to ---------------------------------------------------------------------- */

static int read_url(struct client *c, const char *url, struct err *err)
{
    const char *host = strstr(url, "://");
    CURLU *parts = curl_url();
    size_t length = host ? (size_t)(host - url) + 3 + strcspn(host + 3, "/?#") : 0;
    bool good = (str_starts(url, "http://") || str_starts(url, "https://")) &&
                strlen(url + length) <= 1 && !strpbrk(url, "?#") &&
                !curl_url_set(parts, CURLUPART_URL, url, CURLU_DISALLOW_USER);

    curl_url_cleanup(parts);
    if (!good)
        return err_set(err, ERR_INVALID,
                       "'%.100s' is not a URL like http://127.0.0.1:8421", url);
    c->base = strndup(url, length);
    return 0;
}

static int read_socket(struct client *c, const char *path, struct err *err)
{
    if (strlen(path) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
        return err_set(err, ERR_INVALID, "the socket's path %s is too long", path);
    c->socket = mem_strdup(path);
    c->base = mem_strdup("http://localhost");
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
    c->curl = curl_easy_init();
    if (!c->curl)
        abort(); /* memory is out */
    if ((config->url ? read_url(c, config->url, err)
                     : read_socket(c, config->socket, err)) < 0) {
        client_destroy(c);
        return NULL;
    }
    str_addf(&where, "%s%s", config->url ? "" : "the Unix socket ",
             config->url ? config->url : config->socket);
    c->where = str_take(&where);
    return c;
}

void client_destroy(struct client *c)
{
    if (!c)
        return;
    curl_easy_cleanup(c->curl);
    if (c->token)
        explicit_bzero(c->token, strlen(c->token));
    free(c->token);
    free(c->ca_file);
    free(c->socket);
    free(c->base);
    free(c->where);
    free(c);
}

const char *client_where(const struct client *c)
{
    return c->where;
}

/* ---- events as they come in -------------------------------------------------------- */

void sse_parse_fini(struct sse_parse *p)
{
    str_fini(&p->line);
    str_fini(&p->type);
    str_fini(&p->data);
    str_fini(&p->id);
}

static int take_field(struct sse_parse *p, const char *name, const char *value,
                      struct err *err)
{
    if (!strcmp(name, "event")) {
        str_clear(&p->type);
        str_add(&p->type, value);
    } else if (!strcmp(name, "id")) {
        str_clear(&p->id);
        str_add(&p->id, value);
    } else if (!strcmp(name, "data")) {
        if (p->data.length + strlen(value) >= SSE_PARSE_MAX_DATA)
            return err_set(err, ERR_LIMIT, "an event is larger than %zu bytes",
                           SSE_PARSE_MAX_DATA);
        if (p->has_data)
            str_add(&p->data, "\n");
        str_add(&p->data, value);
        p->has_data = true;
    }
    return 0; /* others are for other readers */
}

static int end_event(struct sse_parse *p)
{
    const struct client_event event = {.id = str_text(&p->id),
                                       .type = p->type.length ? str_text(&p->type)
                                                              : "message",
                                       .data = str_text(&p->data)};
    bool go_on = !p->has_data || p->event(p->ctx, &event);

    str_clear(&p->type);
    str_clear(&p->data);
    p->has_data = false;
    return go_on ? 0 : 1;
}

static int take_line(struct sse_parse *p, struct err *err)
{
    char *text = p->line.text, *colon;
    int rc = 0;

    if (p->line.length == 0)
        return end_event(p);
    colon = strchr(text, ':');
    if (colon != text) { /* else a comment */
        if (colon)
            *colon++ = '\0';
        rc = take_field(p, text, colon ? colon + (*colon == ' ') : "", err);
    }
    str_clear(&p->line);
    return rc;
}

int sse_parse_feed(struct sse_parse *p, const char *bytes, size_t count, struct err *err)
{
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++) {
        char c = bytes[i];

        if (p->after_cr && c == '\n') {
            p->after_cr = false;
            continue;
        }
        p->after_cr = c == '\r';
        if (c == '\r' || c == '\n') {
            rc = take_line(p, err);
            continue;
        }
        if (p->line.length >= SSE_PARSE_MAX_LINE)
            return err_set(err, ERR_LIMIT,
                           "a line of the events is longer than %zu bytes",
                           SSE_PARSE_MAX_LINE);
        if (c) /* a NUL means nothing in text */
            str_add_bytes(&p->line, &c, 1);
        if (!p->begun && p->line.length == 3) {
            p->begun = true;
            if (!memcmp(p->line.text, "\xef\xbb\xbf", 3))
                str_clear(&p->line);
        }
    }
    return rc;
}

/* ---- one exchange ------------------------------------------------------------------ */

static bool is_stream(const struct exchange *x)
{
    const char *type = NULL;
    long status = 0;

    curl_easy_getinfo(x->client->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(x->client->curl, CURLINFO_CONTENT_TYPE, &type);
    return x->stream && status == 200 && type && str_starts(type, "text/event-stream");
}

/* Bytes of the answer.  Less than count ends the exchange with CURLE_WRITE_ERROR. */
static size_t take_bytes(char *bytes, size_t one, size_t count, void *ctx)
{
    struct exchange *x = ctx;

    (void)one;
    x->heard_s = clock_wall_s();
    if (x->begun) {
        int rc = sse_parse_feed(&x->events, bytes, count, x->err);

        x->stopped = rc > 0;
        return rc == 0 ? count : 0;
    }
    if (x->body.length + count > x->client->max_bytes) {
        err_set(x->err, ERR_LIMIT, "the answer is larger than %zu bytes",
                x->client->max_bytes);
        return 0;
    }
    str_add_bytes(&x->body, bytes, count);
    return count;
}

/* Called for each line of the head; the last one is empty. */
static size_t take_header(char *line, size_t one, size_t count, void *ctx)
{
    struct exchange *x = ctx;

    (void)one;
    x->heard_s = clock_wall_s();
    if (count != 2 || line[0] != '\r' || !is_stream(x))
        return count;
    x->begun = true;
    x->stopped = !x->stream->event(x->stream->ctx, NULL);
    return x->stopped ? 0 : count;
}

/* Called about once a second: a stream has no end that a time limit could be set for. */
static int watch_silence(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c,
                         curl_off_t d)
{
    struct exchange *x = ctx;
    double silent_s = clock_wall_s() - x->heard_s;

    (void)a, (void)b, (void)c, (void)d;
    if (x->begun && silent_s > SILENT_S)
        return err_set(x->err, ERR_SYSTEM, "the server has been silent for %g s",
                       SILENT_S);
    if (!x->begun && silent_s > x->client->answer_s)
        return err_set(x->err, ERR_SYSTEM, "there was no answer within %g s",
                       x->client->answer_s);
    return 0;
}

static int cannot_connect(const struct exchange *x, int why)
{
    const struct client *c = x->client;
    const char *where = c->socket ? c->socket : strstr(c->base, "://") + 3;

    errno = why;
    if (why == ENOENT || why == ECONNREFUSED)
        return err_set(x->err, ERR_NOT_FOUND, "nobody listens on %s", where);
    return err_sys(x->err, "cannot connect to %s", where);
}

static int too_late(const struct exchange *x)
{
    double connected_s = 0, secured_s = 0;

    curl_easy_getinfo(x->client->curl, CURLINFO_CONNECT_TIME, &connected_s);
    curl_easy_getinfo(x->client->curl, CURLINFO_APPCONNECT_TIME, &secured_s);
    if (!(connected_s > 0))
        return cannot_connect(x, ETIMEDOUT);
    if (str_starts(x->client->base, "https") && !(secured_s > 0))
        return err_set(x->err, ERR_SYSTEM, "the TLS handshake takes too long");
    return err_set(x->err, ERR_SYSTEM, "there was no answer within %g s",
                   x->client->answer_s);
}

/* libcurl's word for what went wrong as ours; err is filled already where one of the
 * functions above ended it. */
static int explain(const struct exchange *x, CURLcode code)
{
    long why = 0;

    curl_easy_getinfo(x->client->curl, CURLINFO_OS_ERRNO, &why);
    switch (code) {
    case CURLE_WRITE_ERROR:
    case CURLE_ABORTED_BY_CALLBACK:
        return -1;
    case CURLE_COULDNT_RESOLVE_HOST:
        return err_set(x->err, ERR_NOT_FOUND, "cannot find the host: %s", x->problem);
    case CURLE_COULDNT_CONNECT:
        return cannot_connect(x, why ? (int)why : ECONNREFUSED);
    case CURLE_OPERATION_TIMEDOUT:
        return too_late(x);
    case CURLE_GOT_NOTHING:
        return err_set(x->err, ERR_SYSTEM, "the connection was closed without an answer");
    case CURLE_PARTIAL_FILE:
        return err_set(x->err, ERR_SYSTEM, "the connection was closed within the answer");
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
        return err_set(x->err, ERR_FORMAT, "the answer is not HTTP");
    case CURLE_SSL_CACERT_BADFILE:
        return err_set(x->err, ERR_SYSTEM, "cannot read the certificates to trust: %s",
                       x->problem);
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
        return err_set(x->err, ERR_SYSTEM, "the TLS handshake failed: %s", x->problem);
    default:
        return err_set(x->err, ERR_SYSTEM, "the connection was lost: %s",
                       *x->problem ? x->problem : curl_easy_strerror(code));
    }
}

/* name: value, or nothing without a value. */
static void add_header(struct curl_slist **list, const char *name, const char *value)
{
    struct str line = {0};

    if (!value)
        return;
    str_addf(&line, "%s: %s", name, value);
    *list = curl_slist_append(*list, str_text(&line));
    explicit_bzero(line.text, line.length); /* it may be the token */
    str_fini(&line);
}

static struct curl_slist *make_headers(const struct exchange *x,
                                       const struct client_request *q)
{
    struct curl_slist *list = curl_slist_append(NULL, "Expect:"); /* ask for no 100 */
    struct str bearer = {0};

    if (x->client->token)
        str_addf(&bearer, "Bearer %s", x->client->token);
    add_header(&list, "Accept", x->stream ? "text/event-stream" : "application/json");
    add_header(&list, "Authorization", x->client->token ? str_text(&bearer) : NULL);
    add_header(&list, "Idempotency-Key", q->idempotency_key);
    add_header(&list, "Content-Type", q->body ? "application/json" : NULL);
    if (x->stream) {
        add_header(&list, "Cache-Control", "no-cache");
        add_header(&list, "Last-Event-ID", x->stream->last_event_id);
    }
    str_fini(&bearer);
    return list;
}

static void set_question(CURL *curl, const struct client_request *q)
{
    bool repeatable = q->method == HTTP_GET || q->method == HTTP_HEAD;

    if (q->body || q->method == HTTP_POST || q->method == HTTP_PUT ||
        q->method == HTTP_PATCH)
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, q->body ? q->body : "");
    curl_easy_setopt(curl, CURLOPT_NOBODY, q->method == HTTP_HEAD ? 1L : 0L);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, http_method_names[q->method]);
    /* libcurl asks again by itself when a connection that it had kept is closed. */
    curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT,
                     repeatable || q->idempotency_key ? 0L : 1L);
}

static int perform(struct exchange *x, const struct client_request *q)
{
    const struct client *c = x->client;
    struct curl_slist *headers = make_headers(x, q);
    struct str url = {0};
    CURLcode code;

    x->heard_s = clock_wall_s();
    str_addf(&url, "%s%s", c->base, q->path);
    curl_easy_reset(c->curl);
    curl_easy_setopt(c->curl, CURLOPT_URL, str_text(&url));
    curl_easy_setopt(c->curl, CURLOPT_UNIX_SOCKET_PATH, c->socket);
    curl_easy_setopt(c->curl, CURLOPT_CAINFO, c->ca_file);
    curl_easy_setopt(c->curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(c->curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(c->curl, CURLOPT_PROXY, ""); /* none, whatever the environment has */
    curl_easy_setopt(c->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c->curl, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)(1000 * c->connect_s));
    curl_easy_setopt(c->curl, CURLOPT_TIMEOUT_MS,
                     x->stream ? 0L : (long)(1000 * c->answer_s));
    curl_easy_setopt(c->curl, CURLOPT_ERRORBUFFER, x->problem);
    curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, take_bytes);
    curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, x);
    curl_easy_setopt(c->curl, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(c->curl, CURLOPT_HEADERDATA, x);
    curl_easy_setopt(c->curl, CURLOPT_XFERINFOFUNCTION, watch_silence);
    curl_easy_setopt(c->curl, CURLOPT_XFERINFODATA, x);
    curl_easy_setopt(c->curl, CURLOPT_NOPROGRESS, x->stream ? 0L : 1L);
    set_question(c->curl, q);
    code = curl_easy_perform(c->curl);
    curl_slist_free_all(headers);
    str_fini(&url);
    if (code == CURLE_OK || x->stopped || (x->begun && code == CURLE_PARTIAL_FILE))
        return 0;
    return explain(x, code);
}

static void take_answer(struct exchange *x, struct client_answer *answer)
{
    const char *type = NULL;
    struct err ignored;
    long status = 0;

    curl_easy_getinfo(x->client->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(x->client->curl, CURLINFO_CONTENT_TYPE, &type);
    *answer = (struct client_answer){.status = (int)status, .length = x->body.length};
    if (type && str_starts(type, "application/json"))
        json_doc_parse(&answer->json, str_text(&x->body), x->body.length, "the answer",
                       &ignored);
    answer->body = x->body.text ? str_take(&x->body) : mem_strdup("");
}

int client_call(struct client *c, const struct client_request *request,
                struct client_answer *answer, struct err *err)
{
    double pause_s = RETRY_FIRST_S;

    for (int tries = 0;; tries++, pause_s *= 2) {
        struct exchange x = {.client = c, .err = err};
        int rc = perform(&x, request);
        struct timespec pause;

        if (rc == 0)
            take_answer(&x, answer);
        str_fini(&x.body);
        if (rc == 0)
            return 0;
        if (tries >= request->retries ||
            (err->code != ERR_SYSTEM && err->code != ERR_NOT_FOUND))
            return err_prefix(err, "%s", c->where);
        pause.tv_sec = (time_t)pause_s;
        pause.tv_nsec = (long)((pause_s - (double)pause.tv_sec) * 1e9);
        nanosleep(&pause, NULL);
    }
}

static int not_a_stream(struct exchange *x)
{
    struct client_answer answer;

    take_answer(x, &answer);
    client_answer_error(&answer, x->err);
    if (x->err->code == ERR_NONE)
        err_set(x->err, ERR_FORMAT, "the server does not answer with events");
    client_answer_fini(&answer);
    return -1;
}

int client_follow(struct client *c, const struct client_stream *stream, struct err *err)
{
    const struct client_request q = {.method = HTTP_GET, .path = stream->path};
    struct exchange x = {.client = c, .stream = stream, .err = err};
    int rc;

    x.events.event = stream->event;
    x.events.ctx = stream->ctx;
    rc = perform(&x, &q);
    if (rc == 0 && !x.begun)
        rc = not_a_stream(&x);
    else if (rc == 0)
        rc = x.stopped ? 0 : 1;
    sse_parse_fini(&x.events);
    str_fini(&x.body);
    return rc;
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
    const struct json_value *error = json_value_get(json_doc_root(answer->json), "error");
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
    char *coded = curl_easy_escape(NULL, text, 0), *copy;

    copy = mem_strdup(coded ? coded : "");
    curl_free(coded);
    return copy;
}

void client_idempotency_key(char key[33])
{
    unsigned char random[16];

    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        abort(); /* 16 bytes never fall short on Linux */
    for (int i = 0; i < 16; i++)
        snprintf(key + 2L * i, 3, "%02x", random[i]);
}
