/* test_audit_plan.c - the audit finds what a plan amounts to, and what is wrong */
#include "loop_fixture.h"

#include "lab/sim/audit_plan.h"
#include "loop/planner.h"
#include "loop/optimize/plan.h"

struct auditing {
    struct fixture f;
    struct plan plan;
    struct audit audit;
    struct err err;
};

/* Three jobs: one on a slow device, two together on a fast one, node 2 asleep. */
static int set_up(void **state)
{
    struct auditing *x = test_calloc(1, sizeof(*x));
    int slow = 0, fast = 2;

    fixture_init(&x->f);
    for (uint64_t id = 1; id <= 3; id++) {
        struct job job = fixture_rate_job(id, 5);

        jobs_add(x->f.jobs, &job);
    }
    fixture_input(&x->f, 1000);
    plan_reset(&x->plan, &x->f.in);
    plan_seat(&x->plan, 0, &slow, 1);
    plan_seat(&x->plan, 1, &fast, 1);
    plan_seat(&x->plan, 2, &fast, 1);
    x->plan.awake[2] = false;
    *state = x;
    return 0;
}

static int tear_down(void **state)
{
    struct auditing *x = *state;

    plan_fini(&x->plan);
    fixture_fini(&x->f);
    test_free(x);
    return 0;
}

static int audit(struct auditing *x)
{
    return audit_plan(&x->f.in, &x->plan, &x->audit, &x->err);
}

static void watts_and_needs_are_added_up(void **state)
{
    struct auditing *x = *state;

    assert_int_equal(audit(x), 0);
    assert_int_equal(x->audit.served, 3);
    assert_close(x->audit.device_watts, 60 + 300, 0.1);
    assert_close(x->audit.idle_watts, 10 + 3 * 50, 0.1);
    assert_close(x->audit.host_watts, 200 + 200 + 10, 0.1);
    assert_int_equal(x->audit.needs_missed, 0);
    assert_false(x->audit.over_limit);
    x->f.settings.power_limit.watts = 900;
    assert_int_equal(audit(x), 0);
    assert_true(x->audit.over_limit);
}

static void a_need_that_is_missed_is_named(void **state)
{
    struct auditing *x = *state;

    x->f.table.beside = 0.1; /* 4 steps/s each, 5 are needed */
    assert_int_equal(audit(x), 0);
    assert_int_equal(x->audit.needs_missed, 2);
    assert_int_equal(x->audit.missed, 2);
    x->f.table.fits[FAST] = 0.2;
    assert_int_equal(audit(x), 0);
    assert_int_equal(x->audit.unlikely_to_fit, 1);
}

static void what_the_settings_forbid_is_refused(void **state)
{
    struct auditing *x = *state;

    x->plan.cap_watts[0] = 70;
    assert_int_equal(audit(x), -1);
    assert_int_equal(x->err.code, ERR_INVALID);
    x->f.settings.caps = true;
    assert_int_equal(audit(x), 0);
    x->f.settings.sleep = false;
    assert_int_equal(audit(x), -1);
    x->plan.awake[2] = true;
    assert_int_equal(audit(x), 0);
    x->f.settings.sleep = true;
    x->plan.awake[1] = false; /* two jobs are there */
    assert_int_equal(audit(x), -1);
}

static void figures_that_cannot_be_are_refused(void **state)
{
    struct auditing *x = *state;

    x->plan.seats[1].watts = NAN;
    assert_int_equal(audit(x), -1);
    x->plan.seats[1].watts = 0;
    x->plan.seats[0] = (struct seat){.job = 1}; /* waits, without a reason */
    assert_int_equal(audit(x), -1);
}

static void the_optimizers_own_plans_pass(void **state)
{
    struct auditing *x = *state;
    void *planner = corgi_planner_ops.create(1);

    for (uint64_t id = 4; id <= 14; id++) {
        struct job job = fixture_rate_job(id, 3 + 2 * (double)(id % 7));

        jobs_add(x->f.jobs, &job);
    }
    for (int caps = 0; caps < 2; caps++) {
        x->f.settings.caps = caps;
        fixture_input(&x->f, 1000);
        corgi_planner_ops.plan(planner, &x->f.in, &x->plan);
        if (audit(x) < 0)
            fail_msg("%s", x->err.text);
        assert_int_equal(x->audit.served + x->audit.waiting, 14);
    }
    corgi_planner_ops.destroy(planner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(watts_and_needs_are_added_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_need_that_is_missed_is_named, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_the_settings_forbid_is_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(figures_that_cannot_be_are_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_optimizers_own_plans_pass, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
