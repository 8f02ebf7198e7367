/* test_round.c - the loop as engine and users see it */
#include "loop_fixture.h"

#include "loop/planner.h"
#include "loop/optimize/plan.h"
#include "loop/loop.h"
#include "loop/loop_settings.h"

struct scene {
    struct fixture_model table;
    struct loop *loop;
    struct cluster *cluster; /* the loop's, to be spoiled by tests */
    struct round_result result;
    const struct action *actions;
    size_t count;
};

static void scene_with(struct scene *s, const struct planner_ops *planner)
{
    struct loop_options options = {.settings = fixture_settings(), .seed = 1};

    *s = (struct scene){.table = fixture_model_make(), .cluster = fixture_cluster()};
    s->loop =
        loop_create_take(&options, s->cluster, fixture_model_of(&s->table), planner);
}

static void scene_init(struct scene *s)
{
    scene_with(s, &corgi_planner_ops);
}

static void submit(struct scene *s, struct job job)
{
    struct err err = {0};

    assert_int_equal(loop_submit(s->loop, &job, job.submitted_s, &err), 0);
}

static void play_round(struct scene *s, double now_s)
{
    struct err err = {0};

    if (loop_round(s->loop, now_s, &s->result, &err) < 0)
        fail_msg("%s", err.text);
    s->actions = s->result.actions;
    s->count = s->result.action_count;
}

static size_t active(const struct scene *s)
{
    size_t count;

    loop_jobs(s->loop, &count);
    return count;
}

static int measure(struct scene *s, uint64_t job, double at_s, double window_s)
{
    struct measurement m = {
        .job = job, .at_s = at_s, .window_s = window_s, .rate = 11, .device_watts = NAN};

    return loop_measure(s->loop, &m, NULL, NULL);
}

static void an_admitted_job_waits_and_is_placed_by_the_round(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s);
    submit(&s, fixture_rate_job(1, 5));
    assert_int_equal(loop_job(s.loop, 1)->state, JOB_WAITING);
    play_round(&s, 10);
    assert_int_equal(s.count, 1);
    assert_int_equal(s.actions[0].kind, ACTION_START);
    assert_int_equal(loop_job(s.loop, 1)->state, JOB_RUNNING);
    assert_int_equal(loop_plan(s.loop)->seats[0].job, 1);
    assert_int_equal(loop_cluster(s.loop)->devices[s.actions[0].devices[0]].jobs[0], 1);
    play_round(&s, 20);
    assert_int_equal(s.count, 0);
    loop_destroy(s.loop);
    loop_destroy(NULL);
}

static void taken_ids_and_malformed_requests_change_nothing(void **state)
{
    struct job job = fixture_rate_job(1, 5), bad = fixture_rate_job(2, NAN);
    struct err err = {0};
    struct scene s;

    (void)state;
    scene_init(&s);
    submit(&s, job);
    job.need.rate = 7;
    assert_int_equal(loop_submit(s.loop, &job, 0, &err), -1);
    assert_int_equal(err.code, ERR_EXISTS);
    assert_int_equal(loop_submit(s.loop, &bad, 0, &err), -1);
    assert_int_equal(err.code, ERR_INVALID);
    assert_int_equal(active(&s), 1);
    assert_true(loop_job(s.loop, 1)->job.need.rate == 5);
    assert_null(loop_job(s.loop, 2));
    assert_int_equal(s.table.begun, 1);
    loop_destroy(s.loop);
}

static void ending_a_job_frees_its_seats_and_tells_the_model(void **state)
{
    struct scene s;
    struct err err = {0};

    (void)state;
    scene_init(&s);
    submit(&s, fixture_job(1, 2));
    play_round(&s, 0);
    assert_int_equal(cluster_node_jobs(loop_cluster(s.loop), 0), 2);
    assert_int_equal(loop_end_job(s.loop, 1, 50, &err), 0);
    assert_int_equal(cluster_node_jobs(loop_cluster(s.loop), 0), 0);
    assert_true(loop_cluster(s.loop)->nodes[0].idle_since_s == 50);
    assert_null(loop_job(s.loop, 1));
    assert_int_equal(s.table.ended, 1);
    assert_int_equal(loop_end_job(s.loop, 1, 50, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    loop_destroy(s.loop);
}

static void a_requeued_job_waits_and_starts_again(void **state)
{
    struct scene s;
    struct err err = {0};

    (void)state;
    scene_init(&s);
    submit(&s, fixture_job(1, 1));
    play_round(&s, 0);
    assert_int_equal(loop_requeue(s.loop, 1, 50, &err), 0);
    assert_int_equal(loop_job(s.loop, 1)->state, JOB_WAITING);
    assert_int_equal(loop_job(s.loop, 1)->restarts, 1);
    play_round(&s, 60);
    assert_int_equal(s.actions[0].kind, ACTION_START);
    assert_true(loop_job(s.loop, 1)->started_s == 0);
    assert_true(loop_job(s.loop, 1)->placed_s == 60);
    assert_int_equal(loop_requeue(s.loop, 9, 50, &err), -1);
    loop_destroy(s.loop);
}

/* Whoever is told to go is still there: neither another job nor itself starts. */
static void nobody_starts_where_somebody_is_leaving(void **state)
{
    struct job last = fixture_job(2, 1);
    struct quote quote;
    struct scene s;
    struct err err = {0};
    int device;

    (void)state;
    scene_init(&s);
    submit(&s, fixture_job(1, 1));
    play_round(&s, 0);
    device = loop_job(s.loop, 1)->devices[0];
    for (int d = 0; d < s.cluster->device_count; d++) /* it is the only one */
        s.cluster->devices[d].drained = d != device;
    assert_int_equal(loop_requeue(s.loop, 1, 50, &err), 0);
    loop_leaving(s.loop, 1, &device, 1, 200);
    last.submitted_s = 55;
    assert_int_equal(loop_quote(s.loop, &last, 1, NULL, 55, &quote, &err), 0);
    assert_int_equal(quote.verdict, QUOTE_QUEUED);
    assert_true(fabs(quote.start_s - 200) < 1);
    assert_non_null(strstr(quote.reason, "is being left by job 1"));
    submit(&s, last);
    play_round(&s, 60);
    for (size_t i = 0; i < s.count; i++) /* but for empty nodes, which may sleep */
        assert_true(s.actions[i].kind == ACTION_SLEEP &&
                    s.actions[i].node != s.cluster->devices[device].node);
    assert_int_equal(loop_job(s.loop, 1)->state, JOB_WAITING);
    assert_int_equal(loop_job(s.loop, 2)->state, JOB_WAITING);
    loop_left(s.loop, 1, &device, 1, 100);
    assert_true(loop_round_due_s(s.loop) == 100);
    play_round(&s, 100);
    assert_int_equal(s.actions[0].kind, ACTION_START);
    assert_int_equal(s.actions[0].devices[0], device);
    loop_destroy(s.loop);
}

/* A plan made before somebody was told to go does not hold any more. */
static void a_plan_is_stale_when_its_device_is_being_left(void **state)
{
    struct round_result result;
    struct round *round;
    struct scene s;
    struct err err = {0};

    (void)state;
    scene_init(&s);
    submit(&s, fixture_job(1, 1));
    round = loop_round_begin(s.loop, 10);
    round_plan(round);
    for (int d = 0; d < s.cluster->device_count; d++)
        loop_leaving(s.loop, 9, &d, 1, 100);
    assert_int_equal(loop_round_end(s.loop, round, 10, &result, &err), -1);
    assert_non_null(strstr(err.text, "unusable device"));
    loop_destroy(s.loop);
}

/* Three slow devices: a gang over nodes 0 and 2. */
static void a_failed_node_requeues_gangs_from_all_their_nodes(void **state)
{
    struct job gang = fixture_job(1, 3);
    const struct cluster *c;
    struct scene s;

    (void)state;
    scene_init(&s);
    gang.types_allowed = 1u << SLOW;
    submit(&s, gang);
    submit(&s, fixture_rate_job(2, 20)); /* elsewhere, on the fast type */
    play_round(&s, 0);
    c = loop_cluster(s.loop);
    assert_int_equal(cluster_node_jobs(c, 0) + cluster_node_jobs(c, 2), 3);
    loop_node_failed(s.loop, 0, 50);
    assert_int_equal(cluster_node_jobs(c, 0) + cluster_node_jobs(c, 2), 0);
    assert_int_equal(loop_job(s.loop, 1)->state, JOB_WAITING);
    assert_int_equal(loop_job(s.loop, 1)->restarts, 1);
    assert_int_equal(loop_job(s.loop, 2)->state, JOB_RUNNING);
    play_round(&s, 60); /* two devices are left */
    assert_int_equal(loop_job(s.loop, 1)->state, JOB_WAITING);
    loop_node_repaired(s.loop, 0, 70);
    play_round(&s, 80);
    assert_int_equal(loop_job(s.loop, 1)->state, JOB_RUNNING);
    loop_destroy(s.loop);
}

static void a_woken_node_is_awake_and_idles_from_then(void **state)
{
    struct scene s;
    const struct node *node;

    (void)state;
    scene_init(&s);
    node = &loop_cluster(s.loop)->nodes[0];
    play_round(&s, 400);
    assert_int_equal(node->state, NODE_ASLEEP);
    loop_node_is_awake(s.loop, 0, 410); /* nobody woke it */
    assert_int_equal(node->state, NODE_ASLEEP);
    submit(&s, fixture_job(1, 1));
    play_round(&s, 420);
    assert_int_equal(node->state, NODE_WAKING);
    loop_end_job(s.loop, 1, 430, NULL);
    loop_node_is_awake(s.loop, 0, 540);
    assert_int_equal(node->state, NODE_AWAKE);
    assert_true(node->since_s == 540 && node->idle_since_s == 540);
    loop_destroy(s.loop);
}

static void demand_sets_the_requirement_up_to_what_was_asked(void **state)
{
    struct job job = fixture_rate_job(1, 20);
    struct err err = {0};
    struct scene s;

    (void)state;
    scene_init(&s);
    job.kind = JOB_INFERENCE;
    job.need.kind = NEED_SERVICE;
    submit(&s, job);
    assert_int_equal(loop_set_demand(s.loop, 1, 8, 0, &err), 0);
    assert_close(loop_job(s.loop, 1)->required_rate, 10, 1e-9); /* a quarter more */
    loop_set_demand(s.loop, 1, 500, 0, &err);
    assert_true(loop_job(s.loop, 1)->required_rate == 20);
    assert_int_equal(loop_set_demand(s.loop, 1, -1, 0, &err), -1);
    assert_int_equal(loop_set_demand(s.loop, 1, NAN, 0, &err), -1);
    assert_true(loop_job(s.loop, 1)->required_rate == 20);
    assert_int_equal(loop_set_demand(s.loop, 9, 1, 0, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    loop_destroy(s.loop);
}

static void progress_is_noted_and_nonsense_refused(void **state)
{
    struct err err = {0};
    struct scene s;

    (void)state;
    scene_init(&s);
    submit(&s, fixture_job(1, 1));
    assert_int_equal(loop_set_progress(s.loop, 1, 500, &err), 0);
    assert_int_equal(loop_set_progress(s.loop, 1, INFINITY, &err), -1);
    assert_int_equal(loop_set_progress(s.loop, 1, -1, &err), -1);
    assert_true(loop_job(s.loop, 1)->steps_done == 500);
    assert_int_equal(loop_set_progress(s.loop, 9, 1, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    loop_destroy(s.loop);
}

static void windows_count_only_since_the_devices_last_changed(void **state)
{
    struct job other = fixture_job(2, 1);
    struct scene s;

    (void)state;
    scene_init(&s);
    submit(&s, fixture_job(1, 1));
    assert_int_equal(measure(&s, 1, 50, 10), -1); /* it waits */
    play_round(&s, 100);
    assert_int_equal(measure(&s, 1, 150, 60), -1); /* began before the start */
    assert_int_equal(measure(&s, 1, 160, 60), 0);
    for (int d = 1; d < 8; d++) /* leave only the device of job 1 */
        s.cluster->devices[d].drained = true;
    submit(&s, other);
    play_round(&s, 800);
    assert_int_equal(loop_job(s.loop, 2)->devices[0], loop_job(s.loop, 1)->devices[0]);
    assert_int_equal(measure(&s, 1, 850, 60), -1); /* a neighbour came */
    assert_int_equal(measure(&s, 1, 860, 60), 0);
    assert_int_equal(s.table.last.where.count, 2);
    loop_end_job(s.loop, 2, 900, NULL);
    assert_int_equal(measure(&s, 1, 950, 60), -1); /* and went */
    assert_int_equal(measure(&s, 1, 960, 60), 0);
    assert_int_equal(s.table.last.where.count, 1);
    assert_int_equal(s.table.absorbed, 3);
    assert_int_equal(loop_score(s.loop)->observations, 3);
    loop_destroy(s.loop);
}

static void a_neighbour_that_is_moved_away_ends_the_window_too(void **state)
{
    struct job hungry = fixture_rate_job(2, 20);
    struct scene s;
    struct cluster *c;

    (void)state;
    scene_init(&s);
    c = s.cluster;
    for (int d = 0; d < 8; d++)
        c->devices[d].drained = d != 0;
    submit(&s, fixture_job(1, 1));
    submit(&s, hungry);
    play_round(&s, 600); /* past the grace time: any place is better than none */
    assert_int_equal(c->devices[0].job_count, 2);
    for (int d = 0; d < 8; d++)
        c->devices[d].drained = false;
    measure(&s, 2, 1900, 60); /* twice less than it needs */
    measure(&s, 2, 1960, 60);
    play_round(&s, 2000);
    assert_int_equal(loop_job(s.loop, 2)->moves, 1);
    assert_int_equal(c->devices[0].job_count, 1);
    assert_int_equal(measure(&s, 1, 2030, 60), -1);
    assert_int_equal(measure(&s, 1, 2060, 60), 0);
    loop_destroy(s.loop);
}

/* Seats every job on device 0, whatever is there; caps it too when it is told to. */
static double wished_cap;

static void *crowd_create(uint64_t seed)
{
    (void)seed;
    return NULL;
}

static void crowd_plan(void *self, const struct optimize_input *in, struct plan *plan)
{
    (void)self;
    plan_reset(plan, in);
    for (size_t i = 0; i < in->job_count; i++)
        plan_seat(plan, i, (int[]){0}, 1);
    plan->cap_watts[0] = wished_cap;
}

static const struct planner_ops crowd_ops = {.name = "crowd",
                                             .create = crowd_create,
                                             .plan = crowd_plan,
                                             .destroy = fixture_destroy};

static void a_plan_that_breaks_a_rule_changes_nothing(void **state)
{
    struct err err = {0};
    struct scene s;

    (void)state;
    wished_cap = 0;
    scene_with(&s, &crowd_ops);
    for (uint64_t id = 1; id <= 3; id++)
        submit(&s, fixture_job(id, 1));
    assert_int_equal(loop_round(s.loop, 0, &s.result, &err), -1);
    assert_int_equal(err.code, ERR_INVALID);
    assert_non_null(strstr(err.text, "planner crowd: device 0 has 3 jobs"));
    assert_int_equal(loop_cluster(s.loop)->devices[0].job_count, 0);
    for (uint64_t id = 1; id <= 3; id++)
        assert_int_equal(loop_job(s.loop, id)->state, JOB_WAITING);
    loop_destroy(s.loop);
}

static void a_new_cap_ends_the_window(void **state)
{
    struct scene s;

    (void)state;
    wished_cap = 0;
    scene_with(&s, &crowd_ops);
    submit(&s, fixture_job(1, 1));
    play_round(&s, 0);
    wished_cap = 70;
    play_round(&s, 100);
    assert_int_equal(s.actions[0].kind, ACTION_CAP);
    assert_int_equal(measure(&s, 1, 150, 60), -1);
    assert_int_equal(measure(&s, 1, 160, 60), 0);
    assert_true(s.table.last.where.cap_watts == 70);
    loop_destroy(s.loop);
}

static void default_settings_are_the_documented_ones(void **state)
{
    struct optimize_settings d = settings_default();

    (void)state;
    assert_int_equal(d.share_max, 2);
    assert_true(d.sleep && d.moves && d.caps);
    assert_true(d.confidence == 0.8 && d.grace_s == 600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_admitted_job_waits_and_is_placed_by_the_round),
        cmocka_unit_test(taken_ids_and_malformed_requests_change_nothing),
        cmocka_unit_test(ending_a_job_frees_its_seats_and_tells_the_model),
        cmocka_unit_test(a_requeued_job_waits_and_starts_again),
        cmocka_unit_test(nobody_starts_where_somebody_is_leaving),
        cmocka_unit_test(a_plan_is_stale_when_its_device_is_being_left),
        cmocka_unit_test(a_failed_node_requeues_gangs_from_all_their_nodes),
        cmocka_unit_test(a_woken_node_is_awake_and_idles_from_then),
        cmocka_unit_test(demand_sets_the_requirement_up_to_what_was_asked),
        cmocka_unit_test(progress_is_noted_and_nonsense_refused),
        cmocka_unit_test(windows_count_only_since_the_devices_last_changed),
        cmocka_unit_test(a_neighbour_that_is_moved_away_ends_the_window_too),
        cmocka_unit_test(a_plan_that_breaks_a_rule_changes_nothing),
        cmocka_unit_test(a_new_cap_ends_the_window),
        cmocka_unit_test(default_settings_are_the_documented_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
