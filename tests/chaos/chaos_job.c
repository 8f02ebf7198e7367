/* chaos_job.c - a job that keeps its own books, for tests/chaos/run
 *
 * Usage: chaos_job FOLDER KIND STEPS STEP_MS alone|shared
 *
 * It locks a file of its number and one of each device it was given: with `alone` nobody
 * else may hold the device, with `shared` one other may who shares too.  The kernel lets
 * go of a lock when the last process that has it is gone, so whoever is started where
 * somebody still is meets the lock and writes CONFLICT into FOLDER/ledger.  Its start,
 * its end and the steps it has done stand there too: `end`, or `told` when it was done
 * after it had been told to stop.  It sleeps between steps: it costs next to nothing.
 *
 *   plain      counts its steps and ends
 *   fails      exits with 3
 *   crashes    aborts
 *   stubborn   goes on after SIGTERM
 *   leaves     has children in sessions of their own, which hold its locks and do not end
 *   killer     kills its probe in its first attempt
 *   liar       counts its steps, but tells heartbeats of anything, and reports for others
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define SHARERS 2 /* as policy.share */

static volatile sig_atomic_t told_to_stop;
static int stubborn;
static const char *folder, *job, *attempt;
static int ledger = -1;

static void note(const char *format, ...)
{
    char line[256];
    va_list list;
    int length;

    va_start(list, format);
    length = vsnprintf(line, sizeof(line), format, list);
    va_end(list);
    if (length <= 0 || write(ledger, line, (size_t)length) != length)
        _exit(98); /* without its books it proves nothing */
}

/* A file of everybody's: whoever comes first makes it. */
static int open_lock(const char *kind, const char *name)
{
    char path[512];
    int fd;

    snprintf(path, sizeof(path), "%s/locks/%s-%s", folder, kind, name);
    fd = open(path, O_RDWR | O_CREAT, 0666);
    if (fd < 0) {
        fd = open(path, O_RDWR);
        if (fd < 0)
            _exit(97);
    }
    if (fchmod(fd, 0666) < 0 && errno != EPERM)
        _exit(97);
    return fd;
}

static void conflict(const char *kind, const char *name)
{
    note("CONFLICT %s %s %s %s\n", job, attempt, kind, name);
}

static void lock_device(const char *device, int alone)
{
    char name[80];

    if (flock(open_lock("device", device), (alone ? LOCK_EX : LOCK_SH) | LOCK_NB) < 0) {
        conflict("device", device);
        return;
    }
    for (int i = 0; !alone && i < SHARERS; i++) {
        snprintf(name, sizeof(name), "%.60s-%d", device, i);
        if (flock(open_lock("seat", name), LOCK_EX | LOCK_NB) == 0)
            return;
    }
    if (!alone)
        conflict("seat", device);
}

static void lock_all(int alone)
{
    char devices[256];
    const char *list = getenv("CORGI_DEVICES");

    if (flock(open_lock("job", job), LOCK_EX | LOCK_NB) < 0)
        conflict("job", job);
    snprintf(devices, sizeof(devices), "%s", list ? list : "");
    for (char *one = strtok(devices, ","); one; one = strtok(NULL, ","))
        lock_device(one, alone);
}

static void say(const char *path, const char *text)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (fd >= 0 && sendto(fd, text, strlen(text), MSG_NOSIGNAL,
                          (struct sockaddr *)&address, sizeof(address)) < 0)
        errno = 0; /* full, or nobody there: a liar does not care */
    if (fd >= 0)
        close(fd);
}

/* Anything a job could tell: too much, nothing, the past, somebody else's. */
static void lie(int step)
{
    static const char *const beats[] = {
        "rate=1e17",      "rate=nan",      "steps=1e300",
        "steps=-5",       "rate=0",        "steps=3 rank=99999999",
        "busy=7 held=-1", "\xff\xfe=\n\n", "rate=1e-300 latency=1e300"};
    const char *heartbeat = getenv("CORGI_HEARTBEAT"), *engine = getenv("CORGI_ENGINE");
    char path[512], report[256];

    if (heartbeat)
        say(heartbeat, beats[(size_t)step % (sizeof(beats) / sizeof(beats[0]))]);
    if (!engine)
        return;
    snprintf(path, sizeof(path), "%s/report-%u.sock", engine, (unsigned)getuid());
    snprintf(report, sizeof(report),
             "corgi=1 kind=rate job=%d attempt=1 at=1 window=1 rate=1e9 steps=1e9 "
             "source=heartbeat "
             "confidence=1",
             atoi(job) - 1);
    say(path, report);
    say(path, "\x01\x02 not a report");
}

static void leave_children(void)
{
    for (int i = 0; i < 2; i++)
        if (fork() == 0) {
            setsid();
            signal(SIGTERM, SIG_IGN);
            for (int s = 0; s < 600; s++)
                sleep(1);
            _exit(0);
        }
}

static void on_term(int number)
{
    (void)number;
    told_to_stop = 1;
}

static void pause_ms(long ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

int main(int argc, char **argv)
{
    const char *kind;
    char path[512];
    int steps, done = 0;

    if (argc != 6)
        return 2;
    folder = argv[1];
    kind = argv[2];
    steps = atoi(argv[3]);
    job = getenv("CORGI_JOB_ID");
    attempt = getenv("CORGI_ATTEMPT");
    if (!job || !attempt)
        return 2;
    snprintf(path, sizeof(path), "%s/ledger", folder);
    ledger = open(path, O_WRONLY | O_APPEND);
    if (ledger < 0)
        return 96;
    stubborn = strcmp(kind, "stubborn") == 0;
    signal(SIGTERM, on_term);
    lock_all(strcmp(argv[5], "alone") == 0);
    note("start %s %s %d %s\n", job, attempt, (int)getpid(), getenv("CORGI_DEVICES"));
    if (strcmp(kind, "leaves") == 0)
        leave_children();
    while (done < steps && (stubborn || !told_to_stop)) {
        pause_ms(atol(argv[4]));
        done++;
        printf("step %d/%d\n", done, steps);
        fflush(stdout);
        if (strcmp(kind, "liar") == 0)
            lie(done);
        if (strcmp(kind, "killer") == 0 && done == 2 && strcmp(attempt, "1") == 0)
            kill(getppid(), SIGKILL);
        if (strcmp(kind, "crashes") == 0 && done == 2)
            abort();
    }
    note("%s %s %s %d\n",
         done < steps   ? "stopped"
         : told_to_stop ? "told"
                        : "end",
         job, attempt, done);
    if (done < steps)
        return 143;
    return strcmp(kind, "fails") == 0 ? 3 : 0;
}
