/* test_decision.c - every sentence `corgi why` can print, from a state where it is true
 *
 * Each table below has a state for every value of its enum; a value without one fails.
 * Of jobs that wait: test_unplaced.c. */
#include "loop/place/decision.h"

#include "base/mem.h"
#include "loop/cluster.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { SLOW, FAST };

/* Slow: 10/s for 100 W; fast: 20/s for 400 W.  Two share a device at half the rate each,
 * for the watts of one.  90 % lie within a tenth of the value. */
static double fits;

static void predict_two(const void *self, struct prediction_cache *cache,
                        const struct combination *where, struct prediction *out)
{
    double rate = (where->type == FAST ? 20 : 10) / where->count;
    double watts = where->type == FAST ? 400 : 100;

    (void)self;
    (void)cache;
    *out = (struct prediction){.fits = fits};
    for (int i = 0; i < where->count; i++)
        out->rate[i] =
            (struct estimate){.value = rate, .low = rate / 1.1, .high = rate * 1.1};
    out->watts = (struct estimate){.value = watts, .low = watts, .high = watts};
}

struct world {
    struct cluster *cluster; /* device 0 is slow, 1 is fast */
    struct jobs *jobs;
    struct model_ops ops;
    struct model model;
    struct optimize_settings settings;
    struct plan plan;
    struct plan_mend mend;
    struct decision_before before;
    struct decision_ground ground;
};

static int make_world(void **state)
{
    static const struct gpu_sheet types[2] = {{.name = "slow"}, {.name = "fast"}};
    struct world *w = mem_new(struct world);

    fits = 1;
    w->cluster = cluster_create(types, 2);
    for (int t = 0; t < 2; t++)
        cluster_add_node(w->cluster, &(struct node_spec){.type = t, .device_count = 1});
    w->jobs = jobs_create();
    w->ops.predict = predict_two;
    w->model.ops = &w->ops;
    w->settings.confidence = 0.8;
    w->plan.mends = &w->mend;
    w->ground = (struct decision_ground){.now_s = 100,
                                         .cluster = w->cluster,
                                         .jobs = w->jobs,
                                         .model = &w->model,
                                         .settings = &w->settings,
                                         .plan = &w->plan,
                                         .before = &w->before};
    *state = w;
    return 0;
}

static int end_world(void **state)
{
    struct world *w = *state;

    jobs_destroy(w->jobs);
    cluster_destroy(w->cluster);
    free(w);
    return 0;
}

/* Job 7 on a device, or waiting (-1); needed 0: best effort. */
static struct job_status *job_on(struct world *w, int device, double needed)
{
    struct job job = {
        .id = 7,
        .kind = JOB_TRAINING,
        .devices = 1,
        .need = {.kind = needed > 0 ? NEED_RATE : NEED_BEST_EFFORT, .rate = needed}};
    struct job_status *status = jobs_add(w->jobs, &job);

    if (device >= 0) {
        cluster_seat(w->cluster, device, job.id);
        status->state = JOB_RUNNING;
        status->device_count = 1;
        status->devices[0] = device;
    }
    return status;
}

static void act(struct world *w, enum action_kind kind, int device, double cap_watts,
                struct decision *d)
{
    const struct action a = {.kind = kind,
                             .job = 7,
                             .device = device,
                             .cap_watts = cap_watts,
                             .device_count = 1,
                             .devices = {device}};

    assert_true(decision_of_action(&w->ground, &a, d));
}

/* ---- reasons ----------------------------------------------------------------------- */

static void start_keeps(struct world *w, struct decision *d)
{
    job_on(w, SLOW, 5);
    act(w, ACTION_START, SLOW, 0, d);
}

static void start_effort(struct world *w, struct decision *d)
{
    job_on(w, SLOW, 0);
    act(w, ACTION_START, SLOW, 0, d);
}

static void start_short(struct world *w, struct decision *d)
{
    job_on(w, SLOW, 9.9); /* believed to give 10, but not surely enough */
    act(w, ACTION_START, SLOW, 0, d);
}

static void start_instead(struct world *w, struct decision *d)
{
    static struct seat seats[] = {{.job = 3, .by = 7}};

    job_on(w, SLOW, 5);
    w->plan.seats = seats;
    w->plan.seat_count = 1;
    act(w, ACTION_START, SLOW, 0, d);
}

static void move_promise(struct world *w, struct decision *d)
{
    job_on(w, FAST, 12);
    w->mend = (struct plan_mend){7, HELP_MOVED, 8, 12};
    w->plan.mend_count = 1;
    act(w, ACTION_MOVE, FAST, 0, d);
}

static void move_cost(struct world *w, struct decision *d)
{
    w->before = (struct decision_before){7, 20, 400};
    w->ground.before_count = 1;
    job_on(w, SLOW, 5);
    act(w, ACTION_MOVE, SLOW, 0, d);
}

static void move_plan(struct world *w, struct decision *d)
{
    w->before = (struct decision_before){7, 10, 100};
    w->ground.before_count = 1;
    job_on(w, FAST, 5);
    act(w, ACTION_MOVE, FAST, 0, d);
}

static void stop(struct world *w, struct decision *d)
{
    job_on(w, -1, 5);
    act(w, ACTION_STOP, 0, 0, d);
}

static void stop_for(struct world *w, struct decision *d)
{
    const struct action a = {.kind = ACTION_STOP, .job = 7, .by = 9};

    job_on(w, -1, 0);
    assert_true(decision_of_action(&w->ground, &a, d));
}

static void cap(struct world *w, struct decision *d)
{
    job_on(w, SLOW, 5);
    act(w, ACTION_CAP, SLOW, 80, d);
}

static void uncap(struct world *w, struct decision *d)
{
    job_on(w, SLOW, 5);
    act(w, ACTION_CAP, SLOW, 0, d);
}

static void slow(struct world *w, struct decision *d)
{
    job_on(w, SLOW, 12);
    w->mend = (struct plan_mend){7, HELP_NOTHING, 8, 12};
    decision_of_mend(&w->ground, &w->mend, d);
}

static void late(struct world *w, struct decision *d)
{
    struct job_status *status = job_on(w, SLOW, 5);

    status->job.need.latency_s = 0.05;
    status->pace.latency_s = 0.25;
    w->mend = (struct plan_mend){7, HELP_FIXED, 5, 5};
    decision_of_mend(&w->ground, &w->mend, d);
}

static const struct {
    void (*make)(struct world *w, struct decision *d);
    const char *said;
} reasons[DECISION_REASONS] = {
    [DECISION_START_KEEPS] = {start_keeps,
                              "all jobs together cost the least with it here, and its "
                              "5/s are kept: 9.52/s at 80 % confidence, 100 W"},
    [DECISION_START_EFFORT] = {start_effort, "best effort: all jobs together cost the "
                                             "least with it here, 10/s for 100 W"},
    [DECISION_START_SHORT] = {start_short,
                              "no free place keeps its 9.90/s at 80 % confidence: this "
                              "one gives 9.52/s, for 100 W"},
    [DECISION_START_INSTEAD] =
        {start_instead, "no free place kept its 5/s beyond its grace time: job 3 was "
                        "stopped for it, and it has 9.52/s at 80 % confidence"},
    [DECISION_MOVE_PROMISE] = {move_promise,
                               "to keep its 12/s: 19.0/s here at 80 % confidence, "
                               "8/s measured where it was"},
    [DECISION_MOVE_COST] = {move_cost, "costs less: 100 W for 10/s here, 400 W for "
                                       "20/s where it was"},
    [DECISION_MOVE_PLAN] = {move_plan,
                            "all jobs together cost less with it here: 400 W for 20/s "
                            "here, 100 W for 10/s where it was"},
    [DECISION_STOP] = {stop, "stopped to make room; it goes on later"},
    [DECISION_STOP_FOR] = {stop_for,
                           "stopped for job 9, which goes before it and had waited "
                           "beyond its grace time; it goes on later"},
    [DECISION_CAP] = {cap, "power limit of 80 W: the work there takes the least energy "
                           "with it"},
    [DECISION_UNCAP] = {uncap, "power limit lifted"},
    [DECISION_SLOW] = {slow, "measured 8/s, below the promise of 12/s: no better "
                             "place is free, so it keeps what it has"},
    [DECISION_LATE] = {late, "answers after 0.250 s, later than the promised 0.050 s: it "
                             "may not be moved, so it keeps what it has"},
};

static void every_reason_is_said_from_a_state_where_it_is_true(void **state)
{
    for (int i = 0; i < DECISION_REASONS; i++) {
        struct decision d;

        assert_non_null(reasons[i].make);
        end_world(state);
        make_world(state);
        reasons[i].make(*state, &d);
        assert_int_equal(d.why, i);
        assert_string_equal(d.reason, reasons[i].said);
    }
}

static void every_help_is_said(void **state)
{
    static const enum plan_help all[] = {HELP_MOVED, HELP_NEIGHBOUR, HELP_UNCAPPED,
                                         HELP_NOTHING, HELP_FIXED};
    struct world *w = *state;

    job_on(w, SLOW, 12);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        const struct plan_mend mend = {7, all[i], 8, 12};
        struct decision d;

        assert_int_equal(all[i], i); /* none is left out */
        decision_of_mend(&w->ground, &mend, &d);
        assert_non_null(strstr(d.reason, decision_help(all[i])));
    }
    assert_int_equal(HELP_FIXED + 1, sizeof(all) / sizeof(all[0]));
}

/* ---- places ------------------------------------------------------------------------ */

/* What is said of the slow type to a job that waits. */
static struct decision_alternative of_slow(struct world *w)
{
    struct decision d;

    decision_of_waiting(&w->ground, jobs_get(w->jobs, 7), &d);
    assert_int_equal(d.alternative_count, 2);
    assert_int_equal(d.alternatives[SLOW].type, SLOW);
    return d.alternatives[SLOW];
}

static void is_possible(struct world *w)
{
    job_on(w, -1, 5);
}

static void has_too_little_memory(struct world *w)
{
    fits = 0.2;
    job_on(w, -1, 5);
}

static void is_too_slow(struct world *w)
{
    job_on(w, -1, 9.9);
}

static void is_taken(struct world *w)
{
    job_on(w, -1, 5);
    cluster_seat(w->cluster, SLOW, 8);
}

static void is_not_allowed(struct world *w)
{
    job_on(w, -1, 5)->job.group = 2;
    w->cluster->nodes[w->cluster->devices[FAST].node].access.groups = 1u << 2;
}

static const struct {
    void (*make)(struct world *w);
    const char *word, *said;
} verdicts[DECISION_VERDICTS] = {
    [DECISION_POSSIBLE] = {is_possible, "possible", "it could run there"},
    [DECISION_TOO_LITTLE_MEMORY] = {has_too_little_memory, "too_little_memory",
                                    "too little memory: it fits with 20 % probability"},
    [DECISION_TOO_SLOW] = {is_too_slow, "too_slow",
                           "too slow: 9.52/s at 80 % confidence, 9.90/s are needed"},
    [DECISION_TAKEN] = {is_taken, "taken", "fast enough, none free"},
    [DECISION_NOT_ALLOWED] = {is_not_allowed, "not_allowed",
                              "on no node it may use for as long as its time limit"},
};

static void every_verdict_agrees_with_its_text(void **state)
{
    for (int i = 0; i < DECISION_VERDICTS; i++) {
        struct decision_alternative a;

        assert_non_null(verdicts[i].make);
        end_world(state);
        make_world(state);
        verdicts[i].make(*state);
        a = of_slow(*state);
        assert_int_equal(a.verdict, i);
        assert_string_equal(decision_verdict(a.verdict), verdicts[i].word);
        assert_string_equal(a.text, verdicts[i].said);
    }
}

static void the_place_a_job_has_is_no_alternative(void **state)
{
    struct world *w = *state;
    struct decision d;

    job_on(w, SLOW, 5);
    act(w, ACTION_START, SLOW, 0, &d);
    assert_int_equal(d.alternative_count, 1);
    assert_int_equal(d.alternatives[0].type, FAST);
    assert_true(d.alternatives[0].more_watts == 300);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_world, end_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_reason_is_said_from_a_state_where_it_is_true),
        TEST(every_help_is_said),
        TEST(every_verdict_agrees_with_its_text),
        TEST(the_place_a_job_has_is_no_alternative),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
