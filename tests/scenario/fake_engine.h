/* fake_engine.h - a fake of an engine: runs the loop against rates the test made up
 *
 * Time goes in steps.  In each step nodes wake, jobs on awake nodes make progress at
 * their true rate, a window is measured with some noise, jobs that are done end, and a
 * round is played.  All actions go into a digest, so that two runs can be compared. */
#pragma once

#include "loop_fixture.h"

#include "base/rng.h"
#include "lab/policy/datasheet.h"
#include "loop/planner.h"
#include "loop/loop.h"
#include "loop/loop_settings.h"

#define FAKE_STEP_S  60.0
#define FAKE_BESIDE  0.7 /* true relative speed beside another job */
#define FAKE_NOISE   0.02
#define FAKE_ACTIONS 6

typedef double fake_truth(const struct job *job, int type); /* steps/s alone */

struct fake_engine {
    struct loop *loop;
    fake_truth *truth;
    struct rng rng;
    double now_s;
    uint64_t digest;
    int counts[FAKE_ACTIONS]; /* actions by kind */
    int finished, refused_windows;
    double ready_s[8]; /* (nodes) when a waking node will be awake */
};

static inline void fake_engine_init(struct fake_engine *e, uint64_t seed,
                                    fake_truth *truth)
{
    struct loop_options options = {.settings = settings_default(), .seed = seed};

    *e = (struct fake_engine){.truth = truth};
    rng_init(&e->rng, seed);
    e->loop = loop_create_take(&options, fixture_cluster(),
                               datasheet_model_create(fixture_types, TYPES),
                               &corgi_planner_ops);
}

static inline void fake_engine_fini(struct fake_engine *e)
{
    loop_destroy(e->loop);
}

static inline struct quote fake_submit(struct fake_engine *e, struct job job)
{
    struct quote answer;
    struct err err = {0};

    job.submitted_s = e->now_s;
    if (loop_quote(e->loop, &job, 1, NULL, e->now_s, &answer, &err) < 0 ||
        (answer.verdict != QUOTE_REFUSED &&
         loop_submit(e->loop, &job, e->now_s, &err) < 0))
        fail_msg("%s", err.text);
    return answer;
}

static inline bool fake_is_up(const struct fake_engine *e, const struct job_status *job)
{
    const struct cluster *c = loop_cluster(e->loop);

    for (int k = 0; k < job->device_count; k++)
        if (c->nodes[c->devices[job->devices[k]].node].state != NODE_AWAKE)
            return false;
    return job->device_count > 0;
}

static inline double fake_rate(const struct fake_engine *e, const struct job_status *job)
{
    const struct cluster *c = loop_cluster(e->loop);
    int most = 1;

    for (int k = 0; k < job->device_count; k++)
        if (c->devices[job->devices[k]].job_count > most)
            most = c->devices[job->devices[k]].job_count;
    return e->truth(&job->job, c->devices[job->devices[0]].type) *
           pow(FAKE_BESIDE, most - 1);
}

/* One job over one step; false when it is done. */
static inline bool fake_run_job(struct fake_engine *e, const struct job_status *job)
{
    double rate = fake_rate(e, job);
    double steps = job->steps_done + rate * FAKE_STEP_S;
    struct measurement m = {.job = job->job.id,
                            .at_s = e->now_s,
                            .window_s = FAKE_STEP_S,
                            .rate = rate * exp(FAKE_NOISE * rng_normal(&e->rng)),
                            .device_watts = NAN};

    e->refused_windows += loop_measure(e->loop, &m, NULL, NULL) < 0;
    loop_set_progress(e->loop, job->job.id, steps, NULL);
    return steps < job->job.total_steps;
}

static inline void fake_run_jobs(struct fake_engine *e)
{
    uint64_t done[64];
    size_t count, done_count = 0;
    const struct job_status *const *jobs = loop_jobs(e->loop, &count);

    for (size_t i = 0; i < count; i++)
        if (fake_is_up(e, jobs[i]) && !fake_run_job(e, jobs[i]) && done_count < 64)
            done[done_count++] = jobs[i]->job.id;
    for (size_t i = 0; i < done_count; i++)
        loop_end_job(e->loop, done[i], e->now_s, NULL);
    e->finished += (int)done_count;
}

static inline void fake_execute(struct fake_engine *e, const struct action *a)
{
    const struct cluster *c = loop_cluster(e->loop);

    e->counts[a->kind]++;
    e->digest = rng_mix(e->digest, (uint64_t)a->kind);
    e->digest = rng_mix(e->digest, a->job);
    e->digest = rng_mix(e->digest, (uint64_t)a->node);
    for (int k = 0; k < a->device_count; k++)
        e->digest = rng_mix(e->digest, (uint64_t)a->devices[k]);
    if (a->kind == ACTION_WAKE)
        e->ready_s[a->node] = e->now_s + c->nodes[a->node].wake_s;
}

static inline void fake_step(struct fake_engine *e)
{
    const struct cluster *c = loop_cluster(e->loop);
    struct round_result result;
    struct err err = {0};

    e->now_s += FAKE_STEP_S;
    fake_run_jobs(e);
    for (int n = 0; n < c->node_count; n++)
        if (c->nodes[n].state == NODE_WAKING && e->now_s >= e->ready_s[n])
            loop_node_is_awake(e->loop, n, e->now_s);
    if (loop_round(e->loop, e->now_s, &result, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < result.action_count; i++)
        fake_execute(e, &result.actions[i]);
}

static inline void fake_steps(struct fake_engine *e, int count)
{
    for (int i = 0; i < count; i++)
        fake_step(e);
}
