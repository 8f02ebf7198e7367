/* chaos_preload.c - a world that misbehaves, loaded into a daemon by tests/chaos/run
 *
 * The file named by CHAOS_WORLD is mapped by the programs and by the runner, which writes
 * the figures below: how far the wall's clock has jumped, how long the disk takes to sync
 * a file, whether it is full, how many of a thousand datagrams get lost.  With all of
 * them 0 the functions do what they always do.  The monotonic clock never jumps, as in a
 * kernel. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* As tests/chaos/world.py writes it. */
struct world {
    _Atomic long long clock_jump_ms;
    _Atomic long long sync_delay_ms;
    _Atomic long long disk_full;
    _Atomic long long lost_per_mille;
    _Atomic long long lost; /* counted here, read there */
};

static struct world quiet;
static struct world *world = &quiet;
static int (*real_clock_gettime)(clockid_t, struct timespec *);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static ssize_t (*real_pwrite64)(int, const void *, size_t, off64_t);
static ssize_t (*real_recvmsg)(int, struct msghdr *, int);

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("CHAOS_WORLD");
    int fd;

    *(void **)&real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    *(void **)&real_fsync = dlsym(RTLD_NEXT, "fsync");
    *(void **)&real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    *(void **)&real_pwrite64 = dlsym(RTLD_NEXT, "pwrite64");
    *(void **)&real_recvmsg = dlsym(RTLD_NEXT, "recvmsg");
    fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd >= 0) {
        void *map = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

        if (map != MAP_FAILED)
            world = map;
        close(fd);
    }
}

static int is_wall(clockid_t clock)
{
    return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
    long long jump_ms = atomic_load(&world->clock_jump_ms);

    if (!real_clock_gettime) /* before our constructor */
        *(void **)&real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    if (real_clock_gettime(clock, t) < 0)
        return -1;
    if (is_wall(clock))
        t->tv_sec += jump_ms / 1000;
    return 0;
}

time_t time(time_t *into)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    if (into)
        *into = t.tv_sec;
    return t.tv_sec;
}

int gettimeofday(struct timeval *restrict into, void *restrict zone)
{
    struct timespec t;

    (void)zone;
    clock_gettime(CLOCK_REALTIME, &t);
    into->tv_sec = t.tv_sec;
    into->tv_usec = t.tv_nsec / 1000;
    return 0;
}

static void wait_for_disk(void)
{
    long long ms = atomic_load(&world->sync_delay_ms);
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    if (ms > 0)
        nanosleep(&t, NULL);
}

int fsync(int fd)
{
    wait_for_disk();
    return real_fsync(fd);
}

int fdatasync(int fd)
{
    wait_for_disk();
    return real_fdatasync(fd);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at)
{
    if (atomic_load(&world->disk_full)) {
        errno = ENOSPC;
        return -1;
    }
    return real_pwrite64(fd, bytes, count, at);
}

/* Only datagrams get lost; which ones is the sum of those before. */
ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    static _Atomic unsigned seen;
    long long per_mille = atomic_load(&world->lost_per_mille);
    int type = 0;
    socklen_t size = sizeof(type);
    ssize_t n = real_recvmsg(fd, message, flags);

    if (n < 0 || per_mille == 0 ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || type != SOCK_DGRAM)
        return n;
    if (atomic_fetch_add(&seen, 379) % 1000 >= (unsigned)per_mille)
        return n;
    atomic_fetch_add(&world->lost, 1);
    errno = EAGAIN;
    return -1;
}
