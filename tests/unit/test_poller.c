/* test_poller.c - descriptors that are ready call their owners */
#include "base/poller.h"

#include "base/clock.h"
#include "support/test.h"

#include <sys/epoll.h>
#include <unistd.h>

struct end {
    struct poller_watch watch;
    struct end *other; /* whose watch ends when this one is called; NULL: none */
    int poller, fds[2], calls;
    uint32_t events;
};

static void on_ready(void *ctx, uint32_t events)
{
    struct end *end = ctx;

    end->calls++;
    end->events = events;
    if (end->other)
        poller_set(end->poller, &end->other->watch, -1, 0);
}

static void open_end(struct end *end, int poller)
{
    *end = (struct end){.poller = poller, .watch = {.fd = -1, .ready = on_ready}};
    end->watch.ctx = end;
    assert_int_equal(pipe(end->fds), 0);
}

static void close_end(struct end *end)
{
    poller_set(end->poller, &end->watch, -1, 0);
    close(end->fds[0]);
    close(end->fds[1]);
}

CASE(what_is_ready_is_called_and_the_rest_waited_for)
{
    int poller = poller_open(NULL);
    struct end end;
    double began;

    open_end(&end, poller);
    poller_set(poller, &end.watch, end.fds[0], EPOLLIN);
    began = clock_wall_s();
    poller_wait(poller, 0.05);
    assert_int_equal(end.calls, 0);
    assert_true(clock_wall_s() - began >= 0.045);
    assert_int_equal(write(end.fds[1], "x", 1), 1);
    poller_wait(poller, 10);
    assert_int_equal(end.calls, 1);
    assert_int_equal(end.events, EPOLLIN);
    poller_set(poller, &end.watch, -1, 0);
    poller_wait(poller, 0);
    assert_int_equal(end.calls, 1); /* still readable, but nobody watches */
    /* The same watch about another descriptor and other events. */
    poller_set(poller, &end.watch, end.fds[1], EPOLLOUT);
    poller_wait(poller, 10);
    assert_int_equal(end.calls, 2);
    assert_int_equal(end.events, EPOLLOUT);
    close_end(&end);
    close(poller);
}

CASE(a_watch_that_another_ended_is_not_called)
{
    int poller = poller_open(NULL);
    struct end a, b;

    open_end(&a, poller);
    open_end(&b, poller);
    a.other = &b;
    b.other = &a;
    poller_set(poller, &a.watch, a.fds[0], EPOLLIN);
    poller_set(poller, &b.watch, b.fds[0], EPOLLIN);
    assert_int_equal(write(a.fds[1], "x", 1), 1);
    assert_int_equal(write(b.fds[1], "x", 1), 1);
    poller_wait(poller, 10);
    assert_int_equal(a.calls + b.calls, 1);
    close_end(&a);
    close_end(&b);
    close(poller);
}

CASE(a_descriptor_that_cannot_be_watched_is_told)
{
    int poller = poller_open(NULL);
    struct poller_watch watch = {.fd = -1, .ready = on_ready};

    poller_set(poller, &watch, 9999, EPOLLIN);
    assert_int_equal(watch.fd, -1);
    close(poller);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_ready_is_called_and_the_rest_waited_for),
        cmocka_unit_test(a_watch_that_another_ended_is_not_called),
        cmocka_unit_test(a_descriptor_that_cannot_be_watched_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
