/* streams.c - the job's output on its way to where it belongs, see streams.h
 *
 * run_job.c opens the streams before the job starts and ticks them while it runs; the
 * poller calls when bytes come.  Lines go to job_meter.c by way of lines.c, the end of
 * the output to supervisor.c.
 *
 * Nothing the reader does can stall the probe: a destination that does not take bytes
 * makes the job wait, as it would have without the probe, and nothing else.  To be cheap,
 * a stream that brings little at a time is left alone for a moment before it is read
 * again, and one that brings very much is only looked at in part. */
#include "probe/streams.h"

#include "base/clock.h"
#include "base/mem.h"
#include "probe/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIPE_BYTES   (256 << 10)
#define RELAY_BUFFER 65536

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

struct relay {
    int poller;
    struct poller_watch in, out;
    int from, to;               /* owned; -1: closed */
    struct output_limit *limit; /* of the file `to` is; borrowed */
    bool may_block;             /* `to` could block and could not be made not to */
    bool terminal;              /* people look at it: no pauses */
    double rest_until_s;
    double second_s; /* the second the budget below is for */
    size_t looked_at;
    bool skipping;
    double last_bytes_s; /* when the newest bytes came */
    bool partial;        /* there is a line without an end */
    uint64_t bytes, lost_bytes;
    int lost_errno; /* why bytes were lost; 0: none were */
    struct lines lines;
    size_t pending, pending_at;
    size_t tail_length; /* of all bytes, modulo the size below */
    char tail[OUTPUT_TAIL];
    char buffer[RELAY_BUFFER];
};

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

static void start_relay(struct relay *relay, int poller,
                        void (*line)(void *, double, const char *, size_t), void *ctx)
{
    relay->poller = poller;
    relay->to = unblocked(relay->to, &relay->may_block);
    relay->terminal = isatty(relay->to);
    relay->in = (struct poller_watch){.fd = -1, .ready = on_ready, .ctx = relay};
    relay->out = relay->in;
    lines_init(&relay->lines, line, ctx);
    fcntl(relay->from, F_SETFL, O_NONBLOCK);
    poller_set(poller, &relay->in, relay->from, EPOLLIN);
}

static void close_end(struct relay *relay, struct poller_watch *watch, int *fd)
{
    poller_set(relay->poller, watch, -1, 0);
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void end_relay(struct relay *relay)
{
    close_end(relay, &relay->in, &relay->from);
    close_end(relay, &relay->out, &relay->to);
}

static void keep_tail(struct relay *relay, const char *bytes, size_t count)
{
    size_t at, first;

    if (count > OUTPUT_TAIL) {
        relay->tail_length += count - OUTPUT_TAIL;
        bytes += count - OUTPUT_TAIL;
        count = OUTPUT_TAIL;
    }
    at = relay->tail_length % OUTPUT_TAIL;
    first = count < OUTPUT_TAIL - at ? count : OUTPUT_TAIL - at;
    memcpy(relay->tail + at, bytes, first);
    memcpy(relay->tail, bytes + first, count - first);
    relay->tail_length += count;
}

/* Oldest first; returns how many. */
static size_t copy_tail(const struct relay *relay, char *text)
{
    size_t length = relay->tail_length < OUTPUT_TAIL ? relay->tail_length : OUTPUT_TAIL;

    for (size_t i = 0; i < length; i++)
        text[i] = relay->tail[(relay->tail_length - length + i) % OUTPUT_TAIL];
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
    if (errno == EPIPE) /* nobody reads: the job is to learn it as without us */
        end_relay(relay);
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
        close_end(relay, &relay->in, &relay->from);
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

/* Infinity: only when bytes come. */
static double relay_due_s(const struct relay *relay)
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

static void tick_relay(struct relay *relay, double now_s)
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

/* All writers are gone: take what is still in the pipe, and hand it on as far as the
 * destination takes it within a short time. */
static void drain(struct relay *relay)
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
    end_relay(relay);
}

static void on_keys(void *ctx, uint32_t events)
{
    struct streams *streams = ctx;
    char keys[512];
    ssize_t count = read(STDIN_FILENO, keys, sizeof(keys));

    (void)events;
    if (count > 0 && write(streams->master, keys, (size_t)count) < 0 && errno != EAGAIN)
        count = 0;
    if (count <= 0 && errno != EINTR)
        poller_set(streams->poller, &streams->keys, -1, 0);
}

/* Send what is typed on stdin to the job, until streams_fini(). */
static void forward_keys(struct streams *streams)
{
    struct termios raw;

    if (tcgetattr(STDIN_FILENO, &streams->before) < 0)
        return;
    raw = streams->before;
    raw.c_iflag &= ~(tcflag_t)(ICRNL | INLCR | IGNCR | IXON | ISTRIP);
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG | IEXTEN);
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) < 0)
        return;
    streams->raw = true;
    poller_set(streams->poller, &streams->keys, STDIN_FILENO, EPOLLIN);
}

void streams_resize(const struct streams *streams)
{
    struct winsize size;

    if (streams->master >= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        ioctl(streams->master, TIOCSWINSZ, &size);
}

static int open_slave(int master)
{
    char name[64];

    if (grantpt(master) < 0 || unlockpt(master) < 0 ||
        ptsname_r(master, name, sizeof(name)) != 0)
        return -1;
    return open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
}

static void add_relay(struct streams *streams, int from, int to)
{
    struct relay *relay = mem_new(struct relay);

    relay->from = from;
    relay->to = to;
    relay->limit = &streams->limit;
    relay->in.fd = relay->out.fd = -1;
    streams->relays[streams->count++] = relay;
}

/* A pair with the size and settings of our own terminal; returns the job's end. */
static int add_terminal(struct streams *streams, int to, struct err *err)
{
    struct termios settings;
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

    if (master < 0)
        return err_sys(err, "cannot get a pseudo-terminal");
    streams->slave = open_slave(master);
    if (streams->slave < 0) {
        err_sys(err, "cannot open the pseudo-terminal");
        close(master);
        return -1;
    }
    if (tcgetattr(STDOUT_FILENO, &settings) == 0) {
        settings.c_oflag &= ~(tcflag_t)OPOST; /* ours does that, once is enough */
        tcsetattr(streams->slave, TCSANOW, &settings);
    }
    streams->master = master;
    streams_resize(streams);
    add_relay(streams, master, to);
    streams->controlling = true;
    if (isatty(STDIN_FILENO))
        streams->child_in = streams->slave;
    return streams->slave;
}

static bool same_file(int a, int b)
{
    struct stat x, y;

    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

/* A pipe whose reading end is stream number `count`; returns the writing end. */
static int add_pipe(struct streams *streams, int to, struct err *err)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_sys(err, "cannot make a pipe");
    fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES); /* the usual size will do, too */
    add_relay(streams, ends[0], to);
    return ends[1];
}

static int own(int fd, struct err *err)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

    if (copy < 0 && errno == EBADF) /* started with it closed */
        copy = open("/dev/null", O_WRONLY | O_CLOEXEC);
    return copy < 0 ? err_sys(err, "cannot use descriptor %d", fd) : copy;
}

static int open_own(struct streams *streams, struct err *err)
{
    int to = own(STDOUT_FILENO, err);

    if (to < 0)
        return -1;
    streams->child_out = isatty(STDOUT_FILENO) ? add_terminal(streams, to, err)
                                               : add_pipe(streams, to, err);
    if (streams->child_out < 0)
        return -1;
    if (same_file(STDOUT_FILENO, STDERR_FILENO)) {
        streams->child_err = streams->child_out;
        return 0;
    }
    to = own(STDERR_FILENO, err);
    if (to >= 0)
        streams->child_err = add_pipe(streams, to, err);
    return streams->child_err < 0 ? -1 : 0;
}

static int open_file(struct streams *streams, const char *output, double limit_bytes,
                     struct err *err)
{
    int to = open(output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666);

    if (to < 0)
        return err_sys(err, "cannot open %s", output);
    output_limit_open(&streams->limit, output, limit_bytes);
    streams->child_out = streams->child_err = add_pipe(streams, to, err);
    return streams->child_out < 0 ? -1 : 0;
}

void streams_init(struct streams *streams)
{
    *streams = (struct streams){.child_in = -1,
                                .child_out = -1,
                                .child_err = -1,
                                .master = -1,
                                .slave = -1,
                                .keys = {.fd = -1, .ready = on_keys, .ctx = streams},
                                .poller = -1,
                                .limit = {.fd = -1}};
}

int streams_open(struct streams *streams, const char *output, double limit_bytes,
                 struct err *err)
{
    return output ? open_file(streams, output, limit_bytes, err) : open_own(streams, err);
}

static void close_child_ends(struct streams *streams)
{
    int ends[] = {streams->child_out, streams->child_err};

    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0 && ends[i] != streams->slave && (i == 0 || ends[i] != ends[0]))
            close(ends[i]);
    if (streams->slave >= 0)
        close(streams->slave);
    streams->slave = -1;
    streams->child_in = streams->child_out = streams->child_err = -1;
}

void streams_start(struct streams *streams, int poller,
                   void (*line)(void *, double, const char *, size_t), void *ctx)
{
    bool keys = streams->child_in >= 0;

    streams->poller = poller;
    close_child_ends(streams);
    for (int i = 0; i < streams->count; i++)
        start_relay(streams->relays[i], poller, line, ctx);
    if (keys)
        forward_keys(streams);
}

double streams_due_s(const struct streams *streams)
{
    double due_s = INFINITY;

    for (int i = 0; i < streams->count; i++)
        due_s = fmin(due_s, relay_due_s(streams->relays[i]));
    return due_s;
}

void streams_tick(struct streams *streams, double now_s)
{
    for (int i = 0; i < streams->count; i++)
        tick_relay(streams->relays[i], now_s);
}

void streams_say(const struct streams *streams, const char *line)
{
    int to = streams->count > 0 ? streams->relays[streams->count - 1]->to : STDERR_FILENO;

    if (streams->poller < 0) /* later it is the job's alone */
        dprintf(to, "corgi-probe: %s\n", line);
}

void streams_end(struct streams *streams, struct output_end *end)
{
    for (int i = 0; i < streams->count; i++)
        drain(streams->relays[i]);
    *end = (struct output_end){.dropped_bytes = streams->limit.dropped_bytes};
    for (int i = streams->count - 1; i >= 0 && end->tail_length == 0; i--)
        end->tail_length = copy_tail(streams->relays[i], end->tail);
    for (int i = 0; i < streams->count; i++) {
        const struct relay *relay = streams->relays[i];

        if (relay->lost_errno && relay->lost_errno != EPIPE) {
            end->lost_bytes += relay->lost_bytes;
            end->lost_errno = relay->lost_errno;
        }
    }
}

void streams_fini(struct streams *streams)
{
    close_child_ends(streams);
    output_limit_close(&streams->limit);
    if (streams->raw) {
        poller_set(streams->poller, &streams->keys, -1, 0);
        tcsetattr(STDIN_FILENO, TCSADRAIN, &streams->before);
        streams->raw = false;
    }
    for (int i = 0; i < streams->count; i++) {
        end_relay(streams->relays[i]);
        free(streams->relays[i]);
    }
    streams->count = 0;
}
