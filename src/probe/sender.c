/* sender.c - hands reports on to a socket or to corgi-report, see sender.h
 *
 * run_job.c sends each report here as it is made and retries at every tick; the engine or
 * a daemon elsewhere gets them. */
#include "probe/sender.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "probe/report_spool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
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

/* ---- corgi-report -------------------------------------------------------------------
 */

/* In the second child, which is nobody's of ours: its end is not waited for, and what the
 * job leaves behind is told apart from it. */
static void become_reporter(int socket, char *const *argv)
{
    int null = open("/dev/null", O_RDWR);
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (null < 0 || dup2(socket, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
        dup2(null, STDERR_FILENO) < 0)
        _exit(127);
    execv(argv[0], argv);
    _exit(127);
}

static int start_reporter(int socket, char *const *argv, struct err *err)
{
    pid_t first = fork();
    int status;

    if (first < 0)
        return err_sys(err, "cannot start %s", argv[0]);
    if (first == 0) {
        setsid();
        if (fork() == 0)
            become_reporter(socket, argv);
        _exit(0);
    }
    while (waitpid(first, &status, 0) < 0 && errno == EINTR)
        ;
    return 0;
}

/* It lies beside this program. */
static char *reporter_path(struct err *err)
{
    char self[4096], *slash;
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *path;

    self[length > 0 ? length : 0] = '\0';
    slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    path = file_join(self, "corgi-report");
    if (access(path, X_OK) == 0)
        return path;
    err_sys(err, "cannot start %s", path);
    free(path);
    return NULL;
}

static int open_reporter(struct sender *sender, const struct sender_options *o,
                         struct err *err)
{
    const char *argv[12] = {NULL, "--daemon", o->target, "--run"};
    char *path = reporter_path(err), run[REPORT_RUN_DIGITS + 1];
    int pair[2], n = 5, rc = -1;

    if (!path || report_run_make(run, err) < 0) {
        free(path);
        return -1;
    }
    argv[0] = path;
    argv[4] = run;
    setenv(SENDER_RUN, run, 1);
    if (o->whole)
        argv[n++] = "--whole";
    if (o->ca) {
        argv[n++] = "--ca";
        argv[n++] = o->ca;
    }
    if (o->token_file) {
        argv[n++] = "--token-file";
        argv[n++] = o->token_file;
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        err_sys(err, "cannot make a socket");
    } else {
        rc = start_reporter(pair[1], (char *const *)(uintptr_t)argv, err);
        close(pair[1]);
        if (rc < 0)
            close(pair[0]);
        else
            sender->fd = pair[0];
    }
    sender->connected = rc == 0;
    unsetenv(REPORT_TOKEN_VARIABLE); /* the job needs it no more */
    free(path);
    return rc;
}

/* ---- reports ------------------------------------------------------------------------
 */

struct sender *sender_create(const struct sender_options *o, struct err *err)
{
    struct sender *sender = mem_new(struct sender);
    const char *target = o->target;
    int rc = 0;

    sender->fd = -1;
    if (target && str_starts(target, "unix:"))
        rc = open_unix(sender, target + strlen("unix:"), err);
    else if (target && (str_starts(target, "https://") || str_starts(target, "http://")))
        rc = open_reporter(sender, o, err);
    else if (target)
        rc = err_set(err, ERR_INVALID,
                     "%.120s is neither unix:PATH nor https://HOST:PORT", target);
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

    for (int i = sender->count - 1; replaceable && i >= 0; i--)
        if (sender->waiting[i].kind == report->kind)
            drop(sender, i);
    if (sender->count == SENDER_MAX_WAITING)
        drop(sender, 0);
    sender->waiting[sender->count++] = *report;
}

static bool send_line(struct sender *sender, const struct probe_report *report)
{
    const struct sockaddr *to =
        sender->connected ? NULL : (const struct sockaddr *)&sender->path;
    struct str line = {0};
    ssize_t sent;

    probe_report_format(report, &line);
    sent = sendto(sender->fd, line.text, line.length, MSG_DONTWAIT | MSG_NOSIGNAL, to,
                  to ? sizeof(sender->path) : 0);
    str_fini(&line);
    return sent >= 0;
}

void sender_retry(struct sender *sender)
{
    while (sender->fd >= 0 && sender->count > 0) {
        if (!send_line(sender, &sender->waiting[0])) {
            sender->failures++;
            return;
        }
        drop(sender, 0);
    }
}

void sender_send(struct sender *sender, const struct probe_report *report)
{
    if (sender->fd < 0)
        return;
    enqueue(sender, report);
    sender_retry(sender);
}

int sender_answers(const struct sender *sender)
{
    return sender->connected ? sender->fd : -1;
}

bool sender_must_stop(const struct sender *sender, bool *gone)
{
    char word[16];
    ssize_t n = recv(sender->fd, word, sizeof(word), MSG_DONTWAIT);

    *gone = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
    return n == (ssize_t)strlen(SENDER_STOP) && memcmp(word, SENDER_STOP, (size_t)n) == 0;
}

void sender_finish(struct sender *sender, double limit_s)
{
    double until_s = clock_wall_s() + limit_s;
    uint64_t failures = sender->failures;

    while (sender->fd >= 0 && sender->count > 0 && clock_wall_s() < until_s) {
        sender_retry(sender);
        /* A full queue empties itself; a socket that is away will not come so soon. */
        if (sender->failures > failures && errno != EAGAIN)
            return;
        if (sender->count > 0)
            poll(NULL, 0, 20);
    }
}
