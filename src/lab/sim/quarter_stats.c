/* quarter_stats.c - see quarter_stats.h */
#include "lab/sim/quarter_stats.h"

#include "lab/sim/sim_private.h"

#include <math.h>

double quarter_wh_per_work(const struct quarter *q)
{
    return q->work_h > 0 ? q->energy_j / 3600 / q->work_h : NAN;
}

double quarter_sla_time(const struct quarter *q)
{
    return q->counted_s > 0 ? 1 - q->violated_s / q->counted_s : NAN;
}

double quarter_error_percent(const struct quarter *q)
{
    return q->sights > 0 ? 100 * (exp(q->log_error / q->sights) - 1) : NAN;
}

void quarters_init(struct quarters *q, const struct workload *w)
{
    double first_s = w->count ? w->requests[0].job.submitted_s : 0;
    double last_s = w->count ? w->requests[w->count - 1].job.submitted_s : 0;

    *q = (struct quarters){0};
    for (int i = 0; i < QUARTERS; i++)
        q->borders_s[i] = first_s + (last_s - first_s) * (i + 1) / QUARTERS;
    q->borders_s[QUARTERS - 1] = last_s; /* exactly: that arrival is after the border */
}

/* All of the run up to now, as if every book were closed this moment. */
static struct quarter whole_run(struct sim *sim)
{
    struct quarter all = {.seconds = sim->now_s,
                          .energy_j = meter_peek(sim->meter, sim->now_s).total_j};

    for (size_t i = 0; i < sim->arrived + sim->replicas.count; i++) {
        /* A copy: booking would move roundings. */
        struct sim_job job =
            i < sim->arrived ? sim->jobs[i] : *sim_replica_job(sim, i - sim->arrived);

        if (job.end == SIM_RUNNING || job.end == SIM_WAITING)
            sim_book_job(sim, &job);
        all.work_h += job.work_h;
        all.counted_s += job.result.counted_s;
        all.violated_s += job.result.violated_s;
        all.moves += job.result.moves;
    }
    return all;
}

static void close_part(struct sim *sim)
{
    struct quarters *q = &sim->quarters;
    struct quarter now = whole_run(sim), *part = &q->parts[q->open];

    part->seconds = now.seconds - q->before.seconds;
    part->energy_j = now.energy_j - q->before.energy_j;
    part->work_h = now.work_h - q->before.work_h;
    part->counted_s = now.counted_s - q->before.counted_s;
    part->violated_s = now.violated_s - q->before.violated_s;
    part->moves = now.moves - q->before.moves;
    q->before = now;
}

void quarters_reach(struct sim *sim, double at_s)
{
    struct quarters *q = &sim->quarters;

    while (q->open < QUARTERS && q->borders_s[q->open] <= at_s) {
        sim->now_s = q->borders_s[q->open];
        close_part(sim);
        q->open++;
    }
}

void quarters_end(struct sim *sim)
{
    close_part(sim);
}

void quarters_sight(struct quarters *q, double abs_log_error)
{
    q->parts[q->open].sights++;
    q->parts[q->open].log_error += abs_log_error;
}
