/* activity.c - device seconds or processor seconds of a silent job, see activity.h
 *
 * job_meter.c asks once a window for as long as no better source has spoken.  Drivers
 * take long to start and may hang, so a thread of its own asks them. */
#include "probe/activity.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/process.h"
#include "base/thread.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_meter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* A job with GPUs that is silent for so long has them looked at; a driver that has not
 * answered by then is not waited for. */
#define AFTER_WINDOWS 1.2
#define GIVEN_UP_S    20.0

#define MAX_DEVICES   64
#define STOP_WAIT_S   0.2
#define LEAST_READS   2 /* before it is said that a driver tells nothing */
#define MOST_GAP_S    60.0

struct device_watch {
    double period_s;
    const char *marker;
    char *visible; /* taken apart by the thread */
    pthread_t thread;
    pthread_mutex_t mutex; /* guards what is below */
    pthread_cond_t wake;
    bool stopping;
    bool done;                /* the thread is at its end */
    int reads;                /* rounds over all devices */
    bool known;               /* some device told something */
    double busy_s;            /* device seconds of the job so far */
    double joules, metered_s; /* of its devices together, since they were last taken */
};

struct activity {
    struct activity_options options;
    double started_s;
    double cpu_s, cpu_total_s;    /* of marked processes: at the last look, and so far */
    bool on_processor;            /* activity is processor time */
    struct device_watch *devices; /* NULL: not looked at */
};

/* With the mutex held: what a sample says of the time since the one before it, of the
 * processes below us or, where the driver does not tell of processes, of all. */
static void add_sample(struct device_watch *a, const struct gpu_sample *sample,
                       const struct process_table *below, double seconds)
{
    bool told = false;

    for (int i = 0; i < sample->process_count; i++) {
        const struct gpu_process *p = &sample->processes[i];

        if (!isfinite(p->utilisation))
            continue;
        told = true;
        if (process_table_find(below, p->pid))
            a->busy_s += p->utilisation * seconds;
    }
    told = told || (sample->processes_known && sample->process_count == 0);
    if (!told && isfinite(sample->utilisation)) {
        a->busy_s += sample->utilisation * seconds;
        told = true;
    }
    a->known = a->known || told;
}

struct device_list {
    int count;
    int devices[MAX_DEVICES];
    double read_s[MAX_DEVICES];
    struct gpu_meter meters[MAX_DEVICES];
};

void activity_members(struct process_table *table, const char *marker)
{
    static const char *const not_the_job = ACTIVITY_NOT_THE_JOB;
    size_t kept = 0;
    uid_t uid;

    process_table_read(table, NULL);
    for (size_t i = 0; i < table->all.count; i++) {
        pid_t pid = table->all.items[i].id.pid;

        if (pid == getpid() || table->all.items[i].state == 'Z' ||
            !process_user(pid, &uid) || uid != geteuid() ||
            !process_environ_has(pid, &marker, 1) ||
            process_environ_has(pid, &not_the_job, 1))
            continue;
        table->all.items[kept++] = table->all.items[i];
    }
    table->all.count = kept;
}

static void job_processes(struct process_table *table, const char *marker)
{
    if (marker)
        activity_members(table, marker);
    else
        process_table_below(table, getpid(), NULL);
}

/* By UUID, or by its place among the devices of drivers: -1: none. */
static int find_device(struct gpu *gpu, const char *name)
{
    int index;

    if (!parse_int(name, &index))
        return gpu_find_uuid(gpu, name);
    return index >= 0 && index < gpu_count(gpu) ? index : -1;
}

static void find_devices(struct device_watch *a, struct gpu *gpu, struct device_list *r)
{
    char *rest = a->visible, *uuid;

    while ((uuid = strsep(&rest, ",")) && r->count < MAX_DEVICES) {
        int device = find_device(gpu, uuid);

        if (device >= 0) {
            gpu_meter_init(&r->meters[r->count], gpu_device(gpu, device)->sheet);
            r->devices[r->count] = device;
            r->read_s[r->count++] = clock_wall_s();
        }
    }
}

static void read_all(struct device_watch *a, struct gpu *gpu, struct device_list *r)
{
    struct process_table below = {0};

    job_processes(&below, a->marker);
    for (int i = 0; i < r->count; i++) {
        struct gpu_interval interval;
        struct gpu_sample sample;
        struct err err = {0};
        double now_s;

        if (gpu_read(gpu, r->devices[i], &sample, &err) != GPU_OK)
            continue;
        now_s = clock_wall_s();
        pthread_mutex_lock(&a->mutex);
        add_sample(a, &sample, &below, fmin(now_s - r->read_s[i], MOST_GAP_S));
        if (gpu_meter_add(&r->meters[i], &sample, &interval)) {
            a->joules += interval.joules;
            a->metered_s += interval.to_s - interval.from_s;
        }
        pthread_mutex_unlock(&a->mutex);
        r->read_s[i] = now_s;
    }
    process_table_fini(&below);
}

/* With the mutex held: until the flag is set or the time is over. */
static bool wait_for(struct device_watch *a, const bool *flag, double seconds)
{
    double until_s = clock_wall_s() + seconds;

    while (!*flag && thread_wait_until(&a->wake, &a->mutex, until_s))
        ;
    return *flag;
}

/* A period; true when it is time to end. */
static bool rest(struct device_watch *a)
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
    struct device_watch *a = arg;
    struct device_list reading = {0};
    struct err err = {0};
    struct gpu *gpu = gpu_open(
        &(struct gpu_options){.backends = GPU_BACKEND_NVML | GPU_BACKEND_AMD}, &err);

    find_devices(a, gpu, &reading);
    do
        read_all(a, gpu, &reading);
    while (!rest(a));
    gpu_close(gpu);
    pthread_mutex_lock(&a->mutex);
    a->done = true;
    pthread_cond_broadcast(&a->wake);
    pthread_mutex_unlock(&a->mutex);
    return NULL;
}

static void destroy(struct device_watch *a)
{
    pthread_cond_destroy(&a->wake);
    pthread_mutex_destroy(&a->mutex);
    free(a->visible);
    free(a);
}

static struct device_watch *start_watch(const char *visible,
                                        const struct activity_options *options)
{
    struct device_watch *a = mem_new(struct device_watch);

    a->period_s = options->window_s / 4;
    a->marker = options->marker;
    a->visible = mem_strdup(visible);
    pthread_mutex_init(&a->mutex, NULL);
    thread_cond_init(&a->wake);
    if (thread_start(&a->thread, work, a) == 0)
        return a;
    destroy(a);
    return NULL;
}

/* A driver that hangs is left behind with its thread. */
static void stop_watch(struct device_watch *a)
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

/* As an engine sets them; NULL: the job has no GPU. */
static const char *visible_devices(void)
{
    const char *cuda = getenv("CUDA_VISIBLE_DEVICES"), *rocr;

    if (cuda && *cuda)
        return cuda;
    rocr = getenv("ROCR_VISIBLE_DEVICES");
    return rocr && *rocr ? rocr : NULL;
}

struct activity *activity_create(const struct activity_options *options, double now_s)
{
    struct activity *activity = mem_new(struct activity);

    activity->options = *options;
    activity->started_s = now_s;
    activity->on_processor = !visible_devices();
    if (options->power && visible_devices())
        activity->devices = start_watch(visible_devices(), options);
    return activity;
}

static void stop_looking(struct activity *activity)
{
    stop_watch(activity->devices);
    activity->devices = NULL;
}

void activity_rest(struct activity *activity)
{
    if (!activity->options.power)
        stop_looking(activity);
}

double activity_watts(struct activity *activity)
{
    struct device_watch *a = activity->devices;
    double watts;

    if (!a || !activity->options.power)
        return NAN;
    pthread_mutex_lock(&a->mutex);
    watts = a->metered_s > 0 ? a->joules / a->metered_s : NAN;
    a->joules = a->metered_s = 0;
    pthread_mutex_unlock(&a->mutex);
    return watts;
}

void activity_destroy(struct activity *activity)
{
    if (!activity)
        return;
    stop_looking(activity);
    free(activity);
}

/* The same of processes that are not ours: what ended ones have used is not told any
 * more, so only what is added counts. */
static double marked_seconds(struct activity *activity)
{
    struct process_table members = {0};
    double seconds = 0;

    activity_members(&members, activity->options.marker);
    vec_each (const struct process, process, &members.all)
        seconds += process->cpu_s;
    process_table_fini(&members);
    activity->cpu_total_s += fmax(0, seconds - activity->cpu_s);
    activity->cpu_s = seconds;
    return activity->cpu_total_s;
}

/* Processor seconds of the processes below us, and of those that have ended. */
static double processor_seconds(void)
{
    struct process_table below = {0};
    struct rusage ended;
    double seconds;

    process_table_below(&below, getpid(), NULL);
    getrusage(RUSAGE_CHILDREN, &ended);
    seconds = (double)(ended.ru_utime.tv_sec + ended.ru_stime.tv_sec) +
              1e-6 * (double)(ended.ru_utime.tv_usec + ended.ru_stime.tv_usec);
    vec_each (const struct process, process, &below.all)
        seconds += process->cpu_s;
    process_table_fini(&below);
    return seconds;
}

static bool device_seconds(struct activity *activity, double waited_s, double *seconds)
{
    double patience_s = AFTER_WINDOWS * activity->options.window_s;
    struct device_watch *a = activity->devices;
    bool known, hopeless;

    if (!a) {
        if (waited_s < patience_s)
            return false; /* it may yet say something, and a driver is slow to open */
        a = activity->devices = start_watch(visible_devices(), &activity->options);
        activity->on_processor = !a;
        if (!a)
            return false;
    }
    pthread_mutex_lock(&a->mutex);
    known = a->known;
    hopeless = !known && (a->reads >= LEAST_READS || waited_s > GIVEN_UP_S + patience_s);
    if (known)
        *seconds = a->busy_s;
    pthread_mutex_unlock(&a->mutex);
    if (hopeless) {
        stop_looking(activity);
        activity->on_processor = true;
    }
    return known;
}

bool activity_look(struct activity *activity, double now_s, double *seconds)
{
    if (!activity->on_processor)
        return device_seconds(activity, now_s - activity->started_s, seconds);
    *seconds = activity->options.marker ? marked_seconds(activity) : processor_seconds();
    return true;
}
