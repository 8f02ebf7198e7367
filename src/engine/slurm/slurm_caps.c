/* slurm_caps.c - slurm_engine_orders.c says what limits the loop wants, slurm_engine.c
 * calls it when something is due */
#include "engine/slurm/slurm_caps.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/poller.h"
#include "base/process.h"
#include "base/vec.h"
#include "engine/slurm/slurm_answers.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define AT_ONCE 4    /* programs */
#define AGAIN_S 10.0 /* after one that failed */

/* What is wanted of one GPU. */
struct cap_wish {
    int device, gpu;
    char node[SLURM_NAME_SIZE];
    double watts;
    bool due;     /* nobody has been told */
    bool running; /* a program is at it */
    double from_s;
};

/* One program that runs. */
struct cap_run {
    struct poller_watch watch;
    struct slurm_caps *caps;
    pid_t pid; /* 0: none */
    int device;
    double until_s;
};

struct slurm_caps {
    int poller;
    char *program;
    double within_s;
    vec_of(struct cap_wish) wishes;
    struct cap_run runs[AT_ONCE];
};

/* It woke the engine, which asks slurm_caps_advance() next. */
static void on_end(void *ctx, uint32_t events)
{
    (void)ctx;
    (void)events;
}

struct slurm_caps *slurm_caps_create(int poller, const char *program, double within_s)
{
    struct slurm_caps *c = mem_new(struct slurm_caps);

    c->poller = poller;
    c->within_s = within_s;
    c->program = mem_strdup(program);
    for (int i = 0; i < AT_ONCE; i++)
        c->runs[i] = (struct cap_run){
            .watch = {.fd = -1, .ready = on_end, .ctx = &c->runs[i]}, .caps = c};
    return c;
}

static void forget(struct cap_run *run)
{
    int fd = run->watch.fd;

    poller_set(run->caps->poller, &run->watch, -1, 0);
    if (fd >= 0)
        close(fd);
    run->pid = 0;
}

void slurm_caps_destroy(struct slurm_caps *c)
{
    if (!c)
        return;
    for (int i = 0; i < AT_ONCE; i++)
        if (c->runs[i].pid > 0) /* it ends by itself, and the system reaps it */
            forget(&c->runs[i]);
    vec_free(&c->wishes);
    free(c->program);
    free(c);
}

static struct cap_wish *wish_of(const struct slurm_caps *c, int device)
{
    vec_each (struct cap_wish, wish, &c->wishes)
        if (wish->device == device)
            return wish;
    return NULL;
}

void slurm_caps_set(struct slurm_caps *c, int device, const char *node, int gpu,
                    double watts)
{
    struct cap_wish *wish = wish_of(c, device);

    if (!wish) {
        vec_push(&c->wishes, ((struct cap_wish){.device = device, .gpu = gpu}));
        wish = &c->wishes.items[c->wishes.count - 1];
        str_copy(wish->node, sizeof(wish->node), node);
    }
    wish->watts = watts;
    wish->due = true;
    wish->from_s = 0;
}

static bool start(const struct slurm_caps *c, struct cap_run *run,
                  const struct cap_wish *wish, double now_s)
{
    char gpu[16], watts[24];
    char *words[] = {c->program, NULL, gpu, watts, NULL};
    char node[SLURM_NAME_SIZE];
    sigset_t none;
    int fd;

    memcpy(node, wish->node, sizeof(node));
    words[1] = node;
    snprintf(gpu, sizeof(gpu), "%d", wish->gpu);
    snprintf(watts, sizeof(watts), "%.0f", wish->watts);
    sigemptyset(&none);
    run->pid = fork();
    if (run->pid == 0) {
        int null = open("/dev/null", O_RDWR);

        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
        setpgid(0, 0);
        process_reset_signals(&none);
        execv(words[0], words);
        _exit(127);
    }
    if (run->pid < 0) {
        run->pid = 0;
        return false;
    }
    setpgid(run->pid, run->pid);
    fd = (int)syscall(SYS_pidfd_open, run->pid, 0);
    if (fd >= 0) {
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        poller_set(c->poller, &run->watch, fd, EPOLLIN);
    }
    run->device = wish->device;
    run->until_s = now_s + c->within_s;
    return true;
}

static void settle(const struct slurm_caps *c, struct cap_run *run, bool well,
                   const char *why, double now_s)
{
    struct cap_wish *wish = wish_of(c, run->device);

    wish->running = false;
    if (!well) {
        log_warn("cap_not_set", LOG_STR("node", wish->node), LOG_I64("gpu", wish->gpu),
                 LOG_NUM("watts", wish->watts), LOG_STR("why", why));
        wish->due = true;
        wish->from_s = now_s + AGAIN_S;
    }
    forget(run);
}

static void look_after(const struct slurm_caps *c, struct cap_run *run, double now_s)
{
    char why[60] = "it took too long, and was killed";
    int status;

    if (waitpid(run->pid, &status, WNOHANG) == run->pid) {
        if (WIFEXITED(status))
            snprintf(why, sizeof(why), "it ended with status %d", WEXITSTATUS(status));
        else
            snprintf(why, sizeof(why), "it ended by signal %d", WTERMSIG(status));
        settle(c, run, WIFEXITED(status) && WEXITSTATUS(status) == 0, why, now_s);
    } else if (now_s >= run->until_s) {
        kill(-run->pid, SIGKILL);
        run->until_s = now_s + c->within_s; /* until the kernel has ended it */
    }
}

double slurm_caps_advance(struct slurm_caps *c, double now_s)
{
    double next_s = INFINITY;

    for (int i = 0; i < AT_ONCE; i++) {
        if (c->runs[i].pid > 0)
            look_after(c, &c->runs[i], now_s);
        if (c->runs[i].pid > 0)
            next_s =
                fmin(next_s, c->runs[i].watch.fd >= 0 ? c->runs[i].until_s : now_s + 0.1);
    }
    vec_each (struct cap_wish, wish, &c->wishes) {
        int free_run = 0;

        if (!wish->due || wish->running)
            continue;
        while (free_run < AT_ONCE && c->runs[free_run].pid > 0)
            free_run++;
        if (wish->from_s > now_s || free_run == AT_ONCE) {
            next_s = fmin(next_s, fmax(wish->from_s, now_s + 0.05));
            continue;
        }
        if (!start(c, &c->runs[free_run], wish, now_s)) {
            wish->from_s = now_s + AGAIN_S;
            continue;
        }
        wish->due = false;
        wish->running = true;
        next_s = fmin(next_s, c->runs[free_run].watch.fd >= 0 ? c->runs[free_run].until_s
                                                              : now_s + 0.1);
    }
    return next_s;
}
