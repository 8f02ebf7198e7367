/* relay.c - moves the job's output to where it belongs, see relay.h
 *
 * streams.c makes one relay for each pipe; the poller calls it when bytes come.  Lines
 * go to job_meter.c by way of lines.c, the last bytes to ending.c. */
#include "probe/relay.h"

#include "base/clock.h"
#include "base/poller.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

/* A stream that brought less than this is read again only after a pause, so that a job
 * that prints a thousand lines a second wakes us forty times. */
#define SMALL_READ 32768
#define PAUSE_S    0.025

/* One that brought more in one go would fill its pipe in such a pause and wait for us: it
 * gets a shorter one. */
#define LARGE_TURN    131072
#define SHORT_PAUSE_S 0.001

/* More than this in a second is not looked at, only handed on. */
#define LOOK_BYTES_PER_S ((size_t)512 << 10)

/* A line that has no end for so long is looked at as it is. */
#define PARTIAL_AFTER_S 0.5

/* To a pipe that says it is ready, so many bytes can be written without blocking. */
#define SAFE_WRITE 4096

#define DRAIN_S    2.0

static void on_ready(void *ctx, uint32_t events);

/* Flags belong to the open file, which others may share; so a pipe or a terminal is
 * opened anew, and only our own gets O_NONBLOCK. */
static int unblocked(int to, bool *may_block)
{
    struct stat st;
    char path[40];
    int fd;

    *may_block = false;
    if (fstat(to, &st) < 0 ||
        !(S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || isatty(to)))
        return to;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", to);
    fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        *may_block = true;
        return to;
    }
    close(to);
    return fd;
}

void relay_init(struct relay *relay, int poller, int from, int to,
                void (*line)(void *, double, const char *, size_t), void *ctx)
{
    memset(relay, 0, offsetof(struct relay, tail));
    relay->poller = poller;
    relay->from = from;
    relay->to = unblocked(to, &relay->may_block);
    relay->terminal = isatty(relay->to);
    relay->in = (struct poller_watch){.fd = -1, .ready = on_ready, .ctx = relay};
    relay->out = relay->in;
    lines_init(&relay->lines, line, ctx);
    fcntl(from, F_SETFL, O_NONBLOCK);
    poller_set(poller, &relay->in, from, EPOLLIN);
}

static void close_from(struct relay *relay)
{
    poller_set(relay->poller, &relay->in, -1, 0);
    if (relay->from >= 0)
        close(relay->from);
    relay->from = -1;
}

static void close_to(struct relay *relay)
{
    poller_set(relay->poller, &relay->out, -1, 0);
    if (relay->to >= 0)
        close(relay->to);
    relay->to = -1;
}

void relay_fini(struct relay *relay)
{
    close_from(relay);
    close_to(relay);
}

static void keep_tail(struct relay *relay, const char *bytes, size_t count)
{
    size_t at, first;

    if (count > RELAY_TAIL) {
        relay->tail_length += count - RELAY_TAIL;
        bytes += count - RELAY_TAIL;
        count = RELAY_TAIL;
    }
    at = relay->tail_length % RELAY_TAIL;
    first = count < RELAY_TAIL - at ? count : RELAY_TAIL - at;
    memcpy(relay->tail + at, bytes, first);
    memcpy(relay->tail, bytes + first, count - first);
    relay->tail_length += count;
}

size_t relay_tail(const struct relay *relay, char *text, size_t size)
{
    size_t length = relay->tail_length < RELAY_TAIL ? relay->tail_length : RELAY_TAIL;

    if (length > size)
        length = size;
    for (size_t i = 0; i < length; i++)
        text[i] = relay->tail[(relay->tail_length - length + i) % RELAY_TAIL];
    return length;
}

static void look(struct relay *relay, const char *bytes, size_t count, double now_s)
{
    keep_tail(relay, bytes, count);
    if (now_s - relay->second_s >= 1) {
        relay->second_s = now_s;
        relay->looked_at = 0;
        relay->skipping = false;
    }
    if (relay->skipping)
        return;
    if (relay->looked_at > LOOK_BYTES_PER_S) {
        relay->skipping = true;
        lines_skip(&relay->lines);
        return;
    }
    relay->looked_at += count;
    lines_feed(&relay->lines, now_s, bytes, count);
    relay->partial = relay->lines.length > 0;
    relay->last_bytes_s = now_s;
}

static void lose(struct relay *relay)
{
    relay->lost_errno = errno;
    relay->lost_bytes += relay->pending;
    relay->pending = 0;
    if (errno == EPIPE) { /* nobody reads: the job is to learn it as without us */
        close_from(relay);
        close_to(relay);
    }
}

/* False: the destination takes nothing at the moment. */
static bool write_pending(struct relay *relay)
{
    while (relay->pending > 0 && relay->to >= 0) {
        size_t count = relay->pending;
        ssize_t n;

        if (relay->may_block) {
            struct pollfd ready = {.fd = relay->to, .events = POLLOUT};

            if (poll(&ready, 1, 0) <= 0 || !(ready.revents & (POLLOUT | POLLERR)))
                return false;
            count = count < SAFE_WRITE ? count : SAFE_WRITE;
        }
        if (relay->limit)
            output_limit_make_room(relay->limit, count);
        n = write(relay->to, relay->buffer + relay->pending_at, count);
        if (n < 0 && errno == EAGAIN)
            return false;
        if (n < 0 && errno != EINTR)
            lose(relay);
        if (n > 0) {
            relay->pending -= (size_t)n;
            relay->pending_at += (size_t)n;
        }
    }
    return true;
}

enum moved {
    MOVED_MUCH,   /* there may be more */
    MOVED_LITTLE, /* it was handed on and the source is nearly empty */
    MOVED_NOTHING,
    MOVED_BLOCKED, /* the destination takes nothing: what was read is pending */
    MOVED_ENDED,
};

static enum moved move_once(struct relay *relay, double now_s)
{
    ssize_t n;

    if (!write_pending(relay))
        return MOVED_BLOCKED;
    if (relay->from < 0)
        return MOVED_ENDED;
    n = read(relay->from, relay->buffer, sizeof(relay->buffer));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return MOVED_NOTHING;
    if (n <= 0) { /* a pseudo-terminal says EIO at its end */
        lines_flush(&relay->lines);
        close_from(relay);
        return MOVED_ENDED;
    }
    relay->bytes += (uint64_t)n;
    relay->pending = (size_t)n;
    relay->pending_at = 0;
    look(relay, relay->buffer, (size_t)n, now_s);
    if (!write_pending(relay))
        return MOVED_BLOCKED;
    return n < SMALL_READ ? MOVED_LITTLE : MOVED_MUCH;
}

#define ROUNDS 64 /* then others have their turn */

static void move(struct relay *relay, double now_s)
{
    enum moved moved = MOVED_MUCH;
    uint64_t before = relay->bytes;

    for (int round = 0; moved == MOVED_MUCH && round < ROUNDS; round++)
        moved = move_once(relay, now_s);
    if (moved == MOVED_LITTLE && !relay->terminal)
        relay->rest_until_s =
            now_s + (relay->bytes - before < LARGE_TURN ? PAUSE_S : SHORT_PAUSE_S);
    poller_set(relay->poller, &relay->out, moved == MOVED_BLOCKED ? relay->to : -1,
               EPOLLOUT);
    poller_set(relay->poller, &relay->in,
               moved == MOVED_BLOCKED || relay->rest_until_s > 0 ? -1 : relay->from,
               EPOLLIN);
}

static void on_ready(void *ctx, uint32_t events)
{
    (void)events;
    move(ctx, clock_wall_s());
}

double relay_due_s(const struct relay *relay)
{
    double due_s = INFINITY;

    if (relay->from >= 0 && relay->rest_until_s > 0)
        due_s = relay->rest_until_s;
    if (relay->may_block && relay->pending > 0)
        due_s = fmin(due_s, clock_wall_s() + PAUSE_S);
    if (relay->partial)
        due_s = fmin(due_s, relay->last_bytes_s + PARTIAL_AFTER_S);
    return due_s;
}

void relay_tick(struct relay *relay, double now_s)
{
    if (relay->rest_until_s > 0 && now_s >= relay->rest_until_s) {
        relay->rest_until_s = 0;
        if (relay->from >= 0)
            poller_set(relay->poller, &relay->in, relay->from, EPOLLIN);
    }
    if (relay->partial && now_s >= relay->last_bytes_s + PARTIAL_AFTER_S) {
        lines_flush(&relay->lines);
        relay->partial = false;
    }
}

void relay_drain(struct relay *relay)
{
    double until_s = clock_wall_s() + DRAIN_S, now_s;

    while ((now_s = clock_wall_s()) < until_s) {
        struct pollfd ready = {.fd = relay->to, .events = POLLOUT};
        enum moved moved = move_once(relay, now_s);

        if (moved == MOVED_BLOCKED)
            poll(&ready, 1, 50);
        else if (moved == MOVED_NOTHING || moved == MOVED_ENDED)
            break; /* the pipe is empty */
    }
    lines_flush(&relay->lines);
    relay_fini(relay);
}
