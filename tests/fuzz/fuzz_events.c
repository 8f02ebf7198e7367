/* fuzz_events.c - a stream of events as a client reads it; read at once and in pieces it
 * must mean the same */
#include "fuzz/fuzz.h"

#include "http/client.h"

#include <stdlib.h>
#include <string.h>

static bool note(void *ctx, const struct client_event *event)
{
    struct str *out = ctx;

    str_addf(out, "%s|%s|%s\n", event->id, event->type, event->data);
    return strcmp(event->type, "stop") != 0;
}

static int events_of(const char *bytes, size_t count, size_t piece, struct str *out)
{
    struct sse_parse p = {.event = note, .ctx = out};
    struct err err = {0};
    int rc = 0;

    for (size_t at = 0; at < count && rc == 0; at += piece)
        rc =
            sse_parse_feed(&p, bytes + at, count - at < piece ? count - at : piece, &err);
    sse_parse_fini(&p);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str whole = {0}, pieces = {0};
    int a = events_of((const char *)data, size, size ? size : 1, &whole);
    int b = events_of((const char *)data, size, 3, &pieces);

    if (a != b || (a >= 0 && strcmp(str_text(&whole), str_text(&pieces)) != 0))
        abort();
    str_fini(&whole);
    str_fini(&pieces);
    return 0;
}
