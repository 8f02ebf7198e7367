/* fetch.c - one HTTP exchange without waiting, see fetch.h
 *
 * scrape.c gets the job's metrics page by it, and watches its descriptor in the probe's
 * poller. */
#include "probe/fetch.h"

#include "base/parse.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <unistd.h>

/* ---- the answer -------------------------------------------------------------------- */

/* The next line, without its end; false when it has not come whole. */
static bool next_line(const char **at, const char *end, const char **line, size_t *length)
{
    const char *newline = memchr(*at, '\n', (size_t)(end - *at));

    if (!newline)
        return false;
    *line = *at;
    *length = (size_t)(newline - *at);
    if (*length > 0 && newline[-1] == '\r')
        (*length)--;
    *at = newline + 1;
    return true;
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

/* What stands behind the header's name; NULL when the line is another one. */
static const char *header_value(const char *line, size_t length, const char *name)
{
    size_t name_length = strlen(name);

    if (length <= name_length || line[name_length] != ':' ||
        strncasecmp(line, name, name_length))
        return NULL;
    line += name_length + 1;
    return line + strspn(line, " \t");
}

static enum fetch_state read_chunks(const char *at, const char *end, struct str *body)
{
    const char *line;
    size_t length, size;

    while (next_line(&at, end, &line, &length)) {
        if (!read_size(line, 16, &size))
            return FETCH_FAILED;
        if (size == 0)
            break;
        if ((size_t)(end - at) < size)
            return FETCH_RUNNING;
        str_add_bytes(body, at, size);
        at += size;
        if (!next_line(&at, end, &line, &length))
            return FETCH_RUNNING;
        if (length > 0)
            return FETCH_FAILED;
    }
    while (next_line(&at, end, &line, &length)) /* trailers */
        if (length == 0)
            return FETCH_DONE;
    return FETCH_RUNNING;
}

enum fetch_state fetch_read_answer(const struct str *answer, bool ended, struct str *body)
{
    const char *at = str_text(answer), *end = at + answer->length, *line, *value;
    bool chunked = false, has_length = false;
    enum fetch_state state = FETCH_RUNNING;
    size_t length = 1, size = 0;

    str_clear(body);
    if (next_line(&at, end, &line, &length) &&
        (length < 12 || strncmp(line, "HTTP/1.", 7) || line[9] != '2'))
        return FETCH_FAILED;
    while (next_line(&at, end, &line, &length) && length > 0) {
        value = header_value(line, length, "Content-Length");
        if (value && !read_size(value, 10, &size))
            return FETCH_FAILED;
        has_length |= value != NULL;
        value = header_value(line, length, "Transfer-Encoding");
        if (value)
            chunked = !strncasecmp(value, "chunked", 7);
    }
    if (length > 0) /* the headers are not over */
        return ended ? FETCH_FAILED : FETCH_RUNNING;
    if (chunked)
        state = read_chunks(at, end, body);
    else if (has_length ? (size_t)(end - at) >= size : ended)
        state = FETCH_DONE;
    if (state == FETCH_DONE && !chunked)
        str_add_bytes(body, at, has_length ? size : (size_t)(end - at));
    return state == FETCH_RUNNING && ended ? FETCH_FAILED : state;
}

/* ---- the exchange ------------------------------------------------------------------ */

static bool set_address(struct fetch *fetch, const char *host, int port)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)&fetch->address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&fetch->address;

    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
        fetch->address_length = sizeof(*v4);
        return true;
    }
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons((uint16_t)port);
    fetch->address_length = sizeof(*v6);
    return inet_pton(AF_INET6, host, &v6->sin6_addr) == 1;
}

/* "host", "host:port" or "[v6]:port". */
static int read_host(struct fetch *fetch, struct err *err)
{
    char host[sizeof(fetch->host)], *port_text = NULL, *name = host;
    int port = 80;

    str_copy(host, sizeof(host), fetch->host);
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
    if (!set_address(fetch, strcmp(name, "localhost") ? name : "127.0.0.1", port))
        return err_set(err, ERR_INVALID,
                       "%.80s is no address: give an IP address or localhost", name);
    return 0;
}

int fetch_init(struct fetch *fetch, const char *url, struct err *err)
{
    static const char scheme[] = "http://";
    const char *host = url + sizeof(scheme) - 1, *path;
    size_t length;

    *fetch = (struct fetch){.fd = -1};
    if (!str_starts(url, scheme))
        return err_set(err, ERR_INVALID, "the URL must begin with http://");
    for (const char *p = url; *p; p++)
        if (*p <= ' ' || *p == 0x7f)
            return err_set(err, ERR_INVALID, "the URL has blanks or control bytes");
    length = strcspn(host, "/");
    path = host[length] ? host + length : "/";
    if (length == 0 || length >= sizeof(fetch->host))
        return err_set(err, ERR_INVALID, "the URL has no host");
    memcpy(fetch->host, host, length);
    if (read_host(fetch, err) < 0)
        return -1;
    if (!str_copy(fetch->path, sizeof(fetch->path), path))
        return err_set(err, ERR_LIMIT, "the URL is longer than %d bytes", FETCH_MAX_URL);
    return 0;
}

static enum fetch_state finish(struct fetch *fetch, enum fetch_state state)
{
    if (fetch->fd >= 0)
        close(fetch->fd);
    fetch->fd = -1;
    str_fini(&fetch->answer);
    return state;
}

void fetch_fini(struct fetch *fetch)
{
    finish(fetch, FETCH_DONE);
    str_fini(&fetch->request);
    str_fini(&fetch->body);
}

static void write_request(struct fetch *fetch)
{
    str_clear(&fetch->request);
    str_addf(&fetch->request,
             "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: corgi-probe\r\nAccept: "
             "*/*\r\nConnection: close\r\n\r\n",
             fetch->path, fetch->host);
}

enum fetch_state fetch_start(struct fetch *fetch, double now_s)
{
    finish(fetch, FETCH_DONE);
    fetch->fd =
        socket(fetch->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fetch->fd < 0)
        return FETCH_FAILED;
    if (connect(fetch->fd, (const struct sockaddr *)&fetch->address,
                fetch->address_length) < 0 &&
        errno != EINPROGRESS)
        return finish(fetch, FETCH_FAILED);
    write_request(fetch);
    fetch->sent = 0;
    fetch->deadline_s = now_s + FETCH_TIMEOUT_S;
    return FETCH_RUNNING;
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
    enum fetch_state state;
    char bytes[16384];
    bool broken;
    ssize_t n;

    while ((n = recv(fetch->fd, bytes, sizeof(bytes), 0)) > 0) {
        if (fetch->answer.length + (size_t)n > FETCH_MAX_BYTES)
            return FETCH_FAILED;
        str_add_bytes(&fetch->answer, bytes, (size_t)n);
    }
    broken = n < 0 && errno != EAGAIN && errno != EINTR;
    state = fetch_read_answer(&fetch->answer, n == 0, &fetch->body);
    return broken && state == FETCH_RUNNING ? FETCH_FAILED : state;
}

enum fetch_state fetch_go(struct fetch *fetch, double now_s)
{
    enum fetch_state state = FETCH_RUNNING;

    if (now_s > fetch->deadline_s || !send_request(fetch))
        state = FETCH_FAILED;
    else if (fetch->sent == fetch->request.length)
        state = receive(fetch);
    return state == FETCH_RUNNING ? state : finish(fetch, state);
}

uint32_t fetch_events(const struct fetch *fetch)
{
    return fetch->sent < fetch->request.length ? EPOLLOUT : EPOLLIN;
}
