/* sim_saved.c - what each job of a simulation used and saved
 *
 * sim_run.c tells when a device draws another power or has other jobs, sim_actions.c when
 * a job is over; run_score.c asks for the sum.  The saving is the daemon's, by the same
 * calls of the loop (record/energy_split.h): here is only who used what, in equal parts
 * where devices are shared. */
#include "lab/sim/sim_private.h"

#include "base/mem.h"
#include "loop/requirement.h"

#include <string.h>

struct sim_draw { /* of a device, in force since since_s */
    double watts, since_s;
    int job_count;
    uint64_t jobs[LOOP_MAX_SHARE];
};

static void add_use(struct sim *sim, uint64_t id, double joules, double seconds)
{
    struct sim_job *job = sim_job_of(sim, id);
    const struct job_status *status = loop_job(sim->loop, id);

    job->use.joules += joules;
    job->use.busy_s += seconds;
    if (status && seconds > 0)
        job->mean_demand +=
            (requirement_demand(status) - job->mean_demand) * seconds / job->use.busy_s;
}

void sim_saved_device(struct sim *sim, int device, double watts)
{
    const struct cluster *c = sim_inspect_cluster(&sim->engine);
    const struct device *d = &c->devices[device];
    struct sim_draw *draw;
    double seconds;

    if (!sim->draws)
        sim->draws = mem_array(struct sim_draw, (size_t)c->device_count);
    draw = &sim->draws[device];
    seconds = sim->now_s - draw->since_s;
    for (int i = 0; i < draw->job_count; i++)
        add_use(sim, draw->jobs[i], draw->watts * seconds / draw->job_count, seconds);
    draw->watts = watts;
    draw->since_s = sim->now_s;
    draw->job_count = d->job_count;
    memcpy(draw->jobs, d->jobs, sizeof(draw->jobs));
}

void sim_saved_job(struct sim *sim, const struct sim_job *job)
{
    const struct job_status *status = loop_job(sim->loop, job->request->job.id);
    const struct reference_work work = {.steps = status->steps_done,
                                        .seconds = job->use.busy_s / status->job.devices,
                                        .demand = job->mean_demand};
    const struct reference_energy reference =
        reference_energy(loop_cluster(sim->loop), loop_model(sim->loop), status, &work);
    const struct energy_saving saving = energy_saved(&reference, &job->use);

    energy_savings_add(&sim->savings, &saving);
}
