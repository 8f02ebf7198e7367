/* round_snapshot.c - see round_snapshot.h */
#include "loop/round_snapshot.h"

#include "base/map.h"
#include "base/mem.h"
#include "loop/cluster.h"
#include "loop/optimize/plan.h"
#include "loop/loop_private.h"

#include <stdlib.h>
#include <string.h>

struct round_snapshot {
    double now_s;
    struct optimize_settings settings;
    struct cluster *cluster;
    size_t count, waiting;
    struct job_status *jobs;          /* (count) copies, in order of admission */
    const struct job_status **listed; /* (count) pointers to them */
    struct plan plan;
};

struct waiting {
    const struct job_status *status;
    size_t at; /* place in the order of admission */
};

static int by_priority(const void *a, const void *b)
{
    const struct waiting *x = a, *y = b;

    if (x->status->job.priority != y->status->job.priority)
        return x->status->job.priority > y->status->job.priority ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Which of the input's jobs go into the copy: chosen (job_count); how many of them wait
 * and how many run. */
static size_t choose(const struct optimize_input *in, size_t most, bool *chosen,
                     size_t *running)
{
    struct waiting *waiting = mem_array(struct waiting, in->job_count + 1);
    size_t count = 0;

    for (size_t i = 0; i < in->job_count; i++) {
        if (in->jobs[i]->state == JOB_RUNNING)
            chosen[i] = true;
        else
            waiting[count++] = (struct waiting){in->jobs[i], i};
    }
    *running = in->job_count - count;
    if (count > most) {
        qsort(waiting, count, sizeof(*waiting), by_priority);
        count = most;
    }
    for (size_t i = 0; i < count; i++)
        chosen[waiting[i].at] = true;
    free(waiting);
    return count;
}

struct round_snapshot *round_snapshot_create(struct loop *loop, double now_s, size_t most)
{
    struct optimize_input in = loop_input(loop, now_s);
    struct round_snapshot *d = mem_new(struct round_snapshot);
    bool *chosen = mem_array(bool, in.job_count + 1);
    size_t running;

    d->now_s = now_s;
    d->settings = loop->settings;
    d->cluster = cluster_dup(loop->cluster);
    d->waiting = choose(&in, most, chosen, &running);
    d->jobs = mem_array(struct job_status, d->waiting + running + 1);
    d->listed = mem_array(const struct job_status *, d->waiting + running + 1);
    for (size_t i = 0; i < in.job_count; i++) {
        if (!chosen[i])
            continue;
        d->jobs[d->count] = *in.jobs[i];
        d->listed[d->count] = &d->jobs[d->count];
        d->count++;
    }
    free(chosen);
    return d;
}

void round_snapshot_destroy(struct round_snapshot *d)
{
    if (!d)
        return;
    cluster_destroy(d->cluster);
    plan_fini(&d->plan);
    free(d->jobs);
    free(d->listed);
    free(d);
}

void round_snapshot_solve(struct round_snapshot *d, struct planner *planner,
                          struct model *model)
{
    const struct optimize_input in = {
        .now_s = d->now_s,
        .cluster = d->cluster,
        .job_count = d->count,
        .jobs = d->listed,
        .model = model,
        .settings = &d->settings,
    };

    planner->ops->plan(planner->self, &in, &d->plan);
}

/* A job the copy knows keeps the draft's seat; one it does not know stays as it is. */
static void take_seat(const struct round_snapshot *d, const struct optimize_input *in,
                      size_t i, const struct map *seats, struct plan *plan)
{
    size_t at;

    if (!map_get(seats, in->jobs[i]->job.id, &at)) {
        if (in->jobs[i]->state == JOB_RUNNING)
            plan_keep(plan, in, i);
        return;
    }
    if (d->plan.seats[at].device_count > 0)
        plan_seat(plan, i, d->plan.devices + d->plan.seats[at].first,
                  d->plan.seats[at].device_count);
    plan->seats[i].reason = d->plan.seats[at].reason;
    plan->seats[i].rate = d->plan.seats[at].rate;
    plan->seats[i].watts = d->plan.seats[at].watts;
}

/* What the draft knows, as it is now, and whoever runs besides; not all that wait, which
 * may be a hundred thousand. */
static struct optimize_input input_of(const struct round_snapshot *d, struct loop *loop,
                                      double now_s)
{
    const struct cluster *c = loop->cluster;
    struct map *listed = map_create();
    size_t known;

    vec_clear(&loop->ready);
    for (size_t i = 0; i < d->count; i++) {
        const struct job_status *status = jobs_get(loop->jobs, d->jobs[i].job.id);

        if (!status || (status->held && status->state != JOB_RUNNING))
            continue;
        vec_push(&loop->ready, status);
        map_put(listed, status->job.id, i);
    }
    for (int n = 0; n < c->device_count; n++)
        for (int k = 0; k < c->devices[n].job_count; k++) {
            uint64_t id = c->devices[n].jobs[k];

            if (map_get(listed, id, &known))
                continue;
            vec_push(&loop->ready, jobs_get(loop->jobs, id));
            map_put(listed, id, 0);
        }
    map_destroy(listed);
    return loop_input_of_ready(loop, now_s);
}

int round_snapshot_apply(struct round_snapshot *d, struct loop *loop, double now_s,
                         const struct action **actions, size_t *count, struct err *err)
{
    struct optimize_input in = input_of(d, loop, now_s);
    struct plan *plan = &loop->plan;
    struct map *seats = map_create();

    for (size_t i = 0; i < d->plan.seat_count; i++)
        map_put(seats, d->plan.seats[i].job, i);
    plan_reset(plan, &in);
    for (size_t i = 0; i < in.job_count; i++)
        take_seat(d, &in, i, seats, plan);
    map_destroy(seats);
    memcpy(plan->cap_watts, d->plan.cap_watts,
           (size_t)in.cluster->device_count * sizeof(*plan->cap_watts));
    memcpy(plan->awake, d->plan.awake,
           (size_t)in.cluster->node_count * sizeof(*plan->awake));
    plan->cost_watts = d->plan.cost_watts;
    plan->bound_watts = d->plan.bound_watts;
    return loop_carry_out(loop, &in, actions, count, err);
}

size_t round_snapshot_waiting(const struct round_snapshot *d)
{
    return d->waiting;
}
