/* reactor.c - corgid's loop on libevent: all else in the daemon is called from here
 *
 * What other threads post goes through a list under a lock and an eventfd, so libevent
 * itself needs no locks. */
#include "http/reactor.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/vec.h"

#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct post {
    void (*run)(void *ctx);
    void *ctx;
};

struct reactor {
    struct event_base *base;
    int wake_fd;
    struct event *wake;
    pthread_mutex_t lock; /* guards posts */
    vec_of(struct post) posts;
    atomic_bool stopping;
    struct reactor_watcher watcher;
    struct reactor_turn turn;
    double lap_s; /* of the processor's time, when a piece of work was last told of */
};

/* A write to a closed socket must fail, not kill.  A handler and not SIG_IGN, because a
 * program we start would inherit the latter. */
static void ignore_pipe(int number)
{
    (void)number;
}

static void survive_broken_pipes(void)
{
    struct sigaction old, action = {.sa_handler = ignore_pipe, .sa_flags = SA_RESTART};

    if (sigaction(SIGPIPE, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
        sigaction(SIGPIPE, &action, NULL);
}

static void run_posts(evutil_socket_t fd, short what, void *ctx)
{
    struct reactor *r = ctx;
    struct post *posts;
    size_t count;
    uint64_t times;

    (void)what;
    if (read(fd, &times, sizeof(times)) < 0) {
        /* nothing to read is fine: the list tells */
    }
    pthread_mutex_lock(&r->lock);
    posts = r->posts.items;
    count = r->posts.count;
    r->posts.items = NULL;
    r->posts.count = r->posts.capacity = 0;
    pthread_mutex_unlock(&r->lock);
    for (size_t i = 0; i < count; i++)
        posts[i].run(posts[i].ctx);
    free(posts);
    if (atomic_load(&r->stopping))
        event_base_loopbreak(r->base);
}

struct reactor *reactor_create(struct err *err)
{
    struct reactor *r = mem_new(struct reactor);

    survive_broken_pipes();
    pthread_mutex_init(&r->lock, NULL);
    r->base = event_base_new();
    r->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (r->base && r->wake_fd >= 0)
        r->wake = event_new(r->base, r->wake_fd, EV_READ | EV_PERSIST, run_posts, r);
    if (!r->wake || event_add(r->wake, NULL) < 0) {
        err_sys(err, "cannot set up the event loop");
        reactor_destroy(r);
        return NULL;
    }
    return r;
}

void reactor_destroy(struct reactor *r)
{
    if (!r)
        return;
    if (r->wake)
        event_free(r->wake);
    if (r->base)
        event_base_free(r->base);
    if (r->wake_fd >= 0)
        close(r->wake_fd);
    pthread_mutex_destroy(&r->lock);
    vec_free(&r->posts);
    free(r);
}

struct event_base *reactor_base(struct reactor *r)
{
    return r->base;
}

/* ---- what turns are spent on ------------------------------------------------------- */

void reactor_on_turn(struct reactor *r, const struct reactor_watcher *watcher)
{
    r->watcher = watcher ? *watcher : (struct reactor_watcher){0};
}

static void begin_turn(struct reactor *r)
{
    r->turn = (struct reactor_turn){0};
    r->lap_s = clock_cpu_s();
}

void reactor_did(struct reactor *r, const char *what)
{
    double now_s, took_s;

    if (!r->watcher.did)
        return;
    now_s = clock_cpu_s();
    took_s = now_s - r->lap_s;
    r->lap_s = now_s;
    r->turn.cpu_s += took_s;
    if (took_s > r->turn.most_cpu_s) {
        r->turn.most_cpu_s = took_s;
        r->turn.most = what;
    }
    r->watcher.did(r->watcher.ctx, what, took_s);
}

static void end_turn(struct reactor *r)
{
    if (!r->watcher.turned)
        return;
    reactor_did(r, "rest");
    r->watcher.turned(r->watcher.ctx, &r->turn);
}

int reactor_run(struct reactor *r, struct err *err)
{
    while (!atomic_load(&r->stopping)) {
        begin_turn(r);
        if (event_base_loop(r->base, EVLOOP_ONCE | EVLOOP_NO_EXIT_ON_EMPTY) < 0)
            return err_set(err, ERR_SYSTEM, "the event loop failed");
        end_turn(r);
    }
    atomic_store(&r->stopping, false);
    return 0;
}

static void wake_up(struct reactor *r)
{
    const uint64_t one = 1;

    /* Full means that it is about to wake up anyway. */
    if (write(r->wake_fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
        abort();
}

void reactor_stop(struct reactor *r)
{
    atomic_store(&r->stopping, true);
    wake_up(r);
}

static void stop_waiting(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd;
    (void)what;
    (void)ctx;
}

struct timeval reactor_time(double seconds)
{
    time_t whole = (time_t)seconds;

    return (struct timeval){.tv_sec = whole,
                            .tv_usec = (suseconds_t)((seconds - (double)whole) * 1e6)};
}

void reactor_step(struct reactor *r, double wait_s)
{
    struct timeval limit = reactor_time(wait_s);

    if (wait_s > 0) {
        event_base_once(r->base, -1, EV_TIMEOUT, stop_waiting, NULL, &limit);
        event_base_loop(r->base, EVLOOP_ONCE);
    } else {
        event_base_loop(r->base, EVLOOP_NONBLOCK);
    }
}

void reactor_post(struct reactor *r, void (*run)(void *ctx), void *ctx)
{
    pthread_mutex_lock(&r->lock);
    vec_push(&r->posts, (struct post){.run = run, .ctx = ctx});
    pthread_mutex_unlock(&r->lock);
    wake_up(r);
}

/* ---- timers, descriptors and signals ----------------------------------------------- */

struct reactor_event {
    struct event *event;
    void (*call)(void *ctx);
    void *ctx;
    double every_s; /* of a timer; 0: once */
};

static void start_timer(struct reactor_event *e, double seconds)
{
    struct timeval after = reactor_time(seconds > 0 ? seconds : 0);

    event_add(e->event, &after);
}

static void happened(evutil_socket_t fd, short what, void *ctx)
{
    struct reactor_event *e = ctx;

    (void)fd;
    (void)what;
    if (e->every_s > 0)
        start_timer(e, e->every_s);
    e->call(e->ctx); /* may destroy it */
}

static struct reactor_event *make(struct reactor *r, int number, short what,
                                  void (*call)(void *ctx), void *ctx)
{
    struct reactor_event *e = mem_new(struct reactor_event);

    e->call = call;
    e->ctx = ctx;
    e->event = event_new(r->base, number, what, happened, e);
    if (!e->event)
        abort(); /* memory, or not a descriptor: our own mistake */
    return e;
}

struct reactor_event *reactor_timer_create(struct reactor *r, void (*fire)(void *ctx),
                                           void *ctx)
{
    return make(r, -1, 0, fire, ctx);
}

void reactor_timer_after(struct reactor_event *timer, double seconds)
{
    timer->every_s = 0;
    start_timer(timer, seconds);
}

void reactor_timer_every(struct reactor_event *timer, double seconds)
{
    timer->every_s = seconds;
    start_timer(timer, seconds);
}

void reactor_timer_cancel(struct reactor_event *timer)
{
    timer->every_s = 0;
    event_del(timer->event);
}

struct reactor_event *reactor_watch_create(struct reactor *r, int fd,
                                           void (*ready)(void *ctx), void *ctx)
{
    struct reactor_event *e = make(r, fd, EV_READ | EV_PERSIST, ready, ctx);

    if (event_add(e->event, NULL) < 0)
        abort(); /* not a descriptor: our own mistake */
    return e;
}

struct reactor_event *reactor_signal_create(struct reactor *r, int number,
                                            void (*caught)(void *ctx), void *ctx,
                                            struct err *err)
{
    struct reactor_event *e = make(r, number, EV_SIGNAL | EV_PERSIST, caught, ctx);

    if (event_add(e->event, NULL) == 0)
        return e;
    err_sys(err, "cannot catch signal %d (%s)", number, strsignal(number));
    reactor_event_destroy(e);
    return NULL;
}

void reactor_event_destroy(struct reactor_event *e)
{
    if (!e)
        return;
    event_free(e->event);
    free(e);
}
