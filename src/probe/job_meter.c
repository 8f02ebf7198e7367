/* job_meter.c - listens to a job and makes the reports of its rate, see job_meter.h
 *
 * run_job.c hands in lines of output and ticks; heartbeats, the metrics page, the
 * progress file and activity are looked after here.  All evidence goes into the tracks of
 * its source; the best source that speaks gives the rate when a report is due. */
#include "probe/job_meter.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/poller.h"
#include "probe/activity.h"
#include "probe/heartbeat.h"
#include "probe/scrape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/un.h>
#include <unistd.h>

/* A job may need a while before it says something; until then its processor time would be
 * taken for its rate. */
#define ACTIVITY_AFTER_WINDOWS 3

static const double trust[PROBE_SOURCE_COUNT] = {
    [PROBE_HEARTBEAT] = 0.98, [PROBE_PROMETHEUS] = 0.95, [PROBE_LOG] = 1,
    [PROBE_PROGRESS] = 0.9,   [PROBE_ACTIVITY] = 0.15,
};

struct sources *sources_create(double window_s, int attempt, double now_s)
{
    struct sources *sources = mem_new(struct sources);

    sources->window_s = window_s;
    sources->started_s = now_s;
    sources->from_zero = attempt <= 1;
    sources->told_s = -1;
    for (int i = PROBE_HEARTBEAT; i < PROBE_SOURCE_COUNT; i++)
        sources->tracks[i] = tracks_create(window_s);
    return sources;
}

void sources_destroy(struct sources *sources)
{
    if (!sources)
        return;
    for (int i = 0; i < PROBE_SOURCE_COUNT; i++)
        tracks_destroy(sources->tracks[i]);
    free(sources);
}

bool sources_wants_activity(const struct sources *sources)
{
    return sources->settled == PROBE_NO_SOURCE || sources->settled == PROBE_ACTIVITY;
}

static bool may_use(const struct sources *sources, enum probe_source source, double now_s)
{
    if (source != PROBE_ACTIVITY)
        return true;
    return sources_wants_activity(sources) &&
           now_s - sources->started_s >= ACTIVITY_AFTER_WINDOWS * sources->window_s;
}

/* A first attempt counts from 0; only a server's counter may have run before it. */
static bool ask(struct sources *sources, enum probe_source source, double now_s,
                struct tracks_rate *rate)
{
    bool from_zero = sources->from_zero && source != PROBE_PROMETHEUS;

    return may_use(sources, source, now_s) &&
           tracks_rate(sources->tracks[source], now_s, from_zero, rate);
}

static enum probe_source choose(struct sources *sources, double now_s,
                                struct tracks_rate *rate)
{
    for (int i = PROBE_HEARTBEAT; i < PROBE_SOURCE_COUNT; i++)
        if (ask(sources, (enum probe_source)i, now_s, rate) && rate->live)
            return (enum probe_source)i;
    if (sources->settled != PROBE_NO_SOURCE &&
        ask(sources, sources->settled, now_s, rate))
        return sources->settled;
    return PROBE_NO_SOURCE;
}

bool sources_rate(struct sources *sources, double now_s, bool fresh,
                  struct probe_report *report, double *overall)
{
    struct tracks_rate found;
    enum probe_source source = choose(sources, now_s, &found);

    if (source == PROBE_NO_SOURCE)
        return false;
    sources->settled = source;
    /* A count that stands still is news too; a rate nobody repeats is not. */
    if (fresh && !found.counted && found.last_at_s <= sources->told_s)
        return false;
    if (fresh)
        sources->told_s = found.last_at_s;
    report->source = source;
    report->rate = found.rate;
    report->window_s = found.counted
                           ? found.span_s
                           : fmin(sources->window_s, now_s - sources->started_s);
    report->steps = source == PROBE_ACTIVITY ? NAN : found.done;
    report->confidence = trust[source] * found.confidence;
    if (overall)
        *overall = found.overall;
    return true;
}

/* ---- the meter --------------------------------------------------------------------- */

/* A job that beats faster is read in parts: it only drops its own datagrams. */
#define BEATS_A_TURN 256
#define BEAT_PAUSE_S 0.02

struct job_meter {
    const struct job_meter_options *options;
    char *socket_dir; /* ours to remove; NULL: the caller's */
    char *socket_path;
    int poller;
    struct poller_watch beats, page;
    int beat_fd;
    double beat_rest_s; /* 0: listening */
    struct scrape *scrape;
    struct progress_file progress;
    double look_at_s; /* at the progress file */
    double next_activity_s;
    struct activity *activity;
    struct sources *sources;
    double next_report_s;
    double demand; /* by heartbeat; NaN: not said */
    bool demand_new, demand_due;
    struct probe_service service; /* by heartbeats since the last report */
    double rate_seconds, rated_s; /* of reported rates, for jobs that count nothing */
    double last_report_s;
};

static void on_beats(void *ctx, uint32_t events);
static void on_page(void *ctx, uint32_t events);

static char *choose_socket_path(struct job_meter *meter, const char *dir)
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
    meter->socket_dir = made;
    return file_join(made, "heartbeat");
}

/* Without a socket the job still runs and its other voices are heard. */
static void open_heartbeat(struct job_meter *meter)
{
    meter->socket_path = choose_socket_path(meter, meter->options->dir);
    if (meter->socket_path)
        meter->beat_fd = heartbeat_open(meter->socket_path, NULL);
    if (meter->beat_fd >= 0)
        setenv("CORGI_HEARTBEAT", meter->socket_path, 1);
    else
        unsetenv("CORGI_HEARTBEAT");
}

struct job_meter *job_meter_create(const struct job_meter_options *options,
                                   struct err *err)
{
    struct job_meter *meter = mem_new(struct job_meter);

    meter->options = options;
    meter->demand = NAN;
    meter->service = PROBE_SERVICE_UNKNOWN;
    meter->beat_fd = -1;
    meter->beats = (struct poller_watch){.fd = -1, .ready = on_beats, .ctx = meter};
    meter->page = (struct poller_watch){.fd = -1, .ready = on_page, .ctx = meter};
    meter->sources = sources_create(options->window_s, options->attempt, 0);
    if (options->metrics_url) {
        meter->scrape = scrape_create(options->metrics_url, options->metrics_counter,
                                      options->window_s,
                                      meter->sources->tracks[PROBE_PROMETHEUS], err);
        if (!meter->scrape) {
            job_meter_destroy(meter);
            return NULL;
        }
    }
    open_heartbeat(meter);
    if (options->progress)
        progress_file_init(&meter->progress, options->progress);
    return meter;
}

void job_meter_destroy(struct job_meter *meter)
{
    if (!meter)
        return;
    if (meter->beat_fd >= 0) {
        close(meter->beat_fd);
        unlink(meter->socket_path);
    }
    if (meter->socket_dir)
        rmdir(meter->socket_dir);
    free(meter->socket_dir);
    free(meter->socket_path);
    activity_destroy(meter->activity);
    scrape_destroy(meter->scrape);
    sources_destroy(meter->sources);
    free(meter);
}

void job_meter_start(struct job_meter *meter, int poller, double now_s)
{
    const struct job_meter_options *options = meter->options;

    meter->poller = poller;
    meter->activity =
        activity_create(&(struct activity_options){.window_s = options->window_s,
                                                   .power = options->power,
                                                   .marker = options->marker},
                        now_s);
    meter->sources->started_s = now_s;
    meter->next_report_s = now_s + options->window_s;
    meter->last_report_s = now_s;
    meter->look_at_s = now_s;
    if (meter->beat_fd >= 0)
        poller_set(poller, &meter->beats, meter->beat_fd, EPOLLIN);
}

void job_meter_line(void *ctx, double at_s, const char *text, size_t length)
{
    struct job_meter *meter = ctx;

    tracks_line(meter->sources->tracks[PROBE_LOG], at_s, text, length);
}

/* What is told twice holds as told last. */
static void prefer(struct probe_service *service, const struct probe_service *told)
{
    if (!isnan(told->latency_s))
        service->latency_s = told->latency_s;
    if (!isnan(told->median_s))
        service->median_s = told->median_s;
    if (!isnan(told->busy))
        service->busy = told->busy;
    if (!isnan(told->held))
        service->held = told->held;
}

static void read_beats(struct job_meter *meter, double now_s)
{
    struct heartbeat beat;

    for (int i = 0; i < BEATS_A_TURN; i++) {
        if (!heartbeat_receive(meter->beat_fd, &beat))
            return;
        if (!isnan(beat.demand)) {
            meter->demand = beat.demand;
            meter->demand_new = true;
        }
        prefer(&meter->service, &beat.service);
        if (!isnan(beat.hit.rate) || !isnan(beat.hit.count))
            tracks_hit(meter->sources->tracks[PROBE_HEARTBEAT], now_s, &beat.hit);
    }
}

static void on_beats(void *ctx, uint32_t events)
{
    struct job_meter *meter = ctx;
    double now_s = clock_wall_s();

    (void)events;
    read_beats(meter, now_s);
    meter->beat_rest_s = now_s + BEAT_PAUSE_S;
    poller_set(meter->poller, &meter->beats, -1, 0);
}

static void go_scrape(struct job_meter *meter, double now_s)
{
    scrape_go(meter->scrape, now_s);
    poller_set(meter->poller, &meter->page, meter->scrape->fetch.fd,
               fetch_events(&meter->scrape->fetch));
}

/* The descriptor may be closed and its number used again within one call. */
static void on_page(void *ctx, uint32_t events)
{
    struct job_meter *meter = ctx;

    (void)events;
    poller_set(meter->poller, &meter->page, -1, 0);
    go_scrape(meter, clock_wall_s());
}

static void look_at_progress(struct job_meter *meter, double now_s)
{
    struct match_hit hit;
    double age_s;

    if (meter->options->progress && progress_file_look(&meter->progress, &hit, &age_s))
        tracks_hit(meter->sources->tracks[PROBE_PROGRESS], now_s - age_s, &hit);
}

static void look_at_activity(struct job_meter *meter, double now_s)
{
    struct match_hit hit = match_told(units_item());

    if (!sources_wants_activity(meter->sources))
        activity_rest(meter->activity);
    else if (activity_look(meter->activity, now_s, &hit.count))
        tracks_hit(meter->sources->tracks[PROBE_ACTIVITY], now_s, &hit);
}

void job_meter_tick(struct job_meter *meter, double now_s)
{
    if (meter->beat_rest_s > 0 && now_s >= meter->beat_rest_s) {
        meter->beat_rest_s = 0;
        poller_set(meter->poller, &meter->beats, meter->beat_fd, EPOLLIN);
    }
    if (meter->scrape && now_s >= meter->scrape->due_s) {
        poller_set(meter->poller, &meter->page, -1, 0);
        go_scrape(meter, now_s);
    }
    if (now_s >= meter->next_activity_s) {
        look_at_activity(meter, now_s);
        meter->next_activity_s = now_s + meter->options->window_s;
    }
    if (now_s >= meter->look_at_s) {
        look_at_progress(meter, now_s);
        meter->look_at_s = now_s + meter->options->window_s / 4;
    }
}

double job_meter_due_s(const struct job_meter *meter)
{
    double due_s = meter->next_report_s;

    if (meter->options->progress)
        due_s = fmin(due_s, meter->look_at_s);

    if (meter->beat_rest_s > 0)
        due_s = fmin(due_s, meter->beat_rest_s);
    if (meter->scrape)
        due_s = fmin(due_s, meter->scrape->due_s);
    return due_s;
}

/* The last rate is of when the job ended; what it left behind may have run on since. */
static void fill(const struct job_meter *meter, struct probe_report *report,
                 enum probe_report_kind kind, double now_s)
{
    probe_report_init(report, kind, meter->options->job);
    report->attempt = meter->options->attempt;
    report->at_s = clock_epoch_s() - (clock_wall_s() - now_s);
}

static bool report_demand(struct job_meter *meter, double now_s,
                          struct probe_report *report)
{
    struct tracks_rate asked;

    fill(meter, report, PROBE_DEMAND, now_s);
    report->window_s = meter->options->window_s;
    if (meter->demand_new) {
        meter->demand_new = false;
        report->rate = meter->demand;
        report->source = PROBE_HEARTBEAT;
        report->confidence = 0.98;
        return true;
    }
    if (!meter->scrape || !tracks_rate(meter->scrape->demand, now_s, false, &asked) ||
        !asked.live)
        return false;
    report->rate = asked.rate;
    report->window_s = asked.span_s;
    report->source = PROBE_PROMETHEUS;
    report->confidence = 0.9 * asked.confidence;
    return true;
}

/* All of one window: what was answered in it, and how. */
static void fill_service(struct job_meter *meter, struct probe_report *report)
{
    double seconds, answered = 0;

    if (meter->scrape &&
        scrape_window(meter->scrape, &report->service, &answered, &seconds) &&
        report->source == PROBE_PROMETHEUS) {
        report->rate = answered / seconds;
        report->window_s = seconds;
    }
    prefer(&report->service, &meter->service);
    meter->service = PROBE_SERVICE_UNKNOWN;
}

static bool report_rate(struct job_meter *meter, double now_s,
                        struct probe_report *report)
{
    fill(meter, report, PROBE_RATE, now_s);
    if (!sources_rate(meter->sources, now_s, true, report, NULL))
        return false;
    if (meter->options->service)
        fill_service(meter, report);
    report->watts = activity_watts(meter->activity);
    meter->rate_seconds += report->rate * (now_s - meter->last_report_s);
    meter->rated_s += now_s - meter->last_report_s;
    meter->last_report_s = now_s;
    return true;
}

int job_meter_report(struct job_meter *meter, double now_s, bool last,
                     struct probe_report *report)
{
    if (meter->demand_due) {
        meter->demand_due = false;
        return report_demand(meter, now_s, report);
    }
    if (last) {
        if (meter->beat_fd >= 0)
            read_beats(meter, now_s);
        look_at_progress(meter, now_s);
    }
    if (now_s < (last ? meter->last_report_s + meter->options->window_s / 4
                      : meter->next_report_s))
        return 0;
    meter->next_report_s = fmax(meter->next_report_s + meter->options->window_s,
                                now_s + meter->options->window_s / 2);
    meter->demand_due = meter->options->service && !last;
    if (report_rate(meter, now_s, report))
        return 1;
    meter->demand_due = false;
    return meter->options->service && !last && report_demand(meter, now_s, report);
}

void job_meter_overall(struct job_meter *meter, double now_s, double *steps, double *rate)
{
    struct probe_report now;
    double overall;

    if (!sources_rate(meter->sources, now_s, false, &now, &overall))
        return;
    if (isnan(overall) && meter->rated_s > 0)
        overall = meter->rate_seconds / meter->rated_s;
    *steps = now.steps;
    *rate = isnan(overall) ? now.rate : overall;
}
