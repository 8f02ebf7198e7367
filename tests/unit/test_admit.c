/* test_admit.c - malformed requests are refused, well-formed ones get a quote */
#include "loop_fixture.h"

#include "loop/admit/admit.h"

typedef void spoil(struct job *job);

static void assert_check(spoil *change, const char *word)
{
    struct cluster *cluster = fixture_cluster();
    struct job job = fixture_rate_job(1, 10);
    struct err err = {0};

    assert_int_equal(admit_check(&job, cluster, &err), 0);
    change(&job);
    assert_int_equal(admit_check(&job, cluster, &err), -1);
    assert_int_equal(err.code, ERR_INVALID);
    assert_non_null(strstr(err.text, word));
    cluster_destroy(cluster);
}

#define SPOIL(name, statement)                                                           \
    static void name(struct job *job)                                                    \
    {                                                                                    \
        statement;                                                                       \
    }

SPOIL(no_devices, job->devices = 0)
SPOIL(many_devices, job->devices = LOOP_MAX_GANG + 1)
SPOIL(nan_submission, job->submitted_s = NAN)
SPOIL(negative_steps, job->total_steps = -1)
SPOIL(infinite_steps, job->total_steps = INFINITY)
SPOIL(negative_duration, job->duration_s = -1)
SPOIL(nan_memory, job->memory_gb = NAN)
SPOIL(huge_memory, job->memory_gb = 1e6)
SPOIL(unknown_type, job->types_allowed = 1u << TYPES)
SPOIL(negative_batch, job->descriptor.batch = -1)
SPOIL(nan_work, job->descriptor.gmac_per_sample = NAN)
SPOIL(negative_params, job->descriptor.params_millions = -1)
SPOIL(huge_sample, job->descriptor.memory_mb_per_sample = 1e10)
SPOIL(sure, job->need.confidence = 1)
SPOIL(nan_confidence, job->need.confidence = NAN)
SPOIL(no_rate, job->need.rate = 0)
SPOIL(nan_rate, job->need.rate = NAN)
SPOIL(huge_rate, job->need.rate = 1e12)
SPOIL(negative_latency, job->need.latency_s = -0.1)
SPOIL(service_of_training, job->need.kind = NEED_SERVICE)
SPOIL(deadline_past, job->need.kind = NEED_DEADLINE; job->submitted_s = 5;
      job->need.deadline_s = 5)
SPOIL(deadline_nan, job->need.kind = NEED_DEADLINE; job->need.deadline_s = NAN)
SPOIL(deadline_never, job->need.kind = NEED_DEADLINE; job->need.deadline_s = INFINITY)
SPOIL(deadline_without_steps, job->need.kind = NEED_DEADLINE; job->need.deadline_s = 5;
      job->total_steps = 0)

static void malformed_requests_are_refused_by_name_of_the_field(void **state)
{
    (void)state;
    assert_check(no_devices, "0 GPUs");
    assert_check(many_devices, "65 GPUs");
    assert_check(nan_submission, "submission");
    assert_check(negative_steps, "steps");
    assert_check(infinite_steps, "steps");
    assert_check(negative_duration, "duration");
    assert_check(nan_memory, "memory");
    assert_check(huge_memory, "memory");
    assert_check(unknown_type, "type");
    assert_check(negative_batch, "description");
    assert_check(nan_work, "description");
    assert_check(negative_params, "description");
    assert_check(huge_sample, "description");
}

static void malformed_requirements_are_refused_by_name_of_the_field(void **state)
{
    (void)state;
    assert_check(sure, "confidence");
    assert_check(nan_confidence, "confidence");
    assert_check(no_rate, "rate");
    assert_check(nan_rate, "rate");
    assert_check(huge_rate, "rate");
    assert_check(negative_latency, "latency");
    assert_check(service_of_training, "inference");
    assert_check(deadline_past, "deadline");
    assert_check(deadline_nan, "deadline");
    assert_check(deadline_never, "deadline");
    assert_check(deadline_without_steps, "deadline");
}

static struct admission decide(struct fixture *f, const struct job *job)
{
    struct admission out;

    admit_decide(job, f->cluster, &f->model, &f->settings, &out);
    return out;
}

static void the_least_power_that_keeps_the_promise_is_quoted(void **state)
{
    struct fixture f;
    struct job modest = fixture_rate_job(1, 9), hungry = fixture_rate_job(2, 20);
    struct admission a;

    (void)state;
    fixture_init(&f);
    a = decide(&f, &modest);
    assert_int_equal(a.verdict, ADMIT_ACCEPTED);
    assert_int_equal(a.type, SLOW);
    assert_close(a.watts.value, 60, 1e-6);
    assert_close(a.promised_rate, 10 * exp(-0.05 * 0.8416212), 1e-5);
    assert_true(a.counter_rate == 0);
    a = decide(&f, &hungry);
    assert_int_equal(a.verdict, ADMIT_ACCEPTED);
    assert_int_equal(a.type, FAST);
    fixture_fini(&f);
}

static void confidence_of_job_and_settings_both_count(void **state)
{
    struct fixture f;
    struct job job = fixture_rate_job(1, 9.5); /* 9.59 with 0.8, 9.2 with 0.95 */

    (void)state;
    fixture_init(&f);
    job.need.confidence = 0.5;
    assert_int_equal(decide(&f, &job).type, SLOW);
    job.need.confidence = 0.95;
    assert_int_equal(decide(&f, &job).type, FAST);
    job.need.confidence = 0.5;
    f.settings.confidence = 0.95;
    assert_int_equal(decide(&f, &job).type, FAST);
    fixture_fini(&f);
}

static void what_cannot_be_promised_gets_a_counter_offer(void **state)
{
    struct fixture f;
    struct job job = fixture_rate_job(1, 100);
    struct admission a;

    (void)state;
    fixture_init(&f);
    a = decide(&f, &job);
    assert_int_equal(a.verdict, ADMIT_COUNTER);
    assert_int_equal(a.type, FAST);
    assert_true(a.counter_rate == a.promised_rate);
    assert_close(a.counter_rate, 40 * exp(-0.05 * 0.8416212), 1e-4);
    assert_non_null(strstr(a.reason, "100"));
    job.types_allowed = 1u << SLOW;
    a = decide(&f, &job);
    assert_int_equal(a.verdict, ADMIT_COUNTER);
    assert_int_equal(a.type, SLOW);
    assert_true(a.counter_rate < 10);
    fixture_fini(&f);
}

static void a_deadline_is_quoted_by_the_rate_it_takes(void **state)
{
    struct fixture f;
    struct job job = fixture_job(1, 1);

    (void)state;
    fixture_init(&f);
    job.submitted_s = 1000;
    job.total_steps = 3000;
    job.need.kind = NEED_DEADLINE;
    job.need.deadline_s = 2000; /* 3 steps/s */
    assert_int_equal(decide(&f, &job).type, SLOW);
    job.need.deadline_s = 1100; /* 30 steps/s */
    assert_int_equal(decide(&f, &job).type, FAST);
    job.need.deadline_s = 1010; /* 300 steps/s */
    assert_int_equal(decide(&f, &job).verdict, ADMIT_COUNTER);
    fixture_fini(&f);
}

static void what_can_never_run_is_refused_with_the_reason(void **state)
{
    struct fixture f;
    struct job gang = fixture_job(1, 4), large = fixture_job(2, 1);
    struct admission a;

    (void)state;
    fixture_init(&f);
    assert_int_equal(decide(&f, &gang).verdict, ADMIT_ACCEPTED);
    gang.devices = 5;
    a = decide(&f, &gang);
    assert_int_equal(a.verdict, ADMIT_REFUSED);
    assert_int_equal(a.type, -1);
    assert_non_null(strstr(a.reason, "5 devices"));
    f.table.fits[SLOW] = f.table.fits[FAST] = 0;
    a = decide(&f, &large);
    assert_int_equal(a.verdict, ADMIT_REFUSED);
    assert_non_null(strstr(a.reason, "memory"));
    f.table.fits[FAST] = 0.9;
    assert_int_equal(decide(&f, &large).type, FAST);
    fixture_fini(&f);
}

static void failed_devices_do_not_count(void **state)
{
    struct fixture f;
    struct job gang = fixture_job(1, 4);

    (void)state;
    fixture_init(&f);
    f.cluster->devices[0].failed = f.cluster->devices[2].failed = true;
    assert_int_equal(decide(&f, &gang).verdict, ADMIT_REFUSED);
    gang.devices = 3;
    assert_int_equal(decide(&f, &gang).verdict, ADMIT_ACCEPTED);
    fixture_fini(&f);
}

static void verdicts_have_names(void **state)
{
    (void)state;
    assert_string_equal(admit_verdict_name(ADMIT_ACCEPTED), "accepted");
    assert_string_equal(admit_verdict_name(ADMIT_COUNTER), "counter-offer");
    assert_string_equal(admit_verdict_name(ADMIT_REFUSED), "refused");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_requests_are_refused_by_name_of_the_field),
        cmocka_unit_test(malformed_requirements_are_refused_by_name_of_the_field),
        cmocka_unit_test(the_least_power_that_keeps_the_promise_is_quoted),
        cmocka_unit_test(confidence_of_job_and_settings_both_count),
        cmocka_unit_test(what_cannot_be_promised_gets_a_counter_offer),
        cmocka_unit_test(a_deadline_is_quoted_by_the_rate_it_takes),
        cmocka_unit_test(what_can_never_run_is_refused_with_the_reason),
        cmocka_unit_test(failed_devices_do_not_count),
        cmocka_unit_test(verdicts_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
