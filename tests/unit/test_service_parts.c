/* test_service_parts.c - records, config, the planning thread */
#include "loop_fixture.h"

#include "loop/loop.h"
#include "loop/planner.h"
#include "service/job_records.h"
#include "service/ledger.h"
#include "service/planning_thread.h"
#include "service/service_config.h"

#include <pthread.h>
#include <stdio.h>

/* ---- records ------------------------------------------------------------------------
 */

static struct store_job stored(uint64_t id, const char *user, const char *key)
{
    return (struct store_job){.request = {.job = fixture_job(id, 2),
                                          .user = user,
                                          .key = key,
                                          .directory = "/"},
                              .progress = {.exit_status = -1}};
}

static void records_are_found_by_id_and_by_key_of_their_user(void **state)
{
    struct records *r = records_create();
    struct store_job a = stored(1, "ada", "k"), b = stored(2, "bob", "k");
    size_t count;

    (void)state;
    records_add(r, &a, NULL);
    records_add(r, &b, NULL);
    assert_int_equal(records_get(r, 2)->id, 2);
    assert_null(records_get(r, 3));
    assert_int_equal(records_keyed(r, "ada", "k")->id, 1);
    assert_int_equal(records_keyed(r, "bob", "k")->id, 2);
    assert_null(records_keyed(r, "ada", "l"));
    records_drop(r, records_get(r, 1));
    assert_null(records_keyed(r, "ada", "k"));
    assert_int_equal(records_all(r, &count)[0]->id, 2);
    assert_int_equal(count, 1);
    records_destroy(r);
}

static void use_is_counted_by_what_jobs_belong_to(void **state)
{
    struct records *r = records_create();
    struct job_groups physics = {{"physics", "low", "gpu,ml"}}, chem = {{"chem"}};
    struct store_job a = stored(1, "ada", NULL), b = stored(2, "ada", NULL);
    struct str extra = {0};

    (void)state;
    records_set_there(r, records_add(r, &a, NULL), &physics);
    records_set_there(r, records_add(r, &b, NULL), &chem);
    records_set_phase(r, records_get(r, 1), PHASE_RUNNING);
    assert_int_equal(records_use(r, "ada").jobs, 2);
    assert_int_equal(records_use(r, "account:physics").running, 1);
    assert_int_equal(records_use(r, "account:chem").running, 0);
    assert_int_equal(records_use(r, "qos:low").gpus, 2);
    assert_int_equal(records_use(r, "partition:gpu").jobs, 1);
    assert_int_equal(records_use(r, "partition:ml").jobs, 0);
    records_set_there(r, records_get(r, 1), &chem);
    assert_int_equal(records_use(r, "account:physics").jobs, 0);
    assert_int_equal(records_use(r, "account:chem").jobs, 2);
    record_extra_json(records_get(r, 1), "", &extra);
    records_get(r, 2)->there = physics;
    record_read_extra(records_get(r, 2), extra.text);
    assert_string_equal(records_get(r, 2)->there.names[JOB_GROUP_ACCOUNT], "chem");
    assert_string_equal(records_get(r, 2)->there.names[JOB_GROUP_QOS], "");
    records_drop(r, records_get(r, 1));
    assert_int_equal(records_use(r, "account:chem").jobs, 1);
    str_fini(&extra);
    records_destroy(r);
}

static void use_counts_what_has_devices(void **state)
{
    struct records *r = records_create();

    (void)state;
    for (uint64_t id = 1; id <= 3; id++) {
        struct store_job job = stored(id, id == 3 ? "bob" : "ada", NULL);

        records_add(r, &job, NULL);
    }
    assert_int_equal(records_use(r, "ada").jobs, 2);
    assert_int_equal(records_use(r, "ada").running, 0);
    records_set_phase(r, records_get(r, 1), PHASE_RUNNING);
    records_set_phase(r, records_get(r, 2), PHASE_ENDED);
    assert_int_equal(records_use(r, "ada").running, 1);
    assert_int_equal(records_use(r, "ada").gpus, 2);
    assert_int_equal(records_use(r, "nobody").jobs, 0);
    records_destroy(r);
}

/* A job that ended and lives again has an old id. */
static void records_stay_in_order_when_an_old_job_comes_back(void **state)
{
    struct records *r = records_create();
    struct store_job old = stored(2, "bob", NULL);
    struct record *const *all;
    size_t count;

    (void)state;
    for (uint64_t id = 5; id <= 9; id++) {
        struct store_job job = stored(id, "ada", NULL);

        records_add(r, &job, NULL);
    }
    records_add(r, &old, NULL);
    all = records_all(r, &count);
    assert_int_equal(count, 6);
    assert_int_equal(all[0]->id, 2);
    records_drop(r, records_get(r, 2));
    all = records_all(r, &count);
    assert_int_equal(count, 5);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(all[i]->id, 5 + i);
    records_destroy(r);
}

static void check_counts(const struct records *r, int waiting, int held, int over,
                         size_t busy)
{
    struct records_counts counts = records_counts(r);
    size_t count;

    records_busy(r, &count);
    assert_int_equal(counts.waiting, waiting);
    assert_int_equal(counts.held, held);
    assert_int_equal(counts.over_quota, over);
    assert_int_equal(count, busy);
}

static void records_count_what_waits_and_what_has_devices(void **state)
{
    struct records *r = records_create();
    struct store_job first = stored(1, "ada", NULL), second = stored(2, "ada", NULL);
    struct record *a, *b;

    (void)state;
    second.request.job.priority = 7;
    a = records_add(r, &first, NULL);
    b = records_add(r, &second, NULL);
    check_counts(r, 0, 0, 0, 0);
    records_set_phase(r, a, PHASE_WAITING);
    records_set_phase(r, b, PHASE_WAITING);
    check_counts(r, 2, 0, 0, 0);
    records_set_held(r, a, true);
    check_counts(r, 1, 1, 0, 0);
    records_set_over_quota(r, b, true);
    check_counts(r, 1, 1, 1, 0);
    records_set_over_quota(r, b, false);
    first.request.job.priority = 9;
    records_set_request(b, &first.request, NULL);
    assert_int_equal(b->priority, 9);
    records_set_phase(r, b, PHASE_COMMITTING);
    check_counts(r, 0, 1, 0, 1);
    records_set_phase(r, b, PHASE_RUNNING);
    check_counts(r, 0, 1, 0, 1);
    records_drop(r, b);
    records_drop(r, a);
    check_counts(r, 0, 0, 0, 0);
    records_destroy(r);
}

static void replicas_of_a_service_are_kept_with_the_request(void **state)
{
    struct records *r = records_create();
    struct store_job job = stored(1, "ada", NULL);
    struct record_replicas x = {.scale_to_zero = true, .max = 3, .shares = 2};
    struct record *record = records_add(r, &job, &x), *again;

    (void)state;
    assert_string_equal(record->stored->request.extra,
                        "{\"scale_to_zero\":true,\"max_replicas\":3,\"shares\":2}");
    job = *record->stored;
    job.request.job.id = 2;
    x = (struct record_replicas){.max = 1, .shares = 2, .of = 1, .number = 4};
    again = records_add(r, &job, &x);
    job = *again->stored;
    job.request.job.id = 3;
    again = records_add(r, &job, NULL);
    assert_int_equal(again->replicas.of, 1);
    assert_int_equal(again->replicas.number, 4);
    assert_int_equal(again->replicas.shares, 2);
    assert_false(again->replicas.scale_to_zero);
    records_destroy(r);
}

/* ---- names ------------------------------------------------------------------------- */

static void verdicts_actions_and_sources_have_names(void **state)
{
    (void)state;
    assert_string_equal(ledger_verdict_name(QUOTE_ACCEPTED), "accepted");
    assert_string_equal(ledger_verdict_name(QUOTE_QUEUED), "queued");
    assert_string_equal(ledger_verdict_name(QUOTE_COUNTER), "counter");
    assert_string_equal(ledger_verdict_name(QUOTE_REFUSED), "refused");
    assert_string_equal(ledger_verdict_name(QUOTE_UNPROMISED), "unpromised");
    assert_string_equal(ledger_action_name(ACTION_WAKE), "wake");
    assert_string_equal(ledger_action_name(ACTION_SLEEP), "sleep");
    assert_string_equal(ledger_action_name(ACTION_CAP), "cap");
    assert_string_equal(ledger_action_name(ACTION_START), "start");
    assert_string_equal(ledger_action_name(ACTION_MOVE), "move");
    assert_string_equal(ledger_action_name(ACTION_STOP), "stop");
    assert_string_equal(ledger_source_name(ESTIMATE_INITIAL), "initial");
    assert_string_equal(ledger_source_name(ESTIMATE_CORRELATED), "correlated");
    assert_string_equal(ledger_source_name(ESTIMATE_MEASURED), "measured");
}

/* ---- config ---------------------------------------------------------------------------
 */

static void the_defaults_are_what_the_document_says(void **state)
{
    struct service_config defaults, read = {0};
    struct str text = {0};
    struct err err = {0};

    (void)state;
    assert_int_equal(service_config_load(&defaults, NULL, &err), 0);
    config_document(service_config_keys, &text);
    if (config_parse(service_config_keys, &read, sizeof(read), "document", text.text,
                     text.length, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(defaults.engine, SERVICE_ENGINE_SIM);
    assert_int_equal(defaults.policy.share_max, read.policy.share_max);
    assert_close(defaults.sim.speed, read.sim.speed, 0);
    assert_close(defaults.guard.tolerance, 0.05, 0);
    service_config_override(&defaults, "/x/s", NULL);
    assert_string_equal(defaults.listen.socket, "/x/s");
    service_config_fini(&defaults);
    service_config_fini(&read);
    str_fini(&text);
}

/* ---- the planning thread ----------------------------------------------------------- */

struct planning {
    struct loop *loop;
    struct planning_thread *thread;
    pthread_t reactor_thread;
    int wanted, told;
    size_t actions;
};

static void planned(void *ctx, const struct planning_task *task)
{
    struct planning *p = ctx;
    struct round_result result = {0};
    struct err err = {0};

    assert_true(pthread_equal(pthread_self(), p->reactor_thread));
    assert_true(task->work_s >= 0 && !task->lesson);
    p->told++;
    if (p->told > p->wanted) { /* the last one: nobody waits for it any more */
        round_destroy(p->loop, task->round);
        return;
    }
    assert_int_equal(loop_round_end(p->loop, task->round, 1, &result, &err), 0);
    p->actions += result.action_count;
    planning_thread_hand_over(p->thread, loop_round_begin(p->loop, 1), NULL);
}

static void rounds_are_planned_on_a_thread_and_come_back(void **state)
{
    struct loop_options options = {.settings = fixture_settings(), .seed = 1};
    struct fixture_model table = fixture_model_make();
    struct job job = fixture_rate_job(1, 5);
    struct err err = {0};
    struct reactor *reactor = reactor_create(&err);
    struct planning p = {.loop = loop_create_take(&options, fixture_cluster(),
                                                  fixture_model_of(&table),
                                                  &corgi_planner_ops),
                         .reactor_thread = pthread_self(),
                         .wanted = 20};

    (void)state;
    p.thread = planning_thread_create(reactor, planned, &p, &err);
    assert_non_null(p.thread);
    assert_int_equal(loop_submit(p.loop, &job, 0, &err), 0);
    planning_thread_hand_over(p.thread, loop_round_begin(p.loop, 1), NULL);
    while (p.told < p.wanted)
        reactor_step(reactor, 1);
    assert_int_equal(p.actions, 1);
    planning_thread_destroy(p.thread); /* with one more round out: it is told of */
    assert_int_equal(p.told, p.wanted + 1);
    loop_destroy(p.loop);
    reactor_destroy(reactor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_found_by_id_and_by_key_of_their_user),
        cmocka_unit_test(replicas_of_a_service_are_kept_with_the_request),
        cmocka_unit_test(verdicts_actions_and_sources_have_names),
        cmocka_unit_test(records_stay_in_order_when_an_old_job_comes_back),
        cmocka_unit_test(records_count_what_waits_and_what_has_devices),
        cmocka_unit_test(use_is_counted_by_what_jobs_belong_to),
        cmocka_unit_test(use_counts_what_has_devices),
        cmocka_unit_test(the_defaults_are_what_the_document_says),
        cmocka_unit_test(rounds_are_planned_on_a_thread_and_come_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
