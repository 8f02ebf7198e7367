/* fuzz_probe_metrics.c - an HTTP answer with a Prometheus page, in pieces of any size */
#include "fuzz/fuzz.h"

#include "probe/fetch.h"
#include "probe/scrape.h"

#include <math.h>
#include <stdlib.h>

static void take_body(void *ctx, const char *bytes, size_t count)
{
    scrape_page_feed(ctx, bytes, count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"http_requests_total",
                                        "vllm:num_requests_running",
                                        "nv_inference_request_success"};
    static struct scrape_page page;
    struct fetch_answer answer = {.body = take_body, .ctx = &page};
    enum fetch_state state = FETCH_RUNNING;
    size_t at = 0;

    scrape_page_init(&page, names, 3);
    fetch_answer_begin(&answer, (size_t)1 << 20);
    while (at < size && state == FETCH_RUNNING) {
        size_t piece = 1 + (data[at] % 97);

        piece = piece < size - at ? piece : size - at;
        state = fetch_answer_feed(&answer, (const char *)data + at, piece);
        at += piece;
    }
    if (state == FETCH_RUNNING)
        fetch_answer_eof(&answer);
    scrape_page_end(&page);
    /* And the page alone, without an answer around it. */
    scrape_page_begin(&page);
    scrape_page_feed(&page, (const char *)data, size);
    scrape_page_end(&page);
    for (int i = 0; i < 3; i++)
        if (isinf(page.sums[i]) && size < 1000)
            abort();
    return 0;
}
