/* test_quote_offers.c - a quote is what the model says of the place the planner names:
 * power, energy, times and other offers
 *
 * The planner is one that answers what the test says, by the number of GPUs asked for. */
#include "loop_fixture.h"

#include "loop/admit/quote.h"
#include "loop/requirement.h"

/* What the model and the planner say, and what they were asked. */
static struct {
    struct cluster *cluster;
    struct job_status others[4];
    const struct job_status *jobs[6];
    size_t count;
    struct optimize_settings settings;
    struct place_offer offers[LOOP_MAX_GANG + 1]; /* by GPUs asked for */
    int offers_made;
    uint64_t ids[8]; /* asked about */
    double rate[TYPES];
    double watts[TYPES];
    double fits[TYPES];
    double more_watts; /* of each further job */
    double apart;      /* factor on the rate of a gang on two nodes */
    double demand;     /* of the newest job in the last question */
} t;

static void model_predict(const void *self, struct prediction_cache *cache,
                          const struct combination *where, struct prediction *out)
{
    const struct member *newest = &where->members[where->count - 1];

    (void)self;
    (void)cache;
    for (int i = 0; i < where->count; i++)
        out->rate[i] =
            (struct estimate){.value = t.rate[where->type] * pow(0.5, where->count - 1) *
                                       (where->members[i].nodes > 1 ? t.apart : 1) *
                                       where->members[i].job->devices};
    for (int i = 0; i < where->count; i++) {
        out->rate[i].low = 0.8 * out->rate[i].value;
        out->rate[i].high = 1.25 * out->rate[i].value;
        out->rate[i].source = ESTIMATE_MEASURED; /* its kind is known */
    }
    out->watts.value = t.watts[where->type] + t.more_watts * (where->count - 1);
    out->watts.low = out->watts.value - 5;
    out->watts.high = out->watts.value + 20;
    out->fits = t.fits[where->type];
    t.demand = newest->demand;
}

static const struct model_ops model_ops = {.name = "told", .predict = model_predict};

static void planner_says(void *self, const struct optimize_input *in,
                         const struct plan_terms *terms, struct place_offer *offer)
{
    const struct job_status *asked = in->jobs[in->job_count - 1];

    (void)self;
    (void)terms;
    assert_int_equal(in->job_count, t.count + 1);
    assert_int_equal(asked->state, JOB_WAITING);
    assert_true(asked->job.submitted_s == in->now_s);
    assert_true(isnan(asked->demand) && isnan(asked->started_s) &&
                isnan(asked->placed_s));
    assert_true(asked->required_rate == asked->job.need.rate);
    t.ids[t.offers_made++] = asked->job.id;
    *offer = t.offers[asked->job.devices];
}

static const struct planner_ops planner_ops = {.name = "told", .offer = planner_says};
static const struct planner_ops silent_ops = {.name = "silent"};

static int set_up(void **state)
{
    (void)state;
    memset(&t, 0, sizeof(t));
    t.cluster = fixture_cluster();
    t.settings = fixture_settings();
    t.rate[SLOW] = 10;
    t.rate[FAST] = 40;
    t.watts[SLOW] = 60;
    t.watts[FAST] = 300;
    t.fits[SLOW] = t.fits[FAST] = 1;
    t.apart = 0.5;
    t.settings.confidence = 0.5; /* the guess itself */
    for (int g = 0; g <= LOOP_MAX_GANG; g++)
        t.offers[g] = (struct place_offer){.reason = UNPLACED_CAPACITY, .start_s = NAN};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    cluster_destroy(t.cluster);
    return 0;
}

/* A job that runs on this device and has been asked about before. */
static void runs(int device)
{
    struct job_status *s = &t.others[t.count];

    *s = (struct job_status){.job = fixture_job(100 + t.count, 1),
                             .state = JOB_RUNNING,
                             .demand = NAN,
                             .device_count = 1,
                             .devices = {device}};
    cluster_seat(t.cluster, device, s->job.id);
    t.jobs[t.count++] = s;
}

/* The planner has a place for so many GPUs, from this device on. */
static void place_for(int gpus, int device, double start_s)
{
    t.offers[gpus] =
        (struct place_offer){.placed = true, .start_s = start_s, .device_count = gpus};
    for (int k = 0; k < gpus; k++)
        t.offers[gpus].devices[k] = device + k;
}

static struct quote ask(const struct planner_ops *ops, const struct job *job,
                        int max_replicas, double now_s)
{
    static struct model model = {.ops = &model_ops};
    const struct planner planner = {.ops = ops};
    const struct plan_terms terms = {0};
    struct quote_ground ground = {.now = {.now_s = now_s,
                                          .cluster = t.cluster,
                                          .job_count = t.count,
                                          .jobs = t.jobs,
                                          .model = &model,
                                          .settings = &t.settings},
                                  .jobs = t.jobs,
                                  .planner = &planner,
                                  .terms = &terms};
    struct quote q;

    t.offers_made = 0;
    assert_int_equal(quote_make(&ground, job, max_replicas, NULL, &q, NULL), 0);
    return q;
}

static struct quote quote(const struct job *job)
{
    return ask(&planner_ops, job, 1, 1000);
}

static struct job rate_job(double rate)
{
    struct job job = fixture_rate_job(7, rate);

    job.need.confidence = 0;
    return job;
}

/* ---- the type ---- */

static void the_cheapest_type_that_keeps_it_or_the_fastest(void **state)
{
    static const struct {
        double need;
        double watts[TYPES];
        int type;
    } cases[] = {
        {10, {60, 300}, SLOW}, /* just what it does */
        {10.1, {60, 300}, FAST}, {5, {400, 300}, FAST}, {5, {300, 300}, SLOW},
        {0, {60, 300}, SLOW},    {41, {60, 300}, FAST}, /* neither: the faster */
        {41, {600, 300}, FAST},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct job job = rate_job(cases[i].need);

        job.need.kind = cases[i].need > 0 ? NEED_RATE : NEED_BEST_EFFORT;
        memcpy(t.watts, cases[i].watts, sizeof(t.watts));
        assert_int_equal(quote(&job).type, cases[i].type);
    }
    t.rate[FAST] = 9; /* slower, and first of equals otherwise */
    assert_int_equal(
        quote(
            &(struct job){.id = 7, .devices = 1, .need = {.kind = NEED_RATE, .rate = 50}})
            .type,
        SLOW);
    t.rate[FAST] = 10;
    assert_int_equal(
        quote(
            &(struct job){.id = 7, .devices = 1, .need = {.kind = NEED_RATE, .rate = 50}})
            .type,
        SLOW);
}

/* ---- the place ---- */

static void a_place_has_its_node_devices_and_start(void **state)
{
    struct job job = rate_job(20);
    struct quote q;

    (void)state;
    job.devices = 2;
    place_for(2, 3, 1000);
    q = quote(&job);
    assert_int_equal(q.verdict, QUOTE_ACCEPTED);
    assert_int_equal(q.type, FAST);
    assert_int_equal(q.node, 1);
    assert_int_equal(q.device_count, 2);
    assert_int_equal(q.devices[0], 3);
    assert_int_equal(q.devices[1], 4);
    assert_close(q.start_s, 1000, 0);
    assert_string_equal(q.reason, "can start now");
    assert_close(q.rate.value, 80, 1e-9);
    assert_int_equal(q.neighbour, 0);
    assert_int_equal(q.offer_count, 0);
    assert_close(q.needed, 20, 0);
    assert_close(q.promised_rate, 20, 0);
    t.offers[2].devices[0] = 1; /* on two nodes: half as fast */
    t.offers[2].devices[1] = 6;
    assert_close(quote(&job).rate.value, 0.5 * 20, 1e-9);
}

static void a_node_that_sleeps_has_to_wake_first(void **state)
{
    struct job job = rate_job(5);
    struct quote q;

    (void)state;
    job.devices = 2;
    place_for(2, 0, 1000);
    t.offers[2].devices[1] = 6;
    t.cluster->nodes[0].wake_s = 90;
    t.cluster->nodes[0].state = NODE_ASLEEP;
    q = quote(&job);
    assert_close(q.start_s, 1090, 0);
    assert_string_equal(q.reason, "can start as soon as its node is awake");
    t.cluster->nodes[2].state = NODE_WAKING; /* 120 s: the longer of the two */
    assert_close(quote(&job).start_s, 1120, 0);
    t.cluster->nodes[0].state = t.cluster->nodes[2].state = NODE_AWAKE;
    assert_close(quote(&job).start_s, 1000, 0);
}

static void beside_others_a_job_draws_what_it_adds(void **state)
{
    struct job job = rate_job(5);
    struct quote q;

    (void)state;
    runs(2);
    runs(2);
    t.more_watts = 30;
    place_for(1, 2, 1000);
    q = quote(&job);
    assert_string_equal(q.reason, "can start now, beside another job");
    assert_int_equal(q.neighbour, 101); /* the last of them */
    assert_close(q.rate.value, 10, 1e-9);
    assert_close(q.watts.value, 30, 1e-9);
    assert_close(q.watts.low, 25, 1e-9);
    assert_close(q.watts.high, 50, 1e-9);
    t.more_watts = -10; /* never less than nothing */
    q = quote(&job);
    assert_close(q.watts.value, 0, 1e-9);
    assert_close(q.watts.low, 0, 1e-9);
    assert_close(q.watts.high, 10, 1e-9);
    runs(2);
    assert_close(quote(&job).rate.value, 5, 1e-9); /* three others */
    runs(2);
    assert_close(quote(&job).rate.value, 5, 1e-9); /* more than can share */
}

static void a_service_is_quoted_with_all_the_requests_it_asks_for(void **state)
{
    struct job job = rate_job(6);

    (void)state;
    place_for(1, 2, 1000);
    quote(&job);
    assert_close(t.demand, 0, 0); /* training works all the time */
    job.kind = JOB_INFERENCE;
    job.need.kind = NEED_SERVICE;
    quote(&job);
    assert_close(t.demand, 6, 0);
}

/* ---- energy ---- */

static void energy_counts_all_devices_over_all_of_the_time(void **state)
{
    struct job job = rate_job(20);
    struct quote q;

    (void)state;
    job.devices = 2;
    job.total_steps = 8000; /* 100 s at 80 a second */
    place_for(2, 2, 1000);
    q = quote(&job);
    assert_close(q.joules, 2 * 300 * 100, 1e-6);
    assert_close(q.joules_low, 2 * 295 * 100 / 1.25, 1e-6);
    assert_close(q.joules_high, 2 * 320 * 100 / 0.8, 1e-6);
    assert_close(q.joules_per_step, 600 / 80.0, 1e-9);
    assert_close(q.end_s, 1100, 1e-9);
    job.total_steps = 0;
    job.duration_s = 50; /* means nothing for training */
    q = quote(&job);
    assert_true(isnan(q.joules) && isnan(q.end_s));
    job.kind = JOB_INFERENCE;
    job.total_steps = 8000;
    q = quote(&job);
    assert_close(q.joules, 2 * 300 * 50, 1e-6);
    assert_close(q.joules_low, 2 * 295 * 50, 1e-6);
    assert_close(q.joules_high, 2 * 320 * 50, 1e-6);
    assert_close(q.end_s, 1050, 1e-9);
    job.duration_s = 0.5;
    assert_close(quote(&job).joules, 300, 1e-6);
    job.duration_s = 0;
    assert_true(isnan(quote(&job).joules));
    job.kind = JOB_TRAINING;
    job.total_steps = 1;
    assert_close(quote(&job).joules, 600 / 80.0, 1e-9);
}

static void replicas_share_the_rate_and_add_up(void **state)
{
    struct job job = rate_job(100);
    struct quote q;

    (void)state;
    job.kind = JOB_INFERENCE;
    job.need.kind = NEED_SERVICE;
    job.duration_s = 10;
    place_for(1, 2, 1000);
    q = ask(&planner_ops, &job, 5, 1000);
    assert_int_equal(q.verdict, QUOTE_ACCEPTED);
    assert_int_equal(q.replicas, 3); /* 33.3 each; two would need 50 */
    assert_close(q.needed, 100, 1e-9);
    assert_close(q.promised_rate, 100, 1e-9);
    assert_close(q.joules, 3 * 3000, 1e-6);
    assert_close(q.joules_low, 3 * 2950, 1e-6);
    assert_close(q.joules_high, 3 * 3200, 1e-6);
    assert_int_equal(ask(&planner_ops, &job, 3, 1000).replicas, 3);
    q = ask(&planner_ops, &job, 2, 1000);
    assert_int_equal(q.verdict, QUOTE_COUNTER);
    assert_int_equal(q.replicas, 1);
    job.need.kind = NEED_RATE; /* only a service can be split */
    assert_int_equal(ask(&planner_ops, &job, 5, 1000).verdict, QUOTE_COUNTER);
}

/* ---- other offers ---- */

static void what_no_type_does_can_be_had_slower_or_on_more_gpus(void **state)
{
    struct job job = rate_job(100);
    struct quote q;

    (void)state;
    place_for(4, 2, 1000); /* none for two */
    q = quote(&job);
    assert_int_equal(q.verdict, QUOTE_COUNTER);
    assert_string_equal(q.reason, "100/s cannot be promised on any type; 40/s can");
    assert_close(q.start_s, 1000, 0);
    assert_close(q.promised_rate, 40, 1e-9);
    assert_int_equal(q.offer_count, 2);
    assert_string_equal(q.offers[0].kind, "lower_rate");
    assert_string_equal(q.offers[0].text, "40/s on a fast");
    assert_close(q.offers[0].rate, 40, 1e-9);
    assert_int_equal(q.offers[0].type, FAST);
    assert_int_equal(q.offers[0].gpus, 0);
    assert_true(isnan(q.offers[0].start_s));
    assert_string_equal(q.offers[1].kind, "other_gpus");
    assert_string_equal(q.offers[1].text, "the same rate on 4 GPUs of type fast");
    assert_int_equal(q.offers[1].gpus, 4);
    assert_int_equal(q.offers[1].type, FAST);
    assert_close(q.offers[1].rate, 160, 1e-9);
    assert_int_equal(t.offers_made, 2); /* for two, for four */
    assert_true(t.ids[0] & QUOTE_ASKED && t.ids[1] & QUOTE_ASKED);
    assert_true(t.ids[0] != t.ids[1]); /* planners remember jobs by their id */
}

static void more_gpus_are_offered_where_they_are_enough(void **state)
{
    struct job job = rate_job(100);
    struct quote q;

    (void)state;
    place_for(2, 2, 1000); /* 80 */
    place_for(8, 0, 1000); /* a slow device first: 80, and on two nodes */
    q = quote(&job);
    assert_int_equal(q.offer_count, 1);
    assert_int_equal(t.offers_made, 3); /* two, four and eight, no more */
    job.devices = 3;
    job.need.rate = 200;
    job.need.kind = NEED_RATE;
    place_for(6, 2, 1000);
    t.apart = 1;
    q = quote(&job);
    assert_int_equal(q.offers[1].gpus, 6);
    job.devices = LOOP_MAX_GANG; /* no allowed number is larger */
    t.cluster->device_count = 8;
    q = quote(&job);
    assert_int_equal(q.verdict, QUOTE_REFUSED);
}

static void fewer_gpus_are_offered_to_a_gang_that_waits(void **state)
{
    struct job job = rate_job(15); /* two slow ones would do, and are not free */
    struct quote q;

    (void)state;
    job.devices = 4;
    place_for(1, 2, 1000);
    q = quote(&job);
    assert_int_equal(q.verdict, QUOTE_QUEUED);
    assert_int_equal(q.offer_count, 1);
    assert_int_equal(q.offers[0].gpus, 1);
    assert_string_equal(q.offers[0].text, "the same rate on 1 GPUs of type fast");
    job.devices = 2;
    assert_int_equal(quote(&job).offers[0].gpus, 1);
    job.devices = 1;
    q = quote(&job); /* has its place */
    t.offers[1] = (struct place_offer){.reason = UNPLACED_CAPACITY, .start_s = NAN};
    q = quote(&job);
    assert_int_equal(q.offer_count, 0);
    assert_int_equal(t.offers_made, 1);
    job.devices = 2;
    quote(&job);
    assert_int_equal(t.offers_made, 2); /* for two, for one, for no fewer */
}

static void a_wait_has_its_reason_and_its_end(void **state)
{
    static const struct {
        enum unplaced_reason reason;
        int ahead;
        const char *text;
    } cases[] = {
        {UNPLACED_CAPACITY, 0, "waits: no device it could use is free"},
        {UNPLACED_RATE, 0,
         "waits: no free place is believed to keep its requirement and those of the jobs "
         "beside it"},
        {UNPLACED_MEMORY, 0, "waits: it fits into the memory of no type it may use"},
        {UNPLACED_POLICY, 0, "waits: the power limit leaves no room for it"},
        {UNPLACED_CAPACITY, 1, "waits for a device; 1 job is ahead"},
        {UNPLACED_RATE, 5, "waits for a device; 5 jobs are ahead"},
    };
    static const struct {
        double start_s;
        const char *text;
    } times[] = {
        {1000, "the same rate in about 1 minutes"},
        {1060, "the same rate in about 1 minutes"},
        {1061, "the same rate in about 2 minutes"},
        {4600, "the same rate in about 60 minutes"},
    };
    struct job job = rate_job(20);
    struct quote q;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        t.offers[1] = (struct place_offer){
            .reason = cases[i].reason, .ahead = cases[i].ahead, .start_s = NAN};
        q = quote(&job);
        assert_int_equal(q.verdict, QUOTE_QUEUED);
        assert_string_equal(q.reason, cases[i].text);
        assert_int_equal(q.offer_count, 0);
        assert_true(isnan(q.start_s));
    }
    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
        t.offers[1].start_s = times[i].start_s;
        q = quote(&job);
        assert_int_equal(q.offer_count, 1);
        assert_string_equal(q.offers[0].kind, "later");
        assert_string_equal(q.offers[0].text, times[i].text);
        assert_close(q.offers[0].start_s, times[i].start_s, 0);
        assert_close(q.offers[0].rate, 40, 1e-9);
        assert_int_equal(q.offers[0].type, -1);
        assert_close(q.start_s, times[i].start_s, 0);
    }
}

static void a_free_device_that_is_slower_is_offered_now(void **state)
{
    struct job job = rate_job(20);
    struct quote q;

    (void)state;
    t.offers[1] = (struct place_offer){
        .reason = UNPLACED_RATE, .start_s = 2000, .device_count = 1, .devices = {0}};
    q = quote(&job);
    assert_int_equal(q.verdict, QUOTE_QUEUED);
    assert_int_equal(q.offer_count, 2);
    assert_string_equal(q.offers[1].kind, "lower_rate");
    assert_string_equal(q.offers[1].text, "10/s on a slow, now");
    assert_close(q.offers[1].rate, 10, 1e-9);
    assert_int_equal(q.offers[1].type, SLOW);
    assert_int_equal(q.type, FAST); /* the quote itself is of what it waits for */
    assert_int_equal(q.node, -1);
    assert_int_equal(q.device_count, 0);
}

static void a_planner_that_names_no_places_queues(void **state)
{
    struct job job = rate_job(20);
    struct quote q;

    (void)state;
    q = ask(&silent_ops, &job, 1, 1000);
    assert_int_equal(q.verdict, QUOTE_QUEUED);
    assert_string_equal(q.reason, "waits: no device it could use is free");
    assert_true(isnan(q.start_s));
    job.need.rate = 100;
    q = ask(&silent_ops, &job, 1, 1000);
    assert_int_equal(q.verdict, QUOTE_COUNTER);
    assert_int_equal(q.offer_count, 1);
}

static void what_cannot_run_is_promised_nothing(void **state)
{
    struct job job = rate_job(20);
    struct quote q;

    (void)state;
    t.fits[SLOW] = t.fits[FAST] = 0.49;
    q = quote(&job);
    assert_int_equal(q.verdict, QUOTE_REFUSED);
    assert_true(isnan(q.promised_rate) && isnan(q.start_s) && isnan(q.joules_per_step));
    t.fits[FAST] = 0.5;
    assert_int_equal(quote(&job).verdict, QUOTE_QUEUED);
    job.need.kind = NEED_BEST_EFFORT;
    job.need.rate = 0;
    assert_true(isnan(quote(&job).promised_rate)); /* nothing was asked for */
    job.need.kind = NEED_RATE;
    job.need.rate = 0.5;
    assert_close(quote(&job).promised_rate, 0.5, 0);
}

#define quote_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        quote_test(the_cheapest_type_that_keeps_it_or_the_fastest),
        quote_test(a_place_has_its_node_devices_and_start),
        quote_test(a_node_that_sleeps_has_to_wake_first),
        quote_test(beside_others_a_job_draws_what_it_adds),
        quote_test(a_service_is_quoted_with_all_the_requests_it_asks_for),
        quote_test(energy_counts_all_devices_over_all_of_the_time),
        quote_test(replicas_share_the_rate_and_add_up),
        quote_test(what_no_type_does_can_be_had_slower_or_on_more_gpus),
        quote_test(more_gpus_are_offered_where_they_are_enough),
        quote_test(fewer_gpus_are_offered_to_a_gang_that_waits),
        quote_test(a_wait_has_its_reason_and_its_end),
        quote_test(a_free_device_that_is_slower_is_offered_now),
        quote_test(a_planner_that_names_no_places_queues),
        quote_test(what_cannot_run_is_promised_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
