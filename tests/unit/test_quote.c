/* test_quote.c - malformed requests are refused, well-formed ones get the planner's
 * answer
 */
#include "loop_fixture.h"

#include "loop/admit/admit_check.h"
#include "loop/loop.h"

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

SPOIL(most_devices, job->devices = LOOP_MAX_GANG)
SPOIL(most_latency, job->need.latency_s = 3600)
SPOIL(most_memory, job->memory_gb = 1e5)
SPOIL(most_rate, job->need.rate = 1e9)
SPOIL(most_steps, job->total_steps = 1e15)
SPOIL(most_confidence, job->need.confidence = 0.999)
SPOIL(least_confidence, job->need.confidence = 0)
SPOIL(small_rate, job->need.rate = 0.5)
SPOIL(no_batch, job->descriptor.batch = 0)
SPOIL(most_figures, job->descriptor.gmac_per_sample = job->descriptor.params_millions =
                        job->descriptor.memory_mb_per_sample = 1e9)
SPOIL(all_types, job->types_allowed = 3)
SPOIL(deadline_of_half_a_step, job->need.kind = NEED_DEADLINE; job->total_steps = 0.5;
      job->need.deadline_s = 5)
SPOIL(late_latency, job->need.latency_s = 3600.5)
SPOIL(more_memory, job->memory_gb = 1e5 + 0.5)
SPOIL(more_rate, job->need.rate = 1e9 + 0.5)
SPOIL(more_work, job->descriptor.gmac_per_sample = 1e9 + 0.5)
SPOIL(more_params, job->descriptor.params_millions = 1e9 + 0.5)
SPOIL(more_of_a_sample, job->descriptor.memory_mb_per_sample = 1e9 + 0.5)
SPOIL(more_confidence, job->need.confidence = 0.9991)

static void limits_are_allowed_and_a_little_more_is_not(void **state)
{
    spoil *const fine[] = {most_devices,     most_latency, most_memory,
                           most_rate,        most_steps,   most_confidence,
                           least_confidence, small_rate,   no_batch,
                           most_figures,     all_types,    deadline_of_half_a_step};
    struct cluster *cluster = fixture_cluster();

    (void)state;
    for (size_t i = 0; i < sizeof(fine) / sizeof(*fine); i++) {
        struct job job = fixture_rate_job(1, 10);
        struct err err = {0};

        fine[i](&job);
        if (admit_check(&job, cluster, &err) < 0)
            fail_msg("%s", err.text);
    }
    cluster_destroy(cluster);
    assert_check(late_latency, "latency");
    assert_check(more_memory, "memory");
    assert_check(more_rate, "rate");
    assert_check(more_work, "description");
    assert_check(more_params, "description");
    assert_check(more_of_a_sample, "description");
    assert_check(more_confidence, "confidence");
}

/* With as many types as there are bits any of them may be named. */
static void each_of_64_types_can_be_allowed(void **state)
{
    struct gpu_sheet sheets[64] = {0};
    struct cluster *cluster = cluster_create(sheets, 64);
    struct job job = fixture_rate_job(1, 10);

    (void)state;
    job.types_allowed = 1ull << 63;
    assert_int_equal(admit_check(&job, cluster, NULL), 0);
    cluster_destroy(cluster);
    cluster = cluster_create(sheets, 63);
    assert_int_equal(admit_check(&job, cluster, NULL), -1);
    job.types_allowed = 0;
    assert_int_equal(admit_check(&job, cluster, NULL), 0);
    cluster_destroy(cluster);
}

/* A loop with the fixture's cluster, and the quote for a job there. */
struct scene {
    struct fixture_model table;
    struct cluster *cluster; /* the loop's */
    struct loop *loop;
};

static void scene_with(struct scene *s, struct optimize_settings settings)
{
    struct loop_options options = {.settings = settings, .seed = 1};

    *s = (struct scene){.table = fixture_model_make(), .cluster = fixture_cluster()};
    s->loop = loop_create_take(&options, s->cluster, fixture_model_of(&s->table),
                               &corgi_planner_ops);
}

static void scene_init(struct scene *s)
{
    scene_with(s, fixture_settings());
}

static struct quote decide(struct scene *s, const struct job *job)
{
    struct quote q;
    struct err err = {0};

    if (loop_quote(s->loop, job, 1, NULL, job->submitted_s, &q, &err) < 0)
        fail_msg("%s", err.text);
    return q;
}

static void the_least_power_that_keeps_the_promise_is_quoted(void **state)
{
    struct scene s;
    struct job modest = fixture_rate_job(1, 9), hungry = fixture_rate_job(2, 20);
    struct quote q;

    (void)state;
    scene_init(&s);
    q = decide(&s, &modest);
    assert_int_equal(q.verdict, QUOTE_ACCEPTED);
    assert_int_equal(q.type, SLOW);
    assert_close(q.watts.value, 60, 1e-6);
    assert_close(q.promised_rate, 9, 1e-9);
    assert_close(q.confidence, 0.8, 1e-9);
    assert_int_equal(q.device_count, 1);
    q = decide(&s, &hungry);
    assert_int_equal(q.verdict, QUOTE_ACCEPTED);
    assert_int_equal(q.type, FAST);
    loop_destroy(s.loop);
}

static void confidence_of_job_and_settings_both_count(void **state)
{
    struct optimize_settings sure = fixture_settings();
    struct job job = fixture_rate_job(1, 9.5); /* 9.59 with 0.8, 9.2 with 0.95 */
    struct scene s;

    (void)state;
    scene_init(&s);
    job.need.confidence = 0.5;
    assert_int_equal(decide(&s, &job).type, SLOW);
    job.need.confidence = 0.95;
    assert_int_equal(decide(&s, &job).type, FAST);
    loop_destroy(s.loop);
    sure.confidence = 0.95;
    scene_with(&s, sure);
    job.need.confidence = 0.5;
    assert_int_equal(decide(&s, &job).type, FAST);
    loop_destroy(s.loop);
}

static void
what_can_be_left_again_is_promised_with_the_confidence_it_is_tried_with(void **state)
{
    struct optimize_settings bold = fixture_settings();
    struct job job = fixture_rate_job(1, 9.9);
    struct scene s;
    struct quote q;

    (void)state;
    bold.trial_confidence = 0.55;
    job.need.confidence = 0;
    scene_with(&s, bold);
    job.may_move = true;
    q = decide(&s, &job);
    assert_int_equal(q.type, SLOW);
    assert_close(q.confidence, 0.55, 1e-9);
    job.may_move = false; /* its first place is its last */
    q = decide(&s, &job);
    assert_int_equal(q.type, FAST);
    assert_close(q.confidence, bold.confidence, 1e-9);
    loop_destroy(s.loop);
}

static void what_cannot_be_promised_gets_a_counter_offer(void **state)
{
    struct scene s;
    struct job job = fixture_rate_job(1, 100);
    struct quote q;

    (void)state;
    scene_init(&s);
    q = decide(&s, &job);
    assert_int_equal(q.verdict, QUOTE_COUNTER);
    assert_int_equal(q.type, FAST);
    assert_close(q.promised_rate, 40 * exp(-0.05 * 0.8416212), 1e-4);
    assert_non_null(strstr(q.reason, "100"));
    assert_string_equal(q.offers[0].kind, "lower_rate");
    assert_true(q.offers[0].rate == q.promised_rate);
    job.types_allowed = 1u << SLOW;
    q = decide(&s, &job);
    assert_int_equal(q.verdict, QUOTE_COUNTER);
    assert_int_equal(q.type, SLOW);
    assert_true(q.promised_rate < 10);
    loop_destroy(s.loop);
}

/* What is not known is no reason to say no: the job is taken, and told the chance. */
static void of_what_nobody_knows_nothing_is_promised_yet(void **state)
{
    struct scene s;
    struct job fair = fixture_rate_job(1, 9), wild = fixture_rate_job(2, 1e6);
    struct job large = fixture_rate_job(3, 9), any = fixture_job(4, 1);
    struct quote q;

    (void)state;
    scene_init(&s);
    s.table.source = ESTIMATE_INITIAL;
    s.table.sd_log = 1.3;
    q = decide(&s, &fair);
    assert_int_equal(q.verdict, QUOTE_UNPROMISED);
    assert_true(isnan(q.promised_rate));
    assert_close(q.chance, 0.87, 0.01); /* on the faster type */
    assert_int_equal(q.type, FAST);
    assert_int_equal(q.device_count, 1);
    assert_non_null(strstr(q.reason, "not promised yet, nothing like it"));
    q = decide(&s, &wild);
    assert_int_equal(q.verdict, QUOTE_UNPROMISED);
    assert_true(q.chance < 1e-3);
    assert_int_equal(decide(&s, &any).verdict, QUOTE_ACCEPTED); /* asks for nothing */
    s.table.fits[SLOW] = s.table.fits[FAST] = 0;
    assert_int_equal(decide(&s, &large).verdict, QUOTE_REFUSED);
    loop_destroy(s.loop);
}

/* 100/s of 40: wide of what was measured, but of whom? */
static void only_measurements_of_its_kind_lead_to_a_counter_offer(void **state)
{
    struct scene s;
    struct job job = fixture_rate_job(1, 100);

    (void)state;
    scene_init(&s);
    s.table.source = ESTIMATE_CORRELATED; /* its family was measured, not its kind */
    assert_int_equal(decide(&s, &job).verdict, QUOTE_UNPROMISED);
    job.need.rate = 9; /* which is enough to promise what is well below */
    assert_int_equal(decide(&s, &job).verdict, QUOTE_ACCEPTED);
    s.table.source = ESTIMATE_MEASURED;
    s.table.sd_log = 0.6; /* so noisy that it may be */
    job.need.rate = 100;
    assert_int_equal(decide(&s, &job).verdict, QUOTE_UNPROMISED);
    job.need.rate = 200;
    assert_int_equal(decide(&s, &job).verdict, QUOTE_COUNTER);
    loop_destroy(s.loop);
}

static void what_is_believed_impossible_is_not_given_as_a_number(void **state)
{
    struct scene s;
    struct job job = fixture_rate_job(1, 100);
    struct quote q;

    (void)state;
    scene_init(&s);
    s.table.rate[SLOW] = s.table.rate[FAST] = 1e-15;
    q = decide(&s, &job);
    assert_int_equal(q.verdict, QUOTE_COUNTER);
    assert_int_equal(q.offer_count, 0);
    assert_null(strstr(q.reason, "e-1"));
    loop_destroy(s.loop);
}

static void a_deadline_is_quoted_by_the_rate_it_takes(void **state)
{
    struct scene s;
    struct job job = fixture_job(1, 1);

    (void)state;
    scene_init(&s);
    job.submitted_s = 1000;
    job.total_steps = 3000;
    job.need.kind = NEED_DEADLINE;
    job.need.deadline_s = 2000; /* 3 steps/s */
    assert_int_equal(decide(&s, &job).type, SLOW);
    job.need.deadline_s = 1100; /* 30 steps/s */
    assert_int_equal(decide(&s, &job).type, FAST);
    job.need.deadline_s = 1010; /* 300 steps/s */
    assert_int_equal(decide(&s, &job).verdict, QUOTE_COUNTER);
    loop_destroy(s.loop);
}

static void what_can_never_run_is_refused_with_the_reason(void **state)
{
    struct scene s;
    struct job gang = fixture_job(1, 4), large = fixture_job(2, 1);
    struct quote a;

    (void)state;
    scene_init(&s);
    assert_int_equal(decide(&s, &gang).verdict, QUOTE_ACCEPTED);
    gang.devices = 5;
    a = decide(&s, &gang);
    assert_int_equal(a.verdict, QUOTE_REFUSED);
    assert_int_equal(a.type, -1);
    assert_non_null(strstr(a.reason, "5 devices"));
    s.table.fits[SLOW] = s.table.fits[FAST] = 0;
    a = decide(&s, &large);
    assert_int_equal(a.verdict, QUOTE_REFUSED);
    assert_non_null(strstr(a.reason, "memory"));
    s.table.fits[FAST] = 0.9;
    large.id = 3; /* another job: answers are remembered */
    large.memory_gb = 3;
    assert_int_equal(decide(&s, &large).type, FAST);
    loop_destroy(s.loop);
}

static void failed_devices_do_not_count(void **state)
{
    struct scene s;
    struct job gang = fixture_job(1, 4);

    (void)state;
    scene_init(&s);
    s.cluster->devices[0].failed = s.cluster->devices[2].failed = true;
    assert_int_equal(decide(&s, &gang).verdict, QUOTE_REFUSED);
    gang.devices = 3;
    assert_int_equal(decide(&s, &gang).verdict, QUOTE_ACCEPTED);
    loop_destroy(s.loop);
}

static void a_malformed_request_gets_no_quote(void **state)
{
    struct scene s;
    struct job job = fixture_rate_job(1, 9);
    struct quote q = {.replicas = 42};
    struct err err = {0};

    (void)state;
    scene_init(&s);
    job.devices = 0;
    assert_int_equal(loop_quote(s.loop, &job, 1, NULL, 0, &q, &err), -1);
    assert_int_equal(err.code, ERR_INVALID);
    assert_int_equal(q.replicas, 42);
    loop_destroy(s.loop);
}

/* ---- the quote is the plan ----------------------------------------------------------
 */

static const struct job_status *start(struct scene *s, struct job job, double now_s)
{
    struct round_result result;

    assert_int_equal(loop_submit(s->loop, &job, now_s, NULL), 0);
    assert_int_equal(loop_round(s->loop, now_s, &result, NULL), 0);
    return loop_job(s->loop, job.id);
}

static void the_quoted_place_is_the_place(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s);
    for (uint64_t id = 1; id <= 10; id++) {
        struct job job = fixture_rate_job(id, id % 3 ? 4 : 20);
        struct quote q = decide(&s, &job);
        const struct job_status *status;

        if (q.verdict != QUOTE_ACCEPTED)
            break;
        status = start(&s, job, 10 * (double)id);
        assert_int_equal(status->state, JOB_RUNNING);
        assert_int_equal(status->devices[0], q.devices[0]);
    }
    assert_true(loop_job(s.loop, 6) != NULL);
    loop_destroy(s.loop);
}

static void a_job_without_a_place_waits_and_is_told_how_long(void **state)
{
    struct scene s;
    struct job job = fixture_rate_job(9, 20);
    struct quote q;

    (void)state;
    scene_init(&s);
    for (uint64_t id = 1; id <= 4; id++) { /* the fast ones, for themselves */
        struct job taker = fixture_rate_job(id, 30);

        taker.may_share = false;
        taker.total_steps = 4000; /* 100 s at 40 a second */
        start(&s, taker, 0);
    }
    q = decide(&s, &job);
    assert_int_equal(q.verdict, QUOTE_QUEUED);
    assert_int_equal(q.device_count, 0);
    assert_close(q.start_s, 100, 1);
    assert_string_equal(q.offers[0].kind, "later");
    assert_int_equal(loop_submit(s.loop, &job, 0, NULL), 0);
    job.id = 10;
    q = decide(&s, &job);
    assert_non_null(strstr(q.reason, "1 job is ahead"));
    loop_destroy(s.loop);
}

static void a_start_nobody_can_know_is_not_told(void **state)
{
    struct scene s;
    struct job job = fixture_rate_job(9, 20);

    (void)state;
    scene_init(&s);
    for (uint64_t id = 1; id <= 4; id++) {
        struct job taker = fixture_rate_job(id, 30);

        taker.may_share = false;
        taker.total_steps = 0;
        start(&s, taker, 0);
    }
    /* Any place is better than none when most of its grace time is used up, */
    assert_close(decide(&s, &job).start_s, 0.8 * loop_settings(s.loop)->grace_s, 1e-6);
    for (int d = 0; d < s.cluster->device_count; d++)
        s.cluster->devices[d].drained = s.cluster->devices[d].job_count == 0;
    assert_true(isnan(decide(&s, &job).start_s)); /* but here there is none */
    loop_destroy(s.loop);
}

static void neighbours_and_what_they_draw_already_are_part_of_the_quote(void **state)
{
    struct scene s;
    struct job job = fixture_rate_job(2, 4);
    struct quote q;

    (void)state;
    scene_init(&s);
    for (int d = 1; d < 8; d++)
        s.cluster->devices[d].drained = true;
    start(&s, fixture_rate_job(1, 4), 0);
    q = decide(&s, &job);
    assert_int_equal(q.verdict, QUOTE_ACCEPTED);
    assert_int_equal(q.neighbour, 1);
    assert_close(q.watts.value, 0, 1e-6); /* the fixture's device draws 60 W either way */
    assert_close(q.rate.value, 10 * s.table.beside, 1e-6);
    assert_non_null(strstr(q.reason, "beside"));
    loop_destroy(s.loop);
}

static void a_service_is_split_into_as_few_shares_as_can_be_promised(void **state)
{
    struct scene s;
    struct job job = fixture_rate_job(1, 70);
    struct quote q;

    (void)state;
    scene_init(&s);
    job.kind = JOB_INFERENCE;
    job.need.kind = NEED_SERVICE;
    assert_int_equal(loop_quote(s.loop, &job, 4, NULL, 0, &q, NULL), 0);
    assert_int_equal(q.replicas, 2);
    assert_close(q.promised_rate, 70, 1e-9);
    assert_int_equal(loop_quote(s.loop, &job, 1, NULL, 0, &q, NULL), 0);
    assert_int_equal(q.verdict, QUOTE_COUNTER);
    assert_int_equal(q.replicas, 1);
    loop_destroy(s.loop);
}

/* The only fast devices are free after 100 s. */
static void a_deadline_is_promised_only_if_the_wait_leaves_time(void **state)
{
    struct scene s;
    struct job job = fixture_rate_job(9, 0);
    struct quote q;

    (void)state;
    scene_init(&s);
    for (uint64_t id = 1; id <= 4; id++) {
        struct job taker = fixture_rate_job(id, 30);

        taker.may_share = false;
        taker.total_steps = 4000;
        start(&s, taker, 0);
    }
    job.types_allowed = 1u << FAST;
    job.total_steps = 2000; /* 50 s there */
    job.need = (struct requirement){.kind = NEED_DEADLINE, .deadline_s = 1000};
    q = decide(&s, &job);
    assert_int_equal(q.verdict, QUOTE_QUEUED);
    assert_non_null(strstr(q.reason, "min before its deadline"));
    job.need.deadline_s = 70;
    q = decide(&s, &job);
    assert_int_equal(q.verdict, QUOTE_UNPROMISED);
    assert_true(isnan(q.promised_rate));
    assert_non_null(strstr(q.reason, "not promised: done 1 min after its deadline"));
    loop_destroy(s.loop);
}

static void a_gang_that_finds_no_room_is_offered_fewer_gpus(void **state)
{
    struct scene s;
    struct job gang = fixture_job(9, 4), taker = fixture_rate_job(1, 30);
    struct quote q;

    (void)state;
    scene_init(&s);
    gang.types_allowed = 1u << FAST;
    taker.may_share = false;
    start(&s, taker, 0);
    q = decide(&s, &gang);
    assert_int_equal(q.verdict, QUOTE_QUEUED);
    assert_string_equal(q.offers[q.offer_count - 1].kind, "other_gpus");
    assert_int_equal(q.offers[q.offer_count - 1].gpus, 2);
    loop_destroy(s.loop);
}

static void energy_follows_from_rate_watts_and_length(void **state)
{
    struct scene s;
    struct job job = fixture_rate_job(1, 9);
    struct quote q;

    (void)state;
    scene_init(&s);
    job.total_steps = 1000; /* 100 s at 60 W */
    q = decide(&s, &job);
    assert_close(q.joules, 6000, 1);
    assert_true(q.joules_low < q.joules && q.joules < q.joules_high);
    assert_close(q.joules_per_step, 6, 1e-6);
    assert_close(q.end_s, 100, 1e-3);
    job.total_steps = 0;
    assert_true(isnan(decide(&s, &job).joules));
    loop_destroy(s.loop);
}

static void asking_changes_no_plan(void **state)
{
    struct scene asked, quiet;

    (void)state;
    scene_init(&asked);
    scene_init(&quiet);
    for (uint64_t id = 1; id <= 8; id++) {
        struct job job = fixture_rate_job(id, id % 2 ? 4 : 20);

        for (int i = 0; i < 20; i++) {
            struct job other = fixture_rate_job(0, 1 + i);

            decide(&asked, &other);
        }
        assert_int_equal(start(&asked, job, 7 * (double)id)->devices[0],
                         start(&quiet, job, 7 * (double)id)->devices[0]);
    }
    loop_destroy(asked.loop);
    loop_destroy(quiet.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_requests_are_refused_by_name_of_the_field),
        cmocka_unit_test(malformed_requirements_are_refused_by_name_of_the_field),
        cmocka_unit_test(limits_are_allowed_and_a_little_more_is_not),
        cmocka_unit_test(each_of_64_types_can_be_allowed),
        cmocka_unit_test(a_malformed_request_gets_no_quote),
        cmocka_unit_test(the_least_power_that_keeps_the_promise_is_quoted),
        cmocka_unit_test(confidence_of_job_and_settings_both_count),
        cmocka_unit_test(what_cannot_be_promised_gets_a_counter_offer),
        cmocka_unit_test(of_what_nobody_knows_nothing_is_promised_yet),
        cmocka_unit_test(only_measurements_of_its_kind_lead_to_a_counter_offer),
        cmocka_unit_test(what_is_believed_impossible_is_not_given_as_a_number),
        cmocka_unit_test(a_deadline_is_quoted_by_the_rate_it_takes),
        cmocka_unit_test(what_can_never_run_is_refused_with_the_reason),
        cmocka_unit_test(failed_devices_do_not_count),
        cmocka_unit_test(
            what_can_be_left_again_is_promised_with_the_confidence_it_is_tried_with),
        cmocka_unit_test(the_quoted_place_is_the_place),
        cmocka_unit_test(a_job_without_a_place_waits_and_is_told_how_long),
        cmocka_unit_test(a_start_nobody_can_know_is_not_told),
        cmocka_unit_test(neighbours_and_what_they_draw_already_are_part_of_the_quote),
        cmocka_unit_test(a_service_is_split_into_as_few_shares_as_can_be_promised),
        cmocka_unit_test(a_deadline_is_promised_only_if_the_wait_leaves_time),
        cmocka_unit_test(a_gang_that_finds_no_room_is_offered_fewer_gpus),
        cmocka_unit_test(energy_follows_from_rate_watts_and_length),
        cmocka_unit_test(asking_changes_no_plan),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
