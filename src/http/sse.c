/* sse.c - service/ sends events to the hub; each client that joined by GET /v1/events
 * gets those it asked for, the ones it has missed first */
#include "http/sse.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PAGES_AT_ONCE 4

struct sse_client {
    struct sse_hub *hub;
    LIST_ENTRY(sse_client) link;
    struct streaming_reply *push;
    uint64_t job;
    uid_t owner;
    char *types;      /* NULL: all */
    bool catching_up; /* has not yet got all that was before it joined */
    uint64_t last;    /* newest event it was offered */
    bool quiet;       /* nothing was written since the last heartbeat */
};

struct sse_hub {
    struct reactor *reactor;
    struct sse_config config;
    struct reactor_event *heartbeat;
    LIST_HEAD(sse_client_list, sse_client) clients;
    int client_count;
    struct str line; /* an event as it goes out, kept to save the allocation */
};

/* What one round of catching up may add to a client's buffer. */
struct sse_page {
    struct sse_client *client;
    size_t room;
    bool full;
};

/* ---- clients ----------------------------------------------------------------------- */

static void remove_client(struct sse_client *c)
{
    LIST_REMOVE(c, link);
    c->hub->client_count--;
    free(c->types);
    free(c);
}

static void write_text(struct sse_client *c, const struct str *text)
{
    streaming_reply_write(c->push, text->text, text->length);
    c->quiet = false;
}

static void say_goodbye(struct sse_client *c, const char *reason)
{
    struct str line = {0};

    str_addf(&line, "event: bye\ndata: {\"reason\":\"%s\"}\n\n", reason);
    write_text(c, &line);
    str_fini(&line);
    streaming_reply_end(c->push);
    remove_client(c);
}

static void drop_slow(struct sse_client *c)
{
    log_warn("events_client_dropped", LOG_STR("reason", "too slow"),
             LOG_U64("behind_bytes", streaming_reply_unwritten(c->push)),
             LOG_U64("last", c->last));
    say_goodbye(c, "too slow: come back with Last-Event-ID");
}

static void format_event(struct str *out, const struct sse_event *event)
{
    const char *data = event->data;

    str_clear(out);
    if (event->id)
        str_addf(out, "id: %" PRIu64 "\n", event->id);
    str_addf(out, "event: %s\n", event->type);
    while (data) {
        const char *end = strchr(data, '\n');

        str_add(out, "data: ");
        str_add_bytes(out, data, end ? (size_t)(end - data) : strlen(data));
        str_add(out, "\n");
        data = end ? end + 1 : NULL;
    }
    str_add(out, "\n");
}

static bool wants(const struct sse_client *c, const struct sse_event *event)
{
    if (c->job && event->job != c->job)
        return false;
    if (c->owner != SSE_EVERYBODY && event->owner != SSE_EVERYBODY &&
        event->owner != c->owner)
        return false;
    return !c->types || str_in_list(c->types, ',', event->type);
}

/* ---- catching up ------------------------------------------------------------------- */

bool sse_page_add(struct sse_page *page, const struct sse_event *event)
{
    struct sse_client *c = page->client;
    struct str *line = &c->hub->line;

    if (page->full)
        return false;
    if (wants(c, event)) {
        format_event(line, event);
        if (line->length > page->room && streaming_reply_unwritten(c->push) > 0) {
            page->full = true;
            return false;
        }
        page->room -= line->length < page->room ? line->length : page->room;
        write_text(c, line);
    }
    c->last = event->id;
    return true;
}

static void tell_lost(struct sse_client *c)
{
    struct str line = {0};

    str_addf(&line, "event: lost\ndata: {\"after\":%" PRIu64 "}\n\n", c->last);
    write_text(c, &line);
    str_fini(&line);
}

/* Fill the buffer to the half; the rest when it has been read.  A client that wants few
 * of many events must not hold up everybody while they are looked for: after some pages
 * it gets a comment, and the search goes on when that has left. */
static void catch_up(struct sse_client *c)
{
    const struct sse_config *config = &c->hub->config;

    for (int pages = 0;
         c->catching_up && streaming_reply_unwritten(c->push) < config->buffer_bytes / 4;
         pages++) {
        struct sse_page page = {.client = c, .room = config->buffer_bytes / 2};
        uint64_t before = c->last;
        enum sse_replay answer;

        if (pages == PAGES_AT_ONCE) {
            streaming_reply_write(c->push, ":\n\n", 3);
            return;
        }
        answer = config->replay(config->ctx, c->last, &page);
        if (answer == SSE_REPLAY_LOST) {
            tell_lost(c);
            c->catching_up = c->last > before; /* else it has nothing to give */
        } else if (answer == SSE_REPLAY_DONE && !page.full) {
            c->catching_up = false;
        } else if (c->last == before && !page.full) {
            c->catching_up = false; /* "more" without any: do not ask forever */
        }
    }
}

static void on_written(void *ctx)
{
    catch_up(ctx);
}

static void on_gone(void *ctx)
{
    remove_client(ctx);
}

static const struct streaming_reply_events client_events = {on_written, on_gone};

/* ---- the hub ----------------------------------------------------------------------- */

static void beat(void *ctx)
{
    struct sse_hub *hub = ctx;
    struct sse_client *c;

    LIST_FOREACH (c, &hub->clients, link) {
        if (c->quiet && streaming_reply_unwritten(c->push) == 0)
            streaming_reply_write(c->push, ":\n\n", 3);
        c->quiet = true;
    }
}

struct sse_hub *sse_hub_create(struct reactor *r, const struct sse_config *config)
{
    struct sse_hub *hub = mem_new(struct sse_hub);
    struct sse_config *own = &hub->config;

    hub->reactor = r;
    *own = *config;
    own->buffer_bytes = own->buffer_bytes ? own->buffer_bytes : (size_t)256 << 10;
    own->max_clients = own->max_clients ? own->max_clients : 2000;
    own->heartbeat_s = own->heartbeat_s > 0 ? own->heartbeat_s : 15;
    own->stall_s = own->stall_s > 0 ? own->stall_s : 60;
    hub->heartbeat = reactor_timer_create(r, beat, hub);
    reactor_timer_every(hub->heartbeat, own->heartbeat_s);
    return hub;
}

void sse_hub_destroy(struct sse_hub *hub)
{
    if (!hub)
        return;
    sse_hub_close(hub, "the daemon ends");
    reactor_event_destroy(hub->heartbeat);
    str_fini(&hub->line);
    free(hub);
}

void sse_hub_close(struct sse_hub *hub, const char *reason)
{
    while (!LIST_EMPTY(&hub->clients))
        say_goodbye(LIST_FIRST(&hub->clients), reason);
}

/* Where the client left off; false when it is no number. */
static bool read_last_id(const struct request *request, uint64_t *last, bool *given)
{
    const char *text = head_field(&request->head, "last-event-id");

    if (!text || !*text)
        text = uri_query_get(&request->query, "last_event_id");
    *given = text && *text;
    return !*given || parse_u64(text, last);
}

static void greet(struct sse_client *c, uint64_t newest)
{
    struct str line = {0};

    /* The id alone, without data, sets where a client resumes and makes no event. */
    str_add(&line, "retry: 2000\n");
    if (!c->catching_up)
        str_addf(&line, "id: %" PRIu64 "\n", newest);
    str_add(&line, "\n");
    write_text(c, &line);
    str_fini(&line);
}

static struct sse_client *add_client(struct sse_hub *hub,
                                     const struct sse_subscription *wanted)
{
    struct sse_client *c = mem_new(struct sse_client);

    c->hub = hub;
    c->job = wanted->job;
    c->owner = wanted->owner;
    c->types = wanted->types && *wanted->types ? mem_strdup(wanted->types) : NULL;
    LIST_INSERT_HEAD(&hub->clients, c, link);
    hub->client_count++;
    return c;
}

void sse_hub_join(struct sse_hub *hub, struct request *request,
                  const struct sse_subscription *wanted, uint64_t newest)
{
    uint64_t last = newest;
    bool resumes;
    struct sse_client *c;

    if (!read_last_id(request, &last, &resumes)) {
        request_answer_error(request, 400, "invalid", "Last-Event-ID",
                             "Last-Event-ID is not a whole number");
        return;
    }
    if (hub->client_count >= hub->config.max_clients) {
        request_add_header(request, "Retry-After", "5");
        request_answer_error(request, 503, "limit", NULL,
                             "%d clients follow the events already; try later",
                             hub->client_count);
        return;
    }
    c = add_client(hub, wanted);
    c->push = streaming_reply_begin(request, "text/event-stream", &client_events, c,
                                    hub->config.stall_s);
    if (!c->push) {
        remove_client(c);
        return;
    }
    c->last = last;
    c->catching_up = resumes && hub->config.replay && last < newest;
    greet(c, newest);
    if (resumes && last > newest)
        tell_lost(c); /* of a store that is no more */
    catch_up(c);
}

void sse_hub_send(struct sse_hub *hub, const struct sse_event *event)
{
    struct sse_client *c, *next;

    format_event(&hub->line, event);
    for (c = LIST_FIRST(&hub->clients); c; c = next) {
        next = LIST_NEXT(c, link);
        if (c->catching_up)
            continue; /* gets it from the replay, in its turn */
        if (event->id)
            c->last = event->id;
        if (!wants(c, event))
            continue;
        if (streaming_reply_unwritten(c->push) + hub->line.length >
            hub->config.buffer_bytes) {
            drop_slow(c);
            continue;
        }
        write_text(c, &hub->line);
    }
}

void sse_hub_stats(const struct sse_hub *hub, struct sse_stats *stats)
{
    const struct sse_client *c;

    *stats = (struct sse_stats){.clients = hub->client_count};
    LIST_FOREACH (c, &hub->clients, link)
        stats->buffered_bytes += streaming_reply_unwritten(c->push);
}
