/* device_activity.c - see device_activity.h */
#include "probe/device_activity.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "gpu/gpu_devices.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_DEVICES 64
#define MAX_USERS   256 /* processes on the devices at a time */
#define STOP_WAIT_S 0.2
#define LEAST_READS 2 /* before it is said that a driver tells nothing */
#define MOST_GAP_S  60.0

struct device_user { /* a process on one of the devices */
    pid_t pid;
    double busy_s;  /* device seconds since it was first seen */
    double taken_s; /* of these, already counted for the job */
};

struct device_activity {
    double period_s;
    char *visible;
    pthread_t thread;
    pthread_mutex_t mutex; /* guards what is below */
    pthread_cond_t wake;
    bool stopping;
    bool done;  /* the thread is at its end */
    int reads;  /* rounds over all devices */
    bool known; /* some device told something */
    struct device_user users[MAX_USERS];
    int user_count;
    double whole_s; /* of devices that do not tell of processes */
    double taken_s; /* counted for the job so far */
};

/* With the mutex held. */
static void add_use(struct device_activity *a, pid_t pid, double busy_s)
{
    struct device_user *idle = NULL;

    for (int i = 0; i < a->user_count; i++) {
        if (a->users[i].pid == pid) {
            a->users[i].busy_s += busy_s;
            return;
        }
        if (a->users[i].taken_s >= a->users[i].busy_s)
            idle = &a->users[i];
    }
    if (a->user_count < MAX_USERS)
        idle = &a->users[a->user_count++];
    if (idle)
        *idle = (struct device_user){.pid = pid, .busy_s = busy_s};
}

/* With the mutex held: what a sample says of the time since the one before it. */
static void add_sample(struct device_activity *a, const struct gpu_sample *sample,
                       double seconds)
{
    bool told = false;

    for (int i = 0; i < sample->process_count; i++) {
        const struct gpu_process *p = &sample->processes[i];

        if (!isfinite(p->utilisation))
            continue;
        told = true;
        add_use(a, p->pid, p->utilisation * seconds);
    }
    told = told || (sample->processes_known && sample->process_count == 0);
    if (!told && isfinite(sample->utilisation)) {
        a->whole_s += sample->utilisation * seconds;
        told = true;
    }
    a->known = a->known || told;
}

struct device_list {
    int count;
    int devices[MAX_DEVICES];
    double read_s[MAX_DEVICES];
};

static void find_devices(const struct device_activity *a, struct gpu *gpu,
                         struct device_list *r)
{
    const char *at = a->visible;

    while (*at && r->count < MAX_DEVICES) {
        size_t length = strcspn(at, ",");
        char uuid[GPU_UUID_SIZE];
        int device = -1;

        if (length > 0 && length < sizeof(uuid)) {
            memcpy(uuid, at, length);
            uuid[length] = '\0';
            device = gpu_find_uuid(gpu, uuid);
        }
        if (device >= 0) {
            r->devices[r->count] = device;
            r->read_s[r->count++] = clock_wall_s();
        }
        at += length + (at[length] == ',');
    }
}

static void read_all(struct device_activity *a, struct gpu *gpu, struct device_list *r)
{
    for (int i = 0; i < r->count; i++) {
        struct gpu_sample sample;
        struct err err = {0};
        double now_s;

        if (gpu_read(gpu, r->devices[i], &sample, &err) != GPU_OK)
            continue;
        now_s = clock_wall_s();
        pthread_mutex_lock(&a->mutex);
        add_sample(a, &sample, fmin(now_s - r->read_s[i], MOST_GAP_S));
        pthread_mutex_unlock(&a->mutex);
        r->read_s[i] = now_s;
    }
}

/* With the mutex held: until the flag is set or the time is over. */
static bool wait_for(struct device_activity *a, const bool *flag, double seconds)
{
    double until_s = clock_wall_s() + seconds;
    struct timespec until = {.tv_sec = (time_t)until_s,
                             .tv_nsec = (long)((until_s - floor(until_s)) * 1e9)};

    while (!*flag && pthread_cond_timedwait(&a->wake, &a->mutex, &until) == 0)
        ;
    return *flag;
}

/* A period; true when it is time to end. */
static bool rest(struct device_activity *a)
{
    bool stopping;

    pthread_mutex_lock(&a->mutex);
    a->reads++;
    stopping = wait_for(a, &a->stopping, a->period_s);
    pthread_mutex_unlock(&a->mutex);
    return stopping;
}

static void *work(void *arg)
{
    struct device_activity *a = arg;
    struct device_list reading = {0};
    struct err err = {0};
    struct gpu *gpu = gpu_open(
        &(struct gpu_options){.backends = GPU_BACKEND_NVML | GPU_BACKEND_AMD}, &err);

    if (gpu)
        find_devices(a, gpu, &reading);
    do {
        if (gpu)
            read_all(a, gpu, &reading);
    } while (!rest(a));
    gpu_close(gpu);
    pthread_mutex_lock(&a->mutex);
    a->done = true;
    pthread_cond_broadcast(&a->wake);
    pthread_mutex_unlock(&a->mutex);
    return NULL;
}

static void destroy(struct device_activity *a)
{
    pthread_cond_destroy(&a->wake);
    pthread_mutex_destroy(&a->mutex);
    free(a->visible);
    free(a);
}

struct device_activity *device_activity_start(const char *visible, double period_s)
{
    struct device_activity *a;
    pthread_condattr_t attr;
    sigset_t all, before;
    int rc;

    if (!visible || !*visible)
        return NULL;
    a = mem_new(struct device_activity);
    a->period_s = period_s;
    a->visible = mem_strdup(visible);
    pthread_mutex_init(&a->mutex, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&a->wake, &attr);
    pthread_condattr_destroy(&attr);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&a->thread, NULL, work, a);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0) {
        destroy(a);
        return NULL;
    }
    return a;
}

void device_activity_stop(struct device_activity *a)
{
    bool done;

    if (!a)
        return;
    pthread_mutex_lock(&a->mutex);
    a->stopping = true;
    pthread_cond_broadcast(&a->wake);
    done = wait_for(a, &a->done, STOP_WAIT_S);
    pthread_mutex_unlock(&a->mutex);
    if (!done) { /* inside a driver: it keeps what it uses */
        pthread_detach(a->thread);
        return;
    }
    pthread_join(a->thread, NULL);
    destroy(a);
}

enum device_activity_state device_activity_look(struct device_activity *a,
                                                const struct process_table *table,
                                                double *seconds)
{
    enum device_activity_state state = DEVICE_ACTIVITY_OPENING;

    pthread_mutex_lock(&a->mutex);
    for (int i = 0; i < a->user_count; i++) {
        struct device_user *user = &a->users[i];

        if (!process_table_find(table, user->pid))
            continue;
        a->taken_s += user->busy_s - user->taken_s;
        user->taken_s = user->busy_s;
    }
    if (a->known) {
        state = DEVICE_ACTIVITY_COUNTS;
        *seconds = a->taken_s + a->whole_s;
    } else if (a->reads >= LEAST_READS) {
        state = DEVICE_ACTIVITY_NONE;
    }
    pthread_mutex_unlock(&a->mutex);
    return state;
}
