/* prior.c - first guesses without networks: datasheet.c and feedback.c correct them */
#include "lab/policy/prior.h"

#include "world/power.h"

#include <math.h>

/* Share of the peak a training step reaches when nothing is known: the middle of what
 * published roofline studies show for mixed models. */
#define TYPICAL_EFFICIENCY 0.3
/* People ask for about half of what a middling GPU gives. */
#define TYPICAL_REQUEST  0.5
#define TYPICAL_RELATIVE 0.6
#define TYPICAL_BUSY     0.6
/* The speed below is in units of a card with these figures. */
#define UNIT_TFLOPS 10.0
#define UNIT_GBS    600.0

/* One number for how fast a GPU is: training leans on arithmetic and on bandwidth alike.
 */
static double speed_of(const struct gpu_sheet *gpu)
{
    return sqrt(gpu->fp32_tflops / UNIT_TFLOPS * gpu->bandwidth_gbs / UNIT_GBS);
}

struct prior prior_make(const struct gpu_sheet *types, int type_count)
{
    double sum = 0;

    for (int t = 0; t < type_count; t++)
        sum += log(speed_of(&types[t]));
    return (struct prior){
        .types = types, .type_count = type_count, .middle_speed = exp(sum / type_count)};
}

double prior_log_rate(const struct prior *p, const struct job *job, int type)
{
    const struct job_descriptor *d = &job->descriptor;
    double speed = speed_of(&p->types[type]);

    if (d->gmac_per_sample > 0) {
        /* Two operations a multiply-add; a training step costs three forward passes. */
        double passes = job->kind == JOB_TRAINING ? 3 : 1;
        double work = 2e9 * passes * d->gmac_per_sample * fmax(1, d->batch);

        return log(job->devices * speed * UNIT_TFLOPS * 1e12 * TYPICAL_EFFICIENCY / work);
    }
    if (job->need.rate > 0)
        return log(job->need.rate / TYPICAL_REQUEST * speed / p->middle_speed);
    return log(speed);
}

double prior_log_relative(void)
{
    return log(TYPICAL_RELATIVE);
}

static struct power_capped under_cap(const struct prior *p,
                                     const struct combination *where)
{
    double busy = 1 - pow(1 - TYPICAL_BUSY, where->count);

    return power_under_cap(&p->types[where->type], busy, where->cap_watts);
}

double prior_watts(const struct prior *p, const struct combination *where)
{
    return under_cap(p, where).watts;
}

double prior_cap_speed(const struct prior *p, const struct combination *where)
{
    return under_cap(p, where).speed;
}

double prior_fits(const struct prior *p, const struct combination *where)
{
    double known_gb = 0;
    bool all_known = true;

    for (int i = 0; i < where->count; i++) {
        known_gb += where->members[i].job->memory_gb;
        all_known = all_known && where->members[i].job->memory_gb > 0;
    }
    if (known_gb > p->types[where->type].memory_gb)
        return 0;
    return all_known ? 1 : where->count == 1 ? 0.97 : 0.9;
}

/* A window of a service as sure as this counts in full. */
#define SURE_SD 0.1

double prior_weight(const struct observation *seen, double surprise)
{
    double sd = seen->rate_sd_log;

    if (seen->floor)
        return surprise > 0 ? 1 : 0;
    return sd > SURE_SD ? SURE_SD * SURE_SD / (sd * sd) : 1;
}
