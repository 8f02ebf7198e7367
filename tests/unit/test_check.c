/* test_check.c - the debug mode of the simulator: every rule can be broken and is named
 *
 * A simulation is set up by hand and stopped in its middle; each test breaks one thing on
 * purpose, after seeing that nothing was broken before. */
#include "lab/sim/sim_check.h"

#include "loop/loop_private.h"
#include "engine/sim/sim_engine_private.h"
#include "lab/sim/sim_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/sim.h"

/* Two nodes of two V100s.  Jobs 1 (training) and 2 (a service) run, job 3 takes two GPUs,
 * job 4 has not arrived. */
struct bench {
    struct world *world;
    struct workload *workload;
    struct cluster *drawing;
    struct sim_options options;
    struct sim_setup setup;
    struct sim sim;
    struct cluster *cluster; /* the loop's, to break it */
};

/* Let everything happen up to this time; the first broken rule ends it. */
static int reach(struct bench *b, double until_s, struct err *err)
{
    int rc = 0;

    while (sim_moment(&b->sim, until_s, &rc, err))
        ;
    return rc;
}

static void must_reach(struct bench *b, double until_s)
{
    struct err err = {0};

    if (reach(b, until_s, &err) < 0)
        fail_msg("%s", err.text);
}

static struct sim_engine *engine_of(struct bench *b)
{
    return b->sim.engine.self;
}

/* The job as the engine has it, to break it. */
static struct run *run_of(struct bench *b, uint64_t job)
{
    return sim_engine_find(engine_of(b), job);
}

static int first_device(struct bench *b, uint64_t job)
{
    return run_of(b, job)->devices[0];
}

static int set_up(void **state)
{
    struct bench *b = mem_new(struct bench);
    struct err err = {0};

    b->world = fixture_world();
    b->workload = fixture_workload();
    fixture_training(b->workload, b->world, FIXTURE_LIGHT, 0, 3600);
    fixture_service(b->workload, b->world, 0, 3600, 0.5);
    fixture_training(b->workload, b->world, FIXTURE_PAIR, 0, 3600);
    fixture_training(b->workload, b->world, FIXTURE_HEAVY, 1e6, 3600);
    b->drawing = fixture_cluster(b->world, 0, 2, 2);
    b->options = fixture_options();
    b->options.settings.share_max = 2;
    b->options.check = true;
    b->setup = (struct sim_setup){.world = b->world,
                                  .workload = b->workload,
                                  .cluster = b->drawing,
                                  .gpu_of_type = fixture_types,
                                  .planner = policy_find("fifo")->planner,
                                  .model = SIM_MODEL_ORACLE};
    if (sim_init(&b->sim, &b->options, &b->setup, &err) < 0)
        fail_msg("%s", err.text);
    b->cluster = b->sim.loop->cluster;
    must_reach(b, 0);
    for (uint64_t job = 1; job <= 3; job++)
        assert_int_equal(run_of(b, job)->state, RUN_ACTIVE);
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *b = *state;

    sim_fini(&b->sim);
    cluster_destroy(b->drawing);
    workload_destroy(b->workload);
    world_destroy(b->world);
    free(b);
    return 0;
}

static void assert_holds(struct bench *b)
{
    struct err err = {0};

    if (check_state(&b->sim, &err) < 0)
        fail_msg("%s", err.text);
}

/* The sentence names the time, the job where there is one, the rule and the thing. */
static void assert_broken(struct bench *b, const char *who_and_rule, const char *what)
{
    struct err err = {0};
    char time[64];

    snprintf(time, sizeof(time), "at %.3f s ", b->sim.now_s);
    assert_int_equal(check_state(&b->sim, &err), -1);
    if (strncmp(err.text, time, strlen(time)) != 0 || !strstr(err.text, who_and_rule) ||
        !strstr(err.text, what))
        fail_msg("'%s' instead of '%s%s ... %s'", err.text, time, who_and_rule, what);
}

/* The same of what happens up to a time. */
static void assert_breaks(struct bench *b, double until_s, const char *who_and_rule,
                          const char *what)
{
    struct err err = {0};

    assert_int_equal(reach(b, until_s, &err), -1);
    if (!strstr(err.text, who_and_rule) || !strstr(err.text, what))
        fail_msg("'%s' instead of '%s ... %s'", err.text, who_and_rule, what);
}

static void a_sound_state_passes_and_goes_on_passing(void **state)
{
    struct bench *b = *state;

    assert_holds(b);
    b->sim.now_s = 100;
    assert_holds(b);
    must_reach(b, 1000);
    assert_holds(b);
}

static void without_a_check_nothing_is_found(void **state)
{
    struct bench *b = *state;
    struct check *check = b->sim.check;
    struct err err = {0};

    b->cluster->nodes[0].state = NODE_DOWN;
    b->sim.check = NULL;
    assert_int_equal(check_state(&b->sim, &err), 0);
    b->sim.check = check;
    assert_int_equal(check_state(&b->sim, &err), -1);
}

static void a_change_of_power_nobody_booked_is_found(void **state)
{
    struct bench *b = *state;

    assert_holds(b);
    b->sim.now_s = 10;
    engine_of(b)->cluster->nodes[1].host_watts += 50;
    assert_broken(b, "the rule 'energy' is broken", "node-2 is not booked");
}

/* The meter itself keeps both sums; from outside only a draw that is no number breaks
 * them. */
static void parts_that_do_not_add_up_are_found(void **state)
{
    struct bench *b = *state;

    assert_holds(b);
    meter_device(b->sim.meter, first_device(b, 1), NAN, 0);
    b->sim.now_s = 10;
    assert_broken(b, "the rule 'energy' is broken", "parts of");
}

static void more_jobs_than_may_share_are_found(void **state)
{
    struct bench *b = *state;

    assert_holds(b);
    b->options.settings.share_max = 1;
    assert_holds(b);
    b->cluster->devices[0].jobs[b->cluster->devices[0].job_count++] = 2;
    b->sim.now_s = 7;
    assert_broken(b, "job 2 breaks the rule 'share'", "GPU 0 of node-1 has 2 jobs");
}

/* The first job's GPU takes the service too, which the truth says does not fit. */
static void a_gpu_that_is_overfull_is_found(void **state)
{
    struct bench *b = *state;
    int from = first_device(b, 2), to = first_device(b, 1);
    struct job_status *status = jobs_change(b->sim.loop->jobs, 2);
    struct sim_engine *e = engine_of(b);

    assert_holds(b);
    cluster_leave(b->cluster, from, 2, 0);
    cluster_seat(b->cluster, to, 2);
    cluster_leave(e->cluster, from, 2, 0);
    cluster_seat(e->cluster, to, 2);
    run_of(b, 2)->devices[0] = status->devices[0] = to;
    sim_world_cap(e, from, 0); /* both are booked again */
    sim_world_cap(e, to, 0);
    assert_holds(b); /* together they fit */
    run_of(b, 2)->state = RUN_STARTING;
    assert_holds(b);
    *world_beside(b->world, FIXTURE_V100, FIXTURE_LIGHT, FIXTURE_SERVICE) = 0;
    assert_holds(b); /* one of them only sits there */
    run_of(b, 2)->state = RUN_ACTIVE;
    b->sim.check->crowds[to] = 0;
    assert_broken(b, "job 2 breaks the rule 'memory'", "2 jobs run on GPU");
}

static void a_job_on_a_node_asleep_or_down_is_found(void **state)
{
    struct bench *b = *state;
    int n = b->cluster->devices[first_device(b, 1)].node;

    assert_holds(b);
    b->cluster->nodes[n].state = NODE_ASLEEP;
    assert_broken(b, "job 1 breaks the rule 'awake'", "which is asleep");
    b->cluster->nodes[n].state = NODE_DOWN;
    assert_broken(b, "job 1 breaks the rule 'awake'", "which is down");
    b->cluster->nodes[n].state = NODE_WAKING;
    assert_broken(b, "job 1 breaks the rule 'awake'", "which still wakes");
}

static void a_job_seated_where_it_does_not_run_is_found(void **state)
{
    struct bench *b = *state;
    struct device *other = &b->cluster->devices[first_device(b, 2)];

    assert_holds(b);
    other->jobs[other->job_count++] = 1;
    assert_broken(b, "job 1 breaks the rule 'seats'", "not its own");
    other->jobs[other->job_count - 1] = 99;
    assert_broken(b, "job 99 breaks the rule 'seats'", "nobody knows it");
    other->job_count = 0;
    assert_broken(b, "job 2 breaks the rule 'seats'", "no seat of its own");
}

static void a_job_on_too_few_gpus_or_twice_on_one_is_found(void **state)
{
    struct bench *b = *state;
    struct job_status *status = jobs_change(b->sim.loop->jobs, 3);
    struct run *pair = run_of(b, 3);
    int second = pair->devices[1];

    assert_holds(b);
    pair->devices[1] = status->devices[1] = pair->devices[0];
    b->cluster->devices[second].job_count = 0;
    assert_broken(b, "job 3 breaks the rule 'seats'", "no seat of its own");
    pair->device_count = status->device_count = 1;
    assert_broken(b, "job 3 breaks the rule 'seats'", "it has 1 GPUs");
}

static void another_cap_or_state_than_the_loop_believes_is_found(void **state)
{
    struct bench *b = *state;

    assert_holds(b);
    engine_of(b)->cluster->devices[0].cap_watts = 150;
    assert_broken(b, "the rule 'orders' is broken", "GPU 0 of node-1 has another power");
    engine_of(b)->cluster->devices[0].cap_watts = 0;
    engine_of(b)->cluster->nodes[1].state = NODE_WAKING;
    assert_broken(b, "the rule 'orders' is broken", "node-2 is not in the state");
}

/* Job 1 takes 3600 s alone on a V100. */
static void a_job_that_ends_with_its_work_done_passes(void **state)
{
    struct bench *b = *state;

    must_reach(b, 3600);
    assert_int_equal(b->sim.jobs[0].end, SIM_FINISHED);
    assert_holds(b);
}

static void a_job_that_ends_too_early_is_found(void **state)
{
    struct bench *b = *state;

    must_reach(b, 3500);
    sim_world_at(engine_of(b), run_of(b, 1), EVENT_FINISH, 3500);
    assert_breaks(b, 3500, "job 1 breaks the rule 'work'", "finished after");
}

static void work_booked_twice_is_found(void **state)
{
    struct bench *b = *state;

    must_reach(b, 3500);
    b->sim.jobs[0].work_h *= 1.001;
    assert_breaks(b, 3600, "job 1 breaks the rule 'work'", "hours of work booked");
}

static void a_service_that_ends_before_its_time_is_found(void **state)
{
    struct bench *b = *state;

    must_reach(b, 3000);
    sim_world_at(engine_of(b), run_of(b, 2), EVENT_FINISH, 3000);
    assert_breaks(b, 3000, "job 2 breaks the rule 'work'", "before its time");
}

/* The node of job 1 fails at 2700 s; the checkpoint was at 1800 s. */
static void fail_node(struct bench *b)
{
    int node = b->cluster->devices[first_device(b, 1)].node;

    must_reach(b, 2700);
    events_push(&engine_of(b)->events, (struct event){.at_s = 2700,
                                                      .kind = EVENT_NODE_FAILS,
                                                      .subject = (uint64_t)node});
}

static void a_failure_may_lose_what_came_after_the_checkpoint(void **state)
{
    struct bench *b = *state;

    fail_node(b);
    must_reach(b, 2700);
    assert_int_equal(b->sim.jobs[0].result.restarts, 1);
    assert_near(sim_world_done(run_of(b, 1), 2700), b->workload->requests[0].steps / 2,
                1e-6);
    assert_holds(b);
}

static void a_failure_that_loses_more_or_wins_work_is_found(void **state)
{
    struct bench *b = *state;
    struct check *check = b->sim.check;
    struct run *run = run_of(b, 1);
    double before, steps;

    fail_node(b);
    b->sim.check = NULL;
    must_reach(b, 2700);
    b->sim.check = check;
    before = run->before;
    steps = run->steps;
    run->before = run->steps = 0;
    assert_broken(b, "job 1 breaks the rule 'work'", "a restart lost");
    check->jobs[0] = (struct check_job){0};
    run->before = before;
    run->steps = steps;
    assert_broken(b, "job 1 breaks the rule 'work'", "a restart lost -");
}

static void assert_plan_broken(struct bench *b, const char *rule, const char *what)
{
    struct err err = {0};

    assert_int_equal(check_plan(&b->sim, &err), -1);
    if (!strstr(err.text, rule) || !strstr(err.text, what))
        fail_msg("'%s' instead of '%s ... %s'", err.text, rule, what);
}

static void a_plan_that_fails_the_audit_is_found(void **state)
{
    struct bench *b = *state;
    struct plan *plan = &b->sim.loop->plan;

    plan->seats[0].rate = NAN;
    assert_plan_broken(b, "the rule 'plan' is broken: planner fifo", "figures");
    plan->seats[0].rate = 1;
    plan->cap_watts[0] = 150;
    b->options.settings.caps = false;
    assert_plan_broken(b, "the rule 'plan' is broken: planner fifo", "caps are off");
    plan->cap_watts[0] = 0;
    plan->seats[0].job = 4;
    assert_plan_broken(b, "job 4 breaks the rule 'plan'", "nobody knows it");
}

/* ---- a whole run ------------------------------------------------------------------- */

static void *no_self(uint64_t seed)
{
    (void)seed;
    return NULL;
}

static void forget_self(void *self)
{
    (void)self;
}

/* First in, first out, on the first device, and a word nobody may say with caps off. */
static void plan_with_cap(void *self, const struct optimize_input *in, struct plan *plan)
{
    void *fifo = policy_find("fifo")->planner->create(1);

    (void)self;
    policy_find("fifo")->planner->plan(fifo, in, plan);
    policy_find("fifo")->planner->destroy(fifo);
    plan->cap_watts[0] = 150;
}

static const struct planner_ops wilful = {
    .name = "wilful", .create = no_self, .plan = plan_with_cap, .destroy = forget_self};

static void a_run_ends_with_the_sentence(void **state)
{
    struct bench *b = *state;
    struct sim_result result = {0};
    struct err err = {0};

    b->setup.planner = &wilful;
    b->options.settings.caps = b->options.check = false;
    assert_int_equal(sim_run(&b->options, &b->setup, &result, &err), 0);
    sim_result_fini(&result);
    b->options.check = true;
    assert_int_equal(sim_run(&b->options, &b->setup, &result, &err), -1);
    assert_non_null(strstr(err.text, "at 0.000 s the rule 'plan' is broken: planner "
                                     "wilful: device 0 is capped, caps are off"));
}

static void looking_on_changes_nothing(void **state)
{
    struct bench *b = *state;
    struct sim_options options = sim_default_options();
    struct sim_result plain, checked;

    options.node_mtbf_s = 3000;
    options.checkpoint_s = 300;
    plain = fixture_run("corgi", &options, b->world, b->workload, b->drawing);
    options.check = true;
    checked = fixture_run("corgi", &options, b->world, b->workload, b->drawing);
    assert_true(plain.restarts > 0);
    assert_int_equal(checked.finished, 4);
    assert_memory_equal(&plain.energy, &checked.energy, sizeof(plain.energy));
    assert_memory_equal(&plain.estimates, &checked.estimates, sizeof(plain.estimates));
    assert_memory_equal(plain.quarters, checked.quarters, sizeof(plain.quarters));
    sim_result_fini(&plain);
    sim_result_fini(&checked);
}

#define on_bench(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        on_bench(a_sound_state_passes_and_goes_on_passing),
        on_bench(without_a_check_nothing_is_found),
        on_bench(a_change_of_power_nobody_booked_is_found),
        on_bench(parts_that_do_not_add_up_are_found),
        on_bench(more_jobs_than_may_share_are_found),
        on_bench(a_gpu_that_is_overfull_is_found),
        on_bench(a_job_on_a_node_asleep_or_down_is_found),
        on_bench(a_job_seated_where_it_does_not_run_is_found),
        on_bench(a_job_on_too_few_gpus_or_twice_on_one_is_found),
        on_bench(another_cap_or_state_than_the_loop_believes_is_found),
        on_bench(a_job_that_ends_with_its_work_done_passes),
        on_bench(a_job_that_ends_too_early_is_found),
        on_bench(work_booked_twice_is_found),
        on_bench(a_service_that_ends_before_its_time_is_found),
        on_bench(a_failure_may_lose_what_came_after_the_checkpoint),
        on_bench(a_failure_that_loses_more_or_wins_work_is_found),
        on_bench(a_plan_that_fails_the_audit_is_found),
        on_bench(a_run_ends_with_the_sentence),
        on_bench(looking_on_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
