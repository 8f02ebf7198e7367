/* test_fair_share.c - what users had and are due, and the order of the queue by it */
#include "loop/fair_share.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "loop/queue_order.h"
#include "model/codec.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#define HALF_LIFE_S (7 * 86400.0)
#define HOUR_S      3600.0
#define JOBS        40

enum { ADA = 1, BOB = 2, CID = 3 };

static struct fair_shares *shares;
static struct job_status jobs[JOBS];
static const struct job_status *listed[JOBS];
static struct optimize_settings settings;
static struct optimize_input in;

static int set_up(void **state)
{
    (void)state;
    shares = fair_shares_create();
    settings = (struct optimize_settings){.fair_share_s = HALF_LIFE_S};
    in = (struct optimize_input){.jobs = listed, .shares = shares, .settings = &settings};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fair_shares_destroy(shares);
    return 0;
}

/* Any job of the user that says no account. */
static const struct job *of(int owner)
{
    static struct job job;

    job = (struct job){.owner = owner};
    return &job;
}

static void tell(int owner, const char *name, const char *account, double weight,
                 double account_weight)
{
    fair_shares_tell(shares, &(struct fair_share_rule){.owner = owner,
                                                       .name = name,
                                                       .account = account,
                                                       .weight = weight,
                                                       .account_weight = account_weight});
}

/* The same of the jobs that say this account themselves. */
static void tell_apart(int owner, const char *name, const char *account,
                       double account_weight)
{
    fair_shares_tell(shares, &(struct fair_share_rule){.owner = owner,
                                                       .name = name,
                                                       .account = account,
                                                       .weight = 1,
                                                       .account_weight = account_weight,
                                                       .apart = true});
}

static const struct job *of_account(int owner, const char *account)
{
    static struct job job;

    job = (struct job){.owner = owner, .account = fair_shares_account(account)};
    return &job;
}

static struct job_status *add(int owner, enum job_state status)
{
    struct job_status *job = &jobs[in.job_count];

    *job = (struct job_status){.state = status,
                               .job = {.id = in.job_count + 1,
                                       .owner = owner,
                                       .devices = 1,
                                       .submitted_s = in.now_s}};
    job->device_count = status == JOB_RUNNING;
    fair_shares_meet(shares, &job->job);
    listed[in.job_count++] = job;
    return job;
}

static void assert_order(const char *owners)
{
    size_t order[JOBS], count = queue_order(&in, JOBS, order);

    for (size_t i = 0; i < count; i++) {
        assert_true(owners[i] != '\0');
        if (listed[order[i]]->job.owner != owners[i] - 'a' + 1)
            fail_msg("place %zu has a job of %c, not of %c", i,
                     'a' + listed[order[i]]->job.owner - 1, owners[i]);
    }
    assert_true(owners[count] == '\0');
}

static struct fair_share one(int owner, double now_s)
{
    size_t count;
    struct fair_share *list = fair_shares_list(shares, HALF_LIFE_S, now_s, &count), found;
    int at = fair_shares_place(shares, of(owner));

    assert_true(at >= 0 && (size_t)at < count);
    found = list[at];
    free(list);
    return found;
}

static void use_is_halved_with_every_half_life(void **state)
{
    (void)state;
    fair_shares_use(shares, of(ADA), 800, HALF_LIFE_S, 0);
    assert_true(fabs(one(ADA, HALF_LIFE_S).used_s - 400) < 1e-6);
    fair_shares_use(shares, of(ADA), 100, HALF_LIFE_S, HALF_LIFE_S);
    assert_true(fabs(one(ADA, 2 * HALF_LIFE_S).used_s - 250) < 1e-6);
}

static void parts_are_of_accounts_and_of_users_in_them(void **state)
{
    (void)state;
    tell(ADA, "ada", "lab", 3, 2);
    tell(BOB, "bob", "lab", 1, 2);
    tell(CID, "cid", NULL, 2, 1);
    fair_shares_use(shares, of(ADA), 30, HALF_LIFE_S, 0);
    fair_shares_use(shares, of(CID), 10, HALF_LIFE_S, 0);
    assert_true(fabs(one(ADA, 0).due - 0.375) < 1e-9);
    assert_true(fabs(one(BOB, 0).due - 0.125) < 1e-9);
    assert_true(fabs(one(CID, 0).due - 0.5) < 1e-9);
    assert_true(fabs(one(ADA, 0).had - 0.75) < 1e-9);
    assert_string_equal(one(BOB, 0).account, "lab");
}

static void who_had_less_goes_first_and_turns_are_taken(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++)
        add(ADA, JOB_WAITING);
    for (int i = 0; i < 4; i++)
        add(BOB, JOB_WAITING);
    assert_order("abababab");
    fair_shares_use(shares, of(ADA), 2 * HOUR_S, HALF_LIFE_S, 0);
    assert_order("bbababaa");
}

static void weights_say_how_often(void **state)
{
    (void)state;
    tell(ADA, "ada", NULL, 3, 1);
    for (int i = 0; i < 6; i++)
        add(ADA, JOB_WAITING);
    for (int i = 0; i < 2; i++)
        add(BOB, JOB_WAITING);
    assert_order("abaaabaa");
}

static void devices_held_now_count(void **state)
{
    (void)state;
    add(ADA, JOB_RUNNING);
    add(ADA, JOB_WAITING);
    add(BOB, JOB_WAITING);
    assert_order("ba");
}

static void an_account_is_served_as_one(void **state)
{
    (void)state;
    tell(ADA, "ada", "lab", 1, 1);
    tell(BOB, "bob", "lab", 1, 1);
    add(ADA, JOB_WAITING);
    add(ADA, JOB_WAITING);
    add(BOB, JOB_WAITING);
    add(CID, JOB_WAITING);
    add(CID, JOB_WAITING);
    assert_order("acbca");
}

static void priority_goes_before_shares(void **state)
{
    (void)state;
    fair_shares_use(shares, of(ADA), 100 * HOUR_S, HALF_LIFE_S, 0);
    add(BOB, JOB_WAITING);
    add(ADA, JOB_WAITING)->job.priority = 1;
    assert_order("ab");
}

/* Its jobs wait for days, and one of them runs all the time: that is its share. */
static void a_user_that_is_served_does_not_age(void **state)
{
    (void)state;
    add(ADA, JOB_WAITING)->job.submitted_s = -100 * HOUR_S;
    add(BOB, JOB_WAITING);
    fair_shares_use(shares, of(ADA), 100 * HOUR_S, HALF_LIFE_S, 0);
    assert_order("ab"); /* nobody served it */
    fair_shares_serve(shares, of(ADA), -HOUR_S);
    assert_order("ba");
}

/* Of one user: a deadline that leaves little time first, the nearest of those; what is
 * far off or lost waits for its turn. */
static void a_near_deadline_goes_before_admission(void **state)
{
    static const double deadlines_h[] = {100, 3, 2, -1};
    size_t order[JOBS];

    (void)state;
    add(ADA, JOB_WAITING);
    for (int i = 0; i < 4; i++)
        add(ADA, JOB_WAITING)->job.need = (struct requirement){
            .kind = NEED_DEADLINE, .deadline_s = deadlines_h[i] * HOUR_S};
    assert_int_equal(queue_order(&in, JOBS, order), 5);
    assert_true(order[0] == 3 && order[1] == 2 && order[2] == 0 && order[3] == 1 &&
                order[4] == 4);
    /* It takes two hours and a half: half an hour is left to wait. */
    jobs[2].job.total_steps = 100;
    jobs[2].pace.rate = 100 / (2.5 * HOUR_S);
    queue_order(&in, JOBS, order);
    assert_true(order[0] == 2 && order[1] == 3);
    add(BOB, JOB_WAITING); /* which changes nothing for another user */
    fair_shares_use(shares, of(ADA), HOUR_S, HALF_LIFE_S, 0);
    assert_order("baaaaa");
}

static struct job_status *add_to(int owner, const char *account)
{
    struct job_status *job = add(owner, JOB_WAITING);

    job->job.account = fair_shares_account(account);
    fair_shares_meet(shares, &job->job);
    return job;
}

/* One user in two accounts: what was had of one says nothing about the other. */
static void jobs_are_reckoned_to_the_account_they_say(void **state)
{
    size_t order[JOBS], count;
    struct fair_share *list;

    (void)state;
    tell_apart(ADA, "ada", "physics", 3);
    tell_apart(ADA, "ada", "chem", 1);
    fair_shares_use(shares, of_account(ADA, "physics"), 30 * HOUR_S, HALF_LIFE_S, 0);
    fair_shares_use(shares, of_account(ADA, "chem"), 10 * HOUR_S, HALF_LIFE_S, 0);
    list = fair_shares_list(shares, HALF_LIFE_S, 0, &count);
    assert_int_equal(count, 2);
    assert_string_equal(list[1].account, "chem");
    assert_true(list[0].apart && fabs(list[0].had - 0.75) < 1e-9 &&
                fabs(list[0].due - 0.75) < 1e-9);
    free(list);
    add_to(ADA, "chem");
    add_to(ADA, "physics");
    assert_int_equal(queue_order(&in, JOBS, order), 2);
    assert_true(order[0] == 0 && order[1] == 1); /* as due: order of admission */
    fair_shares_use(shares, of_account(ADA, "chem"), HOUR_S, HALF_LIFE_S, 0);
    queue_order(&in, JOBS, order);
    assert_true(order[0] == 1 && order[1] == 0);
    assert_int_equal(fair_shares_place(shares, of(BOB)), -1);
}

static void an_account_has_listed_users_and_jobs_that_say_it(void **state)
{
    (void)state;
    tell(ADA, "ada", "lab", 1, 1);
    tell_apart(BOB, "bob", "lab", 1);
    add(ADA, JOB_WAITING);
    add_to(BOB, "lab");
    add(CID, JOB_WAITING);
    add(CID, JOB_WAITING);
    fair_shares_use(shares, of_account(BOB, "lab"), HOUR_S / 2, HALF_LIFE_S, 0);
    assert_order("cacb");
}

static void what_was_had_of_an_account_that_is_gone_is_the_users(void **state)
{
    (void)state;
    tell_apart(ADA, "ada", "physics", 3);
    tell(BOB, "bob", NULL, 1, 1);
    fair_shares_use(shares, of_account(ADA, "physics"), 800, HALF_LIFE_S, 0);
    fair_shares_serve(shares, of_account(ADA, "physics"), 7);
    fair_shares_fold(shares, ADA, "physics", HALF_LIFE_S, HALF_LIFE_S);
    assert_int_equal(fair_shares_users(shares), 2);
    assert_int_equal(fair_shares_place(shares, of_account(ADA, "physics")), -1);
    assert_int_equal(fair_shares_place(shares, of(BOB)), 0);
    assert_true(fabs(one(ADA, HALF_LIFE_S).used_s - 400) < 1e-6);
    assert_string_equal(one(ADA, 0).name, "ada");
    assert_true(fair_shares_served_s(shares, of(ADA)) > 6);
    fair_shares_fold(shares, ADA, "physics", HALF_LIFE_S, HALF_LIFE_S);
    assert_int_equal(fair_shares_users(shares), 2);
}

static void without_shares_admission_decides(void **state)
{
    (void)state;
    fair_shares_use(shares, of(ADA), 100 * HOUR_S, HALF_LIFE_S, 0);
    add(ADA, JOB_WAITING);
    add(BOB, JOB_WAITING);
    add(ADA, JOB_WAITING);
    assert_order("baa");
    settings.fair_share_s = 0;
    assert_order("aba");
}

static void it_survives_being_kept(void **state)
{
    struct bytes_out out = {0};
    struct bytes_in bytes;
    struct codec write = {.out = &out}, read = {.in = &bytes};
    struct fair_shares *back = fair_shares_create();
    struct fair_share *list;
    size_t count;

    (void)state;
    tell(ADA, "ada", "lab", 3, 2);
    fair_shares_use(shares, of(ADA), 30, HALF_LIFE_S, 5);
    fair_shares_serve(shares, of(ADA), 5);
    tell_apart(BOB, "bob", "physics", 4);
    fair_shares_use(shares, of_account(BOB, "physics"), 70, HALF_LIFE_S, 5);
    fair_shares_use(shares, of(-17), 10, HALF_LIFE_S, 5);
    fair_shares_code(shares, &write);
    bytes = (struct bytes_in){out.items, out.count, false};
    fair_shares_code(back, &read);
    assert_false(bytes.bad);
    assert_int_equal(bytes.left, 0);
    list = fair_shares_list(back, HALF_LIFE_S, 5, &count);
    assert_int_equal(count, 3);
    assert_true(list[2].apart && fabs(list[2].used_s - 70) < 1e-9 &&
                fabs(list[2].group_weight - 4) < 1e-9);
    assert_int_equal(fair_shares_place(back, of_account(BOB, "physics")), 2);
    assert_string_equal(list[0].account, "lab");
    assert_true(fabs(list[0].used_s - 30) < 1e-9 && fabs(list[0].weight - 3) < 1e-9);
    assert_int_equal(list[1].owner, -17);
    assert_true(fair_shares_served_s(back, of(ADA)) > 4 &&
                fair_shares_served_s(back, of(-17)) < -1e9);
    free(list);
    free(out.items);
    fair_shares_destroy(back);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(use_is_halved_with_every_half_life),
        TEST(parts_are_of_accounts_and_of_users_in_them),
        TEST(who_had_less_goes_first_and_turns_are_taken),
        TEST(weights_say_how_often),
        TEST(devices_held_now_count),
        TEST(an_account_is_served_as_one),
        TEST(priority_goes_before_shares),
        TEST(a_user_that_is_served_does_not_age),
        TEST(a_near_deadline_goes_before_admission),
        TEST(jobs_are_reckoned_to_the_account_they_say),
        TEST(an_account_has_listed_users_and_jobs_that_say_it),
        TEST(what_was_had_of_an_account_that_is_gone_is_the_users),
        TEST(without_shares_admission_decides),
        TEST(it_survives_being_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
