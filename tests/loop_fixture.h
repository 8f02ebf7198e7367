/* loop_fixture.h - a small cluster, jobs and a model with known answers
 *
 * For the tests of src/loop: node 0 has devices 0 and 1 of the slow type, node 1 devices
 * 2 to 5 of the fast one, node 2 devices 6 and 7 of the slow one.  The model answers from
 * a table that the test fills, and notes what it was told. */
#pragma once

#include "loop/estimate/predict.h"
#include "loop/cluster.h"
#include "loop/job_table.h"
#include "loop/planner.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { SLOW, FAST, TYPES };

#define assert_close(a, b, within) assert_true(fabs((a) - (b)) <= (within))

static const struct gpu_sheet fixture_types[TYPES] = {
    {.name = "slow",
     .fp32_tflops = 5,
     .fp16_tflops = 20,
     .bandwidth_gbs = 300,
     .memory_gb = 8,
     .sms = 20,
     .tdp_watts = 100,
     .idle_watts = 10,
     .cap_min_watts = 60},
    {.name = "fast",
     .fp32_tflops = 20,
     .fp16_tflops = 300,
     .bandwidth_gbs = 1600,
     .memory_gb = 40,
     .sms = 100,
     .tdp_watts = 400,
     .idle_watts = 50},
};

static inline void fixture_node(struct cluster *cluster, int type, int devices)
{
    cluster_add_node(cluster, &(struct node_spec){.type = type,
                                                  .device_count = devices,
                                                  .host_watts = 200,
                                                  .sleep_watts = 10,
                                                  .wake_s = 120,
                                                  .may_sleep = true});
}

static inline struct cluster *fixture_cluster(void)
{
    struct cluster *cluster = cluster_create(fixture_types, TYPES);

    fixture_node(cluster, SLOW, 2);
    fixture_node(cluster, FAST, 4);
    fixture_node(cluster, SLOW, 2);
    return cluster;
}

static inline struct job fixture_job(uint64_t id, int devices)
{
    return (struct job){.id = id,
                        .kind = JOB_TRAINING,
                        .descriptor = {.family = "ResNet-50", .batch = 32},
                        .need = {.kind = NEED_BEST_EFFORT, .confidence = 0.8},
                        .total_steps = 1e6,
                        .devices = devices,
                        .may_share = true,
                        .may_move = true};
}

static inline struct job fixture_rate_job(uint64_t id, double rate)
{
    struct job job = fixture_job(id, 1);

    job.need.kind = NEED_RATE;
    job.need.rate = rate;
    return job;
}

static inline struct optimize_settings fixture_settings(void)
{
    return (struct optimize_settings){.share_max = 2,
                                      .sleep = true,
                                      .moves = true,
                                      .confidence = 0.8,
                                      .progress_watts = 200,
                                      .move_s = 45,
                                      .grace_s = 600};
}

struct fixture_model {
    double rate[TYPES];  /* of any job alone */
    double watts[TYPES]; /* of a device with any jobs */
    double beside;       /* relative speed beside each other job */
    double sd_log;       /* of the rates */
    double fits[TYPES];
    enum estimate_source source;
    int begun, ended, absorbed;
    struct observation last;
};

static inline void fixture_begin(void *self, const struct job *job)
{
    (void)job;
    ((struct fixture_model *)self)->begun++;
}

static inline void fixture_end(void *self, const struct job *job)
{
    (void)job;
    ((struct fixture_model *)self)->ended++;
}

static inline void fixture_predict(const void *self, struct prediction_cache *cache,
                                   const struct combination *where,
                                   struct prediction *out)
{
    const struct fixture_model *m = self;
    double cap_speed = where->cap_watts > 0 ? 0.5 : 1;
    double rate = m->rate[where->type] * pow(m->beside, where->count - 1) * cap_speed;

    (void)cache;
    for (int i = 0; i < where->count; i++)
        out->rate[i] = estimate_from_log(log(rate), m->sd_log, m->source, 0);
    out->watts = estimate_from_log(log(m->watts[where->type]), 0.01, m->source, 0);
    out->fits = m->fits[where->type];
}

static inline void fixture_absorb(void *self, const struct observation *seen)
{
    struct fixture_model *m = self;

    m->absorbed++;
    m->last = *seen;
}

static inline void fixture_destroy(void *self)
{
    (void)self; /* the test's own */
}

static const struct model_ops fixture_model_ops = {.name = "fixture",
                                                   .begin = fixture_begin,
                                                   .end = fixture_end,
                                                   .predict = fixture_predict,
                                                   .absorb = fixture_absorb,
                                                   .destroy = fixture_destroy};

/* Slow: 10 steps/s for 60 W.  Fast: 40 steps/s for 300 W. */
static inline struct fixture_model fixture_model_make(void)
{
    return (struct fixture_model){.rate = {10, 40},
                                  .watts = {60, 300},
                                  .beside = 0.6,
                                  .sd_log = 0.05,
                                  .fits = {1, 1},
                                  .source = ESTIMATE_MEASURED};
}

static inline struct model fixture_model_of(struct fixture_model *m)
{
    return (struct model){.ops = &fixture_model_ops, .self = m};
}

/* A whole state to plan on. */
struct fixture {
    struct cluster *cluster;
    struct jobs *jobs;
    struct fixture_model table;
    struct model model;
    struct optimize_settings settings;
    struct optimize_input in;
};

static inline void fixture_init(struct fixture *f)
{
    *f = (struct fixture){.cluster = fixture_cluster(),
                          .jobs = jobs_create(),
                          .table = fixture_model_make(),
                          .settings = fixture_settings()};
    f->model = fixture_model_of(&f->table);
}

static inline void fixture_fini(struct fixture *f)
{
    jobs_destroy(f->jobs);
    cluster_destroy(f->cluster);
}

static inline const struct optimize_input *fixture_input(struct fixture *f, double now_s)
{
    f->in = (struct optimize_input){.now_s = now_s,
                                    .cluster = f->cluster,
                                    .model = &f->model,
                                    .settings = &f->settings};
    f->in.jobs = jobs_active(f->jobs, &f->in.job_count);
    return &f->in;
}

/* A job that runs on these devices since placed_s. */
static inline struct job_status *fixture_running(struct fixture *f, struct job job,
                                                 const int *devices, double placed_s)
{
    struct job_status *status = jobs_add(f->jobs, &job);

    status->state = JOB_RUNNING;
    status->started_s = status->placed_s = placed_s;
    status->device_count = job.devices;
    for (int i = 0; i < job.devices; i++) {
        status->devices[i] = devices[i];
        cluster_seat(f->cluster, devices[i], job.id);
    }
    return status;
}
