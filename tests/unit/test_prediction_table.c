/* test_prediction_table.c - the model is asked as seldom as may be, and answers are what
 * it says */
#include "loop/optimize/prediction_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "loop/estimate/predict.h"
#include "loop/loop_settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define JOBS 700

static const struct gpu_sheet sheets[] = {{.name = "one", .tdp_watts = 200},
                                          {.name = "two", .tdp_watts = 300}};

/* Rates by id and type; whoever comes first in a question of two has more of it. */
struct teller {
    double factor;     /* on all rates */
    double of_47;      /* on those of job 47 besides */
    double demand_of;  /* requests/s that were named last */
    double fits;       /* of two */
    long alone, pairs; /* questions so far */
};

static struct {
    struct teller teller;
    struct model model;
    struct cluster *cluster;
    struct optimize_settings settings;
    struct optimize_input in;
    struct job_status jobs[JOBS];
    const struct job_status *list[JOBS];
    struct prediction_table *table;
    const struct table_kind *const *kinds;
} t;

static double rate_of(const struct job *job, int type)
{
    return (5 + (double)(job->id % 50)) * (type + 1) * t.teller.factor *
           (job->id == 47 ? t.teller.of_47 : 1);
}

static void tell(const void *self, struct prediction_cache *cache,
                 const struct combination *where, struct prediction *out)
{
    (void)self;
    (void)cache;
    t.teller.alone += where->count == 1;
    t.teller.pairs += where->count == 2;
    for (int i = 0; i < where->count; i++) {
        double rate = rate_of(where->members[i].job, where->type);

        if (where->count == 2)
            rate *= i == 0 ? 0.8 : 0.7;
        if (where->members[i].nodes > 1)
            rate *= where->type == 0 ? 0.9 : 0.6;
        out->rate[i] = estimate_from_log(log(rate), 0.2, ESTIMATE_INITIAL, 0);
        t.teller.demand_of = where->members[i].demand;
    }
    out->watts = estimate_from_log(log(100 * (1 + where->type) * where->count), 0.01,
                                   ESTIMATE_INITIAL, 0);
    out->fits = where->count == 2 ? t.teller.fits : 0.9;
}

static const struct model_ops ops = {.name = "teller", .predict = tell};

static int set_up(void **state)
{
    (void)state;
    memset(&t, 0, sizeof(t));
    t.teller = (struct teller){.factor = 1, .of_47 = 1, .fits = 0.9};
    t.model = (struct model){.ops = &ops};
    t.cluster = cluster_create(sheets, 2);
    for (int n = 0; n < 2; n++)
        cluster_add_node(t.cluster, &(struct node_spec){.type = n, .device_count = 2});
    t.settings = settings_default();
    t.table = prediction_table_create();
    for (size_t i = 0; i < JOBS; i++) {
        t.list[i] = &t.jobs[i];
        t.jobs[i] =
            (struct job_status){.state = JOB_WAITING,
                                .demand = NAN,
                                .job = {.id = i + 1, .devices = 1, .may_move = true}};
        snprintf(t.jobs[i].job.descriptor.family, sizeof(t.jobs[i].job.descriptor.family),
                 "family-%zu", i % 3);
    }
    t.in = (struct optimize_input){.cluster = t.cluster,
                                   .job_count = 10,
                                   .jobs = t.list,
                                   .model = &t.model,
                                   .settings = &t.settings};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    prediction_table_destroy(t.table);
    cluster_destroy(t.cluster);
    return 0;
}

static void begin_round(void)
{
    t.kinds = prediction_table_load(t.table, &t.in, NULL, false);
}

/* Questions about pairs that a look at these two takes. */
static long asked_for(int a, int b, int type)
{
    long before = t.teller.pairs;

    prediction_table_pair_on(t.table, t.kinds[a], t.kinds[b], type);
    return t.teller.pairs - before;
}

static void assert_near(double a, double b)
{
    assert_true(fabs(a - b) <= 1e-5 * fabs(b));
}

static void what_is_told_of_a_job_alone_is_what_the_model_says(void **state)
{
    const struct table_alone *alone;
    const struct estimate e = estimate_from_log(log(12), 0.2, ESTIMATE_INITIAL, 0);

    (void)state;
    t.jobs[0].job.need.confidence = 0.9;
    begin_round();
    for (int type = 0; type < 2; type++)
        for (int i = 0; i < 10; i++) {
            alone = &t.kinds[i]->alone[type];
            assert_ptr_equal(t.kinds[i]->job, &t.jobs[i]);
            assert_near(alone->expected, rate_of(&t.jobs[i].job, type));
            assert_near(alone->watts, 100 * (1 + type));
            assert_near(alone->fits, 0.9);
        }
    alone = &t.kinds[0]->alone[1]; /* job 1: 12 a second there */
    assert_near(alone->rate, estimate_at_confidence(&e, 0.9));
    assert_near(alone->hope, estimate_at_confidence(&e, 0.1));
    assert_true(t.kinds[0]->spread == 1);
    assert_int_equal(t.teller.alone, 20);
    assert_int_equal(t.teller.pairs, 0);
}

static void a_gang_is_as_slow_apart_as_on_the_worst_type(void **state)
{
    (void)state;
    t.jobs[3].job.devices = 2;
    begin_round();
    assert_near(t.kinds[3]->spread, 0.6);
    assert_true(t.kinds[4]->spread == 1);
}

static void a_pair_is_asked_once_and_told_to_each_side(void **state)
{
    struct table_pair one, other;

    (void)state;
    begin_round();
    for (int type = 0; type < 2; type++) {
        assert_int_equal(asked_for(2, 5, type), 1);
        assert_int_equal(asked_for(2, 5, type), 0);
        assert_int_equal(asked_for(5, 2, type), 0);
        one = prediction_table_pair_on(t.table, t.kinds[2], t.kinds[5], type);
        other = prediction_table_pair_on(t.table, t.kinds[5], t.kinds[2], type);
        assert_near(one.expected[0], 0.8 * rate_of(&t.jobs[2].job, type));
        assert_near(one.expected[1], 0.7 * rate_of(&t.jobs[5].job, type));
        for (int e = 0; e < 2; e++) {
            const struct estimate rate =
                estimate_from_log(log((double)one.expected[e]), 0.2, ESTIMATE_INITIAL, 0);

            assert_near(one.rate[e], estimate_at_confidence(&rate, 0.55));
            assert_near(one.hope[e], estimate_at_confidence(&rate, 0.1));
            assert_true(one.rate[e] == other.rate[1 - e]);
            assert_true(one.expected[e] == other.expected[1 - e]);
            assert_true(one.hope[e] == other.hope[1 - e]);
        }
        assert_near(one.watts, 200 * (1 + type));
        assert_true(one.watts == other.watts);
    }
    /* First seen from the other side it is the same. */
    other = prediction_table_pair_on(t.table, t.kinds[8], t.kinds[1], 0);
    assert_near(other.expected[0], 0.7 * rate_of(&t.jobs[8].job, 0));
    assert_near(other.expected[1], 0.8 * rate_of(&t.jobs[1].job, 0));
}

static void two_that_do_not_fit_are_told_apart(void **state)
{
    struct table_pair pair;

    (void)state;
    t.teller.fits = 0.49;
    begin_round();
    pair = prediction_table_pair_on(t.table, t.kinds[2], t.kinds[5], 0);
    assert_false(pair.fits);
    assert_true(pair.expected[0] > 0);
    t.teller.fits = 0.5;
    pair = prediction_table_pair_on(t.table, t.kinds[2], t.kinds[4], 0);
    assert_true(pair.fits && pair.rate[0] > 0 && pair.rate[1] > 0);
}

static void pairs_are_kept_until_there_is_news(void **state)
{
    (void)state;
    t.in.job_count = 60; /* the turn of the first comes soon */
    begin_round();
    assert_int_equal(asked_for(46, 43, 0), 1); /* job 47 and another */
    assert_int_equal(asked_for(44, 43, 0), 1);
    begin_round();
    assert_int_equal(asked_for(46, 43, 0), 0);
    t.teller.of_47 = 1.004; /* less than half a percent */
    begin_round();
    assert_int_equal(asked_for(46, 43, 0), 0);
    t.teller.of_47 = 1.006; /* since it was last asked, not since the last round */
    begin_round();
    assert_int_equal(asked_for(46, 43, 0), 1);
    assert_int_equal(asked_for(44, 43, 0), 0); /* nothing new of these */
    t.teller.of_47 = 0.99;
    begin_round();
    assert_int_equal(asked_for(46, 43, 1), 1);
    assert_int_equal(asked_for(46, 43, 0), 1);
    begin_round();
    assert_int_equal(asked_for(46, 43, 0), 0);
}

static void a_service_is_asked_for_again_when_its_demand_has_changed(void **state)
{
    struct job_status *s = &t.jobs[5];

    (void)state;
    s->job.kind = JOB_INFERENCE;
    s->job.need.rate = 100;
    begin_round();
    assert_int_equal(asked_for(0, 5, 0), 1);
    assert_near(t.teller.demand_of, 100);
    s->demand = 91; /* a tenth less is not enough */
    begin_round();
    assert_int_equal(asked_for(0, 5, 0), 0);
    s->demand = 89;
    begin_round();
    assert_int_equal(asked_for(0, 5, 0), 1);
    assert_near(t.teller.demand_of, 89);
    s->demand = 99; /* more than a tenth above 89 */
    begin_round();
    assert_int_equal(asked_for(0, 5, 0), 1);
}

static void seat(int job, int device)
{
    t.jobs[job].state = JOB_RUNNING;
    t.jobs[job].device_count = 1;
    t.jobs[job].devices[0] = device;
}

static void who_shares_a_device_now_is_asked_for_in_each_round(void **state)
{
    (void)state;
    t.in.job_count = 60; /* the turn of the first comes soon */
    seat(40, 2);         /* of the second type */
    seat(43, 2);
    seat(44, 0);
    seat(45, 1);
    for (int i = 0; i < 3; i++) {
        begin_round();
        assert_int_equal(asked_for(40, 43, 1), 1);
        assert_int_equal(asked_for(40, 43, 0),
                         i == 0); /* they do not share one of these */
        assert_int_equal(asked_for(40, 44, 1), i == 0);
        assert_int_equal(asked_for(44, 45, 0), i == 0);
        assert_int_equal(asked_for(47, 48, 0), i == 0); /* both wait */
        assert_int_equal(asked_for(43, 48, 1), i == 0);
    }
}

/* Whatever was missed is asked for in turn. */
static void in_time_every_pair_is_asked_for_again(void **state)
{
    long asked = 0;

    (void)state;
    begin_round();
    for (int round = 0; round < 4 * PREDICTION_TABLE_MOST; round++) {
        asked += asked_for(2, 5, 0);
        begin_round();
    }
    assert_in_range(asked, 4, 6); /* at first, and twice by each of the two */
}

static void who_has_left_is_known_when_back_soon(void **state)
{
    (void)state;
    t.in.job_count = 200;
    begin_round();
    assert_int_equal(asked_for(101, 102, 0), 1);
    t.in.jobs = t.list + 200; /* others */
    begin_round();
    t.in.jobs = t.list;
    begin_round();
    assert_int_equal(asked_for(101, 102, 0), 0);
    for (int i = 1; i < 3; i++) { /* more than there is room for */
        t.in.jobs = t.list + 200 * i;
        begin_round();
    }
    t.in.job_count = 100;
    t.in.jobs = t.list + 600;
    begin_round();
    t.in.job_count = 200;
    t.in.jobs = t.list;
    begin_round();
    assert_ptr_equal(t.kinds[101]->job, &t.jobs[101]);
    assert_ptr_not_equal(t.kinds[101], t.kinds[102]);
    assert_int_equal(asked_for(101, 102, 0), 1);
}

/* ---- more jobs than there is room for ---- */

static void many_jobs_of_a_kind_are_asked_for_as_one(void **state)
{
    (void)state;
    t.in.job_count = PREDICTION_TABLE_MOST;
    begin_round();
    assert_ptr_not_equal(t.kinds[0], t.kinds[3]); /* of one family, each for itself */
    t.in.job_count = PREDICTION_TABLE_MOST + 1;
    t.jobs[9].job.kind = JOB_INFERENCE;
    t.jobs[12].job.devices = 4;
    t.jobs[15].job.descriptor.batch = 64;
    t.jobs[18].job.descriptor.model = 5;
    t.jobs[21].job.need.confidence = 0.9; /* sure of less: not as those who may risk it */
    t.jobs[24].job.may_move = false;
    begin_round();
    for (size_t i = 0; i < t.in.job_count; i++) {
        size_t first = i >= 9 && i <= 24 && i % 3 == 0 ? i : i % 3;

        assert_ptr_equal(t.kinds[i]->job, &t.jobs[first]);
        for (size_t k = 0; k < i; k++)
            assert_int_equal(t.kinds[k] == t.kinds[i], t.kinds[k]->job == &t.jobs[first]);
    }
}

static void of_too_many_kinds_the_last_stands_for_the_rest(void **state)
{
    (void)state;
    t.in.job_count = JOBS;
    for (int i = 0; i < JOBS; i++)
        t.jobs[i].job.descriptor.batch = i + 1;
    for (int round = 0; round < 3; round++) {
        begin_round();
        for (int i = 0; i < JOBS; i++) {
            int stands = i < PREDICTION_TABLE_MOST ? i : PREDICTION_TABLE_MOST - 1;

            assert_ptr_equal(t.kinds[i]->job, &t.jobs[stands]);
        }
    }
}

/* Another cluster: what was kept is of types that are not there. */
static void another_number_of_types_begins_anew(void **state)
{
    struct cluster *one = cluster_create(sheets, 1);

    (void)state;
    t.in.job_count = 60;
    begin_round();
    assert_int_equal(asked_for(44, 43, 0), 1);
    t.in.cluster = one;
    begin_round();
    assert_int_equal(asked_for(44, 43, 0), 1);
    assert_int_equal(asked_for(44, 43, 0), 0);
    t.in.cluster = t.cluster;
    begin_round();
    assert_int_equal(asked_for(44, 43, 1), 1);
    cluster_destroy(one);
}

static void nothing_to_destroy_is_fine(void **state)
{
    (void)state;
    prediction_table_destroy(NULL);
}

#define table_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        table_test(what_is_told_of_a_job_alone_is_what_the_model_says),
        table_test(a_gang_is_as_slow_apart_as_on_the_worst_type),
        table_test(a_pair_is_asked_once_and_told_to_each_side),
        table_test(two_that_do_not_fit_are_told_apart),
        table_test(pairs_are_kept_until_there_is_news),
        table_test(a_service_is_asked_for_again_when_its_demand_has_changed),
        table_test(who_shares_a_device_now_is_asked_for_in_each_round),
        table_test(in_time_every_pair_is_asked_for_again),
        table_test(who_has_left_is_known_when_back_soon),
        table_test(many_jobs_of_a_kind_are_asked_for_as_one),
        table_test(of_too_many_kinds_the_last_stands_for_the_rest),
        table_test(another_number_of_types_begins_anew),
        cmocka_unit_test(nothing_to_destroy_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
