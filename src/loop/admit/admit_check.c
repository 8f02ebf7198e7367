/* admit_check.c - is a request well formed?  The first thing loop_quote(), loop_submit()
 * and loop_change() ask; what cannot be meant never reaches the planner. */
#include "loop/admit/admit_check.h"

#include "loop/host_room.h"

#include <math.h>
#include <stdbool.h>

#define RATE_MAX  1e9
#define STEPS_MAX 1e15
#define TIME_MAX  (100 * 365.25 * 86400)

static bool within(double x, double low, double high)
{
    return isfinite(x) && x >= low && x <= high;
}

static int check_need(const struct job *job, struct err *err)
{
    const struct requirement *n = &job->need;

    if (!within(n->confidence, 0, 0.999))
        return err_set(err, ERR_INVALID, "confidence %g is not within 0 and 0.999",
                       n->confidence);
    if ((n->kind == NEED_RATE || n->kind == NEED_SERVICE) && !(n->rate > 0))
        return err_set(err, ERR_INVALID, "a required rate must be above 0, not %g",
                       n->rate);
    if (!within(n->rate, 0, RATE_MAX))
        return err_set(err, ERR_INVALID, "rate %g is not within 0 and %g", n->rate,
                       RATE_MAX);
    if (!within(n->latency_s, 0, 3600))
        return err_set(err, ERR_INVALID, "latency %g s is not within 0 and 3600",
                       n->latency_s);
    if (n->kind == NEED_DEADLINE && !(job->total_steps > 0))
        return err_set(err, ERR_INVALID, "a deadline needs the total number of steps");
    if (n->kind == NEED_DEADLINE && !within(n->deadline_s, -TIME_MAX, TIME_MAX))
        return err_set(err, ERR_INVALID, "deadline %g s is out of range", n->deadline_s);
    if (n->kind == NEED_DEADLINE && n->deadline_s <= job->submitted_s)
        return err_set(err, ERR_INVALID, "the deadline is not after the submission");
    if (n->kind == NEED_SERVICE && job->kind != JOB_INFERENCE)
        return err_set(err, ERR_INVALID,
                       "requests/s can only be asked of inference jobs");
    return 0;
}

int admit_check(const struct job *job, const struct cluster *cluster, struct err *err)
{
    if (job->devices < 1 || job->devices > LOOP_MAX_GANG)
        return err_set(err, ERR_INVALID, "%d GPUs asked for; 1 to %d are possible",
                       job->devices, LOOP_MAX_GANG);
    if (!within(job->submitted_s, -TIME_MAX, TIME_MAX))
        return err_set(err, ERR_INVALID, "submission time %g s is out of range",
                       job->submitted_s);
    if (!within(job->total_steps, 0, STEPS_MAX))
        return err_set(err, ERR_INVALID, "%g steps are not within 0 and %g",
                       job->total_steps, STEPS_MAX);
    if (!within(job->duration_s, 0, TIME_MAX))
        return err_set(err, ERR_INVALID, "duration %g s is out of range",
                       job->duration_s);
    if (!within(job->memory_gb, 0, 1e5))
        return err_set(err, ERR_INVALID, "%g GB of GPU memory is out of range",
                       job->memory_gb);
    if (!within(job->cpus, 0, 1e6) || !within(job->host_memory_gb, 0, 1e6))
        return err_set(err, ERR_INVALID, "%g CPUs or %g GB of memory are out of range",
                       job->cpus, job->host_memory_gb);
    if (!host_room_possible(cluster, job))
        return err_set(err, ERR_INVALID,
                       "no node with a GPU it may use has so many CPUs or so much "
                       "memory: %g CPUs and %g GB for %d GPU%s",
                       job->cpus, job->host_memory_gb, job->devices,
                       job->devices > 1 ? "s" : "");
    if (job->types_allowed && cluster->type_count < 64 &&
        job->types_allowed >> cluster->type_count)
        return err_set(err, ERR_INVALID, "a GPU type is allowed that the cluster lacks");
    if (job->descriptor.batch < 0 || !within(job->descriptor.gmac_per_sample, 0, 1e9) ||
        !within(job->descriptor.params_millions, 0, 1e9) ||
        !within(job->descriptor.memory_mb_per_sample, 0, 1e9))
        return err_set(err, ERR_INVALID,
                       "a figure of the job's description is out of range");
    return check_need(job, err);
}
