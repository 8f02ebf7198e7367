/* finish_plan.c - the last step of a solve: solve.c and update.c hand a placement on
 * types over and get a solution with its figures */
#include "lab/solver/finish_plan.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

void finish_devices(const struct search *s, struct solution *out)
{
    const struct work *w = s->w;

    for (int j = 0; j < w->p->job_count; j++)
        out->state[j] = SOLUTION_UNSERVED;
    out->device_count = 0;
    for (int r = 0; r < s->count; r++) {
        const struct search_record *rec = &s->records[r];
        struct solution_device *d = &out->devices[out->device_count];

        if (rec->type < 0)
            continue;
        *d = solution_device_of(-1, w->job[rec->task[0]], -1);
        if (rec->task[1] >= 0) {
            d->jobs[1] = w->job[rec->task[1]];
            work_pair(w, rec->type, rec->task[0], rec->task[1], &d->variant);
        } else {
            work_alone(w, rec->type, rec->task[0], &d->variant);
        }
        if (d->variant < 0) /* cannot be: it was placed there */
            abort();
        for (int e = 0; e < 2; e++)
            if (d->jobs[e] >= 0)
                out->state[d->jobs[e]] = SOLUTION_SERVED;
        out->device_count++;
    }
}

/* Leave the job out of a device; true when the device is empty then. */
static bool leave(const struct problem *p, struct solution_device *d, int job)
{
    const struct problem_type *t = &p->types[p->variants[d->variant].type];

    int kept = 0;

    for (int e = 0; e < PROBLEM_MAX_SHARE; e++)
        if (d->jobs[e] >= 0 && d->jobs[e] != job)
            d->jobs[kept++] = d->jobs[e];
    while (kept < PROBLEM_MAX_SHARE)
        d->jobs[kept++] = -1;
    d->variant = t->first_variant; /* fewer and uncapped: never slower than before */
    return d->jobs[0] < 0;
}

void finish_remove_job(const struct problem *p, struct solution *out, int job)
{
    out->state[job] = SOLUTION_UNSERVED;
    for (int i = out->device_count - 1; i >= 0; i--) {
        struct solution_device *d = &out->devices[i];

        if (solution_device_has(d, job) && leave(p, d, job))
            *d = out->devices[--out->device_count];
    }
}

struct job_figures {
    double rate; /* least of its devices */
    int node;
    bool spread, moved;
};

static bool was_on(const struct problem *p, int job, int device)
{
    int first = p->jobs[job].first_task;

    for (int e = 0; e < p->classes[p->jobs[job].class_id].devices; e++)
        if (p->now[first + e] == device)
            return true;
    return false;
}

static void add_device(const struct problem *p, const struct solution_device *d,
                       struct job_figures *jobs, struct solution *out)
{
    int count = solution_device_jobs(d);
    float rate[PROBLEM_MAX_SHARE] = {0}, watts = 0;

    problem_rates(p, d->variant, d->jobs, count, rate, &watts);
    out->watts += (double)watts;
    for (int e = 0; e < count; e++) {
        int j = d->jobs[e];
        struct job_figures *f = &jobs[j];

        f->rate = fmin(f->rate, (double)rate[e]);
        if (d->device < 0)
            continue;
        f->moved = f->moved || !was_on(p, j, d->device);
        f->spread = f->spread || (f->node >= 0 && f->node != p->devices[d->device].node);
        f->node = p->devices[d->device].node;
    }
}

static void add_jobs(const struct problem *p, const struct job_figures *jobs,
                     struct solution *out)
{
    for (int j = 0; j < p->job_count; j++) {
        const struct problem_class *c = &p->classes[p->jobs[j].class_id];

        if (out->state[j] != SOLUTION_SERVED) {
            out->unserved++;
            out->cost += p->jobs[j].penalty;
            continue;
        }
        out->progress += c->progress * jobs[j].rate * (jobs[j].spread ? c->spread : 1);
        out->moves += jobs[j].moved && p->now[p->jobs[j].first_task] >= 0;
    }
}

static void add_nodes(const struct problem *p, const bool *used, struct solution *out)
{
    for (int n = 0; n < p->node_count; n++) {
        const struct problem_node *node = &p->nodes[n];

        out->watts += out->awake[n] ? node->host_watts : node->sleep_watts;
        if (!out->awake[n])
            continue;
        out->cost += node->awake ? 0 : node->wake_watts;
        for (int d = node->first_device; d < node->first_device + node->device_count; d++)
            if (!used[d])
                out->watts += p->types[p->devices[d].type].idle_watts;
    }
}

void finish_figures(const struct problem *p, struct solution *out)
{
    struct job_figures *jobs = mem_array(struct job_figures, (size_t)p->job_count);
    bool *used = mem_array(bool, (size_t)p->device_count);

    out->cost = out->watts = out->progress = 0;
    out->unserved = out->moves = 0;
    for (int j = 0; j < p->job_count; j++)
        jobs[j] = (struct job_figures){.rate = INFINITY, .node = -1};
    for (int d = 0; d < out->device_count; d++) {
        add_device(p, &out->devices[d], jobs, out);
        if (out->devices[d].device >= 0)
            used[out->devices[d].device] = true;
    }
    add_jobs(p, jobs, out);
    add_nodes(p, used, out);
    out->cost += out->watts - out->progress + p->move_watts * out->moves;
    free(jobs);
    free(used);
}
