/* http_case.h - a real server on a thread of its own, and raw sockets to talk to it
 *
 * The socket lies in a temporary folder.  The test's thread is the client. */
#pragma once

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "http/server.h"
#include "support/test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define HTTP_CASE_WAIT_S 20

struct http_case {
    char folder[64];
    char socket[96];
    struct reactor *reactor;
    struct server *server;
    pthread_t thread;
    bool running;
};

static inline void *http_case_run(void *ctx)
{
    struct err err = {0};

    reactor_run(ctx, &err);
    return NULL;
}

/* Made, but not yet turning: listeners can be added. */
static inline void http_case_make(struct http_case *c, const struct server_config *config)
{
    struct err err = {0};

    *c = (struct http_case){0};
    snprintf(c->folder, sizeof(c->folder), "/tmp/corgi-http-XXXXXX");
    assert_non_null(mkdtemp(c->folder));
    snprintf(c->socket, sizeof(c->socket), "%s/s.sock", c->folder);
    c->reactor = reactor_create(&err);
    assert_non_null(c->reactor);
    c->server = server_create(c->reactor, config);
    if (server_listen_unix(c->server, &(struct server_unix){.path = c->socket}, &err) < 0)
        fail_msg("%s", err.text);
}

static inline void http_case_start(struct http_case *c)
{
    assert_int_equal(pthread_create(&c->thread, NULL, http_case_run, c->reactor), 0);
    c->running = true;
}

static inline void http_case_stop(struct http_case *c)
{
    if (c->running) {
        reactor_stop(c->reactor);
        pthread_join(c->thread, NULL);
        c->running = false;
    }
}

static inline void http_case_end(struct http_case *c)
{
    char command[128];

    http_case_stop(c);
    server_destroy(c->server);
    reactor_step(c->reactor, 0);
    reactor_destroy(c->reactor);
    snprintf(command, sizeof(command), "rm -rf '%s'", c->folder);
    assert_int_equal(system(command), 0);
}

/* ---- raw sockets ------------------------------------------------------------------- */

static inline int http_case_connect(const struct http_case *c)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    str_copy(address.sun_path, sizeof(address.sun_path), c->socket);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static inline int http_case_connect_tcp(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static inline void http_case_send(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t done = send(fd, bytes, count, MSG_NOSIGNAL);

        if (done <= 0)
            return; /* refused in the middle: the answer tells */
        bytes += done;
        count -= (size_t)done;
    }
}

static inline void http_case_say(int fd, const char *text)
{
    http_case_send(fd, text, strlen(text));
}

/* Wait until something comes; false at the end. */
static inline bool http_case_hear(int fd, struct str *heard)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char bytes[4096];
    ssize_t count;

    if (poll(&p, 1, HTTP_CASE_WAIT_S * 1000) <= 0)
        fail_msg("no answer; heard so far: %s", str_text(heard));
    count = recv(fd, bytes, sizeof(bytes), 0);
    if (count <= 0)
        return false;
    str_add_bytes(heard, bytes, (size_t)count);
    return true;
}

static inline void http_case_hear_all(int fd, struct str *heard)
{
    while (http_case_hear(fd, heard)) {
    }
}

/* Until the text is there. */
static inline void http_case_hear_text(int fd, struct str *heard, const char *text)
{
    while (!strstr(str_text(heard), text))
        if (!http_case_hear(fd, heard))
            fail_msg("'%s' did not come, but: %s", text, str_text(heard));
}

/* Send, close for writing, and return all that came; the caller frees. */
static inline char *http_case_ask_bytes(const struct http_case *c, const char *bytes,
                                        size_t count)
{
    struct str heard = {0};
    int fd = http_case_connect(c);

    http_case_send(fd, bytes, count);
    shutdown(fd, SHUT_WR);
    http_case_hear_all(fd, &heard);
    close(fd);
    return heard.text ? str_take(&heard) : mem_strdup("");
}

static inline char *http_case_ask(const struct http_case *c, const char *text)
{
    return http_case_ask_bytes(c, text, strlen(text));
}

static inline int http_case_status(const char *answer)
{
    return strncmp(answer, "HTTP/1.1 ", 9) ? -1 : atoi(answer + 9);
}

static inline const char *http_case_body(const char *answer)
{
    const char *blank = strstr(answer, "\r\n\r\n");

    return blank ? blank + 4 : "";
}
