/* slurm_like.c - the user names a GPU type, the scheduler finds a free one of it
 *
 * A user who knows what to expect names the slowest type that gives a tenth more than
 * needed and is surely enough, the fastest when none does, and never changes it.  A
 * blocked head of the queue does not hold up jobs that ask for another type.  Told rates
 * when a job comes; no sharing, no moves, no caps; idle nodes sleep. */
#include "base/map.h"
#include "base/mem.h"
#include "loop/estimate/predict.h"
#include "lab/policy/in_order.h"
#include "lab/policy/policy.h"

#include <stdlib.h>

/* Users ask for a little more than they need. */
#define USERS_MARGIN 1.1

struct slurm_like {
    void *order;
    struct map *named; /* job -> type its user has named */
};

static void *create(uint64_t seed)
{
    struct slurm_like *s = mem_new(struct slurm_like);

    s->order = in_order_create(seed);
    s->named = map_create();
    return s;
}

static void destroy(void *self)
{
    struct slurm_like *s = self;

    in_order_destroy(s->order);
    map_destroy(s->named);
    free(s);
}

static int name_type(const struct optimize_input *in, const struct job_status *job)
{
    double needed = in_order_needed(in, job), slow = 0, fast = 0;
    int slowest = -1, fastest = 0;

    for (int t = 0; t < in->cluster->type_count; t++) {
        struct prediction p = predict_alone_now(in->model, job, t);
        double rate = p.rate[0].value;

        if (p.fits < PREDICT_FITS_LEAST ||
            (job->job.types_allowed && !(job->job.types_allowed & (uint64_t)1 << t)))
            continue;
        if (rate > fast) {
            fast = rate;
            fastest = t;
        }
        if (rate >= USERS_MARGIN * needed &&
            estimate_at_confidence(&p.rate[0], in->settings->confidence) >= needed &&
            (slowest < 0 || rate < slow)) {
            slow = rate;
            slowest = t;
        }
    }
    return slowest >= 0 ? slowest : fastest;
}

static int named_type(struct slurm_like *s, const struct optimize_input *in,
                      const struct job_status *job)
{
    size_t type;

    if (!map_get(s->named, job->job.id, &type)) {
        type = (size_t)name_type(in, job);
        map_put(s->named, job->job.id, type);
    }
    return (int)type;
}

static bool score(void *ctx, const struct occupancy *o, const struct optimize_input *in,
                  const struct job_status *job, int device, double *out)
{
    struct slurm_like *s = ctx;

    if (o->counts[device] > 0 ||
        in->cluster->devices[device].type != named_type(s, in, job))
        return false;
    *out = in_order_preference(o, in, device);
    return true;
}

/* A job that ran out of memory comes back with a type it is believed to fit. */
static void correct_names(struct slurm_like *s, const struct optimize_input *in)
{
    for (size_t i = 0; i < in->job_count; i++)
        if (in->jobs[i]->restarts > 0 && in->jobs[i]->state == JOB_WAITING)
            map_remove(s->named, in->jobs[i]->job.id);
}

static void plan(void *self, const struct optimize_input *in, struct plan *out)
{
    struct slurm_like *s = self;

    correct_names(s, in);
    in_order_plan(s->order, in, out,
                  &(struct in_order_rules){.score = score, .ctx = s, .backfill = true});
}

const struct planner_ops policy_slurm_like_ops = {
    .name = "slurm-like",
    .create = create,
    .plan = plan,
    .destroy = destroy,
};
