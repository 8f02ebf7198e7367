/* service.c - main.c of corgid makes, runs and ends the service; this puts its parts
 * together, keeps the timers and hears the signals */
#include "service/service.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/sim/sim_engine.h"
#include "model/learned.h"
#include "loop/optimize/planner_private.h"
#include "service/daemon_metrics.h"
#include "service/lifecycle.h"
#include "service/handlers.h"
#include "service/job_digests.h"
#include "service/planning_thread.h"
#include "service/quotas.h"
#include "service/replica_jobs.h"
#include "service/service_private.h"
#include "service/user_shares.h"
#include "store/admin.h"

#include <malloc.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TICK_S       0.2
#define RETAIN_S     600.0
#define DRAIN_S      5.0
#define STORE_FILE   "corgi.db"
#define JOURNAL_FILE "sim-world.log"
#define LOCAL_FOLDER "engine"
#define PROGRESS_S   10.0 /* how far jobs are is stored this often, at the least */

/* ---- making it -------------------------------------------------------------------- */

static int open_store(struct service *s, struct err *err)
{
    char *path = file_join(s->state, STORE_FILE);
    struct store_options options = {.path = path, .post = tx_post, .post_ctx = s};
    int rc = -1;

    if (file_make_dirs(s->state, err) == 0 && store_open(&s->store, &options, err) == 0 &&
        store_open_reader(s->store, &s->reader, err) == 0)
        rc = 0;
    free(path);
    return rc;
}

static int make_sim(struct service *s, struct err *err)
{
    struct sim_engine_options options = service_config_sim(&s->config);

    options.journal = s->journal;
    options.start_s = restart_clock_s(s);
    return sim_engine_create(&s->engine, &options,
                             (struct engine_sink){engine_events_event, s}, err);
}

static int make_local(struct service *s, struct err *err)
{
    char *state = file_join(s->state, LOCAL_FOLDER);
    struct local_engine_options options = s->config.local;
    int rc;

    options.state_dir = state;
    rc = local_engine_create(&s->engine, &options,
                             (struct engine_sink){engine_events_event, s}, err);
    free(state);
    return rc;
}

static int make_slurm(struct service *s, struct err *err)
{
    const struct slurm_config *c = &s->config.slurm;
    char *types = slurm_config_types(c), *partitions = slurm_config_partitions(c);
    struct slurm_engine_options options = {.mode = c->mode,
                                           .helper = c->helper,
                                           .types = types,
                                           .poll_s = c->poll_s,
                                           .within_s = c->within_s,
                                           .exporter = c->exporter,
                                           .state_dir = s->state,
                                           .partitions = partitions,
                                           .start_s = c->start_s,
                                           .probe = c->probe,
                                           .report = c->report,
                                           .report_ca = c->report_ca,
                                           .sharing = c->sharing,
                                           .cap_program = c->cap_program,
                                           .sleep = c->sleep};
    int rc;

    s->advises = c->mode == SLURM_ADVISE;
    s->controls = c->mode == SLURM_PLACES;
    rc = slurm_engine_create(&s->engine, &options,
                             (struct engine_sink){engine_events_event, s}, err);
    free(types);
    free(partitions);
    return rc;
}

/* The engine may have seen jobs that the store has lost: their numbers are not given
 * again. */
static int make_engine(struct service *s, struct err *err)
{
    int rc = -1;

    switch ((enum service_engine)s->config.engine) {
    case SERVICE_ENGINE_SIM:
        rc = make_sim(s, err);
        break;
    case SERVICE_ENGINE_LOCAL:
        rc = make_local(s, err);
        break;
    case SERVICE_ENGINE_SLURM:
        rc = make_slurm(s, err);
        break;
    }

    if (rc == 0)
        store_raise_id(s->store, STORE_JOB_ID, s->engine.ops->last_job(s->engine.self));
    return rc;
}

static void engine_ready(void *ctx)
{
    struct service *s = ctx;

    s->engine.ops->dispatch(s->engine.self, service_now_s(s));
    reactor_did(s->reactor, "engine");
}

static int make_loop(struct service *s, struct err *err)
{
    struct loop_options how = service_config_loop(&s->config);
    struct learned_options learned = service_config_learned(&s->config);
    struct cluster *cluster;
    struct model model;

    if (s->engine.ops->cluster(s->engine.self, &cluster, err) < 0)
        return -1;
    model = learned_create(cluster->types, cluster->type_count, &learned);
    s->loop = loop_create_take(&how, cluster, model, &corgi_planner_ops);
    s->planning = planning_thread_create(s->reactor, rounds_planned, s, err);
    service_name_devices(s);
    return s->planning ? 0 : -1;
}

/* ---- timers and signals ----------------------------------------------------------- */

/* How far running jobs are, for a start after a crash. */
static void store_progress(struct service *s)
{
    size_t count;
    struct record *const *busy = records_busy(s->records, &count);
    struct store_batch *batch = store_batch_create();

    for (size_t i = 0; i < count; i++)
        if (busy[i]->phase == PHASE_RUNNING && loop_job(s->loop, busy[i]->id))
            tx_put_progress(s, batch, busy[i]);
    /* Durable batches keep their order: a relaxed one could overtake a transition. */
    if (store_batch_rows(batch) == 0 ||
        store_commit(s->store, batch, STORE_DURABLE, NULL, NULL, NULL) < 0)
        store_batch_destroy(batch);
}

static void sign_of_life(struct service *s)
{
    double every_s = daemon_process_watchdog_s();

    if (every_s > 0 && clock_wall_s() - s->watchdog_wall_s > every_s / 3) {
        daemon_process_notify("WATCHDOG=1");
        s->watchdog_wall_s = clock_wall_s();
    }
}

static void tick(void *ctx)
{
    struct service *s = ctx;
    double wall_s = clock_wall_s();

    listeners_flush(s);
    if (!service_clock_stepped(s))
        replica_jobs_tick(s);
    lifecycle_give_up_waiting(s);
    service_follow_rounds(s);
    trends_tick(s);
    sign_of_life(s);
    reactor_did(s->reactor, "tick");
    if (wall_s - s->progress_wall_s > PROGRESS_S && !s->failing) {
        s->progress_wall_s = wall_s;
        store_progress(s);
        tx_retry(s);
        reactor_did(s->reactor, "progress");
    }
}

static void retain(void *ctx)
{
    struct service *s = ctx;
    struct err err = {0};

    if (store_retain(s->store, &s->config.keep, service_now_s(s), NULL, NULL, &err) < 0)
        log_debug("retention", LOG_ERR(&err));
    job_digests_tidy(s->job_digests, s->records, service_now_s(s));
}

static void checkpoint(void *ctx)
{
    struct service *s = ctx;

    restart_checkpoint(s);
    malloc_trim(0); /* what this or a crowd of jobs took goes back to the machine */
    reactor_did(s->reactor, "checkpoint");
}

static void drained(void *ctx)
{
    reactor_stop(((struct service *)ctx)->reactor);
}

static void on_end(void *ctx)
{
    struct service *s = ctx;

    if (s->draining) {
        reactor_stop(s->reactor); /* asked twice: now */
        return;
    }
    log_info("ending");
    daemon_process_notify("STOPPING=1");
    s->draining = true;
    sse_hub_close(s->hub, "the daemon ends");
    handlers_end(s);
    server_drain(s->server, DRAIN_S, drained, s);
}

static void set_log(const struct service_log_config *log)
{
    log_setup(stderr, (enum log_level)log->level, (enum log_format)log->format, NULL);
}

/* What can change while it runs does; the rest waits for a restart. */
static void take_config(struct service *s, struct service_config *fresh)
{
    struct service_config *c = &s->config;
    const struct service_auth_config before = c->auth;
    const struct service_energy_config price = c->energy;
    const struct config_list shares = c->shares, quotas = c->quotas;
    struct optimize_settings allowed;

    if (fresh->engine != c->engine || fresh->sim.speed != c->sim.speed ||
        fresh->sim.seed != c->sim.seed)
        log_warn("config_needs_restart", LOG_STR("key", "engine, sim"));
    c->auth = fresh->auth; /* whose lists the server reads from now on */
    fresh->auth = before;
    c->energy = fresh->energy; /* fresh has the old one's text from now on */
    fresh->energy = price;
    c->shares = fresh->shares;
    fresh->shares = shares;
    c->quotas = fresh->quotas;
    fresh->quotas = quotas;
    c->limits = fresh->limits;
    c->policy = fresh->policy;
    c->planner = fresh->planner;
    c->guard = fresh->guard;
    c->quota = fresh->quota;
    c->keep = fresh->keep;
    c->log = fresh->log;
    allowed = service_config_allowed(c, &c->policy);
    loop_set_settings(s->loop, &allowed, service_now_s(s));
    user_shares_tell_all(s);
    quotas_take_config(s);
    set_log(&c->log);
    reactor_timer_every(s->checkpoint_timer, c->planner.checkpoint_s);
}

static void on_reload(void *ctx)
{
    struct service *s = ctx;
    struct service_config fresh;
    struct err err = {0};
    int rc;

    if (service_config_load(&fresh, s->config_path, &err) < 0) {
        log_error("reload_refused", LOG_ERR(&err));
        return;
    }
    rc = listeners_reload(s, &fresh, &err);
    if (rc < 0) {
        log_error("reload_refused", LOG_ERR(&err));
    } else {
        take_config(s, &fresh);
        log_info("reloaded", LOG_STR("config", s->config_path));
        service_want_round(s);
    }
    service_config_fini(&fresh);
}

static int make_timers(struct service *s, struct err *err)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};

    s->round_timer = reactor_timer_create(s->reactor, rounds_due, s);
    s->tick_timer = reactor_timer_create(s->reactor, tick, s);
    s->keep_timer = reactor_timer_create(s->reactor, retain, s);
    s->checkpoint_timer = reactor_timer_create(s->reactor, checkpoint, s);
    for (int i = 0; i < 3; i++) {
        s->signals[i] = reactor_signal_create(
            s->reactor, numbers[i], numbers[i] == SIGHUP ? on_reload : on_end, s, err);
        if (!s->signals[i])
            return -1;
    }
    return 0;
}

/* ---- all of it -------------------------------------------------------------------- */

struct service *service_create_take(struct service_config *config, const char *path,
                                    struct err *err)
{
    struct service *s = mem_new(struct service);

    s->config = *config;
    s->config_path = path;
    s->starting = true;
    s->policy_changed_s = NAN;
    s->socket = s->config.listen.socket ? mem_strdup(s->config.listen.socket)
                                        : service_default_socket();
    s->state = s->config.state ? mem_strdup(s->config.state) : service_default_state();
    s->journal = file_join(s->state, JOURNAL_FILE);
    s->records = records_create();
    s->job_digests = job_digests_create();
    s->classes = intern_create();
    set_log(&s->config.log);
    daemon_process_nice(s->config.nice);
    s->reactor = reactor_create(err);
    if (!s->reactor || open_store(s, err) < 0 || make_engine(s, err) < 0 ||
        make_loop(s, err) < 0 || make_timers(s, err) < 0)
        goto failed;
    listeners_make(s);
    quotas_take_config(s);
    /* The key first: jobs that the engine hears of again get tokens. */
    if (reports_load_key(s, err) < 0 || restart_rebuild(s, err) < 0 ||
        listeners_open(s, err) < 0)
        goto failed;
    if (s->config.pid_file && daemon_process_write_pid(s->config.pid_file, err) < 0)
        goto failed;
    return s;
failed:
    service_destroy(s);
    return NULL;
}

int service_run(struct service *s, struct err *err)
{
    int rc;

    s->engine_watch = reactor_watch_create(s->reactor, s->engine.ops->fd(s->engine.self),
                                           engine_ready, s);
    s->started_s = service_now_s(s);
    s->starting = false;
    s->progress_wall_s = clock_wall_s();
    reactor_timer_every(s->tick_timer, TICK_S);
    reactor_timer_every(s->keep_timer, RETAIN_S);
    reactor_timer_every(s->checkpoint_timer, s->config.planner.checkpoint_s);
    service_want_round(s);
    log_info("ready", LOG_STR("version", CORGI_VERSION),
             LOG_STR("engine", s->engine.ops->name), LOG_STR("socket", s->socket),
             LOG_STR("store", store_path(s->store)),
             LOG_I64("devices", loop_cluster(s->loop)->device_count));
    daemon_process_notify("READY=1");
    rc = reactor_run(s->reactor, err);
    log_info("ended");
    return rc;
}

/* The last words: what was learned and how far jobs are. */
static void say_goodbye(struct service *s)
{
    if (!s->store || !s->planning || s->starting)
        return;
    store_progress(s);
    restart_checkpoint(s);
    listeners_flush(s);
}

static void stop_timers(struct service *s)
{
    reactor_event_destroy(s->round_timer);
    reactor_event_destroy(s->tick_timer);
    reactor_event_destroy(s->keep_timer);
    reactor_event_destroy(s->checkpoint_timer);
    for (int i = 0; i < 3; i++)
        reactor_event_destroy(s->signals[i]);
}

/* Run what other threads have posted. */
static void hear_the_rest(struct service *s)
{
    for (int i = 0; s->reactor && i < 3; i++)
        reactor_step(s->reactor, 0);
}

/* Attempts that are stored are started before the engine goes, as the next daemon will
 * ask for them. */
static void end_threads(struct service *s)
{
    stop_timers(s);
    handlers_end_preview(s);
    reactor_event_destroy(s->engine_watch);
    planning_thread_destroy(s->planning); /* its last plan is dropped */
    s->planning = NULL;
    if (s->store)
        store_flush(s->store);
    hear_the_rest(s);
    s->ended_s = s->engine.self ? service_now_s(s) : 0;
    if (s->engine.ops)
        s->engine.ops->destroy(s->engine.self);
    s->engine = (struct engine){0};
    store_close(s->store); /* posts the last completions */
    hear_the_rest(s);
}

void service_destroy(struct service *s)
{
    if (!s)
        return;
    s->draining = true;
    say_goodbye(s);
    end_threads(s);
    sse_hub_destroy(s->hub);
    server_destroy(s->server);
    handlers_end_output(s);
    handlers_end_reports(s);
    trends_end(s);
    beliefs_moved_end(s);
    store_reader_close(s->reader);
    daemon_metrics_destroy(s->figures);
    metrics_destroy(s->metrics);
    loop_destroy(s->loop);
    job_digests_destroy(s->job_digests);
    records_destroy(s->records);
    store_batch_destroy(s->audits);
    intern_destroy(s->classes);
    reactor_destroy(s->reactor);
    if (s->config.pid_file)
        daemon_process_remove_pid(s->config.pid_file);
    vec_free(&s->quotas);
    vec_free(&s->tokens);
    free(s->devices);
    free(s->nodes);
    free(s->socket);
    free(s->state);
    free(s->journal);
    service_config_fini(&s->config);
    free(s);
}
