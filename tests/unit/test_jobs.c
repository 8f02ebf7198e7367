/* test_jobs.c - jobs by id, and the active ones in order of admission */
#include "loop_fixture.h"

#include "base/rng.h"

static void a_new_job_waits_and_has_no_past(void **state)
{
    struct jobs *jobs = jobs_create();
    struct job job = fixture_rate_job(5, 12);
    struct job_status *status = jobs_add(jobs, &job);

    (void)state;
    assert_int_equal(status->state, JOB_WAITING);
    assert_true(status->required_rate == 12);
    assert_true(isnan(status->started_s) && isnan(status->placed_s));
    assert_int_equal(status->device_count, 0);
    job.need.rate = 99; /* it was copied */
    assert_true(jobs_get(jobs, 5)->job.need.rate == 12);
    assert_null(jobs_get(jobs, 6));
    jobs_destroy(jobs);
    jobs_destroy(NULL);
}

static void active_jobs_keep_their_order_when_some_leave(void **state)
{
    struct jobs *jobs = jobs_create();
    const struct job_status *const *active;
    size_t count;

    (void)state;
    for (uint64_t id = 10; id > 5; id--)
        jobs_add(jobs, &(struct job){.id = id});
    jobs_drop(jobs, 10);
    jobs_drop(jobs, 7);
    active = jobs_active(jobs, &count);
    assert_int_equal(count, 3);
    assert_int_equal(active[0]->job.id, 9);
    assert_int_equal(active[1]->job.id, 8);
    assert_int_equal(active[2]->job.id, 6);
    assert_null(jobs_get(jobs, 7));
    jobs_destroy(jobs);
}

static void a_dropped_id_may_come_back_fresh(void **state)
{
    struct jobs *jobs = jobs_create();
    struct job_status *status;

    (void)state;
    status = jobs_add(jobs, &(struct job){.id = 3});
    status->restarts = 4;
    jobs_drop(jobs, 3);
    status = jobs_add(jobs, &(struct job){.id = 3});
    assert_int_equal(status->restarts, 0);
    jobs_destroy(jobs);
}

static void pointers_stay_while_others_come_and_go(void **state)
{
    struct jobs *jobs = jobs_create();
    struct job_status *kept = jobs_add(jobs, &(struct job){.id = 1000000});
    struct rng rng;
    size_t count;

    (void)state;
    rng_init(&rng, 2);
    for (int step = 0; step < 5000; step++) {
        uint64_t id = rng_below(&rng, 200);

        if (jobs_get(jobs, id))
            jobs_drop(jobs, id);
        else
            jobs_add(jobs, &(struct job){.id = id});
        assert_ptr_equal(jobs_get(jobs, 1000000), kept);
    }
    assert_ptr_equal(jobs_active(jobs, &count)[0], kept);
    jobs_destroy(jobs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_job_waits_and_has_no_past),
        cmocka_unit_test(active_jobs_keep_their_order_when_some_leave),
        cmocka_unit_test(a_dropped_id_may_come_back_fresh),
        cmocka_unit_test(pointers_stay_while_others_come_and_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
