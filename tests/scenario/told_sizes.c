/* told_sizes.c - the loop never sees how much work a job really has
 *
 * The same requests are played twice.  What users tell and what probes see is the same;
 * the jobs of the second run really have three times the work.  Until the first job ends
 * nobody in the loop can know that, so every quote, seat and figure of it has to be the
 * same: a line that hands over the truth makes a difference here. */
#include "lab/sim/scenario.h"
#include "lab/sim/sim_private.h"
#include "lab/policy/policy.h"
#include "loop/loop.h"
#include "loop/optimize/plan.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static struct scenario build(double load, double days, double longer)
{
    const struct scenario_options o = {
        .workload = "demo", .load = load, .days = days, .seed = 5};
    struct scenario s;
    struct err err = {0};

    if (scenario_build(&s, &o, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < s.workload->count; i++) {
        s.workload->requests[i].steps *= longer;
        s.workload->requests[i].serve_s *= longer;
    }
    return s;
}

static void begin(struct sim *sim, const struct scenario *s, struct sim_setup *setup,
                  const struct sim_options *options)
{
    struct err err = {0};

    *setup = (struct sim_setup){.world = s->world,
                                .workload = s->workload,
                                .cluster = s->cluster,
                                .gpu_of_type = s->gpu_of_type,
                                .planner = policy_find("corgi")->planner,
                                .model = policy_find("corgi")->model};
    if (sim_init(sim, options, setup, &err) < 0)
        fail_msg("%s", err.text);
}

static void moment(struct sim *sim)
{
    struct err err = {0};
    int rc = 0;

    if (!sim_moment(sim, 86400, &rc, &err) && rc < 0)
        fail_msg("%s", err.text);
}

static void assert_same(double a, double b, const char *what, uint64_t job)
{
    if (a != b && !(isnan(a) && isnan(b)))
        fail_msg("job %llu: %s is %g, and %g with more work", (unsigned long long)job,
                 what, a, b);
}

/* All that the loop holds of its jobs. */
static void assert_alike(const struct sim *a, const struct sim *b)
{
    const struct job_status *const *one, *const *other;
    size_t count, others;

    one = loop_jobs(a->loop, &count);
    other = loop_jobs(b->loop, &others);
    assert_int_equal(count, others);
    for (size_t i = 0; i < count; i++) {
        const struct job_status *x = one[i], *y = other[i];
        uint64_t id = x->job.id;

        assert_int_equal(id, y->job.id);
        assert_memory_equal(&x->job, &y->job, sizeof(x->job));
        assert_same(x->device_count, y->device_count, "number of devices", id);
        for (int d = 0; d < x->device_count; d++)
            assert_same(x->devices[d], y->devices[d], "device", id);
        assert_same(x->steps_done, y->steps_done, "progress", id);
        assert_same(x->quoted.start_s, y->quoted.start_s, "expected start", id);
        assert_same(x->quoted.rate.value, y->quoted.rate.value, "quoted rate", id);
        assert_same(x->reference_s, y->reference_s, "start in the reference", id);
        assert_same(loop_time_left_s(a->loop, id, 1, a->now_s),
                    loop_time_left_s(b->loop, id, 1, b->now_s), "expected rest", id);
    }
}

static void the_loop_is_not_told_how_much_work_there_is(void **state)
{
    struct scenario s[2] = {build(3, 1, 8), build(3, 1, 24)};
    struct sim_options options = sim_default_options();
    struct sim_setup setups[2];
    struct sim sims[2];
    size_t waited = 0;

    (void)state;
    for (int i = 0; i < 2; i++)
        begin(&sims[i], &s[i], &setups[i], &options);
    while (sims[0].ended == 0 && sims[0].now_s < 86400) {
        for (int i = 0; i < 2; i++)
            moment(&sims[i]);
        if (sims[0].ended > 0)
            break;
        assert_true(sims[0].now_s == sims[1].now_s);
        assert_int_equal(sims[1].ended, 0);
        assert_alike(&sims[0], &sims[1]);
    }
    for (size_t i = 0; i < sims[0].arrived; i++)
        waited += !(sims[0].jobs[i].result.wait_s < 1);
    /* It was worth the name: many came, some had to wait, and one was over. */
    print_message("%zu jobs came, %zu waited, %zu ended at %.0f s\n", sims[0].arrived,
                  waited, sims[0].ended, sims[0].now_s);
    assert_true(sims[0].arrived > 40 && waited > 0 && sims[0].ended > 0);
    for (int i = 0; i < 2; i++) {
        sim_fini(&sims[i]);
        scenario_fini(&s[i]);
    }
}

static void half_of_the_jobs_tell_a_size_that_is_off_by_half(void **state)
{
    struct scenario s = build(3, 5, 1);
    double sum = 0, squares = 0, told = 0, count = (double)s.workload->count;

    (void)state;
    for (size_t i = 0; i < s.workload->count; i++) {
        const struct sim_request *r = &s.workload->requests[i];
        bool training = r->job.kind == JOB_TRAINING;
        double size = training ? r->job.total_steps : r->job.duration_s;
        double off;

        if (!(size > 0))
            continue;
        off = log(size / (training ? r->steps : r->serve_s));
        told++;
        sum += off;
        squares += off * off;
    }
    assert_true(count > 300);
    assert_true(fabs(told / count - 0.5) < 0.08);
    assert_true(fabs(sum / told) < 0.12);
    assert_true(fabs(sqrt(squares / told) - 0.5) < 0.08);
    scenario_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loop_is_not_told_how_much_work_there_is),
        cmocka_unit_test(half_of_the_jobs_tell_a_size_that_is_off_by_half),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
