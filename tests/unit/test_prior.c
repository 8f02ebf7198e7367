/* test_prior.c - first guesses from data sheets: who is faster, draws more, fits */
#include "loop_fixture.h"

#include "lab/policy/prior.h"
#include "world/power.h"

static struct prior make(void)
{
    return prior_make(fixture_types, TYPES);
}

static struct job described(double gmac, int batch)
{
    struct job job = fixture_job(1, 1);

    job.descriptor.gmac_per_sample = gmac;
    job.descriptor.batch = batch;
    return job;
}

static struct combination of(int type, double cap_watts, const struct job *a,
                             const struct job *b)
{
    return (struct combination){
        .type = type,
        .cap_watts = cap_watts,
        .count = b ? 2 : 1,
        .members = {{.job = a, .nodes = 1}, {.job = b, .nodes = 1}}};
}

/* Four times the arithmetic and 16/3 of the bandwidth: sqrt(64/3) times as fast. */
static void rates_go_with_the_figures_of_the_sheet(void **state)
{
    struct prior p = make();
    struct job with_work = described(4, 32), with_need = fixture_rate_job(2, 10);
    struct job bare = fixture_job(3, 1);
    double ratio = log(sqrt(64.0 / 3));

    (void)state;
    for (int i = 0; i < 3; i++) {
        const struct job *job = i == 0 ? &with_work : i == 1 ? &with_need : &bare;

        assert_close(prior_log_rate(&p, job, FAST) - prior_log_rate(&p, job, SLOW), ratio,
                     1e-12);
    }
}

/* 3 passes of 2 operations, 4 GMAC, 32 samples: 768 GFLOP a step at 30 % of 5 TFLOPS
 * (the slow card's bandwidth is in proportion). */
static void work_divided_by_speed_gives_the_rate(void **state)
{
    struct prior p = make();
    struct job job = described(4, 32);

    (void)state;
    assert_close(exp(prior_log_rate(&p, &job, SLOW)), 5e12 * 0.3 / 768e9, 1e-9);
    job.kind = JOB_INFERENCE;
    assert_close(exp(prior_log_rate(&p, &job, SLOW)), 3 * 5e12 * 0.3 / 768e9, 1e-9);
    job.devices = 4;
    assert_close(exp(prior_log_rate(&p, &job, SLOW)), 12 * 5e12 * 0.3 / 768e9, 1e-9);
}

static void more_work_is_slower_and_an_unknown_batch_counts_one(void **state)
{
    struct prior p = make();
    struct job small = described(4, 16), large = described(4, 64);
    struct job unknown = described(4, 0), one = described(4, 1);

    (void)state;
    assert_close(prior_log_rate(&p, &small, SLOW) - prior_log_rate(&p, &large, SLOW),
                 log(4), 1e-12);
    assert_true(prior_log_rate(&p, &unknown, SLOW) == prior_log_rate(&p, &one, SLOW));
}

/* A middling GPU gives twice what people ask for. */
static void a_need_stands_in_for_unknown_work(void **state)
{
    struct prior p = make();
    struct job job = fixture_rate_job(1, 10);
    double middle = (prior_log_rate(&p, &job, SLOW) + prior_log_rate(&p, &job, FAST)) / 2;

    (void)state;
    assert_close(middle, log(20), 1e-9);
}

static void beside_another_a_job_is_slower(void **state)
{
    (void)state;
    assert_true(prior_log_relative() < 0 && prior_log_relative() > log(0.3));
}

static void watts_lie_between_idle_and_tdp_and_grow_with_jobs(void **state)
{
    struct prior p = make();
    struct job job = fixture_job(1, 1);

    (void)state;
    for (int type = 0; type < TYPES; type++) {
        struct combination one = of(type, 0, &job, NULL), two = of(type, 0, &job, &job);

        assert_true(prior_watts(&p, &one) > fixture_types[type].idle_watts);
        assert_true(prior_watts(&p, &two) > prior_watts(&p, &one));
        assert_true(prior_watts(&p, &two) < fixture_types[type].tdp_watts);
        assert_true(prior_cap_speed(&p, &two) == 1);
    }
}

static void a_cap_takes_watts_and_speed(void **state)
{
    struct prior p = make();
    struct job job = fixture_job(1, 1);
    struct combination capped = of(SLOW, 60, &job, &job), free = of(SLOW, 0, &job, &job);
    struct combination no_caps = of(FAST, 100, &job, NULL);

    (void)state;
    assert_true(prior_watts(&p, &capped) <= 60);
    assert_true(prior_watts(&p, &capped) < prior_watts(&p, &free));
    assert_true(prior_cap_speed(&p, &capped) < 1 && prior_cap_speed(&p, &capped) > 0);
    assert_true(prior_cap_speed(&p, &no_caps) == 1);
}

static void told_memory_decides_and_untold_leaves_doubt(void **state)
{
    struct prior p = make();
    struct job a = fixture_job(1, 1), b = fixture_job(2, 1), unknown = fixture_job(3, 1);
    struct combination both, doubtful;

    (void)state;
    a.memory_gb = b.memory_gb = 5;
    both = of(SLOW, 0, &a, &b);
    assert_true(prior_fits(&p, &both) == 0); /* 10 of 8 GB */
    both.type = FAST;
    assert_true(prior_fits(&p, &both) == 1);
    both.count = 1;
    both.type = SLOW;
    assert_true(prior_fits(&p, &both) == 1);
    a.memory_gb = 8.1;
    assert_true(prior_fits(&p, &both) == 0);
    doubtful = of(FAST, 0, &a, &unknown);
    assert_true(prior_fits(&p, &doubtful) > 0.5 && prior_fits(&p, &doubtful) < 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_go_with_the_figures_of_the_sheet),
        cmocka_unit_test(work_divided_by_speed_gives_the_rate),
        cmocka_unit_test(more_work_is_slower_and_an_unknown_batch_counts_one),
        cmocka_unit_test(a_need_stands_in_for_unknown_work),
        cmocka_unit_test(beside_another_a_job_is_slower),
        cmocka_unit_test(watts_lie_between_idle_and_tdp_and_grow_with_jobs),
        cmocka_unit_test(a_cap_takes_watts_and_speed),
        cmocka_unit_test(told_memory_decides_and_untold_leaves_doubt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
