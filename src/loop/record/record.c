/* record.c - a measurement becomes an observation: loop_measure() brings what an engine
 * or a probe told, refine/ gets what was seen, in its context */
#include "loop/record/record.h"

#include "loop/cluster.h"
#include "loop/recent_rate.h"
#include "loop/requirement.h"

#include <math.h>

/* Noise of the log rate of a one-minute window on a busy machine, and what no length
 * cures. */
#define NOISE_OF_A_MINUTE 0.05
#define NOISE_FLOOR       0.01
#define RATE_MAX          1e9
#define WATTS_MAX         1e5

/* No device does a step in less work than this.  An engine sees work in ticks of so
 * much: a job it saw nothing of may have done that. */
#define STEP_WORK_S 1e-7
#define TICK_S      0.01

static int check_numbers(const struct measurement *m, struct err *err)
{
    if (!isfinite(m->at_s) || !(m->window_s > 0) || !isfinite(m->window_s))
        return err_set(err, ERR_INVALID, "a measurement needs a time and a window > 0 s");
    if (m->out_of_memory)
        return 0;
    /* A service that has requests inside and answers none tells something too. */
    if (!(m->rate > 0 || (m->rate >= 0 && m->held > 0)) || m->rate > RATE_MAX)
        return err_set(err, ERR_INVALID, "rate %g is not a positive rate", m->rate);
    if (!isnan(m->device_watts) &&
        (!(m->device_watts > 0) || m->device_watts > WATTS_MAX))
        return err_set(err, ERR_INVALID, "%g W is not the draw of a device",
                       m->device_watts);
    return 0;
}

/* What the model learns of: the rate a job has when it works all the time.  Of a service
 * that is inferred from all its windows here. */
static void fill_rate(const struct measurement *m, const struct job_status *status,
                      struct observation *out)
{
    struct service_capacity can;

    out->rate = m->rate;
    out->rate_sd_log = NOISE_FLOOR + NOISE_OF_A_MINUTE / sqrt(m->window_s / 60);
    if (status->job.kind != JOB_INFERENCE || m->out_of_memory)
        return;
    can = services_capacity(&status->pace.serving);
    out->rate = can.rate;
    out->rate_sd_log = can.sd_log;
    out->floor = can.floor;
}

/* Of a gang, the device with most neighbours sets the pace. */
static int pacing_device(const struct job_status *status, const struct cluster *cluster)
{
    int device = status->devices[0];

    for (int i = 1; i < status->device_count; i++)
        if (cluster->devices[status->devices[i]].job_count >
            cluster->devices[device].job_count)
            device = status->devices[i];
    return device;
}

static int fill_combination(const struct job_status *status, struct jobs *jobs,
                            const struct cluster *cluster, struct combination *where)
{
    const struct device *d = &cluster->devices[pacing_device(status, cluster)];
    int subject = 0;

    where->type = d->type;
    where->cap_watts = d->cap_watts;
    where->count = d->job_count;
    for (int i = 0; i < d->job_count; i++) {
        const struct job_status *other = jobs_get(jobs, d->jobs[i]);

        where->members[i] = (struct member){
            .job = &other->job,
            .nodes = cluster_nodes_spanned(cluster, other->devices, other->device_count),
            .demand = requirement_demand(other),
        };
        if (other == status)
            subject = i;
    }
    return subject;
}

const char *record_refusal_name(enum record_refusal refusal)
{
    static const char *const names[] = {"taken",     "not_running", "numbers",
                                        "straddles", "doubted",     "contradicted",
                                        "outside",   "overlaps",    "engine_measures"};

    return names[refusal];
}

bool record_refusal_is_false(enum record_refusal refusal)
{
    return refusal == RECORD_NUMBERS || refusal >= RECORD_CONTRADICTED;
}

enum record_refusal record_own_word(const struct measurement *m,
                                    const struct record_attempt *a, struct err *err)
{
    double from_s = m->at_s - m->window_s;

    if (a->measured) {
        err_set(err, ERR_INVALID,
                "the engine measures job %llu itself: its own samples are not needed",
                (unsigned long long)m->job);
        return RECORD_ENGINE_MEASURES;
    }
    if (!(from_s >= a->began_s - RECORD_CLOCKS_APART_S) ||
        !(m->at_s <= a->now_s + RECORD_CLOCKS_APART_S)) {
        err_set(err, ERR_INVALID,
                "a window from %.3f to %.3f is not within the attempt, which runs since "
                "%.3f; it is %.3f",
                from_s, m->at_s, a->began_s, a->now_s);
        return RECORD_OUTSIDE;
    }
    if (from_s < a->told_s - 1e-6) {
        err_set(err, ERR_INVALID,
                "a window from %.3f on overlaps the last one, which ended at %.3f",
                from_s, a->told_s);
        return RECORD_OVERLAPS;
    }
    return RECORD_TAKEN;
}

enum record_refusal record_observe(const struct measurement *m, struct jobs *jobs,
                                   const struct cluster *cluster, double stable_since_s,
                                   struct observation *seen, struct err *err)
{
    struct job_status *status = jobs_change(jobs, m->job);
    struct observation out = {.at_s = m->at_s, .device_watts = m->device_watts};

    if (!status || status->state != JOB_RUNNING) {
        err_set(err, ERR_NOT_FOUND, "job %llu is not running",
                (unsigned long long)m->job);
        return RECORD_NOT_RUNNING;
    }
    if (check_numbers(m, err) < 0)
        return RECORD_NUMBERS;
    if (m->worked_s > 0 &&
        m->rate * m->window_s * STEP_WORK_S > fmax(m->worked_s, TICK_S)) {
        err_set(err, ERR_INVALID,
                "a rate of %g/s, and only %g s of work were seen in "
                "%g s",
                m->rate, m->worked_s, m->window_s);
        return RECORD_CONTRADICTED;
    }
    if (m->doubt > RECORD_DOUBT_MOST) {
        err_set(err, ERR_INVALID, "the source is not sure enough to learn from");
        return RECORD_DOUBTED;
    }
    if (!m->out_of_memory && m->at_s - m->window_s < stable_since_s - 1e-6) {
        err_set(err, ERR_INVALID,
                "the window began before the job's devices last changed");
        return RECORD_STRADDLES;
    }
    out.subject = fill_combination(status, jobs, cluster, &out.where);
    out.memory_gb = isfinite(m->memory_gb) ? m->memory_gb : 0;
    out.out_of_memory = m->out_of_memory;
    if (!m->out_of_memory)
        recent_rate_note(status, cluster, m);
    fill_rate(m, status, &out);
    *seen = out;
    return RECORD_TAKEN;
}
