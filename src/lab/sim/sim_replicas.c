/* sim_replicas.c - replicas of services in a simulation
 *
 * sim_actions.c tells what was measured of services that may scale, sim_run.c asks at the
 * end of each moment.  loop/replicas decides as it does for the daemon; here its
 * decisions become jobs of the loop, or their ends.  What replicas did is booked on their
 * service. */
#include "lab/sim/sim_private.h"

#include "engine/sim/sim_engine.h"
#include "loop/loop.h"
#include "loop/recent_rate.h"

#include <math.h>
#include <stdio.h>

/* A service that may scale. */
struct sim_service {
    uint64_t id;
    struct sim_request request; /* a copy: its job asks for one replica's share */
    struct replicas_state state;
    bool at_zero, moved;
    double asked; /* requests/s that reach it while it is at zero */
    int count;    /* replicas that have not ended */
    struct sim_job *jobs[LOOP_MAX_GANG]; /* (count) its own first */
};

struct sim_replica {
    struct sim_job job;
    struct sim_request request;
};

static bool is_alive(const struct sim_job *job)
{
    return job->end == SIM_WAITING || job->end == SIM_RUNNING;
}

static void find_replicas(const struct sim *sim, const struct sim_service *s,
                          struct replica *replicas)
{
    for (int i = 0; i < s->count; i++) {
        const struct job_status *status =
            loop_job(sim->loop, s->jobs[i]->request->job.id);

        replicas[i] = s->jobs[i]->seen;
        replicas[i].has_devices = s->jobs[i]->end == SIM_RUNNING;
        replicas[i].rate = status ? recent_rate_capacity(status) : NAN;
    }
}

static void forget(struct sim_service *s, const struct sim_job *job)
{
    for (int i = 1; i < s->count; i++)
        if (s->jobs[i] == job)
            s->jobs[i--] = s->jobs[--s->count];
}

/* ---- arriving ---------------------------------------------------------------------- */

static struct replica nothing_seen(int number)
{
    return (struct replica){
        .number = number, .rate = NAN, .demand = NAN, .latency_s = NAN};
}

void sim_replicas_arrive(struct sim *sim, struct sim_job *job, int shares)
{
    struct sim_service *s;

    if (!request_scales(job->request))
        return;
    s = mem_new(struct sim_service);
    *s = (struct sim_service){.id = job->request->job.id,
                              .request = *job->request,
                              .state = REPLICAS_NEW,
                              .count = 1,
                              .jobs = {job}};
    s->request.job.need.rate /= shares;
    job->request = &s->request;
    job->seen = nothing_seen(1);
    job->service = s;
    vec_push(&sim->services, s);
}

static int add(struct sim *sim, struct sim_service *s, int number, struct err *err)
{
    struct sim_replica *r = mem_new(struct sim_replica);
    struct job *job = &r->request.job;

    r->request = s->request;
    r->request.service = s->id;
    r->request.hidden += (uint64_t)number;
    job->id = sim->setup->workload->count + sim->replicas.count + 1;
    job->submitted_s = sim->now_s;
    job->duration_s = r->request.serve_s = 0; /* it ends with its service */
    snprintf(job->name, sizeof(job->name), "%.66s/%d", s->request.job.name, number);
    r->job = (struct sim_job){.request = &r->request,
                              .end = SIM_WAITING,
                              .updated_s = sim->now_s,
                              .seen = nothing_seen(number),
                              .service = s,
                              .result = {.wait_s = NAN}};
    vec_push(&sim->replicas, r);
    s->jobs[s->count++] = &r->job;
    sim_engine_expect(&sim->engine, &r->request);
    loop_want_round(sim->loop, sim->now_s);
    return loop_submit(sim->loop, job, sim->now_s, err);
}

/* ---- leaving ----------------------------------------------------------------------- */

/* What it did, and how its part of the promise was kept, counts for its service. */
static void fold(struct sim *sim, struct sim_job *job)
{
    struct sim_job *own = job->service->jobs[0];

    sim_book_job(sim, job);
    own->work_h += job->work_h;
    own->useful_h += job->useful_h;
    own->result.counted_s += job->result.counted_s;
    own->result.violated_s += job->result.violated_s;
    own->result.moves += job->result.moves;
    own->result.restarts += job->result.restarts;
    job->work_h = job->useful_h = 0;
    job->result = (struct sim_job_result){.wait_s = NAN};
}

static void drop(struct sim *sim, struct sim_job *job)
{
    uint64_t id = job->request->job.id;

    fold(sim, job);
    forget(job->service, job);
    sim->engine.ops->stop(sim->engine.self, id, ENGINE_STOP_CANCEL, NULL);
    loop_end_job(sim->loop, id, sim->now_s, NULL);
    sim_leave(sim, job);
    job->end = SIM_FINISHED;
    loop_want_round(sim->loop, sim->now_s);
}

void sim_replicas_end(struct sim *sim, struct sim_job *job, bool failed)
{
    struct sim_service *s = job->service;

    if (!s)
        return;
    if (job == s->jobs[0]) {
        while (s->count > 1)
            drop(sim, s->jobs[1]);
        return;
    }
    fold(sim, job);
    forget(s, job);
    if (failed)
        replicas_failed(&s->state, sim->now_s);
}

static void drop_beyond(struct sim *sim, struct sim_service *s, int keep)
{
    struct replica replicas[LOOP_MAX_GANG];

    while (s->count > keep) {
        find_replicas(sim, s, replicas);
        drop(sim, s->jobs[replicas_last(replicas, s->count)]);
    }
}

static void go_to_zero(struct sim *sim, struct sim_service *s)
{
    struct sim_job *own = s->jobs[0];

    drop_beyond(sim, s, 1);
    s->at_zero = true;
    own->seen = nothing_seen(1);
    sim->engine.ops->stop(sim->engine.self, s->id, ENGINE_STOP_MOVE, NULL);
    loop_requeue(sim->loop, s->id, sim->now_s, NULL);
    loop_hold(sim->loop, s->id, true, sim->now_s, NULL);
    sim_leave(sim, own);
    loop_want_round(sim->loop, sim->now_s);
}

/* ---- following --------------------------------------------------------------------- */

void sim_replicas_seen(struct sim *sim, struct sim_job *job, const struct engine_event *e)
{
    struct sim_service *s = job ? job->service : NULL;

    if (!s)
        return;
    if (!s->moved)
        vec_push(&sim->moved, s);
    s->moved = true;
    if (e->kind == ENGINE_MEASURED) {
        if (e->measurement.latency_s > 0)
            job->seen.latency_s = e->measurement.latency_s;
    } else if (s->at_zero) {
        s->asked = e->measurement.rate;
    } else {
        job->seen.demand = e->measurement.rate;
        job->seen.demand_at_s = e->at_s;
    }
}

static int carry_out(struct sim *sim, struct sim_service *s, struct replica *replicas,
                     int wanted, struct err *err)
{
    if (s->at_zero) {
        s->at_zero = false;
        loop_hold(sim->loop, s->id, false, sim->now_s, NULL);
        loop_want_round(sim->loop, sim->now_s);
    } else if (wanted == 0) {
        go_to_zero(sim, s);
    } else {
        drop_beyond(sim, s, wanted);
    }
    while (s->count < wanted && s->count < LOOP_MAX_GANG) {
        int number = replicas_free_number(replicas, s->count);

        replicas[s->count] = nothing_seen(number);
        if (add(sim, s, number, err) < 0)
            return -1;
    }
    return 0;
}

/* While it is at zero the engine does not end it: its time may be over. */
static bool is_over(struct sim *sim, const struct sim_service *s)
{
    struct sim_inspect_job now;

    return s->at_zero && sim_inspect_job(&sim->engine, s->id, sim->now_s, &now) &&
           now.ends_s <= sim->now_s;
}

static int follow(struct sim *sim, struct sim_service *s, struct err *err)
{
    struct replica replicas[LOOP_MAX_GANG];
    struct replicas_facts facts = {.share = &s->request.job,
                                   .replicas = replicas,
                                   .count = s->count,
                                   .max = s->request.max_replicas,
                                   .scale_to_zero = s->request.scale_to_zero,
                                   .at_zero = s->at_zero,
                                   .asked = s->asked,
                                   .now_s = sim->now_s};
    struct replicas_decision d;

    if (is_over(sim, s)) {
        sim_end_job(sim, s->jobs[0], SIM_FINISHED);
        return 0;
    }
    find_replicas(sim, s, replicas);
    d = replicas_decide(&s->state, &facts);
    return d.reason[0] ? carry_out(sim, s, replicas, d.wanted, err) : 0;
}

int sim_replicas_follow(struct sim *sim, struct err *err)
{
    int rc = 0;

    vec_each (struct sim_service *, s, &sim->moved) {
        (*s)->moved = false;
        if (rc == 0 && is_alive((*s)->jobs[0]))
            rc = follow(sim, *s, err);
    }
    vec_clear(&sim->moved);
    return rc;
}

/* ---- the books --------------------------------------------------------------------- */

void sim_replicas_close(struct sim *sim)
{
    vec_each (struct sim_replica *, r, &sim->replicas)
        if (is_alive(&(*r)->job))
            fold(sim, &(*r)->job);
}

struct sim_job *sim_replica_job(struct sim *sim, size_t index)
{
    return &sim->replicas.items[index]->job;
}

void sim_replicas_fini(struct sim *sim)
{
    vec_each (struct sim_service *, s, &sim->services)
        free(*s);
    vec_each (struct sim_replica *, r, &sim->replicas)
        free(*r);
    vec_free(&sim->services);
    vec_free(&sim->moved);
    vec_free(&sim->replicas);
}
