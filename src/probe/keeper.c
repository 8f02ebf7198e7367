/* keeper.c - see keeper.h */
#include "probe/keeper.h"

#include "probe/tree.h"

#include <errno.h>
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

/* What is left behind may finish its writing (the tee of a pipeline), then is asked to
 * stop, then killed. */
#define LEFT_FINISH_S 1.0
#define LEFT_STOP_S   2.0

/* New processes may appear while others are killed, so killing is repeated. */
#define KILL_AGAIN_S 0.05

void keeper_init(struct keeper *keeper, const struct child *child, double grace_s)
{
    *keeper = (struct keeper){.child = *child,
                              .grace_s = grace_s,
                              .kill_at_s = INFINITY,
                              .term_at_s = INFINITY};
}

void keeper_signal(struct keeper *keeper, int signal, double now_s)
{
    if (keeper->gone)
        return;
    kill(-keeper->child.pid, signal);
    if (signal != SIGTERM)
        return;
    kill(-keeper->child.pid, SIGCONT); /* a job that is halted could not hear it */
    if (!keeper->asked)
        keeper->kill_at_s = fmin(keeper->kill_at_s, now_s + keeper->grace_s);
    keeper->asked = true;
}

static void first_ended(struct keeper *keeper, int wait_status, double now_s)
{
    keeper->ended = true;
    keeper->ended_s = now_s;
    keeper->wait_status = wait_status;
    keeper->term_at_s = keeper->asked ? now_s : now_s + LEFT_FINISH_S;
}

static int wait_status_of(const siginfo_t *info)
{
    if (info->si_code == CLD_EXITED)
        return W_EXITCODE(info->si_status & 0xff, 0);
    return W_EXITCODE(0, info->si_status) | (info->si_code == CLD_DUMPED ? WCOREFLAG : 0);
}

void keeper_reap(struct keeper *keeper, double now_s)
{
    for (;;) {
        siginfo_t info = {0};

        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG) < 0) {
            if (errno == EINTR)
                continue;
            keeper->gone = errno == ECHILD && keeper->ended;
            return;
        }
        if (info.si_pid == 0)
            return;
        if (info.si_code != CLD_EXITED && info.si_status == SIGKILL && !keeper->killed)
            keeper->kernel_kill = true;
        if (info.si_pid == keeper->child.pid)
            first_ended(keeper, wait_status_of(&info), now_s);
    }
}

static void ask_left_behind(struct keeper *keeper, double now_s)
{
    keeper->term_at_s = INFINITY;
    keeper->left_behind = tree_signal(getpid(), SIGTERM);
    tree_signal(getpid(), SIGCONT);
    keeper->kill_at_s = fmin(keeper->kill_at_s, now_s + LEFT_STOP_S);
}

void keeper_tick(struct keeper *keeper, double now_s)
{
    if (keeper->gone)
        return;
    if (now_s >= keeper->term_at_s)
        ask_left_behind(keeper, now_s);
    if (now_s >= keeper->kill_at_s) {
        if (!keeper->ended)
            keeper->killed = true;
        tree_signal(getpid(), SIGKILL);
        keeper->kill_at_s = now_s + KILL_AGAIN_S;
    }
    keeper_reap(keeper, now_s);
}

double keeper_due_s(const struct keeper *keeper)
{
    return fmin(keeper->kill_at_s, keeper->term_at_s);
}
