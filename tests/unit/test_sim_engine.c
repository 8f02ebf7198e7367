/* test_sim_engine.c - the simulated engine behind the daemon's interface */
#include "engine/sim/sim_engine.h"

#include "base/str.h"
#include "engine/sim/sim_engine.h"
#include "loop/cluster.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

/* How often each kind of event came, and the last of it: years of a world are millions.
 */
struct heard {
    size_t count[ENGINE_ONLINE + 1];
    struct engine_event last[ENGINE_ONLINE + 1];
};

static void hear(void *ctx, const struct engine_event *e)
{
    struct heard *h = ctx;

    h->count[e->kind]++;
    h->last[e->kind] = *e;
    h->last[e->kind].text = NULL; /* not ours to keep */
}

static size_t count_of(const struct heard *h, enum engine_event_kind kind)
{
    return h->count[kind];
}

static const struct engine_event *last_of(const struct heard *h,
                                          enum engine_event_kind kind)
{
    return h->count[kind] > 0 ? &h->last[kind] : NULL;
}

static struct engine make(struct heard *h, const char *journal)
{
    struct sim_engine_options options = sim_engine_defaults();
    struct engine e;
    struct err err = {0};

    options.journal = journal;
    options.measure_s = options.demand_s = 30;
    options.power_s = 60;
    options.restore_s = 45;
    options.noise_sd = 0.01;
    options.start_s = 1000;
    if (sim_engine_create(&e, &options, (struct engine_sink){hear, h}, &err) < 0)
        fail_msg("%s", err.text);
    return e;
}

static void finish(struct engine *e, struct heard *h)
{
    e->ops->destroy(e->self);
    *h = (struct heard){0};
}

static struct job some_job(uint64_t id, double steps)
{
    return (struct job){.id = id,
                        .descriptor = {.family = "synthetic-1", .batch = 8},
                        .total_steps = steps,
                        .devices = 1,
                        .may_share = true,
                        .may_move = true};
}

static struct engine_job attempt_of(const struct job *job, int attempt, const int *device)
{
    static const char *const nothing[] = {NULL};

    return (struct engine_job){.job = job,
                               .attempt = attempt,
                               .directory = "/",
                               .argv = nothing,
                               .env = nothing,
                               .device_count = 1,
                               .devices = device};
}

static void a_job_starts_is_measured_and_is_done(void **state)
{
    struct heard h = {0};
    struct engine e = make(&h, NULL);
    struct job job = some_job(1, 1e4);
    struct engine_job start = attempt_of(&job, 1, &(int){40});

    (void)state;
    assert_int_equal(e.ops->start(e.self, &start, NULL), 0);
    assert_int_equal(e.ops->start(e.self, &start, NULL), -1); /* it runs already */
    e.ops->dispatch(e.self, 1001);
    assert_int_equal(count_of(&h, ENGINE_STARTED), 1);
    e.ops->dispatch(e.self, 1e7);
    assert_true(count_of(&h, ENGINE_POWER) > 0);
    assert_int_equal(count_of(&h, ENGINE_ENDED), 1);
    assert_int_equal(last_of(&h, ENGINE_ENDED)->end, ENGINE_END_DONE);
    assert_true(fabs(last_of(&h, ENGINE_ENDED)->steps - 1e4) < 1);
    finish(&e, &h);
}

static void a_moved_job_goes_on_where_it_was(void **state)
{
    struct heard h = {0};
    struct engine e = make(&h, NULL);
    struct job job = some_job(1, 1e9);
    struct engine_job first = attempt_of(&job, 1, &(int){40});
    struct engine_job second = attempt_of(&job, 2, &(int){0});
    double before;

    (void)state;
    e.ops->start(e.self, &first, NULL);
    e.ops->dispatch(e.self, 2000);
    assert_int_equal(e.ops->stop(e.self, 1, ENGINE_STOP_MOVE, NULL), ENGINE_GONE);
    e.ops->dispatch(e.self, 2000);
    assert_int_equal(last_of(&h, ENGINE_ENDED)->end, ENGINE_END_STOPPED);
    before = last_of(&h, ENGINE_ENDED)->steps;
    assert_true(before > 0);
    assert_int_equal(e.ops->start(e.self, &second, NULL), 0);
    e.ops->dispatch(e.self, 2040);
    assert_int_equal(count_of(&h, ENGINE_STARTED), 1); /* reads its checkpoint */
    e.ops->dispatch(e.self, 3000);
    assert_int_equal(count_of(&h, ENGINE_STARTED), 2);
    assert_int_equal(e.ops->stop(e.self, 7, ENGINE_STOP_MOVE, NULL), -1);
    finish(&e, &h);
}

static void a_job_that_takes_its_time_to_leave_keeps_its_device(void **state)
{
    static const char *const env[] = {"CORGI_SIM_LEAVE=100", NULL};
    struct heard h = {0};
    struct engine e = make(&h, NULL);
    struct job job = some_job(1, 1e9), other = some_job(2, 1e9);
    struct engine_job start = attempt_of(&job, 1, &(int){40});
    struct engine_job beside = attempt_of(&other, 1, &(int){41});

    (void)state;
    start.env = beside.env = env;
    start.stop_grace_s = 30; /* less than it would like */
    beside.stop_grace_s = 300;
    e.ops->start(e.self, &start, NULL);
    e.ops->start(e.self, &beside, NULL);
    e.ops->dispatch(e.self, 2000);
    assert_int_equal(e.ops->stop(e.self, 1, ENGINE_STOP_CANCEL, NULL), 0);
    assert_int_equal(e.ops->stop(e.self, 2, ENGINE_STOP_CANCEL, NULL), 0);
    e.ops->dispatch(e.self, 2029);
    assert_int_equal(e.ops->stop(e.self, 1, ENGINE_STOP_CANCEL, NULL), 0); /* goes on */
    assert_int_equal(count_of(&h, ENGINE_ENDED), 0);
    assert_int_equal(sim_inspect_cluster(&e)->devices[40].job_count, 1);
    e.ops->dispatch(e.self, 2031);
    assert_int_equal(count_of(&h, ENGINE_ENDED), 1);
    assert_int_equal(last_of(&h, ENGINE_ENDED)->end, ENGINE_END_STOPPED);
    assert_int_equal(sim_inspect_cluster(&e)->devices[40].job_count, 0);
    assert_int_equal(e.ops->stop(e.self, 2, ENGINE_STOP_KILL, NULL), ENGINE_GONE);
    e.ops->dispatch(e.self, 2031);
    assert_int_equal(count_of(&h, ENGINE_ENDED), 2);
    finish(&e, &h);
}

static void the_next_daemon_finds_its_jobs(void **state)
{
    char path[] = "/tmp/corgi-journal.XXXXXX";
    struct heard h = {0}, after = {0};
    struct engine e;
    struct job running = some_job(1, 1e9), ended = some_job(2, 10),
               other = some_job(3, 1e9);
    struct engine_job one = attempt_of(&running, 1, &(int){40});
    struct engine_job two = attempt_of(&ended, 1, &(int){41});
    struct engine_job three = attempt_of(&other, 1, &(int){42});
    struct engine_job wrong = attempt_of(&running, 2, &(int){40});
    struct err err = {0};
    double steps;

    (void)state;
    close(mkstemp(path));
    e = make(&h, path);
    e.ops->start(e.self, &one, NULL);
    e.ops->start(e.self, &two, NULL);
    e.ops->start(e.self, &three, NULL);
    e.ops->dispatch(e.self, 5000);
    steps = last_of(&h, ENGINE_MEASURED)->steps;
    assert_int_equal(count_of(&h, ENGINE_ENDED), 1);
    finish(&e, &h);

    e = make(&after, path);
    assert_true(sim_engine_now_s(&e) >= 5000 - 1);
    assert_int_equal(e.ops->adopt(e.self, &wrong, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_int_equal(e.ops->adopt(e.self, &one, NULL), 0);
    assert_int_equal(e.ops->adopt(e.self, &two, NULL), 0);
    e.ops->adopted(e.self); /* the third was not named: stopped */
    e.ops->dispatch(e.self, 5100);
    assert_int_equal(count_of(&after, ENGINE_STARTED), 1);
    assert_int_equal(last_of(&after, ENGINE_ENDED)->job, 2);
    assert_int_equal(last_of(&after, ENGINE_ENDED)->end, ENGINE_END_DONE);
    assert_int_equal(count_of(&after, ENGINE_ENDED), 1);
    assert_true(last_of(&after, ENGINE_MEASURED)->steps >= steps * 0.5);
    finish(&e, &after);
    unlink(path);
}

static void a_torn_journal_is_read_as_far_as_it_goes(void **state)
{
    char path[] = "/tmp/corgi-journal.XXXXXX";
    struct heard h = {0};
    FILE *f = fdopen(mkstemp(path), "w");
    struct job job = some_job(5, 1e9);
    struct engine_job one = attempt_of(&job, 3, &(int){40});
    struct engine e;

    (void)state;
    fprintf(f,
            "clock 9000.5\nstart 5 3 8000 12 0 40\nsteps 5 3 77\nnonsense\nend 5 3 stop");
    fclose(f);
    e = make(&h, path);
    assert_true(sim_engine_now_s(&e) >= 9000);
    assert_int_equal(e.ops->adopt(e.self, &one, NULL), 0);
    e.ops->adopted(e.self);
    finish(&e, &h);
    unlink(path);
}

static void a_node_asleep_draws_nothing_for_the_next_daemon_either(void **state)
{
    char path[] = "/tmp/corgi-journal.XXXXXX";
    struct heard h = {0};
    struct engine e;
    struct cluster *c;
    const struct engine_event *last;

    (void)state;
    close(mkstemp(path));
    e = make(&h, path);
    assert_int_equal(e.ops->cluster(e.self, &c, NULL), 0);
    assert_int_equal(e.ops->sleep(e.self, c->node_count - 1, NULL), 0);
    finish(&e, &h);
    e = make(&h, path);
    e.ops->dispatch(e.self, sim_engine_now_s(&e) + 61);
    last = last_of(&h, ENGINE_POWER);
    assert_non_null(last);
    assert_int_equal(last->device, c->device_count - 1);
    assert_true(last->watts == 0);
    cluster_destroy(c);
    finish(&e, &h);
    unlink(path);
}

static void nodes_sleep_and_wake(void **state)
{
    struct heard h = {0};
    struct engine e = make(&h, NULL);
    struct cluster *c;

    (void)state;
    assert_int_equal(e.ops->sleep(e.self, 0, NULL), 0);
    assert_int_equal(e.ops->cluster(e.self, &c, NULL), 0);
    assert_int_equal(c->nodes[0].state, NODE_ASLEEP);
    cluster_destroy(c);
    assert_int_equal(e.ops->wake(e.self, 0, NULL), 0);
    e.ops->dispatch(e.self, 1030);
    assert_int_equal(count_of(&h, ENGINE_NODE_AWAKE), 0);
    e.ops->dispatch(e.self, 1061);
    assert_int_equal(count_of(&h, ENGINE_NODE_AWAKE), 1);
    assert_int_equal(e.ops->sleep(e.self, 99, NULL), -1);
    finish(&e, &h);
}

static void the_environment_can_make_a_job_fail(void **state)
{
    static const char *const env[] = {"CORGI_SIM_EXIT=3", NULL};
    struct heard h = {0};
    struct engine e = make(&h, NULL);
    struct job job = some_job(1, 10);
    struct engine_job start = attempt_of(&job, 1, &(int){40});

    (void)state;
    start.env = env;
    e.ops->start(e.self, &start, NULL);
    e.ops->dispatch(e.self, 5000);
    assert_int_equal(last_of(&h, ENGINE_ENDED)->end, ENGINE_END_FAILED);
    assert_int_equal(last_of(&h, ENGINE_ENDED)->exit_status, 3);
    finish(&e, &h);
}

/* ---- services --------------------------------------------------------------------- */

static struct job some_service(uint64_t id, double rate)
{
    struct job job = some_job(id, 0);

    job.kind = JOB_INFERENCE;
    job.need = (struct requirement){.kind = NEED_SERVICE, .rate = rate};
    job.submitted_s = 1000;
    return job;
}

/* Requests are counted over some 30 s: the count is near what was asked, seldom equal. */
static bool is_near(double counted, double asked)
{
    return fabs(counted - asked) < 4 * sqrt(asked * 30) / 30;
}

static void requests_come_as_the_environment_says(void **state)
{
    static const char *const env[] = {"CORGI_SIM_DEMAND=5@0,50@600,0@1200", NULL};
    struct heard h = {0};
    struct engine e = make(&h, NULL);
    struct job job = some_service(1, 10);
    struct engine_job start = attempt_of(&job, 1, &(int){40});

    (void)state;
    start.env = env;
    e.ops->start(e.self, &start, NULL);
    e.ops->dispatch(e.self, 1500);
    assert_true(is_near(last_of(&h, ENGINE_DEMAND)->measurement.rate, 5));
    assert_true(last_of(&h, ENGINE_MEASURED)->measurement.latency_s > 0);
    e.ops->dispatch(e.self, 2100);
    assert_true(is_near(last_of(&h, ENGINE_DEMAND)->measurement.rate, 50));
    e.ops->dispatch(e.self, 2700);
    assert_true(last_of(&h, ENGINE_DEMAND)->measurement.rate <= 0);
    finish(&e, &h);
}

static void replicas_share_the_requests_and_answer_sooner(void **state)
{
    static const char *const first[] = {"CORGI_SIM_DEMAND=8@0", NULL};
    static const char *const second[] = {"CORGI_SERVICE=1", NULL};
    struct heard h = {0};
    struct engine e = make(&h, NULL);
    struct job job = some_service(1, 10), other = some_service(2, 10);
    struct engine_job start = attempt_of(&job, 1, &(int){40});
    struct engine_job more = attempt_of(&other, 1, &(int){41});
    double alone_s;

    (void)state;
    start.env = first;
    more.env = second;
    e.ops->start(e.self, &start, NULL);
    e.ops->dispatch(e.self, 1500);
    alone_s = last_of(&h, ENGINE_MEASURED)->measurement.latency_s;
    e.ops->start(e.self, &more, NULL);
    e.ops->dispatch(e.self, 2000);
    assert_true(is_near(last_of(&h, ENGINE_DEMAND)->measurement.rate, 4));
    assert_true(last_of(&h, ENGINE_MEASURED)->measurement.latency_s < alone_s);
    finish(&e, &h);
}

/* What it could do is far more: no report says so. */
static void a_service_is_seen_to_answer_what_it_is_asked(void **state)
{
    static const char *const env[] = {"CORGI_SIM_DEMAND=5@0", NULL};
    bool batching = false, one_at_a_time = false;

    (void)state;
    for (uint64_t id = 1; id < 12; id++) {
        struct heard h = {0};
        struct engine e = make(&h, NULL);
        struct job job = some_service(id, 10);
        struct engine_job start = attempt_of(&job, 1, &(int){40});
        const struct measurement *m;
        struct sim_inspect_job truth;

        start.env = env;
        e.ops->start(e.self, &start, NULL);
        e.ops->dispatch(e.self, 1500);
        m = &last_of(&h, ENGINE_MEASURED)->measurement;
        assert_true(sim_inspect_job(&e, id, 1500, &truth));
        assert_true(m->rate <= truth.rate * (1 + 1e-9));
        assert_true(is_near(m->rate, fmin(5, truth.rate)));
        assert_true(m->median_s > 0 && m->latency_s > 0 && m->held > 0);
        if (request_batches(truth.request)) {
            batching = true;
            assert_true(m->busy > 0.8);
        } else {
            one_at_a_time = true;
            assert_true(fabs(log(m->busy * truth.rate / m->rate)) < 0.2);
        }
        finish(&e, &h);
    }
    assert_true(batching && one_at_a_time);
}

static void requests_for_a_stopped_service_are_counted(void **state)
{
    static const char *const env[] = {"CORGI_SIM_DEMAND=0@0,7@600", NULL};
    struct heard h = {0};
    struct engine e = make(&h, NULL);
    struct job job = some_service(1, 10);
    struct engine_job start = attempt_of(&job, 1, &(int){40});
    size_t before;

    (void)state;
    start.env = env;
    e.ops->start(e.self, &start, NULL);
    e.ops->dispatch(e.self, 1200);
    assert_int_equal(e.ops->stop(e.self, 1, ENGINE_STOP_MOVE, NULL), ENGINE_GONE);
    before = count_of(&h, ENGINE_MEASURED);
    e.ops->dispatch(e.self, 2000);
    assert_int_equal(count_of(&h, ENGINE_MEASURED), before);
    assert_true(is_near(last_of(&h, ENGINE_DEMAND)->measurement.rate, 7));
    finish(&e, &h);
}

/* ---- a stepped clock -------------------------------------------------------------- */

static struct engine make_stepped(struct heard *h, struct sim_engine_options options)
{
    struct engine e;
    struct err err = {0};

    options.clock = SIM_CLOCK_STEPPED;
    options.start_s = 1000;
    options.measure_s = options.demand_s = 300;
    options.window_s = 60;
    if (sim_engine_create(&e, &options, (struct engine_sink){hear, h}, &err) < 0)
        fail_msg("%s", err.text);
    return e;
}

static void the_world_stands_still_until_it_is_told_to_go_on(void **state)
{
    struct heard h = {0};
    struct engine e = make_stepped(&h, sim_engine_defaults());
    struct job job = some_job(1, 1e9);
    struct engine_job start = attempt_of(&job, 1, &(int){40});

    (void)state;
    assert_true(isinf(sim_engine_next_s(&e)));
    assert_int_equal(e.ops->start(e.self, &start, NULL), 0);
    assert_true(sim_engine_next_s(&e) == 1000);
    e.ops->dispatch(e.self, sim_engine_now_s(&e));
    assert_int_equal(count_of(&h, ENGINE_STARTED), 1);
    assert_true(sim_engine_next_s(&e) == 1300); /* its first report */
    usleep(2000);
    assert_true(sim_engine_now_s(&e) == 1000);
    e.ops->dispatch(e.self, 1299);
    assert_int_equal(count_of(&h, ENGINE_MEASURED), 0);
    e.ops->dispatch(e.self, 1300);
    assert_int_equal(count_of(&h, ENGINE_MEASURED), 1);
    assert_true(last_of(&h, ENGINE_MEASURED)->at_s == 1300);
    assert_int_equal(count_of(&h, ENGINE_POWER), 0); /* power_s is 0 */
    finish(&e, &h);
}

/* What is measured of job 7 in its first window, maybe after another has come. */
static double first_report(uint64_t seed, bool other_first)
{
    struct sim_engine_options options = sim_engine_defaults();
    struct job job = some_job(7, 1e9), other = some_job(3, 1e9);
    struct engine_job start = attempt_of(&job, 1, &(int){40});
    struct engine_job before = attempt_of(&other, 1, &(int){0});
    struct heard h = {0};
    struct engine e;
    double rate;

    options.seed = seed;
    options.noise_sd = 0.03;
    e = make_stepped(&h, options);
    if (other_first)
        e.ops->start(e.self, &before, NULL);
    e.ops->start(e.self, &start, NULL);
    e.ops->dispatch(e.self, 1300);
    assert_int_equal(last_of(&h, ENGINE_MEASURED)->job, 7);
    rate = last_of(&h, ENGINE_MEASURED)->measurement.rate;
    finish(&e, &h);
    return rate;
}

/* The truth of a job, and what its probe sees, follow from the engine's seed, the job's
 * id and what was told. */
static void two_engines_of_one_seed_agree_on_a_job(void **state)
{
    (void)state;
    assert_true(first_report(5, false) == first_report(5, true));
    assert_true(first_report(5, false) != first_report(6, false));
}

/* What is measured first of job 7, as it was told. */
static double rate_as_told(struct job_descriptor told, enum job_kind kind)
{
    struct sim_engine_options options = sim_engine_defaults();
    struct job job = some_job(7, 1e9);
    struct engine_job start = attempt_of(&job, 1, &(int){40});
    struct heard h = {0};
    struct engine e;
    double rate;

    job.descriptor = told;
    job.kind = kind;
    if (kind == JOB_INFERENCE)
        job.need.rate = 1e9;
    options.noise_sd = 0;
    e = make_stepped(&h, options);
    e.ops->start(e.self, &start, NULL);
    e.ops->dispatch(e.self, 1300);
    rate = last_of(&h, ENGINE_MEASURED)->measurement.rate;
    finish(&e, &h);
    return rate;
}

/* However far the figures of the nearest class are from it. */
static void twice_the_work_a_step_takes_twice_as_long(void **state)
{
    struct job_descriptor told = {.family = "BERT",
                                  .model = MODEL_ATTENTION,
                                  .batch = 16,
                                  .gmac_per_sample = 20,
                                  .params_millions = 110};
    struct job_descriptor twice = told, one = told;
    double rate = rate_as_told(told, JOB_TRAINING);

    (void)state;
    twice.gmac_per_sample *= 2;
    assert_true(fabs(rate / rate_as_told(twice, JOB_TRAINING) / 2 - 1) < 1e-6);
    one.batch = 0; /* of a service: one sample a request */
    assert_true(fabs(rate_as_told(one, JOB_INFERENCE) / rate / 16 - 1) < 1e-6);
}

static void a_failed_node_loses_its_jobs_and_comes_back(void **state)
{
    struct sim_engine_options options = sim_engine_defaults();
    struct heard h = {0};
    struct engine e;
    struct job job = some_job(1, 1e9);
    struct engine_job start = attempt_of(&job, 1, &(int){40});
    struct sim_inspect_job now;
    double done;

    (void)state;
    options.node_mtbf_s = 40000;
    options.checkpoint_s = 1000;
    options.repair_s = 500;
    e = make_stepped(&h, options);
    e.ops->start(e.self, &start, NULL);
    for (int i = 0; i < 10000 && count_of(&h, ENGINE_ENDED) == 0; i++)
        e.ops->dispatch(e.self, sim_engine_next_s(&e));
    assert_int_equal(last_of(&h, ENGINE_ENDED)->end, ENGINE_END_LOST);
    assert_int_equal(last_of(&h, ENGINE_NODE_DOWN)->node,
                     sim_inspect_cluster(&e)->devices[40].node);
    assert_true(sim_inspect_job(&e, 1, sim_engine_now_s(&e), &now));
    done = now.done; /* whole checkpoints */
    assert_false(now.seated);
    assert_true(now.done == last_of(&h, ENGINE_ENDED)->steps);
    assert_int_equal(e.ops->wake(e.self, last_of(&h, ENGINE_NODE_DOWN)->node, NULL), -1);
    e.ops->dispatch(e.self, sim_engine_now_s(&e) + 500);
    assert_true(count_of(&h, ENGINE_NODE_UP) > 0);
    start.attempt = 2;
    assert_int_equal(e.ops->start(e.self, &start, NULL), 0);
    e.ops->dispatch(e.self, sim_engine_now_s(&e));
    assert_true(sim_inspect_job(&e, 1, sim_engine_now_s(&e), &now));
    assert_true(now.done == done);
    finish(&e, &h);
}

static size_t reports_in_a_day(bool thin)
{
    struct sim_engine_options options = sim_engine_defaults();
    struct heard h = {0};
    struct engine e;
    struct job job = some_job(1, 1e12);
    struct engine_job start = attempt_of(&job, 1, &(int){40});
    size_t reports;

    options.thin = thin;
    e = make_stepped(&h, options);
    e.ops->start(e.self, &start, NULL);
    e.ops->dispatch(e.self, 1000 + 86400);
    reports = count_of(&h, ENGINE_MEASURED);
    if (thin)
        assert_true(last_of(&h, ENGINE_MEASURED)->measurement.window_s == 60);
    finish(&e, &h);
    return reports;
}

static void reports_of_a_steady_job_can_be_thinned(void **state)
{
    (void)state;
    assert_int_equal(reports_in_a_day(false), 86400 / 300);
    assert_in_range(reports_in_a_day(true), 10, 60);
}

static struct engine make_with(struct heard *h, bool queue, double sleep_s)
{
    struct sim_engine_options options = sim_engine_defaults();
    struct engine e;

    options.start_s = 1000;
    options.queue = queue;
    options.sleep_s = sleep_s;
    assert_int_equal(sim_engine_create(&e, &options, (struct engine_sink){hear, h}, NULL),
                     0);
    return e;
}

static void with_a_queue_a_job_is_handed_in_before_it_starts(void **state)
{
    struct heard h = {0};
    struct engine e = make_with(&h, true, 0);
    struct job job = some_job(1, 1e4);
    struct engine_job start = attempt_of(&job, 1, &(int){40});

    (void)state;
    assert_int_equal(e.ops->start(e.self, &start, NULL), -1);
    assert_int_equal(e.ops->enter(e.self, &start, NULL), 0);
    assert_int_equal(count_of(&h, ENGINE_ENTERED), 0); /* only dispatch() tells */
    e.ops->dispatch(e.self, 1000);
    assert_int_equal(count_of(&h, ENGINE_ENTERED), 1);
    assert_int_equal(last_of(&h, ENGINE_ENTERED)->job, 1);
    assert_int_equal(e.ops->leave(e.self, 1, NULL), 0);
    assert_int_equal(e.ops->leave(e.self, 1, NULL), 0); /* not knowing it is fine */
    assert_int_equal(e.ops->start(e.self, &start, NULL), -1);
    assert_int_equal(e.ops->enter(e.self, &start, NULL), 0);
    assert_int_equal(e.ops->start(e.self, &start, NULL), 0);
    finish(&e, &h);
}

static void a_node_may_take_its_time_to_fall_asleep(void **state)
{
    struct heard h = {0};
    struct engine e = make_with(&h, false, 30);

    (void)state;
    assert_int_equal(e.ops->sleep(e.self, 3, NULL), ENGINE_FALLING);
    assert_int_equal(sim_inspect_cluster(&e)->nodes[3].state, NODE_FALLING);
    e.ops->dispatch(e.self, 1029);
    assert_int_equal(count_of(&h, ENGINE_NODE_ASLEEP), 0);
    e.ops->dispatch(e.self, 1031);
    assert_int_equal(count_of(&h, ENGINE_NODE_ASLEEP), 1);
    assert_int_equal(last_of(&h, ENGINE_NODE_ASLEEP)->node, 3);
    assert_int_equal(sim_inspect_cluster(&e)->nodes[3].state, NODE_ASLEEP);
    finish(&e, &h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_a_queue_a_job_is_handed_in_before_it_starts),
        cmocka_unit_test(a_node_may_take_its_time_to_fall_asleep),
        cmocka_unit_test(the_world_stands_still_until_it_is_told_to_go_on),
        cmocka_unit_test(two_engines_of_one_seed_agree_on_a_job),
        cmocka_unit_test(twice_the_work_a_step_takes_twice_as_long),
        cmocka_unit_test(a_failed_node_loses_its_jobs_and_comes_back),
        cmocka_unit_test(reports_of_a_steady_job_can_be_thinned),
        cmocka_unit_test(a_job_starts_is_measured_and_is_done),
        cmocka_unit_test(a_moved_job_goes_on_where_it_was),
        cmocka_unit_test(a_job_that_takes_its_time_to_leave_keeps_its_device),
        cmocka_unit_test(the_next_daemon_finds_its_jobs),
        cmocka_unit_test(a_torn_journal_is_read_as_far_as_it_goes),
        cmocka_unit_test(a_node_asleep_draws_nothing_for_the_next_daemon_either),
        cmocka_unit_test(nodes_sleep_and_wake),
        cmocka_unit_test(the_environment_can_make_a_job_fail),
        cmocka_unit_test(requests_come_as_the_environment_says),
        cmocka_unit_test(replicas_share_the_requests_and_answer_sooner),
        cmocka_unit_test(a_service_is_seen_to_answer_what_it_is_asked),
        cmocka_unit_test(requests_for_a_stopped_service_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
