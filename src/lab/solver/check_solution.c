/* check_solution.c - the judge of a solution: the bench and the tests call it on what
 * any solver returns, and it shares no code with these */
#include "lab/solver/check_solution.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

struct job_tally {
    int tasks;
    int moved;     /* tasks on a device they were not on */
    int node;      /* of the first task; -1 before */
    bool spread;   /* over several nodes */
    double rate;   /* least of its tasks, from the tables */
    double margin; /* the same with the job's own factors */
};

struct solution_tally {
    const struct problem *p;
    const struct solution *s;
    struct job_tally *jobs; /* (jobs) */
    int *type_use;          /* (types) */
    int *device_use;        /* (devices) */
    double watts, progress, cost;
    int unserved, moves;
};

/* Members of a device, how fast the tables say each runs, and what it draws. */
struct company {
    int count;
    float rate[PROBLEM_MAX_SHARE];
    float watts;
};

static void meet(const struct problem *p, const struct solution_device *d,
                 struct company *c)
{
    int k[PROBLEM_MAX_SHARE] = {0};
    size_t v = (size_t)d->variant, n = (size_t)p->class_count;

    *c = (struct company){0};
    while (c->count < PROBLEM_MAX_SHARE && d->jobs[c->count] >= 0) {
        k[c->count] = p->jobs[d->jobs[c->count]].class_id;
        c->count++;
    }
    if (c->count == 1) {
        c->rate[0] = p->alone_rate[v * n + (size_t)k[0]];
        c->watts = p->alone_watts[v * n + (size_t)k[0]];
        return;
    }
    c->rate[0] = p->pair_rate[(v * n + (size_t)k[0]) * n + (size_t)k[1]];
    c->rate[1] = p->pair_rate[(v * n + (size_t)k[1]) * n + (size_t)k[0]];
    c->watts = p->pair_watts[(v * n + (size_t)k[0]) * n + (size_t)k[1]];
}

static bool was_on(const struct problem *p, int job, int device)
{
    int first = p->jobs[job].first_task;

    for (int e = 0; e < p->classes[p->jobs[job].class_id].devices; e++)
        if (p->now[first + e] == device)
            return true;
    return false;
}

static int count_member(struct solution_tally *t, const struct solution_device *d,
                        int side, const struct company *company, struct err *err)
{
    const struct problem *p = t->p;
    int job = d->jobs[side];
    struct job_tally *tally = &t->jobs[job];
    int type = p->variants[d->variant].type;
    double table = (double)company->rate[side], own = table;

    own *= (double)p->speed[(size_t)job * (size_t)p->type_count + (size_t)type];
    for (int e = 0; e < company->count; e++)
        own *= e == side ? 1 : (double)p->drag[d->jobs[e]];
    if (t->s->state[job] != SOLUTION_SERVED)
        return err_set(err, ERR_INVALID, "job %d has a device but is not served", job);
    if (!(p->jobs[job].types >> type & 1))
        return err_set(err, ERR_INVALID, "job %d may not use type %d", job, type);
    if (!(own > 0))
        return err_set(err, ERR_INVALID, "job %d does not run on type %d", job, type);
    tally->margin = fmin(tally->margin, own);
    tally->rate = fmin(tally->rate, table);
    tally->tasks++;
    if (d->device >= 0) {
        int node = p->devices[d->device].node;

        tally->moved += !was_on(p, job, d->device);
        tally->spread = tally->spread || (tally->node >= 0 && tally->node != node);
        tally->node = node;
    }
    return 0;
}

static int check_members(const struct problem *p, const struct solution_device *d,
                         struct err *err)
{
    int a = d->jobs[0], b = d->jobs[1];

    if (b >= 0 && (a == b || !p->jobs[a].may_share || !p->jobs[b].may_share))
        return err_set(err, ERR_INVALID, "jobs %d and %d may not share", a, b);
    return 0;
}

static int check_physical(struct solution_tally *t, const struct solution_device *d,
                          int type, struct err *err)
{
    const struct problem *p = t->p;

    if ((d->device >= 0) != (p->device_count > 0) || d->device >= p->device_count)
        return err_set(err, ERR_INVALID, "job %d has no physical device", d->jobs[0]);
    if (d->device < 0)
        return 0;
    if (p->devices[d->device].type != type || p->devices[d->device].closed)
        return err_set(err, ERR_INVALID, "device %d is closed or of another type",
                       d->device);
    if (t->device_use[d->device]++)
        return err_set(err, ERR_INVALID, "device %d is used twice", d->device);
    if (!t->s->awake[p->devices[d->device].node])
        return err_set(err, ERR_INVALID, "device %d is on a node that sleeps", d->device);
    return 0;
}

static int count_device(struct solution_tally *t, const struct solution_device *d,
                        struct err *err)
{
    const struct problem *p = t->p;
    struct company company;
    int type;

    if (d->variant < 0 || d->variant >= p->variant_count || d->jobs[0] < 0)
        return err_set(err, ERR_INVALID, "a device names something that is not there");
    for (int e = 0; e < PROBLEM_MAX_SHARE; e++)
        if (d->jobs[e] >= p->job_count ||
            (e > 0 && d->jobs[e] >= 0 && d->jobs[e - 1] < 0))
            return err_set(err, ERR_INVALID,
                           "a device names something that is not there");
    type = p->variants[d->variant].type;
    if (++t->type_use[type] > p->types[type].devices)
        return err_set(err, ERR_INVALID, "more devices of type %d than there are", type);
    meet(p, d, &company);
    if (check_members(p, d, err) < 0 || check_physical(t, d, type, err) < 0)
        return -1;
    t->watts += (double)company.watts;
    for (int e = 0; e < company.count; e++)
        if (count_member(t, d, e, &company, err) < 0)
            return -1;
    return 0;
}

static int count_job(struct solution_tally *t, int j, struct err *err)
{
    const struct problem *p = t->p;
    const struct problem_job *job = &p->jobs[j];
    const struct problem_class *c = &p->classes[job->class_id];
    struct job_tally *tally = &t->jobs[j];
    double factor = tally->spread ? c->spread : 1;
    bool running = false;

    for (int e = 0; e < c->devices; e++)
        running = running || p->now[job->first_task + e] >= 0;
    if (t->s->state[j] != SOLUTION_SERVED) {
        if (job->pinned && running)
            return err_set(err, ERR_INVALID, "job %d is pinned but was stopped", j);
        t->unserved++;
        t->cost += job->penalty;
        return 0;
    }
    if (tally->tasks != c->devices)
        return err_set(err, ERR_INVALID, "job %d has %d devices of %d", j, tally->tasks,
                       c->devices);
    if (tally->margin * factor < job->need * (1 - 1e-4))
        return err_set(err, ERR_INVALID, "job %d gets %.4f of its need", j,
                       tally->margin * factor / job->need);
    if (running && tally->moved > 0) {
        if (job->pinned)
            return err_set(err, ERR_INVALID, "job %d is pinned but was moved", j);
        t->moves++;
    }
    t->progress += c->progress * tally->rate * factor;
    return 0;
}

static int count_nodes(struct solution_tally *t, struct err *err)
{
    const struct problem *p = t->p;

    for (int n = 0; n < p->node_count; n++) {
        const struct problem_node *node = &p->nodes[n];

        if (!t->s->awake[n]) {
            if (!p->sleep || !node->may_sleep)
                return err_set(err, ERR_INVALID, "node %d may not sleep", n);
            t->watts += node->sleep_watts;
            continue;
        }
        t->watts += node->host_watts;
        if (!node->awake)
            t->cost += node->wake_watts;
        for (int d = node->first_device; d < node->first_device + node->device_count; d++)
            if (t->device_use[d] == 0)
                t->watts += p->types[p->devices[d].type].idle_watts;
    }
    return 0;
}

static bool close_to(double a, double b)
{
    return fabs(a - b) <= 1e-4 * (fabs(a) + fabs(b)) + 1e-2;
}

static int check_figures(struct solution_tally *t, struct err *err)
{
    const struct solution *s = t->s;

    t->cost += t->watts - t->progress + t->p->move_watts * t->moves;
    if (s->unserved != t->unserved || s->moves != t->moves)
        return err_set(err, ERR_FORMAT, "%d unserved and %d moves, not %d and %d",
                       t->unserved, t->moves, s->unserved, s->moves);
    if (!close_to(s->watts, t->watts) || !close_to(s->progress, t->progress) ||
        !close_to(s->cost, t->cost))
        return err_set(err, ERR_FORMAT,
                       "cost %.3f, watts %.3f, progress %.3f, not %.3f, %.3f, %.3f",
                       t->cost, t->watts, t->progress, s->cost, s->watts, s->progress);
    if (s->bound > s->cost + 1e-4 * fabs(s->cost) + 1e-2)
        return err_set(err, ERR_FORMAT, "bound %.3f is above the cost %.3f", s->bound,
                       s->cost);
    return 0;
}

int check_solution(const struct problem *p, const struct solution *s, struct err *err)
{
    struct solution_tally t = {.p = p, .s = s};
    int rc = -1;

    t.jobs = mem_array(struct job_tally, (size_t)p->job_count);
    t.type_use = mem_array(int, (size_t)p->type_count);
    t.device_use = mem_array(int, (size_t)p->device_count);
    for (int j = 0; j < p->job_count; j++)
        t.jobs[j] = (struct job_tally){.node = -1, .rate = INFINITY, .margin = INFINITY};
    for (int d = 0; d < s->device_count; d++)
        if (count_device(&t, &s->devices[d], err) < 0)
            goto done;
    for (int j = 0; j < p->job_count; j++)
        if (count_job(&t, j, err) < 0)
            goto done;
    if (count_nodes(&t, err) < 0 || check_figures(&t, err) < 0)
        goto done;
    rc = 0;
done:
    free(t.jobs);
    free(t.type_use);
    free(t.device_use);
    return rc;
}
