/* test_check.c - the debug mode of the simulator: every rule can be broken and is named
 *
 * A simulation is set up by hand and stopped in its middle; each test breaks one thing on
 * purpose, after seeing that nothing was broken before. */
#include "lab/sim/sim_check.h"

#include "loop/loop_private.h"
#include "lab/sim/sim_check_private.h"

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

static void begin(struct bench *b)
{
    struct sim *sim = &b->sim;
    struct cluster *cluster = cluster_dup(b->drawing);
    const struct loop_options loop_options = {.settings = b->options.settings, .seed = 1};

    *sim = (struct sim){.options = &b->options, .setup = &b->setup};
    sim->truth = (struct truth){.world = b->world, .gpu_of_type = fixture_types};
    sim->events = events_create();
    sim->jobs = mem_array(struct sim_job, b->workload->count);
    for (size_t i = 0; i < b->workload->count; i++)
        sim->jobs[i] = (struct sim_job){.request = &b->workload->requests[i],
                                        .end = SIM_WAITING,
                                        .left = b->workload->requests[i].steps,
                                        .ends_s = NAN,
                                        .result = {.wait_s = NAN}};
    sim->next_round_s = sim->next_tick_s = INFINITY;
    sim->loop = loop_create_take(&loop_options, cluster,
                                 sim_oracle_create(&sim->truth, sim), b->setup.planner);
    sim->meter = meter_create(cluster, 0);
    sim->check = check_create(b->workload->count, cluster->device_count);
    b->cluster = cluster;
}

static void one_round(struct bench *b)
{
    const struct action *actions;
    struct err err = {0};
    size_t count;

    check_before_round(&b->sim);
    if (loop_round(b->sim.loop, b->sim.now_s, &actions, &count, &err) < 0 ||
        check_plan(&b->sim, &err) < 0)
        fail_msg("%s", err.text);
    sim_execute(&b->sim, actions, count);
}

static int set_up(void **state)
{
    struct bench *b = mem_new(struct bench);
    struct admission answer;
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
    b->setup = (struct sim_setup){.world = b->world,
                                  .workload = b->workload,
                                  .cluster = b->drawing,
                                  .gpu_of_type = fixture_types,
                                  .planner = policy_find("fifo")->planner};
    begin(b);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            loop_submit(b->sim.loop, &b->workload->requests[i].job, &answer, &err), 0);
        b->sim.jobs[i].demand = i == 1 ? request_demand(&b->workload->requests[1], 0) : 0;
        b->sim.arrived++;
    }
    one_round(b);
    for (int i = 0; i < 3; i++)
        sim_job_ready(&b->sim, &b->sim.jobs[i]);
    assert_true(b->sim.jobs[0].active && b->sim.jobs[1].active && b->sim.jobs[2].active);
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *b = *state;

    loop_destroy(b->sim.loop);
    meter_destroy(b->sim.meter);
    check_destroy(b->sim.check);
    events_destroy(b->sim.events);
    vec_free(&b->sim.decision_ms);
    free(b->sim.jobs);
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

static void a_sound_state_passes_and_goes_on_passing(void **state)
{
    struct bench *b = *state;

    assert_holds(b);
    b->sim.now_s = 100;
    assert_holds(b);
    one_round(b);
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
    b->cluster->nodes[1].host_watts += 50;
    assert_broken(b, "the rule 'energy' is broken", "node-2 is not booked");
}

/* The meter itself keeps both sums; from outside only a draw that is no number breaks
 * them. */
static void parts_that_do_not_add_up_are_found(void **state)
{
    struct bench *b = *state;

    assert_holds(b);
    meter_device(b->sim.meter, b->sim.jobs[0].devices[0], NAN, 0);
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
    int from = b->sim.jobs[1].devices[0], to = b->sim.jobs[0].devices[0];
    struct job_status *status = jobs_get(b->sim.loop->jobs, 2);

    assert_holds(b);
    cluster_leave(b->cluster, from, 2, 0);
    cluster_seat(b->cluster, to, 2);
    b->sim.jobs[1].devices[0] = status->devices[0] = to;
    sim_touch_device(&b->sim, from);
    sim_touch_device(&b->sim, to);
    assert_holds(b); /* together they fit */
    sim_touch_device(&b->sim, to);
    b->sim.jobs[1].active = false;
    assert_holds(b);
    *world_beside(b->world, FIXTURE_V100, FIXTURE_LIGHT, FIXTURE_SERVICE) = 0;
    assert_holds(b); /* one of them only sits there */
    b->sim.jobs[1].active = true;
    b->sim.check->crowds[to] = 0;
    assert_broken(b, "job 2 breaks the rule 'memory'", "2 jobs run on GPU");
}

static void a_job_on_a_node_asleep_or_down_is_found(void **state)
{
    struct bench *b = *state;
    int n = b->cluster->devices[b->sim.jobs[0].devices[0]].node;

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
    struct device *other = &b->cluster->devices[b->sim.jobs[1].devices[0]];

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
    struct job_status *status = jobs_get(b->sim.loop->jobs, 3);
    struct sim_job *pair = &b->sim.jobs[2];
    int second = pair->devices[1];

    assert_holds(b);
    pair->devices[1] = status->devices[1] = pair->devices[0];
    b->cluster->devices[second].job_count = 0;
    assert_broken(b, "job 3 breaks the rule 'seats'", "no seat of its own");
    pair->device_count = status->device_count = 1;
    assert_broken(b, "job 3 breaks the rule 'seats'", "it has 1 GPUs");
}

/* Job 1 takes 3600 s alone on a V100; the events of the run say so. */
static void a_job_that_ends_with_its_work_done_passes(void **state)
{
    struct bench *b = *state;

    assert_holds(b);
    for (int t = 600; t <= 3600; t += 600) {
        b->sim.now_s = t;
        sim_touch_device(&b->sim, b->sim.jobs[0].devices[0]);
        assert_holds(b);
    }
    sim_job_finished(&b->sim, &b->sim.jobs[0]);
    assert_holds(b);
}

static void a_job_that_ends_too_early_is_found(void **state)
{
    struct bench *b = *state;

    assert_holds(b);
    b->sim.now_s = 3500;
    sim_job_finished(&b->sim, &b->sim.jobs[0]);
    assert_broken(b, "job 1 breaks the rule 'work'", "finished after");
}

static void work_booked_twice_is_found(void **state)
{
    struct bench *b = *state;

    assert_holds(b);
    b->sim.now_s = 3600;
    sim_job_finished(&b->sim, &b->sim.jobs[0]);
    b->sim.jobs[0].work_h *= 1.001;
    assert_broken(b, "job 1 breaks the rule 'work'", "hours of work booked");
}

static void a_service_that_ends_before_its_time_is_found(void **state)
{
    struct bench *b = *state;

    assert_holds(b);
    b->sim.now_s = 3000;
    sim_job_finished(&b->sim, &b->sim.jobs[1]);
    assert_broken(b, "job 2 breaks the rule 'work'", "before its time");
}

static void a_failure_may_lose_what_came_after_the_checkpoint(void **state)
{
    struct bench *b = *state;

    assert_holds(b);
    b->sim.now_s = 2700; /* the checkpoint was at 1800 s */
    sim_node_fails(&b->sim, b->cluster->devices[b->sim.jobs[0].devices[0]].node);
    assert_int_equal(b->sim.jobs[0].result.restarts, 1);
    assert_near(b->sim.jobs[0].left, b->workload->requests[0].steps / 2, 1e-6);
    assert_holds(b);
}

static void a_failure_that_loses_more_or_wins_work_is_found(void **state)
{
    struct bench *b = *state;
    double left;

    assert_holds(b);
    b->sim.now_s = 2700;
    sim_node_fails(&b->sim, b->cluster->devices[b->sim.jobs[0].devices[0]].node);
    left = b->sim.jobs[0].left;
    b->sim.jobs[0].left = b->workload->requests[0].steps;
    assert_broken(b, "job 1 breaks the rule 'work'", "a restart lost");
    b->sim.check->jobs[0] = (struct check_job){0};
    b->sim.jobs[0].left = left;
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
    b->options.settings.caps = false;
    assert_int_equal(sim_run(&b->options, &b->setup, NULL, NULL, &result, &err), 0);
    sim_result_fini(&result);
    b->options.check = true;
    assert_int_equal(sim_run(&b->options, &b->setup, NULL, NULL, &result, &err), -1);
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
