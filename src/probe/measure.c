/* measure.c - see measure.h */
#include "probe/measure.h"

#include "base/file.h"
#include "base/mem.h"
#include "probe/device_activity.h"
#include "probe/heartbeat.h"
#include "probe/loop.h"
#include "probe/progress_file.h"
#include "probe/scrape.h"
#include "probe/sources.h"
#include "probe/tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <unistd.h>

/* A job that beats faster is read in parts: it only drops its own datagrams. */
#define BEATS_A_TURN 256
#define BEAT_PAUSE_S 0.02

/* A job with GPUs that is silent for so long has them looked at; a driver that has not
 * answered by then is not waited for. */
#define DEVICES_AFTER_WINDOWS 1.2
#define DEVICES_GIVEN_UP_S    20.0

struct measure {
    struct measure_options options;
    char *socket_dir; /* ours to remove; NULL: the caller's */
    char *socket_path;
    int loop;
    struct loop_watch beats, page;
    int beat_fd;
    double beat_rest_s; /* 0: listening */
    struct scrape *scrape;
    struct progress_file progress;
    double look_at_s; /* at the progress file */
    double next_activity_s;
    struct device_activity *devices; /* NULL: not looked at */
    bool on_processor;               /* activity is processor time */
    double started_s;
    struct sources *sources;
    double next_report_s;
    double demand; /* by heartbeat; NaN: not said */
    bool demand_new, demand_due;
    double rate_seconds, rated_s; /* of reported rates, for jobs that count nothing */
    double last_report_s;
};

static void on_beats(void *ctx, uint32_t events);
static void on_page(void *ctx, uint32_t events);

static char *choose_socket_path(struct measure *measure, const char *dir)
{
    char *path = dir ? file_join(dir, "heartbeat") : NULL, *made;
    const char *run = getenv("XDG_RUNTIME_DIR");

    if (path && strlen(path) < sizeof(((struct sockaddr_un *)NULL)->sun_path))
        return path;
    free(path);
    made = file_join(run && strlen(run) < 60 ? run : "/tmp", "corgi-probe-XXXXXX");
    if (!mkdtemp(made)) {
        free(made);
        return NULL;
    }
    measure->socket_dir = made;
    return file_join(made, "heartbeat");
}

/* Without a socket the job still runs and its other voices are heard. */
static void open_heartbeat(struct measure *measure)
{
    measure->beat_fd = -1;
    measure->socket_path = choose_socket_path(measure, measure->options.dir);
    if (measure->socket_path)
        measure->beat_fd = heartbeat_open(measure->socket_path, NULL);
    if (measure->beat_fd >= 0)
        setenv("CORGI_HEARTBEAT", measure->socket_path, 1);
    else
        unsetenv("CORGI_HEARTBEAT");
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

struct measure *measure_create(const struct measure_options *options, struct err *err)
{
    struct fetch_url url;
    struct measure *measure;

    if (options->metrics_url && fetch_url_parse(&url, options->metrics_url, err) < 0)
        return NULL;
    measure = mem_new(struct measure);
    measure->options = *options;
    measure->demand = NAN;
    measure->beats = (struct loop_watch){.fd = -1, .ready = on_beats, .ctx = measure};
    measure->page = (struct loop_watch){.fd = -1, .ready = on_page, .ctx = measure};
    open_heartbeat(measure);
    if (options->metrics_url)
        measure->scrape =
            scrape_create(&url, options->metrics_counter, options->window_s);
    if (options->progress)
        progress_file_init(&measure->progress, options->progress);
    return measure;
}

void measure_destroy(struct measure *measure)
{
    if (!measure)
        return;
    if (measure->beat_fd >= 0) {
        close(measure->beat_fd);
        unlink(measure->socket_path);
    }
    if (measure->socket_dir)
        rmdir(measure->socket_dir);
    free(measure->socket_dir);
    free(measure->socket_path);
    device_activity_stop(measure->devices);
    sources_destroy(measure->sources);
    scrape_destroy(measure->scrape);
    free(measure);
}

void measure_start(struct measure *measure, int loop, double now_s)
{
    const struct measure_options *options = &measure->options;

    measure->loop = loop;
    measure->started_s = now_s;
    measure->on_processor = !visible_devices();
    measure->sources = sources_create(options->window_s, options->attempt, now_s);
    if (measure->scrape)
        sources_use(measure->sources, REPORT_PROMETHEUS, scrape_rate(measure->scrape));
    measure->next_report_s = now_s + options->window_s;
    measure->last_report_s = now_s;
    measure->look_at_s = now_s;
    if (measure->beat_fd >= 0)
        loop_set(loop, &measure->beats, measure->beat_fd, EPOLLIN);
}

void measure_line(void *ctx, double at_s, const char *text, size_t length)
{
    struct measure *measure = ctx;

    tracks_line(sources_tracks(measure->sources, REPORT_LOG), at_s, text, length);
}

static void take_beat(struct measure *measure, const struct heartbeat *beat, double now_s)
{
    struct match_hit hit = {.unit = beat->unit,
                            .trust = MATCH_TOLD,
                            .rank = beat->rank,
                            .rate = beat->rate,
                            .count = beat->steps,
                            .total = NAN,
                            .epoch = NAN};

    if (!isnan(beat->demand)) {
        measure->demand = beat->demand;
        measure->demand_new = true;
    }
    if (!isnan(beat->rate) || !isnan(beat->steps))
        tracks_hit(sources_tracks(measure->sources, REPORT_HEARTBEAT), now_s, &hit);
}

static void read_beats(struct measure *measure, double now_s)
{
    struct heartbeat beat;

    for (int i = 0; i < BEATS_A_TURN; i++) {
        if (!heartbeat_receive(measure->beat_fd, &beat))
            return;
        take_beat(measure, &beat, now_s);
    }
}

static void on_beats(void *ctx, uint32_t events)
{
    struct measure *measure = ctx;
    double now_s = loop_now_s();

    (void)events;
    read_beats(measure, now_s);
    measure->beat_rest_s = now_s + BEAT_PAUSE_S;
    loop_set(measure->loop, &measure->beats, -1, 0);
}

static void go_scrape(struct measure *measure, double now_s)
{
    scrape_go(measure->scrape, now_s);
    loop_set(measure->loop, &measure->page, scrape_fd(measure->scrape),
             scrape_events(measure->scrape));
}

/* The descriptor may be closed and its number used again within one call. */
static void on_page(void *ctx, uint32_t events)
{
    struct measure *measure = ctx;

    (void)events;
    loop_set(measure->loop, &measure->page, -1, 0);
    go_scrape(measure, loop_now_s());
}

static void look_at_progress(struct measure *measure, double now_s)
{
    struct match_hit hit;
    double age_s;

    if (measure->options.progress && progress_file_look(&measure->progress, &hit, &age_s))
        tracks_hit(sources_tracks(measure->sources, REPORT_PROGRESS), now_s - age_s,
                   &hit);
}

/* Processor seconds of everything below us, ended processes included. */
static double processor_seconds(const struct tree *tree)
{
    struct rusage ended;
    double seconds;

    getrusage(RUSAGE_CHILDREN, &ended);
    seconds = (double)(ended.ru_utime.tv_sec + ended.ru_stime.tv_sec) +
              1e-6 * (double)(ended.ru_utime.tv_usec + ended.ru_stime.tv_usec);
    for (size_t i = 0; i < tree->count; i++)
        seconds += tree->items[i].cpu_s;
    return seconds;
}

/* What a silent job does on its GPUs, or on the processor where it has none or their
 * driver does not tell.  The two are never mixed: what was settled on stays.  False:
 * nothing to tell yet. */
static bool activity_seconds(struct measure *measure, const struct tree *tree,
                             double now_s, double *seconds)
{
    double waited_s = now_s - measure->started_s, window_s = measure->options.window_s;
    enum device_activity_state state;

    if (!measure->devices && !measure->on_processor) {
        if (waited_s < DEVICES_AFTER_WINDOWS * window_s)
            return false; /* it may yet say something, and a driver is slow to open */
        measure->devices = device_activity_start(visible_devices(), window_s / 4);
        measure->on_processor = !measure->devices;
    }
    if (measure->on_processor) {
        *seconds = processor_seconds(tree);
        return true;
    }
    state = device_activity_look(measure->devices, tree, seconds);
    if (state == DEVICE_ACTIVITY_NONE ||
        (state == DEVICE_ACTIVITY_OPENING &&
         waited_s > DEVICES_GIVEN_UP_S + DEVICES_AFTER_WINDOWS * window_s)) {
        device_activity_stop(measure->devices);
        measure->devices = NULL;
        measure->on_processor = true;
    }
    return state == DEVICE_ACTIVITY_COUNTS;
}

static void look_at_activity(struct measure *measure, double now_s)
{
    struct match_hit hit = {.unit = units_item(),
                            .trust = MATCH_TOLD,
                            .rank = -1,
                            .rate = NAN,
                            .total = NAN,
                            .epoch = NAN};
    struct tree tree;

    if (!sources_wants_activity(measure->sources)) {
        device_activity_stop(measure->devices);
        measure->devices = NULL;
        return;
    }
    tree_list(&tree, getpid());
    if (activity_seconds(measure, &tree, now_s, &hit.count))
        tracks_hit(sources_tracks(measure->sources, REPORT_ACTIVITY), now_s, &hit);
    tree_fini(&tree);
}

void measure_tick(struct measure *measure, double now_s)
{
    if (measure->beat_rest_s > 0 && now_s >= measure->beat_rest_s) {
        measure->beat_rest_s = 0;
        loop_set(measure->loop, &measure->beats, measure->beat_fd, EPOLLIN);
    }
    if (measure->scrape && now_s >= scrape_due_s(measure->scrape)) {
        loop_set(measure->loop, &measure->page, -1, 0);
        go_scrape(measure, now_s);
    }
    if (now_s >= measure->next_activity_s) {
        look_at_activity(measure, now_s);
        measure->next_activity_s = now_s + measure->options.window_s;
    }
    if (now_s >= measure->look_at_s) {
        look_at_progress(measure, now_s);
        measure->look_at_s = now_s + measure->options.window_s / 4;
    }
}

double measure_due_s(const struct measure *measure)
{
    double due_s = measure->next_report_s;

    if (measure->options.progress)
        due_s = fmin(due_s, measure->look_at_s);

    if (measure->beat_rest_s > 0)
        due_s = fmin(due_s, measure->beat_rest_s);
    if (measure->scrape)
        due_s = fmin(due_s, scrape_due_s(measure->scrape));
    return due_s;
}

/* The last rate is of when the job ended; what it left behind may have run on since. */
static void fill(const struct measure *measure, struct report *report,
                 enum report_kind kind, double now_s)
{
    report_init(report, kind, measure->options.job);
    report->attempt = measure->options.attempt;
    report->at_s = loop_epoch_s() - (loop_now_s() - now_s);
}

static bool report_demand(struct measure *measure, double now_s, struct report *report)
{
    struct tracks_rate asked;

    fill(measure, report, REPORT_DEMAND, now_s);
    report->window_s = measure->options.window_s;
    if (measure->demand_new) {
        measure->demand_new = false;
        report->rate = measure->demand;
        report->source = REPORT_HEARTBEAT;
        report->confidence = 0.98;
        return true;
    }
    if (!measure->scrape ||
        !tracks_rate(scrape_demand(measure->scrape), now_s, false, &asked) || !asked.live)
        return false;
    report->rate = asked.rate;
    report->window_s = asked.span_s;
    report->source = REPORT_PROMETHEUS;
    report->confidence = 0.9 * asked.confidence;
    return true;
}

static bool report_rate(struct measure *measure, double now_s, struct report *report)
{
    struct sources_rate found;

    if (!sources_rate(measure->sources, now_s, true, &found))
        return false;
    fill(measure, report, REPORT_RATE, now_s);
    report->rate = found.rate;
    report->window_s = found.window_s;
    report->steps = found.steps;
    report->source = found.source;
    report->confidence = found.confidence;
    measure->rate_seconds += found.rate * (now_s - measure->last_report_s);
    measure->rated_s += now_s - measure->last_report_s;
    measure->last_report_s = now_s;
    return true;
}

int measure_report(struct measure *measure, double now_s, bool last,
                   struct report *report)
{
    if (measure->demand_due) {
        measure->demand_due = false;
        return report_demand(measure, now_s, report);
    }
    if (last) {
        if (measure->beat_fd >= 0)
            read_beats(measure, now_s);
        look_at_progress(measure, now_s);
    }
    if (now_s < (last ? measure->last_report_s + measure->options.window_s / 4
                      : measure->next_report_s))
        return 0;
    measure->next_report_s = fmax(measure->next_report_s + measure->options.window_s,
                                  now_s + measure->options.window_s / 2);
    measure->demand_due = !last;
    if (report_rate(measure, now_s, report))
        return 1;
    measure->demand_due = false;
    return !last && report_demand(measure, now_s, report);
}

void measure_overall(struct measure *measure, double now_s, double *steps, double *rate)
{
    struct sources_rate found;

    if (!sources_rate(measure->sources, now_s, false, &found))
        return;
    *steps = found.steps;
    *rate = found.overall;
    if (isnan(*rate) && measure->rated_s > 0)
        *rate = measure->rate_seconds / measure->rated_s;
    if (isnan(*rate))
        *rate = found.rate;
}
