/* scrape.c - rate and demand of a server from its metrics page, see scrape.h
 *
 * job_meter.c drives it between the poller and its ticks; the counts go into tracks.c.
 */
#include "probe/scrape.h"

#include "base/mem.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void scrape_page_init(struct scrape_page *page, const char *const *names, int count,
                      const char *latency_name)
{
    assert(count <= SCRAPE_PAGE_MAX_NAMES);
    memcpy(page->names, names, (size_t)count * sizeof(names[0]));
    page->count = count;
    page->latency_name = latency_name;
    page->any_name[0] = '\0';
    latency_init(&page->latency);
}

static bool is_name_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == ':';
}

/* Behind the label set that begins at p; quotes may hold braces.  NULL: it has no end. */
static const char *skip_labels(const char *p, const char *end)
{
    bool quoted = false;

    for (p++; p < end; p++) {
        if (quoted && *p == '\\')
            p++;
        else if (*p == '"')
            quoted = !quoted;
        else if (*p == '}' && !quoted)
            return p + 1;
    }
    return NULL;
}

static bool read_value(const char *p, const char *end, double *value)
{
    char text[64], *rest;
    size_t length = 0;

    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    while (p < end && !isspace((unsigned char)*p) && length + 1 < sizeof(text))
        text[length++] = *p++;
    text[length] = '\0';
    *value = strtod(text, &rest);
    return length > 0 && !*rest && isfinite(*value);
}

struct sample {
    size_t name_length; /* the line begins with it */
    const char *labels; /* between the braces */
    size_t labels_length;
    double value;
};

/* False for comments and whatever else is no sample with a finite value. */
static bool read_sample(const char *line, size_t length, struct sample *sample)
{
    const char *p = line, *end = line + length;

    while (p < end && is_name_byte(*p))
        p++;
    *sample = (struct sample){.name_length = (size_t)(p - line), .labels = p};
    if (p == line || p == end)
        return false;
    if (*p == '{') {
        p = skip_labels(p, end);
        if (!p)
            return false;
        sample->labels++;
        sample->labels_length = (size_t)(p - 1 - sample->labels);
    } else if (*p != ' ' && *p != '\t') {
        return false;
    }
    return read_value(p, end, &sample->value);
}

static bool is_named(const char *wanted, const char *name, size_t length)
{
    size_t plain = strlen(wanted);

    if (length < plain || memcmp(wanted, name, plain) != 0)
        return false;
    return length == plain || (length == plain + 6 && !memcmp(name + plain, "_total", 6));
}

/* A name that is looked for only by its end stays once it is found. */
static const char *latency_name(struct scrape_page *page, const char *name, size_t length)
{
    static const char end[] = "_seconds_bucket";
    size_t base = length - strlen("_bucket");

    if (!page->latency_name || *page->latency_name)
        return page->latency_name;
    if (!page->any_name[0] && length >= strlen(end) && base < sizeof(page->any_name) &&
        !memcmp(name + length - strlen(end), end, strlen(end))) {
        memcpy(page->any_name, name, base);
        page->any_name[base] = '\0';
    }
    return page->any_name[0] ? page->any_name : NULL;
}

static void take_line(struct scrape_page *page, const char *line, size_t length)
{
    struct sample s;
    const char *wanted;
    size_t plain;

    if (length > SCRAPE_PAGE_MAX_LINE || !read_sample(line, length, &s))
        return;
    for (int i = 0; i < page->count; i++)
        if (is_named(page->names[i], line, s.name_length))
            page->sums[i] = isnan(page->sums[i]) ? s.value : page->sums[i] + s.value;
    wanted = latency_name(page, line, s.name_length);
    plain = wanted ? strlen(wanted) : 0;
    if (wanted && s.name_length >= plain && !memcmp(wanted, line, plain))
        latency_add(&page->latency, line + plain, s.name_length - plain, s.labels,
                    s.labels_length, s.value);
}

void scrape_page_read(struct scrape_page *page, const char *text, size_t length)
{
    const char *end = text + length, *newline;

    for (int i = 0; i < page->count; i++)
        page->sums[i] = NAN;
    latency_init(&page->latency);
    for (; text < end; text = newline + 1) {
        newline = memchr(text, '\n', (size_t)(end - text));
        if (!newline) /* the last line may lack it */
            newline = end;
        take_line(page, text, (size_t)(newline - text));
    }
}

/* The first kind with its counter on the page is it. */
static const struct metrics_server servers[] = {
    {"vllm:request_success_total",
     NULL,
     {"vllm:num_requests_running", "vllm:num_requests_waiting"},
     "request",
     "vllm:e2e_request_latency_seconds",
     1},
    /* Triton, with summaries on or, as usual, with counters of time. */
    {"nv_inference_request_summary_us_count",
     "nv_inference_request_failure",
     {NULL, "nv_inference_pending_request_count"},
     "request",
     "nv_inference_request_summary_us",
     1e-6},
    {"nv_inference_request_success",
     "nv_inference_request_failure",
     {NULL, "nv_inference_pending_request_count"},
     "request",
     "nv_inference_request_duration_us",
     1e-6},
    {"tgi_request_success",
     "tgi_request_failure",
     {"tgi_batch_current_size", "tgi_queue_size"},
     "request",
     "tgi_request_duration",
     1},
    {"sglang:num_requests_total",
     NULL,
     {"sglang:num_running_reqs", "sglang:num_queue_reqs"},
     "request",
     "sglang:e2e_request_latency_seconds",
     1},
    {"ts_inference_requests_total",
     NULL,
     {NULL, NULL},
     "request",
     "ts_inference_latency_microseconds",
     1e-6},
    {":tensorflow:serving:request_count",
     NULL,
     {NULL, NULL},
     "request",
     ":tensorflow:serving:request_latency",
     1e-6},
    {"llamacpp:tokens_predicted_total", NULL, {NULL, NULL}, "token", NULL, 1},
    {"vllm:generation_tokens_total", NULL, {NULL, NULL}, "token", NULL, 1},
    {"http_requests_total",
     NULL,
     {"http_requests_inprogress", NULL},
     "request",
     SCRAPE_ANY_SECONDS,
     1},
};

#define SERVER_COUNT (sizeof(servers) / sizeof(servers[0]))

/* The page is read once for all known servers: their counters first, in order. */
static void ask_for_all(struct scrape *scrape)
{
    const char *names[SERVER_COUNT];

    for (size_t i = 0; i < SERVER_COUNT; i++)
        names[i] = servers[i].done;
    scrape_page_init(&scrape->page, names, (int)SERVER_COUNT, NULL);
}

static void ask_for(struct scrape *scrape, const struct metrics_server *server)
{
    const char *names[4] = {server->done, "", "", ""};

    if (server->refused)
        names[1] = server->refused;
    for (int i = 0; i < 2; i++)
        if (server->held[i])
            names[2 + i] = server->held[i];
    scrape_page_init(&scrape->page, names, 4, server->latency);
    scrape->server = server;
}

/* The job's own name is that of a counter, or of a histogram or summary, which counts. */
static void ask_for_named(struct scrape *scrape, const char *counter)
{
    scrape->histogram = mem_strdup(counter);
    if (str_ends(counter, "_count"))
        scrape->histogram[strlen(counter) - strlen("_count")] = '\0';
    scrape->named = (struct metrics_server){.done = counter,
                                            .unit = "request",
                                            .held = {"http_requests_inprogress", NULL},
                                            .latency = scrape->histogram,
                                            .latency_unit_s = 1};
    ask_for(scrape, &scrape->named);
}

struct scrape *scrape_create(const char *url, const char *counter, double window_s,
                             struct tracks *rate, struct err *err)
{
    struct scrape *scrape = mem_new(struct scrape);

    if (fetch_init(&scrape->fetch, url, err) < 0) {
        free(scrape);
        return NULL;
    }
    scrape->every_s = fmin(fmax(window_s / 5, 0.2), 15);
    scrape->done.last = scrape->refused.last = NAN;
    scrape->rate = rate;
    scrape->demand = tracks_create(window_s);
    scrape->page_s = scrape->told_s = NAN;
    if (counter)
        ask_for_named(scrape, counter);
    else
        ask_for_all(scrape);
    return scrape;
}

void scrape_destroy(struct scrape *scrape)
{
    if (!scrape)
        return;
    fetch_fini(&scrape->fetch);
    tracks_destroy(scrape->demand);
    free(scrape->histogram);
    free(scrape);
}

static bool count_on(struct steady_counter *counter, double value)
{
    if (isnan(value) || value < 0)
        return false;
    if (!isnan(counter->last)) /* lower than before: it began again at 0 */
        counter->sum += value >= counter->last ? value - counter->last : value;
    counter->last = value;
    return true;
}

static void add(struct tracks *tracks, const char *unit, double now_s, double count)
{
    struct match_hit hit = match_told(units_find(unit, strlen(unit)));

    hit.count = count;
    tracks_hit(tracks, now_s, &hit);
}

/* The first page: whose is it? */
static void find_server(struct scrape *scrape, double now_s)
{
    for (size_t i = 0; i < SERVER_COUNT; i++) {
        if (isnan(scrape->page.sums[i]))
            continue;
        ask_for(scrape, &servers[i]);
        scrape->due_s = now_s; /* again, with all of its names */
        return;
    }
}

/* The job's name may be that of a plain counter: then the times are elsewhere. */
static void settle_latency(struct scrape *scrape)
{
    struct scrape_page *page = &scrape->page;

    if (page->latency_name == scrape->histogram && page->latency.bucket_count == 0 &&
        isnan(page->latency.p99) && !isnan(page->sums[0])) {
        page->latency_name = SCRAPE_ANY_SECONDS;
        latency_init(&page->latency);
    }
    if (isnan(page->latency.count)) /* of a counter of time */
        page->latency.count = scrape->done.sum;
}

static double take_held(struct scrape *scrape)
{
    double held = 0;

    for (int i = 0; i < 2; i++) {
        double now = scrape->page.sums[2 + i];

        if (isnan(now))
            continue;
        held += now;
        scrape->held_sum[i] += now;
    }
    scrape->held_pages++;
    return held;
}

void scrape_take(struct scrape *scrape, const char *text, size_t length, double now_s)
{
    const double *sums = scrape->page.sums;
    double done;

    scrape_page_read(&scrape->page, text, length);
    if (!scrape->server) {
        find_server(scrape, now_s);
        return;
    }
    done = isnan(sums[0]) ? scrape->page.latency.count : sums[0];
    if (!count_on(&scrape->done, done))
        return;
    settle_latency(scrape);
    scrape->page_s = now_s;
    if (isnan(scrape->told_s)) { /* what was before is not this run's */
        scrape->told_s = now_s;
        scrape->told_done = scrape->done.sum;
        scrape->told = scrape->page.latency;
    }
    add(scrape->rate, scrape->server->unit, now_s, scrape->done.sum);
    count_on(&scrape->refused, sums[1]);
    add(scrape->demand, scrape->server->unit, now_s,
        scrape->done.sum + scrape->refused.sum + take_held(scrape));
}

/* A gauge that is looked at a few times in a window says little of a server that mostly
 * holds nobody; the time all answers took together does. */
static double mean_held(const struct scrape *scrape, const struct latency_window *window,
                        double seconds)
{
    double waiting = scrape->held_sum[1] / scrape->held_pages;
    double all = scrape->held_sum[0] / scrape->held_pages + waiting;
    double inside =
        window->mean * window->answers * scrape->server->latency_unit_s / seconds;

    if (isnan(scrape->page.sums[2])) /* only those that wait are told, if any */
        return isfinite(inside) ? fmax(inside, waiting) : NAN;
    return all < 1 && isfinite(inside) ? inside : all;
}

bool scrape_window(struct scrape *scrape, struct probe_service *service, double *answered,
                   double *seconds)
{
    struct latency_window window;

    if (!(scrape->page_s > scrape->told_s))
        return false;
    *seconds = scrape->page_s - scrape->told_s;
    *answered = scrape->done.sum - scrape->told_done;
    latency_between(&scrape->told, &scrape->page.latency, &window);
    service->latency_s = window.p99 * scrape->server->latency_unit_s;
    service->median_s = window.median * scrape->server->latency_unit_s;
    service->held = mean_held(scrape, &window, *seconds);
    scrape->told = scrape->page.latency;
    scrape->told_s = scrape->page_s;
    scrape->told_done = scrape->done.sum;
    scrape->held_sum[0] = scrape->held_sum[1] = scrape->held_pages = 0;
    return true;
}

void scrape_go(struct scrape *scrape, double now_s)
{
    if (scrape->fetch.fd >= 0) {
        if (fetch_go(&scrape->fetch, now_s) == FETCH_DONE)
            scrape_take(scrape, str_text(&scrape->fetch.body), scrape->fetch.body.length,
                        now_s);
    } else if (now_s >= scrape->due_s) {
        scrape->due_s = now_s + scrape->every_s;
        fetch_start(&scrape->fetch, now_s);
    }
}
