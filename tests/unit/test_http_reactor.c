/* test_http_reactor.c - the loop of the one thread */
#include "http/reactor.h"

#include "base/clock.h"
#include "base/str.h"
#include "support/test.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tally {
    struct reactor *reactor;
    struct reactor_event *timer;
    struct reactor_event *watch;
    int fd;
    int fired, posted, signals, bytes;
};

static void on_fire(void *ctx)
{
    struct tally *t = ctx;

    if (++t->fired == 3) {
        reactor_event_destroy(t->timer); /* within its own call */
        t->timer = NULL;
    }
}

static void on_post(void *ctx)
{
    ((struct tally *)ctx)->posted++;
}

static void on_signal(void *ctx)
{
    ((struct tally *)ctx)->signals++;
}

static void on_ready(void *ctx)
{
    struct tally *t = ctx;
    char byte;

    if (read(t->fd, &byte, 1) == 1 && ++t->bytes == 2) {
        reactor_event_destroy(t->watch);
        t->watch = NULL;
    }
}

static void *post_many(void *ctx)
{
    struct tally *t = ctx;

    for (int i = 0; i < 1000; i++)
        reactor_post(t->reactor, on_post, t);
    return NULL;
}

CASE(the_loop_serves_threads_timers_signals_and_descriptors)
{
    struct tally t = {0};
    struct reactor_event *signal;
    struct err err = {0};
    pthread_t threads[3];
    int pipe_fds[2];

    t.reactor = reactor_create(&err);
    assert_non_null(t.reactor);
    t.timer = reactor_timer_create(t.reactor, on_fire, &t);
    reactor_timer_every(t.timer, 0.001);
    signal = reactor_signal_create(t.reactor, SIGUSR1, on_signal, &t, &err);
    assert_non_null(signal);
    assert_int_equal(pipe(pipe_fds), 0);
    t.fd = pipe_fds[0];
    t.watch = reactor_watch_create(t.reactor, t.fd, on_ready, &t);
    assert_int_equal(write(pipe_fds[1], "abc", 3), 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, post_many, &t), 0);
    raise(SIGUSR1);
    while (t.fired < 3 || t.posted < 3000 || t.signals < 1 || t.bytes < 2)
        reactor_step(t.reactor, 1);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(t.fired, 3);
    assert_int_equal(t.bytes, 2);
    reactor_stop(t.reactor); /* before it runs: it does not hang */
    assert_int_equal(reactor_run(t.reactor, &err), 0);
    reactor_event_destroy(signal);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    reactor_destroy(t.reactor);
}

/* ---- what turns are spent on ------------------------------------------------------- */

struct spent {
    struct reactor *reactor;
    char told[64];
    int turns;
    char most[16];
    double whole_s, pieces_s;
};

static void note_piece(void *ctx, const char *what, double cpu_s)
{
    struct spent *spent = ctx;

    assert_true(cpu_s >= 0);
    spent->pieces_s += cpu_s;
    snprintf(spent->told + strlen(spent->told), 16, "%s;", what);
}

static void note_turn(void *ctx, const struct reactor_turn *turn)
{
    struct spent *spent = ctx;

    if (spent->turns++ > 0)
        return;
    str_copy(spent->most, sizeof(spent->most), turn->most);
    spent->whole_s = turn->cpu_s;
    assert_true(turn->most_cpu_s <= turn->cpu_s);
    assert_true(turn->cpu_s == spent->pieces_s);
}

static void work_in_pieces(void *ctx)
{
    struct spent *spent = ctx;
    double began_s = clock_cpu_s();

    reactor_did(spent->reactor, "little");
    while (clock_cpu_s() - began_s < 0.02) {
    }
    reactor_did(spent->reactor, "much");
    reactor_stop(spent->reactor);
}

CASE(a_turn_tells_what_took_the_most_of_it)
{
    struct err err = {0};
    struct spent spent = {.reactor = reactor_create(&err)};

    reactor_on_turn(spent.reactor,
                    &(struct reactor_watcher){note_piece, note_turn, &spent});
    reactor_post(spent.reactor, work_in_pieces, &spent);
    assert_int_equal(reactor_run(spent.reactor, &err), 0);
    assert_string_equal(spent.told, "little;much;rest;");
    assert_string_equal(spent.most, "much");
    assert_true(spent.whole_s >= 0.02);
    reactor_on_turn(spent.reactor, NULL);
    reactor_did(spent.reactor, "unseen");
    assert_string_equal(spent.told, "little;much;rest;");
    reactor_destroy(spent.reactor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loop_serves_threads_timers_signals_and_descriptors),
        cmocka_unit_test(a_turn_tells_what_took_the_most_of_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
