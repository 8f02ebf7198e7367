/* test_round_changes.c - a planner that is told what has changed and loads only that
 * plans just as one that loads everything in each round */
#include "loop_fixture.h"

#include "base/rng.h"
#include "loop/loop.h"
#include "loop/loop_settings.h"

#define ROUNDS    400
#define JOBS_MOST 90

/* The same jobs and events for two loops; the second one's planner is told of no change.
 */
struct scene {
    struct fixture_model tables[2];
    struct loop *loops[2];
    struct rng rng;
    uint64_t ids;
    double now_s;
    long actions; /* so far */
};

static struct planner_ops anew;

static void plan_anew(void *self, const struct optimize_input *in, struct plan *plan)
{
    struct optimize_input all = *in;

    all.stamps = NULL;
    corgi_planner_ops.plan(self, &all, plan);
}

static void offer_anew(void *self, const struct optimize_input *in,
                       const struct plan_terms *terms, struct place_offer *offer)
{
    struct optimize_input all = *in;

    all.stamps = NULL;
    corgi_planner_ops.offer(self, &all, terms, offer);
}

static void scene_init(struct scene *s, int nodes)
{
    struct loop_options options = {.settings = fixture_settings(), .seed = 5};

    *s = (struct scene){.now_s = 1000};
    options.settings.caps = true;
    options.settings.explore = 0.01;
    rng_stream(&s->rng, 11, (uint64_t)nodes);
    anew = corgi_planner_ops;
    anew.plan = plan_anew;
    anew.offer = offer_anew;
    for (int i = 0; i < 2; i++) {
        struct cluster *cluster = fixture_cluster();

        for (int n = 0; n < nodes; n++)
            fixture_node(cluster, n % TYPES, 8);
        s->tables[i] = fixture_model_make();
        s->loops[i] = loop_create_take(&options, cluster, fixture_model_of(&s->tables[i]),
                                       i == 0 ? &corgi_planner_ops : &anew);
    }
}

static void scene_fini(struct scene *s)
{
    loop_destroy(s->loops[0]);
    loop_destroy(s->loops[1]);
}

static struct job some_job(struct scene *s)
{
    struct job job = fixture_rate_job(++s->ids, rng_range(&s->rng, 2, 14));

    job.submitted_s = s->now_s;
    job.priority = (int)rng_below(&s->rng, 2);
    switch (rng_below(&s->rng, 5)) {
    case 0:
        job.devices = 2;
        break;
    case 1:
        job.kind = JOB_INFERENCE;
        job.need.kind = NEED_SERVICE;
        job.total_steps = 0;
        break;
    case 2:
        job.need.kind = NEED_DEADLINE;
        job.need.rate = 0;
        job.need.deadline_s = s->now_s + 86400;
        break;
    default:
        break;
    }
    return job;
}

static uint64_t some_id(struct scene *s)
{
    size_t count;
    const struct job_status *const *jobs = loop_jobs(s->loops[0], &count);

    return count > 0 ? jobs[rng_below(&s->rng, count)]->job.id : 0;
}

static void compare_quotes(struct scene *s)
{
    struct job job = some_job(s);
    struct quote quotes[2];

    for (int i = 0; i < 2; i++)
        assert_int_equal(
            loop_quote(s->loops[i], &job, 1, NULL, s->now_s, &quotes[i], NULL), 0);
    assert_int_equal(quotes[0].verdict, quotes[1].verdict);
    assert_int_equal(quotes[0].device_count, quotes[1].device_count);
    assert_memory_equal(quotes[0].devices, quotes[1].devices,
                        (size_t)quotes[0].device_count * sizeof(int));
    assert_memory_equal(&quotes[0].start_s, &quotes[1].start_s, sizeof(double));
}

/* One thing happens, the same to both. */
static void happen(struct scene *s)
{
    struct job job = some_job(s);
    uint64_t id = some_id(s), what = rng_below(&s->rng, 16);
    double part = rng_range(&s->rng, 0.6, 1.6);
    int device = (int)rng_below(&s->rng, 8);
    bool full;
    size_t count;

    loop_jobs(s->loops[0], &count);
    full = count >= JOBS_MOST;
    for (int i = 0; i < 2; i++) {
        struct loop *loop = s->loops[i];

        if (what < 4 && !full)
            assert_int_equal(loop_submit(loop, &job, s->now_s, NULL), 0);
        else if (what < 6 && id)
            loop_end_job(loop, id, s->now_s, NULL);
        else if (what == 6 && id && loop_job(loop, id)->state == JOB_RUNNING)
            loop_requeue(loop, id, s->now_s, NULL);
        else if (what == 7)
            loop_drain(loop, device, part < 1, s->now_s, NULL);
        else if (what == 8 && id && loop_job(loop, id)->state == JOB_WAITING)
            loop_hold(loop, id, part < 1, s->now_s, NULL);
        else if (what == 9 && id)
            loop_set_progress(loop, id, 1e5 * part, NULL);
        else if (what == 10 && id && loop_job(loop, id)->job.kind == JOB_INFERENCE)
            loop_set_demand(loop, id, 6 * part, s->now_s, NULL);
    }
    if (what == 11)
        compare_quotes(s);
}

/* Everybody who runs, more or less what it needs. */
static void measure_some(struct scene *s)
{
    size_t count;
    const struct job_status *const *jobs = loop_jobs(s->loops[0], &count);

    for (size_t k = 0; k < count; k++) {
        struct measurement m = {.job = jobs[k]->job.id,
                                .at_s = s->now_s,
                                .window_s = 60,
                                .rate =
                                    jobs[k]->required_rate * rng_range(&s->rng, 0.8, 2.4),
                                .device_watts = 70,
                                .busy = 0.5};

        if (rng_below(&s->rng, 4) > 0)
            continue;
        assert_int_equal(loop_measure(s->loops[0], &m, NULL, NULL),
                         loop_measure(s->loops[1], &m, NULL, NULL));
    }
}

static void play_round(struct scene *s)
{
    struct round_result results[2];

    for (int i = 0; i < 2; i++)
        assert_int_equal(loop_round(s->loops[i], s->now_s, &results[i], NULL), 0);
    assert_int_equal(results[0].action_count, results[1].action_count);
    for (size_t k = 0; k < results[0].action_count; k++) {
        const struct action *a = &results[0].actions[k], *b = &results[1].actions[k];

        assert_int_equal(a->kind, b->kind);
        assert_int_equal(a->job, b->job);
        assert_int_equal(a->device, b->device);
        assert_true(a->cap_watts >= b->cap_watts && a->cap_watts <= b->cap_watts);
        assert_memory_equal(a->devices, b->devices,
                            (size_t)a->device_count * sizeof(int));
    }
    s->actions += (long)results[0].action_count;
}

static void play(int nodes)
{
    struct scene s;

    scene_init(&s, nodes);
    for (int round = 0; round < ROUNDS; round++) {
        s.now_s += rng_range(&s.rng, 10, 120);
        for (int i = 0; i < 3; i++)
            happen(&s);
        measure_some(&s);
        play_round(&s);
    }
    assert_true(s.actions > ROUNDS / 2);
    scene_fini(&s);
}

static void a_small_cluster_is_planned_alike(void **state)
{
    (void)state;
    play(2);
}

/* Large enough for a round to look at a part of it. */
static void a_large_cluster_is_planned_alike(void **state)
{
    (void)state;
    play(72);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_cluster_is_planned_alike),
        cmocka_unit_test(a_large_cluster_is_planned_alike),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
