/* test_optimize_update.c - single events on a running placement */
#include "support/optimize_case.h"

#include "base/rng.h"
#include "lab/solver/update.h"

#include <math.h>
#include <string.h>

enum { JOBS = 150, EVENTS = 300 };

struct running {
    struct problem *p;
    struct solver *solver;
    struct solution s;
    struct update *u;
    bool here[JOBS + EVENTS];
    int next;
    struct rng rng;
};

static void start(struct running *r, double devices_per_job)
{
    memset(r, 0, sizeof(*r));
    r->p = case_problem((struct instance_options){.jobs = JOBS,
                                                  .spare_jobs = EVENTS,
                                                  .devices_per_job = devices_per_job,
                                                  .seed = 8});
    r->solver = solver_create(1);
    r->u = update_create(1);
    r->next = JOBS;
    rng_init(&r->rng, 3);
    memset(r->here, 1, JOBS);
    solver_run(r->solver, r->p, NULL, &r->s);
    r->p->move_watts = 3;
    update_load(r->u, r->p, &r->s, JOBS + EVENTS, solver_worth(r->solver),
                solver_price(r->solver));
}

static void stop(struct running *r)
{
    update_destroy(r->u);
    solver_destroy(r->solver);
    solution_fini(&r->s);
    problem_destroy(r->p);
}

static void one_event(struct running *r, int event)
{
    int job;

    if (event % 3 == 0) {
        r->here[r->next] = true;
        update_arrive(r->u, r->next++);
        return;
    }
    do
        job = (int)rng_below(&r->rng, (size_t)r->next);
    while (!r->here[job]);
    if (event % 3 == 1) {
        r->here[job] = false;
        update_depart(r->u, job);
    } else {
        r->p->jobs[job].need *= rng_range(&r->rng, 0.7, 1.3);
        update_change(r->u, job);
    }
}

/* The placement as a solution of the problem with all jobs seen so far; those that left
 * are unserved, which must be the only ones. */
static void check(struct running *r)
{
    struct solution s = {0};
    struct err err = {0};
    double gone = 0;
    int unserved = 0;

    r->p->job_count = r->next;
    problem_number_tasks(r->p);
    r->p->move_watts = 0;
    update_solution(r->u, &s);
    if (check_solution(r->p, &s, &err) < 0)
        fail_msg("%s", err.text);
    for (int j = 0; j < r->next; j++) {
        assert_true(r->here[j] || s.state[j] != SOLUTION_SERVED);
        unserved += r->here[j] && s.state[j] != SOLUTION_SERVED;
        gone += r->here[j] ? 0 : r->p->jobs[j].penalty;
    }
    assert_int_equal(unserved, update_unserved(r->u));
    assert_true(fabs(s.cost - gone - update_cost(r->u)) < 1 + 1e-5 * s.cost);
    solution_fini(&s);
}

static void events_leave_a_plan_that_passes_the_checker(void **state)
{
    struct running r;

    (void)state;
    start(&r, 0.8);
    for (int e = 0; e < EVENTS; e++)
        one_event(&r, e);
    check(&r);
    stop(&r);
}

static void scarce_devices_leave_jobs_parked_not_lost(void **state)
{
    struct running r;

    (void)state;
    start(&r, 0.45);
    for (int e = 0; e < EVENTS; e++)
        one_event(&r, e);
    check(&r);
    assert_true(update_unserved(r.u) > 0);
    stop(&r);
}

static void drift_stays_within_a_few_percent(void **state)
{
    struct running r;
    struct solution fresh = {0};
    int count = 0;
    double cost;

    (void)state;
    start(&r, 0.8);
    for (int e = 0; e < EVENTS; e++)
        one_event(&r, e);
    cost = update_cost(r.u);
    for (int j = 0; j < r.next; j++)
        if (r.here[j])
            r.p->jobs[count++] = r.p->jobs[j];
    r.p->job_count = count;
    r.p->move_watts = 0;
    problem_number_tasks(r.p);
    case_solve(r.p, &fresh);
    assert_true(cost < 1.04 * fresh.cost);
    assert_true(cost > 0.995 * fresh.cost);
    solution_fini(&fresh);
    stop(&r);
}

static void an_arrival_moves_nobody_when_there_is_room(void **state)
{
    struct running r;

    (void)state;
    start(&r, 2.0);
    r.p->move_watts = 1e6;
    update_load(r.u, r.p, &r.s, JOBS + EVENTS, solver_worth(r.solver),
                solver_price(r.solver));
    for (int e = 0; e < 20; e++)
        update_arrive(r.u, r.next++);
    assert_int_equal(update_moves(r.u), 0);
    assert_int_equal(update_unserved(r.u), 0);
    stop(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_leave_a_plan_that_passes_the_checker),
        cmocka_unit_test(scarce_devices_leave_jobs_parked_not_lost),
        cmocka_unit_test(drift_stays_within_a_few_percent),
        cmocka_unit_test(an_arrival_moves_nobody_when_there_is_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
