/* test_gpu_shares.c - joules of jobs on a shared device, against a known truth */
#include "gpu/gpu_shares.h"

#include "base/rng.h"
#include "support/test.h"

#include <math.h>
#include <string.h>

static const struct gpu_sheet sheet = {.tdp_watts = 300, .idle_watts = 40};

/* A device whose truth is known: idle, the draw of each job alone, and how much less
 * jobs draw together. */
struct truth {
    double idle;
    double watts[4]; /* of jobs 1..4 alone */
    double together; /* factor on the draw of jobs that share: at most 1, and */
    double varies;   /* up to this much less from set to set */
    double noise;    /* sd of an interval's watts */
};

struct stage {
    unsigned jobs; /* bit j: job j + 1 is there */
    int seconds;
};

struct run {
    struct gpu_shares *shares;
    uint64_t seed;
    struct rng rng;
    double at_s;
    double true_joules[5]; /* idle, then jobs */
};

/* Microjoules that went in, and those that forgotten jobs took along. */
static int64_t added, forgotten;

static bool find_share(const struct gpu_shares *shares, uint64_t job,
                       struct gpu_share *share)
{
    static struct gpu_share all[512];
    size_t count = gpu_shares_all(shares, all, 512);

    assert_true(count <= 512);
    for (size_t i = 0; i < count; i++)
        if (all[i].job == job) {
            *share = all[i];
            return true;
        }
    return false;
}

static struct gpu_shares *open_shares(const struct gpu_sheet *of)
{
    added = forgotten = 0;
    return gpu_shares_create(of);
}

static int add(struct gpu_shares *shares, const struct gpu_interval *interval,
               const struct gpu_presence *jobs, size_t count)
{
    struct err err = {0};

    added += llround(interval->joules * 1e6);
    return gpu_shares_add(shares, interval, jobs, count, false, &err);
}

static void forget(struct gpu_shares *shares, uint64_t job)
{
    struct gpu_share share;

    if (find_share(shares, job, &share))
        forgotten += share.microjoules;
    gpu_shares_forget(shares, job);
    assert_false(find_share(shares, job, &share));
}

static void run_init(struct run *run, uint64_t seed, const struct gpu_sheet *of)
{
    memset(run, 0, sizeof(*run));
    run->shares = open_shares(of);
    run->seed = seed;
    rng_init(&run->rng, seed);
}

static void add_interval(struct run *run, const struct truth *truth, unsigned jobs,
                         bool told)
{
    struct gpu_presence present[4];
    struct gpu_interval interval = {.from_s = run->at_s, .to_s = run->at_s + 1};
    double less = truth->varies * (double)(rng_mix(run->seed, jobs) % 1000) / 1000;
    double factor = __builtin_popcount(jobs) > 1 ? truth->together - less : 1;
    double watts = truth->idle + truth->noise * rng_normal(&run->rng), sum = 0;
    size_t count = 0;

    for (int j = 0; j < 4; j++)
        sum += jobs >> j & 1 ? truth->watts[j] : 0;
    for (int j = 0; j < 4; j++)
        if (jobs >> j & 1) {
            present[count++] = (struct gpu_presence){
                .job = (uint64_t)j + 1, .activity = told ? truth->watts[j] / sum : NAN};
            watts += factor * truth->watts[j];
            run->true_joules[j + 1] += factor * truth->watts[j];
        }
    run->true_joules[0] += truth->idle;
    interval.joules = fmax(watts, 0);
    run->at_s += 1;
    assert_int_equal(add(run->shares, &interval, present, count), 0);
}

static void play(struct run *run, const struct truth *truth, const struct stage *stages,
                 size_t count, bool told)
{
    for (size_t i = 0; i < count; i++)
        for (int s = 0; s < stages[i].seconds; s++)
            add_interval(run, truth, stages[i].jobs, told);
}

static void assert_sums(const struct gpu_shares *shares)
{
    struct gpu_share all[128];
    size_t count = gpu_shares_all(shares, all, 128);
    int64_t sum = forgotten;

    assert_true(count <= 128);
    for (size_t i = 0; i < count; i++) {
        assert_true(all[i].microjoules >= 0);
        assert_true(all[i].error_joules >= 0);
        sum += all[i].microjoules;
    }
    assert_true(sum == added);
}

static struct gpu_share share_of(const struct gpu_shares *shares, uint64_t job)
{
    struct gpu_share share;

    assert_true(find_share(shares, job, &share));
    return share;
}

static const struct truth quiet = {
    .idle = 45, .watts = {80, 150, 30, 60}, .together = 1, .noise = 0};

CASE(job_alone_gets_what_is_above_idle)
{
    static const struct stage stages[] = {{0, 100}, {1, 100}, {0, 100}};
    struct run run;
    struct gpu_share share;

    run_init(&run, 1, &sheet);
    play(&run, &quiet, stages, 3, false);
    share = share_of(run.shares, 1);
    assert_float_equal(share.joules, 8000, 80);
    assert_float_equal(share_of(run.shares, 0).joules, 300 * 45, 100);
    assert_sums(run.shares);
    gpu_shares_destroy(run.shares);
}

CASE(coming_and_going_tells_jobs_apart)
{
    static const struct stage stages[] = {{0, 30}, {1, 60}, {3, 200}, {2, 60}, {0, 10}};
    struct run run;

    run_init(&run, 2, &sheet);
    play(&run, &quiet, stages, 5, false);
    for (uint64_t job = 1; job <= 2; job++) {
        struct gpu_share share = share_of(run.shares, job);

        assert_float_equal(share.joules, run.true_joules[job],
                           0.02 * run.true_joules[job]);
        assert_true(share.error_joules < 0.15 * share.joules);
    }
    assert_sums(run.shares);
    gpu_shares_destroy(run.shares);
}

/* Different pairs alone would do: nobody ever runs by itself. */
CASE(changing_company_is_enough)
{
    static const struct stage stages[] = {{3, 200}, {6, 200}, {5, 200}, {0, 20}};
    struct run run;

    run_init(&run, 3, &sheet);
    play(&run, &quiet, stages, 4, false);
    for (uint64_t job = 1; job <= 3; job++) {
        struct gpu_share share = share_of(run.shares, job);
        double off = fabs(share.joules - run.true_joules[job]);

        assert_true(off < 2 * share.error_joules);
        assert_true(off < 0.2 * run.true_joules[job] + 1000);
    }
    assert_sums(run.shares);
    gpu_shares_destroy(run.shares);
}

/* Two jobs that are always together cannot be told apart, and the error bar says so;
 * their activity divides them. */
CASE(always_together_is_unsure)
{
    static const struct stage stages[] = {{0, 50}, {3, 200}};
    struct run run;
    struct gpu_share one, two;

    run_init(&run, 4, &sheet);
    play(&run, &quiet, stages, 2, false);
    one = share_of(run.shares, 1);
    two = share_of(run.shares, 2);
    assert_float_equal(one.joules, two.joules, 1);
    assert_true(fabs(one.joules - run.true_joules[1]) < one.error_joules);
    assert_sums(run.shares);
    gpu_shares_destroy(run.shares);

    run_init(&run, 4, &sheet);
    play(&run, &quiet, stages, 2, true);
    one = share_of(run.shares, 1);
    assert_float_equal(one.joules, run.true_joules[1], 0.05 * run.true_joules[1]);
    gpu_shares_destroy(run.shares);
}

struct score {
    double inside; /* share of jobs whose truth lies within two standard errors */
    double bar;    /* mean error bar, relative */
    double off;    /* mean error, relative */
};

/* Four jobs that come and go, two of them never alone, under a hundred seeds. */
static struct score score_of(const struct truth *truth)
{
    static const struct stage stages[] = {{0, 20},  {1, 60},  {3, 120}, {7, 120},
                                          {6, 120}, {14, 90}, {8, 40},  {0, 20}};
    struct score score = {0};

    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct run run;

        run_init(&run, seed, seed % 2 ? &sheet : NULL);
        play(&run, truth, stages, sizeof(stages) / sizeof(stages[0]), false);
        assert_sums(run.shares);
        for (uint64_t job = 1; job <= 4; job++) {
            struct gpu_share share = share_of(run.shares, job);
            double off = fabs(share.joules - run.true_joules[job]);

            score.inside += (off < 2 * share.error_joules) / 400.0;
            score.bar += share.error_joules / run.true_joules[job] / 400;
            score.off += off / run.true_joules[job] / 400;
        }
        gpu_shares_destroy(run.shares);
    }
    print_message("within two errors %.1f %%, mean bar %.1f %%, mean error %.1f %%\n",
                  100 * score.inside, 100 * score.bar, 100 * score.off);
    return score;
}

/* Every set of jobs draws a tenth less than its sum: that is learnt. */
CASE(error_bars_hold_under_noise)
{
    static const struct truth truth = {
        .idle = 52, .watts = {80, 110, 40, 60}, .together = 0.9, .noise = 15};
    struct score score = score_of(&truth);

    assert_true(score.inside >= 0.95);
    assert_true(score.bar < 0.2);
    assert_true(score.off < 0.06);
}

/* Each set draws up to a fifth less, another part each: that cannot be learnt, and the
 * error bars cover it. */
CASE(error_bars_hold_where_power_does_not_add_up)
{
    static const struct truth truth = {.idle = 52,
                                       .watts = {80, 110, 40, 60},
                                       .together = 1,
                                       .varies = 0.2,
                                       .noise = 15};
    struct score score = score_of(&truth);

    assert_true(score.inside >= 0.95);
    assert_true(score.bar < 0.2);
    assert_true(score.off < 0.15);
}

CASE(forgotten_jobs_leave_the_sum_whole)
{
    static const struct stage before[] = {{0, 20}, {1, 60}, {3, 100}, {2, 60}};
    static const struct stage after[] = {{6, 100}, {4, 50}};
    struct run run;
    struct gpu_share two;

    run_init(&run, 5, &sheet);
    play(&run, &quiet, before, 4, false);
    two = share_of(run.shares, 2);
    forget(run.shares, 1);
    assert_sums(run.shares);
    assert_float_equal(share_of(run.shares, 2).joules, two.joules, 0.02 * two.joules);
    play(&run, &quiet, after, 2, false);
    assert_sums(run.shares);
    two = share_of(run.shares, 2);
    assert_float_equal(two.joules, run.true_joules[2], 0.03 * run.true_joules[2]);
    forget(run.shares, 1); /* again: nothing happens */
    assert_sums(run.shares);
    gpu_shares_destroy(run.shares);
}

/* Hundreds of jobs pass through a device; the fit stays small and nothing is lost. */
CASE(many_jobs_come_and_go)
{
    struct gpu_shares *shares = open_shares(&sheet);
    struct gpu_share share;
    struct rng rng;
    double at = 0;

    rng_init(&rng, 9);
    for (uint64_t i = 1; i <= 300; i++) {
        struct gpu_presence present[3] = {
            {i, NAN}, {i + 1, NAN}, {1 + rng_below(&rng, i), NAN}};
        struct gpu_interval interval = {.from_s = at, .to_s = at + 5};
        size_t count = present[2].job == i ? 2 : 3;

        interval.joules = 5 * (40 + 50 * (double)count) + rng_uniform(&rng);
        at += 5;
        assert_int_equal(add(shares, &interval, present, count), 0);
    }
    assert_int_equal(gpu_shares_all(shares, &share, 1), 302);
    assert_true(find_share(shares, 7, &share));
    for (uint64_t i = 1; i <= 250; i++)
        forget(shares, i);
    assert_int_equal(gpu_shares_all(shares, &share, 1), 52);
    assert_sums(shares);
    gpu_shares_destroy(shares);
}

CASE(refuses_what_cannot_be)
{
    struct gpu_shares *shares = open_shares(NULL);
    struct gpu_interval interval = {.from_s = 0, .to_s = 1, .joules = 10};
    struct gpu_interval bad = interval;
    struct gpu_presence twice[2] = {{1, NAN}, {1, NAN}}, zero = {0, NAN};
    struct gpu_presence many[GPU_SHARES_MAX_TOGETHER + 1];
    struct err err = {0};

    for (size_t i = 0; i <= GPU_SHARES_MAX_TOGETHER; i++)
        many[i] = (struct gpu_presence){i + 1, NAN};
    bad.joules = -1;
    assert_int_equal(gpu_shares_add(shares, &bad, NULL, 0, false, &err), -1);
    bad.joules = NAN;
    assert_int_equal(gpu_shares_add(shares, &bad, NULL, 0, false, &err), -1);
    bad = interval;
    bad.to_s = 0;
    assert_int_equal(gpu_shares_add(shares, &bad, NULL, 0, false, &err), -1);
    assert_int_equal(gpu_shares_add(shares, &interval, twice, 2, false, &err), -1);
    assert_int_equal(gpu_shares_add(shares, &interval, &zero, 1, false, &err), -1);
    assert_int_equal(err.code, ERR_INVALID);
    assert_int_equal(
        gpu_shares_add(shares, &interval, many, GPU_SHARES_MAX_TOGETHER + 1, false, &err),
        -1);
    assert_int_equal(err.code, ERR_LIMIT);
    assert_sums(shares);
    gpu_shares_destroy(shares);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_alone_gets_what_is_above_idle),
        cmocka_unit_test(coming_and_going_tells_jobs_apart),
        cmocka_unit_test(changing_company_is_enough),
        cmocka_unit_test(always_together_is_unsure),
        cmocka_unit_test(error_bars_hold_under_noise),
        cmocka_unit_test(error_bars_hold_where_power_does_not_add_up),
        cmocka_unit_test(forgotten_jobs_leave_the_sum_whole),
        cmocka_unit_test(many_jobs_come_and_go),
        cmocka_unit_test(refuses_what_cannot_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
