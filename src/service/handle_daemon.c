/* handle_daemon.c - health, version, summary, metrics, events; the time when an operator
 * moves it */
#include "service/handlers.h"

#include "base/clock.h"
#include "base/mem.h"
#include "engine/sim/sim_engine.h"
#include "service/daemon_metrics.h"
#include "service/replica_jobs.h"
#include "service/views.h"
#include "store/rows.h"

#include <math.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#define REPLAY_PAGE 500

static void answer_status(struct request *r, int code, const char *status,
                          const char *reason)
{
    struct handlers_answer a;

    handlers_begin(&a, r, NULL);
    json_out_key_string(&a.out, "status", status);
    if (reason)
        json_out_key_string(&a.out, "reason", reason);
    handlers_answer(&a, code);
}

void handle_health(void *ctx, struct request *r)
{
    (void)ctx;
    answer_status(r, 200, "ok", NULL);
}

void handle_ready(void *ctx, struct request *r)
{
    struct service *s = ctx;
    struct store_stats stats;

    store_stats(s->store, &stats);
    if (s->starting)
        answer_status(r, 503, "starting", "the state is being rebuilt");
    else if (s->draining)
        answer_status(r, 503, "draining", "the daemon is ending");
    else if (s->failing || stats.failing)
        answer_status(r, 503, "read_only",
                      stats.failing ? stats.failure : "the store cannot write");
    else
        answer_status(r, 200, "ready", NULL);
}

void handle_version(void *ctx, struct request *r)
{
    struct service *s = ctx;
    struct handlers_answer a;

    handlers_begin(&a, r, NULL);
    json_out_key_string(&a.out, "version", CORGI_VERSION);
    json_out_key_string(&a.out, "api", "v1");
    json_out_key_string(&a.out, "engine", s->engine.ops->name);
    json_out_key_number(&a.out, "started_s", s->started_s);
    json_out_key_number(&a.out, "now_s", service_now_s(s));
    json_out_key_number(&a.out, "speed",
                        s->config.engine == SERVICE_ENGINE_SIM ? s->config.sim.speed : 1);
    handlers_answer(&a, 200);
}

void handle_whoami(void *ctx, struct request *r)
{
    const struct auth_identity *who = &r->identity;
    struct handlers_answer a;

    (void)ctx;
    handlers_begin(&a, r, NULL);
    json_out_key_string(&a.out, "user", who->name);
    json_out_key_number(&a.out, "uid", who->uid == AUTH_NO_ID ? NAN : (double)who->uid);
    json_out_key_string(&a.out, "role", auth_role_name(who->role));
    json_out_key_bool(&a.out, "local", who->local);
    json_out_key_string(&a.out, "token", who->token[0] ? who->token : NULL);
    handlers_answer(&a, 200);
}

/* ---- summary ---------------------------------------------------------------------- */

static void sum_jobs(const struct service *s, struct json_out *out)
{
    size_t count;
    struct record *const *busy = records_busy(s->records, &count);
    struct records_counts queue = records_counts(s->records);
    int promised = 0, broken = 0;

    for (size_t i = 0; i < count; i++) {
        promised += isfinite(busy[i]->promised_rate);
        broken += isfinite(busy[i]->promise.below_since_s);
    }
    json_out_key_object(out, "jobs");
    json_out_key_int(out, "waiting", queue.waiting);
    json_out_key_int(out, "held", queue.held);
    json_out_key_int(out, "running", (int64_t)count);
    json_out_key_int(out, "done", s->done);
    json_out_key_int(out, "failed", s->failed);
    json_out_key_int(out, "cancelled", s->cancelled);
    json_out_end(out);
    json_out_key_object(out, "promises");
    json_out_key_int(out, "running", promised);
    json_out_key_int(out, "broken", broken);
    json_out_key_number(out, "kept_share",
                        s->promised_s > 0 ? s->kept_s / s->promised_s : NAN);
    json_out_end(out);
}

static void sum_devices(const struct service *s, struct json_out *out)
{
    const struct cluster *c = loop_cluster(s->loop);
    int busy = 0, shared = 0, drained = 0, failed = 0, asleep = 0;

    for (int d = 0; d < c->device_count; d++) {
        const struct device *device = &c->devices[d];

        busy += device->job_count + device->leaving_count > 0;
        shared += device->job_count > 1;
        drained += device->drained;
        failed += device->failed;
        asleep += c->nodes[device->node].state == NODE_ASLEEP;
    }
    json_out_key_object(out, "devices");
    json_out_key_int(out, "total", c->device_count);
    json_out_key_int(out, "busy", busy);
    json_out_key_int(out, "shared", shared);
    json_out_key_int(out, "drained", drained);
    json_out_key_int(out, "failed", failed);
    json_out_key_int(out, "asleep", asleep);
    json_out_end(out);
}

static double sum_nodes(const struct service *s, struct json_out *out)
{
    const struct cluster *c = loop_cluster(s->loop);
    double watts = 0;
    int counts[NODE_STATES] = {0};

    for (int n = 0; n < c->node_count; n++) {
        const struct node *node = &c->nodes[n];

        counts[node->state]++;
        watts += views_host_watts(node);
    }
    for (int d = 0; d < c->device_count; d++)
        watts += isfinite(s->devices[d].watts) ? s->devices[d].watts : 0;
    json_out_key_object(out, "nodes");
    for (int i = 0; i < NODE_STATES; i++)
        json_out_key_int(out, views_node_states[i], counts[i]);
    json_out_end(out);
    return watts;
}

/* What an operator should know, a sentence each. */
static void sum_warnings(const struct service *s, struct json_out *out)
{
    const char *shortened = store_shortened(s->store);
    struct store_stats stats;

    store_stats(s->store, &stats);
    json_out_key_array(out, "warnings");
    if (s->offline[0]) {
        char text[sizeof(s->offline) + 80];

        snprintf(text, sizeof(text),
                 "the engine is offline, what is shown may be old: %s", s->offline);
        json_out_string(out, text);
    }
    if (s->paused)
        json_out_string(out,
                        "paused: nothing is started, moved, stopped, capped or put to "
                        "sleep until 'corgi policy set paused=no'");
    if (s->notice[0])
        json_out_string(out, s->notice);
    if (shortened)
        json_out_string(out, shortened);
    if (stats.failing)
        json_out_string(out, stats.failure);
    json_out_end(out);
}

void handle_summary(void *ctx, struct request *r)
{
    struct service *s = ctx;
    struct handlers_answer a;
    double watts;

    handlers_begin(&a, r, NULL);
    json_out_key_number(&a.out, "now_s", service_now_s(s));
    sum_jobs(s, &a.out);
    sum_devices(s, &a.out);
    watts = sum_nodes(s, &a.out);
    json_out_key_number(&a.out, "watts", watts);
    handlers_power_limit(&a.out, s);
    json_out_key_number(&a.out, "joules", s->total_joules);
    json_out_key_number(&a.out, "saved_joules", s->saved_joules);
    sum_warnings(s, &a.out);
    handlers_answer(&a, 200);
}

void handle_metrics(void *ctx, struct request *r)
{
    struct service *s = ctx;
    struct str text = {0};

    daemon_metrics_write(s, &text);
    request_answer_bytes(r, 200, METRICS_CONTENT_TYPE, str_text(&text), text.length);
    str_fini(&text);
}

/* ---- events ----------------------------------------------------------------------- */

/* The store keeps names, the hub tells by number. */
static uid_t owner_of(const char *user)
{
    const struct passwd *account;

    if (!user || !*user)
        return SSE_EVERYBODY;
    if (str_starts(user, "uid:"))
        return (uid_t)strtoul(user + 4, NULL, 10);
    account = getpwnam(user);
    return account ? account->pw_uid : (uid_t)-2;
}

struct replay {
    struct sse_page *page;
    int rows;
    bool full;
    char user[AUTH_NAME_SIZE]; /* looked up last */
    uid_t owner;
};

static int replay_row(void *ctx, const void *row)
{
    const struct store_event *e = row;
    struct replay *p = ctx;
    const char *user = e->user ? e->user : "";
    struct sse_event event;

    if (p->rows == 0 || strcmp(p->user, user) != 0) {
        p->owner = owner_of(user);
        str_copy(p->user, sizeof(p->user), user);
    }
    p->rows++;
    event = (struct sse_event){
        .id = e->id, .type = e->kind, .data = e->data, .job = e->job, .owner = p->owner};
    p->full = !sse_page_add(p->page, &event);
    return p->full;
}

enum sse_replay handlers_replay(void *ctx, uint64_t after, struct sse_page *page)
{
    struct service *s = ctx;
    struct replay p = {.page = page};
    struct store_filter filter = {.after_id = after, .limit = REPLAY_PAGE};
    uint64_t oldest, newest;

    if (store_read_event_span(s->reader, &oldest, &newest, NULL) < 0)
        return SSE_REPLAY_DONE;
    if (store_read(s->reader, STORE_EVENTS, &filter, replay_row, &p, NULL) < 0)
        return SSE_REPLAY_DONE;
    if (after + 1 < oldest)
        return SSE_REPLAY_LOST;
    return p.full || p.rows == REPLAY_PAGE ? SSE_REPLAY_MORE : SSE_REPLAY_DONE;
}

void handle_events(void *ctx, struct request *r)
{
    struct service *s = ctx;
    const struct auth_identity *who = &r->identity;
    struct sse_subscription wanted = {.owner = who->role == AUTH_USER ? who->uid
                                                                      : SSE_EVERYBODY,
                                      .types = uri_query_get(&r->query, "types")};
    double job = 0;

    if (!handlers_number(r, "job", 1, 9007199254740991.0, &job))
        return;
    wanted.job = (uint64_t)job;
    sse_hub_join(s->hub, r, &wanted, s->newest_event);
}

/* ---- the time of a simulated world ---------------------------------------------------
 *
 * With `sim.clock: stepped` time stands still until POST /v1/sim/advance says how far to
 * go.  The world then goes from event to event; at each one, all that follows from it is
 * waited for (rounds, replicas, what is learned, writes to the store) before it goes on.
 * So the same requests give the same decisions, however fast the machine is. */

/* Threads of ours are looked at this often while they work. */
#define LOOK_S 0.0005
/* A long way is answered in parts, well within the server's limit for an answer. */
#define PART_S 20.0

struct clock_stepper {
    struct request *request; /* NULL: nobody waits */
    double to_s;
    double asked_wall_s;
    struct reactor_event *timer;
};

static void answer_advance(struct service *s, bool quiet)
{
    struct handlers_answer a;

    handlers_begin(&a, s->clock->request, NULL);
    json_out_key_number(&a.out, "now_s", service_now_s(s));
    json_out_key_bool(&a.out, "there", quiet && service_now_s(s) >= s->clock->to_s);
    handlers_answer(&a, 200);
    s->clock->request = NULL;
}

/* Has everything happened that follows from what has been? */
static bool settled(struct service *s)
{
    double now_s = service_now_s(s);

    replica_jobs_tick(s);
    return sim_engine_next_s(&s->engine) > now_s && !s->round_running &&
           loop_round_due_s(s->loop) > now_s && s->unstored == 0;
}

static void look(void *ctx)
{
    struct service *s = ctx;
    struct clock_stepper *c = s->clock;
    bool quiet = settled(s);
    double next_s;

    if (!c->request)
        return;
    if ((quiet && service_now_s(s) >= c->to_s) ||
        clock_wall_s() - c->asked_wall_s > PART_S) {
        answer_advance(s, quiet);
        return;
    }
    if (quiet) {
        next_s =
            fmin(c->to_s, fmin(sim_engine_next_s(&s->engine), loop_round_due_s(s->loop)));
        s->engine.ops->dispatch(s->engine.self, next_s);
        service_follow_rounds(s);
    }
    reactor_timer_after(c->timer, quiet ? 0 : LOOK_S);
}

void handle_advance_sim(void *ctx, struct request *r)
{
    struct service *s = ctx;
    double to_s = 0;

    if (!handlers_writable(s, r))
        return;
    if (!service_clock_stepped(s)) {
        request_answer_error(r, 409, "exists", NULL,
                             "time goes by itself here; with engine: sim and sim.clock: "
                             "stepped it can be moved");
        return;
    }
    if (s->clock && s->clock->request) {
        request_answer_error(r, 409, "exists", NULL, "somebody moves the time already");
        return;
    }
    json_value_number(json_value_get(r->body, "to_s"), &to_s);
    if (to_s < service_now_s(s)) {
        request_answer_error(r, 400, "invalid", "to_s", "time does not go back");
        return;
    }
    if (!s->clock) {
        s->clock = mem_new(struct clock_stepper);
        s->clock->timer = reactor_timer_create(s->reactor, look, s);
    }
    s->clock->request = r;
    s->clock->to_s = to_s;
    s->clock->asked_wall_s = clock_wall_s();
    reactor_timer_after(s->clock->timer, 0);
}

void handlers_end(struct service *s)
{
    if (!s->clock)
        return;
    if (s->clock->request)
        request_answer_error(s->clock->request, 503, "busy", NULL,
                             "the daemon is ending");
    reactor_event_destroy(s->clock->timer);
    free(s->clock);
    s->clock = NULL;
}
