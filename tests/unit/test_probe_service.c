/* test_probe_service.c - what pages of servers tell of latency and requests held */
#include "probe/scrape.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct tracks *rate;
static struct scrape *scrape;
static double answered;

static int teardown(void **state)
{
    (void)state;
    scrape_destroy(scrape);
    tracks_destroy(rate);
    scrape = NULL;
    rate = NULL;
    return 0;
}

static void begin(const char *counter)
{
    rate = tracks_create(10);
    scrape = scrape_create("http://127.0.0.1:1/metrics", counter, 10, rate, NULL);
    assert_non_null(scrape);
}

static void page(double at_s, const char *text)
{
    scrape_take(scrape, text, strlen(text), at_s);
}

static struct probe_service seen(void)
{
    struct probe_service service = PROBE_SERVICE_UNKNOWN;
    double seconds;

    scrape_window(scrape, &service, &answered, &seconds);
    return service;
}

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-6 * want))
        fail_msg("got %g, want %g", got, want);
}

/* A page of example-serve's kind: so many answers within 10 ms, 100 ms, ever. */
static void page_of(double at_s, int fast, int slow, int ever, double sum)
{
    char text[1024];

    snprintf(text, sizeof(text),
             "http_requests_total %d\n# TYPE infer_seconds histogram\n"
             "infer_seconds_bucket{le=\"0.01\"} %d\ninfer_seconds_bucket{le=\"0.1\"} %d\n"
             "infer_seconds_bucket{le=\"+Inf\"} %d\ninfer_seconds_sum %g\n"
             "infer_seconds_count %d\n",
             ever, fast, slow, ever, sum, ever);
    page(at_s, text);
}

CASE(a_histogram_tells_the_quantiles_of_a_window)
{
    struct probe_service s;

    begin(NULL);
    page_of(0, 500, 1000, 1000, 90);
    page_of(1, 500, 1000, 1000, 90);
    page_of(6, 580, 1098, 1098, 92);
    page_of(11, 600, 1200, 1200, 98);
    s = seen();
    /* 200 answers, 100 of them within 10 ms: what was before does not count. */
    near(s.median_s, 0.01);
    near(s.latency_s, 0.01 + 0.09 * 98 / 100);
    near(s.held, 8.0 / 10); /* seconds of answers in ten seconds */
    near(answered, 200);
    page_of(21, 600, 1200, 1200, 98);
    s = seen();
    assert_true(isnan(s.latency_s) && isnan(s.median_s)); /* nobody asked */
    assert_true(answered == 0);
}

CASE(the_last_bucket_has_no_end)
{
    begin(NULL);
    page_of(0, 0, 0, 0, 0);
    page_of(1, 0, 0, 0, 0);
    page_of(11, 0, 0, 50, 500);
    near(seen().latency_s, 0.1);
}

CASE(a_server_that_began_again_counts_from_zero)
{
    begin(NULL);
    page_of(0, 500, 1000, 1000, 90);
    page_of(1, 500, 1000, 1000, 90);
    page_of(11, 100, 100, 100, 0.5);
    near(seen().latency_s, 0.0099);
}

CASE(label_sets_are_summed_whatever_their_labels)
{
    begin("x_seconds");
    page(0, "x_seconds_bucket{le=\"1\"} 0\nx_seconds_count 0\nx_seconds_sum 0\n");
    page(10, "x_seconds_bucket{m=\"a\\\"}\",le=\"1\"} 30\n"
             "x_seconds_bucket{le=\"2\",m=\"le=\\\"9\\\"\"} 30\n"
             "x_seconds_bucket{le=\"1\",m=\"b\"} 20\n"
             "x_seconds_bucket{le=\"2\",m=\"b\"} 70\n"
             "x_seconds_count{m=\"a\"} 30\nx_seconds_count{m=\"b\"} 70\n"
             "x_seconds_sum 90\n");
    near(seen().median_s, 1);
    near(scrape->done.sum, 100); /* a histogram counts what was answered */
}

CASE(a_named_counter_leaves_the_times_to_another_histogram)
{
    static const char first[] = "mine 0\nanswer_seconds_bucket{le=\"1\"} 0\n";
    struct probe_service s;

    begin("mine");
    page(0, first);
    page(1, first);
    page(11, "mine 10\nanswer_seconds_bucket{le=\"1\"} 10\nanswer_seconds_count 10\n"
             "answer_seconds_sum 4\nhttp_requests_inprogress 3\n");
    s = seen();
    near(s.median_s, 0.5);
    near(scrape->done.sum, 10);
    near(s.held, 1); /* 0, 0 and 3 on the three pages */
}

struct known {
    const char *before, *after;
    double latency_s, median_s, held;
};

/* Names and kinds as the servers' own pages have them. */
CASE(known_servers_are_understood)
{
    static const struct known servers[] = {
        {"vllm:request_success_total{r=\"stop\"} 0\nvllm:num_requests_running 0\n"
         "vllm:num_requests_waiting 0\n"
         "vllm:e2e_request_latency_seconds_bucket{le=\"1\"} 0\n",
         "vllm:request_success_total{r=\"stop\"} 80\n"
         "vllm:request_success_total{r=\"length\"} 20\nvllm:num_requests_running 6\n"
         "vllm:num_requests_waiting 4\n"
         "vllm:time_to_first_token_seconds_bucket{le=\"0.1\"} 100\n"
         "vllm:e2e_request_latency_seconds_bucket{le=\"1\"} 50\n"
         "vllm:e2e_request_latency_seconds_bucket{le=\"2\"} 100\n"
         "vllm:e2e_request_latency_seconds_sum 95\n"
         "vllm:e2e_request_latency_seconds_count 100\n",
         1.98, 1, 5},
        {"nv_inference_request_success 0\nnv_inference_request_duration_us 0\n",
         "nv_inference_request_success 100\nnv_inference_request_duration_us 20000000\n"
         "nv_inference_queue_duration_us 5000000\nnv_inference_pending_request_count 1\n",
         NAN, NAN, 2},
        {"nv_inference_request_success 0\nnv_inference_request_summary_us_count 0\n",
         "nv_inference_request_success 100\nnv_inference_request_summary_us_count 100\n"
         "nv_inference_request_summary_us_sum 20000000\n"
         "nv_inference_request_summary_us{model=\"a\",quantile=\"0.5\"} 150000\n"
         "nv_inference_request_summary_us{model=\"a\",quantile=\"0.95\"} 300000\n"
         "nv_inference_request_summary_us{model=\"a\",quantile=\"0.999\"} 900000\n"
         "nv_inference_request_summary_us{model=\"a\",quantile=\"0.99\"} 400000\n"
         "nv_inference_request_summary_us{model=\"b\",quantile=\"0.99\"} 450000\n",
         0.45, 0.15, 2},
        {"tgi_request_success 0\ntgi_queue_size 0\ntgi_batch_current_size 0\n",
         "tgi_request_success 100\ntgi_queue_size 2\ntgi_batch_current_size 8\n"
         "tgi_request_duration_bucket{le=\"4\"} 100\ntgi_request_duration_sum 200\n"
         "tgi_request_duration_count 100\n",
         3.96, 2, 5},
        {"sglang:num_requests_total 0\nsglang:num_running_reqs 0\n",
         "sglang:num_requests_total 100\nsglang:num_running_reqs 4\n"
         "sglang:num_queue_reqs 2\n"
         "sglang:e2e_request_latency_seconds_bucket{le=\"1\"} 100\n"
         "sglang:e2e_request_latency_seconds_count 100\n",
         0.99, 0.5, 3},
        {"ts_inference_requests_total 0\nts_inference_latency_microseconds 0\n",
         "ts_inference_requests_total{model=\"m\"} 50\n"
         "ts_inference_latency_microseconds{model=\"m\"} 1e7\n"
         "ts_queue_latency_microseconds{model=\"m\"} 1e6\n",
         NAN, NAN, 1},
        {":tensorflow:serving:request_count{status=\"OK\"} 0\n",
         ":tensorflow:serving:request_count{status=\"OK\"} 100\n"
         ":tensorflow:serving:request_latency_bucket{le=\"10000\"} 100\n"
         ":tensorflow:serving:request_latency_bucket{le=\"+Inf\"} 100\n"
         ":tensorflow:serving:request_latency_sum 500000\n"
         ":tensorflow:serving:request_latency_count 100\n",
         0.0099, 0.005, 0.05},
    };

    for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++) {
        const struct known *k = &servers[i];
        struct probe_service s;

        begin(NULL);
        page(0, k->before); /* whose it is */
        page(1, k->before);
        page(11, k->after);
        s = seen();
        if (isnan(k->latency_s))
            assert_true(isnan(s.latency_s) && isnan(s.median_s));
        else
            near(s.latency_s, k->latency_s);
        if (!isnan(k->median_s))
            near(s.median_s, k->median_s);
        near(s.held, k->held);
        teardown(NULL);
    }
}

CASE(too_many_buckets_give_a_mean_and_no_quantile)
{
    struct str text = {0};
    struct probe_service s;

    begin("x_seconds");
    page(0, "x_seconds_bucket{le=\"1\"} 0\nx_seconds_count 0\nx_seconds_sum 0\n");
    for (int i = 1; i <= LATENCY_MAX_BUCKETS + 1; i++)
        str_addf(&text, "x_seconds_bucket{le=\"%d\"} %d\n", i, i);
    str_add(&text, "x_seconds_count 200\nx_seconds_sum 400\n");
    page(10, str_text(&text));
    str_fini(&text);
    s = seen();
    assert_true(isnan(s.latency_s) && isnan(s.median_s));
    near(s.held, 40);
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_histogram_tells_the_quantiles_of_a_window),
        TEST(the_last_bucket_has_no_end),
        TEST(a_server_that_began_again_counts_from_zero),
        TEST(label_sets_are_summed_whatever_their_labels),
        TEST(a_named_counter_leaves_the_times_to_another_histogram),
        TEST(known_servers_are_understood),
        TEST(too_many_buckets_give_a_mean_and_no_quantile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
