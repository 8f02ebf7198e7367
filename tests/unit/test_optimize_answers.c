/* test_optimize_answers.c - gangs, nodes, pins, counter-offers and explanations */
#include "support/optimize_case.h"

#include "loop/optimize/explain.h"
#include "loop/optimize/offers.h"

#include <math.h>

/* One type of eight devices on two nodes, class 0 alone, class 1 on four devices that may
 * lie on several nodes at half the rate. */
static struct problem *build(int singles, int gangs)
{
    struct problem_size size = {.types = 1,
                                .variants = 1,
                                .classes = 2,
                                .jobs = singles + gangs,
                                .tasks = singles + 4 * gangs,
                                .nodes = 2,
                                .devices = 8};
    struct problem *p = problem_create(&size);

    p->types[0] = (struct problem_type){8, 0, 1, 10};
    for (int k = 0; k < 2; k++) {
        p->classes[k] = (struct problem_class){
            .devices = k ? 4 : 1, .progress = 0, .spread = k ? 0.5 : 1};
        p->alone_rate[k] = 10;
        p->alone_watts[k] = 100;
        for (int l = 0; l < 2; l++) {
            p->pair_rate[problem_cell(p, 0, k, l)] = 6;
            p->pair_watts[problem_cell(p, 0, k, l)] = 130;
        }
    }
    for (int n = 0; n < 2; n++)
        p->nodes[n] = (struct problem_node){4 * n, 4, 100, 10, 0, true, true};
    for (int d = 0; d < 8; d++)
        p->devices[d] = (struct problem_device){0, d / 4, false};
    for (int j = 0; j < singles + gangs; j++)
        p->jobs[j] = (struct problem_job){.class_id = j >= singles,
                                          .types = PROBLEM_ANY_TYPE,
                                          .may_share = true,
                                          .need = 8,
                                          .penalty = j >= singles ? 5000 : 2000,
                                          .owner = -1};
    p->sleep = true;
    problem_number_tasks(p);
    return p;
}

static int nodes_of(const struct problem *p, const struct solution *s, int job)
{
    bool seen[2] = {false, false};

    for (int d = 0; d < s->device_count; d++)
        if (s->devices[d].jobs[0] == job || s->devices[d].jobs[1] == job)
            seen[p->devices[s->devices[d].device].node] = true;
    return seen[0] + seen[1];
}

static void a_gang_that_needs_one_node_gets_it_though_others_are_there(void **state)
{
    struct problem *p = build(4, 1);
    struct solution s = {0};

    (void)state;
    for (int j = 0; j < 4; j++) /* two a node: the gang fits only if they make room */
        p->now[p->jobs[j].first_task] = 2 * j;
    case_solve(p, &s);
    assert_int_equal(s.unserved, 0);
    assert_int_equal(nodes_of(p, &s, 4), 1);
    solution_fini(&s);
    problem_destroy(p);
}

static void gangs_are_served_whole_or_not_at_all(void **state)
{
    struct problem *p = build(3, 2); /* eleven tasks, eight devices, nobody may share */
    struct solution s = {0};

    (void)state;
    case_solve(p, &s);
    assert_int_equal(s.unserved, 1);
    assert_int_equal(s.state[3] == SOLUTION_SERVED, s.state[4] != SOLUTION_SERVED);
    for (int j = 0; j < 3; j++)
        assert_int_equal(s.state[j], SOLUTION_SERVED);
    solution_fini(&s);
    problem_destroy(p);
}

static void pinned_pairs_stay_together_on_their_device(void **state)
{
    struct problem *p = build(5, 0);
    struct solution s = {0};

    (void)state;
    for (int j = 0; j < 5; j++)
        p->jobs[j].need = 5;
    for (int j = 0; j < 2; j++) {
        p->jobs[j].pinned = true;
        p->now[p->jobs[j].first_task] = 6;
    }
    case_solve(p, &s);
    assert_int_equal(s.unserved, 0);
    assert_true(s.awake[1]);
    solution_fini(&s);
    problem_destroy(p);
}

static void a_closed_device_is_left_alone(void **state)
{
    struct problem *p = build(4, 0);
    struct solution s = {0};

    (void)state;
    p->devices[0].closed = p->devices[5].closed = true;
    p->types[0].devices = 6;
    case_solve(p, &s);
    assert_int_equal(s.unserved, 0);
    solution_fini(&s);
    problem_destroy(p);
}

static void offers_name_rate_time_and_count(void **state)
{
    struct problem *p = build(7, 1);
    double ends_s[8] = {50, 10, 40, 30, 20, 70, 60, 0};
    struct solution s = {0};
    struct offer offers[8];

    (void)state;
    p->jobs[7].penalty = 1; /* the gang gives way: seven alone, one device is left */
    case_solve(p, &s);
    assert_int_equal(offers_make(p, &s, ends_s, offers, 8), 1);
    assert_int_equal(offers[0].job, 7);
    assert_int_equal(offers[0].reason, OFFER_CAPACITY);
    assert_int_equal(offers[0].devices, 1);
    assert_true(offers[0].rate == 10);
    assert_true(offers[0].wait_s == 30); /* three more: after 10, 20 and 30 s */
    p->jobs[7].need = 11;
    offers_make(p, &s, ends_s, offers, 8);
    assert_int_equal(offers[0].reason, OFFER_RATE);
    assert_true(offers[0].most_rate == 10);
    solution_fini(&s);
    problem_destroy(p);
}

static void options_are_sorted_and_none_possible_is_cheaper(void **state)
{
    struct problem *p = case_problem((struct instance_options){
        .jobs = 40, .devices_per_job = 1, .progress = 50, .seed = 6});
    struct arena *arena = arena_create();
    struct solution s = {0};

    (void)state;
    case_solve(p, &s);
    for (int j = 0; j < 40; j++) {
        struct explain_option options[8];
        int count = explain_job(p, arena, &s, j, options, 8);

        assert_true(count > 0);
        for (int o = 0; o < count; o++) {
            if (options[o].verdict == EXPLAIN_POSSIBLE)
                assert_true(options[o].more_watts > -0.5);
            if (o > 0 && options[o].verdict == options[o - 1].verdict)
                assert_true(options[o].more_watts >= options[o - 1].more_watts);
        }
    }
    solution_fini(&s);
    arena_destroy(arena);
    problem_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gang_that_needs_one_node_gets_it_though_others_are_there),
        cmocka_unit_test(gangs_are_served_whole_or_not_at_all),
        cmocka_unit_test(pinned_pairs_stay_together_on_their_device),
        cmocka_unit_test(a_closed_device_is_left_alone),
        cmocka_unit_test(offers_name_rate_time_and_count),
        cmocka_unit_test(options_are_sorted_and_none_possible_is_cheaper),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
