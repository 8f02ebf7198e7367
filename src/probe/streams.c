/* streams.c - see streams.h */
#include "probe/streams.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIPE_BYTES (256 << 10)

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
    streams->from[streams->count] = ends[0];
    streams->to[streams->count++] = to;
    return ends[1];
}

static int open_terminal(struct streams *streams, int to, struct err *err)
{
    if (terminal_open(&streams->terminal, STDOUT_FILENO, err) < 0)
        return -1;
    streams->from[streams->count] = streams->terminal.master;
    streams->to[streams->count++] = to;
    streams->controlling = true;
    if (isatty(STDIN_FILENO))
        streams->child_in = streams->terminal.slave;
    return streams->terminal.slave;
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
    bool terminal = isatty(STDOUT_FILENO);
    int to = own(STDOUT_FILENO, err);

    if (to < 0)
        return -1;
    streams->child_out =
        terminal ? open_terminal(streams, to, err) : add_pipe(streams, to, err);
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
                                .from = {-1, -1},
                                .to = {-1, -1},
                                .limit = {.fd = -1}};
    terminal_init(&streams->terminal);
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
        if (ends[i] >= 0 && ends[i] != streams->terminal.slave &&
            (i == 0 || ends[i] != ends[0]))
            close(ends[i]);
    if (streams->terminal.slave >= 0)
        close(streams->terminal.slave);
    streams->terminal.slave = -1;
    streams->child_in = streams->child_out = streams->child_err = -1;
}

void streams_start(struct streams *streams, int poller,
                   void (*line)(void *, double, const char *, size_t), void *ctx)
{
    bool keys = streams->child_in >= 0;

    close_child_ends(streams);
    for (int i = 0; i < streams->count; i++) {
        streams->relays[i] = mem_new(struct relay);
        relay_init(streams->relays[i], poller, streams->from[i], streams->to[i], line,
                   ctx);
        streams->relays[i]->limit = &streams->limit;
        streams->from[i] = streams->to[i] = -1;
    }
    if (keys)
        terminal_forward_keys(&streams->terminal, poller);
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
        relay_tick(streams->relays[i], now_s);
}

void streams_drain(struct streams *streams)
{
    for (int i = 0; i < streams->count; i++)
        relay_drain(streams->relays[i]);
}

void streams_say(const struct streams *streams, const char *line)
{
    int to = streams->count > 0 ? streams->to[streams->count - 1] : STDERR_FILENO;

    if (to >= 0)
        dprintf(to, "corgi-probe: %s\n", line);
}

size_t streams_tail(const struct streams *streams, char *text, size_t size)
{
    for (int i = streams->count - 1; i >= 0; i--) {
        size_t length =
            streams->relays[i] ? relay_tail(streams->relays[i], text, size) : 0;

        if (length > 0)
            return length;
    }
    return 0;
}

uint64_t streams_lost(const struct streams *streams, int *error)
{
    uint64_t lost = 0;

    for (int i = 0; i < streams->count; i++) {
        const struct relay *relay = streams->relays[i];

        if (relay && relay->lost_errno && relay->lost_errno != EPIPE) {
            lost += relay->lost_bytes;
            *error = relay->lost_errno;
        }
    }
    return lost;
}

void streams_fini(struct streams *streams)
{
    close_child_ends(streams);
    output_limit_close(&streams->limit);
    terminal_fini(&streams->terminal);
    for (int i = 0; i < 2; i++) {
        if (streams->relays[i])
            relay_fini(streams->relays[i]);
        free(streams->relays[i]);
        streams->relays[i] = NULL;
        if (streams->from[i] >= 0)
            close(streams->from[i]);
        if (streams->to[i] >= 0)
            close(streams->to[i]);
        streams->from[i] = streams->to[i] = -1;
    }
}
