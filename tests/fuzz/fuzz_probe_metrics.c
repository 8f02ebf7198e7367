/* fuzz_probe_metrics.c - an HTTP answer with a Prometheus page, in pieces of any size */
#include "fuzz/fuzz.h"

#include "probe/fetch.h"
#include "probe/scrape.h"

#include <math.h>
#include <stdlib.h>

/* The page twice, the second time cut: counters fall, buckets go. */
static void scrape_twice(const char *counter, const char *text, size_t size)
{
    struct tracks *rate = tracks_create(10);
    struct scrape *scrape = scrape_create("http://127.0.0.1:1/", counter, 10, rate, NULL);
    struct probe_service seen = PROBE_SERVICE_UNKNOWN;
    double answered, seconds;

    for (int i = 0; i < 3; i++)
        scrape_take(scrape, text, size, i);
    scrape_take(scrape, text, size / 2, 3);
    scrape_window(scrape, &seen, &answered, &seconds);
    scrape_take(scrape, text, size, 4);
    scrape_window(scrape, &seen, &answered, &seconds);
    if (seen.latency_s < 0 || seen.median_s < 0)
        abort();
    scrape_destroy(scrape);
    tracks_destroy(rate);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"http_requests_total",
                                        "vllm:num_requests_running",
                                        "nv_inference_request_success"};
    struct scrape_page page = {0};
    struct str answer = {0}, body = {0};
    enum fetch_state state = FETCH_RUNNING;
    size_t at = 0;

    while (at < size && state == FETCH_RUNNING) {
        size_t piece = 1 + (data[at] % 97);

        piece = piece < size - at ? piece : size - at;
        str_add_bytes(&answer, (const char *)data + at, piece);
        state = fetch_read_answer(&answer, false, &body);
        at += piece;
    }
    if (state == FETCH_RUNNING &&
        fetch_read_answer(&answer, true, &body) == FETCH_RUNNING)
        abort();
    scrape_page_init(&page, names, 3, SCRAPE_ANY_SECONDS);
    scrape_page_read(&page, str_text(&body), body.length);
    scrape_twice(NULL, str_text(&body), body.length);
    scrape_twice("x_seconds", (const char *)data, size);
    /* And the page alone, without an answer around it. */
    scrape_page_read(&page, (const char *)data, size);
    for (int i = 0; i < 3; i++)
        if (isinf(page.sums[i]) && size < 1000)
            abort();
    str_fini(&answer);
    str_fini(&body);
    return 0;
}
