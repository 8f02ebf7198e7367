/* advice.c - cmd_advise.c hands over a sweep; the numbers go to advice_words.c */
#include "lab/advise/advice.h"

#include "base/mem.h"
#include "lab/advise/advice_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HOUR_S 3600.0
#define DAY_S  86400.0

/* One user's sums in one draw. */
struct user_sums {
    double took_was_s, took_s; /* from submission to end */
    double joules_was, joules;
    double wait_s;
    double counted_was_s, violated_was_s, counted_s, violated_s;
};

static void add_draw(struct user_sums *sums, const struct slurm *slurm,
                     const struct real_schedule *real, const struct sim_result *was,
                     const struct sim_result *corgi)
{
    for (size_t i = 0; i < slurm->arrivals.count; i++) {
        const struct arrival *a = &slurm->arrivals.items[i];
        const struct sim_job_result *before = &was->job_results[i];
        const struct sim_job_result *after = &corgi->job_results[i];
        struct user_sums *u = &sums[a->owner];

        u->joules_was += before->joules;
        u->joules += after->joules;
        u->counted_was_s += before->counted_s;
        u->violated_was_s += before->violated_s;
        u->counted_s += after->counted_s;
        u->violated_s += after->violated_s;
        u->wait_s += isnan(after->wait_s) ? 0 : after->wait_s;
        if (isnan(after->end_s)) /* refused: nothing to compare */
            continue;
        u->took_was_s += real->stays[i].end_s - a->at_s;
        u->took_s += after->end_s - a->at_s;
    }
}

static double percent_less(double was, double now)
{
    return was > 0 ? 100 * (1 - now / was) : 0;
}

static double percent_of(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static int by_gpu_hours(const void *a, const void *b)
{
    const struct advice_user *x = a, *y = b;

    if (x->gpu_h != y->gpu_h)
        return x->gpu_h > y->gpu_h ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void count_jobs(struct advice_user *users, const struct slurm *slurm,
                       const struct real_schedule *real)
{
    for (size_t i = 0; i < slurm->arrivals.count; i++) {
        const struct arrival *a = &slurm->arrivals.items[i];
        struct advice_user *u = &users[a->owner];

        u->jobs++;
        u->gpu_h += a->devices * a->duration_s / HOUR_S;
        u->wait_was_h += (real->stays[i].start_s - a->at_s) / HOUR_S;
    }
}

static void compare_users(struct advice *advice, const struct slurm *slurm,
                          const struct real_schedule *real)
{
    const struct sweep_row *was = &advice->sweep->rows[0], *corgi = was + 1;
    size_t count = (size_t)intern_count(slurm->jobs.users), draws = (size_t)corgi->seeds;
    struct user_sums *sums = mem_array(struct user_sums, count);
    double *sooner = mem_array(double, count *draws),
           *saved = mem_array(double, count *draws);
    struct advice_user *users = mem_array(struct advice_user, count);

    count_jobs(users, slurm, real);
    for (size_t d = 0; d < draws; d++) {
        memset(sums, 0, count * sizeof(*sums));
        add_draw(sums, slurm, real, &was->runs[d], &corgi->runs[d]);
        for (size_t u = 0; u < count; u++) {
            const struct user_sums *s = &sums[u];
            double jobs = users[u].jobs ? (double)users[u].jobs : 1;

            sooner[u * draws + d] = percent_less(s->took_was_s, s->took_s);
            saved[u * draws + d] = percent_less(s->joules_was, s->joules);
            users[u].wait_h += s->wait_s / HOUR_S / jobs / (double)draws;
            users[u].kwh_was += s->joules_was / 3.6e6 / (double)draws;
            users[u].broken_was +=
                percent_of(s->violated_was_s, s->counted_was_s) / (double)draws;
            users[u].broken += percent_of(s->violated_s, s->counted_s) / (double)draws;
        }
    }
    for (size_t u = 0; u < count; u++) {
        users[u].name = intern_name(slurm->jobs.users, (int)u);
        users[u].wait_was_h /= users[u].jobs ? (double)users[u].jobs : 1;
        users[u].sooner = sweep_mean_of(&sooner[u * draws], (int)draws);
        users[u].saved = sweep_mean_of(&saved[u * draws], (int)draws);
    }
    qsort(users, count, sizeof(*users), by_gpu_hours);
    while (count > 0 && users[count - 1].jobs == 0) /* none of the time asked for */
        count--;
    advice->users = users;
    advice->user_count = count;
    free(sums);
    free(sooner);
    free(saved);
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
        if (job->gpu_use >= ADVICE_HARDLY_USED && job->unused_gpus == 0)
            continue;
        u->jobs++;
        u->use += 100 * job->gpu_use * devices * hours;
        u->gpu_h += devices * hours;
        u->unused_gpu_h += fmin(job->unused_gpus, devices) * hours;
    }
    for (size_t u = 0; u < count; u++) {
        if (idle[u].jobs == 0)
            continue;
        idle[u].name = intern_name(slurm->jobs.users, (int)u);
        idle[u].use /= idle[u].gpu_h;
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
    compare_users(&made, slurm, real);
    list_idle(&made, slurm);
    real_schedule_destroy(real);
    *advice = made;
    return 0;
}

void advice_fini(struct advice *advice)
{
    free(advice->users);
    free(advice->idle);
    *advice = (struct advice){0};
}
