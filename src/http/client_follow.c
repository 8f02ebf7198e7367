/* client_follow.c - following events, see client.h */
#include "http/client_private.h"

#include "base/clock.h"
#include "http/sse_parse.h"

#include <string.h>

#define READ_BYTES 16384

struct follow {
    struct client *client;
    const struct client_stream *stream;
    struct sse_parse parse;
    struct reply_chunks chunks;
    bool chunked;
};

static bool take_event(void *ctx, const char *id, const char *type, const char *data)
{
    struct follow *f = ctx;
    const struct client_event event = {.id = id, .type = type, .data = data};

    return f->stream->event(f->stream->ctx, &event);
}

static int feed(struct follow *f, const char *bytes, size_t count, struct err *err)
{
    struct str payload = {0};
    int rc;

    if (!f->chunked)
        return sse_parse_feed(&f->parse, bytes, count, err);
    rc = reply_dechunk(&f->chunks, bytes, count, &payload, err);
    if (rc == 0)
        rc = sse_parse_feed(&f->parse, str_text(&payload), payload.length, err);
    str_fini(&payload);
    return rc;
}

/* Wait for bytes a second at a time, so that waiting() is asked. */
static long read_some(struct follow *f, char *bytes, double *heard_s, struct err *err)
{
    const struct client_stream *stream = f->stream;
    double quiet_s = stream->quiet_s > 0 ? stream->quiet_s : 60;

    for (;;) {
        long count = wire_read(f->client->wire, bytes, READ_BYTES, 1, err);

        if (count >= 0)
            *heard_s = clock_wall_s();
        if (count >= 0 || err->code != ERR_LIMIT)
            return count;
        if (stream->waiting && !stream->waiting(stream->ctx))
            return -2;
        if (clock_wall_s() - *heard_s > quiet_s)
            return err_set(err, ERR_SYSTEM, "the server has been silent for %g s",
                           quiet_s);
    }
}

/* 0: ended here, 1: by the server, -1: failed. */
static int run(struct follow *f, struct err *err)
{
    char bytes[READ_BYTES];
    double heard_s = clock_wall_s();
    int rc = feed(f, str_text(&f->client->in), f->client->in.length, err);

    str_clear(&f->client->in);
    while (rc == 0) {
        long count = read_some(f, bytes, &heard_s, err);

        if (count == -2)
            return 0;
        if (count == 0)
            return 1;
        rc = count < 0 ? -1 : feed(f, bytes, (size_t)count, err);
        if (rc == 0 && f->chunks.done)
            return 1;
    }
    return rc < 0 ? -1 : 0;
}

static int not_a_stream(struct client *c, const struct reply *reply, double until_s,
                        struct err *err)
{
    struct client_answer answer;

    if (client_read_answer(c, reply, &answer, until_s, err) < 0)
        return -1;
    client_answer_error(&answer, err);
    if (err->code == ERR_NONE)
        err_set(err, ERR_FORMAT, "the server does not answer with events");
    client_answer_fini(&answer);
    return -1;
}

int client_follow(struct client *c, const struct client_stream *stream, struct err *err)
{
    const struct client_request q = {.method = HTTP_GET, .path = stream->path};
    double until_s = clock_wall_s() + c->answer_s;
    struct follow f = {.client = c, .stream = stream};
    struct str headers = {0};
    struct reply reply;
    int rc = -1;

    client_hang_up(c);
    str_add(&headers, "Cache-Control: no-cache\r\n");
    if (stream->last_event_id)
        str_addf(&headers, "Last-Event-ID: %s\r\n", stream->last_event_id);
    if (client_send(c, &q, str_text(&headers), err) == 0 &&
        client_read_head(c, &reply, false, until_s, err) == 0) {
        if (reply.status != 200 || !str_starts(reply.content_type, "text/event-stream")) {
            rc = not_a_stream(c, &reply, until_s, err);
        } else {
            f.parse.event = take_event;
            f.parse.ctx = &f;
            f.chunked = reply.framing == REPLY_CHUNKED;
            rc = stream->event(stream->ctx, NULL) ? run(&f, err) : 0;
        }
    }
    sse_parse_fini(&f.parse);
    str_fini(&headers);
    client_hang_up(c);
    return rc;
}
