/* run_score.c - work and promises of a simulation
 *
 * The engine tells through sim_run.c when something of a job is about to change: up to
 * then it is booked here as it was.  At the end score_run() fills the result. */
#include "lab/sim/run_measure.h"
#include "lab/sim/sim_private.h"

#include <math.h>
#include <string.h>

/* What a more and a less lenient judge would say is told beside what counts. */
#define VIOLATION_SHARE_MILD   0.05
#define VIOLATION_SHARE_STRICT 0.001

static void count_end(struct sim_result *r, enum sim_end end)
{
    switch (end) {
    case SIM_FINISHED:
        r->finished++;
        break;
    case SIM_RUNNING:
        r->running++;
        break;
    case SIM_WAITING:
        r->waiting++;
        break;
    case SIM_REFUSED:
        r->refused++;
        break;
    case SIM_FAILED:
        r->failed++;
        break;
    }
}

/* The rate the job must have now, as the protocol judges it: the demand itself for a
 * service (no headroom), the requirement for training. */
static double judged_rate(const struct sim_job *job, const struct sim_inspect_job *now)
{
    const struct requirement *need = &job->request->job.need;

    if (need->kind == NEED_RATE)
        return need->rate;
    return need->kind == NEED_SERVICE ? now->demand : 0;
}

/* Does it do what it must, by the truth? */
static bool is_met(const struct sim_job *job, const struct sim_inspect_job *now)
{
    double rate = now->active ? now->rate : 0, limit_s = job->request->job.need.latency_s;

    if (rate < judged_rate(job, now) * (1 - 1e-6))
        return false;
    return job->request->job.need.kind != NEED_SERVICE || !(limit_s > 0) ||
           request_latency(now->request, rate, now->demand).late_s <= limit_s;
}

/* Waiting within the grace time is not judged; afterwards it is time without the rate. */
static double judged_seconds(const struct sim *sim, const struct sim_job *job,
                             bool active)
{
    double grace_ends_s = job->request->job.submitted_s + sim->options->settings.grace_s;

    if (active)
        return sim->now_s - job->updated_s;
    return fmax(0, sim->now_s - fmax(job->updated_s, grace_ends_s));
}

/* A failed node has destroyed work: it is done again, and counts once. */
static void take_back(struct sim_job *job, double work_h)
{
    if (job->work_h > 0)
        job->useful_h *= fmax(0, 1 - work_h / job->work_h);
    job->work_h = fmax(0, job->work_h - work_h);
}

void sim_book_job(struct sim *sim, struct sim_job *job)
{
    const struct sim_request *request = job->request;
    struct sim_inspect_job now = {0};
    double judged_s, work_h;
    bool met;

    sim_inspect_job(&sim->engine, request->job.id, sim->now_s, &now);
    judged_s = judged_seconds(sim, job, now.active);
    met = is_met(job, &now);
    job->result.counted_s += judged_s;
    job->result.violated_s += met ? 0 : judged_s;
    work_h =
        (now.done - job->done) / request->reference_rate / 3600 * request->job.devices;
    job->done = now.done;
    job->updated_s = sim->now_s;
    if (work_h < 0) {
        take_back(job, -work_h);
        return;
    }
    job->work_h += work_h;
    job->useful_h += met ? work_h : 0;
}

/* Refused and failed requests count as broken promises: no policy may gain by dropping.
 */
static bool promise_kept(const struct sim_job *job, double share_max)
{
    if (job->end == SIM_REFUSED || job->end == SIM_FAILED)
        return false;
    return job->result.violated_s <= share_max * job->result.counted_s;
}

/* Of services: time within rate and latency, and moves of each. */
static void add_services(const struct sim *sim, struct sim_result *r)
{
    double counted_s = 0, violated_s = 0, moves = 0;
    size_t services = 0;

    for (size_t i = 0; i < sim->arrived && i < r->jobs; i++) {
        const struct sim_job_result *job = &r->job_results[i];

        if (sim->jobs[i].request->job.kind != JOB_INFERENCE)
            continue;
        services++;
        counted_s += job->counted_s;
        violated_s += job->violated_s;
        moves += job->moves;
    }
    r->service_time = counted_s > 0 ? 1 - violated_s / counted_s : NAN;
    r->service_moves = services ? moves / (double)services : NAN;
}

static struct sim_job_result result_of(const struct sim_job *job)
{
    const struct sim_request *request = job->request;
    struct sim_job_result result = job->result;

    result.end = job->end;
    result.joules = job->use.joules;
    result.arrival_s = request->job.submitted_s;
    result.devices = request->job.devices;
    result.service = request->job.kind == JOB_INFERENCE;
    result.asked_s = result.service
                         ? request->serve_s
                         : request->steps / fmax(request->reference_rate, 1e-9);
    return result;
}

static void add_jobs(struct sim *sim, struct sim_result *r)
{
    double counted_s = 0, violated_s = 0, moves = 0;
    size_t kept = 0, mildly = 0, strictly = 0, waits = 0, servable = 0;
    double *wait_s = mem_array(double, r->jobs);

    for (size_t i = 0; i < r->jobs; i++) {
        struct sim_job *job = &sim->jobs[i];
        bool present =
            job->end == SIM_RUNNING || (job->end == SIM_WAITING && i < sim->arrived);

        if (present) {
            sim_book_job(sim, job);
            sim_saved_job(sim, job);
        }
        r->job_results[i] = result_of(job);
        count_end(r, job->end);
        counted_s += job->result.counted_s;
        violated_s += job->result.violated_s;
        moves += job->result.moves;
        r->restarts += job->result.restarts;
        r->work_h += job->work_h;
        r->useful_h += job->useful_h;
        if (job->request->cls >= 0 && i < sim->arrived) {
            servable++;
            kept += promise_kept(job, sim->options->forgiven);
            mildly += promise_kept(job, VIOLATION_SHARE_MILD);
            strictly += promise_kept(job, VIOLATION_SHARE_STRICT);
        }
        if (!isnan(job->result.wait_s))
            wait_s[waits++] = job->result.wait_s;
    }
    r->sla_time = counted_s > 0 ? 1 - violated_s / counted_s : 1;
    r->sla_jobs = servable ? (double)kept / (double)servable : 1;
    r->sla_jobs_5 = servable ? (double)mildly / (double)servable : 1;
    r->sla_jobs_01 = servable ? (double)strictly / (double)servable : 1;
    r->moves_per_job = r->jobs ? moves / (double)r->jobs : 0;
    r->wait_p50_s = measure_quantile(wait_s, waits, 0.5);
    r->wait_p95_s = measure_quantile(wait_s, waits, 0.95);
    free(wait_s);
}

void score_run(struct sim *sim, struct sim_result *r)
{
    *r = (struct sim_result){
        .jobs = sim->setup->workload->count, .end_s = sim->now_s, .bound_j = NAN};
    sim_replicas_close(sim);
    r->job_results = mem_array(struct sim_job_result, r->jobs);
    add_jobs(sim, r);
    add_services(sim, r);
    r->energy = meter_read(sim->meter, sim->now_s);
    r->saved_j = sim->savings.joules;
    r->saved_error_j = energy_savings_error(&sim->savings);
    quarters_end(sim);
    memcpy(r->quarters, sim->quarters.parts, sizeof(r->quarters));
    r->rounds = sim->rounds;
    r->estimates = *loop_score(sim->loop);
    r->learning = loop_plan(sim->loop)->learning;
    r->quotes = *loop_quote_score(sim->loop);
    r->decision_p50_ms =
        measure_quantile(sim->decision_ms.items, sim->decision_ms.count, 0.5);
    r->decision_p99_ms =
        measure_quantile(sim->decision_ms.items, sim->decision_ms.count, 0.99);
}
