/* sim_run.c - the driver of a simulation
 *
 * `corgi sim` (sweep.c) calls sim_run() for each policy, load and seed.  From moment to
 * moment it lets the engine's world go on, submits the requests that arrive and holds the
 * loop's rounds; sim_actions.c carries events and actions between the two. */
#include "lab/sim/sim_run.h"

#include "base/clock.h"
#include "engine/sim/sim_engine.h"
#include "http/api.h"
#include "loop/cluster.h"
#include "lab/policy/datasheet.h"
#include "lab/policy/feedback.h"
#include "model/learned.h"
#include "loop/loop_settings.h"
#include "lab/sim/sim_private.h"
#include "service/ledger.h"

#include <math.h>

/* No workload of ours lasts this long; a planner that starves a job must not hang the
 * run. */
#define GIVE_UP_S (20 * 365.25 * 86400)

struct sim_options sim_default_options(void)
{
    return (struct sim_options){
        .settings = settings_default(),
        .seed = 1,
        .tick_s = 60,
        .round_s = 300,
        .measure_s = 300,
        .noise_sd = 0.03,
        .forgiven = SIM_FORGIVEN,
        .repair_s = 4 * 3600,
        .checkpoint_s = 1800,
        .alone_sd = 0.15,
        .beside_sd = 0.10,
    };
}

static struct model learned_model(const struct sim *sim, const struct cluster *cluster)
{
    const struct learned_options how = {
        .seed = sim->options->seed,
        .initial_only = sim->setup->model == SIM_MODEL_INITIAL,
        .networks = sim->options->networks,
    };

    return learned_create(cluster->types, cluster->type_count, &how);
}

static struct model make_model(struct sim *sim, const struct cluster *cluster)
{
    if (sim->setup->told) {
        const struct learned_options how =
            service_config_learned(&sim->setup->told->config);

        return learned_create(cluster->types, cluster->type_count, &how);
    }
    switch (sim->setup->model) {
    case SIM_MODEL_ORACLE:
        return sim_oracle_create(&sim->engine);
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

static void job_changes(void *ctx, uint64_t job)
{
    struct sim *sim = ctx;

    sim_book_job(sim, sim_job_of(sim, job));
}

static void device_changed(void *ctx, int device, double watts)
{
    struct sim *sim = ctx;

    meter_device(sim->meter, device, watts, sim->now_s);
    sim_saved_device(sim, device, watts);
}

static void node_changed(void *ctx, int node)
{
    struct sim *sim = ctx;

    meter_node(sim->meter, node, sim->now_s);
    recording_node(sim->recording, node,
                   sim_inspect_cluster(&sim->engine)->nodes[node].state, sim->now_s);
}

/* The engine of a workload: all that is known of it is told. */
static struct sim_engine_options own_world(const struct sim *sim)
{
    const struct sim_options *o = sim->options;
    const struct sim_setup *setup = sim->setup;
    return (struct sim_engine_options){
        .drawn = setup->cluster,
        .world = setup->world,
        .gpu_of_type = setup->gpu_of_type,
        .seed = o->seed,
        .alone_sd = o->alone_sd,
        .beside_sd = o->beside_sd,
        .beside_free = setup->schedule != NULL,
        .gang_interference = o->gang_interference,
        .cap_steepness = o->cap_steepness,
        .drawn_power = o->drawn_power,
        .drift = o->drift,
        .restore_s = o->settings.move_s,
        .checkpoint_s = o->checkpoint_s,
        .node_mtbf_s = o->node_mtbf_s,
        .repair_s = o->repair_s,
        .late_type = setup->late_type,
        .late_s = setup->late_s,
        .measure_s = o->measure_s,
        .demand_s = o->tick_s,
        .noise_sd = o->noise_sd,
        .thin = true,
        .window_s = o->tick_s,
        .align_s = o->tick_s,
    };
}

static int make_engine(struct sim *sim, struct err *err)
{
    struct sim_engine_options options =
        sim->setup->told ? service_config_sim(&sim->setup->told->config) : own_world(sim);

    options.watch = &sim->watch;
    options.clock = SIM_CLOCK_STEPPED;
    sim->watch = (struct sim_watch){
        .ctx = sim, .job = job_changes, .device = device_changed, .node = node_changed};
    return sim_engine_create(&sim->engine, &options, (struct engine_sink){sim_hear, sim},
                             err);
}

int sim_init(struct sim *sim, const struct sim_options *options,
             const struct sim_setup *setup, struct err *err)
{
    const struct workload *w = setup->workload;
    struct loop_options loop_options = {.settings = options->settings,
                                        .seed = options->seed,
                                        .round_every_s = options->round_s};
    struct cluster *cluster;

    if (setup->told)
        loop_options = service_config_loop(&setup->told->config);

    *sim = (struct sim){.options = options, .setup = setup};
    if (make_engine(sim, err) < 0 ||
        sim->engine.ops->cluster(sim->engine.self, &cluster, err) < 0)
        return -1;
    sim->loop = loop_create_take(&loop_options, cluster, make_model(sim, cluster),
                                 setup->planner);
    for (size_t i = 0; i < setup->share_count; i++)
        loop_set_share(sim->loop, &setup->shares[i], 0);
    sim->now_s = sim_engine_now_s(&sim->engine);
    sim->meter = meter_create(sim_inspect_cluster(&sim->engine), sim->now_s);
    meter_limit(sim->meter, &options->settings.power_limit);
    if (options->record_sights || options->record_places)
        sim->recording = recording_create(cluster, options->record_places);
    sim->jobs = mem_array(struct sim_job, w->count);
    for (size_t i = 0; i < w->count; i++) {
        sim->jobs[i].request = &w->requests[i];
        sim->jobs[i].end = SIM_WAITING;
        sim->jobs[i].result.wait_s = sim->jobs[i].result.end_s = NAN;
    }
    sim_follow_init(sim);
    if (setup->told) /* as a daemon does when it comes up */
        loop_want_round(sim->loop, sim->now_s);
    quarters_init(&sim->quarters, w);
    if (options->check)
        sim->check = check_create(w->count, setup->cluster->device_count);
    return 0;
}

void sim_fini(struct sim *sim)
{
    loop_destroy(sim->loop);
    meter_destroy(sim->meter);
    check_destroy(sim->check);
    recording_destroy(sim->recording);
    if (sim->engine.self)
        sim->engine.ops->destroy(sim->engine.self);
    vec_free(&sim->decision_ms);
    vec_free(&sim->improve_ms);
    vec_free(&sim->quote_ms);
    sim_replicas_fini(sim);
    sim_follow_fini(sim);
    free(sim->draws);
    free(sim->jobs);
}

static void count_refused(struct sim *sim, struct sim_job *job)
{
    job->end = SIM_REFUSED;
    sim->ended++;
}

static void refuse(struct sim *sim, struct sim_job *job)
{
    sim->engine.ops->stop(sim->engine.self, job->request->job.id, ENGINE_STOP_CANCEL,
                          NULL); /* it expects the job no longer */
    count_refused(sim, job);
}

static void write_line(struct sim *sim, struct str *line)
{
    fprintf(sim->setup->told->ledger, "%s\n", str_text(line));
    str_fini(line);
}

/* As the daemon takes it: read, quoted, and submitted unless that says no. */
static int arrive_told(struct sim *sim, struct sim_job *job, struct err *err)
{
    struct sim_told *told = sim->setup->told;
    size_t at = (size_t)(job - sim->jobs);
    struct parsed_job *parsed = &told->requests[at].parsed;
    struct job *asked = &told->workload->requests[at].job;
    const struct job_parse_context context = {.cluster = loop_cluster(sim->loop),
                                              .classes = told->classes,
                                              .classes_max = told->config.limits.classes,
                                              .priority_max = API_MAX_PRIORITY,
                                              .stop_grace_max_s =
                                                  told->config.limits.stop_grace_s,
                                              .now_s = sim->now_s};
    char field[SCHEMA_PATH_SIZE];
    struct fair_share_rule share;
    struct quote quote;
    struct str line = {0};

    if (job_parse(&context, &told->who,
                  json_value_get(json_doc_root(told->requests[at].doc), "job"), parsed,
                  field, NULL) < 0 ||
        loop_quote(sim->loop, &parsed->job.request.job, parsed->replicas.max, NULL,
                   sim->now_s, &quote, NULL) < 0) {
        count_refused(sim, job);
        return 0;
    }
    *asked = parsed->job.request.job;
    share = service_config_share(&told->config, asked->owner, told->who.name);
    loop_set_share(sim->loop, &share, sim->now_s);
    ledger_quote(&line, sim->now_s, context.cluster, &quote);
    write_line(sim, &line);
    if (quote.verdict == QUOTE_REFUSED || quote.verdict == QUOTE_COUNTER) {
        count_refused(sim, job);
        return 0;
    }
    job_parse_know_class(told->classes, asked);
    told->index[told->accepted++] = at;
    asked->id = told->accepted;
    asked->unpromised = quote.verdict == QUOTE_UNPROMISED;
    if (loop_submit(sim->loop, asked, sim->now_s, err) < 0)
        return -1;
    loop_quoted(sim->loop, asked->id, &quote, sim->now_s);
    return 0;
}

static int arrive(struct sim *sim, struct sim_job *job, struct err *err)
{
    const struct job *asked = &job->request->job;
    struct quote quote;
    struct job enters;
    double began_s;

    sim->arrived++;
    if (sim->arrived == sim->setup->workload->count)
        meter_free_empty_nodes(sim->meter, sim->now_s);
    job->updated_s = sim->now_s;
    if (sim->setup->told)
        return arrive_told(sim, job, err);
    if (job->request->cls < 0) {
        refuse(sim, job);
        return 0;
    }
    sim_engine_expect(&sim->engine, job->request);
    if (sim->setup->schedule)
        return 0; /* the loop hears of it when it starts */
    if (sim->arrived <= sim->options->unquoted)
        return loop_submit(sim->loop, asked, sim->now_s, err);
    began_s = clock_cpu_s();
    if (loop_quote(sim->loop, asked, job->request->max_replicas, NULL, sim->now_s, &quote,
                   err) < 0)
        return err_prefix(err, "request %llu", (unsigned long long)asked->id);
    vec_push(&sim->quote_ms, (clock_cpu_s() - began_s) * 1e3);
    if (quote.verdict == QUOTE_REFUSED) {
        refuse(sim, job);
        return 0;
    }
    sim_replicas_arrive(sim, job, quote.replicas);
    enters = job->request->job;
    enters.unpromised = quote.verdict == QUOTE_UNPROMISED;
    began_s = clock_cpu_s();
    if (loop_submit(sim->loop, &enters, sim->now_s, err) < 0)
        return err_prefix(err, "request %llu", (unsigned long long)asked->id);
    sim->submit_s += clock_cpu_s() - began_s;
    loop_quoted(sim->loop, asked->id, &quote, sim->now_s);
    return 0;
}

static bool all_over(const struct sim *sim)
{
    return sim->ended == sim->setup->workload->count;
}

static int run_round(struct sim *sim, struct err *err)
{
    struct round_result result;
    double began_s, took_ms;

    check_before_round(sim);
    loop_learn_due(sim->loop, sim->now_s);
    began_s = clock_cpu_s();
    if (loop_round(sim->loop, sim->now_s, &result, err) < 0)
        return -1;
    took_ms = (clock_cpu_s() - began_s + sim->submit_s) * 1e3;
    sim->submit_s = 0;
    if (loop_plan(sim->loop)->improved)
        vec_push(&sim->improve_ms, took_ms);
    else
        vec_push(&sim->decision_ms, took_ms);
    sim->rounds++;
    if (check_plan(sim, err) < 0)
        return -1;
    if (sim->setup->told && result.action_count + result.decision_count > 0) {
        struct str line = {0};

        ledger_round(&line, sim->now_s, loop_cluster(sim->loop), &result);
        write_line(sim, &line);
    }
    sim_execute(sim, result.actions, result.action_count);
    sim_misplaced_look(sim);
    return check_state(sim, err);
}

/* When something happens next: the engine's world, an arrival, the loop's timer. */
static double next_s(const struct sim *sim)
{
    const struct workload *w = sim->setup->workload;
    double at_s = sim_engine_next_s(&sim->engine);

    if (sim->setup->schedule)
        at_s = fmin(at_s, sim_follow_next_s(sim));
    else if (!all_over(sim)) /* then there is nothing left to plan */
        at_s = fmin(at_s, fmax(sim->now_s, loop_round_due_s(sim->loop)));
    return sim->arrived < w->count
               ? fmin(at_s, fmax(sim->now_s, w->requests[sim->arrived].job.submitted_s))
               : at_s;
}

static int submit_arrivals(struct sim *sim, struct err *err)
{
    const struct workload *w = sim->setup->workload;

    while (sim->arrived < w->count &&
           w->requests[sim->arrived].job.submitted_s <= sim->now_s)
        if (arrive(sim, &sim->jobs[sim->arrived], err) < 0)
            return -1;
    return 0;
}

/* Everything that happens at one moment comes first, then one round over all of it.  A
 * daemon whose time is moved by hand has settled before it is asked for the next thing.
 */
static int live(struct sim *sim, struct err *err)
{
    bool told = sim->setup->told != NULL;

    sim->engine.ops->dispatch(sim->engine.self, sim->now_s);
    if ((!told && submit_arrivals(sim, err) < 0) || sim_replicas_follow(sim, err) < 0 ||
        check_state(sim, err) < 0)
        return -1;
    if (sim->setup->schedule) {
        sim_follow_start(sim);
        return check_state(sim, err);
    }
    if (loop_round_due_s(sim->loop) <= sim->now_s && !all_over(sim))
        return run_round(sim, err);
    if (told && sim_engine_next_s(&sim->engine) > sim->now_s)
        return submit_arrivals(sim, err);
    return 0;
}

bool sim_moment(struct sim *sim, double until_s, int *rc, struct err *err)
{
    double at_s = next_s(sim);

    quarters_reach(sim, fmin(at_s, until_s));
    if (at_s > until_s) {
        sim->now_s = until_s;
        return false;
    }
    sim->now_s = at_s;
    *rc = live(sim, err);
    return *rc == 0;
}

/* Requests that came and requests that ended, in steps of a hundredth. */
static double tell_progress(const struct sim *sim, double told)
{
    double share =
        (double)(sim->arrived + sim->ended) / (2 * (double)sim->setup->workload->count);

    if (!sim->setup->progress || share < told + 0.01 || share >= 1)
        return told;
    sim->setup->progress(sim->setup->progress_ctx, share);
    return share;
}

static int play(struct sim *sim, struct err *err)
{
    double limit_s = sim->options->limit_s > 0 ? sim->options->limit_s : GIVE_UP_S;
    double told = 0;
    int rc = 0;

    while (!all_over(sim) && sim_moment(sim, limit_s, &rc, err))
        told = tell_progress(sim, told);
    return rc;
}

int sim_run(const struct sim_options *options, const struct sim_setup *setup,
            struct sim_result *result, struct err *err)
{
    struct sim sim;
    int rc = -1;

    if (sim_init(&sim, options, setup, err) < 0 || play(&sim, err) < 0)
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
