/* preview_world.c - the world a preview is played in: policy_preview.c asks for it once,
 * and the simulated engine plays it
 *
 * A kind is all jobs of one user that were told alike; one of them speaks for the others.
 * Of each kind the model says how fast it runs on every type, alone and beside every
 * other, and what it draws. */
#include "service/preview_private.h"

#include "base/mem.h"
#include "loop/estimate/predict.h"
#include "world/power.h"

#include <math.h>
#include <string.h>

/* The tables grow with the square of the kinds: jobs of more than so many are left out.
 */
#define KINDS_MAX 256
/* And pairs are asked for one by one: only so many kinds share devices. */
#define KINDS_SHARING 48

static bool alike(const struct job *a, const struct job *b)
{
    return a->owner == b->owner && a->kind == b->kind && a->devices == b->devices &&
           a->memory_gb == b->memory_gb &&
           !strcmp(a->descriptor.family, b->descriptor.family) &&
           a->descriptor.model == b->descriptor.model &&
           a->descriptor.batch == b->descriptor.batch &&
           a->descriptor.gmac_per_sample == b->descriptor.gmac_per_sample &&
           a->descriptor.params_millions == b->descriptor.params_millions;
}

/* The kind of each job in this state: that of the first like it, or a new one. */
static void number(struct preview_inside *in, enum job_state state)
{
    for (size_t i = 0; i < in->count; i++) {
        const struct job *job = &in->jobs[i].was.job;
        int k = 0;

        if (in->jobs[i].was.state != state)
            continue;
        while (k < in->kinds && !alike(job, &in->speaker[k]))
            k++;
        if (k == in->kinds && in->kinds < KINDS_MAX)
            in->speaker[in->kinds++] = *job;
        in->jobs[i].cls = k < in->kinds ? k : -1;
    }
}

int preview_kinds(struct preview_inside *in)
{
    size_t kept = 0, count = in->count;

    in->speaker = mem_array(struct job, KINDS_MAX);
    number(in, JOB_RUNNING); /* these first: their devices are taken */
    number(in, JOB_WAITING);
    for (size_t i = 0; i < count; i++)
        if (in->jobs[i].cls >= 0)
            in->jobs[kept++] = in->jobs[i];
    in->count = kept;
    return (int)(count - kept);
}

static struct combination together(int type, const struct job *a, const struct job *b)
{
    struct combination c = {.type = type, .count = b ? 2 : 1};

    c.members[0] = (struct member){.job = a, .nodes = 1};
    if (b)
        c.members[1] = (struct member){.job = b, .nodes = 1};
    return c;
}

static void fill_alone(struct world *w, const struct model *model, int type, int kind,
                       const struct job *job)
{
    struct combination where = together(type, job, NULL);
    struct prediction p;

    predict(model, &where, &p);
    if (!(p.rate[0].value > PREDICT_LEAST))
        return;
    *world_alone(w, type, kind) = (float)p.rate[0].value;
    *world_spread(w, type, kind) = (float)p.rate[0].value;
    *world_busy(w, type, kind) = (float)power_busy(&w->gpus[type], p.watts.value);
}

static void fill_pair(struct world *w, const struct model *model, int type, int a, int b,
                      const struct job *first, const struct job *second)
{
    struct combination where = together(type, first, second);
    double alone_a = *world_alone(w, type, a), alone_b = *world_alone(w, type, b);
    struct prediction p;

    if (!(alone_a > 0) || !(alone_b > 0) || first->devices > 1 || second->devices > 1)
        return;
    predict(model, &where, &p);
    if (p.fits < PREDICT_FITS_LEAST)
        return;
    *world_beside(w, type, a, b) = (float)fmin(1, fmax(0.01, p.rate[0].value / alone_a));
    *world_beside(w, type, b, a) = (float)fmin(1, fmax(0.01, p.rate[1].value / alone_b));
}

static void describe(struct preview_job *j, const struct world *w)
{
    const struct job_status *was = &j->was;
    double asked = isfinite(was->demand) ? was->demand : was->required_rate;

    j->demand = (struct request_step){.after_s = 0, .rate = fmax(asked, 1e-6)};
    j->request = (struct sim_request){.job = was->job,
                                      .cls = j->cls,
                                      .base = j->cls,
                                      .hidden = was->job.id,
                                      .reference_rate = *world_alone(w, 0, j->cls)};
    if (was->job.kind == JOB_INFERENCE) {
        j->request.demand = &j->demand;
        j->request.demand_steps = 1;
        j->request.peak_rate = j->demand.rate;
        j->request.serve_s = was->job.duration_s;
    } else {
        /* Nobody knows how long such a one runs: longer than a preview. */
        j->request.steps = was->job.total_steps > 0
                               ? fmax(1, was->job.total_steps - was->steps_done)
                               : 1e15;
    }
}

void preview_world(struct preview_inside *in, const struct model *model)
{
    int types = in->cluster->type_count;
    struct world *w = world_create(types, in->kinds > 0 ? in->kinds : 1);

    memcpy(w->gpus, in->cluster->types, (size_t)types * sizeof(*w->gpus));
    for (int t = 0; t < types; t++) {
        for (int k = 0; k < in->kinds; k++)
            fill_alone(w, model, t, k, &in->speaker[k]);
        for (int a = 0; a < in->kinds && a < KINDS_SHARING; a++)
            for (int b = a; b < in->kinds && b < KINDS_SHARING; b++)
                fill_pair(w, model, t, a, b, &in->speaker[a], &in->speaker[b]);
    }
    for (int k = 0; k < in->kinds; k++) {
        w->classes[k].scale = in->speaker[k].devices;
        w->classes[k].descriptor = in->speaker[k].descriptor;
    }
    for (size_t i = 0; i < in->count; i++)
        describe(&in->jobs[i], w);
    in->world = w;
}
