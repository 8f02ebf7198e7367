/* sim_check.c - looks for broken rules after each moment of a simulation (sim_run.c) and
 * around each round */
#include "lab/sim/sim_check.h"

#include "loop/cluster.h"
#include "base/rng.h"
#include "lab/sim/audit_plan.h"
#include "lab/sim/sim_private.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/* Sums of many pieces, added in another order. */
#define ENERGY_TOLERANCE 1e-6
#define WORK_TOLERANCE   1e-6

struct check *check_create(size_t requests, int devices)
{
    struct check *check = mem_new(struct check);

    check->jobs = mem_array(struct check_job, requests);
    check->crowds = mem_array(uint64_t, (size_t)devices);
    return check;
}

void check_destroy(struct check *check)
{
    if (!check)
        return;
    cluster_destroy(check->before);
    vec_free(&check->present);
    vec_free(&check->planned);
    free(check->jobs);
    free(check->crowds);
    free(check);
}

/* Fill err with the sentence; job 0: none in particular. */
static int check_broken(const struct sim *sim, uint64_t job, const char *rule,
                        struct err *err, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

static int check_broken(const struct sim *sim, uint64_t job, const char *rule,
                        struct err *err, const char *format, ...)
{
    char what[256];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    if (job == 0)
        return err_set(err, ERR_INVALID, "at %.3f s the rule '%s' is broken: %s",
                       sim->now_s, rule, what);
    return err_set(err, ERR_INVALID, "at %.3f s job %llu breaks the rule '%s': %s",
                   sim->now_s, (unsigned long long)job, rule, what);
}

/* "GPU 2 of node-3" */
static const char *check_gpu(const struct sim *sim, int device, char *to, size_t size)
{
    const struct cluster *cluster = loop_cluster(sim->loop);
    const struct node *node = &cluster->nodes[cluster->devices[device].node];

    snprintf(to, size, "GPU %d of %s", device - node->first_device, node->name);
    return to;
}

static int check_energy(const struct sim *sim, struct err *err)
{
    struct meter_totals t = meter_peek(sim->meter, sim->now_s);
    double parts_j = t.device_j + t.host_j + t.idle_j + t.wake_j;
    int stale = meter_stale_node(sim->meter);

    if (!(fabs(parts_j - t.total_j) <= ENERGY_TOLERANCE * (1 + t.total_j)))
        return check_broken(sim, 0, "energy", err, "parts of %.9g J, in all %.9g J",
                            parts_j, t.total_j);
    if (t.asleep_j > t.idle_j * (1 + ENERGY_TOLERANCE) + ENERGY_TOLERANCE)
        return check_broken(sim, 0, "energy", err,
                            "%.9g J asleep are more than the %.9g J idle they are part "
                            "of",
                            t.asleep_j, t.idle_j);
    if (stale >= 0)
        return check_broken(sim, 0, "energy", err, "%s is not booked as what it is now",
                            loop_cluster(sim->loop)->nodes[stale].name);
    return 0;
}

static bool among(const int *devices, int count, int device)
{
    for (int i = 0; i < count; i++)
        if (devices[i] == device)
            return true;
    return false;
}

/* One job as the device sees it. */
static int check_guest(struct sim *sim, int d, uint64_t id, struct err *err)
{
    const struct cluster *cluster = loop_cluster(sim->loop);
    const struct node *node = &cluster->nodes[cluster->devices[d].node];
    const struct job_status *status = loop_job(sim->loop, id);
    struct sim_inspect_job job;
    char gpu[128];

    if (!status || !sim_inspect_job(&sim->engine, id, sim->now_s, &job))
        return check_broken(sim, id, "seats", err, "nobody knows it, and it has a seat");
    if (node->state == NODE_ASLEEP || node->state == NODE_DOWN)
        return check_broken(sim, id, "awake", err, "it sits on %s, which is %s",
                            check_gpu(sim, d, gpu, sizeof(gpu)),
                            node->state == NODE_DOWN ? "down" : "asleep");
    if (node->state == NODE_WAKING && job.active)
        return check_broken(sim, id, "awake", err, "it runs on %s, which still wakes",
                            check_gpu(sim, d, gpu, sizeof(gpu)));
    if (!among(job.devices, job.device_count, d) ||
        !among(status->devices, status->device_count, d))
        return check_broken(sim, id, "seats", err, "it is seated on %s, not its own",
                            check_gpu(sim, d, gpu, sizeof(gpu)));
    return 0;
}

/* Jobs that run on the device; the hash tells whether they are the same as before. */
static int members_of(struct sim *sim, const struct device *device,
                      struct truth_member *members, uint64_t *hash, uint64_t *newest)
{
    int count = 0;

    *hash = *newest = 0;
    for (int i = 0; i < device->job_count; i++) {
        struct sim_inspect_job job;

        if (!sim_inspect_job(&sim->engine, device->jobs[i], sim->now_s, &job) ||
            !job.active)
            continue;
        *newest = device->jobs[i];
        members[count++] = (struct truth_member){
            .request = job.request,
            .nodes = cluster_nodes_spanned(loop_cluster(sim->loop), job.devices,
                                           job.device_count)};
        *hash = rng_mix(*hash, rng_mix(*newest, (uint64_t)members[count - 1].nodes));
    }
    return count;
}

/* A crowd that was found to fit once fits as long as it is the same. */
static int check_memory(struct sim *sim, int d, struct err *err)
{
    const struct device *device = &loop_cluster(sim->loop)->devices[d];
    struct truth_member members[LOOP_MAX_SHARE];
    struct truth_outcome outcome;
    uint64_t hash, newest;
    int count = members_of(sim, device, members, &hash, &newest);
    char gpu[128];

    if (count == 0 || hash == sim->check->crowds[d])
        return 0;
    truth_outcome(sim_inspect_truth(&sim->engine), device->type, 0, members, count,
                  &outcome);
    if (!outcome.fits)
        return check_broken(sim, newest, "memory", err,
                            "%d jobs run on %s and do not fit there", count,
                            check_gpu(sim, d, gpu, sizeof(gpu)));
    sim->check->crowds[d] = hash;
    return 0;
}

/* The engine's nodes and caps are those the loop has ordered. */
static int check_orders(struct sim *sim, struct err *err)
{
    const struct cluster *real = sim_inspect_cluster(&sim->engine);
    const struct cluster *cluster = loop_cluster(sim->loop);
    char gpu[128];

    for (int n = 0; n < cluster->node_count; n++)
        if (cluster->nodes[n].state != real->nodes[n].state)
            return check_broken(sim, 0, "orders", err, "%s is not in the state it should",
                                cluster->nodes[n].name);
    for (int d = 0; d < cluster->device_count; d++)
        if (cluster->devices[d].cap_watts != real->devices[d].cap_watts)
            return check_broken(sim, 0, "orders", err, "%s has another power limit",
                                check_gpu(sim, d, gpu, sizeof(gpu)));
    return 0;
}

static int check_device(struct sim *sim, int d, struct err *err)
{
    const struct device *device = &loop_cluster(sim->loop)->devices[d];
    int most = sim->options->settings.share_max;
    char gpu[128];

    if (device->job_count > most)
        return check_broken(sim, device->jobs[most < LOOP_MAX_SHARE ? most : 0], "share",
                            err, "%s has %d jobs and may have %d",
                            check_gpu(sim, d, gpu, sizeof(gpu)), device->job_count, most);
    for (int i = 0; i < device->job_count; i++)
        if (check_guest(sim, d, device->jobs[i], err) < 0)
            return -1;
    return check_memory(sim, d, err);
}

static bool has_guest(const struct device *device, uint64_t id)
{
    int count = 0;

    for (int i = 0; i < device->job_count; i++)
        count += device->jobs[i] == id;
    return count == 1;
}

/* One job as it sees itself. */
static int check_seats(struct sim *sim, const struct job_status *status, struct err *err)
{
    const struct sim_job *job = sim_job_of(sim, status->job.id);
    int wanted = job->end == SIM_RUNNING ? job->request->job.devices : 0;
    struct sim_inspect_job now = {0};
    char gpu[128];

    sim_inspect_job(&sim->engine, status->job.id, sim->now_s, &now);
    if (now.device_count != wanted || status->device_count != wanted)
        return check_broken(sim, status->job.id, "seats", err,
                            "it has %d GPUs, %d by the loop, and should have %d",
                            now.device_count, status->device_count, wanted);
    for (int i = 0; i < now.device_count; i++) {
        int d = now.devices[i];

        if (among(now.devices, i, d) ||
            !has_guest(&loop_cluster(sim->loop)->devices[d], status->job.id) ||
            !has_guest(&sim_inspect_cluster(&sim->engine)->devices[d], status->job.id))
            return check_broken(sim, status->job.id, "seats", err,
                                "it has no seat of its own on %s",
                                check_gpu(sim, d, gpu, sizeof(gpu)));
    }
    return 0;
}

/* ---- the work of jobs, integrated once more ------------------------------------------
 */

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

static int check_work(struct sim *sim, struct err *err)
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

int check_state(struct sim *sim, struct err *err)
{
    const struct job_status *const *jobs;
    size_t count;

    if (!sim->check)
        return 0;
    jobs = loop_jobs(sim->loop, &count);
    for (int d = 0; d < loop_cluster(sim->loop)->device_count; d++)
        if (check_device(sim, d, err) < 0)
            return -1;
    for (size_t i = 0; i < count; i++)
        if (check_seats(sim, jobs[i], err) < 0)
            return -1;
    if (check_orders(sim, err) < 0 || check_energy(sim, err) < 0)
        return -1;
    return check_work(sim, err);
}

/* The audit asks what the plan changes, so it needs the cluster before the change. */
void check_before_round(struct sim *sim)
{
    if (!sim->check)
        return;
    cluster_destroy(sim->check->before);
    sim->check->before = cluster_dup(loop_cluster(sim->loop));
}

static void predict_nothing(const void *self, struct prediction_cache *cache,
                            const struct combination *where, struct prediction *out)
{
    (void)self;
    (void)cache;
    (void)where;
    *out = (struct prediction){.fits = 1};
}

/* What the audit refuses follows from plan, cluster and settings.  It asks the model for
 * figures that nobody reads here: so it asks this one. */
static const struct model_ops no_model_ops = {.name = "none", .predict = predict_nothing};

int check_plan(struct sim *sim, struct err *err)
{
    const struct plan *plan = loop_plan(sim->loop);
    struct model none = {.ops = &no_model_ops};
    struct check *check = sim->check;
    struct err found = {0};
    struct audit audit;

    if (!check)
        return 0;
    vec_clear(&check->planned);
    for (size_t i = 0; i < plan->seat_count; i++) {
        const struct job_status *status = loop_job(sim->loop, plan->seats[i].job);

        if (!status)
            return check_broken(sim, plan->seats[i].job, "plan", err,
                                "it has a seat, and nobody knows it");
        vec_push(&check->planned, status);
    }
    const struct optimize_input in = {.now_s = sim->now_s,
                                      .cluster = check->before,
                                      .job_count = check->planned.count,
                                      .jobs = check->planned.items,
                                      .model = &none,
                                      .settings = &sim->options->settings};

    if (audit_plan(&in, plan, &audit, &found) < 0)
        return check_broken(sim, 0, "plan", err, "planner %s: %s",
                            sim->setup->planner->name, found.text);
    return 0;
}
