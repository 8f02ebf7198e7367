/* streams.c - pipes, files and terminals between the job and the world, see streams.h
 *
 * run_job.c opens them before the job starts and ticks them while it runs; relay.c moves
 * the bytes. */
#include "probe/streams.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIPE_BYTES (256 << 10)

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
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
    streams->from[streams->count] = master;
    streams->to[streams->count++] = to;
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
    streams->from[streams->count] = ends[0];
    streams->to[streams->count++] = to;
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
                                .from = {-1, -1},
                                .to = {-1, -1},
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
    close_fd(&streams->slave);
    streams->child_in = streams->child_out = streams->child_err = -1;
}

void streams_start(struct streams *streams, int poller,
                   void (*line)(void *, double, const char *, size_t), void *ctx)
{
    bool keys = streams->child_in >= 0;

    streams->poller = poller;
    close_child_ends(streams);
    for (int i = 0; i < streams->count; i++) {
        streams->relays[i] = mem_new(struct relay);
        relay_init(streams->relays[i], poller, streams->from[i], streams->to[i], line,
                   ctx);
        streams->relays[i]->limit = &streams->limit;
        streams->from[i] = streams->to[i] = -1;
    }
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
    if (streams->raw) {
        poller_set(streams->poller, &streams->keys, -1, 0);
        tcsetattr(STDIN_FILENO, TCSADRAIN, &streams->before);
        streams->raw = false;
    }
    for (int i = 0; i < 2; i++) {
        if (streams->relays[i])
            relay_fini(streams->relays[i]);
        free(streams->relays[i]);
        streams->relays[i] = NULL;
        close_fd(&streams->from[i]);
        close_fd(&streams->to[i]);
    }
}
