/* test_model_users.c - what users measure informs others as far as they agree, and lies
 * stay with the liar */
#include "loop/estimate/predict.h"
#include "model/by_user.h"
#include "model/learned.h"
#include "model/tally.h"
#include "model/trust.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { K80, V100, P100, TYPES };
enum { VICTIM = 1000, LIAR = 2000, OTHER = 3000, THIRD = 4000 };

static struct gpu_sheet types[TYPES];
static struct model model;
static uint64_t last_job;

/* ---- by_user, tally, trust ----------------------------------------------------------
 */

static void no_few_users_move_the_median(void **state)
{
    struct by_user users[20];

    (void)state;
    for (int i = 0; i < 20; i++)
        users[i] = (struct by_user){i < 2 ? 1e9 : 1 + i / 100.0, i < 2 ? 1e6 : 1 + i};
    assert_true(by_user_weight(users, 20) < 250);
    assert_true(by_user_median(users, 20) < 1.2);
    users[0] = (struct by_user){3, 1};
    users[1] = (struct by_user){5, 1};
    assert_float_equal(by_user_median(users, 2), 4, 1e-12);
    assert_float_equal(by_user_median(users, 1), 3, 1e-12);
}

/* Eight jobs were told and each then corrected by the same: the mean moved by eight times
 * that, and out of all bounds after a sudden change. */
static void a_tally_lies_between_what_was_said(void **state)
{
    struct tally t = TALLY_EMPTY;

    (void)state;
    for (int turn = 0; turn < 5; turn++)
        for (uint64_t job = 1; job <= 20; job++) {
            tally_take(&t, &(struct tally_word){1, job, turn % 2 ? -2.3 : 0, 0.01},
                       job % 3 == 0);
            assert_true(t.mean <= 0 && t.mean >= -2.3);
            assert_true(t.words.count <= TALLY_OF_USER);
        }
    assert_float_equal(t.mean, 0, 1e-12);
    tally_fini(&t);
}

static void users_have_one_voice_in_a_tally(void **state)
{
    struct tally t = TALLY_EMPTY;
    double mean;

    (void)state;
    for (int user = 0; user < 9; user++)
        tally_take(&t, &(struct tally_word){user, (uint64_t)user, 1, 0.01}, false);
    for (uint64_t job = 100; job < 200; job++)
        tally_take(&t, &(struct tally_word){77, job, 40, 0.01}, true);
    assert_int_equal(t.users, 10);
    assert_float_equal(t.mean, 1, 1e-12);
    assert_true(tally_voice(&t, 77, &mean) > 0);
    assert_float_equal(mean, 40, 1e-12);
    assert_int_equal(tally_voice(&t, 78, &mean), 0);
    tally_fini(&t);
}

static void who_agrees_is_believed_and_few_are_no_witnesses(void **state)
{
    struct trust t;

    (void)state;
    trust_init(&t, true);
    assert_true(trust_has(&t, 1, 1));
    assert_false(trust_has(&t, 1, 2));
    trust_compare(&t, 1, 2, true);
    assert_true(trust_has(&t, 1, 2) && trust_has(&t, 2, 1));
    assert_false(trust_has(&t, 3, 2)); /* one witness is none */
    trust_compare(&t, 4, 2, true);
    assert_true(trust_has(&t, 3, 2));
    trust_compare(&t, 3, 2, false); /* who has seen for themselves needs no witness */
    assert_false(trust_has(&t, 3, 2));
    for (int i = 10; i < 40; i++) /* now two are far less than a fifth of all */
        trust_meet(&t, i);
    assert_false(trust_has(&t, 39, 2));
    assert_true(trust_has(&t, 1, 2));
    trust_compare(&t, 1, 2, false);
    assert_false(trust_has(&t, 1, 2));
    trust_fini(&t);
    trust_init(&t, false);
    trust_compare(&t, 1, 2, true);
    assert_false(trust_has(&t, 1, 2));
    trust_fini(&t);
}

/* ---- the model ----------------------------------------------------------------------
 */

static int set_up(void **state)
{
    (void)state;
    types[K80] = *gpu_find("k80");
    types[V100] = *gpu_find("v100");
    types[P100] = *gpu_find("p100");
    model = learned_create(types, TYPES, &(struct learned_options){.seed = 1});
    last_job = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    model.ops->destroy(model.self);
    return 0;
}

static struct job job_of(int user, const char *family, int batch)
{
    struct job job = {.id = ++last_job,
                      .owner = user,
                      .devices = 1,
                      .descriptor = {.batch = batch, .gmac_per_sample = 4},
                      .need = {.kind = NEED_RATE, .rate = 0.1},
                      .may_share = true};

    snprintf(job.descriptor.family, sizeof(job.descriptor.family), "%s", family);
    return job;
}

static double truth(int type)
{
    static const double rates[] = {[K80] = 0.5, [V100] = 3, [P100] = 1.6};

    return rates[type];
}

static void tell(const struct job *job, int type, double rate, double at_s)
{
    const struct observation seen = {
        .where = {.type = type, .count = 1, .members = {{job, 1, 0}}},
        .at_s = at_s,
        .rate = rate,
        .device_watts = NAN};

    model.ops->absorb(model.self, &seen);
}

static void windows(const struct job *job, int type, double times, int count)
{
    for (int i = 0; i < count; i++)
        tell(job, type, times * truth(type) * (1 + 0.02 * (i % 3 - 1)), 60.0 * i);
}

static struct estimate asked(const struct job *job, int type)
{
    return predict_alone(&model, job, type).rate[0];
}

/* What a liar did to a family of the same name: /10 became 1e-10, x30 became 4e7. */
static void lies(const char *family, double times)
{
    for (int i = 0; i < 8; i++) {
        struct job job = job_of(LIAR, family, 32);

        windows(&job, i % TYPES, 1, 2);
        windows(&job, i % TYPES, times, 20);
        windows(&job, i % TYPES, 1 / times, 3);
        windows(&job, i % TYPES, times, 20);
    }
}

/* The same user's next job on a type never measured, where another user of the family's
 * name tells this many times the truth. */
static double beside_liar(void **state, double times)
{
    struct job mine, next;

    tear_down(state);
    set_up(state);
    mine = job_of(VICTIM, "games:train.py", 32);
    next = job_of(VICTIM, "games:train.py", 32);
    windows(&mine, K80, 1, 10);
    for (int user = 1; user <= 3; user++) {
        struct job job = job_of(user, "other", 32);

        for (int type = 0; type < TYPES; type++)
            windows(&job, type, user, 10);
    }
    lies("games:train.py", times);
    assert_int_equal(asked(&mine, K80).source, ESTIMATE_MEASURED);
    assert_float_equal(asked(&mine, K80).value, truth(K80), 0.05 * truth(K80));
    assert_float_equal(asked(&next, K80).value, truth(K80), 0.1 * truth(K80));
    return asked(&next, V100).value;
}

static void a_lie_in_a_familys_name_does_not_reach_who_measured_it(void **state)
{
    double honest = beside_liar(state, 1);

    assert_true(fabs(log(beside_liar(state, 10) / honest)) < 0.25);
    assert_true(fabs(log(beside_liar(state, 0.1) / honest)) < 0.25);
    assert_true(fabs(log(beside_liar(state, 30) / honest)) < 0.25);
    assert_true(fabs(log(beside_liar(state, 1e8) / honest)) < 0.25);
}

/* The liar's own: between what was said, and never beyond. */
static void a_lie_ends_where_it_points(void **state)
{
    struct job own = job_of(LIAR, "own", 32);

    (void)state;
    lies("own", 0.1);
    assert_true(asked(&own, K80).value > 0.05 * truth(K80));
    assert_true(asked(&own, K80).value < 11 * truth(K80));
}

/* A user who has measured nothing is told nothing for sure by one stranger: the job is
 * taken without a promise, and not refused. */
static void one_strangers_word_is_a_rumour(void **state)
{
    struct job mine = job_of(VICTIM, "shared", 32);
    struct estimate blank = asked(&mine, K80), heard;

    (void)state;
    lies("shared", 0.1);
    heard = asked(&mine, K80);
    assert_int_equal(heard.source, ESTIMATE_INITIAL);
    assert_false(heard.of_kind);
    assert_true(fabs(log(heard.value / blank.value)) < 2.3);
    assert_true(heard.high / heard.low > 5);
}

static void honest_users_inform_each_other(void **state)
{
    struct job one = job_of(OTHER, "resnet", 32), two = job_of(THIRD, "resnet", 32);
    struct job mine = job_of(VICTIM, "resnet", 32);
    struct estimate e;

    (void)state;
    windows(&one, K80, 1, 10);
    windows(&one, V100, 1, 10);
    windows(&two, K80, 1.05, 10); /* they agree, so THIRD knows of V100 */
    e = asked(&two, V100);
    assert_float_equal(e.value, truth(V100), 0.25 * truth(V100));
    windows(&mine, K80, 0.97, 5);
    e = asked(&mine, V100);
    assert_float_equal(e.value, truth(V100), 0.15 * truth(V100));
    assert_true(e.low < truth(V100) && e.high > truth(V100));
}

/* With other batches, and for one who has measured nothing of the family. */
static void witnesses_vouch_for_who_was_never_met(void **state)
{
    struct job mine = job_of(VICTIM, "bert", 32);

    (void)state;
    for (int user = 1; user <= 4; user++) {
        struct job job = job_of(user, "bert", 32);

        windows(&job, K80, 1, 8);
    }
    assert_int_equal(asked(&mine, K80).source, ESTIMATE_CORRELATED);
    assert_float_equal(asked(&mine, K80).value, truth(K80), 0.15 * truth(K80));
    assert_false(asked(&mine, K80).of_kind); /* it is not refused for what others say */
    lies("bert", 10);
    assert_float_equal(asked(&mine, K80).value, truth(K80), 0.15 * truth(K80));
}

static void two_programs_of_one_name_stay_two(void **state)
{
    struct job one = job_of(OTHER, "train.py", 0), two = job_of(THIRD, "train.py", 0);
    struct job next;

    (void)state;
    windows(&one, K80, 1, 10);
    windows(&one, V100, 1, 10);
    windows(&two, K80, 40, 10);
    next = job_of(THIRD, "train.py", 0);
    assert_float_equal(asked(&next, K80).value, 40 * truth(K80), 4 * truth(K80));
    assert_true(asked(&next, V100).value > 50 * truth(V100) / 4);
}

static void users_kept_apart_learn_nothing_of_each_other(void **state)
{
    struct job mine = job_of(VICTIM, "bert", 32);
    struct estimate before;

    (void)state;
    model.ops->destroy(model.self);
    model = learned_create(
        types, TYPES, &(struct learned_options){.seed = 1, .keep_users_apart = true});
    for (int user = 1; user <= 4; user++) {
        struct job job = job_of(user, "bert", 32);

        windows(&job, K80, 1, 8);
    }
    before = asked(&mine, K80);
    assert_int_equal(before.source, ESTIMATE_INITIAL);
}

/* How noisy windows are and how fast rates wander is learned of all users: intervals of
 * the honest stay as they are. */
static void a_liars_noise_does_not_widen_intervals_of_others(void **state)
{
    struct job jobs[9], liar = job_of(LIAR, "l", 32);
    struct estimate before, after;

    (void)state;
    for (int i = 0; i < 9; i++) {
        jobs[i] = job_of(i + 1, "honest", 32);
        windows(&jobs[i], K80, 1, 30);
    }
    before = asked(&jobs[0], K80);
    for (int i = 0; i < 500; i++)
        tell(&liar, K80, i % 2 ? 1e-3 : 1e3, 60.0 * i);
    tell(&jobs[0], K80, truth(K80), 60.0 * 31);
    after = asked(&jobs[0], K80);
    assert_true(log(after.high / after.low) < 1.2 * log(before.high / before.low));
}

enum { HONEST = 19 };

/* What is believed of honest users' jobs, measured and not, when one job of another user
 * always tells so many times the truth; 0: it is not there. */
static void believed_beside(void **state, const char *family, double times,
                            double out[HONEST][TYPES])
{
    struct job jobs[HONEST], liar;

    tear_down(state);
    set_up(state);
    liar = job_of(LIAR, family, 32);
    for (int i = 0; i < HONEST; i++) {
        jobs[i] = job_of(i + 1, i % 4 == 0 ? "one" : i % 4 == 1 ? "two" : "three", 32);
        windows(&jobs[i], i % TYPES, exp(0.1 * (i % 5)), 5);
        if (times > 0)
            windows(&liar, i % TYPES, times, 3);
        windows(&jobs[i], (i + 1) % TYPES, exp(0.1 * (i % 5)), 5);
    }
    for (int i = 0; i < HONEST; i++)
        for (int t = 0; t < TYPES; t++)
            out[i][t] = asked(&jobs[i], t).value;
}

static void a_job_that_always_lies_moves_nobody_elses_estimates(void **state)
{
    static const char *const families[] = {"one", "three", "its own"};
    static const double lies_told[] = {10, 0.1, 30};
    double without[HONEST][TYPES], lied[HONEST][TYPES], most = 0;

    for (int f = 0; f < 3; f++) {
        believed_beside(state, families[f], 0, without);
        for (int k = 0; k < 3; k++) {
            believed_beside(state, families[f], lies_told[k], lied);
            for (int i = 0; i < HONEST; i++)
                for (int t = 0; t < TYPES; t++)
                    most = fmax(most, fabs(log(lied[i][t] / without[i][t])));
        }
    }
    printf("# one that always lies moves others by at most %.4f\n", most);
    assert_true(most < 0.05);
}

static void users_and_whom_they_believe_survive_as_bytes(void **state)
{
    struct job mine = job_of(VICTIM, "bert", 32), next = job_of(VICTIM, "bert", 64);
    unsigned char *bytes;
    struct estimate before[2], after[2];
    size_t count;

    (void)state;
    for (int user = 1; user <= 4; user++) {
        struct job job = job_of(user, "bert", 32);

        windows(&job, K80, 1, 8);
        windows(&job, V100, 1, 8);
    }
    windows(&mine, K80, 1, 5);
    before[0] = asked(&mine, V100);
    before[1] = asked(&next, P100);
    learned_save(model.self, &bytes, &count);
    model.ops->destroy(model.self);
    model = learned_create(types, TYPES, &(struct learned_options){.seed = 1});
    assert_int_equal(learned_load(model.self, bytes, count, NULL), 0);
    free(bytes);
    after[0] = asked(&mine, V100);
    after[1] = asked(&next, P100);
    for (int i = 0; i < 2; i++) {
        assert_float_equal(before[i].value, after[i].value, 1e-9 * before[i].value);
        assert_float_equal(before[i].high, after[i].high, 1e-9 * before[i].high);
    }
}

/* A thousand names do not make a model forget what others measured. */
static void nobody_makes_others_be_forgotten(void **state)
{
    struct job mine = job_of(VICTIM, "kept", 32), next;
    char name[32];

    (void)state;
    windows(&mine, K80, 1, 10);
    model.ops->end(model.self, &mine);
    for (int i = 0; i < 2 * LEARNED_CLASSES; i++) {
        struct job job;

        snprintf(name, sizeof(name), "flood-%d", i);
        job = job_of(LIAR, name, 32);
        tell(&job, K80, 1, 0);
        model.ops->end(model.self, &job);
    }
    next = job_of(VICTIM, "kept", 32);
    assert_float_equal(asked(&next, K80).value, truth(K80), 0.05 * truth(K80));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_few_users_move_the_median),
        cmocka_unit_test(a_tally_lies_between_what_was_said),
        cmocka_unit_test(users_have_one_voice_in_a_tally),
        cmocka_unit_test(who_agrees_is_believed_and_few_are_no_witnesses),
        cmocka_unit_test_setup_teardown(
            a_lie_in_a_familys_name_does_not_reach_who_measured_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lie_ends_where_it_points, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_strangers_word_is_a_rumour, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(honest_users_inform_each_other, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(witnesses_vouch_for_who_was_never_met, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(two_programs_of_one_name_stay_two, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(users_kept_apart_learn_nothing_of_each_other,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_liars_noise_does_not_widen_intervals_of_others,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_job_that_always_lies_moves_nobody_elses_estimates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(users_and_whom_they_believe_survive_as_bytes,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(nobody_makes_others_be_forgotten, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
