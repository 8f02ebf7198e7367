/* trace.c - our own list of jobs: scenario.c loads it for --trace */
#include "lab/traces/trace.h"

#include "base/rng.h"
#include "base/vec.h"
#include "lab/tables/csv.h"

#define STREAM_TRACE 4
#define STEPS_MAX    1e12
#define ARRIVAL_MAX  (10 * 365.25 * 86400)

struct trace_columns {
    int type, steps, arrival, scale, priority, slo;
};

static int find_columns(const struct csv *csv, struct trace_columns *c, struct err *err)
{
    if (csv_need(csv, "job_type", &c->type, err) < 0 ||
        csv_need(csv, "total_steps", &c->steps, err) < 0 ||
        csv_need(csv, "arrival_s", &c->arrival, err) < 0 ||
        csv_need(csv, "scale_factor", &c->scale, err) < 0)
        return -1;
    c->priority = csv_column(csv, "priority");
    c->slo = csv_column(csv, "slo");
    return 0;
}

static int find_class(const struct csv *csv, const char *name, int scale,
                      const struct world *world, int *cls, struct err *err)
{
    *cls = world_find_class(world, name, scale);
    if (*cls >= 0)
        return 0;
    if (world_find_class(world, name, 1) >= 0)
        return 0; /* known, but nobody measured it on so many GPUs: see workload.h */
    return csv_refuse(
        csv, err, ERR_NOT_FOUND,
        "unknown job type '%s'; give the table that has it with --throughputs", name);
}

static void set_requirement(struct sim_request *r, double slo, struct rng *rng)
{
    static const double shares[] = {0.15, 0.3, 0.5, 0.7};
    double share = shares[rng_below(rng, 4)];

    r->job.need.kind = NEED_RATE;
    r->job.need.rate = share * r->reference_rate;
    if (slo > 0) {
        r->job.need.kind = NEED_DEADLINE;
        r->job.need.rate = 0;
        r->job.need.deadline_s = r->job.submitted_s + slo * r->steps / r->reference_rate;
    }
}

static int read_row(const struct csv *csv, const struct trace_columns *c,
                    const struct world *world, int reference_gpu, struct rng *rng,
                    struct sim_request *out, struct err *err)
{
    struct sim_request r = {.job = {.kind = JOB_TRAINING}};
    int scale, cls, priority = 0;
    double slo = -1;

    if (csv_int(csv, c->scale, 1, LOOP_MAX_GANG, &scale, err) < 0 ||
        csv_double(csv, c->steps, 1, STEPS_MAX, &r.steps, err) < 0 ||
        csv_double(csv, c->arrival, 0, ARRIVAL_MAX, &r.job.submitted_s, err) < 0)
        return -1;
    if (c->priority >= 0 && csv_int(csv, c->priority, -1000, 1000, &priority, err) < 0)
        return -1;
    if (c->slo >= 0 && csv_double(csv, c->slo, -1, 1e6, &slo, err) < 0)
        return -1;
    if (find_class(csv, csv_field(csv, c->type), scale, world, &cls, err) < 0)
        return -1;
    request_describe(&r, world,
                     cls >= 0 ? cls : world_find_class(world, csv_field(csv, c->type), 1),
                     reference_gpu, 0);
    r.cls = cls;
    r.job.devices = scale;
    if (!(r.reference_rate > 0))
        return csv_refuse(csv, err, ERR_INFEASIBLE,
                          "'%s' runs on no GPU type of the throughputs; take the job out",
                          csv_field(csv, c->type));
    r.job.priority = priority;
    r.hidden = rng_u64(rng);
    set_requirement(&r, slo, rng);
    *out = r;
    return 0;
}

static int by_arrival(const void *a, const void *b)
{
    const struct sim_request *x = a, *y = b;

    if (x->job.submitted_s != y->job.submitted_s)
        return x->job.submitted_s < y->job.submitted_s ? -1 : 1;
    return x->job.id < y->job.id ? -1 : 1; /* the file's order */
}

static struct workload *finish(struct sim_request *requests, size_t count,
                               int reference_gpu)
{
    struct workload *w = mem_new(struct workload);

    qsort(requests, count, sizeof(*requests), by_arrival);
    for (size_t i = 0; i < count; i++)
        requests[i].job.id = i + 1;
    w->requests = requests;
    w->count = count;
    w->reference_gpu = reference_gpu;
    w->last_arrival_s = requests[count - 1].job.submitted_s;
    return w;
}

static int read_jobs(struct workload **workload, struct csv *csv, const char *name,
                     const struct world *world, uint64_t seed, struct err *err)
{
    vec_of(struct sim_request) list = {0};
    int reference_gpu = request_reference_gpu(world), more, rc = -1;
    struct trace_columns columns;
    struct rng rng;

    rng_stream(&rng, seed, STREAM_TRACE);
    if (find_columns(csv, &columns, err) < 0)
        goto done;
    while ((more = csv_next(csv, err)) > 0) {
        struct sim_request r;

        if (read_row(csv, &columns, world, reference_gpu, &rng, &r, err) < 0)
            goto done;
        if (list.count == WORKLOAD_MAX_REQUESTS) {
            csv_refuse(csv, err, ERR_LIMIT, "more than %d jobs; split the trace",
                       WORKLOAD_MAX_REQUESTS);
            goto done;
        }
        r.job.id = list.count;
        vec_push(&list, r);
    }
    if (more < 0)
        goto done;
    if (list.count == 0) {
        err_set(err, ERR_FORMAT, "%s holds no jobs; add a line for each", name);
        goto done;
    }
    *workload = finish(list.items, list.count, reference_gpu);
    list.items = NULL; /* the workload's now */
    rc = 0;
done:
    free(list.items);
    return rc;
}

int trace_load(struct workload **workload, const char *path, const struct world *world,
               uint64_t seed, struct err *err)
{
    struct csv *csv;
    int rc;

    if (csv_load(&csv, path, err) < 0)
        return -1;
    rc = read_jobs(workload, csv, path, world, seed, err);
    csv_destroy(csv);
    return rc;
}
