/* fuzz_probe_log.c - any output can be looked at, in pieces of any size */
#include "fuzz/fuzz.h"

#include "probe/lines.h"
#include "probe/tracks.h"

#include <math.h>
#include <stdlib.h>

static void take_line(void *ctx, double at_s, const char *text, size_t length)
{
    tracks_line(ctx, at_s, text, length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tracks *tracks = tracks_create(10);
    struct tracks_rate rate = {0};
    struct lines lines;
    size_t at = 0;

    lines_init(&lines, take_line, tracks);
    for (double now_s = 0; at < size; now_s += 0.3) {
        size_t piece = 1 + (data[at] % 61);

        piece = piece < size - at ? piece : size - at;
        lines_feed(&lines, now_s, (const char *)data + at, piece);
        at += piece;
        if (tracks_rate(tracks, now_s, true, &rate) &&
            (!isfinite(rate.rate) || rate.rate < 0))
            abort();
    }
    lines_flush(&lines);
    tracks_destroy(tracks);
    return 0;
}
