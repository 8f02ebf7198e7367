/* test_planner_caps.c - what power limits were seen to cost is what they are believed to
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/planner_world.h"

static struct planner_world w;

static int tear_down(void **state)
{
    (void)state;
    world_fini(&w);
    return 0;
}

/* The slow device's limit of 120 W; the job draws 180. */
#define LIMIT_WATTS 120.0

static double believed_speed(void)
{
    const struct planner_type *type = &w.planner->types[SLOW];
    int level = 0;

    while (level + 1 < type->caps && type->cap_watts[level + 1] > LIMIT_WATTS - 0.5)
        level++;
    return planner_under_cap(type, level, 180).speed;
}

static void look(void)
{
    w.now_s += 60;
    planner_load(w.planner, world_input(&w));
    planner_learn_caps(w.planner);
}

/* Ten jobs one after the other are measured without a limit and then under one, which
 * leaves this much of their rate.  What the limit is believed to leave before and after.
 */
static double learn(double left, bool service, double *before)
{
    world_init(&w);
    world_node(&w, SLOW, 1);
    w.settings.caps = true;
    for (int i = 0; i < 10; i++) {
        struct job_status *s = service ? world_service(&w, 0.1) : world_job(&w, 0);

        w.planner->settings = w.settings;
        w.beliefs.watts[s->job.id][SLOW] = 180;
        w.cluster->devices[0].cap_watts = 0;
        world_run(&w, s, 0);
        world_measure(&w, s, 10, 0);
        look();
        if (i == 0)
            *before = believed_speed();
        w.cluster->devices[0].cap_watts = LIMIT_WATTS;
        world_measure(&w, s, 10 * left, 0);
        look();
        cluster_leave(w.cluster, 0, s->job.id, w.now_s);
        s->device_count = 0;
        s->state = JOB_DONE;
        w.count--;
    }
    return believed_speed();
}

static void a_limit_that_costs_more_than_was_believed_is_believed_to(void **state)
{
    double before, after = learn(0.5, false, &before);

    (void)state;
    assert_true(before > 0.6 && before < 0.95);
    assert_true(after < 0.6 && after > 0.45);
}

static void one_that_costs_what_was_believed_stays(void **state)
{
    double before, after;

    (void)state;
    learn(0.9, false, &before);
    world_fini(&w);
    after = learn(before, false, &before);
    assert_true(fabs(after - before) < 0.01);
}

static void what_services_answer_tells_nothing_of_it(void **state)
{
    double before, after = learn(0.5, true, &before);

    (void)state;
    assert_true(fabs(after - before) < 1e-9);
}

#define caps_test(f) cmocka_unit_test_teardown(f, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        caps_test(a_limit_that_costs_more_than_was_believed_is_believed_to),
        caps_test(one_that_costs_what_was_believed_stays),
        caps_test(what_services_answer_tells_nothing_of_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
