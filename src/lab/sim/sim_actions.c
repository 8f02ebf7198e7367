/* sim_actions.c - carries out the loop's actions on the simulated cluster; see state.h */
#include "lab/sim/sim_private.h"

#include "loop/cluster.h"

#include <math.h>
#include <string.h>

/* A job that ran out of memory this often is given up: nowhere it was tried did it fit.
 */
#define MEMORY_FAILURES_MAX 50

static void pause_job(struct sim *sim, struct sim_job *job)
{
    sim_book_job(sim, job);
    job->active = false;
    job->rate = 0;
    job->stamp++; /* its finish event is void */
}

static double node_ready_s(const struct sim *sim, int n)
{
    const struct node *node = &loop_cluster(sim->loop)->nodes[n];

    return node->state == NODE_WAKING ? node->since_s + node->wake_s : sim->now_s;
}

static enum recording_why why_seated(const struct sim_job *job,
                                     const struct action *action)
{
    if (action->kind == ACTION_MOVE)
        return RECORDING_MOVED;
    return job->result.restarts ? RECORDING_RESTARTED : RECORDING_STARTED;
}

/* Put the job where the action says and let it wait for its nodes and for `pause_s`. */
static void seat_job(struct sim *sim, struct sim_job *job, const struct action *action,
                     double pause_s)
{
    const struct cluster *cluster = loop_cluster(sim->loop);

    job->device_count = action->device_count;
    memcpy(job->devices, action->devices, sizeof(job->devices));
    job->ready_s = sim->now_s + pause_s;
    job->placed_s = sim->now_s;
    job->measured_s = sim->now_s;
    job->end = SIM_RUNNING;
    for (int i = 0; i < job->device_count; i++)
        job->ready_s =
            fmax(job->ready_s, node_ready_s(sim, cluster->devices[job->devices[i]].node));
    if (isnan(job->result.wait_s))
        job->result.wait_s = sim->now_s - job->request->job.submitted_s;
    if (isnan(job->ends_s))
        job->ends_s = job->ready_s + job->request->job.duration_s;
    job->recorded = recording_seat(sim->recording, &job->request->job, action,
                                   why_seated(job, action), sim->now_s, job->ready_s);
    sim_touch_job_devices(sim, job); /* its seats count as allocated from now */
    events_push(sim->events, (struct event){.at_s = job->ready_s,
                                            .kind = EVENT_READY,
                                            .subject = (int)(job - sim->jobs)});
}

/* Leave the devices; those who stay there speed up. */
static void unseat_job(struct sim *sim, struct sim_job *job)
{
    int count = job->device_count;
    int devices[LOOP_MAX_GANG];

    memcpy(devices, job->devices, sizeof(devices));
    pause_job(sim, job);
    recording_leave(sim->recording, job->recorded, sim->now_s);
    job->recorded = 0;
    job->device_count = 0;
    for (int i = 0; i < count; i++)
        sim_touch_device(sim, devices[i]);
}

void sim_execute(struct sim *sim, const struct action *actions, size_t count)
{
    for (const struct action *a = actions; a < actions + count; a++) {
        struct sim_job *job = a->job ? sim_job_of(sim, a->job) : NULL;

        switch (a->kind) {
        case ACTION_WAKE:
            events_push(sim->events, (struct event){.at_s = node_ready_s(sim, a->node),
                                                    .kind = EVENT_AWAKE,
                                                    .subject = a->node});
            sim_touch_node(sim, a->node);
            break;
        case ACTION_SLEEP:
            sim_touch_node(sim, a->node);
            break;
        case ACTION_CAP:
            sim_touch_device(sim, a->device);
            break;
        case ACTION_STOP:
            unseat_job(sim, job);
            job->result.moves++; /* it will go on elsewhere, or here after others */
            job->end = SIM_WAITING;
            break;
        case ACTION_MOVE:
            unseat_job(sim, job);
            job->result.moves++;
            seat_job(sim, job, a, sim->options->settings.move_s);
            break;
        case ACTION_START:
            /* A job that ran before comes back from its checkpoint. */
            seat_job(sim, job, a,
                     isnan(job->result.wait_s) ? 0 : sim->options->settings.move_s);
            break;
        }
    }
}

/* Does what is active on each device of the job leave room for it too?  A gang may run on
 * one node and not spread over several. */
static bool fits_everywhere(struct sim *sim, const struct sim_job *job)
{
    const struct cluster *cluster = loop_cluster(sim->loop);

    for (int d = 0; d < job->device_count; d++) {
        const struct device *device = &cluster->devices[job->devices[d]];
        struct truth_member members[LOOP_MAX_SHARE];
        struct truth_outcome outcome;
        int count = 0;

        for (int i = 0; i < device->job_count; i++) {
            const struct sim_job *other = sim_job_of(sim, device->jobs[i]);

            if (other->active || other == job)
                members[count++] = (struct truth_member){
                    .request = other->request,
                    .nodes = cluster_nodes_spanned(cluster, other->devices,
                                                   other->device_count)};
        }
        truth_outcome(&sim->truth, device->type, 0, members, count, &outcome);
        if (!outcome.fits)
            return false;
    }
    return true;
}

static void end_job(struct sim *sim, struct sim_job *job, enum sim_end end)
{
    loop_end_job(sim->loop, job->request->job.id, sim->now_s, NULL);
    unseat_job(sim, job);
    job->end = end;
    sim->ended++;
    sim_news(sim);
}

static void out_of_memory(struct sim *sim, struct sim_job *job)
{
    struct measurement m = {
        .job = job->request->job.id,
        .at_s = sim->now_s,
        .window_s = 1,
        .device_watts = NAN,
        .out_of_memory = true,
    };

    loop_measure(sim->loop, &m, NULL);
    if (++job->memory_failures > MEMORY_FAILURES_MAX) {
        end_job(sim, job, SIM_FAILED);
        return;
    }
    loop_requeue(sim->loop, m.job, sim->now_s, NULL);
    unseat_job(sim, job);
    job->end = SIM_WAITING;
    job->result.restarts++;
    sim_news(sim);
}

void sim_job_ready(struct sim *sim, struct sim_job *job)
{
    /* An event of an earlier seat: the job has moved on or waits again. */
    if (job->end != SIM_RUNNING || job->active || job->ready_s != sim->now_s)
        return;
    if (!fits_everywhere(sim, job)) {
        out_of_memory(sim, job);
        return;
    }
    sim_book_job(sim, job);
    job->active = true;
    job->measured_s = sim->now_s;
    sim_touch_job_devices(sim, job);
    sim_want_tick(sim, sim->now_s + sim->options->tick_s);
}

void sim_job_finished(struct sim *sim, struct sim_job *job)
{
    sim_book_job(sim, job);
    end_job(sim, job, SIM_FINISHED);
}

/* Work since the last checkpoint is done again, and counts once. */
static void lose_work(struct sim *sim, struct sim_job *job)
{
    double since_s, steps, work_h;

    sim_book_job(sim, job);
    if (!job->active || job->request->job.kind != JOB_TRAINING)
        return;
    since_s = fmod(sim->now_s - job->ready_s, sim->options->checkpoint_s);
    steps = fmin(job->rate * since_s, job->request->steps - job->left);
    work_h = steps / job->request->reference_rate / 3600 * job->request->job.devices;
    job->left += steps;
    if (job->work_h > 0)
        job->useful_h *= fmax(0, 1 - work_h / job->work_h);
    job->work_h = fmax(0, job->work_h - work_h);
}

void sim_node_fails(struct sim *sim, int n)
{
    const struct cluster *cluster = loop_cluster(sim->loop);
    const struct node *node = &cluster->nodes[n];
    vec_of(uint64_t) victims = {0};

    for (int i = 0; i < node->device_count; i++) {
        const struct device *device = &cluster->devices[node->first_device + i];

        for (int k = 0; k < device->job_count; k++)
            vec_push(&victims, device->jobs[k]);
    }
    loop_node_failed(sim->loop, n, sim->now_s);
    vec_each (uint64_t, id, &victims) {
        struct sim_job *job = sim_job_of(sim, *id);

        if (job->device_count == 0)
            continue; /* a gang with two devices here: seen already */
        lose_work(sim, job);
        unseat_job(sim, job);
        job->end = SIM_WAITING;
        job->result.restarts++;
    }
    vec_free(&victims);
    sim_touch_node(sim, n);
    events_push(sim->events, (struct event){.at_s = sim->now_s + sim->options->repair_s,
                                            .kind = EVENT_NODE_REPAIR,
                                            .subject = n});
    sim_news(sim);
}

void sim_node_repaired(struct sim *sim, int n)
{
    loop_node_repaired(sim->loop, n, sim->now_s);
    sim_touch_node(sim, n);
    sim_news(sim);
}
