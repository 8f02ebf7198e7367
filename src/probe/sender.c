/* sender.c - hands reports on to a socket or an HTTP address, see sender.h
 *
 * run_job.c sends each report here as it is made and retries when the poller or a tick
 * says so; the engine or a daemon elsewhere gets them. */
#include "probe/sender.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int open_unix(struct sender *sender, const char *path, struct err *err)
{
    if (!*path || strlen(path) >= sizeof(sender->path.sun_path))
        return err_set(err, ERR_INVALID, "%.120s is no path a socket can have", path);
    sender->path.sun_family = AF_UNIX;
    strcpy(sender->path.sun_path, path);
    sender->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    return sender->fd < 0 ? err_sys(err, "cannot make a socket") : 0;
}

struct sender *sender_create(const char *target, struct err *err)
{
    struct sender *sender = mem_new(struct sender);
    int rc = 0;

    sender->fd = sender->fetch.fd = -1;
    if (target && str_starts(target, "unix:"))
        rc = open_unix(sender, target + strlen("unix:"), err);
    else if (target && str_starts(target, "http://"))
        rc = fetch_init(&sender->fetch, target, err);
    else if (target)
        rc = err_set(err, ERR_INVALID, "%.120s is neither unix:PATH nor http://...",
                     target);
    sender->http = rc == 0 && target && sender->fd < 0;
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
    if (sender->http)
        fetch_fini(&sender->fetch);
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
    int first = sender->fetch.fd >= 0 ? 1 : 0; /* that one is on its way */

    for (int i = sender->count - 1; replaceable && i >= first; i--)
        if (sender->waiting[i].kind == report->kind)
            drop(sender, i);
    if (sender->count == SENDER_MAX_WAITING)
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
    if (fetch_start(&sender->fetch, str_text(&body), "application/json", now_s) !=
        FETCH_RUNNING)
        sender->failures++;
    str_fini(&body);
}

static void retry_http(struct sender *sender, double now_s)
{
    if (sender->fetch.fd >= 0) {
        enum fetch_state state = fetch_go(&sender->fetch, now_s);

        sender->failures += state == FETCH_FAILED;
        if (state != FETCH_DONE)
            return;
        drop(sender, 0);
    }
    post_next(sender, now_s);
}

void sender_retry(struct sender *sender, double now_s)
{
    if (sender->fd >= 0)
        retry_unix(sender);
    else if (sender->http)
        retry_http(sender, now_s);
}

void sender_send(struct sender *sender, const struct probe_report *report, double now_s)
{
    if (sender->fd < 0 && !sender->http)
        return;
    enqueue(sender, report);
    sender_retry(sender, now_s);
}

void sender_finish(struct sender *sender, double limit_s)
{
    double until_s = clock_wall_s() + limit_s, now_s = 0;
    uint64_t failures = sender->failures;

    while (sender->count > 0 && (now_s = clock_wall_s()) < until_s) {
        sender_retry(sender, now_s);
        /* A full queue empties itself; a socket that is away will not come so soon. */
        if (sender->failures > failures && errno != EAGAIN)
            return;
        if (sender->count > 0) {
            struct pollfd ready = {.fd = sender->fetch.fd,
                                   .events = (short)fetch_events(&sender->fetch)};

            poll(&ready, 1, 20);
        }
    }
}
