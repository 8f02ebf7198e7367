/* test_datasheet.c - the model without networks learns of a job, its like and its watts
 */
#include "loop_fixture.h"

#include "lab/policy/datasheet.h"

struct world {
    struct model model;
    struct job a, a2, other; /* a and a2 are of one family */
};

static struct world make(void)
{
    struct world w = {.model = datasheet_model_create(fixture_types, TYPES)};

    w.a = fixture_job(1, 1);
    w.a.descriptor.gmac_per_sample = 4;
    w.a2 = w.other = w.a;
    w.a2.id = 2;
    w.other.id = 3;
    strcpy(w.other.descriptor.family, "LM");
    w.model.ops->begin(w.model.self, &w.a);
    w.model.ops->begin(w.model.self, &w.a2);
    w.model.ops->begin(w.model.self, &w.other);
    return w;
}

static void end(struct world *w)
{
    w->model.ops->destroy(w->model.self);
}

static struct combination of(int type, const struct job *a, const struct job *b)
{
    return (struct combination){
        .type = type,
        .count = b ? 2 : 1,
        .members = {{.job = a, .nodes = 1}, {.job = b, .nodes = 1}}};
}

static void see(struct world *w, struct combination where, double rate, double watts)
{
    w->model.ops->absorb(
        w->model.self,
        &(struct observation){.where = where, .rate = rate, .device_watts = watts});
}

static double alone(struct world *w, const struct job *job, int type)
{
    return predict_alone(&w->model, job, type).rate[0].value;
}

static void a_first_estimate_is_initial_and_wide(void **state)
{
    struct world w = make();
    struct estimate e = predict_alone(&w.model, &w.a, SLOW).rate[0];

    (void)state;
    assert_int_equal(e.source, ESTIMATE_INITIAL);
    assert_true(e.high / e.low > 10);
    assert_close(alone(&w, &w.a, FAST) / alone(&w, &w.a, SLOW), sqrt(64.0 / 3), 1e-9);
    end(&w);
}

static void measuring_a_cell_moves_it_there_and_narrows_it(void **state)
{
    struct world w = make();
    double truth = 3 * alone(&w, &w.a, SLOW);
    struct estimate e;

    (void)state;
    for (int i = 0; i < 5; i++)
        see(&w, of(SLOW, &w.a, NULL), truth, NAN);
    e = predict_alone(&w.model, &w.a, SLOW).rate[0];
    assert_int_equal(e.source, ESTIMATE_MEASURED);
    assert_int_equal(e.observations, 5);
    assert_close(log(e.value / truth), 0, 0.05);
    assert_true(e.low < truth && truth < e.high && e.high / e.low < 1.3);
    end(&w);
}

static void the_same_job_elsewhere_its_like_and_others_follow_less_and_less(void **state)
{
    struct world w = make();
    const struct job *who[] = {&w.a, &w.a2, &w.other};
    double before[3][TYPES], moved[3][TYPES];

    (void)state;
    for (int i = 0; i < 3; i++)
        for (int t = 0; t < TYPES; t++)
            before[i][t] = alone(&w, who[i], t);
    see(&w, of(SLOW, &w.a, NULL), 3 * before[0][SLOW], NAN);
    for (int i = 0; i < 3; i++)
        for (int t = 0; t < TYPES; t++)
            moved[i][t] = log(alone(&w, who[i], t) / before[i][t]) / log(3);
    assert_true(moved[0][SLOW] > 0.95);
    assert_true(moved[1][SLOW] > 0.8 && moved[1][SLOW] < moved[0][SLOW]);
    assert_true(moved[0][FAST] > 0.7 && moved[0][FAST] < moved[0][SLOW]);
    assert_true(moved[1][FAST] > 0.6);
    /* Not of the family: only what all jobs have in common. */
    assert_true(moved[2][SLOW] < moved[1][FAST]);
    assert_true(moved[2][FAST] < moved[2][SLOW]);
    end(&w);
}

static void a_family_hangs_together_across_batches(void **state)
{
    struct world w = make();
    struct job larger = w.a;
    double before_larger, before_other = alone(&w, &w.other, SLOW);

    (void)state;
    larger.id = 10;
    larger.descriptor.batch = 64;
    before_larger = alone(&w, &larger, SLOW);
    see(&w, of(SLOW, &w.a, NULL), 3 * alone(&w, &w.a, SLOW), NAN);
    assert_true(log(alone(&w, &larger, SLOW) / before_larger) >
                log(alone(&w, &w.other, SLOW) / before_other) + 0.05);
    end(&w);
}

static void other_families_are_hardly_moved_once_they_are_known(void **state)
{
    struct world w = make();
    double truth = alone(&w, &w.other, SLOW), first = alone(&w, &w.a, SLOW);

    (void)state;
    for (int i = 0; i < 5; i++)
        see(&w, of(SLOW, &w.other, NULL), truth, NAN);
    for (int i = 0; i < 5; i++)
        see(&w, of(SLOW, &w.a, NULL), 3 * first, NAN);
    assert_close(log(alone(&w, &w.other, SLOW) / truth), 0, 0.03);
    assert_close(log(alone(&w, &w.a, SLOW) / first), log(3), 0.05);
    end(&w);
}

static void a_sibling_is_correlated_and_a_pair_unseen_is_not_measured(void **state)
{
    struct world w = make();
    struct combination pair = of(SLOW, &w.a, &w.other);
    struct prediction p;

    (void)state;
    see(&w, of(SLOW, &w.a, NULL), 10, NAN);
    assert_int_equal(predict_alone(&w.model, &w.a2, SLOW).rate[0].source,
                     ESTIMATE_CORRELATED);
    assert_int_equal(predict_alone(&w.model, &w.a, FAST).rate[0].source,
                     ESTIMATE_CORRELATED);
    predict(&w.model, &pair, &p);
    assert_int_equal(p.rate[0].source, ESTIMATE_CORRELATED);
    see(&w, pair, 5, NAN);
    predict(&w.model, &pair, &p);
    assert_int_equal(p.rate[0].source, ESTIMATE_MEASURED);
    end(&w);
}

static void sharing_slows_and_its_loss_is_learned_from_pairs(void **state)
{
    struct world w = make();
    struct combination pair = of(SLOW, &w.a, &w.other);
    struct prediction p;

    (void)state;
    for (int i = 0; i < 10; i++)
        see(&w, of(SLOW, &w.a, NULL), 10, NAN);
    predict(&w.model, &pair, &p);
    assert_close(p.rate[0].value, 6, 0.3);
    for (int i = 0; i < 10; i++)
        see(&w, pair, 3, NAN);
    predict(&w.model, &pair, &p);
    assert_close(log(p.rate[0].value / 3), 0, 0.1);
    assert_close(log(alone(&w, &w.a, SLOW) / 10), 0, 0.1); /* was sure: keeps its own */
    pair = of(SLOW, &w.a2, &w.other);                      /* its like suffers alike */
    predict(&w.model, &pair, &p);
    assert_true(p.rate[0].value < 4.5);
    end(&w);
}

static void pairs_of_unlike_classes_keep_their_own_loss(void **state)
{
    struct world w = make();
    struct job mild = w.a, mild2, gentle = w.a;
    struct combination hard = of(SLOW, &w.a2, &w.other), soft;
    struct prediction p;

    (void)state;
    mild.id = 4;
    gentle.id = 6;
    strcpy(mild.descriptor.family, "GAN");
    strcpy(gentle.descriptor.family, "RNN");
    mild2 = mild;
    mild2.id = 5;
    for (int i = 0; i < 10; i++) {
        see(&w, of(SLOW, &w.a, NULL), 10, NAN);
        see(&w, of(SLOW, &mild, NULL), 10, NAN);
    }
    for (int i = 0; i < 10; i++) {
        see(&w, of(SLOW, &w.a, &w.other), 3, NAN);
        see(&w, of(SLOW, &mild, &gentle), 9, NAN);
    }
    predict(&w.model, &hard, &p);
    assert_true(p.rate[0].value < 3.8);
    soft = of(SLOW, &mild2, &gentle);
    predict(&w.model, &soft, &p);
    assert_true(p.rate[0].value > 7.5);
    end(&w);
}

static void company_never_makes_faster(void **state)
{
    struct world w = make();
    struct combination pair = of(SLOW, &w.a, &w.other);
    struct prediction p;

    (void)state;
    for (int i = 0; i < 30; i++)
        see(&w, of(SLOW, &w.a, NULL), 10, NAN);
    for (int i = 0; i < 30; i++)
        see(&w, pair, 20, NAN);
    predict(&w.model, &pair, &p);
    assert_true(p.rate[0].value <= alone(&w, &w.a, SLOW) * (1 + 1e-9));
    end(&w);
}

static void a_rate_under_a_cap_tells_of_the_rate_without(void **state)
{
    struct world w = make();
    struct combination capped = of(SLOW, &w.a, NULL);
    struct prediction p;

    (void)state;
    capped.cap_watts = 60;
    for (int i = 0; i < 10; i++)
        see(&w, capped, 10, NAN);
    predict(&w.model, &capped, &p);
    assert_close(log(p.rate[0].value / 10), 0, 0.05);
    assert_true(alone(&w, &w.a, SLOW) > 1.02 * p.rate[0].value);
    end(&w);
}

static void out_of_memory_is_never_proposed_again_to_it_or_its_like(void **state)
{
    struct world w = make();
    struct combination pair = of(SLOW, &w.a, &w.other), turned = of(SLOW, &w.other, &w.a);
    struct prediction p;

    (void)state;
    predict(&w.model, &pair, &p);
    assert_true(p.fits > 0.5);
    w.model.ops->absorb(w.model.self,
                        &(struct observation){.where = pair, .out_of_memory = true});
    predict(&w.model, &turned, &p);
    assert_true(p.fits == 0);
    turned.type = FAST;
    predict(&w.model, &turned, &p);
    assert_true(p.fits > 0.5);
    assert_true(predict_alone(&w.model, &w.a, SLOW).fits > 0.5);
    pair = of(SLOW, &w.a2, &w.other);
    predict(&w.model, &pair, &p);
    assert_true(p.fits == 0);
    end(&w);
}

static void watts_are_learned_and_those_not_measured_ignored(void **state)
{
    struct world w = make();
    double first = predict_alone(&w.model, &w.a, SLOW).watts.value;
    struct prediction p;

    (void)state;
    see(&w, of(SLOW, &w.a, NULL), 10, NAN);
    assert_true(predict_alone(&w.model, &w.a, SLOW).watts.value == first);
    for (int i = 0; i < 10; i++)
        see(&w, of(SLOW, &w.a, NULL), 10, 33);
    p = predict_alone(&w.model, &w.a2, SLOW);
    assert_close(p.watts.value, 33, 1.5);
    assert_int_equal(p.watts.source, ESTIMATE_MEASURED);
    assert_true(predict_alone(&w.model, &w.a, FAST).watts.source == ESTIMATE_INITIAL);
    end(&w);
}

static void drift_is_followed(void **state)
{
    struct world w = make();

    (void)state;
    for (int i = 0; i < 500; i++)
        see(&w, of(SLOW, &w.a, NULL), 10, NAN);
    for (int i = 0; i < 100; i++)
        see(&w, of(SLOW, &w.a, NULL), 7, NAN);
    assert_close(log(alone(&w, &w.a, SLOW) / 7), 0, 0.03);
    end(&w);
}

/* An empty family means that it is unknown, not that all such jobs are alike. */
static void jobs_of_unknown_family_are_not_taken_for_kin(void **state)
{
    struct world w = make();
    struct job mine = w.a, theirs = w.a;

    (void)state;
    mine.id = 10;
    theirs.id = 11;
    mine.descriptor.family[0] = theirs.descriptor.family[0] = '\0';
    w.model.ops->begin(w.model.self, &mine);
    w.model.ops->begin(w.model.self, &theirs);
    w.model.ops->absorb(
        w.model.self,
        &(struct observation){.where = of(SLOW, &mine, NULL), .out_of_memory = true});
    assert_true(predict_alone(&w.model, &mine, SLOW).fits == 0);
    assert_true(predict_alone(&w.model, &theirs, SLOW).fits > 0.5);
    see(&w, of(SLOW, &mine, NULL), 50, NAN);
    assert_close(alone(&w, &theirs, SLOW), alone(&w, &w.other, SLOW), 1e-9);
    end(&w);
}

static void what_was_learned_outlives_the_job(void **state)
{
    struct world w = make();

    (void)state;
    for (int i = 0; i < 10; i++)
        see(&w, of(SLOW, &w.a, NULL), 50, NAN);
    w.model.ops->end(w.model.self, &w.a);
    w.model.ops->end(w.model.self, &w.a); /* twice is once */
    w.other.id = 4;
    w.model.ops->begin(w.model.self, &w.other); /* takes the place in the books */
    assert_true(alone(&w, &w.a2, SLOW) > 30);
    assert_true(fabs(log(alone(&w, &w.other, SLOW) / 50)) >
                fabs(log(alone(&w, &w.a2, SLOW) / 50)));
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_first_estimate_is_initial_and_wide),
        cmocka_unit_test(measuring_a_cell_moves_it_there_and_narrows_it),
        cmocka_unit_test(the_same_job_elsewhere_its_like_and_others_follow_less_and_less),
        cmocka_unit_test(a_family_hangs_together_across_batches),
        cmocka_unit_test(other_families_are_hardly_moved_once_they_are_known),
        cmocka_unit_test(a_sibling_is_correlated_and_a_pair_unseen_is_not_measured),
        cmocka_unit_test(sharing_slows_and_its_loss_is_learned_from_pairs),
        cmocka_unit_test(pairs_of_unlike_classes_keep_their_own_loss),
        cmocka_unit_test(company_never_makes_faster),
        cmocka_unit_test(a_rate_under_a_cap_tells_of_the_rate_without),
        cmocka_unit_test(out_of_memory_is_never_proposed_again_to_it_or_its_like),
        cmocka_unit_test(watts_are_learned_and_those_not_measured_ignored),
        cmocka_unit_test(drift_is_followed),
        cmocka_unit_test(jobs_of_unknown_family_are_not_taken_for_kin),
        cmocka_unit_test(what_was_learned_outlives_the_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
