/* test_greedy.c - one job after the other to where it costs least
 *
 * With the fixture's figures a best-effort job adds 50 W on the slow type and 250 W on
 * the fast one; waking an empty node is charged 105 W and 195 W. */
#include "loop_fixture.h"

#include "base/rng.h"
#include "loop/optimize/greedy.h"
#include "loop/optimize/plan.h"
#include "loop/place/place.h"

static struct plan plan_now(struct fixture *f, double now_s)
{
    void *planner = greedy_planner_ops.create(1);
    struct plan plan = {0};
    struct err err = {0};

    greedy_planner_ops.plan(planner, fixture_input(f, now_s), &plan);
    greedy_planner_ops.destroy(planner);
    if (place_check(&f->in, &plan, &err) < 0)
        fail_msg("%s", err.text);
    return plan;
}

/* Where the last job of the input would go, -1: it waits. */
static int goes_to(struct fixture *f, double now_s)
{
    struct plan plan = plan_now(f, now_s);
    const struct seat *seat = &plan.seats[plan.seat_count - 1];
    int device = seat->device_count ? plan.devices[seat->first] : -1;

    plan_fini(&plan);
    return device;
}

static int type_of(const struct fixture *f, int device)
{
    return device < 0 ? -1 : f->cluster->devices[device].type;
}

static void submit(struct fixture *f, struct job job)
{
    jobs_add(f->jobs, &job);
}

static void drain(struct fixture *f, int first, int last)
{
    for (int d = first; d <= last; d++)
        f->cluster->devices[d].drained = true;
}

static void watts_are_weighed_against_the_price_of_progress(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    submit(&f, fixture_job(1, 1));
    assert_int_equal(type_of(&f, goes_to(&f, 0)), SLOW);
    f.settings.progress_watts = 1000;
    assert_int_equal(type_of(&f, goes_to(&f, 0)), FAST);
    fixture_fini(&f);
}

/* With the price p the slow type costs 205 - p/2, the fast one 695 - 2p. */
static void a_gang_counts_its_progress_and_its_node_once(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    submit(&f, fixture_job(1, 2));
    f.settings.progress_watts = 315;
    assert_int_equal(type_of(&f, goes_to(&f, 0)), SLOW);
    f.settings.progress_watts = 340;
    assert_int_equal(type_of(&f, goes_to(&f, 0)), FAST);
    fixture_fini(&f);
}

static void a_node_with_jobs_is_joined_before_an_empty_one(void **state)
{
    struct job shy = fixture_job(1, 1);
    struct fixture f;

    (void)state;
    fixture_init(&f);
    shy.may_share = false;
    fixture_running(&f, shy, (int[]){6}, 0);
    submit(&f, fixture_job(2, 1));
    assert_int_equal(goes_to(&f, 0), 7);
    f.settings.sleep = false; /* empty nodes cost nothing more then */
    assert_int_equal(goes_to(&f, 0), 0);
    fixture_fini(&f);
}

static void an_awake_node_is_joined_before_a_sleeping_one(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    f.cluster->nodes[0].state = NODE_ASLEEP;
    submit(&f, fixture_job(1, 1));
    assert_int_equal(goes_to(&f, 0), 6);
    fixture_fini(&f);
}

static void a_requirement_is_met_with_its_confidence(void **state)
{
    struct job job = fixture_rate_job(1, 9.8); /* slow: 10, but 9.59 for sure */
    struct fixture f;

    (void)state;
    fixture_init(&f);
    submit(&f, job);
    assert_int_equal(type_of(&f, goes_to(&f, 0)), FAST);
    f.settings.confidence = 0.5;
    jobs_get(f.jobs, 1)->job.need.confidence = 0.5;
    assert_int_equal(type_of(&f, goes_to(&f, 0)), SLOW);
    jobs_get(f.jobs, 1)->job.need.confidence = 0.8; /* a job may ask for more */
    assert_int_equal(type_of(&f, goes_to(&f, 0)), FAST);
    fixture_fini(&f);
}

static void a_deadline_is_met(void **state)
{
    struct job job = fixture_job(1, 1);
    struct fixture f;

    (void)state;
    fixture_init(&f);
    job.need.kind = NEED_DEADLINE;
    job.need.deadline_s = 1000;
    job.total_steps = 9000;
    submit(&f, job);
    assert_int_equal(type_of(&f, goes_to(&f, 0)), SLOW);
    assert_int_equal(type_of(&f, goes_to(&f, 500)), FAST);
    fixture_fini(&f);
}

static void what_does_not_fit_is_not_tried(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    f.table.fits[SLOW] = 0.4;
    submit(&f, fixture_job(1, 1));
    assert_int_equal(type_of(&f, goes_to(&f, 0)), FAST);
    f.table.fits[FAST] = 0;
    assert_int_equal(goes_to(&f, 0), -1);
    fixture_fini(&f);
}

static void sharing_is_chosen_when_it_saves_a_node(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_running(&f, fixture_rate_job(1, 5), (int[]){0}, 0);
    submit(&f, fixture_job(2, 1));
    assert_int_equal(goes_to(&f, 0), 1); /* free, and its node is paid for */
    drain(&f, 1, 1);
    assert_int_equal(goes_to(&f, 0), 0);
    f.settings.share_max = 1;
    assert_int_equal(goes_to(&f, 0), 6);
    fixture_fini(&f);
}

static void a_neighbours_promise_is_kept_until_the_grace_is_over(void **state)
{
    struct fixture f;
    struct plan plan;

    (void)state;
    fixture_init(&f);
    fixture_running(&f, fixture_rate_job(1, 9), (int[]){0}, 0);
    drain(&f, 1, 7);
    submit(&f, fixture_job(2, 1)); /* beside it job 1 would fall to 6 */
    plan = plan_now(&f, 10);
    assert_int_equal(plan.seats[1].device_count, 0);
    assert_int_equal(plan.seats[1].reason, UNPLACED_RATE);
    plan_fini(&plan);
    assert_int_equal(goes_to(&f, 590), 0);
    fixture_fini(&f);
}

static void nobody_waits_for_a_rate_its_types_never_have(void **state)
{
    struct job job = fixture_rate_job(1, 20);
    struct fixture f;

    (void)state;
    fixture_init(&f);
    job.types_allowed = 1u << SLOW;
    submit(&f, job);
    assert_int_equal(type_of(&f, goes_to(&f, 0)), SLOW);
    jobs_get(f.jobs, 1)->job.types_allowed = 0;
    drain(&f, 2, 5); /* the fast ones may come free: wait for them */
    assert_int_equal(goes_to(&f, 0), -1);
    fixture_fini(&f);
}

static void a_gang_gets_free_devices_of_one_node(void **state)
{
    struct fixture f;
    struct plan plan;

    (void)state;
    fixture_init(&f);
    fixture_running(&f, fixture_job(1, 1), (int[]){0}, 0);
    submit(&f, fixture_job(2, 2));
    plan = plan_now(&f, 0);
    assert_int_equal(plan.seats[1].device_count, 2);
    assert_int_equal(plan.devices[plan.seats[1].first], 6);
    assert_int_equal(plan.devices[plan.seats[1].first + 1], 7);
    plan_fini(&plan);
    fixture_fini(&f);
}

static void a_full_cluster_is_given_as_the_reason(void **state)
{
    struct fixture f;
    struct plan plan;

    (void)state;
    fixture_init(&f);
    drain(&f, 0, 7);
    submit(&f, fixture_job(1, 1));
    plan = plan_now(&f, 0);
    assert_int_equal(plan.seats[0].reason, UNPLACED_CAPACITY);
    plan_fini(&plan);
    fixture_fini(&f);
}

static void a_job_too_slow_is_moved_once_it_has_settled(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_running(&f, fixture_rate_job(1, 20), (int[]){6}, 0);
    assert_int_equal(goes_to(&f, 500), 6);
    assert_int_equal(type_of(&f, goes_to(&f, 700)), FAST);
    f.settings.moves = false;
    assert_int_equal(goes_to(&f, 700), 6);
    f.settings.moves = true;
    jobs_get(f.jobs, 1)->job.may_move = false;
    assert_int_equal(goes_to(&f, 700), 6);
    jobs_get(f.jobs, 1)->job.may_move = true;
    drain(&f, 2, 5); /* nowhere better */
    assert_int_equal(goes_to(&f, 700), 6);
    fixture_fini(&f);
}

static void a_job_that_keeps_its_promise_stays(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_running(&f, fixture_rate_job(1, 9), (int[]){6}, 0);
    assert_int_equal(goes_to(&f, 5000), 6);
    fixture_fini(&f);
}

/* The fixture's model halves the rate under any cap. */
static void a_cap_in_force_is_reckoned_with(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f);
    f.cluster->devices[0].cap_watts = 60;
    submit(&f, fixture_rate_job(1, 8));
    assert_int_equal(goes_to(&f, 0), 1);
    jobs_drop(f.jobs, 1);
    fixture_running(&f, fixture_rate_job(2, 8), (int[]){0}, 0);
    assert_int_equal(goes_to(&f, 700), 1);
    fixture_fini(&f);
}

static struct job random_job(struct rng *rng, uint64_t id)
{
    struct job job = fixture_job(id, 1 + (int)rng_below(rng, 3));

    if (rng_uniform(rng) < 0.5) {
        job.need.kind = NEED_RATE;
        job.need.rate = rng_range(rng, 1, 45);
    }
    job.types_allowed = rng_below(rng, 4);
    job.may_share = rng_uniform(rng) < 0.7;
    job.may_move = rng_uniform(rng) < 0.7;
    return job;
}

static void end_some(struct fixture *f, struct rng *rng, double now_s)
{
    for (size_t i = f->in.job_count; i-- > 0;) {
        const struct job_status *status = f->in.jobs[i];

        if (rng_uniform(rng) > 0.2)
            continue;
        for (int k = 0; k < status->device_count; k++)
            cluster_leave(f->cluster, status->devices[k], status->job.id, now_s);
        jobs_drop(f->jobs, status->job.id);
        fixture_input(f, now_s);
    }
}

static void random_states_give_plans_that_keep_the_rules(void **state)
{
    place_actions actions = {0};
    struct fixture f;
    struct rng rng;

    (void)state;
    fixture_init(&f);
    rng_init(&rng, 5);
    for (int round = 0; round < 400; round++) {
        struct plan plan;

        submit(&f, random_job(&rng, (uint64_t)round + 1));
        f.cluster->devices[rng_below(&rng, 8)].drained = rng_uniform(&rng) < 0.3;
        plan = plan_now(&f, round * 100.0);
        place_apply(&f.in, &plan, f.jobs, f.cluster, &actions);
        vec_clear(&actions);
        plan_fini(&plan);
        end_some(&f, &rng, round * 100.0);
    }
    vec_free(&actions);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(watts_are_weighed_against_the_price_of_progress),
        cmocka_unit_test(a_gang_counts_its_progress_and_its_node_once),
        cmocka_unit_test(a_node_with_jobs_is_joined_before_an_empty_one),
        cmocka_unit_test(an_awake_node_is_joined_before_a_sleeping_one),
        cmocka_unit_test(a_requirement_is_met_with_its_confidence),
        cmocka_unit_test(a_deadline_is_met),
        cmocka_unit_test(what_does_not_fit_is_not_tried),
        cmocka_unit_test(sharing_is_chosen_when_it_saves_a_node),
        cmocka_unit_test(a_neighbours_promise_is_kept_until_the_grace_is_over),
        cmocka_unit_test(nobody_waits_for_a_rate_its_types_never_have),
        cmocka_unit_test(a_gang_gets_free_devices_of_one_node),
        cmocka_unit_test(a_full_cluster_is_given_as_the_reason),
        cmocka_unit_test(a_job_too_slow_is_moved_once_it_has_settled),
        cmocka_unit_test(a_job_that_keeps_its_promise_stays),
        cmocka_unit_test(a_cap_in_force_is_reckoned_with),
        cmocka_unit_test(random_states_give_plans_that_keep_the_rules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
