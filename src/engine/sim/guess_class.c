/* guess_class.c - which class of the synthetic world a job is, see state.h
 *
 * The world knows classes by invented names.  A job that names one of them is that; any
 * other is the class whose figures are nearest to what its user told, and without figures
 * one drawn by its family's name: the same family is the same class every time. */
#include "engine/sim/sim_engine_private.h"

#include "base/parse.h"
#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Efficiency lost by each doubling of devices beyond what the world's table has. */
#define DOUBLING_LOSS 0.07

static uint64_t hash_of(const char *text)
{
    uint64_t hash = 1469598103934665603u;

    for (; *text; text++)
        hash = rng_mix(hash, (uint64_t)(unsigned char)*text);
    return hash;
}

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
    return d + 1e-6 * (double)(rng_mix(hash_of(told->family), hash_of(c->name)) % 1000) +
           (told->gmac_per_sample > 0 || told->batch > 0
                ? 0
                : 1e-3 * (double)(rng_mix(hash_of(told->family), hash_of(known->family)) %
                                  1000));
}

static int base_class(const struct world *w, const struct job_descriptor *told)
{
    double best = INFINITY;
    int found = 0;

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

/* "50@0,400@600": steps in order; what cannot be read ends the list. */
static void read_demand(struct run *run, const char *text)
{
    struct demand_step step;
    int used;

    run->demand_steps = 0;
    while (run->demand_steps < SIM_ENGINE_DEMAND_STEPS &&
           sscanf(text, "%lf@%lf%n", &step.rate, &step.after_s, &used) == 2 &&
           step.rate >= 0 && step.rate <= 1e9) {
        run->demand[run->demand_steps++] = step;
        text += used;
        text += *text == ',';
    }
}

static void heed_environment(struct run *run, const char *const *env)
{
    run->exit_status = 0;
    run->speed = 1;
    run->speed_after_s = 0;
    run->demand_steps = 0;
    for (; env && *env; env++) {
        if (str_starts(*env, SIM_ENGINE_EXIT))
            parse_int(*env + strlen(SIM_ENGINE_EXIT), &run->exit_status);
        else if (str_starts(*env, SIM_ENGINE_SPEED))
            parse_double(*env + strlen(SIM_ENGINE_SPEED), &run->speed);
        else if (str_starts(*env, SIM_ENGINE_AFTER))
            parse_double(*env + strlen(SIM_ENGINE_AFTER), &run->speed_after_s);
        else if (str_starts(*env, SIM_ENGINE_DEMAND))
            read_demand(run, *env + strlen(SIM_ENGINE_DEMAND));
        else if (str_starts(*env, SIM_ENGINE_SERVICE))
            run->service = strtoull(*env + strlen(SIM_ENGINE_SERVICE), NULL, 10);
    }
    run->speed = fmin(fmax(run->speed, 1e-3), 1e3);
    run->exit_status &= 0xff;
}

void sim_engine_describe(struct sim_engine *e, struct run *run,
                         const struct engine_job *job)
{
    struct request *r = &run->request;
    int reference = request_reference_gpu(e->world);
    int base = base_class(e->world, &job->job->descriptor);
    struct rng rng;

    request_describe(r, e->world,
                     at_scale(e->world, base, job->job->devices, &run->factor), reference,
                     1);
    r->job = *job->job;
    r->base = base;
    run->service = job->job->id;
    heed_environment(run, job->env);
    r->hidden =
        rng_mix(e->options.seed, run->service); /* one program, alike everywhere */
    rng_init(&rng, r->hidden);
    r->phase = rng_range(&rng, 0, 2 * M_PI);
    r->peak_rate = job->job->need.rate > 0 ? job->job->need.rate : r->reference_rate / 2;
    r->steps = job->job->total_steps;
    if (r->job.kind == JOB_TRAINING && !(r->steps > 0))
        r->steps = r->reference_rate * rng_log_range(&rng, 600, 7200);
    run->total = r->job.kind == JOB_TRAINING ? r->steps : 0;
    run->ends_s = INFINITY;
    run->known = true;
}
