/* test_optimize_check.c - the checker sees what is wrong with a plan */
#include "support/optimize_case.h"

struct broken {
    struct problem *p;
    struct solution s;
};

static int set_up(void **state)
{
    struct broken *b = test_malloc(sizeof(*b));

    *b = (struct broken){case_problem((struct instance_options){.jobs = 30,
                                                                .devices_per_job = 0.7,
                                                                .host_watts = 120,
                                                                .sleep = true,
                                                                .seed = 2}),
                         {0}};
    case_solve(b->p, &b->s);
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    struct broken *b = *state;

    solution_fini(&b->s);
    problem_destroy(b->p);
    test_free(b);
    return 0;
}

static void expect(struct broken *b, enum err_code code)
{
    struct err err = {0};

    assert_int_equal(check_solution(b->p, &b->s, &err), -1);
    assert_int_equal(err.code, code);
}

static void refuses_a_job_twice(void **state)
{
    struct broken *b = *state;

    b->s.devices[1].jobs[0] = b->s.devices[0].jobs[0];
    expect(b, ERR_INVALID);
}

static void refuses_a_need_that_is_not_met(void **state)
{
    struct broken *b = *state;

    b->p->jobs[b->s.devices[0].jobs[0]].need *= 100;
    expect(b, ERR_INVALID);
}

static void refuses_a_device_on_a_sleeping_node(void **state)
{
    struct broken *b = *state;

    b->s.awake[b->p->devices[b->s.devices[0].device].node] = false;
    expect(b, ERR_INVALID);
}

static void refuses_a_device_used_twice(void **state)
{
    struct broken *b = *state;

    b->s.devices[1].device = b->s.devices[0].device;
    b->s.devices[1].variant = b->s.devices[0].variant;
    expect(b, ERR_INVALID);
}

static void refuses_a_type_the_job_may_not_use(void **state)
{
    struct broken *b = *state;
    int type = b->p->variants[b->s.devices[0].variant].type;

    b->p->jobs[b->s.devices[0].jobs[0]].types &= ~((uint64_t)1 << type);
    expect(b, ERR_INVALID);
}

static void refuses_a_cost_that_does_not_add_up(void **state)
{
    struct broken *b = *state;

    b->s.cost -= 5;
    expect(b, ERR_FORMAT);
}

static void refuses_a_bound_above_the_cost(void **state)
{
    struct broken *b = *state;

    b->s.bound = b->s.cost + 50;
    expect(b, ERR_FORMAT);
}

static void refuses_a_pinned_job_elsewhere(void **state)
{
    struct broken *b = *state;
    int job = b->s.devices[0].jobs[0], device = 0;

    while (device == b->s.devices[0].device)
        device++;
    b->p->jobs[job].pinned = true;
    b->p->now[b->p->jobs[job].first_task] = device;
    expect(b, ERR_INVALID);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(refuses_a_job_twice),
        CASE(refuses_a_need_that_is_not_met),
        CASE(refuses_a_device_on_a_sleeping_node),
        CASE(refuses_a_device_used_twice),
        CASE(refuses_a_type_the_job_may_not_use),
        CASE(refuses_a_cost_that_does_not_add_up),
        CASE(refuses_a_bound_above_the_cost),
        CASE(refuses_a_pinned_job_elsewhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
