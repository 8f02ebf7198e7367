/* test_place_check.c - a plan that breaks a rule is refused, one test a rule */
#include "loop_fixture.h"

#include "loop/optimize/plan.h"
#include "loop/place/place.h"

/* Jobs 1 and 2 run on devices 2 and 3; job 3 waits and job 4 waits for two devices. */
struct scene {
    struct fixture f;
    struct plan plan;
    place_changes changes;
};

static void scene_init(struct scene *s)
{
    struct job gang = fixture_job(4, 2), single = fixture_job(3, 1);

    *s = (struct scene){0};
    fixture_init(&s->f);
    fixture_running(&s->f, fixture_job(1, 1), (int[]){2}, 0);
    fixture_running(&s->f, fixture_job(2, 1), (int[]){3}, 0);
    jobs_add(s->f.jobs, &single);
    jobs_add(s->f.jobs, &gang);
    plan_reset(&s->plan, fixture_input(&s->f, 1000));
    plan_keep(&s->plan, &s->f.in, 0);
    plan_keep(&s->plan, &s->f.in, 1);
}

static void scene_fini(struct scene *s)
{
    vec_free(&s->changes);
    plan_fini(&s->plan);
    fixture_fini(&s->f);
}

static void accepted(struct scene *s)
{
    struct err err = {0};

    if (place_check(&s->f.in, &s->plan, &s->changes, &err) < 0)
        fail_msg("%s", err.text);
    scene_fini(s);
}

static void refused(struct scene *s, const char *words)
{
    struct err err = {0};

    assert_int_equal(place_check(&s->f.in, &s->plan, &s->changes, &err), -1);
    assert_int_equal(err.code, ERR_INVALID);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
    scene_fini(s);
}

static void a_good_plan_passes(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s);
    plan_seat(&s.plan, 2, (int[]){3}, 1); /* beside job 2 */
    plan_seat(&s.plan, 3, (int[]){0, 1}, 2);
    s.plan.cap_watts[0] = 60;
    accepted(&s);
}

static void every_job_needs_a_seat_or_a_wait_of_its_own(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s);
    s.plan.seat_count--;
    refused(&s, "3 seats for 4 jobs");
    scene_init(&s);
    s.plan.seats[2].job = 77;
    refused(&s, "not for job 3");
}

static void as_many_devices_as_asked_for(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s);
    plan_seat(&s.plan, 3, (int[]){0}, 1);
    refused(&s, "asked for 2 devices and got 1");
    scene_init(&s);
    plan_seat(&s.plan, 2, (int[]){0, 1}, 2);
    refused(&s, "asked for 1 devices and got 2");
}

static void seats_stay_inside_the_pool(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s);
    plan_seat(&s.plan, 3, (int[]){0, 1}, 2);
    s.plan.seats[3].first++;
    refused(&s, "job 4");
    scene_init(&s);
    plan_seat(&s.plan, 3, (int[]){0, 1}, 2);
    s.plan.seats[3].first = -1;
    refused(&s, "job 4");
}

static void only_devices_that_exist(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s);
    plan_seat(&s.plan, 2, (int[]){8}, 1);
    refused(&s, "device 8 of 8");
    scene_init(&s);
    plan_seat(&s.plan, 2, (int[]){-1}, 1);
    refused(&s, "device -1");
}

static void no_device_twice(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s);
    plan_seat(&s.plan, 3, (int[]){5, 5}, 2);
    refused(&s, "device 5 twice");
}

static void nothing_starts_on_drained_failed_or_down_devices(void **state)
{
    struct scene s;

    (void)state;
    for (int way = 0; way < 3; way++) {
        scene_init(&s);
        plan_seat(&s.plan, 2, (int[]){6}, 1);
        s.f.cluster->devices[6].drained = way == 0;
        s.f.cluster->devices[6].failed = way == 1;
        s.f.cluster->nodes[2].state = way == 2 ? NODE_DOWN : NODE_AWAKE;
        refused(&s, "unusable device 6");
    }
}

static void what_runs_on_a_drained_device_may_stay(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s);
    s.f.cluster->devices[2].drained = true;
    accepted(&s);
}

static void types_as_allowed(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s);
    jobs_change(s.f.jobs, 3)->job.types_allowed = 1u << SLOW;
    plan_seat(&s.plan, 2, (int[]){5}, 1);
    refused(&s, "may not run on device 5");
    scene_init(&s);
    jobs_change(s.f.jobs, 3)->job.types_allowed = 1u << FAST;
    plan_seat(&s.plan, 2, (int[]){5}, 1);
    accepted(&s);
}

static void nobody_sits_on_a_node_that_shall_sleep(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s);
    plan_seat(&s.plan, 2, (int[]){0}, 1);
    s.plan.awake[0] = false;
    refused(&s, "shall sleep");
}

static void no_device_over_share_max(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s);
    plan_seat(&s.plan, 2, (int[]){3}, 1);
    s.f.settings.share_max = 1;
    refused(&s, "device 3 has 2 jobs, 1 are allowed");
    scene_init(&s);
    plan_seat(&s.plan, 2, (int[]){3}, 1);
    plan_seat(&s.plan, 3, (int[]){3, 4}, 2);
    refused(&s, "device 3 has 3 jobs, 2 are allowed");
}

static void sharing_as_allowed_by_both(void **state)
{
    struct scene s;

    (void)state;
    for (uint64_t shy = 2; shy <= 3; shy++) {
        scene_init(&s);
        plan_seat(&s.plan, 2, (int[]){3}, 1);
        jobs_change(s.f.jobs, shy)->job.may_share = false;
        refused(&s, "shares device 3 and may not");
    }
    scene_init(&s);
    jobs_change(s.f.jobs, 2)->job.may_share = false;
    accepted(&s);
}

static void caps_within_what_the_card_takes(void **state)
{
    const double bad[] = {59, 101, -60, NAN, INFINITY};
    struct scene s;

    (void)state;
    for (int i = 0; i < 5; i++) {
        scene_init(&s);
        s.plan.cap_watts[7] = bad[i];
        refused(&s, "device 7 cannot be capped");
    }
    scene_init(&s);
    s.plan.cap_watts[5] = 300; /* the fast type takes no caps */
    refused(&s, "device 5 cannot be capped");
    scene_init(&s);
    s.plan.cap_watts[6] = 60;
    s.plan.cap_watts[7] = 100;
    accepted(&s);
}

static void who_may_not_move_is_not_stopped_either(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s);
    s.plan.seats[1].device_count = 0;
    accepted(&s);
    scene_init(&s);
    jobs_change(s.f.jobs, 2)->job.may_move = false;
    s.plan.seats[1].device_count = 0;
    refused(&s, "job 2 runs and has no seat");
}

static void who_may_not_move_stays(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s);
    plan_seat(&s.plan, 1, (int[]){4}, 1);
    accepted(&s);
    scene_init(&s);
    jobs_change(s.f.jobs, 2)->job.may_move = false;
    plan_seat(&s.plan, 1, (int[]){4}, 1);
    refused(&s, "job 2 is moved and may not");
    scene_init(&s);
    s.f.settings.moves = false;
    plan_seat(&s.plan, 1, (int[]){4}, 1);
    refused(&s, "job 2 is moved and may not");
    scene_init(&s); /* a first start is no move */
    jobs_change(s.f.jobs, 3)->job.may_move = false;
    plan_seat(&s.plan, 2, (int[]){4}, 1);
    accepted(&s);
}

/* Jobs 1 and 2 run on node 1, which has four processors; job 3 waits. */
static void a_host_that_is_full_takes_nobody_more(void **state)
{
    struct scene s;

    (void)state;
    for (int asked = 0; asked <= 3; asked++) {
        scene_init(&s);
        s.f.cluster->nodes[1].room = (struct host_room){4, 100};
        jobs_change(s.f.jobs, 1)->job.cpus = 2;
        jobs_change(s.f.jobs, 3)->job.cpus = asked;
        plan_seat(&s.plan, 2, (int[]){4}, 1);
        if (asked <= 2)
            accepted(&s);
        else
            refused(&s, "too few processors");
    }
}

/* A host that has lost room keeps those who run there. */
static void who_runs_stays_when_a_host_has_less_than_before(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s);
    s.f.cluster->nodes[1].room = (struct host_room){1, 100};
    jobs_change(s.f.jobs, 1)->job.cpus = 2;
    accepted(&s);
    scene_init(&s);
    s.f.cluster->nodes[1].room = (struct host_room){1, 100};
    jobs_change(s.f.jobs, 1)->job.cpus = 2;
    jobs_change(s.f.jobs, 3)->job.host_memory_gb = 10; /* asks for none of what lacks */
    plan_seat(&s.plan, 2, (int[]){4}, 1);
    accepted(&s);
}

static void a_device_takes_no_more_than_its_own_limit(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s);
    s.f.cluster->devices[3].share_most = 1;
    plan_seat(&s.plan, 2, (int[]){3}, 1); /* beside job 2 */
    refused(&s, "1 are allowed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_that_is_full_takes_nobody_more),
        cmocka_unit_test(who_runs_stays_when_a_host_has_less_than_before),
        cmocka_unit_test(a_device_takes_no_more_than_its_own_limit),
        cmocka_unit_test(a_good_plan_passes),
        cmocka_unit_test(every_job_needs_a_seat_or_a_wait_of_its_own),
        cmocka_unit_test(as_many_devices_as_asked_for),
        cmocka_unit_test(seats_stay_inside_the_pool),
        cmocka_unit_test(only_devices_that_exist),
        cmocka_unit_test(no_device_twice),
        cmocka_unit_test(nothing_starts_on_drained_failed_or_down_devices),
        cmocka_unit_test(what_runs_on_a_drained_device_may_stay),
        cmocka_unit_test(types_as_allowed),
        cmocka_unit_test(nobody_sits_on_a_node_that_shall_sleep),
        cmocka_unit_test(no_device_over_share_max),
        cmocka_unit_test(sharing_as_allowed_by_both),
        cmocka_unit_test(caps_within_what_the_card_takes),
        cmocka_unit_test(who_may_not_move_is_not_stopped_either),
        cmocka_unit_test(who_may_not_move_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
