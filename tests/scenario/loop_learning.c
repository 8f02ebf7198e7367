/* loop_learning.c - what is measured makes estimates of what was never measured better */
#include "scenario/fake_engine.h"

#include <stdio.h>

static struct job of_family(uint64_t id, int family, int batch)
{
    struct job job = fixture_job(id, 1);

    snprintf(job.descriptor.family, sizeof(job.descriptor.family), "family-%d", family);
    job.descriptor.batch = batch;
    job.descriptor.gmac_per_sample = 4;
    job.may_share = false;
    return job;
}

/* A family is slower or faster than its data sheet says, each by a factor of its own. */
static double family_truth(const struct job *job, int type)
{
    int family = job->descriptor.family[7] - '0';
    double speed = type == FAST ? 20 : 5;

    return speed * 1e12 * 0.3 / (768e9 * job->descriptor.batch / 32) *
           exp(0.6 * (family - 3));
}

static double log_error(struct fake_engine *e, const struct job *job, int type)
{
    double believed = predict_alone(loop_model(e->loop), job, type).rate[0].value;

    return fabs(log(believed / e->truth(job, type)));
}

static void measuring_siblings_improves_a_cell_never_measured(void **state)
{
    struct job measured = of_family(1, 0, 32), sibling = of_family(2, 0, 64);
    struct fake_engine e;
    double before[TYPES], after[TYPES];

    (void)state;
    fake_engine_init(&e, 1, family_truth);
    measured.types_allowed = 1u << SLOW;
    measured.total_steps = 1e9;
    for (int t = 0; t < TYPES; t++)
        before[t] = log_error(&e, &sibling, t);
    fake_submit(&e, measured);
    fake_steps(&e, 20);
    for (int t = 0; t < TYPES; t++)
        after[t] = log_error(&e, &sibling, t);
    assert_true(after[SLOW] < 0.3 * before[SLOW]);
    assert_true(after[FAST] < 0.5 * before[FAST]);
    assert_int_equal(predict_alone(loop_model(e.loop), &sibling, FAST).rate[0].source,
                     ESTIMATE_CORRELATED);
    fake_engine_fini(&e);
}

static void the_measured_job_itself_is_known_well(void **state)
{
    struct job job = of_family(1, 5, 32);
    struct fake_engine e;
    struct estimate rate;

    (void)state;
    fake_engine_init(&e, 2, family_truth);
    job.types_allowed = 1u << FAST;
    job.total_steps = 1e9;
    fake_submit(&e, job);
    fake_steps(&e, 15);
    rate = predict_alone(loop_model(e.loop), &job, FAST).rate[0];
    assert_int_equal(rate.source, ESTIMATE_MEASURED);
    assert_true(log_error(&e, &job, FAST) < 0.05);
    assert_true(rate.low < family_truth(&job, FAST) &&
                rate.high > family_truth(&job, FAST));
    fake_engine_fini(&e);
}

/* Arrivals of six families: the first errors of the second half must be far below those
 * of the first. */
static void first_sights_get_better_with_experience(void **state)
{
    struct refine_score half = {0}, all;
    struct fake_engine e;
    double later;

    (void)state;
    fake_engine_init(&e, 3, family_truth);
    for (uint64_t id = 1; id <= 80; id++) {
        struct job job =
            of_family(id, (int)rng_below(&e.rng, 6), 16 << rng_below(&e.rng, 3));

        job.total_steps = family_truth(&job, SLOW) * 600;
        fake_submit(&e, job);
        fake_steps(&e, 5);
        if (id == 40)
            half = *loop_score(e.loop);
    }
    all = *loop_score(e.loop);
    assert_true(half.first_sights >= 20 && all.first_sights >= half.first_sights + 20);
    later = (all.first_abs_log_error * (double)all.first_sights -
             half.first_abs_log_error * (double)half.first_sights) /
            (double)(all.first_sights - half.first_sights);
    assert_true(later < 0.5 * half.first_abs_log_error);
    assert_true(all.coverage > 0.8);
    fake_engine_fini(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measuring_siblings_improves_a_cell_never_measured),
        cmocka_unit_test(the_measured_job_itself_is_known_well),
        cmocka_unit_test(first_sights_get_better_with_experience),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
