/* state.c - see state.h; libc only */
#include "fake/state.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MAX_PROCESSES 256

struct shared {
    double began_s; /* CLOCK_MONOTONIC; 0: not yet */
    struct {
        double limit;
        double joules;
        double counted_s; /* until when joules are counted */
        int followers;    /* as of then */
    } gpus[FAKE_MAX_GPUS];
};

static const struct fake_script *script;
static struct shared *shared;
static int fd = -1;
static double set_now_s = NAN;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static double monotonic_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Threads by the mutex, processes by the file: the kernel lets go of it when one dies. */
static void lock(void)
{
    pthread_mutex_lock(&mutex);
    if (fd >= 0)
        flock(fd, LOCK_EX);
}

static void unlock(void)
{
    if (fd >= 0)
        flock(fd, LOCK_UN);
    pthread_mutex_unlock(&mutex);
}

static int map_file(const char *path)
{
    void *map;

    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(struct shared)) < 0)
        return -1;
    map = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return -1;
    shared = map;
    return 0;
}

int fake_state_open(const struct fake_script *of)
{
    static struct shared own;
    const char *path = getenv("CORGI_FAKE_NVML_STATE");

    if (!shared) {
        shared = &own;
        if (path && map_file(path) < 0)
            return -1;
    }
    lock();
    script = of;
    if (shared->began_s == 0) {
        shared->began_s = monotonic_s();
        for (int i = 0; i < script->count; i++)
            shared->gpus[i].limit = script->gpus[i].limit;
    }
    unlock();
    return 0;
}

void fake_state_reset(void)
{
    pthread_mutex_lock(&mutex);
    if (shared && fd < 0)
        memset(shared, 0, sizeof(*shared));
    else if (shared)
        munmap(shared, sizeof(*shared));
    if (fd >= 0)
        close(fd);
    shared = NULL;
    fd = -1;
    set_now_s = NAN;
    pthread_mutex_unlock(&mutex);
}

static double now_s(void)
{
    return isnan(set_now_s) ? monotonic_s() - shared->began_s : set_now_s;
}

double fake_state_now(void)
{
    double now;

    lock();
    now = now_s();
    unlock();
    return now;
}

void fake_state_set_now(double at_s)
{
    lock();
    set_now_s = at_s;
    unlock();
}

bool fake_state_unplugged(int gpu)
{
    const char *folder = getenv("CORGI_FAKE_NVML_UNPLUGGED");
    char path[512];

    if (!folder)
        return false;
    snprintf(path, sizeof(path), "%s/%d", folder, gpu);
    return access(path, F_OK) == 0;
}

/* The value of CUDA_VISIBLE_DEVICES in a process, "" when it is not ours to read. */
static void visible_devices(const char *pid, char *value, size_t size)
{
    static const char name[] = "CUDA_VISIBLE_DEVICES=";
    char path[64];
    char environment[65536];
    ssize_t length;
    int file;

    value[0] = '\0';
    snprintf(path, sizeof(path), "/proc/%.20s/environ", pid);
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    length = read(file, environment, sizeof(environment) - 1);
    close(file);
    if (length <= 0)
        return;
    environment[length] = '\0';
    for (char *at = environment; at < environment + length; at += strlen(at) + 1)
        if (!strncmp(at, name, sizeof(name) - 1))
            snprintf(value, size, "%s", at + sizeof(name) - 1);
}

static int note_follower(struct fake_follower *followers, int count, pid_t pid)
{
    pid_t session = getsid(pid);

    for (int i = 0; i < count; i++)
        if (followers[i].session == session) {
            if (pid > followers[i].pid)
                followers[i].pid = pid;
            return count;
        }
    if (session > 0 && count < FAKE_MAX_FOLLOWERS)
        followers[count++] = (struct fake_follower){.pid = pid, .session = session};
    return count;
}

/* Processes with the variable; looking through /proc is slow, so it is done at most ten
 * times a second for all devices. */
static struct {
    double at_s;
    int count;
    struct {
        pid_t pid;
        char devices[1024];
    } processes[MAX_PROCESSES];
} seen;
static pthread_mutex_t seen_mutex = PTHREAD_MUTEX_INITIALIZER; /* guards seen */

static void look_through_proc(void)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;

    seen.count = 0;
    while (proc && seen.count < MAX_PROCESSES && (entry = readdir(proc))) {
        char *devices = seen.processes[seen.count].devices;

        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        visible_devices(entry->d_name, devices, sizeof(seen.processes[0].devices));
        if (devices[0])
            seen.processes[seen.count++].pid = (pid_t)atol(entry->d_name);
    }
    if (proc)
        closedir(proc);
    seen.at_s = monotonic_s();
}

int fake_state_followers(const char *uuid, struct fake_follower *followers)
{
    int count = 0;

    pthread_mutex_lock(&seen_mutex);
    if (monotonic_s() - seen.at_s > 0.1)
        look_through_proc();
    for (int i = 0; i < seen.count; i++)
        if (strstr(seen.processes[i].devices, uuid))
            count = note_follower(followers, count, seen.processes[i].pid);
    pthread_mutex_unlock(&seen_mutex);
    return count;
}

static int count_followers(const struct fake_gpu *gpu)
{
    struct fake_follower followers[FAKE_MAX_FOLLOWERS];

    return gpu->follow ? fake_state_followers(gpu->uuid, followers) : 0;
}

static double wanted_watts(const struct fake_gpu *gpu, double at_s)
{
    return fake_script_value(gpu, FAKE_POWER, at_s, 30) +
           gpu->follow_watts * count_followers(gpu);
}

static double joules_until(int index, double from_s, double to_s)
{
    const struct fake_gpu *gpu = &script->gpus[index];
    double limit = shared->gpus[index].limit, joules = 0;
    int now = count_followers(gpu);
    /* Those who came or went meanwhile did so half-way. */
    double followers = (now + shared->gpus[index].followers) / 2.0;

    while (from_s < to_s) {
        double next = to_s;

        /* Steps of the script fall on their seconds. */
        for (int i = 0; i < gpu->event_count; i++)
            if (gpu->events[i].kind == FAKE_POWER && gpu->events[i].from_s > from_s)
                next = fmin(next, gpu->events[i].from_s);
        joules += fmin(fake_script_value(gpu, FAKE_POWER, from_s, 30) +
                           gpu->follow_watts * followers,
                       limit) *
                  (next - from_s);
        from_s = next;
    }
    shared->gpus[index].followers = now;
    return joules;
}

static void count_joules(int index)
{
    double now = now_s();

    if (now <= shared->gpus[index].counted_s)
        return;
    shared->gpus[index].joules += joules_until(index, shared->gpus[index].counted_s, now);
    shared->gpus[index].counted_s = now;
}

double fake_state_limit(int gpu)
{
    double limit;

    lock();
    limit = shared->gpus[gpu].limit;
    unlock();
    return limit;
}

void fake_state_set_limit(int gpu, double watts)
{
    lock();
    count_joules(gpu);
    shared->gpus[gpu].limit = watts;
    unlock();
}

double fake_state_watts(int gpu)
{
    double watts;

    lock();
    watts = fmin(wanted_watts(&script->gpus[gpu], now_s()), shared->gpus[gpu].limit);
    unlock();
    return watts;
}

bool fake_state_capped(int gpu)
{
    bool capped;

    lock();
    capped = wanted_watts(&script->gpus[gpu], now_s()) > shared->gpus[gpu].limit;
    unlock();
    return capped;
}

double fake_state_joules(int gpu)
{
    const struct fake_gpu *of = &script->gpus[gpu];
    double joules, now;

    lock();
    count_joules(gpu);
    joules = shared->gpus[gpu].joules;
    now = now_s();
    unlock();
    for (int i = 0; i < of->event_count; i++)
        if (of->events[i].kind == FAKE_JUMP && of->events[i].from_s <= now)
            joules += of->events[i].value;
    return joules < 0 ? 0 : joules;
}
