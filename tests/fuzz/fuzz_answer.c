/* fuzz_answer.c - what a client may be sent: head, chunks, events; read at once and in
 * pieces it must mean the same */
#include "fuzz/fuzz.h"

#include "http/reply.h"
#include "http/sse_parse.h"

#include <stdlib.h>
#include <string.h>

static bool note(void *ctx, const char *id, const char *type, const char *data)
{
    struct str *out = ctx;

    str_addf(out, "%s|%s|%s\n", id, type, data);
    return strcmp(type, "stop") != 0;
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

static int payload_of(const char *bytes, size_t count, size_t piece, struct str *out)
{
    struct reply_chunks k = {0};
    struct err err = {0};
    int rc = 0;

    for (size_t at = 0; at < count && rc == 0; at += piece)
        rc = reply_dechunk(&k, bytes + at, count - at < piece ? count - at : piece, out,
                           &err);
    return rc;
}

static void same(int (*read)(const char *, size_t, size_t, struct str *),
                 const char *bytes, size_t count)
{
    struct str whole = {0}, pieces = {0};
    int a = read(bytes, count, count ? count : 1, &whole);
    int b = read(bytes, count, 3, &pieces);

    if (a != b || (a >= 0 && strcmp(str_text(&whole), str_text(&pieces)) != 0))
        abort();
    str_fini(&whole);
    str_fini(&pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    struct reply reply;
    struct err err = {0};
    long used = reply_head(&reply, bytes, size, false, &err);

    if (used < 0)
        used = 0;
    if ((size_t)used > size)
        abort();
    same(events_of, bytes + used, size - (size_t)used);
    same(payload_of, bytes + used, size - (size_t)used);
    return 0;
}
