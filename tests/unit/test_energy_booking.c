/* test_energy_booking.c - whose joules, told bit by bit */
#include "engine/local/energy_booking.h"
#include "support/test.h"

#include <math.h>
#include <stdlib.h>

#define JOBS 200

struct book {
    double now_s;
    double metered;         /* joules of all intervals */
    double told[JOBS + 1];  /* by job */
    double error[JOBS + 1]; /* by job */
    double heard;           /* of them, told */
};

/* A second of so many watts. */
static void second(struct energy_booking *d, struct book *b, double watts)
{
    struct gpu_interval interval = {.from_s = b->now_s,
                                    .to_s = b->now_s + 1,
                                    .joules = watts,
                                    .error_joules = 0.05 * watts,
                                    .method = GPU_METHOD_ENERGY};

    energy_booking_add(d, &interval, NULL, NULL);
    b->now_s += 1;
    b->metered += watts;
}

static void hear(struct energy_booking *d, struct book *b)
{
    struct engine_share *shares = NULL;
    int count = energy_booking_tell(d, b->now_s, b->metered - b->heard, &shares);
    double rest = b->metered - b->heard;

    for (int i = 0; i < count; i++) {
        assert_in_range(shares[i].job, 1, JOBS);
        assert_true(shares[i].joules >= 0 && shares[i].error_joules >= 0);
        b->told[shares[i].job] += shares[i].joules;
        b->error[shares[i].job] += shares[i].error_joules;
        rest -= shares[i].joules;
    }
    assert_true(rest > -1e-6);
    b->heard = b->metered;
    free(shares);
}

/* The first draws 50 W, the second 150 W, idle 50 W. */
CASE(two_that_were_always_together_come_to_their_shares_when_one_pauses)
{
    struct energy_booking *d = energy_booking_create(NULL);
    struct book b = {0};

    for (int i = 0; i < 20; i++)
        second(d, &b, 50);
    energy_booking_join(d, 1, b.now_s);
    energy_booking_join(d, 2, b.now_s);
    for (int i = 0; i < 100; i++)
        second(d, &b, 250);
    hear(d, &b);
    /* Nobody can tell them apart: in equal parts, and the error bar says so. */
    assert_true(fabs(b.told[1] - b.told[2]) < 0.05 * b.told[1]);
    assert_true(b.error[1] > 0.2 * b.told[1]);
    /* The first pauses for a while: that settles it. */
    energy_booking_leave(d, 1, b.now_s);
    for (int i = 0; i < 30; i++)
        second(d, &b, 200);
    hear(d, &b);
    energy_booking_join(d, 1, b.now_s);
    for (int i = 0; i < 300; i++) {
        second(d, &b, 250);
        if (i % 5 == 0)
            hear(d, &b);
    }
    hear(d, &b);
    print_message("job 1: %.0f J +- %.0f of 20000, job 2: %.0f J +- %.0f of 64500\n",
                  b.told[1], b.error[1], b.told[2], b.error[2]);
    assert_true(fabs(b.told[1] - 20000) < 2 * b.error[1]);
    assert_true(fabs(b.told[2] - 64500) < 2 * b.error[2]);
    assert_true(fabs(b.told[1] - 20000) < 0.3 * 20000);
    assert_true(fabs(b.told[2] - 64500) < 0.1 * 64500);
    energy_booking_destroy(d);
}

CASE(jobs_that_come_and_go_for_hours_never_get_more_than_there_is)
{
    struct energy_booking *d = energy_booking_create(NULL);
    struct book b = {0};
    double all = 0, truth = 0;

    for (int i = 0; i < 60; i++) /* else nobody could tell what idle draws */
        second(d, &b, 40);
    for (int job = 1; job <= JOBS; job++) {
        double own = 50 + job % 7 * 10, beside = job > 1 ? 50 + (job - 1) % 7 * 10 : 0;

        energy_booking_join(d, (uint64_t)job, b.now_s);
        for (int i = 0; i < 60; i++) {
            second(d, &b, 40 + own + beside);
            truth += own + beside;
            if (i % 5 == 0)
                hear(d, &b);
        }
        if (job > 1)
            energy_booking_leave(d, (uint64_t)job - 1, b.now_s);
    }
    hear(d, &b);
    for (int job = 1; job <= JOBS; job++) {
        assert_true(b.told[job] >= 0);
        assert_true(b.error[job] >= 0);
        all += b.told[job];
    }
    print_message("told %.0f J of %.0f, metered %.0f\n", all, truth, b.metered);
    assert_true(all <= b.metered);
    assert_true(fabs(all / truth - 1) < 0.1);
    energy_booking_destroy(d);
}

CASE(a_job_that_comes_back_goes_on_with_its_account)
{
    struct energy_booking *d = energy_booking_create(NULL);
    struct book b = {0};

    for (int round = 0; round < 5; round++) {
        energy_booking_join(d, 3, b.now_s);
        for (int i = 0; i < 20; i++)
            second(d, &b, 140);
        energy_booking_leave(d, 3, b.now_s);
        for (int i = 0; i < 20; i++)
            second(d, &b, 40);
        hear(d, &b);
    }
    assert_true(fabs(b.told[3] - 100 * 100) < 0.05 * 10000);
    energy_booking_leave(d, 9, b.now_s); /* nobody */
    energy_booking_destroy(d);
}

/* Its share is known when it leaves: what the device draws later is idle's. */
CASE(a_job_that_lacks_nothing_gets_nothing)
{
    struct energy_booking *d = energy_booking_create(NULL);
    struct book b = {0};
    double before;

    for (int i = 0; i < 60; i++)
        second(d, &b, 40);
    energy_booking_join(d, 1, b.now_s);
    for (int i = 0; i < 60; i++) {
        second(d, &b, 140);
        hear(d, &b);
    }
    energy_booking_leave(d, 1, b.now_s);
    second(d, &b, 40); /* nothing is learnt from the second after a change */
    hear(d, &b);
    before = b.told[1];
    for (int i = 0; i < 40; i++) {
        second(d, &b, 40);
        hear(d, &b);
    }
    assert_true(fabs(before - 6000) < 0.05 * 6000);
    assert_true(b.told[1] - before < 1); /* of 1600 J that were told since */
    energy_booking_destroy(d);
}

/* Forty hundredths of a second across two readings: most of neither. */
CASE(a_job_shorter_than_a_reading_gets_its_joules)
{
    struct energy_booking *d = energy_booking_create(NULL);
    struct book b = {0};

    for (int i = 0; i < 60; i++)
        second(d, &b, 40);
    energy_booking_join(d, 5, b.now_s + 0.8);
    second(d, &b, 40 + 0.2 * 100);
    energy_booking_leave(d, 5, b.now_s + 0.2);
    second(d, &b, 40 + 0.2 * 100);
    for (int i = 0; i < 10; i++) {
        hear(d, &b);
        second(d, &b, 40);
    }
    hear(d, &b);
    print_message("told %.1f J of the 40 it drew\n", b.told[5]);
    assert_true(b.told[5] > 10 && b.told[5] < 40);
    energy_booking_destroy(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            two_that_were_always_together_come_to_their_shares_when_one_pauses),
        cmocka_unit_test(jobs_that_come_and_go_for_hours_never_get_more_than_there_is),
        cmocka_unit_test(a_job_that_comes_back_goes_on_with_its_account),
        cmocka_unit_test(a_job_that_lacks_nothing_gets_nothing),
        cmocka_unit_test(a_job_shorter_than_a_reading_gets_its_joules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
