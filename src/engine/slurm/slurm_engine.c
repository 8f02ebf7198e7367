/* slurm_engine.c - service.c makes it; looks at Slurm over helper_link.c, what comes goes
 * to slurm_node_table.c and slurm_job_table.c, and these tell the daemon's sink */
#include "engine/slurm/slurm_engine.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/poller.h"
#include "base/str.h"
#include "engine/slurm/helper_link.h"
#include "engine/slurm/slurm_caps.h"
#include "engine/slurm/slurm_access.h"
#include "engine/slurm/slurm_control.h"
#include "engine/slurm/slurm_engine_private.h"
#include "engine/slurm/slurm_job_table.h"
#include "engine/slurm/slurm_node_table.h"
#include "engine/slurm/slurm_power.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define CAP_S        20.0 /* the program that sets a power limit has so long */
#define CLUSTER_FILE "slurm-cluster.json"
#define FIRST_LOOK_S                                                                     \
    20.0                   /* a daemon that knows no cluster waits for one, so long or   \
                              five times `within` */
#define NODES_EVERY  5     /* looks at nodes are rarer than at jobs: every so many */
#define CONF_EVERY_S 300.0 /* settings rarely change */
/* Power is told after so many looks, at least so often. */
#define POWER_LOOKS   5
#define POWER_EVERY_S 10.0

static double epoch(const struct slurm_engine *e)
{
    return e->now_s > 0 ? e->now_s : clock_epoch_s();
}

/* ---- on and off -------------------------------------------------------------------- */

static void set_online(struct slurm_engine *e, bool online, const char *why)
{
    bool told = e->said && e->online == online;

    if (online && !e->online)
        e->next_conf_s = 0; /* slurmctld may be another one now */
    e->online = online;
    e->said = true;
    str_copy(e->trouble, sizeof(e->trouble), why ? why : "");
    if (told || !e->adopted)
        return;
    e->sink.event(e->sink.ctx,
                  &(struct engine_event){.kind = online ? ENGINE_ONLINE : ENGINE_OFFLINE,
                                         .at_s = epoch(e),
                                         .text = why});
}

static void on_up(void *ctx)
{
    struct slurm_engine *e = ctx;

    e->next_look_s = e->next_conf_s = 0;
    e->looks = 0;
}

static void on_down(void *ctx, const char *why)
{
    struct slurm_engine *e = ctx;

    if (e->control)
        slurm_control_down(e->control);
    set_online(e, false, why);
}

/* ---- answers ----------------------------------------------------------------------- */

/* Who may change nothing is as good as away. */
static const char *denied(const struct slurm_engine *e)
{
    return e->control ? slurm_control_denied(e->control, epoch(e)) : NULL;
}

/* Jobs that are not seen are not there for us: that must be said. */
static void take_conf(struct slurm_engine *e, const struct json_value *conf)
{
    const struct json_value *hidden = json_value_get(conf, "PrivateData");
    bool jobs = false;

    slurm_node_table_allow_sleep(e->nodes,
                                 json_member_string(conf, "SuspendProgram") &&
                                     json_member_number(conf, "SuspendTime", -1) > 0);
    if (e->power)
        slurm_power_set_meter(e->power, json_member_string(conf, "AcctGatherEnergyType"));
    if (e->control)
        slurm_control_conf(e->control, json_member_number(conf, "KillWait", 30),
                           json_member_number(conf, "MinJobAge", 300),
                           json_member_number(conf, "BootTime", 0));
    for (size_t i = 0; i < json_value_count(hidden); i++) {
        const char *word = json_value_string(json_value_item(hidden, i));

        jobs = jobs || (word && strcmp(word, "jobs") == 0);
    }
    if (jobs != e->hidden)
        e->sink.event(e->sink.ctx,
                      &(struct engine_event){
                          .kind = ENGINE_NOTICE,
                          .at_s = epoch(e),
                          .text = jobs ? "PrivateData=jobs in slurm.conf hides other "
                                         "users' jobs from the helper unless it runs as "
                                         "an operator of Slurm: what is advised may "
                                         "rest on a part"
                                       : NULL});
    e->hidden = jobs;
}

/* After it is known which partitions there are, and which nodes are reserved: what a job
 * may use is told with it. */
static void look_at_jobs(struct slurm_engine *e)
{
    if (e->adopted && slurm_access_known(e->access))
        helper_link_ask(e->link, "jobs");
}

static void on_answer(void *ctx, const char *op, const struct json_value *answer,
                      const char *error)
{
    struct slurm_engine *e = ctx;

    e->conf_told = e->conf_told || strcmp(op, "conf") == 0;
    if (strcmp(op, "reservations") == 0 && !answer != e->no_reservations) {
        e->no_reservations = !answer;
        log_info(answer ? "slurm_reservations_known" : "slurm_reservations_unknown",
                 LOG_STR("text", error ? error : ""));
    }
    if (!answer && strcmp(op, "reservations") == 0) {
        look_at_jobs(e); /* sites may hide them; all else goes on */
        return;
    }
    if (!answer) {
        set_online(e, false, error);
        return;
    }
    if (strcmp(op, "conf") == 0)
        take_conf(e, json_value_get(answer, "conf"));
    else if (strcmp(op, "nodes") == 0) {
        slurm_node_table_take(e->nodes, answer, epoch(e));
        slurm_access_tell(e->access, epoch(e));
    } else if (strcmp(op, "partitions") == 0)
        slurm_access_take_partitions(e->access, answer, epoch(e));
    else if (strcmp(op, "reservations") == 0)
        slurm_access_take_reservations(e->access, answer, epoch(e));
    else if (strcmp(op, "jobs") == 0)
        slurm_job_table_take(e->jobs, answer, epoch(e));
    if (json_member_bool(answer, "more", false))
        helper_link_ask(e->link, op);
    else if (strcmp(op, "reservations") == 0)
        look_at_jobs(e);
    else if (strcmp(op, "jobs") == 0)
        set_online(e, !denied(e), denied(e));
}

static void on_ordered(void *ctx, uint64_t tag, const struct json_value *answer,
                       const char *code, const char *error)
{
    struct slurm_engine *e = ctx;

    if (code && strcmp(code, "rights") == 0) /* before the next round plans with it */
        set_online(e, false, error);
    if (tag == SLURM_NODE_TAG && error)
        log_warn("slurm_refused", LOG_STR("op", "update_node"), LOG_STR("text", error));
    else if (tag != SLURM_NODE_TAG)
        slurm_control_ordered(e->control, tag, answer, code, error, epoch(e));
}

/* ---- looking ----------------------------------------------------------------------- */

/* Nodes before jobs: a job on a node that is new finds it.  Jobs follow when it is known
 * what is reserved, see look_at_jobs(). */
static void look(struct slurm_engine *e, double now)
{
    bool all = e->looks++ % NODES_EVERY == 0 || !e->online;

    if (now >= e->next_conf_s || (e->control && slurm_control_asks_conf(e->control))) {
        helper_link_ask(e->link, "conf");
        e->next_conf_s = now + CONF_EVERY_S;
    }
    if (all || e->control) /* some may wake */
        helper_link_ask(e->link, "nodes");
    if (all)
        helper_link_ask(e->link, "partitions");
    helper_link_ask(e->link, "reservations");
    e->next_look_s = now + e->options.poll_s;
}

void slurm_engine_arm(struct slurm_engine *e, double next)
{
    double wait = fmin(fmax(next - clock_wall_s(), 0.001), 3600);
    struct itimerspec when = {
        .it_value = {.tv_sec = (time_t)wait,
                     .tv_nsec = (long)((wait - floor(wait)) * 1e9)}};

    timerfd_settime(e->timer_fd, 0, &when, NULL);
}

static void advance(struct slurm_engine *e)
{
    double now = clock_wall_s(), next = helper_link_advance(e->link, now);

    if (helper_link_is_up(e->link)) {
        if (now >= e->next_look_s)
            look(e, now);
        next = fmin(next, e->next_look_s);
    }
    if (e->control && e->adopted)
        next = fmin(next, now + slurm_control_advance(e->control, epoch(e)) - epoch(e));
    if (e->caps)
        next = fmin(next, slurm_caps_advance(e->caps, now));
    if (e->adopted)
        next = fmin(next, slurm_power_advance(e->power, epoch(e), now));
    slurm_engine_arm(e, next);
}

static void op_dispatch(void *self, double now_s)
{
    struct slurm_engine *e = self;

    e->now_s = now_s;
    poller_wait(e->poller, 0);
    advance(e);
}

static void ticked(void *ctx, uint32_t events)
{
    const struct slurm_engine *e = ctx;
    uint64_t count;
    ssize_t n = read(e->timer_fd, &count, sizeof(count));

    (void)events;
    (void)n; /* nothing there is fine */
}

/* ---- the other operations ---------------------------------------------------------- */

static int op_fd(void *self)
{
    return ((struct slurm_engine *)self)->poller;
}

static int op_cluster(void *self, struct cluster **cluster, struct err *err)
{
    struct slurm_engine *e = self;

    return slurm_node_table_cluster(e->nodes, cluster, err);
}

static int refuse(struct err *err)
{
    return err_set(err, ERR_UNSUPPORTED,
                   "slurm.mode is advise: Slurm decides, and Corgi changes nothing");
}

static int op_start(void *self, const struct engine_job *job, struct err *err)
{
    (void)self;
    (void)job;
    return refuse(err);
}

static int op_stop(void *self, uint64_t job, enum engine_stop how, struct err *err)
{
    (void)self;
    (void)job;
    (void)how;
    return refuse(err);
}

static int op_cap(void *self, int device, double watts, struct err *err)
{
    (void)self;
    (void)device;
    (void)watts;
    return refuse(err);
}

static int op_node(void *self, int node, struct err *err)
{
    (void)self;
    (void)node;
    return refuse(err);
}

static uint64_t op_last_job(void *self)
{
    (void)self;
    return 0;
}

static int op_adopt(void *self, const struct engine_job *job, struct err *err)
{
    struct slurm_engine *e = self;

    (void)err;
    slurm_job_table_adopt(e->jobs, job);
    return 0;
}

static void op_adopted(void *self)
{
    struct slurm_engine *e = self;

    e->adopted = true;
    e->said = false; /* from now on the daemon hears whether it is online */
    e->next_look_s = 0;
    slurm_engine_arm(e, 0);
}

static void op_destroy(void *self)
{
    struct slurm_engine *e = self;

    slurm_control_destroy(e->control);
    slurm_caps_destroy(e->caps);
    helper_link_destroy(e->link);
    slurm_power_destroy(e->power);
    slurm_job_table_destroy(e->jobs);
    slurm_access_destroy(e->access);
    slurm_node_table_destroy(e->nodes);
    if (e->timer_fd >= 0)
        close(e->timer_fd);
    if (e->poller >= 0)
        close(e->poller);
    free(e);
}

static const struct engine_ops ops = {
    .name = "slurm",
    .cluster = op_cluster,
    .fd = op_fd,
    .dispatch = op_dispatch,
    .start = op_start,
    .stop = op_stop,
    .cap = op_cap,
    .wake = op_node,
    .sleep = op_node,
    .last_job = op_last_job,
    .adopt = op_adopt,
    .adopted = op_adopted,
    .destroy = op_destroy,
};

/* ---- making it --------------------------------------------------------------------- */

char *slurm_engine_helper(const char *configured)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    char *slash;

    if (configured)
        return mem_strdup(configured);
    if (n <= 0)
        return mem_strdup("corgi-engine-slurm");
    path[n] = '\0';
    slash = strrchr(path, '/');
    *slash = '\0';
    return file_join(path, "corgi-engine-slurm");
}

static void make_tables(struct slurm_engine *e)
{
    char *path =
        e->options.state_dir ? file_join(e->options.state_dir, CLUSTER_FILE) : NULL;
    struct slurm_node_options how = {.path = path,
                                     .names = e->options.types,
                                     .kept_awake = e->options.mode == SLURM_PLACES &&
                                                   !e->options.sleep};

    e->nodes = slurm_node_table_create(&how, e->sink);
    e->access = slurm_access_create(e->nodes, e->sink);
    slurm_node_table_set_access(e->nodes, e->access);
    e->jobs = slurm_job_table_create(e->nodes, e->sink);
    free(path);
}

static void make_link(struct slurm_engine *e)
{
    char *helper = slurm_engine_helper(e->options.helper);
    struct helper_link_options how = {.helper = helper,
                                      .read_only = e->options.mode == SLURM_ADVISE,
                                      .within_s = e->options.within_s};

    e->link = helper_link_create(e->poller, &how,
                                 (struct helper_link_sink){.up = on_up,
                                                           .down = on_down,
                                                           .answer = on_answer,
                                                           .ordered = on_ordered,
                                                           .ctx = e});
    free(helper);
}

static void make_control(struct slurm_engine *e)
{
    struct slurm_control_options how = {.partitions = e->options.partitions,
                                        .start_s = e->options.start_s,
                                        .sharing = e->options.sharing,
                                        .probe = e->options.probe,
                                        .report = e->options.report,
                                        .report_ca = e->options.report_ca,
                                        .state_dir = e->options.state_dir};

    if (e->options.mode != SLURM_PLACES)
        return;
    if (e->options.cap_program)
        e->caps = slurm_caps_create(e->poller, e->options.cap_program, CAP_S);
    e->control = slurm_control_create(&how, e->nodes, e->jobs, e->link, e->sink);
    slurm_job_table_set_keeper(e->jobs,
                               (struct slurm_row_keeper){.take = slurm_control_take,
                                                         .gone = slurm_control_gone,
                                                         .anew = slurm_control_anew,
                                                         .looked = slurm_control_looked,
                                                         .ctx = e->control});
}

/* A first start has to know what there is, and whether nodes may sleep, which the
 * settings tell; later ones know what there was. */
static int wait_for_cluster(struct slurm_engine *e, struct err *err)
{
    double until_s = clock_wall_s() + fmin(FIRST_LOOK_S, 5 * e->options.within_s);
    bool known = slurm_node_table_count(e->nodes) > 0;

    while (!known && clock_wall_s() < until_s) {
        advance(e);
        poller_wait(e->poller, 0.1);
        known = slurm_node_table_count(e->nodes) > 0 && e->conf_told;
    }
    if (slurm_node_table_count(e->nodes) > 0)
        return 0;
    if (e->trouble[0])
        return err_set(err, ERR_NOT_FOUND,
                       "Slurm cannot be reached, and no cluster is known from before: "
                       "%s; `corgi slurm check` says more",
                       e->trouble);
    return err_set(err, ERR_NOT_FOUND,
                   "Slurm has no node with GPUs of a known type: `corgi slurm check` "
                   "says more");
}

int slurm_engine_create(struct engine *engine, const struct slurm_engine_options *options,
                        struct engine_sink sink, struct err *err)
{
    struct slurm_engine *e = mem_new(struct slurm_engine);

    e->sink = sink;
    e->options = *options;
    e->poller = poller_open(err);
    e->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    make_tables(e);
    make_link(e);
    make_control(e);
    e->timer = (struct poller_watch){.fd = -1, .ready = ticked, .ctx = e};
    if (e->poller < 0 || e->timer_fd < 0) {
        err_sys(err, "cannot make a descriptor to wait on");
        op_destroy(e);
        return -1;
    }
    poller_set(e->poller, &e->timer, e->timer_fd, EPOLLIN);
    if (slurm_power_create(&e->power, e->options.exporter,
                           fmin(POWER_EVERY_S, POWER_LOOKS * e->options.poll_s), e->nodes,
                           sink, err) < 0 ||
        wait_for_cluster(e, err) < 0) {
        op_destroy(e);
        return -1;
    }
    e->options.helper = e->options.types = e->options.state_dir = e->options.exporter =
        e->options.partitions = e->options.cap_program = NULL; /* the caller's */
    log_info("engine_ready", LOG_STR("engine", "slurm"),
             LOG_STR("mode", e->control ? "control" : "advise"),
             LOG_I64("nodes", slurm_node_table_count(e->nodes)));
    *engine = (struct engine){.ops = &ops, .self = e};
    if (e->control) {
        e->ops = slurm_engine_control(&ops);
        engine->ops = &e->ops;
    }
    return 0;
}
