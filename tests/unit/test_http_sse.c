/* test_http_sse.c - event streams: order, resuming, filters, and clients that do not read
 */
#include "support/http_case.h"

#include "http/sse.h"
#include "http/client.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <sys/resource.h>

#define HOST    "Host: x\r\n"
#define KEPT    4000
#define FORGOT  100 /* events up to this one are not kept any more */
#define CROWD   1000
#define STALLED 50

static struct http_case c;
static struct sse_hub *hub;
static _Atomic uint64_t newest;

static struct sse_event made(uint64_t id, char *data, size_t size)
{
    snprintf(data, size, "{\"n\":%" PRIu64 ",\"filler\":\"%0200d\"}", id, 0);
    return (struct sse_event){.id = id,
                              .type = id % 2 ? "odd" : "even",
                              .data = data,
                              .job = id % 10,
                              .owner = id % 3 ? SSE_EVERYBODY : (uid_t)(id % 5)};
}

static enum sse_replay replay(void *ctx, uint64_t after, struct sse_page *page)
{
    uint64_t first = after < FORGOT ? FORGOT + 1 : after + 1;
    char data[300];

    (void)ctx;
    for (uint64_t id = first; id <= newest; id++) {
        const struct sse_event event = made(id, data, sizeof(data));

        if (!sse_page_add(page, &event) || id == first + 50)
            return after < FORGOT ? SSE_REPLAY_LOST : SSE_REPLAY_MORE;
    }
    return after < FORGOT ? SSE_REPLAY_LOST : SSE_REPLAY_DONE;
}

static void handle_events(void *ctx, struct request *r)
{
    const char *job = uri_query_get(&r->query, "job"),
               *owner = uri_query_get(&r->query, "owner");
    const struct sse_subscription wanted = {.job = job ? (uint64_t)atoi(job) : 0,
                                            .owner = owner ? (uid_t)atoi(owner)
                                                           : SSE_EVERYBODY,
                                            .types = uri_query_get(&r->query, "types")};

    (void)ctx;
    sse_hub_join(hub, r, &wanted, newest);
}

static const struct route routes[] = {
    {.operation = "events",
     .method = HTTP_GET,
     .pattern = "/events",
     .query = "job owner types last_event_id",
     .handle = handle_events},
    {0},
};

static void start(struct sse_config config)
{
    const struct server_config server = {.routes = routes};

    newest = 0;
    http_case_make(&c, &server);
    config.replay = replay;
    hub = sse_hub_create(c.reactor, &config);
    http_case_start(&c);
}

static void finish(void)
{
    http_case_stop(&c);
    sse_hub_destroy(hub);
    http_case_end(&c);
}

/* Run on the reactor's thread and wait until it was. */
struct errand {
    void (*run)(void *ctx);
    void *ctx;
    atomic_bool done;
};

static void run_errand(void *ctx)
{
    struct errand *e = ctx;

    e->run(e->ctx);
    e->done = true;
}

static void there(void (*run)(void *ctx), void *ctx)
{
    struct errand e = {.run = run, .ctx = ctx};

    reactor_post(c.reactor, run_errand, &e);
    while (!e.done)
        usleep(100);
}

static void send_some(void *ctx)
{
    char data[300];

    for (int i = 0; i < *(int *)ctx; i++) {
        const struct sse_event event = made(++newest, data, sizeof(data));

        sse_hub_send(hub, &event);
    }
}

static void get_stats(void *ctx)
{
    sse_hub_stats(hub, ctx);
}

/* ---- a client ---------------------------------------------------------------------- */

struct listener {
    int fd;
    struct sse_parse parse;
    bool in_body;
    struct str head;
    uint64_t last; /* id of the newest event */
    int count;
    int lost, bye;
    bool ordered;
    bool ended;
};

static bool hear_event(void *ctx, const struct client_event *event)
{
    struct listener *l = ctx;
    uint64_t number = strtoull(event->id, NULL, 10);

    if (!strcmp(event->type, "lost")) {
        l->lost++;
    } else if (!strcmp(event->type, "bye")) {
        l->bye++;
    } else {
        l->ordered &= number > l->last;
        l->last = number;
        l->count++;
    }
    return true;
}

static void join(struct listener *l, const char *query, const char *header)
{
    struct str text = {0};

    *l = (struct listener){.ordered = true};
    l->parse.event = hear_event;
    l->parse.ctx = l;
    l->fd = http_case_connect(&c);
    str_addf(&text, "GET /events%s HTTP/1.1\r\n" HOST "%s\r\n", query, header);
    http_case_say(l->fd, str_text(&text));
    str_fini(&text);
}

static void leave(struct listener *l)
{
    close(l->fd);
    sse_parse_fini(&l->parse);
    str_fini(&l->head);
}

/* Take what is there; false at the end. */
static bool take(struct listener *l)
{
    char bytes[65536];
    struct err err = {0};
    const char *text = bytes;
    ssize_t count = recv(l->fd, bytes, sizeof(bytes), 0);

    if (count <= 0) {
        l->ended = true;
        return false;
    }
    if (!l->in_body) {
        const char *blank;

        str_add_bytes(&l->head, bytes, (size_t)count);
        blank = strstr(str_text(&l->head), "\r\n\r\n");
        if (!blank)
            return true;
        l->in_body = true;
        text = blank + 4;
        count = (ssize_t)strlen(text);
    }
    assert_int_equal(sse_parse_feed(&l->parse, text, (size_t)count, &err), 0);
    return true;
}

static void wait_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    if (poll(&p, 1, HTTP_CASE_WAIT_S * 1000) <= 0)
        fail_msg("nothing comes");
}

static void take_until(struct listener *l, uint64_t id)
{
    while (l->last < id) {
        wait_readable(l->fd);
        if (!take(l))
            fail_msg("ended at %" PRIu64, l->last);
    }
}

static void wait_for_clients(int count)
{
    struct sse_stats stats = {0};

    do
        there(get_stats, &stats);
    while (stats.clients != count);
}

/* ---- tests ------------------------------------------------------------------------- */

CASE(events_come_in_order_to_those_who_want_them)
{
    struct listener all, job, owner, even;
    int count = 60;

    start((struct sse_config){0});
    join(&all, "", "");
    join(&job, "?job=3", "");
    join(&owner, "?owner=2", "");
    join(&even, "?types=even,other", "");
    wait_for_clients(4);
    there(send_some, &count);
    take_until(&all, 60);
    take_until(&job, 53);
    take_until(&owner, 59);
    take_until(&even, 60);
    assert_int_equal(all.count, 60);
    assert_int_equal(job.count, 6);
    assert_int_equal(owner.count, 44); /* everybody's 40, and 12, 27, 42, 57 */
    assert_int_equal(even.count, 30);
    assert_true(all.ordered && job.ordered && owner.ordered && even.ordered);
    assert_non_null(strstr(str_text(&all.head), "Content-Type: text/event-stream"));
    leave(&all);
    leave(&job);
    leave(&owner);
    leave(&even);
    finish();
}

CASE(a_client_resumes_without_a_gap)
{
    struct listener header, query, future;
    int count = KEPT, few = 5;

    /* The missed events are many times the buffer. */
    start((struct sse_config){.buffer_bytes = 16384});
    there(send_some, &count);
    join(&header, "", "Last-Event-ID: 150\r\n");
    join(&query, "?job=7&last_event_id=150", "");
    wait_for_clients(2);
    there(send_some, &few); /* while they catch up */
    take_until(&header, KEPT + 5);
    assert_int_equal(header.count, KEPT + 5 - 150);
    assert_true(header.ordered);
    assert_int_equal(header.lost, 0);
    take_until(&query, KEPT - 3);
    assert_int_equal(query.count, (KEPT - 150) / 10);
    join(&future, "", "Last-Event-ID: 999999\r\n");
    wait_for_clients(3);
    there(send_some, &few);
    while (!future.lost || future.count < 5) {
        wait_readable(future.fd);
        assert_true(take(&future));
    }
    leave(&header);
    leave(&query);
    leave(&future);
    finish();
}

CASE(what_is_not_kept_is_said_to_be_lost)
{
    struct listener l;
    int count = 200;

    start((struct sse_config){0});
    there(send_some, &count);
    join(&l, "", "Last-Event-ID: 3\r\n");
    take_until(&l, 200);
    assert_int_equal(l.lost, 1);
    assert_int_equal(l.count, 100);
    leave(&l);
    finish();
}

CASE(wrong_and_too_many_clients_are_refused)
{
    struct listener first;
    char *answer;

    start((struct sse_config){.max_clients = 1});
    answer =
        http_case_ask(&c, "GET /events HTTP/1.1\r\n" HOST "Last-Event-ID: x\r\n\r\n");
    assert_int_equal(http_case_status(answer), 400);
    free(answer);
    answer = http_case_ask(&c, "HEAD /events HTTP/1.1\r\n" HOST "\r\n");
    assert_int_equal(http_case_status(answer), 200);
    free(answer);
    join(&first, "", "");
    wait_for_clients(1);
    answer = http_case_ask(&c, "GET /events HTTP/1.1\r\n" HOST "\r\n");
    assert_int_equal(http_case_status(answer), 503);
    free(answer);
    leave(&first);
    wait_for_clients(0); /* its end was noticed */
    finish();
}

CASE(a_heart_beats_and_says_goodbye)
{
    struct str heard = {0};
    int fd;

    start((struct sse_config){.heartbeat_s = 0.02});
    fd = http_case_connect(&c);
    http_case_say(fd, "GET /events HTTP/1.1\r\n" HOST "\r\n");
    http_case_hear_text(fd, &heard, "\n:\n\n:\n\n");
    http_case_stop(&c);
    sse_hub_close(hub, "the daemon ends");
    http_case_start(&c);
    http_case_hear_all(fd, &heard);
    assert_non_null(strstr(str_text(&heard),
                           "event: bye\ndata: {\"reason\":\"the daemon ends\"}\n\n"));
    close(fd);
    str_fini(&heard);
    finish();
}

static bool enough_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return false;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_max == RLIM_INFINITY || limit.rlim_max >= 2 * CROWD + 100;
}

/* Everybody who reads gets everything, in rounds so that nobody is behind by chance. */
static void read_round(struct listener *crowd, uint64_t until)
{
    struct pollfd *polls = mem_array(struct pollfd, CROWD);
    int behind = CROWD - STALLED;

    while (behind > 0) {
        behind = 0;
        for (int i = 0; i < CROWD - STALLED; i++) {
            polls[i] = (struct pollfd){.fd = crowd[i].last < until ? crowd[i].fd : -1,
                                       .events = POLLIN};
            behind += crowd[i].last < until;
        }
        if (behind == 0)
            break;
        if (poll(polls, CROWD - STALLED, HTTP_CASE_WAIT_S * 1000) <= 0)
            fail_msg("%d clients wait for event %" PRIu64, behind, until);
        for (int i = 0; i < CROWD - STALLED; i++)
            if (polls[i].revents && !take(&crowd[i]))
                fail_msg("client %d was dropped", i);
    }
    free(polls);
}

CASE(a_crowd_with_stalled_clients_stays_bounded)
{
    struct listener *crowd = mem_array(struct listener, CROWD);
    struct sse_stats stats = {.clients = CROWD};
    size_t most = 0;
    int batch = 40, rounds = 0;

    if (!enough_descriptors()) {
        printf("skipped: a_crowd_with_stalled_clients (too few descriptors allowed)\n");
        free(crowd);
        return;
    }
    start((struct sse_config){.buffer_bytes = 65536});
    for (int i = 0; i < CROWD; i++)
        join(&crowd[i], "", "");
    wait_for_clients(CROWD);
    while (stats.clients > CROWD - STALLED && rounds++ < 200) {
        there(send_some, &batch);
        read_round(crowd, newest);
        there(get_stats, &stats);
        most = stats.buffered_bytes > most ? stats.buffered_bytes : most;
    }
    assert_int_equal(stats.clients, CROWD - STALLED);
    assert_true(most <= STALLED * (size_t)65536 + CROWD * (size_t)1024);
    for (int i = 0; i < CROWD - STALLED; i++) {
        assert_int_equal(crowd[i].count, newest);
        assert_true(crowd[i].ordered);
    }
    for (int i = CROWD - STALLED; i < CROWD; i++) {
        while (take(&crowd[i])) {
        } /* what it was sent before, and the reason */
        assert_int_equal(crowd[i].bye, 1);
    }
    for (int i = 0; i < CROWD; i++)
        leave(&crowd[i]);
    free(crowd);
    finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_in_order_to_those_who_want_them),
        cmocka_unit_test(a_client_resumes_without_a_gap),
        cmocka_unit_test(what_is_not_kept_is_said_to_be_lost),
        cmocka_unit_test(wrong_and_too_many_clients_are_refused),
        cmocka_unit_test(a_heart_beats_and_says_goodbye),
        cmocka_unit_test(a_crowd_with_stalled_clients_stays_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
