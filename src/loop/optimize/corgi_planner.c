/* corgi_planner.c - see corgi_planner.h */
#include "loop/optimize/corgi_planner.h"

#include "base/mem.h"
#include "loop/optimize/check.h"
#include "loop/optimize/plan.h"
#include "loop/optimize/pose.h"
#include "loop/optimize/solve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A node without jobs stays awake this long: about what waking it again costs. */
#define IDLE_BEFORE_SLEEP_S 60.0
/* From this part of the grace time on, any place is better than none. */
#define GRACE_USED 0.8

struct corgi_planner {
    struct kinds *kinds;
    struct problem *problem;
    struct solver *solver;
    struct solution solution;
    enum pose_mode *mode; /* (room) */
    size_t room;
    bool check;
};

static void *corgi_create(uint64_t seed)
{
    struct corgi_planner *c = mem_new(struct corgi_planner);
    struct problem_size nothing = {.types = 1, .variants = 1, .classes = 1};

    c->kinds = kinds_create();
    c->problem = problem_create(&nothing);
    c->solver = solver_create(seed);
    return c;
}

static void corgi_destroy(void *self)
{
    struct corgi_planner *c = self;

    kinds_destroy(c->kinds);
    problem_destroy(c->problem);
    solver_destroy(c->solver);
    solution_fini(&c->solution);
    free(c->mode);
    free(c);
}

void corgi_planner_check(void *self, bool check)
{
    ((struct corgi_planner *)self)->check = check;
}

static void solve(struct corgi_planner *c, const struct optimize_input *in)
{
    struct err err = {0};

    pose_problem(c->problem, in, c->kinds, c->mode);
    solver_run(c->solver, c->problem, NULL, &c->solution);
    if (c->check && check_solution(c->problem, &c->solution, &err) < 0) {
        fprintf(stderr, "corgi: the optimizer's plan is wrong: %s\n", err.text);
        abort();
    }
}

static bool unserved(const struct corgi_planner *c, size_t j)
{
    return c->solution.state[j] != SOLUTION_SERVED;
}

/* Set the mode of jobs that need a place at any rate; true when there are any. */
static bool relax(struct corgi_planner *c, const struct optimize_input *in)
{
    bool any = false;

    for (size_t j = 0; j < in->job_count; j++) {
        const struct job_status *s = in->jobs[j];
        bool late = in->now_s - s->job.submitted_s >= GRACE_USED * in->settings->grace_s;

        if (unserved(c, j) && (s->state == JOB_RUNNING || late) &&
            c->solution.state[j] != SOLUTION_HELD) {
            c->mode[j] = POSE_RELAXED;
            any = true;
        }
    }
    return any;
}

/* All that runs stays where it is: always possible. */
static bool pin(struct corgi_planner *c, const struct optimize_input *in)
{
    bool stopped = false;

    for (size_t j = 0; j < in->job_count; j++)
        stopped = stopped || (in->jobs[j]->state == JOB_RUNNING && unserved(c, j));
    for (size_t j = 0; j < in->job_count && stopped; j++)
        if (in->jobs[j]->state == JOB_RUNNING)
            c->mode[j] = POSE_PINNED;
    return stopped;
}

static enum unplaced_reason reason_of(const struct corgi_planner *c,
                                      const struct optimize_input *in, size_t j)
{
    if (c->solution.state[j] == SOLUTION_HELD)
        return UNPLACED_POLICY;
    if (!pose_memory_possible(in, c->kinds, j))
        return UNPLACED_MEMORY;
    return pose_rate_possible(in, c->kinds, j) ? UNPLACED_CAPACITY : UNPLACED_RATE;
}

/* Rate and part of the power of each seat, and the caps, from the solution's devices. */
static void write_figures(const struct corgi_planner *c, struct plan *plan)
{
    const struct problem *p = c->problem;

    for (int d = 0; d < c->solution.device_count; d++) {
        const struct solution_device *dev = &c->solution.devices[d];
        int k = p->jobs[dev->jobs[0]].class_id;
        bool shared = dev->jobs[1] >= 0;
        size_t at = shared
                        ? problem_cell(p, dev->variant, k, p->jobs[dev->jobs[1]].class_id)
                        : (size_t)dev->variant * (size_t)p->class_count + (size_t)k;

        plan->cap_watts[dev->device] = p->variants[dev->variant].cap_watts;
        for (int e = 0; e < 1 + shared; e++) {
            struct seat *seat = &plan->seats[dev->jobs[e]];
            size_t own =
                e == 0 ? at
                       : problem_cell(p, dev->variant, p->jobs[dev->jobs[1]].class_id, k);
            double rate = shared ? p->pair_rate[own] : p->alone_rate[own];

            seat->rate = seat->rate > 0 ? fmin(seat->rate, rate) : rate;
            seat->watts +=
                shared ? (double)p->pair_watts[at] / 2 : (double)p->alone_watts[at];
        }
    }
}

/* Devices of every job in the order of the solution. */
static void write_seats(const struct corgi_planner *c, const struct optimize_input *in,
                        struct plan *plan)
{
    int devices[LOOP_MAX_GANG];

    for (size_t j = 0; j < in->job_count; j++) {
        int count = 0;

        if (unserved(c, j)) {
            if (in->jobs[j]->state == JOB_RUNNING)
                plan_keep(plan, in, j);
            else
                plan->seats[j].reason = reason_of(c, in, j);
            continue;
        }
        for (int d = 0; d < c->solution.device_count && count < LOOP_MAX_GANG; d++)
            if (c->solution.devices[d].jobs[0] == (int)j ||
                c->solution.devices[d].jobs[1] == (int)j)
                devices[count++] = c->solution.devices[d].device;
        plan_seat(plan, j, devices, count);
    }
}

static void write_nodes(const struct corgi_planner *c, const struct optimize_input *in,
                        struct plan *plan)
{
    const struct cluster *cluster = in->cluster;

    for (int n = 0; n < cluster->node_count; n++) {
        const struct node *node = &cluster->nodes[n];
        bool lately = node->state == NODE_AWAKE &&
                      in->now_s - node->idle_since_s < IDLE_BEFORE_SLEEP_S;

        plan->awake[n] = c->solution.awake[n] || lately;
    }
    for (size_t i = 0; i < plan->used; i++)
        plan->awake[cluster->devices[plan->devices[i]].node] = true;
}

/* The rare case that pins could not be kept either: everything stays, nothing starts. */
static void keep_all(const struct optimize_input *in, struct plan *plan)
{
    plan_reset(plan, in);
    for (size_t j = 0; j < in->job_count; j++)
        if (in->jobs[j]->state == JOB_RUNNING)
            plan_keep(plan, in, j);
    for (size_t i = 0; i < plan->used; i++)
        plan->awake[in->cluster->devices[plan->devices[i]].node] = true;
}

static void corgi_plan(void *self, const struct optimize_input *in, struct plan *plan)
{
    struct corgi_planner *c = self;

    plan_reset(plan, in);
    if (in->job_count > c->room) {
        free(c->mode);
        c->room = 2 * in->job_count;
        c->mode = mem_array(enum pose_mode, c->room);
    }
    for (size_t j = 0; j < in->job_count; j++)
        c->mode[j] = POSE_ASKED;
    kinds_load(c->kinds, in);
    solve(c, in);
    if (relax(c, in))
        solve(c, in);
    if (pin(c, in))
        solve(c, in);
    if (pin(c, in)) {
        keep_all(in, plan);
        return;
    }
    write_seats(c, in, plan);
    write_figures(c, plan);
    write_nodes(c, in, plan);
    plan->cost_watts = c->solution.cost;
    plan->bound_watts = isfinite(c->solution.bound) ? c->solution.bound : NAN;
}

const struct planner_ops corgi_planner_ops = {
    .name = "corgi",
    .create = corgi_create,
    .plan = corgi_plan,
    .destroy = corgi_destroy,
};
