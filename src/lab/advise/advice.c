/* advice.c - cmd_advise.c hands over a sweep; the numbers go to advice_words.c */
#include "lab/advise/advice.h"

#include "base/mem.h"
#include "lab/advise/advice_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HOUR_S 3600.0
#define DAY_S  86400.0

static int owner_of(const void *ctx, size_t job, const struct sim_job_result *result)
{
    const struct slurm *slurm = ctx;

    (void)result;
    return slurm->arrivals.items[job].owner;
}

static const char *owner_name(const void *ctx, int owner)
{
    const struct slurm *slurm = ctx;

    return intern_name(slurm->jobs.users, owner);
}

static int day_of(const void *ctx, size_t job, const struct sim_job_result *result)
{
    const struct slurm *slurm = ctx;

    (void)result;
    return (int)(slurm->arrivals.items[job].at_s / DAY_S);
}

static const char *no_name(const void *ctx, int day)
{
    (void)ctx;
    (void)day;
    return "";
}

static int by_number(const void *a, const void *b)
{
    const struct gains_group *x = a, *y = b;

    return (x->number > y->number) - (x->number < y->number);
}

/* As it ran is the first row of the sweep, Corgi the second. */
static void compare(struct advice *advice, const struct slurm *slurm,
                    const struct real_schedule *real)
{
    const struct arrivals *arrivals = &slurm->arrivals;
    struct gains_question q = {.was = &advice->sweep->rows[0],
                               .now = &advice->sweep->rows[1],
                               .groups = (size_t)intern_count(slurm->jobs.users),
                               .group = owner_of,
                               .name = owner_name,
                               .ctx = slurm,
                               .real = real};

    advice->users = gains_of(&q, &advice->user_count);
    q.group = day_of;
    q.name = no_name;
    q.groups = (size_t)(arrivals->items[arrivals->count - 1].at_s / DAY_S) + 1;
    advice->by_day = gains_of(&q, &advice->day_count);
    if (advice->day_count > 0)
        qsort(advice->by_day, advice->day_count, sizeof(*advice->by_day), by_number);
    advice->first_s = slurm->first_s;
}

static int by_idle_hours(const void *a, const void *b)
{
    const struct advice_idle *x = a, *y = b;

    if (x->gpu_h != y->gpu_h)
        return x->gpu_h > y->gpu_h ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* As operators know it from job_defense_shield: by user and GPU-hours. */
static void list_idle(struct advice *advice, const struct slurm *slurm)
{
    size_t count = (size_t)intern_count(slurm->jobs.users), kept = 0;
    struct advice_idle *idle = mem_array(struct advice_idle, count);

    for (size_t i = 0; i < slurm->jobs.count; i++) {
        const struct slurm_job *job = &slurm->jobs.jobs[i];
        struct advice_idle *u = &idle[job->arrival.owner];
        double hours = job->arrival.duration_s / HOUR_S;
        int devices = job->arrival.devices;

        if (isnan(job->gpu_use))
            continue;
        u->counted++;
        if (job->gpu_use >= JOBSTATS_HARDLY_USED && job->unused_gpus == 0)
            continue;
        u->jobs++;
        u->use += 100 * job->gpu_use * devices * hours;
        u->gpu_h += devices * hours;
        u->unused_gpu_h += fmin(job->unused_gpus, devices) * hours;
        u->held_gb += isnan(job->gpu_gb) ? 0 : job->gpu_gb;
        u->held_jobs += !isnan(job->gpu_gb);
    }
    for (size_t u = 0; u < count; u++) {
        if (idle[u].jobs == 0)
            continue;
        idle[u].name = intern_name(slurm->jobs.users, (int)u);
        idle[u].use /= idle[u].gpu_h;
        idle[u].held_gb =
            idle[u].held_jobs > 0 ? idle[u].held_gb / (double)idle[u].held_jobs : NAN;
        idle[kept++] = idle[u];
    }
    if (kept > 0)
        qsort(idle, kept, sizeof(*idle), by_idle_hours);
    advice->idle = idle;
    advice->idle_count = kept;
}

int advice_init(struct advice *advice, const struct sweep *sweep,
                const struct sweep_options *options, struct err *err)
{
    const struct slurm *slurm = options->scenario.slurm;
    struct real_schedule *real;
    struct advice made = {.sweep = sweep};

    if (advice_measure_fit(&made.fit, sweep, options, err) < 0)
        return -1;
    real = real_schedule_create(slurm, slurm->cluster);
    for (size_t i = 0; i < real->count; i++)
        made.days = fmax(made.days, real->stays[i].end_s / DAY_S);
    compare(&made, slurm, real);
    list_idle(&made, slurm);
    real_schedule_destroy(real);
    *advice = made;
    return 0;
}

void advice_fini(struct advice *advice)
{
    free(advice->users);
    free(advice->by_day);
    free(advice->idle);
    *advice = (struct advice){0};
}
