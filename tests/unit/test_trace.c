/* test_trace.c - job lists from CSV, and every way they can be wrong */
#include "lab/traces/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/text_file.h"
#include "fixture/sim.h"

#define HEADER "job_type,total_steps,arrival_s,scale_factor,priority,slo\n"

static struct world *world;

static int set_up(void **state)
{
    (void)state;
    world = fixture_world();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    world_destroy(world);
    return 0;
}

static struct workload *parse(const char *text, uint64_t seed)
{
    struct workload *w = NULL;
    struct err err = {0};

    if (trace_load(&w, text_file("jobs.csv", text), world, seed, &err) < 0)
        fail_msg("%s", err.text);
    return w;
}

/* One sentence with these words, and nothing is returned. */
static void refused(const char *text, const char *where, const char *what)
{
    struct workload *w = NULL;
    struct err err = {0};

    assert_int_equal(trace_load(&w, text_file("jobs.csv", text), world, 1, &err), -1);
    assert_null(w);
    assert_true(err.code != ERR_NONE);
    if (!strstr(err.text, where) || !strstr(err.text, what) || strchr(err.text, '\n'))
        fail_msg("\"%s\" does not say \"%s\" and \"%s\"", err.text, where, what);
}

static void reads_jobs_in_order_of_arrival(void **state)
{
    struct workload *w = parse(HEADER "heavy,100,50,1,0,-1\n"
                                      "light,200,0,2,3,-1\n"
                                      "light,300,50,1,0,-1\n",
                               1);

    (void)state;
    assert_int_equal(w->count, 3);
    assert_string_equal(w->requests[0].job.name, "light");
    assert_int_equal(w->requests[0].cls, FIXTURE_PAIR);
    assert_int_equal(w->requests[0].job.devices, 2);
    assert_int_equal(w->requests[0].job.priority, 3);
    assert_int_equal(w->requests[1].cls, FIXTURE_HEAVY); /* ties keep the file's order */
    assert_int_equal(w->requests[2].cls, FIXTURE_LIGHT);
    assert_near(w->requests[2].steps, 300, 0);
    for (size_t i = 0; i < w->count; i++)
        assert_int_equal(w->requests[i].job.id, i + 1);
    assert_near(w->last_arrival_s, 50, 0);
    workload_destroy(w);
}

static void an_slo_becomes_a_deadline(void **state)
{
    /* 4000 steps at 40 a second on the V100 are 100 s; twice that from arrival on. */
    struct workload *w = parse(HEADER "light,4000,30,1,0,2\n"
                                      "light,4000,30,1,0,-1\n",
                               1);
    const struct requirement *none = &w->requests[1].job.need;

    (void)state;
    assert_int_equal(w->requests[0].job.need.kind, NEED_DEADLINE);
    assert_near(w->requests[0].job.need.deadline_s, 230, 1e-9);
    assert_int_equal(none->kind, NEED_RATE);
    assert_true(none->rate >= 0.149 * 40 && none->rate <= 0.701 * 40);
    workload_destroy(w);
}

static void the_seed_draws_requirements_and_nothing_else(void **state)
{
    static const char text[] = HEADER "light,100,0,1,0,-1\nheavy,100,1,1,0,-1\n"
                                      "light,100,2,1,0,-1\nheavy,100,3,1,0,-1\n";
    struct workload *a = parse(text, 7), *b = parse(text, 7), *c = parse(text, 8);

    (void)state;
    assert_memory_equal(a->requests, b->requests, 4 * sizeof(*a->requests));
    for (int i = 0; i < 4; i++) {
        assert_true(a->requests[i].hidden != c->requests[i].hidden);
        assert_int_equal(a->requests[i].cls, c->requests[i].cls);
        assert_near(a->requests[i].steps, c->requests[i].steps, 0);
    }
    workload_destroy(a);
    workload_destroy(b);
    workload_destroy(c);
}

static void columns_may_be_in_any_order_and_optional_ones_missing(void **state)
{
    struct workload *w = parse("scale_factor,note,arrival_s,job_type,total_steps\n"
                               "1,hello,5,heavy,12\n",
                               1);

    (void)state;
    assert_int_equal(w->requests[0].cls, FIXTURE_HEAVY);
    assert_near(w->requests[0].steps, 12, 0);
    assert_int_equal(w->requests[0].job.need.kind, NEED_RATE);
    workload_destroy(w);
}

static void an_unmeasured_number_of_gpus_is_kept_to_be_rejected(void **state)
{
    struct workload *w = parse(HEADER "light,100,0,4,0,-1\nlight,100,0,1,0,-1\n", 1);
    struct cluster *cluster = fixture_cluster(world, 0, 1, 4);
    struct sim_options options = fixture_options();
    struct sim_result r;

    (void)state;
    assert_int_equal(w->requests[0].cls, -1);
    assert_int_equal(w->requests[0].job.devices, 4);
    r = fixture_run("fifo", &options, world, w, cluster);
    assert_int_equal(r.refused, 1);
    assert_int_equal(r.finished, 1);
    assert_int_equal(r.job_results[0].end, SIM_REFUSED);
    assert_near(r.sla_jobs, 1, 0); /* no policy is blamed for it */
    assert_books_balance(&r);
    sim_result_fini(&r);
    cluster_destroy(cluster);
    workload_destroy(w);
}

static void a_broken_row_is_refused_with_its_line(void **state)
{
    (void)state;
    refused(HEADER "light,100,0,1,0,-1\nlight,100,0", "jobs.csv line 3", "fields");
    refused(HEADER "light,many,0,1,0,-1\n", "jobs.csv line 2", "total_steps");
    refused(HEADER "light,nan,0,1,0,-1\n", "jobs.csv line 2", "total_steps");
    refused(HEADER "light,-5,0,1,0,-1\n", "jobs.csv line 2", "total_steps");
    refused(HEADER "light,0,0,1,0,-1\n", "jobs.csv line 2", "total_steps");
    refused(HEADER "light,1e300,0,1,0,-1\n", "jobs.csv line 2", "total_steps");
    refused(HEADER "light,100,-1,1,0,-1\n", "jobs.csv line 2", "arrival_s");
    refused(HEADER "light,100,inf,1,0,-1\n", "jobs.csv line 2", "arrival_s");
    refused(HEADER "light,100,1e15,1,0,-1\n", "jobs.csv line 2", "arrival_s");
    refused(HEADER "light,100,0,0,0,-1\n", "jobs.csv line 2", "scale_factor");
    refused(HEADER "light,100,0,1.5,0,-1\n", "jobs.csv line 2", "scale_factor");
    refused(HEADER "light,100,0,99999999999,0,-1\n", "jobs.csv line 2", "scale_factor");
    refused(HEADER "light,100,0,1,high,-1\n", "jobs.csv line 2", "priority");
    refused(HEADER "light,100,0,1,0,-2\n", "jobs.csv line 2", "slo");
    refused(HEADER "light,100,0,1,0,nan\n", "jobs.csv line 2", "slo");
    refused(HEADER "\"light,100,0,1,0,-1\n", "jobs.csv line 2", "quote");
}

static void an_unknown_job_type_says_what_to_do(void **state)
{
    (void)state;
    refused(HEADER "light,1,0,1,0,-1\n\ndark matter,1,0,1,0,-1\n", "jobs.csv line 4",
            "unknown job type 'dark matter'; give the table that has it with "
            "--throughputs");
    refused(HEADER ",1,0,1,0,-1\n", "jobs.csv line 2", "unknown job type");
}

static void a_job_that_runs_nowhere_is_refused(void **state)
{
    (void)state;
    for (int g = 0; g < 2; g++)
        *world_alone(world, g, FIXTURE_HEAVY) = 0;
    refused(HEADER "heavy,1,0,1,0,-1\n", "jobs.csv line 2", "runs on no GPU type");
    for (int g = 0; g < 2; g++)
        *world_alone(world, g, FIXTURE_HEAVY) = 4;
}

static void a_file_without_jobs_or_columns_is_refused(void **state)
{
    struct workload *w = NULL;
    struct err err = {0};

    (void)state;
    refused("", "jobs.csv", "");
    refused("\n\n", "jobs.csv", "");
    refused(HEADER, "jobs.csv", "holds no jobs");
    refused("job_type,total_steps,scale_factor\nlight,1,1\n", "jobs.csv", "arrival_s");
    refused("{\"k80\": {}}\n", "jobs.csv", "job_type");
    assert_int_equal(trace_load(&w, "no/such/trace.csv", world, 1, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "no/such/trace.csv"));
    assert_null(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_jobs_in_order_of_arrival),
        cmocka_unit_test(an_slo_becomes_a_deadline),
        cmocka_unit_test(the_seed_draws_requirements_and_nothing_else),
        cmocka_unit_test(columns_may_be_in_any_order_and_optional_ones_missing),
        cmocka_unit_test(an_unmeasured_number_of_gpus_is_kept_to_be_rejected),
        cmocka_unit_test(a_broken_row_is_refused_with_its_line),
        cmocka_unit_test(an_unknown_job_type_says_what_to_do),
        cmocka_unit_test(a_job_that_runs_nowhere_is_refused),
        cmocka_unit_test(a_file_without_jobs_or_columns_is_refused),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
