/* test_reference_place.c - where a job would have run otherwise, and what it would have
 * taken there */
#include "loop/record/reference_place.h"

#include "base/mem.h"
#include "loop/cluster.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

/* Two types: the first does 10 steps/s for 100 W, the second 20 for 300 W. */
static enum estimate_source source;
static double spread;

static void predict_two(const void *self, struct prediction_cache *cache,
                        const struct combination *where, struct prediction *out)
{
    double rate = where->type ? 20 : 10, watts = where->type ? 300 : 100;

    (void)self;
    (void)cache;
    if (where->members[0].demand > 0) /* a service draws by what it is asked for */
        watts = 50 + where->members[0].demand;
    *out = (struct prediction){.fits = 1};
    out->rate[0] = (struct estimate){
        .value = rate, .low = rate / spread, .high = rate * spread, .source = source};
    out->watts = (struct estimate){
        .value = watts, .low = watts / spread, .high = watts * spread, .source = source};
}

static const struct model_ops ops = {.predict = predict_two};
static const struct model model = {.ops = &ops};

struct world {
    struct cluster *cluster;
    struct jobs *jobs;
};

static int make_world(void **state)
{
    static const struct gpu_sheet types[2] = {{.name = "slow"}, {.name = "fast"}};
    struct world *w = mem_new(struct world);

    source = ESTIMATE_MEASURED;
    spread = 1.1;
    w->cluster = cluster_create(types, 2);
    for (int t = 0; t < 2; t++)
        cluster_add_node(w->cluster, &(struct node_spec){.type = t, .device_count = 1});
    w->jobs = jobs_create();
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

static struct job_status *come(struct world *w, uint64_t id, double now_s)
{
    struct job job = {.id = id, .kind = JOB_TRAINING, .devices = 1, .total_steps = 20000};
    struct job_status *status = jobs_add(w->jobs, &job);

    reference_place(w->cluster, &model, NULL, w->jobs, status, now_s);
    return status;
}

static void a_job_gets_the_fastest_type_that_is_free_there(void **state)
{
    struct world *w = *state;

    assert_int_equal(come(w, 1, 0)->reference_type, 1);
    assert_int_equal(come(w, 2, 0)->reference_type, 0);
    /* The first is through after 1000 s there, whatever really runs where. */
    assert_int_equal(come(w, 3, 1001)->reference_type, 1);
}

static void a_job_waits_there_for_the_first_that_is_free(void **state)
{
    struct world *w = *state;
    struct job_status *third;

    come(w, 1, 0);
    come(w, 2, 0);
    third = come(w, 3, 10);
    assert_int_equal(third->reference_type, 1);
    assert_true(fabs(third->reference_s - 1000) < 1e-6);
    /* The next one waits behind it: the slow one is free at 2000 s as well. */
    assert_true(fabs(come(w, 4, 10)->reference_s - 2000) < 1e-6);
}

static void a_type_that_is_not_allowed_is_not_the_reference(void **state)
{
    struct world *w = *state;
    struct job job = {.id = 1, .devices = 1, .types_allowed = 1};
    struct job_status *status = jobs_add(w->jobs, &job);

    reference_place(w->cluster, &model, NULL, w->jobs, status, 0);
    assert_int_equal(status->reference_type, 0);
}

static void the_same_steps_take_what_they_take_there(void **state)
{
    struct world *w = *state;
    struct job_status *status = come(w, 1, 0);
    const struct reference_work work = {.steps = 1000};
    struct reference_energy e = reference_energy(w->cluster, &model, status, &work);

    assert_true(fabs(e.joules - 300 * 1000 / 20.0) < 1e-6);
    assert_true(e.error > 0.09 * e.joules && e.error < 0.2 * e.joules);
}

static void a_service_takes_as_long_there_and_what_its_requests_draw(void **state)
{
    struct world *w = *state;
    struct job job = {.id = 1, .kind = JOB_INFERENCE, .devices = 2, .need.rate = 99};
    struct job_status *status = jobs_add(w->jobs, &job);
    const struct reference_work work = {.seconds = 100, .demand = 7};

    status->reference_type = 1;
    assert_true(fabs(reference_energy(w->cluster, &model, status, &work).joules -
                     57 * 100 * 2) < 1e-6);
}

static void a_first_guess_is_not_known(void **state)
{
    struct world *w = *state;
    struct job_status *status = come(w, 1, 0);
    const struct reference_work work = {.steps = 1000};

    source = ESTIMATE_INITIAL;
    assert_true(isnan(reference_energy(w->cluster, &model, status, &work).joules));
    source = ESTIMATE_CORRELATED;
    assert_true(isfinite(reference_energy(w->cluster, &model, status, &work).joules));
    spread = 3; /* correlated with hardly anything */
    assert_true(isnan(reference_energy(w->cluster, &model, status, &work).joules));
    status->reference_type = -1;
    spread = 1.1;
    assert_true(isnan(reference_energy(w->cluster, &model, status, &work).joules));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_world, end_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_gets_the_fastest_type_that_is_free_there),
        TEST(a_job_waits_there_for_the_first_that_is_free),
        TEST(a_type_that_is_not_allowed_is_not_the_reference),
        TEST(the_same_steps_take_what_they_take_there),
        TEST(a_service_takes_as_long_there_and_what_its_requests_draw),
        TEST(a_first_guess_is_not_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
