/* test_planner_mend.c - jobs that do less than they must are helped, or keep what they
 * have
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/planner_world.h"
#include "fixture/policy.h"

static struct policy_round r;

static int tear_down(void **state)
{
    (void)state;
    policy_round_fini(&r);
    return 0;
}

static void measure(struct job_status *s, double rate)
{
    const struct measurement m = {
        .job = s->job.id, .at_s = r.now_s, .window_s = 60, .rate = rate};

    recent_rate_note(s, r.cluster, &m);
}

static int type_of(const struct job_status *s)
{
    return r.cluster->devices[s->devices[0]].type;
}

static void who_is_measured_to_fall_short_is_moved(void **state)
{
    struct job_status *a;

    (void)state;
    r.count = 0;
    policy_round_init(&r, "corgi", 1, 1, 1);
    r.beliefs.rate[1] = 11; /* hardly faster: the cheap card is taken */
    a = policy_round_job(&r, 9);
    policy_round_plan(&r);
    assert_int_equal(type_of(a), 0);
    r.now_s += 120;
    measure(a, 6);
    policy_round_plan(&r);
    assert_int_equal(type_of(a), 1);
    assert_int_equal(a->moves, 1);
}

/* A service that is asked for 9 of what the cheap card is believed to do, 10. */
static struct job_status *some_service(void)
{
    struct job_status *a;

    policy_round_init(&r, "corgi", 1, 1, 1);
    r.beliefs.rate[1] = 11;
    a = policy_round_job(&r, 9);
    a->job.kind = JOB_INFERENCE;
    a->job.need.kind = NEED_SERVICE;
    policy_round_plan(&r);
    assert_int_equal(type_of(a), 0);
    return a;
}

/* It answers the little it is asked: no reason to move it, whatever it could do. */
static void a_service_that_answers_what_it_is_asked_stays(void **state)
{
    struct job_status *a = some_service();

    (void)state;
    for (int i = 0; i < 10; i++) {
        r.now_s += 120;
        a->demand = a->asked = a->asked_least = 0.09;
        measure(a, i % 2 ? 0.07 : 0.1);
        policy_round_plan(&r);
        assert_int_equal(r.plan.mend_count, 0);
    }
    assert_int_equal(a->moves, 0);
}

static void a_service_that_answers_less_than_it_is_asked_is_moved(void **state)
{
    struct job_status *a = some_service();

    (void)state;
    r.now_s += 120;
    a->demand = a->asked = a->asked_least = 9;
    measure(a, 6);
    policy_round_plan(&r);
    assert_int_equal(type_of(a), 1);
    assert_int_equal(a->moves, 1);
    /* Where nothing helps it does not wander. */
    r.now_s += 120;
    a->asked_least = 9;
    measure(a, 6);
    policy_round_plan(&r);
    assert_int_equal(a->moves, 1);
}

/* Answers so many times later than asked for, one such window after the other: after how
 * many is it helped?  0: it is not, in 50. */
static int windows_until_helped(double times, double answers)
{
    struct job_status *a = some_service();
    struct measurement m = {
        .job = a->job.id, .window_s = answers / 9, .rate = 9, .latency_s = 0.1 * times};
    int windows = 0;

    a->job.need.latency_s = 0.1;
    a->demand = a->asked = a->asked_least = 9;
    do {
        r.now_s += 120;
        m.at_s = r.now_s;
        recent_rate_note(a, r.cluster, &m);
        windows++;
    } while (!recent_rate_falls_short(a, 0) && windows <= 50);
    policy_round_fini(&r);
    return windows <= 50 ? windows : 0;
}

static void answers_that_come_late_are_believed_as_evidence_grows(void **state)
{
    (void)state;
    assert_int_equal(windows_until_helped(0.5, 1e6), 0);
    assert_int_equal(windows_until_helped(1.04, 1e6), 0); /* noise */
    assert_int_equal(windows_until_helped(1.1, 1e6), 9);
    assert_int_equal(windows_until_helped(1.2, 1e6), 4);
    assert_int_equal(windows_until_helped(1.6, 1e6), 1);
    assert_int_equal(windows_until_helped(1.6, 50), 3); /* few answers tell less */
    some_service();
}

/* Late and early windows in turn: the mean is in time. */
static void latency_that_is_in_time_on_average_moves_nobody(void **state)
{
    struct job_status *a = some_service();
    struct measurement m = {.job = a->job.id, .window_s = 60, .rate = 9};

    (void)state;
    a->job.need.latency_s = 0.1;
    a->demand = a->asked = a->asked_least = 9;
    for (int i = 0; i < 40; i++) {
        m.at_s = r.now_s += 120;
        m.latency_s = i % 4 < 2 ? 0.115 : 0.085; /* two late ones in a row */
        recent_rate_note(a, r.cluster, &m);
        policy_round_plan(&r);
        assert_int_equal(r.plan.mend_count, 0);
    }
    assert_int_equal(a->moves, 0);
}

/* ---- who falls short, and what is done about it --------------------------------------
 */

static void assert_mended(const struct job_status *s, enum plan_help help)
{
    assert_int_equal(r.plan.mend_count, 1);
    assert_int_equal(r.plan.mends[0].job, s->job.id);
    assert_int_equal(r.plan.mends[0].help, help);
    assert_true(r.plan.mends[0].rate < r.plan.mends[0].needed);
}

static void the_plan_says_what_was_done_for_a_job_that_falls_short(void **state)
{
    struct job_status *a;

    (void)state;
    policy_round_init(&r, "corgi", 1, 1, 1);
    r.beliefs.rate[1] = 11;
    a = policy_round_job(&r, 9);
    policy_round_plan(&r);
    assert_int_equal(r.plan.mend_count, 0);
    r.now_s += 120;
    measure(a, 6);
    policy_round_plan(&r);
    assert_mended(a, HELP_MOVED);
}

static void a_job_keeps_what_it_has_where_nothing_better_is_free(void **state)
{
    struct job_status *a;

    (void)state;
    policy_round_init(&r, "corgi", 1, 0, 1);
    a = policy_round_job(&r, 9);
    policy_round_plan(&r);
    for (int i = 0; i < 5; i++) {
        r.now_s += 120;
        measure(a, 3);
        policy_round_plan(&r);
        assert_mended(a, HELP_NOTHING);
        assert_int_equal(a->state, JOB_RUNNING);
        assert_int_equal(a->device_count, 1);
    }
    assert_int_equal(a->moves, 0);
}

static void a_job_that_may_not_move_keeps_what_it_has(void **state)
{
    struct job_status *a;

    (void)state;
    policy_round_init(&r, "corgi", 1, 1, 1);
    r.beliefs.rate[1] = 11;
    a = policy_round_job(&r, 9);
    a->job.may_move = false;
    policy_round_plan(&r);
    r.now_s += 120;
    measure(a, 3);
    policy_round_plan(&r);
    assert_mended(a, HELP_FIXED);
    assert_int_equal(a->device_count, 1);
}

static void the_neighbour_goes_when_the_job_itself_may_not(void **state)
{
    struct job_status *a, *b;

    (void)state;
    policy_round_init(&r, "corgi", 0, 2, 1);
    r.cluster->devices[1].drained = true; /* they have to share */
    a = policy_round_job(&r, 20);
    b = policy_round_job(&r, 5);
    a->job.may_move = false;
    policy_round_plan(&r);
    assert_int_equal(a->devices[0], b->devices[0]);
    r.cluster->devices[1].drained = false;
    r.now_s += 120;
    measure(a, 12);
    measure(b, 24);
    policy_round_plan(&r);
    assert_mended(a, HELP_NEIGHBOUR);
    assert_int_equal(a->moves, 0);
    assert_int_equal(b->moves, 1);
    assert_int_not_equal(a->devices[0], b->devices[0]);
}

/* A service and a job that trains share a device; the service answers too little of what
 * it is asked, and another device is free. */
static void share_and_fall_short(struct job_status **service, struct job_status **train,
                                 bool train_may_move)
{
    policy_round_init(&r, "corgi", 0, 2, 1);
    r.cluster->devices[1].drained = true; /* they have to share */
    *service = policy_round_job(&r, 20);
    (*service)->job.kind = JOB_INFERENCE;
    (*service)->job.need.kind = NEED_SERVICE;
    *train = policy_round_job(&r, 5);
    (*train)->job.may_move = train_may_move;
    policy_round_plan(&r);
    assert_int_equal((*service)->devices[0], (*train)->devices[0]);
    r.cluster->devices[1].drained = false;
    r.now_s += 120;
    (*service)->demand = (*service)->asked = (*service)->asked_least = 20;
    measure(*service, 12);
    measure(*train, 24);
    policy_round_plan(&r);
    assert_int_not_equal((*service)->devices[0], (*train)->devices[0]);
}

static void training_beside_a_service_goes_before_the_service_does(void **state)
{
    struct job_status *service, *train;

    (void)state;
    share_and_fall_short(&service, &train, true);
    assert_mended(service, HELP_NEIGHBOUR);
    assert_int_equal(service->moves, 0);
    assert_int_equal(train->moves, 1);
}

static void a_service_goes_when_the_training_beside_it_may_not(void **state)
{
    struct job_status *service, *train;

    (void)state;
    share_and_fall_short(&service, &train, false);
    assert_mended(service, HELP_MOVED);
    assert_int_equal(service->moves, 1);
    assert_int_equal(train->moves, 0);
}

static void a_more_important_neighbour_is_not_sent_away(void **state)
{
    struct job_status *a, *b;

    (void)state;
    policy_round_init(&r, "corgi", 0, 2, 1);
    r.cluster->devices[1].drained = true;
    a = policy_round_job(&r, 20);
    b = policy_round_job(&r, 5);
    a->job.may_move = false;
    b->job.priority = 1;
    policy_round_plan(&r);
    r.cluster->devices[1].drained = false;
    r.now_s += 120;
    measure(a, 12);
    measure(b, 24);
    policy_round_plan(&r);
    assert_mended(a, HELP_FIXED);
    assert_int_equal(b->moves, 0);
}

static void a_power_limit_that_breaks_a_promise_is_lifted(void **state)
{
    struct job_status *a;

    (void)state;
    policy_round_init(&r, "corgi", 0, 1, 1);
    r.beliefs.watts[1] = 290;
    a = policy_round_job(&r, 30);
    policy_round_plan(&r);
    r.cluster->devices[a->devices[0]].cap_watts = 200;
    r.now_s += 120;
    measure(a, 20);
    policy_round_plan(&r);
    assert_mended(a, HELP_UNCAPPED);
    assert_true(r.plan.cap_watts[a->devices[0]] <= 0 ||
                r.plan.cap_watts[a->devices[0]] > 200);
}

static void one_noisy_window_moves_nobody(void **state)
{
    struct job_status *a;

    (void)state;
    policy_round_init(&r, "corgi", 1, 1, 1);
    r.beliefs.rate[1] = 11;
    a = policy_round_job(&r, 9);
    policy_round_plan(&r);
    r.now_s += 120;
    measure(a, 8.9);
    policy_round_plan(&r);
    assert_int_equal(a->moves, 0);
}

/* ---- gangs ------------------------------------------------------------------------ */

static struct job_status *gang(double rate, int devices)
{
    struct job_status *s = policy_round_job(&r, rate);

    s->job.devices = devices;
    return s;
}

static void a_gang_that_falls_short_goes_elsewhere_whole(void **state)
{
    struct job_status *a;

    (void)state;
    policy_round_init(&r, "corgi", 1, 1, 2);
    r.beliefs.rate[1] = 11;
    a = gang(9, 2);
    policy_round_plan(&r);
    assert_int_equal(type_of(a), 0);
    r.now_s += 120;
    measure(a, 6);
    policy_round_plan(&r);
    assert_int_equal(a->device_count, 2);
    assert_int_equal(type_of(a), 1);
    assert_int_equal(r.cluster->devices[a->devices[1]].type, 1);
    assert_int_not_equal(a->devices[0], a->devices[1]);
}

static void a_gang_stays_where_nothing_else_is_free(void **state)
{
    struct job_status *a, *b;

    (void)state;
    policy_round_init(&r, "corgi", 1, 1, 2);
    r.beliefs.rate[1] = 11;
    a = gang(9, 2);
    policy_round_plan(&r);
    b = policy_round_job(&r, 10.5); /* needs the other type */
    policy_round_plan(&r);
    assert_int_equal(type_of(b), 1);
    r.now_s += 120;
    measure(a, 6);
    policy_round_plan(&r);
    assert_int_equal(type_of(a), 0);
    assert_int_equal(a->moves, 0);
}

static void a_gang_that_nothing_helps_does_not_wander(void **state)
{
    struct job_status *a;

    (void)state;
    policy_round_init(&r, "corgi", 0, 2, 2);
    a = gang(30, 2); /* believed to do 40 */
    policy_round_plan(&r);
    for (int i = 0; i < 20; i++) {
        r.now_s += 600;
        measure(a, 20);
        policy_round_plan(&r);
    }
    assert_int_equal(a->moves, 0);
}

static void a_gang_that_may_not_move_stays(void **state)
{
    struct job_status *a;

    (void)state;
    policy_round_init(&r, "corgi", 1, 1, 2);
    r.beliefs.rate[1] = 11;
    a = gang(9, 2);
    a->job.may_move = false;
    policy_round_plan(&r);
    r.now_s += 120;
    measure(a, 6);
    policy_round_plan(&r);
    assert_int_equal(type_of(a), 0);
}

/* Company that is too much for a gang: one of the two goes, whichever finds a place. */
static void a_gang_that_falls_short_beside_another_is_parted_from_it(void **state)
{
    struct job_status *a, *b;

    (void)state;
    policy_round_init(&r, "corgi", 2, 0, 2);
    a = gang(4, 2);
    b = gang(4, 2);
    policy_round_plan(&r);
    if (a->devices[0] != b->devices[0]) /* put them together by hand */
        for (int k = 0; k < 2; k++) {
            cluster_leave(r.cluster, b->devices[k], b->job.id, r.now_s);
            b->devices[k] = a->devices[k];
            cluster_seat(r.cluster, b->devices[k], b->job.id);
        }
    r.now_s += 1200;
    measure(a, 2); /* less than its 4 */
    measure(b, 6);
    policy_round_plan(&r);
    assert_int_not_equal(a->devices[0], b->devices[0]);
    assert_int_equal(a->device_count, 2);
    assert_int_equal(b->device_count, 2);
}

/* ---- with a world of their own ---- */

static struct planner_world w;

static int tear_down_world(void **state)
{
    (void)state;
    world_fini(&w);
    return 0;
}

/* The job runs there and was measured twice to do this much. */
static struct job_status *does(struct job_status *s, int device, double rate)
{
    world_run(&w, s, device);
    world_measure(&w, s, rate, 0);
    return s;
}

static enum plan_help help_for(const struct job_status *s)
{
    for (size_t i = 0; i < w.plan.mend_count; i++)
        if (w.plan.mends[i].job == s->job.id)
            return w.plan.mends[i].help;
    fail_msg("nothing is said of job %d", (int)s->job.id);
    return HELP_NOTHING;
}

/* A broken promise is no question of cost, nor of how often a job was moved. */
static void who_falls_short_moves_at_once(void **state)
{
    struct job_status *a;

    (void)state;
    world_init(&w);
    world_node(&w, FAST, 1);
    world_node(&w, SLOW, 1);
    a = does(world_job(&w, 20), 1, 8);
    a->moves = 50;
    a->placed_s = w.now_s - 10;
    a->job.total_steps = 100; /* and ends in some seconds */
    world_plan(&w);
    assert_int_equal(world_seat(&w, a), 0);
    assert_int_equal(help_for(a), HELP_MOVED);
    assert_true(w.plan.mends[0].rate == 8 && w.plan.mends[0].needed == 20);
}

/* A tenth of the need more is worth a move, less is not. */
static void a_place_that_is_hardly_better_is_not_worth_it(void **state)
{
    (void)state;
    for (int better = 0; better < 2; better++) {
        struct job_status *a;

        world_init(&w);
        world_node(&w, FAST, 1);
        world_node(&w, SLOW, 1);
        w.settings.sleep = false;
        w.settings.progress_watts = 0;
        a = does(world_job(&w, 100), 1, 30);
        w.beliefs.rate[1][FAST] = better ? 42 : 38;
        w.beliefs.watts[1][FAST] = 130; /* no dearer */
        a->placed_s = w.now_s;
        world_plan(&w);
        assert_int_equal(world_seat(&w, a), better ? 0 : 1);
        assert_int_equal(help_for(a), better ? HELP_MOVED : HELP_NOTHING);
        if (!better)
            world_fini(&w);
    }
}

/* Two share; the job that falls short may not move, and the other would do as well on the
 * device that is free. */
static struct job_status *send_away(bool sufferer_first, bool spare_first, double rate,
                                    double need)
{
    struct job_status *a, *b, *first, *second;
    int spare = spare_first ? 0 : 1;

    world_init(&w);
    world_node(&w, SLOW, 2);
    first = world_job(&w, 1);
    second = world_job(&w, 1);
    a = sufferer_first ? first : second;
    b = sufferer_first ? second : first;
    a->job.need.rate = a->required_rate = need;
    a->job.may_move = false;
    world_run(&w, first, 1 - spare);
    world_run(&w, second, 1 - spare);
    a->placed_s = b->placed_s = w.now_s - 60;
    world_measure(&w, a, rate, 0);
    world_measure(&w, b, 6, 0);
    world_plan(&w);
    assert_int_equal(world_seat(&w, a), 1 - spare);
    return a;
}

static void a_neighbour_goes_wherever_it_sits(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        bool first = i & 1, spare_first = i & 2;
        struct job_status *a = send_away(first, spare_first, 5, 8);

        assert_int_equal(world_seat(&w, &w.jobs[first ? 1 : 0]), spare_first ? 0 : 1);
        assert_int_equal(help_for(a), HELP_NEIGHBOUR);
        assert_int_equal(w.plan.mend_count, 1);
        if (i < 3)
            world_fini(&w);
    }
}

static void a_neighbour_stays_where_its_going_would_not_help(void **state)
{
    struct job_status *a;

    (void)state;
    a = send_away(true, false, 6, 6.3);            /* a twentieth short */
    assert_int_equal(help_for(a), HELP_NEIGHBOUR); /* alone it keeps its promise */
    world_fini(&w);
    a = send_away(true, false, 5.99, 6); /* not so short that it counts */
    assert_int_equal(help_for(a), HELP_NEIGHBOUR);
    world_fini(&w);

    world_init(&w); /* nobody beside it */
    world_node(&w, SLOW, 2);
    a = does(world_job(&w, 20), 0, 5);
    a->job.may_move = false;
    world_plan(&w);
    assert_int_equal(world_seat(&w, a), 0);
    assert_int_equal(help_for(a), HELP_FIXED);
}

static void a_neighbour_that_may_not_move_stays(void **state)
{
    struct job_status *a, *b;

    (void)state;
    world_init(&w);
    world_node(&w, SLOW, 2);
    a = world_run(&w, world_job(&w, 8), 0);
    b = world_run(&w, world_job(&w, 1), 0);
    a->job.may_move = b->job.may_move = false;
    world_measure(&w, a, 5, 0);
    world_plan(&w);
    assert_int_equal(world_seat(&w, b), 0);
    assert_int_equal(help_for(a), HELP_FIXED);
    a->job.may_move = true;
    world_plan(&w);
    assert_int_equal(world_seat(&w, a), 1);
    assert_int_equal(help_for(a), HELP_MOVED);
}

/* Others that move in the same round help only those they leave. */
static void a_move_elsewhere_is_no_help(void **state)
{
    struct job_status *a, *b;

    (void)state;
    world_init(&w);
    world_node(&w, SLOW, 2);
    world_node(&w, FAST, 1);
    a = does(world_job(&w, 20), 0, 5);
    b = does(world_job(&w, 30), 1, 5);
    a->job.may_move = false;
    b->job.may_share = false;
    world_plan(&w);
    assert_int_equal(world_seat(&w, b), 2);
    assert_int_equal(help_for(b), HELP_MOVED);
    assert_int_equal(help_for(a), HELP_FIXED);
}

/* Large clusters are looked at a part at a time, from anywhere on. */
static void the_last_of_many_devices_is_found_too(void **state)
{
    struct job_status *a;

    (void)state;
    world_init(&w);
    world_node(&w, SLOW, 330);
    world_node(&w, FAST, 1);
    a = does(world_job(&w, 20), 0, 8);
    for (int round = 0; round < 5 && w.plan.mend_count == 0; round++) {
        world_plan(&w);
        if (help_for(a) != HELP_MOVED)
            w.plan.mend_count = 0;
    }
    assert_int_equal(world_seat(&w, a), 330);
}

/* ---- power limits ---- */

static void a_limit_is_lifted_or_raised(void **state)
{
    struct job_status *a;
    int device = 1;

    (void)state;
    world_init(&w);
    world_node(&w, SLOW, 1);
    world_node(&w, FAST, 1);
    w.cluster->devices[0].failed = true;
    w.settings.caps = true;
    w.settings.progress_watts = 0; /* the least power */
    w.beliefs.watts[1][FAST] = 390;
    a = world_run(&w, world_job(&w, 37), device);
    w.cluster->devices[device].cap_watts = 220;
    world_measure(&w, a, 30, 220);
    world_plan(&w);
    assert_int_equal(help_for(a), HELP_UNCAPPED);
    assert_true(w.plan.cap_watts[device] <= 0 || w.plan.cap_watts[device] > 220);
    assert_int_equal(world_seat(&w, a), device);
    w.jobs[0].job.need.rate = w.jobs[0].required_rate = 31; /* less of a limit will do */
    world_plan(&w);
    assert_int_equal(help_for(a), HELP_UNCAPPED);
    assert_true(w.plan.cap_watts[device] > 221);
}

/* ---- gangs ---- */

/* A gang of two on slow devices of two nodes, where it does 8 a second. */
static struct job_status *gang_apart(double need, double rate)
{
    struct job_status *a;

    world_init(&w);
    world_node(&w, SLOW, 1);
    world_node(&w, SLOW, 1);
    a = world_job(&w, need);
    a->job.devices = 2;
    a = does(a, 0, rate);
    a->started_s = w.now_s - 3600; /* no time to lose for less cost */
    return a;
}

/* It does well enough, and would do five times as much elsewhere. */
static void a_gang_leaves_a_place_that_turned_out_wrong(void **state)
{
    static const struct {
        double age_s, left_s, fast_watts;
        bool goes;
    } cases[] = {{86400, 1e6, 200, true},
                 {8999, 1e6, 200, false},   /* its budget does not reach */
                 {86400, 1500, 200, false}, /* too little time to earn two pauses */
                 {86400, 1e6, 390, false}}; /* it would draw more than that is worth */

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct job_status *a = gang_apart(7, 7.5);

        a->started_s = w.now_s - cases[i].age_s;
        a->job.total_steps = cases[i].left_s * 0.5 * 40;
        w.beliefs.watts[1][FAST] = cases[i].fast_watts;
        world_node(&w, FAST, 2);
        world_plan(&w);
        assert_int_equal(world_seat(&w, a), cases[i].goes ? 2 : 0);
        world_fini(&w);
    }
    gang_apart(1, 1);
}

static void a_gang_goes_to_a_type_that_keeps_its_promise(void **state)
{
    static const struct {
        double need, rate; /* and what it was measured to do */
        int type, devices; /* of a node that is free */
        bool goes;
    } cases[] = {{9, 8, FAST, 2, true},
                 {7, 7.5, FAST, 2, false}, /* is well where it is */
                 {9, 8, FAST, 1, false},   /* too few */
                 {9, 8, SLOW, 2, false},   /* known to do no better */
                 {50, 8, FAST, 2, false},  /* better, and not enough */
                 {39.9, 8, FAST, 2, true}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct job_status *a = gang_apart(cases[i].need, cases[i].rate);

        world_node(&w, cases[i].type, cases[i].devices);
        world_plan(&w);
        assert_int_equal(world_seat(&w, a), cases[i].goes ? 2 : 0);
        if (cases[i].rate < cases[i].need)
            assert_int_equal(help_for(a), cases[i].goes ? HELP_MOVED : HELP_NOTHING);
        world_fini(&w);
    }
    gang_apart(1, 1);
}

static void a_gang_that_was_moved_is_left_alone_for_a_while(void **state)
{
    static const struct {
        int moves;
        double placed_s;
        bool goes;
    } cases[] = {
        {0, 1, true}, {1, 599, false}, {1, 601, true}, {3, 1799, false}, {3, 1801, true}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct job_status *a = gang_apart(9, 8);

        world_node(&w, FAST, 2);
        a->moves = cases[i].moves;
        a->placed_s = w.now_s - cases[i].placed_s;
        world_plan(&w);
        assert_int_equal(world_seat(&w, a), cases[i].goes ? 2 : 0);
        world_fini(&w);
    }
    gang_apart(9, 8);
    w.settings.moves = false;
    world_node(&w, FAST, 2);
    world_plan(&w);
    assert_int_equal(world_seat(&w, &w.jobs[0]), 0);
}

static void a_gang_stays_when_another_limit_is_enough(void **state)
{
    struct job_status *a;

    (void)state;
    world_init(&w);
    world_node(&w, SLOW, 2);
    world_node(&w, FAST, 2);
    w.settings.caps = true;
    w.beliefs.watts[1][SLOW] = 195;
    a = world_job(&w, 9.5);
    a->job.devices = 2;
    world_run(&w, a, 0);
    w.cluster->devices[0].cap_watts = 140;
    world_measure(&w, a, 8.8, 140);
    world_plan(&w);
    assert_int_equal(world_seat(&w, a), 0);
    assert_int_equal(help_for(a), HELP_UNCAPPED);
}

#define planner_test(f) cmocka_unit_test_teardown(f, tear_down)
#define world_test(f)   cmocka_unit_test_teardown(f, tear_down_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        planner_test(who_is_measured_to_fall_short_is_moved),
        planner_test(a_service_that_answers_what_it_is_asked_stays),
        planner_test(a_service_that_answers_less_than_it_is_asked_is_moved),
        planner_test(answers_that_come_late_are_believed_as_evidence_grows),
        planner_test(latency_that_is_in_time_on_average_moves_nobody),
        planner_test(the_plan_says_what_was_done_for_a_job_that_falls_short),
        planner_test(a_job_keeps_what_it_has_where_nothing_better_is_free),
        planner_test(a_job_that_may_not_move_keeps_what_it_has),
        planner_test(the_neighbour_goes_when_the_job_itself_may_not),
        planner_test(training_beside_a_service_goes_before_the_service_does),
        planner_test(a_service_goes_when_the_training_beside_it_may_not),
        planner_test(a_more_important_neighbour_is_not_sent_away),
        planner_test(a_power_limit_that_breaks_a_promise_is_lifted),
        planner_test(one_noisy_window_moves_nobody),
        planner_test(a_gang_that_falls_short_goes_elsewhere_whole),
        planner_test(a_gang_stays_where_nothing_else_is_free),
        planner_test(a_gang_that_nothing_helps_does_not_wander),
        planner_test(a_gang_that_may_not_move_stays),
        planner_test(a_gang_that_falls_short_beside_another_is_parted_from_it),
        world_test(who_falls_short_moves_at_once),
        world_test(a_place_that_is_hardly_better_is_not_worth_it),
        world_test(a_neighbour_goes_wherever_it_sits),
        world_test(a_neighbour_stays_where_its_going_would_not_help),
        world_test(a_neighbour_that_may_not_move_stays),
        world_test(a_move_elsewhere_is_no_help),
        world_test(the_last_of_many_devices_is_found_too),
        world_test(a_limit_is_lifted_or_raised),
        world_test(a_gang_leaves_a_place_that_turned_out_wrong),
        world_test(a_gang_goes_to_a_type_that_keeps_its_promise),
        world_test(a_gang_that_was_moved_is_left_alone_for_a_while),
        world_test(a_gang_stays_when_another_limit_is_enough),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
