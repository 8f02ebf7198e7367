/* sim_check_work.c - the work of jobs, integrated once more; called by sim_check.c */
#include "lab/sim/sim_check_private.h"

#include <math.h>

#define WORK_TOLERANCE 1e-6

static bool nearly(double a, double b, double scale)
{
    return fabs(a - b) <= WORK_TOLERANCE * fmax(1, scale);
}

static double done_of(const struct sim *sim, const struct sim_job *job)
{
    struct sim_inspect_job now = {0};

    sim_inspect_job(&sim->engine, job->request->job.id, sim->now_s, &now);
    return now.done;
}

/* A restart goes back to a checkpoint: never forward, and never further than one. */
static int follow_restart(struct sim *sim, const struct sim_job *job,
                          struct check_job *seen, struct err *err)
{
    double left_over = done_of(sim, job);
    double lost = seen->done - left_over;
    double most = seen->rate * sim->options->checkpoint_s;

    seen->restarts = job->result.restarts;
    if (lost < -WORK_TOLERANCE * fmax(1, job->request->steps) ||
        lost > most + WORK_TOLERANCE * fmax(1, job->request->steps))
        return check_broken(sim, job->request->job.id, "work", err,
                            "a restart lost %.9g steps, from 0 to %.9g were at stake",
                            lost, most);
    seen->done = left_over;
    return 0;
}

static int look_at_finished(const struct sim *sim, const struct sim_job *job,
                            const struct check_job *seen, struct err *err)
{
    const struct sim_request *request = job->request;
    double submitted_h =
        request->steps / request->reference_rate / 3600 * request->job.devices;

    if (request->job.kind == JOB_INFERENCE) {
        if (sim->now_s < seen->ends_s - WORK_TOLERANCE * fmax(1, seen->ends_s))
            return check_broken(sim, request->job.id, "work", err,
                                "it is over %.9g s before its time",
                                seen->ends_s - sim->now_s);
        return 0;
    }
    if (!nearly(seen->done, request->steps, request->steps))
        return check_broken(sim, request->job.id, "work", err,
                            "finished after %.9g steps of %.9g", seen->done,
                            request->steps);
    if (!nearly(job->work_h, submitted_h, submitted_h))
        return check_broken(sim, request->job.id, "work", err,
                            "finished with %.9g hours of work booked, %.9g submitted",
                            job->work_h, submitted_h);
    return 0;
}

static int follow(struct sim *sim, size_t i, double seconds, struct err *err)
{
    const struct sim_job *job = &sim->jobs[i];
    struct check_job *seen = &sim->check->jobs[i];
    struct sim_inspect_job now;

    if (job->request->job.kind == JOB_TRAINING) {
        seen->done += seen->rate * seconds;
        if (job->result.restarts > seen->restarts &&
            follow_restart(sim, job, seen, err) < 0)
            return -1;
    }
    if (sim_inspect_job(&sim->engine, job->request->job.id, sim->now_s, &now)) {
        seen->rate = now.active ? now.rate : 0;
        seen->ends_s = now.ends_s;
    }
    return job->end == SIM_FINISHED ? look_at_finished(sim, job, seen, err) : 0;
}

int check_work(struct sim *sim, struct err *err)
{
    struct check *check = sim->check;
    double seconds = sim->now_s - check->looked_s;
    size_t kept = 0;

    for (; check->seen < sim->arrived; check->seen++)
        vec_push(&check->present, check->seen);
    for (size_t k = 0; k < check->present.count; k++) {
        size_t i = check->present.items[k];
        enum sim_end end = sim->jobs[i].end;

        if (follow(sim, i, seconds, err) < 0)
            return -1;
        if (end == SIM_RUNNING || end == SIM_WAITING)
            check->present.items[kept++] = i;
    }
    check->present.count = kept;
    check->looked_s = sim->now_s;
    return 0;
}
