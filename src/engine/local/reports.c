/* reports.c - the socket probes report to, see local_own.h
 *
 * Everybody on the machine may send to it, so the kernel is asked who did: only the probe
 * of an attempt may speak for it. */
#include "engine/local/local_private.h"

#include "base/file.h"
#include "base/log.h"
#include "base/str.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BATCH 256 /* reports taken at a time, so that others get their turn */
#define BUFFER_BYTES                                                                     \
    (1 << 20) /* of the socket: a busy daemon loses none of a few hundred */

static int bind_socket(int fd, const struct sockaddr_un *address, struct err *err)
{
    int on = 1, bytes = BUFFER_BYTES;

    unlink(address->sun_path); /* of an engine before us: we hold the lock */
    if (bind(fd, (const struct sockaddr *)address, sizeof(*address)) < 0)
        return err_sys(err, "cannot make %s", address->sun_path);
    if (chmod(address->sun_path, 0666) < 0)
        return err_sys(err, "cannot open %s to probes", address->sun_path);
    if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
        return err_sys(err, "cannot ask who sends to %s", address->sun_path);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
    return 0;
}

int reports_open(struct local_engine *e, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    e->report_path = file_join(e->state_dir, "engine.sock");
    if (!str_copy(address.sun_path, sizeof(address.sun_path), e->report_path))
        return err_set(err, ERR_LIMIT,
                       "the state folder %s is too long for a socket in it: want at most "
                       "%zu bytes",
                       e->state_dir, sizeof(address.sun_path) - sizeof("/engine.sock"));
    e->report_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (e->report_fd < 0)
        return err_sys(err, "cannot make a socket");
    if (bind_socket(e->report_fd, &address, err) < 0)
        return -1;
    return local_watch(e, e->report_fd, LOCAL_REPORT, 0, err);
}

static void tell_measured(struct local_engine *e, const struct attempt *a,
                          const struct probe_report *r)
{
    bool demand = r->kind == PROBE_DEMAND;
    struct engine_event event = outbox_blank(demand ? ENGINE_DEMAND : ENGINE_MEASURED);

    if (!(r->rate >= 0))
        return;
    event.at_s = r->at_s;
    event.job = a->job;
    event.attempt = a->number;
    event.device = a->devices[0];
    event.steps = r->steps;
    event.source = probe_source_name(r->source); /* static */
    event.confidence = r->confidence;
    event.measurement = (struct measurement){
        .job = a->job,
        .at_s = r->at_s,
        .window_s = r->window_s,
        .rate = r->rate,
        .device_watts = demand ? NAN : device_power_watts(e->power, a->devices[0]),
    };
    local_tell(e, event, NULL);
}

static void take(struct local_engine *e, const struct probe_report *r, pid_t from)
{
    struct attempt *a = local_attempt_of(e, r->job);

    if (!a || a->number != r->attempt || a->nobody)
        return; /* late, or of somebody we do not know */
    if (a->probe.pid != from) {
        log_warn("engine_report_refused", LOG_U64("job", r->job), LOG_I64("from", from),
                 LOG_I64("probe", a->probe.pid));
        return;
    }
    if (r->kind != PROBE_ENDED) /* which also comes when it could not be started */
        start_tell(e, a);
    if (r->kind == PROBE_RATE || r->kind == PROBE_DEMAND)
        tell_measured(e, a, r);
}

static pid_t sender_of(struct msghdr *message)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS) {
            struct ucred who;

            memcpy(&who, CMSG_DATA(c), sizeof(who));
            return who.pid;
        }
    return 0;
}

void reports_read(struct local_engine *e)
{
    for (int i = 0; i < BATCH; i++) {
        char line[PROBE_REPORT_MAX_LINE + 1];
        union {
            char bytes[CMSG_SPACE(sizeof(struct ucred))];
            struct cmsghdr align;
        } control;
        struct iovec io = {line, sizeof(line)};
        struct msghdr message = {.msg_iov = &io,
                                 .msg_iovlen = 1,
                                 .msg_control = &control,
                                 .msg_controllen = sizeof(control)};
        ssize_t n = recvmsg(e->report_fd, &message, MSG_CMSG_CLOEXEC);
        struct probe_report report;
        struct err err;

        if (n < 0)
            return;
        if (probe_report_parse(&report, line, (size_t)n, &err) == 0)
            take(e, &report, sender_of(&message));
        else
            log_warn("engine_report_unreadable", LOG_I64("from", sender_of(&message)),
                     LOG_ERR(&err));
    }
}
