/* sender.c - hands reports on to a socket or an HTTP address, see sender.h
 *
 * run_job.c sends each report here as it is made and retries when the poller or a tick
 * says so; the engine or a daemon elsewhere gets them. */
#include "probe/sender.h"

#include "base/clock.h"
#include "base/mem.h"
#include "probe/fetch.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MAX_WAITING 8

struct sender {
    int fd; /* of the datagram socket; -1: HTTP or nobody */
    struct sockaddr_un path;
    struct fetch *fetch; /* NULL: not HTTP */
    bool posting;
    struct probe_report waiting[MAX_WAITING]; /* oldest first */
    int count;
    uint64_t failures;
};

static int open_unix(struct sender *sender, const char *path, struct err *err)
{
    if (!*path || strlen(path) >= sizeof(sender->path.sun_path))
        return err_set(err, ERR_INVALID, "%.120s is no path a socket can have", path);
    sender->path.sun_family = AF_UNIX;
    strcpy(sender->path.sun_path, path);
    sender->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    return sender->fd < 0 ? err_sys(err, "cannot make a socket") : 0;
}

static int open_http(struct sender *sender, const char *target, struct err *err)
{
    struct fetch_url url;

    if (fetch_url_parse(&url, target, err) < 0)
        return -1;
    sender->fetch = fetch_create(&url, NULL, NULL);
    return 0;
}

struct sender *sender_create(const char *target, struct err *err)
{
    struct sender *sender = mem_new(struct sender);
    int rc = 0;

    sender->fd = -1;
    if (target && str_starts(target, "unix:"))
        rc = open_unix(sender, target + strlen("unix:"), err);
    else if (target && str_starts(target, "http://"))
        rc = open_http(sender, target, err);
    else if (target)
        rc = err_set(err, ERR_INVALID, "%.120s is neither unix:PATH nor http://...",
                     target);
    if (rc == 0)
        return sender;
    sender_destroy(sender);
    return NULL;
}

void sender_destroy(struct sender *sender)
{
    if (!sender)
        return;
    if (sender->fd >= 0)
        close(sender->fd);
    fetch_destroy(sender->fetch);
    free(sender);
}

static void drop(struct sender *sender, int index)
{
    sender->count--;
    memmove(&sender->waiting[index], &sender->waiting[index + 1],
            (size_t)(sender->count - index) * sizeof(sender->waiting[0]));
}

/* A rate makes the one that waits worthless; starts and ends are kept. */
static void enqueue(struct sender *sender, const struct probe_report *report)
{
    bool replaceable = report->kind == PROBE_RATE || report->kind == PROBE_DEMAND;
    int first = sender->posting ? 1 : 0; /* that one is on its way */

    for (int i = sender->count - 1; replaceable && i >= first; i--)
        if (sender->waiting[i].kind == report->kind)
            drop(sender, i);
    if (sender->count == MAX_WAITING)
        drop(sender, first);
    sender->waiting[sender->count++] = *report;
}

static bool send_datagram(struct sender *sender, const struct probe_report *report)
{
    struct str line = {0};
    ssize_t sent;

    probe_report_format(report, &line);
    sent = sendto(sender->fd, line.text, line.length, MSG_DONTWAIT | MSG_NOSIGNAL,
                  (const struct sockaddr *)&sender->path, sizeof(sender->path));
    str_fini(&line);
    return sent >= 0;
}

static void retry_unix(struct sender *sender)
{
    while (sender->count > 0) {
        if (!send_datagram(sender, &sender->waiting[0])) {
            sender->failures++;
            return;
        }
        drop(sender, 0);
    }
}

static void post_next(struct sender *sender, double now_s)
{
    struct str body = {0};

    if (sender->count == 0)
        return;
    probe_report_json(&sender->waiting[0], &body);
    sender->posting = fetch_start(sender->fetch, str_text(&body), "application/json",
                                  now_s) == FETCH_RUNNING;
    sender->failures += !sender->posting;
    str_fini(&body);
}

static void retry_http(struct sender *sender, double now_s)
{
    enum fetch_state state;

    if (!sender->posting) {
        post_next(sender, now_s);
        return;
    }
    state = fetch_go(sender->fetch, now_s);
    if (state == FETCH_RUNNING)
        return;
    sender->posting = false;
    if (state != FETCH_DONE) {
        sender->failures++;
        return;
    }
    drop(sender, 0);
    post_next(sender, now_s);
}

void sender_retry(struct sender *sender, double now_s)
{
    if (sender->fd >= 0)
        retry_unix(sender);
    else if (sender->fetch)
        retry_http(sender, now_s);
}

void sender_send(struct sender *sender, const struct probe_report *report, double now_s)
{
    if (sender->fd < 0 && !sender->fetch)
        return;
    enqueue(sender, report);
    sender_retry(sender, now_s);
}

void sender_finish(struct sender *sender, double limit_s)
{
    double until_s = clock_wall_s() + limit_s, now_s = 0;
    uint64_t failures = sender->failures;

    while (sender->count > 0 && (now_s = clock_wall_s()) < until_s) {
        struct pollfd ready = {.fd = sender_fd(sender)};

        sender_retry(sender, now_s);
        /* A full queue empties itself; a socket that is away will not come so soon. */
        if (sender->failures > failures && errno != EAGAIN)
            return;
        if (sender->count > 0) {
            ready.events = sender_events(sender) ? POLLIN | POLLOUT : 0;
            poll(&ready, 1, 20);
        }
    }
}

int sender_fd(const struct sender *sender)
{
    return sender->fetch ? fetch_fd(sender->fetch) : -1;
}

uint32_t sender_events(const struct sender *sender)
{
    return sender->fetch && sender->posting ? fetch_events(sender->fetch) : 0;
}
