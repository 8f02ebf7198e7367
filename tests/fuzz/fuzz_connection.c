/* fuzz_connection.c - bytes on a connection to a real server with all routes: heads,
 * bodies with lengths and in chunks, one request after the other.  Whatever comes, it
 * answers in HTTP or hangs up. */
#include "fuzz/fuzz.h"
#include "fuzz/fuzz_folder.h"

#include "base/log.h"
#include "http/api.h"
#include "http/server.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define TURNS 400

static void handle_any(void *ctx, struct request *r)
{
    struct str json = {0};

    (void)ctx;
    str_add(&json, "{}");
    request_answer(r, 200, &json);
}

#define ROUTE(op, ...) {API_ROUTE(op, __VA_ARGS__)},

static struct route routes[] = {API_ROUTES(ROUTE){0}};
static struct reactor *reactor;
static struct server *server;
static struct sockaddr_un address = {.sun_family = AF_UNIX};

static void begin(void)
{
    struct server_config config = {
        .routes = routes,
        .limits = {.head_s = 0.2, .body_s = 0.2, .idle_s = 0.2},
        .auth = {.local_role = AUTH_OPERATOR}};
    struct err err = {0};
    FILE *quiet = fopen("/dev/null", "w");

    log_setup(quiet, LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, NULL);
    for (struct route *r = routes; r->operation; r++)
        r->handle = handle_any;
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", fuzz_folder());
    reactor = reactor_create(&err);
    if (!reactor)
        abort();
    server = server_create(reactor, &config);
    if (server_listen_unix(server, &(struct server_unix){.path = address.sun_path},
                           &err) < 0)
        abort();
}

/* The server notices that nobody is there any more. */
static void await_closed(void)
{
    struct server_stats stats = {.connections = 1};

    for (int turn = 0; turn < TURNS && stats.connections > 0; turn++) {
        reactor_step(reactor, turn < 20 ? 0 : 0.01);
        server_stats(server, &stats);
    }
    if (stats.connections > 0)
        abort();
}

/* The status of the first answer, 0 when there was none. */
static int ask(const uint8_t *data, size_t size)
{
    char answer[4096] = "";
    size_t heard = 0;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        abort();
    reactor_step(reactor, 0);
    if (send(fd, data, size, MSG_NOSIGNAL) == (ssize_t)size)
        shutdown(fd, SHUT_WR); /* else it has hung up already */
    for (int turn = 0; turn < TURNS; turn++) {
        ssize_t n;

        reactor_step(reactor, turn < 20 ? 0 : 0.01);
        n = recv(fd, answer + heard, sizeof(answer) - heard, 0);
        if (n == 0)
            break;
        if (n > 0)
            heard = heard + (size_t)n < 12 ? heard + (size_t)n : 12;
    }
    close(fd);
    await_closed();
    if (heard > 0 && (heard < 12 || memcmp(answer, "HTTP/1.1 ", 9) != 0))
        abort();
    return heard > 0 ? atoi(answer + 9) : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char plain[] = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";

    if (!reactor) {
        begin();
        if (ask((const uint8_t *)plain, sizeof(plain) - 1) != 200)
            abort(); /* it must be one that works */
    }
    if (size <= 65536)
        ask(data, size);
    return 0;
}
