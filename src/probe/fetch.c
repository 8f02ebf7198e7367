/* fetch.c - one HTTP exchange without waiting, see fetch.h
 *
 * scrape.c gets the job's metrics page by it, sender.c posts reports; both watch its
 * descriptor in the probe's poller. */
#include "probe/fetch.h"

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <unistd.h>

/* ---- the answer -------------------------------------------------------------------- */

enum stage {
    STAGE_STATUS,
    STAGE_HEADERS,
    STAGE_BODY,       /* `left` bytes, or to the end of the connection */
    STAGE_CHUNK_SIZE, /* chunked from here on */
    STAGE_CHUNK,
    STAGE_CHUNK_END,
    STAGE_TRAILERS,
    STAGE_DONE,
};

void fetch_answer_begin(struct fetch_answer *answer, size_t max_bytes)
{
    answer->stage = STAGE_STATUS;
    answer->chunked = answer->has_length = answer->bad = false;
    answer->left = 0;
    answer->budget = max_bytes;
    answer->length = 0;
}

/* Only digits of the base; false when there is none or it is absurd. */
static bool read_size(const char *text, int base, size_t *size)
{
    char *end;
    unsigned long long value;

    if (!isxdigit((unsigned char)*text))
        return false;
    value = strtoull(text, &end, base);
    if (end == text || value > ((uint64_t)1 << 40))
        return false;
    *size = (size_t)value;
    return true;
}

static void begin_body(struct fetch_answer *answer)
{
    if (answer->chunked)
        answer->stage = STAGE_CHUNK_SIZE;
    else if (answer->has_length && answer->left == 0)
        answer->stage = STAGE_DONE;
    else
        answer->stage = STAGE_BODY;
}

static void take_header(struct fetch_answer *answer)
{
    const char *value = strchr(answer->line, ':');
    size_t name;

    if (answer->length == 0) {
        begin_body(answer);
        return;
    }
    if (!value)
        return;
    name = (size_t)(value - answer->line);
    for (value++; *value == ' ' || *value == '\t';)
        value++;
    if (name == 14 && !strncasecmp(answer->line, "Content-Length", 14)) {
        answer->has_length = read_size(value, 10, &answer->left);
        answer->bad |= !answer->has_length;
    } else if (name == 17 && !strncasecmp(answer->line, "Transfer-Encoding", 17)) {
        answer->chunked = !strncasecmp(value, "chunked", 7);
    }
}

static void take_line(struct fetch_answer *answer)
{
    switch ((enum stage)answer->stage) {
    case STAGE_STATUS:
        answer->bad |= strncmp(answer->line, "HTTP/1.", 7) || answer->length < 12 ||
                       answer->line[9] != '2';
        answer->stage = STAGE_HEADERS;
        break;
    case STAGE_HEADERS:
        take_header(answer);
        break;
    case STAGE_CHUNK_SIZE:
        answer->bad |= !read_size(answer->line, 16, &answer->left);
        answer->stage = answer->left > 0 ? STAGE_CHUNK : STAGE_TRAILERS;
        break;
    case STAGE_CHUNK_END:
        answer->bad |= answer->length > 0;
        answer->stage = STAGE_CHUNK_SIZE;
        break;
    case STAGE_TRAILERS:
        if (answer->length == 0)
            answer->stage = STAGE_DONE;
        break;
    case STAGE_BODY:
    case STAGE_CHUNK:
    case STAGE_DONE:
        break;
    }
}

static void take_line_byte(struct fetch_answer *answer, char c)
{
    if (c != '\n') {
        if (answer->length + 1 < sizeof(answer->line))
            answer->line[answer->length++] = c;
        return;
    }
    if (answer->length > 0 && answer->line[answer->length - 1] == '\r')
        answer->length--;
    answer->line[answer->length] = '\0';
    take_line(answer);
    answer->length = 0;
}

static size_t take_body(struct fetch_answer *answer, const char *bytes, size_t count)
{
    bool bounded = answer->stage == STAGE_CHUNK || answer->has_length;

    if (bounded && count > answer->left)
        count = answer->left;
    if (answer->body)
        answer->body(answer->ctx, bytes, count);
    if (bounded) {
        answer->left -= count;
        if (answer->left == 0)
            answer->stage = answer->stage == STAGE_CHUNK ? STAGE_CHUNK_END : STAGE_DONE;
    }
    return count;
}

enum fetch_state fetch_answer_feed(struct fetch_answer *answer, const char *bytes,
                                   size_t count)
{
    if (count > answer->budget)
        return FETCH_FAILED;
    answer->budget -= count;
    while (count > 0 && !answer->bad && answer->stage != STAGE_DONE) {
        size_t taken = 1;

        if (answer->stage == STAGE_BODY || answer->stage == STAGE_CHUNK)
            taken = take_body(answer, bytes, count);
        else
            take_line_byte(answer, *bytes);
        bytes += taken;
        count -= taken;
    }
    if (answer->bad)
        return FETCH_FAILED;
    return answer->stage == STAGE_DONE ? FETCH_DONE : FETCH_RUNNING;
}

enum fetch_state fetch_answer_eof(struct fetch_answer *answer)
{
    bool open_end = answer->stage == STAGE_BODY && !answer->has_length;

    return !answer->bad && (open_end || answer->stage == STAGE_DONE) ? FETCH_DONE
                                                                     : FETCH_FAILED;
}

/* ---- the exchange ------------------------------------------------------------------ */

struct fetch {
    struct fetch_url url;
    int fd;
    enum fetch_state state;
    double deadline_s;
    size_t sent;
    struct str request;
    struct fetch_answer answer;
};

static int set_ipv4(struct fetch_url *url, const char *host, uint16_t port)
{
    struct sockaddr_in *in = (struct sockaddr_in *)&url->address;

    if (inet_pton(AF_INET, host, &in->sin_addr) != 1)
        return -1;
    in->sin_family = AF_INET;
    in->sin_port = htons(port);
    url->address_length = sizeof(*in);
    return 0;
}

static int set_ipv6(struct fetch_url *url, const char *host, uint16_t port)
{
    struct sockaddr_in6 *in = (struct sockaddr_in6 *)&url->address;

    if (inet_pton(AF_INET6, host, &in->sin6_addr) != 1)
        return -1;
    in->sin6_family = AF_INET6;
    in->sin6_port = htons(port);
    url->address_length = sizeof(*in);
    return 0;
}

/* "host", "host:port" or "[v6]:port" of that many bytes. */
static int set_address(struct fetch_url *url, const char *text, size_t length,
                       struct err *err)
{
    char host[128], *port_text = NULL, *name = host;
    int port = 80;

    if (length == 0 || length >= sizeof(host))
        return err_set(err, ERR_INVALID, "the URL has no host");
    memcpy(host, text, length);
    host[length] = '\0';
    str_copy(url->host, sizeof(url->host), host);
    if (*host == '[') {
        char *close = strchr(host, ']');

        if (!close)
            return err_set(err, ERR_INVALID, "the URL has no ] behind its address");
        *close = '\0';
        name++;
        port_text = close[1] == ':' ? close + 2 : NULL;
    } else if (strchr(host, ':')) {
        port_text = strchr(host, ':');
        *port_text++ = '\0';
    }
    if (port_text && (!parse_int(port_text, &port) || port < 1 || port > 65535))
        return err_set(err, ERR_INVALID, "the port %.20s is not one", port_text);
    if (!strcmp(name, "localhost"))
        strcpy(name, "127.0.0.1");
    if (set_ipv4(url, name, (uint16_t)port) < 0 &&
        set_ipv6(url, name, (uint16_t)port) < 0)
        return err_set(err, ERR_INVALID,
                       "%.80s is no address: give an IP address or localhost", name);
    return 0;
}

int fetch_url_parse(struct fetch_url *url, const char *text, struct err *err)
{
    static const char scheme[] = "http://";
    struct fetch_url u = {0};
    const char *host = text + sizeof(scheme) - 1, *path;

    if (!str_starts(text, scheme))
        return err_set(err, ERR_INVALID, "the URL must begin with http://");
    for (const char *p = text; *p; p++)
        if (*p <= ' ' || *p == 0x7f)
            return err_set(err, ERR_INVALID, "the URL has blanks or control bytes");
    path = strchr(host, '/');
    if (!path)
        path = host + strlen(host);
    if (set_address(&u, host, (size_t)(path - host), err) < 0)
        return -1;
    if (!str_copy(u.path, sizeof(u.path), *path ? path : "/"))
        return err_set(err, ERR_LIMIT, "the URL is longer than %d bytes", FETCH_MAX_URL);
    *url = u;
    return 0;
}

struct fetch *fetch_create(const struct fetch_url *url,
                           void (*body)(void *ctx, const char *bytes, size_t count),
                           void *ctx)
{
    struct fetch *fetch = mem_new(struct fetch);

    fetch->url = *url;
    fetch->fd = -1;
    fetch->answer.body = body;
    fetch->answer.ctx = ctx;
    return fetch;
}

void fetch_destroy(struct fetch *fetch)
{
    if (!fetch)
        return;
    if (fetch->fd >= 0)
        close(fetch->fd);
    str_fini(&fetch->request);
    free(fetch);
}

static enum fetch_state finish(struct fetch *fetch, enum fetch_state state)
{
    if (fetch->fd >= 0)
        close(fetch->fd);
    fetch->fd = -1;
    fetch->state = FETCH_IDLE;
    return state;
}

static void write_request(struct fetch *fetch, const char *post, const char *type)
{
    str_clear(&fetch->request);
    str_addf(&fetch->request, "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: corgi-probe\r\n",
             post ? "POST" : "GET", fetch->url.path, fetch->url.host);
    if (post)
        str_addf(&fetch->request, "Content-Type: %s\r\nContent-Length: %zu\r\n", type,
                 strlen(post));
    str_addf(&fetch->request, "Accept: */*\r\nConnection: close\r\n\r\n%s",
             post ? post : "");
}

enum fetch_state fetch_start(struct fetch *fetch, const char *post,
                             const char *content_type, double now_s)
{
    finish(fetch, FETCH_IDLE);
    fetch->fd = socket(fetch->url.address.ss_family,
                       SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fetch->fd < 0)
        return FETCH_FAILED;
    if (connect(fetch->fd, (const struct sockaddr *)&fetch->url.address,
                fetch->url.address_length) < 0 &&
        errno != EINPROGRESS)
        return finish(fetch, FETCH_FAILED);
    write_request(fetch, post, content_type);
    fetch_answer_begin(&fetch->answer, FETCH_MAX_BYTES);
    fetch->sent = 0;
    fetch->deadline_s = now_s + FETCH_TIMEOUT_S;
    return fetch->state = FETCH_RUNNING;
}

static bool send_request(struct fetch *fetch)
{
    while (fetch->sent < fetch->request.length) {
        ssize_t n = send(fetch->fd, fetch->request.text + fetch->sent,
                         fetch->request.length - fetch->sent, MSG_NOSIGNAL);

        if (n < 0)
            return errno == EAGAIN || errno == EINTR || errno == EINPROGRESS ||
                   errno == ENOTCONN;
        fetch->sent += (size_t)n;
    }
    return true;
}

static enum fetch_state receive(struct fetch *fetch)
{
    char bytes[16384];

    for (;;) {
        ssize_t n = recv(fetch->fd, bytes, sizeof(bytes), 0);
        enum fetch_state state;

        if (n < 0)
            return errno == EAGAIN || errno == EINTR ? FETCH_RUNNING : FETCH_FAILED;
        state = n == 0 ? fetch_answer_eof(&fetch->answer)
                       : fetch_answer_feed(&fetch->answer, bytes, (size_t)n);
        if (state != FETCH_RUNNING)
            return state;
    }
}

enum fetch_state fetch_go(struct fetch *fetch, double now_s)
{
    enum fetch_state state = FETCH_RUNNING;

    if (fetch->state != FETCH_RUNNING)
        return FETCH_IDLE;
    if (now_s > fetch->deadline_s || !send_request(fetch))
        state = FETCH_FAILED;
    else if (fetch->sent == fetch->request.length)
        state = receive(fetch);
    return state == FETCH_RUNNING ? state : finish(fetch, state);
}

int fetch_fd(const struct fetch *fetch)
{
    return fetch->fd;
}

uint32_t fetch_events(const struct fetch *fetch)
{
    return fetch->sent < fetch->request.length ? EPOLLOUT : EPOLLIN;
}
