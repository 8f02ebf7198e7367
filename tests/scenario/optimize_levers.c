/* optimize_levers.c - host power, sleep, caps and the price of progress at work
 *
 * Each lever has a case in which a plan that ignores it costs more: taking host power or
 * the price of progress out of the optimizer makes these fail. */
#include "support/optimize_case.h"

#include <math.h>

/* Two types with one class each way: rates and watts given by type. */
struct two_types {
    double rate[2], watts[2], progress;
    int devices[2]; /* on one node a type */
    double host_watts[2];
    int jobs;
};

static struct problem *build(const struct two_types *c)
{
    struct problem_size size = {.types = 2,
                                .variants = 2,
                                .classes = 1,
                                .jobs = c->jobs,
                                .tasks = c->jobs,
                                .nodes = 2,
                                .devices = c->devices[0] + c->devices[1]};
    struct problem *p = problem_create(&size);
    int at = 0;

    p->classes[0] =
        (struct problem_class){.devices = 1, .progress = c->progress, .spread = 1};
    for (int t = 0; t < 2; t++) {
        p->types[t] = (struct problem_type){c->devices[t], t, 1, 10};
        p->variants[t] = (struct problem_variant){t, 0};
        p->alone_rate[t] = (float)c->rate[t];
        p->alone_watts[t] = (float)c->watts[t];
        p->nodes[t] = (struct problem_node){.first_device = at,
                                            .device_count = c->devices[t],
                                            .host_watts = c->host_watts[t],
                                            .sleep_watts = 5,
                                            .awake = true,
                                            .may_sleep = true};
        for (int d = 0; d < c->devices[t]; d++)
            p->devices[at++] = (struct problem_device){t, t, false};
    }
    for (int j = 0; j < c->jobs; j++)
        p->jobs[j] = (struct problem_job){.types = PROBLEM_ANY_TYPE, .penalty = 5000};
    p->sleep = true;
    problem_number_tasks(p);
    return p;
}

static int type_of_first(const struct problem *p, const struct solution *s)
{
    return p->variants[s->devices[0].variant].type;
}

static void host_power_decides_where_devices_draw_alike(void **state)
{
    /* The first type draws 10 W less, its host 200 W more. */
    struct two_types c = {.rate = {1, 1},
                          .watts = {90, 100},
                          .devices = {2, 2},
                          .host_watts = {300, 100},
                          .jobs = 1};
    struct problem *p = build(&c);
    struct solution s = {0};

    (void)state;
    case_solve(p, &s);
    assert_int_equal(type_of_first(p, &s), 1);
    assert_false(s.awake[0]);
    assert_true(s.awake[1]);
    assert_true(fabs(s.cost - (100 + 10 + 100 + 5)) < 0.01);
    solution_fini(&s);
    problem_destroy(p);
}

static void a_node_that_is_awake_anyway_is_filled_before_another_wakes(void **state)
{
    struct two_types c = {.rate = {1, 1},
                          .watts = {100, 90},
                          .devices = {4, 4},
                          .host_watts = {120, 120},
                          .jobs = 3};
    struct problem *p = build(&c);
    struct solution s = {0};

    (void)state;
    p->jobs[0].pinned = true; /* keeps the first node awake */
    p->now[p->jobs[0].first_task] = 0;
    case_solve(p, &s);
    assert_true(s.awake[0]);
    assert_false(s.awake[1]);
    solution_fini(&s);
    problem_destroy(p);
}

static void price_of_progress_buys_the_faster_device(void **state)
{
    struct two_types c = {.rate = {1, 4},
                          .watts = {50, 120},
                          .devices = {1, 1},
                          .host_watts = {100, 100},
                          .jobs = 1};
    struct problem *p = build(&c);
    struct solution s = {0};

    (void)state;
    case_solve(p, &s);
    assert_int_equal(type_of_first(p, &s), 0);
    p->classes[0].progress = 50; /* 3 more units of rate are worth 150 W */
    case_solve(p, &s);
    assert_int_equal(type_of_first(p, &s), 1);
    assert_true(fabs(s.progress - 200) < 0.01);
    solution_fini(&s);
    problem_destroy(p);
}

static double cost_with(bool caps, bool sleep, uint64_t seed)
{
    struct problem *p =
        case_problem((struct instance_options){.jobs = 4 + 7 * (int)(seed % 9),
                                               .devices_per_job = 0.6 + 0.2 * (seed % 4),
                                               .caps = caps,
                                               .progress = seed % 3 ? 100 : 0,
                                               .host_watts = seed % 5 ? 120 : 400,
                                               .sleep = sleep,
                                               .seed = seed});
    struct solution s = {0};
    double cost;

    case_solve(p, &s);
    cost = s.cost;
    solution_fini(&s);
    problem_destroy(p);
    return cost;
}

static void caps_and_sleep_never_cost_more(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        double neither = cost_with(false, false, seed);
        double caps = cost_with(true, false, seed);
        double sleep = cost_with(false, true, seed);
        double both = cost_with(true, true, seed);

        assert_true(caps <= neither + 0.01);
        assert_true(sleep <= neither + 0.01);
        assert_true(both <= caps + 0.01);
        assert_true(both <= sleep + 0.01);
    }
}

static void moves_are_made_only_when_they_pay(void **state)
{
    struct problem *p = case_problem((struct instance_options){
        .jobs = 60, .devices_per_job = 1, .host_watts = 120, .sleep = true, .seed = 4});
    struct solution s = {0};

    (void)state;
    case_solve(p, &s);
    for (int d = 0; d < s.device_count; d++) /* that plan is what runs */
        for (int e = 0; e < 2; e++)
            if (s.devices[d].jobs[e] >= 0)
                p->now[p->jobs[s.devices[d].jobs[e]].first_task] = s.devices[d].device;
    p->move_watts = 20;
    case_solve(p, &s);
    assert_int_equal(s.moves, 0);
    for (int j = 0; j < 60; j++)
        p->jobs[j].need *= 0.5;
    p->move_watts = 0.01;
    case_solve(p, &s);
    assert_true(s.moves > 0);
    p->move_watts = 1e5;
    case_solve(p, &s);
    assert_int_equal(s.moves, 0);
    solution_fini(&s);
    problem_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_power_decides_where_devices_draw_alike),
        cmocka_unit_test(a_node_that_is_awake_anyway_is_filled_before_another_wakes),
        cmocka_unit_test(price_of_progress_buys_the_faster_device),
        cmocka_unit_test(caps_and_sleep_never_cost_more),
        cmocka_unit_test(moves_are_made_only_when_they_pay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
