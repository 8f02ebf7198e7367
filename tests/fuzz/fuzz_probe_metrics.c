/* fuzz_probe_metrics.c - an HTTP answer with a Prometheus page, in pieces of any size */
#include "fuzz/fuzz.h"

#include "base/http_answer.h"
#include "probe/scrape.h"

#include <math.h>
#include <stdlib.h>

static void take_body(void *ctx, const char *bytes, size_t count)
{
    prom_feed(ctx, bytes, count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"http_requests_total",
                                        "vllm:num_requests_running",
                                        "nv_inference_request_success"};
    static struct prom prom;
    struct http_answer answer = {.body = take_body, .ctx = &prom};
    enum http_answer_state state = HTTP_ANSWER_MORE;
    size_t at = 0;

    prom_init(&prom, names, 3);
    http_answer_begin(&answer, (size_t)1 << 20);
    while (at < size && state == HTTP_ANSWER_MORE) {
        size_t piece = 1 + (data[at] % 97);

        piece = piece < size - at ? piece : size - at;
        state = http_answer_feed(&answer, (const char *)data + at, piece);
        at += piece;
    }
    if (state == HTTP_ANSWER_MORE)
        http_answer_eof(&answer);
    prom_end(&prom);
    /* And the page alone, without an answer around it. */
    prom_begin(&prom);
    prom_feed(&prom, (const char *)data, size);
    prom_end(&prom);
    for (int i = 0; i < 3; i++)
        if (isinf(prom.sums[i]) && size < 1000)
            abort();
    return 0;
}
