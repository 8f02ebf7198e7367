/* daemon_metrics.c - counted where it happens (rounds, engine events, submissions,
 * answers), the rest read when /metrics is asked for */
#include "service/daemon_metrics.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "loop/cluster.h"
#include "loop/requirement.h"
#include "model/learned.h"
#include "service/ledger.h"
#include "service/views.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double seconds[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                 0.1,   0.25,   0.5,   1,    2.5,   10};
static const double pieces[] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05};
static const double errors[] = {0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2};

/* A turn that works for longer is worth a line, but not more than one in a while. */
#define SLOW_S      0.01
#define SLOW_GAP_S  10.0

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* ---- what happened ---------------------------------------------------------------- */

void daemon_metrics_prediction(struct service *s, const struct estimate *expected,
                               double rate)
{
    const char *source = ledger_source_name(expected->source);

    metric_observe(s->figures->error, fabs(log(rate / expected->value)),
                   METRIC_LABELS(source));
    metric_add(s->figures->covered, rate >= expected->low && rate <= expected->high,
               METRIC_LABELS(source));
}

void daemon_metrics_submission(struct service *s, const char *verdict, double asked_s)
{
    metric_add(s->figures->submissions, 1, METRIC_LABELS(verdict));
    metric_observe(s->figures->submission_s, clock_wall_s() - asked_s, METRIC_NO_LABELS);
}

void daemon_metrics_answer(struct service *s, const struct request *r, int status)
{
    const struct route *route = r->match.route;
    char code[12];

    snprintf(code, sizeof(code), "%d", status);
    metric_add(s->figures->requests, 1,
               METRIC_LABELS(route ? route->operation : "none", code));
    metric_observe(s->figures->request_s, clock_wall_s() - r->began_s,
                   METRIC_LABELS(http_method_names[r->head.method]));
}

/* ---- what is ---------------------------------------------------------------------- */

static void collect_jobs(struct daemon_metrics *f, struct service *s)
{
    size_t count;
    struct record *const *busy = records_busy(s->records, &count);
    struct records_counts queue = records_counts(s->records);
    double broken = 0, now_s = service_now_s(s);

    metric_clear(f->rate_ratio);
    for (size_t i = 0; i < count; i++) {
        const struct record *r = busy[i];
        const struct job_status *status = loop_job(s->loop, r->id);
        double needed;
        char id[24];

        broken += isfinite(r->promise.below_since_s);
        needed = status ? requirement_rate_now(status, now_s) : 0;
        if (!(needed > 0) || !isfinite(r->rate))
            continue;
        snprintf(id, sizeof(id), "%llu", (unsigned long long)r->id);
        metric_set(f->rate_ratio, r->rate / needed, METRIC_LABELS(id, record_user(r)));
    }
    metric_set(f->jobs, queue.waiting, METRIC_LABELS("waiting"));
    metric_set(f->jobs, queue.held, METRIC_LABELS("held"));
    metric_set(f->jobs, (double)count, METRIC_LABELS("running"));
    metric_set(f->broken, broken, METRIC_NO_LABELS);
    metric_set_total(f->ended, (double)s->done, METRIC_LABELS("done"));
    metric_set_total(f->ended, (double)s->failed, METRIC_LABELS("failed"));
    metric_set_total(f->ended, (double)s->cancelled, METRIC_LABELS("cancelled"));
}

static void collect_cluster(struct daemon_metrics *f, struct service *s)
{
    const struct cluster *c = loop_cluster(s->loop);
    double nodes[NODE_STATES] = {0};

    for (int d = 0; d < c->device_count; d++) {
        const char *const *labels =
            METRIC_LABELS(s->devices[d].name, c->nodes[c->devices[d].node].name,
                          c->types[c->devices[d].type].name);

        if (isfinite(s->devices[d].watts))
            metric_set(f->watts, s->devices[d].watts, labels);
        metric_set_total(f->device_joules, s->devices[d].joules, labels);
        metric_set(f->busy, c->devices[d].job_count, labels);
    }
    for (int n = 0; n < c->node_count; n++)
        nodes[c->nodes[n].state]++;
    for (int i = 0; i < NODE_STATES; i++)
        metric_set(f->nodes, nodes[i], METRIC_LABELS(views_node_states[i]));
    metric_set_total(f->joules, s->total_joules, METRIC_NO_LABELS);
}

/* P1 and P2: what lessons made of them. */
static void collect_networks(struct daemon_metrics *f, struct service *s)
{
    static const char *const names[PAIR_NETWORKS] = {"p1", "p2"};
    const struct model *model = loop_model(s->loop);
    const struct network_progress *of;

    if (model->ops != &learned_ops)
        return;
    of = learned_networks(model->self);
    for (int n = 0; n < PAIR_NETWORKS; n++) {
        metric_set_total(f->networks, (double)of[n].taken,
                         METRIC_LABELS(names[n], "taken"));
        metric_set_total(f->networks, (double)of[n].rolled_back,
                         METRIC_LABELS(names[n], "rolled_back"));
        if (of[n].before > 0) {
            metric_set(f->network_error, of[n].before, METRIC_LABELS(names[n], "before"));
            metric_set(f->network_error, of[n].after, METRIC_LABELS(names[n], "after"));
        }
    }
}

static void collect_loop(struct daemon_metrics *f, struct service *s)
{
    const struct refine_score *score = loop_score(s->loop);

    metric_set_total(f->stale, (double)s->stale_plans, METRIC_NO_LABELS);
    metric_set_total(f->adapted, (double)s->lessons, METRIC_NO_LABELS);
    metric_set_total(f->observations, (double)score->observations, METRIC_NO_LABELS);
    metric_set(f->error_recent, score->abs_log_error, METRIC_NO_LABELS);
    metric_set(f->coverage_recent, score->coverage, METRIC_NO_LABELS);
    metric_set_total(f->promised_s, s->promised_s, METRIC_NO_LABELS);
    metric_set_total(f->kept_s, s->kept_s, METRIC_NO_LABELS);
}

/* What was quoted, against what came. */
static void collect_quotes(struct daemon_metrics *f, struct service *s)
{
    static const char *const companies[] = {"alone", "beside"};
    static const char *const kinds[] = {"training", "inference"};
    static const char *const confidences[QUOTE_LEVELS] = {"0.5", "0.8", "0.95"};
    const struct quote_score *score = loop_quote_score(s->loop);

    for (int i = 0; i < ESTIMATE_SOURCES * 4; i++) {
        int source = i / 4, beside = i / 2 % 2, kind = i % 2;
        const struct quote_windows *w = &score->windows[source][beside][kind];
        const char *name = ledger_source_name((enum estimate_source)source);

        metric_set_total(f->quoted, (double)w->measured,
                         METRIC_LABELS(name, companies[beside], kinds[kind]));
        for (int k = 0; k < QUOTE_LEVELS; k++)
            metric_set_total(
                f->quoted_kept, (double)w->kept[k],
                METRIC_LABELS(name, companies[beside], kinds[kind], confidences[k]));
    }
    metric_set_total(f->quoted_starts, (double)score->starts, METRIC_LABELS("yes"));
    metric_set_total(f->quoted_starts, (double)score->starts_unknown,
                     METRIC_LABELS("no"));
    metric_set_total(f->quoted_good, (double)score->starts_good, METRIC_NO_LABELS);
}

static void collect_daemon(struct daemon_metrics *f, struct service *s)
{
    struct store_stats store;
    struct sse_stats streams;
    struct server_stats server;

    store_stats(s->store, &store);
    sse_hub_stats(s->hub, &streams);
    server_stats(s->server, &server);
    metric_set_total(f->commit_s, (double)store.commits, METRIC_NO_LABELS);
    metric_set_total(f->store_rows, (double)store.rows, METRIC_NO_LABELS);
    metric_set(f->store_bytes, (double)store.database_bytes, METRIC_LABELS("database"));
    metric_set(f->store_bytes, (double)store.wal_bytes, METRIC_LABELS("wal"));
    metric_set(f->store_failing, s->failing || store.failing, METRIC_NO_LABELS);
    metric_set(f->store_shortened, store_shortened(s->store) != NULL, METRIC_NO_LABELS);
    metric_set(f->store_waiting, (double)store.waiting_rows, METRIC_NO_LABELS);
    metric_set(f->streams, streams.clients, METRIC_NO_LABELS);
    metric_set(f->stream_bytes, (double)streams.buffered_bytes, METRIC_NO_LABELS);
    metric_set(f->connections, server.connections, METRIC_NO_LABELS);
    metric_set_total(f->rate_limited, (double)server.rate_limited, METRIC_NO_LABELS);
}

void daemon_metrics_write(struct service *s, struct str *out)
{
    collect_jobs(s->figures, s);
    collect_cluster(s->figures, s);
    collect_loop(s->figures, s);
    collect_networks(s->figures, s);
    collect_quotes(s->figures, s);
    collect_daemon(s->figures, s);
    metrics_write(s->metrics, out);
}

/* ---- turns of the thread ---------------------------------------------------------- */

static void did(void *ctx, const char *what, double cpu_s)
{
    struct daemon_metrics *f = ctx;

    metric_observe(f->work_s, cpu_s, METRIC_LABELS(what));
}

/* Somebody waited for this; who asks why finds the reason in the log, but a daemon that
 * is slow all the time has better things to do than to say so. */
static void say_slow(struct daemon_metrics *f, const struct reactor_turn *turn)
{
    double wall_s = clock_wall_s();

    f->slow_turns++;
    if (wall_s - f->slow_said_s < SLOW_GAP_S)
        return;
    log_info("turn_slow", LOG_NUM("seconds", turn->cpu_s), LOG_STR("most", turn->most),
             LOG_NUM("most_seconds", turn->most_cpu_s), LOG_U64("turns", f->slow_turns));
    f->slow_said_s = wall_s;
    f->slow_turns = 0;
}

static void turned(void *ctx, const struct reactor_turn *turn)
{
    struct daemon_metrics *f = ctx;

    metric_observe(f->turn_s, turn->cpu_s, METRIC_NO_LABELS);
    if (turn->cpu_s > SLOW_S)
        say_slow(f, turn);
}

struct daemon_metrics *daemon_metrics_create(struct service *s)
{
    struct daemon_metrics *f = mem_new(struct daemon_metrics);

    f->service = s;
#define MAKE(member, kind, ...) f->member = metrics_##kind(s->metrics, __VA_ARGS__);
    DAEMON_METRICS(MAKE)
#undef MAKE
    reactor_on_turn(s->reactor, &(struct reactor_watcher){did, turned, f});
    return f;
}

void daemon_metrics_destroy(struct daemon_metrics *f)
{
    if (f)
        reactor_on_turn(f->service->reactor, NULL);
    free(f);
}
