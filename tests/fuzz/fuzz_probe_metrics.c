/* fuzz_probe_metrics.c - an HTTP answer with a Prometheus page, in pieces of any size */
#include "fuzz/fuzz.h"

#include "probe/fetch.h"
#include "probe/scrape.h"

#include <math.h>
#include <stdlib.h>

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
    scrape_page_init(&page, names, 3);
    scrape_page_read(&page, str_text(&body), body.length);
    /* And the page alone, without an answer around it. */
    scrape_page_read(&page, (const char *)data, size);
    for (int i = 0; i < 3; i++)
        if (isinf(page.sums[i]) && size < 1000)
            abort();
    str_fini(&answer);
    str_fini(&body);
    return 0;
}
