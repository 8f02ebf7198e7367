/* guess_class.c - what a job is in the synthetic world
 *
 * sim_engine.c asks at each start: from what the user told (the daemon's jobs), or from
 * what a workload knows better.
 *
 * The world knows classes by invented names.  A job called by one of them is that; any
 * other is the class whose figures are nearest to what its user told, as much faster as a
 * step of it is less work, and without figures one drawn by its family's name: the same
 * family is the same class every time. */
#include "engine/sim/sim_engine_private.h"

#include "base/hash.h"
#include "base/parse.h"
#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Efficiency lost by each doubling of devices beyond what the world's table has. */
#define DOUBLING_LOSS 0.07
/* A job is so much faster or slower than its class at most. */
#define WORK_RATIO_MOST 1e4

static double apart(double told, double known)
{
    return told > 0 && known > 0 ? fabs(log(told / known)) : 0;
}

static double distance(const struct job_descriptor *told, const struct world_class *c)
{
    const struct job_descriptor *known = &c->descriptor;
    double d = apart(told->gmac_per_sample, known->gmac_per_sample) +
               apart(told->params_millions, known->params_millions) +
               apart(told->memory_mb_per_sample, known->memory_mb_per_sample) +
               apart(told->batch, known->batch);

    if (told->family[0] && strcasecmp(told->family, known->family) == 0)
        d -= 100;
    if (told->model != MODEL_UNKNOWN && told->model != known->model)
        d += 0.3;
    /* Ties, and jobs of which nothing is told: by name, always the same way. */
    return d +
           1e-6 * (double)(rng_mix(hash_text(told->family), hash_text(c->name)) % 1000) +
           (told->gmac_per_sample > 0 || told->batch > 0
                ? 0
                : 1e-3 * (double)(rng_mix(hash_text(told->family),
                                          hash_text(known->family)) %
                                  1000));
}

static int base_class(const struct world *w, const struct job *job)
{
    const struct job_descriptor *told = &job->descriptor;
    double best = INFINITY;
    int found = world_find_class(w, job->name, 1);

    if (found >= 0)
        return found;

    for (int c = 0; c < w->class_count; c++) {
        double d = distance(told, &w->classes[c]);

        if (w->classes[c].scale != 1 || d >= best)
            continue;
        best = d;
        found = c;
    }
    return found;
}

/* The class at the job's number of devices, or at fewer; *factor makes up for it. */
static int at_scale(const struct world *w, int base, int devices, double *factor)
{
    const char *name = w->classes[base].name;

    for (int scale = devices; scale >= 1; scale--) {
        int cls = world_find_class(w, name, scale);
        double ratio = (double)devices / scale;

        if (cls < 0)
            continue;
        *factor = ratio * exp(-DOUBLING_LOSS * log2(ratio));
        return cls;
    }
    *factor = 1;
    return base;
}

/* How much faster the job is than its class, as its user tells less work a step: many
 * kinds of jobs have no class of their size here.  A service that tells no batch answers
 * one sample a request. */
static double less_work(const struct job *job, const struct job_descriptor *known)
{
    const struct job_descriptor *told = &job->descriptor;
    double batch = told->batch > 0              ? told->batch
                   : job->kind == JOB_INFERENCE ? 1
                                                : known->batch;
    double least = 1 / WORK_RATIO_MOST;

    if (!(told->gmac_per_sample > 0 && known->gmac_per_sample > 0 && known->batch > 0))
        return 1;
    return fmin(
        fmax(known->gmac_per_sample * known->batch / (told->gmac_per_sample * batch),
             least),
        WORK_RATIO_MOST);
}

/* "50@0,400@600": steps in order; what cannot be read ends the list. */
static void read_demand(struct run *run, const char *text)
{
    struct sim_request *r = &run->request;
    struct request_step step;
    int used;

    r->demand = run->demand_steps;
    r->demand_steps = 0;
    while (r->demand_steps < SIM_ENGINE_DEMAND_STEPS &&
           sscanf(text, "%lf@%lf%n", &step.rate, &step.after_s, &used) == 2 &&
           step.rate >= 0 && step.rate <= 1e9) {
        run->demand_steps[r->demand_steps++] = step;
        text += used;
        text += *text == ',';
    }
}

static void serve_for(struct sim_engine *e, struct run *run, uint64_t service)
{
    if (run->service == service)
        return;
    run->service = service;
    vec_push(&e->replicas, run->request.job.id);
}

static void heed_environment(struct sim_engine *e, struct run *run,
                             const char *const *env, double grace_s)
{
    run->exit_status = 0;
    run->leave_s = 0;
    run->speed = 1;
    run->speed_after_s = 0;
    run->request.demand_steps = 0;
    run->request.steps = 0;
    for (; env && *env; env++) {
        if (str_starts(*env, SIM_ENGINE_EXIT))
            parse_int(*env + strlen(SIM_ENGINE_EXIT), &run->exit_status);
        else if (str_starts(*env, SIM_ENGINE_SPEED))
            parse_double(*env + strlen(SIM_ENGINE_SPEED), &run->speed);
        else if (str_starts(*env, SIM_ENGINE_AFTER))
            parse_double(*env + strlen(SIM_ENGINE_AFTER), &run->speed_after_s);
        else if (str_starts(*env, SIM_ENGINE_STEPS))
            parse_double(*env + strlen(SIM_ENGINE_STEPS), &run->request.steps);
        else if (str_starts(*env, SIM_ENGINE_LEAVE))
            parse_double(*env + strlen(SIM_ENGINE_LEAVE), &run->leave_s);
        else if (str_starts(*env, SIM_ENGINE_DEMAND))
            read_demand(run, *env + strlen(SIM_ENGINE_DEMAND));
        else if (str_starts(*env, SIM_ENGINE_SERVICE))
            serve_for(e, run, strtoull(*env + strlen(SIM_ENGINE_SERVICE), NULL, 10));
    }
    run->speed = fmin(fmax(run->speed, 1e-3), 1e3);
    run->leave_s = fmin(run->leave_s, grace_s);
    run->exit_status &= 0xff;
}

void sim_engine_give(struct sim_engine *e, struct run *run,
                     const struct sim_request *request)
{
    run->request = *request;
    if (request->service)
        serve_for(e, run, request->service);
    run->given = run->known = true;
    run->total = request->job.kind == JOB_TRAINING ? request->steps : 0;
}

void sim_engine_describe(struct sim_engine *e, struct run *run,
                         const struct engine_job *job)
{
    const struct world *world = e->truth.world;
    struct sim_request *r = &run->request;
    int reference = request_reference_gpu(world);
    int base = base_class(world, job->job);
    struct rng rng;
    double less;

    request_describe(r, world, at_scale(world, base, job->job->devices, &run->factor),
                     reference, 1);
    less = less_work(job->job, &world->classes[base].descriptor);
    run->factor *= less;
    r->reference_rate *= less;
    r->job = *job->job;
    r->base = base;
    heed_environment(e, run, job->env, job->stop_grace_s);
    r->hidden =
        rng_mix(e->options.seed, run->service); /* one program, alike everywhere */
    rng_init(&rng, r->hidden);
    r->phase = rng_range(&rng, 0, 2 * M_PI);
    r->peak_rate = job->job->need.rate > 0 ? job->job->need.rate : r->reference_rate / 2;
    if (!(r->steps > 0))
        r->steps = job->job->total_steps;
    if (r->job.kind == JOB_TRAINING && !(r->steps > 0))
        r->steps = r->reference_rate * rng_log_range(&rng, 600, 7200);
    r->serve_s = job->job->duration_s;
    run->total = r->job.kind == JOB_TRAINING ? r->steps : 0;
    run->known = true;
}
