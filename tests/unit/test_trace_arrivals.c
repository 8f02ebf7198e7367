/* test_trace_arrivals.c - public traces become requests; bad files are refused by line */
#include "lab/traces/arrivals.h"

#include "base/str.h"
#include "lab/traces/trace_demand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/text_file.h"
#include "fixture/sim.h"

static struct world *world;
static struct cluster *cluster;
static struct arrivals list;
static struct err err;

static int set_up(void **state)
{
    (void)state;
    world = fixture_world();
    cluster = fixture_cluster(world, 2, 2, 4);
    list = (struct arrivals){0};
    err = (struct err){0};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arrivals_fini(&list);
    cluster_destroy(cluster);
    world_destroy(world);
    return 0;
}

static int philly(const char *text)
{
    return arrivals_load(&list, text_file("jobs.csv", text), ARRIVALS_PHILLY, &err);
}

static int alibaba(const char *text)
{
    return arrivals_load(&list, text_file("pods.csv", text), ARRIVALS_ALIBABA, &err);
}

#define PODS "name,num_gpu,gpu_spec,qos,creation_time,deletion_time,scheduled_time\n"

static void philly_is_sorted_and_starts_at_zero(void **state)
{
    (void)state;
    assert_int_equal(philly("arrival_s,duration_s,num_gpus,vc\n"
                            "500,60,1,a\n"
                            "100,7200,2,b\n"
                            "300,0,1,c\n"),
                     0);
    assert_int_equal(list.count, 2); /* one never ran */
    assert_near(list.items[0].at_s, 0, 0);
    assert_int_equal(list.items[0].devices, 2);
    assert_near(list.items[1].at_s, 400, 0);
}

static void philly_refuses_with_file_and_line(void **state)
{
    (void)state;
    assert_int_equal(philly("arrival_s,duration_s,num_gpus\n1,2,1\n1,x,1\n"), -1);
    assert_non_null(strstr(err.text, "jobs.csv"));
    assert_non_null(strstr(err.text, "3"));
    assert_int_equal(philly("arrival_s,num_gpus\n1,1\n"), -1);
    assert_non_null(strstr(err.text, "duration_s"));
    assert_int_equal(philly("arrival_s,duration_s,num_gpus\n-1,2,1\n"), -1);
    assert_int_equal(philly("arrival_s,duration_s,num_gpus\n"), -1);
    assert_int_equal(err.code, ERR_FORMAT);
    assert_null(list.items);
}

static void alibaba_tells_services_from_batch(void **state)
{
    (void)state;
    assert_int_equal(alibaba(PODS "a,1,,LS,10,110,20\n"
                                  "b,2,T4|V100M16,BE,11,500,11\n"
                                  "c,0,,BE,12,500,12\n" /* no GPU */
                                  "d,1,,BE,13,500,\n"   /* never scheduled */
                                  "e,1,,Burstable,14,500,14\n"),
                     0);
    assert_int_equal(list.count, 3);
    assert_int_equal(list.items[0].class, ARRIVAL_SERVICE);
    assert_near(list.items[0].duration_s, 90, 0);
    assert_int_equal(list.items[1].class, ARRIVAL_BEST_EFFORT);
    assert_string_equal(list.items[1].gpus, "T4|v100-16|");
    assert_int_equal(list.items[2].class, ARRIVAL_TRAINING);
}

static void alibaba_tells_parts_of_a_gpu(void **state)
{
    struct arrivals_use use = {.cluster = cluster, .seed = 1};
    struct workload *w;

    (void)state;
    assert_int_equal(alibaba("num_gpu,gpu_milli,gpu_spec,qos,creation_time,deletion_time,"
                             "scheduled_time\n"
                             "1,460,G2|G3|A10,LS,10,110,10\n"
                             "1,1000,|V100,LS,11,110,11\n"
                             "2,1000,,LS,12,110,12\n"),
                     0);
    assert_near(list.items[0].share, 0.46, 1e-12);
    assert_string_equal(list.items[0].gpus, "a10|a100|A10|"); /* the stand-ins */
    assert_near(list.items[1].share, 0, 0);
    assert_string_equal(list.items[1].gpus, "|V100|");
    w = arrivals_workload(&list, &use, world);
    assert_near(w->requests[0].job.need.rate / w->requests[0].reference_rate, 0.46, 1e-9);
    assert_near(w->requests[0].peak_rate, w->requests[0].job.need.rate, 0);
    workload_destroy(w);
    arrivals_fini(&list);
    assert_int_equal(
        alibaba("num_gpu,gpu_milli,qos,creation_time,deletion_time,scheduled_time\n"
                "1,1001,LS,10,110,10\n"),
        -1);
    assert_non_null(strstr(err.text, "gpu_milli"));
}

static void alibaba_refuses_an_unknown_class(void **state)
{
    (void)state;
    assert_int_equal(alibaba(PODS "a,1,,LS,10,110,20\nb,1,,XX,1,2,1\n"), -1);
    assert_non_null(strstr(err.text, "pods.csv line 3"));
    assert_non_null(strstr(err.text, "XX"));
}

static void a_whole_list_is_played_as_it_is(void **state)
{
    struct arrivals_use use = {.cluster = cluster, .seed = 1};
    struct workload *w;

    (void)state;
    assert_int_equal(alibaba(PODS "a,1,,LS,10,110,10\n"
                                  "b,2,V100M16,Burstable,60,660,60\n"
                                  "c,8,,BE,70,170,70\n"),
                     0);
    w = arrivals_workload(&list, &use, world);
    assert_int_equal(w->count, 3);
    assert_int_equal(w->requests[0].job.kind, JOB_INFERENCE);
    assert_near(w->requests[0].serve_s, 100, 0);
    assert_int_equal(w->requests[1].job.kind, JOB_TRAINING);
    assert_int_equal(w->requests[1].job.devices, 2);
    assert_near(w->requests[1].steps / w->requests[1].reference_rate, 600, 1e-6);
    assert_near(w->requests[1].job.submitted_s, 50, 0);
    /* Nobody measured eight: two do the same work in four times the time. */
    assert_int_equal(w->requests[2].job.devices, 2);
    assert_near(w->requests[2].steps / w->requests[2].reference_rate, 400, 1e-6);
    assert_int_equal(w->requests[2].job.need.kind, NEED_BEST_EFFORT);
    assert_near(w->last_arrival_s, 60, 0);
    workload_destroy(w);
}

static void a_named_type_binds(void **state)
{
    struct arrivals_use use = {.cluster = cluster, .seed = 1};
    struct workload *w;

    (void)state;
    assert_int_equal(alibaba(PODS "a,1,K80,BE,10,110,10\nb,1,G2,BE,11,110,11\n"), 0);
    w = arrivals_workload(&list, &use, world);
    assert_int_equal(w->requests[0].job.types_allowed, 1u << FIXTURE_K80);
    assert_int_equal(w->requests[1].job.types_allowed, 0); /* undisclosed: any */
    workload_destroy(w);
}

static void a_load_takes_a_part_and_fits_it_into_the_days(void **state)
{
    struct str text = {0};
    double counts[2];

    (void)state;
    str_addf(&text, "arrival_s,duration_s,num_gpus\n");
    for (int i = 0; i < 3000; i++)
        str_addf(&text, "%d,%d,1\n", 100 * i, 3600 + i);
    assert_int_equal(philly(str_text(&text)), 0);
    str_fini(&text);
    for (int k = 0; k < 2; k++) {
        struct arrivals_use use = {
            .cluster = cluster, .load = 0.4 * (k + 1), .days = 2, .seed = 4};
        struct workload *w = arrivals_workload(&list, &use, world);

        counts[k] = (double)w->count;
        assert_near(w->requests[0].job.submitted_s, 0, 0);
        assert_near(w->last_arrival_s, 2 * 86400, 1e-6);
        for (size_t i = 1; i < w->count; i++)
            assert_true(w->requests[i].job.submitted_s >=
                        w->requests[i - 1].job.submitted_s);
        workload_destroy(w);
    }
    assert_near(counts[1] / counts[0], 2, 0.15);
}

static void demand_follows_the_requests_of_a_trace(void **state)
{
    struct workload *w = fixture_workload();
    struct str text = {0};
    float *shape;
    size_t minutes;
    double least = INFINITY, most = 0;

    (void)state;
    str_addf(&text, "arrival_s,context_tokens\n");
    for (int i = 0; i < 600; i++) /* ten minutes, ever busier */
        for (int k = 0; k <= i / 60; k++)
            str_addf(&text, "%d.5,7\n", i);
    assert_int_equal(trace_demand_load(&shape, &minutes,
                                       text_file("requests.csv", str_text(&text)), &err),
                     0);
    str_fini(&text);
    assert_int_equal(minutes, 9); /* the last may be cut off */
    assert_near(shape[8], 1, 1e-6);
    assert_near(shape[2], 3.0 / 9, 1e-6);
    fixture_service(w, world, 0, 3600, 0.5);
    trace_demand_apply_take(w, shape, minutes);
    for (int i = 0; i < 9; i++) {
        least = fmin(least, request_demand(&w->requests[0], 60 * i));
        most = fmax(most, request_demand(&w->requests[0], 60 * i));
    }
    assert_near(most / least, 9, 1);
    workload_destroy(w);
}

static void a_demand_of_nothing_is_refused(void **state)
{
    float *shape = NULL;
    size_t minutes;

    (void)state;
    assert_int_equal(
        trace_demand_load(&shape, &minutes, text_file("r.csv", "arrival_s\n5\n"), &err),
        -1);
    assert_int_equal(err.code, ERR_FORMAT);
    assert_int_equal(
        trace_demand_load(&shape, &minutes, text_file("r.csv", "arrival_s\nx\n"), &err),
        -1);
    assert_non_null(strstr(err.text, "r.csv line 2"));
    assert_null(shape);
}

#define trace_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        trace_test(philly_is_sorted_and_starts_at_zero),
        trace_test(philly_refuses_with_file_and_line),
        trace_test(alibaba_tells_services_from_batch),
        trace_test(alibaba_tells_parts_of_a_gpu),
        trace_test(alibaba_refuses_an_unknown_class),
        trace_test(a_whole_list_is_played_as_it_is),
        trace_test(a_named_type_binds),
        trace_test(a_load_takes_a_part_and_fits_it_into_the_days),
        trace_test(demand_follows_the_requests_of_a_trace),
        trace_test(a_demand_of_nothing_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
