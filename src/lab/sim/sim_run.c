/* sim_run.c - the event loop of a simulation, see sim_run.h */
#include "lab/sim/sim_run.h"

#include "base/clock.h"
#include "loop/cluster.h"
#include "lab/policy/datasheet.h"
#include "lab/policy/feedback.h"
#include "model/learned.h"
#include "loop/loop_settings.h"
#include "lab/sim/run_score.h"
#include "lab/sim/sim_private.h"

#include <math.h>

#define STREAM_NOISE    11
#define STREAM_FAILURES 12
/* No workload of ours lasts this long; a planner that starves a job must not hang the
 * run. */
#define GIVE_UP_S (20 * 365.25 * 86400)

/* So many rounds of the timer without an action, and only news calls the next one: idle
 * times before sleep and the grace time of a wait are shorter than that. */
#define QUIET_ROUNDS 4

struct sim_options sim_default_options(void)
{
    return (struct sim_options){
        .settings = settings_default(),
        .seed = 1,
        .tick_s = 60,
        .round_s = 300,
        .measure_s = 300,
        .noise_sd = 0.03,
        .repair_s = 4 * 3600,
        .checkpoint_s = 1800,
        .alone_sd = 0.15,
        .beside_sd = 0.10,
    };
}

static void schedule_failure(struct sim *sim, int node)
{
    if (sim->options->node_mtbf_s <= 0)
        return;
    events_push(
        sim->events,
        (struct event){.at_s = sim->now_s +
                               rng_exponential(&sim->failures, sim->options->node_mtbf_s),
                       .kind = EVENT_NODE_FAILS,
                       .subject = node});
}

/* Networks and intervals are fitted again after so many new cells, then at each doubling.
 */
#define ADAPT_EVERY 50

static struct model learned_model(const struct sim *sim, const struct cluster *cluster)
{
    const struct learned_options how = {
        .seed = sim->options->seed,
        .adapt_every = ADAPT_EVERY,
        .initial_only = sim->setup->model == SIM_MODEL_INITIAL,
    };

    return learned_create(cluster->types, cluster->type_count, &how);
}

static struct model make_model(struct sim *sim, const struct cluster *cluster)
{
    switch (sim->setup->model) {
    case SIM_MODEL_ORACLE:
        return sim_oracle_create(&sim->truth, sim);
    case SIM_MODEL_FEEDBACK:
        return feedback_model_create(cluster->types, cluster->type_count);
    case SIM_MODEL_SHEET:
        return datasheet_model_create(cluster->types, cluster->type_count);
    case SIM_MODEL_INITIAL:
    case SIM_MODEL_LEARNED:
        break;
    }
    return learned_model(sim, cluster);
}

/* Nodes that are bought later are down until then. */
static bool comes_late(const struct sim *sim, int n)
{
    const struct cluster *cluster = loop_cluster(sim->loop);
    const struct device *first = &cluster->devices[cluster->nodes[n].first_device];

    return sim->setup->late_s > 0 && first->type == sim->setup->late_type;
}

static void hold_back_nodes(struct sim *sim)
{
    for (int n = 0; n < sim->setup->cluster->node_count; n++)
        if (comes_late(sim, n))
            loop_node_failed(sim->loop, n, 0);
}

static void sim_init(struct sim *sim, const struct sim_options *options,
                     const struct sim_setup *setup)
{
    const struct workload *w = setup->workload;
    const struct loop_options loop_options = {.settings = options->settings,
                                              .seed = options->seed};
    struct cluster *cluster = cluster_dup(setup->cluster);

    *sim = (struct sim){.options = options, .setup = setup};
    sim->truth = (struct truth){.world = setup->world,
                                .gpu_of_type = setup->gpu_of_type,
                                .alone_sd = options->alone_sd,
                                .beside_sd = options->beside_sd,
                                .drift = options->drift};
    sim->loop = loop_create_take(&loop_options, cluster, make_model(sim, cluster),
                                 setup->planner);
    hold_back_nodes(sim);
    sim->meter = meter_create(loop_cluster(sim->loop), 0);
    if (options->record_sights || options->record_places)
        sim->recording =
            recording_create(loop_cluster(sim->loop), options->record_places);
    sim->events = events_create();
    rng_stream(&sim->noise, options->seed, STREAM_NOISE);
    rng_stream(&sim->failures, options->seed, STREAM_FAILURES);
    sim->jobs = mem_array(struct sim_job, w->count);
    for (size_t i = 0; i < w->count; i++) {
        sim->jobs[i].request = &w->requests[i];
        sim->jobs[i].end = SIM_WAITING;
        sim->jobs[i].left = w->requests[i].steps;
        sim->jobs[i].ends_s = NAN;
        sim->jobs[i].result.wait_s = NAN;
    }
    quarters_init(&sim->quarters, w);
    if (options->check)
        sim->check = check_create(w->count, setup->cluster->device_count);
}

static void sim_fini(struct sim *sim)
{
    loop_destroy(sim->loop);
    meter_destroy(sim->meter);
    check_destroy(sim->check);
    recording_destroy(sim->recording);
    events_destroy(sim->events);
    vec_free(&sim->decision_ms);
    free(sim->jobs);
}

static void refuse(struct sim *sim, struct sim_job *job)
{
    job->end = SIM_REFUSED;
    sim->ended++;
}

static int arrive(struct sim *sim, struct sim_job *job, struct err *err)
{
    struct admission answer;

    sim->arrived++;
    if (sim->arrived == sim->setup->workload->count)
        meter_free_empty_nodes(sim->meter, sim->now_s);
    job->updated_s = sim->now_s;
    if (job->request->job.kind == JOB_INFERENCE)
        job->demand = request_demand(job->request, sim->now_s);
    if (job->request->cls < 0) {
        refuse(sim, job);
        return 0;
    }
    if (loop_submit(sim->loop, &job->request->job, &answer, err) < 0)
        return err_prefix(err, "request %llu", (unsigned long long)job->request->job.id);
    if (answer.verdict == ADMIT_REFUSED)
        refuse(sim, job);
    sim_news(sim);
    sim_want_tick(sim, sim->now_s + sim->options->tick_s);
    return 0;
}

void sim_news(struct sim *sim)
{
    sim->round_due = true;
    sim->quiet_rounds = 0;
}

void sim_want_round(struct sim *sim, double at_s)
{
    if (at_s >= sim->next_round_s)
        return;
    sim->next_round_s = at_s;
    events_push(sim->events, (struct event){.at_s = at_s, .kind = EVENT_ROUND});
}

void sim_want_tick(struct sim *sim, double at_s)
{
    if (at_s >= sim->next_tick_s)
        return;
    sim->next_tick_s = at_s;
    events_push(sim->events, (struct event){.at_s = at_s, .kind = EVENT_TICK});
}

static bool all_over(const struct sim *sim)
{
    return sim->ended == sim->setup->workload->count;
}

static int handle(struct sim *sim, const struct event *event, struct err *err)
{
    const struct cluster *cluster = loop_cluster(sim->loop);
    struct sim_job *job = &sim->jobs[event->subject];

    switch (event->kind) {
    case EVENT_ARRIVAL:
        return arrive(sim, job, err);
    case EVENT_READY:
        sim_job_ready(sim, job);
        break;
    case EVENT_FINISH:
        if (event->stamp == job->stamp && job->active)
            sim_job_finished(sim, job);
        break;
    case EVENT_AWAKE:
        loop_node_is_awake(sim->loop, event->subject, sim->now_s);
        sim_news(sim);
        sim_touch_node(sim, event->subject);
        break;
    case EVENT_NODE_FAILS:
        if (cluster->nodes[event->subject].state == NODE_AWAKE)
            sim_node_fails(sim, event->subject);
        schedule_failure(sim, event->subject);
        break;
    case EVENT_NODE_REPAIR:
        sim_node_repaired(sim, event->subject);
        break;
    case EVENT_TICK:
        if (event->at_s != sim->next_tick_s)
            break; /* an earlier one has taken its place */
        sim->next_tick_s = INFINITY;
        sim_want_tick(sim, sim_tick(sim));
        break;
    case EVENT_ROUND:
        if (event->at_s != sim->next_round_s)
            break;
        sim->next_round_s = INFINITY;
        sim->round_due = true;
        break;
    }
    return 0;
}

static int run_round(struct sim *sim, struct err *err)
{
    const struct action *actions;
    size_t count;
    double began_s;

    check_before_round(sim);
    began_s = clock_wall_s();
    sim->round_due = false;
    if (loop_round(sim->loop, sim->now_s, &actions, &count, err) < 0)
        return -1;
    vec_push(&sim->decision_ms, (clock_wall_s() - began_s) * 1e3);
    sim->rounds++;
    if (check_plan(sim, err) < 0)
        return -1;
    sim_execute(sim, actions, count);
    /* What was just done may let a node sleep or a wait run out of grace: look again. */
    if (count > 0 || sim->quiet_rounds < QUIET_ROUNDS)
        sim_want_round(sim, sim->now_s + sim->options->round_s);
    sim->quiet_rounds = count > 0 ? 0 : sim->quiet_rounds + 1;
    return check_state(sim, err);
}

static void fill_events(struct sim *sim)
{
    const struct workload *w = sim->setup->workload;

    for (size_t i = 0; i < w->count; i++)
        events_push(sim->events, (struct event){.at_s = w->requests[i].job.submitted_s,
                                                .kind = EVENT_ARRIVAL,
                                                .subject = (int)i});
    for (int n = 0; n < sim->setup->cluster->node_count; n++) {
        schedule_failure(sim, n);
        if (comes_late(sim, n))
            events_push(sim->events, (struct event){.at_s = sim->setup->late_s,
                                                    .kind = EVENT_NODE_REPAIR,
                                                    .subject = n});
    }
    sim->next_round_s = sim->next_tick_s = INFINITY;
    sim_want_round(sim, sim->options->round_s);
}

/* Everything that happens at one moment comes first, then one round over all of it. */
static int play(struct sim *sim, sim_progress *progress, void *progress_ctx,
                struct err *err)
{
    double limit_s = sim->options->limit_s > 0 ? sim->options->limit_s : GIVE_UP_S;
    struct event event;

    while (!all_over(sim) && events_pop(sim->events, &event)) {
        struct event next;

        quarters_reach(sim, fmin(event.at_s, limit_s));
        if (event.at_s > limit_s) {
            sim->now_s = limit_s;
            return 0;
        }
        sim->now_s = event.at_s;
        if (handle(sim, &event, err) < 0 || check_state(sim, err) < 0)
            return -1;
        if (events_peek(sim->events, &next) && next.at_s == sim->now_s)
            continue;
        if (sim->round_due && run_round(sim, err) < 0)
            return -1;
        if (progress && sim->rounds % 64 == 0)
            progress(progress_ctx,
                     (double)sim->ended / (double)sim->setup->workload->count);
    }
    return 0;
}

int sim_run(const struct sim_options *options, const struct sim_setup *setup,
            sim_progress *progress, void *progress_ctx, struct sim_result *result,
            struct err *err)
{
    struct sim sim;
    int rc = -1;

    sim_init(&sim, options, setup);
    fill_events(&sim);
    if (play(&sim, progress, progress_ctx, err) < 0)
        goto done;
    score_run(&sim, result);
    recording_end(sim.recording, sim.now_s);
    result->recording = sim.recording;
    sim.recording = NULL; /* the result's now */
    rc = 0;
done:
    sim_fini(&sim);
    return rc;
}

void sim_result_fini(struct sim_result *result)
{
    free(result->job_results);
    recording_destroy(result->recording);
    result->job_results = NULL;
    result->recording = NULL;
}
