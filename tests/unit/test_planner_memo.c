/* test_planner_memo.c - what is kept of costs is what would be found anew, also where
 * many jobs are told alike and share what was worked out of one of them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/rng.h"
#include "fixture/planner_world.h"

#define ALIKE   (WORLD_JOBS - 2)
#define SAMPLES 4000

static struct planner_world w;
static struct rng rng;

static int tear_down(void **state)
{
    (void)state;
    world_fini(&w);
    return 0;
}

static bool chance(double share)
{
    return rng_uniform(&rng) < share;
}

/* Few needs, so that many have the same; some are measured, and some of them suffer. */
static void draw_jobs(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double need = 4 + 2 * (double)rng_below(&rng, 3);
        struct job_status *s = chance(0.3)   ? world_service(&w, need)
                               : chance(0.3) ? world_job(&w, 0)
                                             : world_job(&w, need);

        s->job.unpromised = chance(0.3);
        s->job.devices = chance(0.05) ? 2 : 1;
        if (s->job.kind == JOB_INFERENCE)
            s->demand = s->asked = s->asked_least = 0.5 * need;
    }
}

static void run_some(void)
{
    for (size_t i = 0; i < w.count; i++) {
        struct job_status *s = &w.jobs[i];
        int d = (int)rng_below(&rng, (size_t)w.cluster->device_count);

        if (s->job.devices > 1 || w.cluster->devices[d].job_count > 1)
            continue;
        world_run(&w, s, d);
    }
    for (size_t i = 0; i < w.count; i++)
        if (w.jobs[i].device_count > 0 && chance(0.5))
            world_measure(&w, &w.jobs[i], chance(0.3) ? 2 : 8, 0);
}

static void make_world(uint64_t seed, size_t jobs)
{
    world_init(&w);
    rng_stream(&rng, seed, 1);
    w.beliefs.sd = 0.2;
    w.settings.caps = true;
    for (int n = 0; n < 24; n++)
        world_node(&w, n % WORLD_TYPES, 8);
    draw_jobs(jobs);
    run_some();
    planner_load(w.planner, (w.planner->settings = w.settings, world_input(&w)));
}

static void compare(double kept, double anew)
{
    assert_true(fabs(kept - anew) <= 1e-6 * fmax(1, fabs(anew)));
}

static void check(struct planner_view view)
{
    struct planner_state *s = w.planner;
    static struct {
        int type, a, b;
        double cost;
    } asked[SAMPLES];

    planner_look(s, view);
    for (int i = 0; i < SAMPLES; i++) {
        int a = (int)rng_below(&rng, s->jobs.count);
        int b = chance(0.3) ? -1 : (int)rng_below(&rng, s->jobs.count);
        int home = s->jobs.items[a].home;

        if (home >= 0 && chance(0.3)) /* as it runs now */
            b = -1;
        for (int k = 0; home >= 0 && chance(0.5) && k < (int)s->jobs.count; k++)
            if (k != a && s->jobs.items[k].home == home)
                b = k;
        if (a == b || (b >= 0 && s->jobs.items[a].gang != s->jobs.items[b].gang))
            b = -1; /* a gang is beside nobody but a gang */
        asked[i].type = (int)rng_below(&rng, WORLD_TYPES);
        if (home >= 0 && chance(0.5))
            asked[i].type = w.cluster->devices[home].type;
        asked[i].a = a;
        asked[i].b = b;
        asked[i].cost = planner_cost(s, asked[i].type, a, b, NULL);
    }
    for (int i = 0; i < SAMPLES; i++) {
        compare(planner_cost(s, asked[i].type, asked[i].a, asked[i].b, NULL),
                asked[i].cost);
        if (i % 4 > 0)
            continue;
        planner_look_aside(s, true, view); /* asked for the first time in this look */
        compare(planner_cost(s, asked[i].type, asked[i].b, asked[i].a, NULL),
                asked[i].cost);
        planner_look(s, view);
        compare(planner_cost(s, asked[i].type, asked[i].a, asked[i].b, NULL),
                asked[i].cost);
    }
}

static void jobs_told_apart_cost_what_they_cost_anew(void **state)
{
    (void)state;
    make_world(1, 60);
    check((struct planner_view){0});
    check((struct planner_view){.alone = 1, .pair = 0.75});
}

static void jobs_alike_cost_what_they_cost_anew(void **state)
{
    (void)state;
    make_world(2, ALIKE);
    assert_true(w.planner->jobs.count > PREDICTION_TABLE_MOST);
    check((struct planner_view){0});
    check((struct planner_view){.alone = 1, .pair = 0.75});
}

static void jobs_alike_are_worked_out_once(void **state)
{
    struct planner_state *s;

    (void)state;
    world_init(&w);
    for (int n = 0; n < 24; n++)
        world_node(&w, n % WORLD_TYPES, 8);
    for (int i = 0; i < WORLD_JOBS; i++)
        world_job(&w, 5);
    for (int i = 0; i < ALIKE; i++)
        world_run(&w, &w.jobs[i], i % w.cluster->device_count);
    s = w.planner;
    s->settings = w.settings;
    planner_load(s, world_input(&w));
    w.beliefs.asked = 0;
    for (int i = 0; i < WORLD_JOBS; i++)
        for (int t = 0; t < WORLD_TYPES; t++)
            planner_cost(s, t, i, ALIKE, NULL);
    assert_int_equal(s->memos[0].slots, 1);
    assert_int_equal(w.beliefs.asked, WORLD_TYPES);
}

/* What was kept by the one view is neither lost nor mixed with the other's. */
static void a_look_aside_changes_nothing(void **state)
{
    struct planner_state *s;
    double bold, guess;

    (void)state;
    make_world(4, 20);
    s = w.planner;
    planner_look(s, (struct planner_view){.alone = 1, .pair = 0.75});
    bold = planner_cost(s, SLOW, 0, 1, NULL);
    planner_look_aside(s, true, (struct planner_view){0});
    guess = planner_cost(s, SLOW, 0, 1, NULL);
    planner_look_aside(s, false, (struct planner_view){.alone = 1, .pair = 0.75});
    compare(planner_cost(s, SLOW, 0, 1, NULL), bold);
    assert_int_equal(s->memos[0].slots, 2);
    planner_look(s, (struct planner_view){0});
    compare(planner_cost(s, SLOW, 0, 1, NULL), guess);
}

#define test(name) cmocka_unit_test_setup_teardown(name, NULL, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(jobs_told_apart_cost_what_they_cost_anew),
        test(jobs_alike_cost_what_they_cost_anew),
        test(jobs_alike_are_worked_out_once),
        test(a_look_aside_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
