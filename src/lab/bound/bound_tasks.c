/* bound_tasks.c - energy_bound.c has its tasks and combinations from here */
#include "lab/bound/bound_tasks.h"

#include "base/mem.h"
#include "engine/sim/truth_power.h"

#include <math.h>
#include <stdlib.h>

/* A service is cut into so many levels of demand, from samples so far apart. */
#define LEVELS   2
#define SAMPLE_S 300.0
/* Pairs of more tasks take too long. */
#define TASKS_MOST 4000

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void add_service(struct bound_tasks *tasks, const struct sim_request *r)
{
    int count = (int)(r->serve_s / SAMPLE_S) + 1;
    double *asked = mem_array(double, (size_t)count);

    for (int i = 0; i < count; i++)
        asked[i] = request_demand(r, r->job.submitted_s + i * SAMPLE_S);
    qsort(asked, (size_t)count, sizeof(*asked), by_value);
    for (int l = 0; l < LEVELS; l++) {
        int first = l * count / LEVELS, last = (l + 1) * count / LEVELS - 1;
        struct bound_task task = {.request = r, .from_s = r->job.submitted_s};

        if (last < first)
            continue;
        task.amount = r->serve_s * (last - first + 1) / count;
        task.low = asked[first];
        task.high = fmax(asked[last], 1e-9);
        task.need = task.low;
        task.till_s = INFINITY; /* it may begin late */
        vec_push(&tasks->items, task);
    }
    free(asked);
}

static void add_training(struct bound_tasks *tasks, const struct sim_request *r,
                         double grace_s)
{
    struct bound_task task = {.request = r,
                              .amount = r->steps,
                              .need =
                                  r->job.need.kind == NEED_RATE ? r->job.need.rate : 0,
                              .from_s = r->job.submitted_s};

    task.till_s = task.need > 0 ? task.from_s + grace_s + r->steps / task.need : INFINITY;
    vec_push(&tasks->items, task);
}

/* The nodes a gang spans at least on this type. */
static int nodes_for(const struct cluster *c, int type, int devices)
{
    for (int n = 0; n < c->node_count; n++)
        if (c->devices[c->nodes[n].first_device].type == type &&
            c->nodes[n].device_count >= devices)
            return 1;
    return 2;
}

static const struct gpu_sheet *sheet_of(const struct bound_case *in, int type)
{
    const struct truth *t = in->truth;

    return &t->world->gpus[t->gpu_of_type ? t->gpu_of_type[type] : type];
}

/* At the corners of what may be asked: the most each can do, the least in use. */
static bool evaluate(const struct bound_tasks *tasks, const struct bound_case *in,
                     struct bound_combo *c)
{
    const struct gpu_sheet *gpu = sheet_of(in, c->type);
    int count = c->task[1] >= 0 ? 2 : 1;
    double least = INFINITY;

    for (int corner = 0; corner < 1 << count; corner++) {
        struct truth_member members[2];
        struct truth_outcome out;

        for (int e = 0; e < count; e++) {
            const struct bound_task *t = &tasks->items.items[c->task[e]];

            members[e] = (struct truth_member){
                .request = t->request,
                .nodes = nodes_for(in->cluster, c->type, t->request->job.devices),
                .demand = corner >> e & 1 ? t->high : t->low};
        }
        truth_outcome(in->truth, c->type, 0, members, count, &out);
        if (!out.fits)
            return false;
        least = fmin(least, power_busy(gpu, out.watts));
        for (int e = 0; e < count; e++)
            c->rate[e] = fmaxf(c->rate[e], (float)(out.rate[e] * (1 + 1e-6)));
    }
    c->busy = (int)fmax(0, fmin(BOUND_STEPS, floor(least * BOUND_STEPS)));
    return true;
}

static bool keeps(const struct bound_tasks *tasks, const struct bound_combo *c)
{
    for (int e = 0; e < 2 && c->task[e] >= 0; e++)
        if ((double)c->rate[e] < tasks->items.items[c->task[e]].need)
            return false;
    return true;
}

static void add_alone(struct bound_tasks *tasks, const struct bound_case *in, int task)
{
    bool kept = false;

    for (int t = 0; t < in->cluster->type_count; t++) {
        struct bound_combo c = {.task = {task, -1}, .type = t};

        if (!evaluate(tasks, in, &c))
            continue;
        kept = kept || keeps(tasks, &c);
        vec_push(&tasks->combos, c);
    }
    if (!kept)
        tasks->items.items[task].need = 0;
}

static bool may_meet(const struct bound_task *a, const struct bound_task *b)
{
    return a->request != b->request && a->request->job.may_share &&
           b->request->job.may_share &&
           a->request->job.devices == b->request->job.devices && a->from_s < b->till_s &&
           b->from_s < a->till_s;
}

static void add_pairs(struct bound_tasks *tasks, const struct bound_case *in)
{
    int count = (int)tasks->items.count;

    for (int a = 0; a < count; a++)
        for (int b = 0; b < a; b++) {
            if (!may_meet(&tasks->items.items[a], &tasks->items.items[b]))
                continue;
            for (int t = 0; t < in->cluster->type_count; t++) {
                struct bound_combo c = {.task = {a, b}, .type = t};

                if (evaluate(tasks, in, &c) && keeps(tasks, &c))
                    vec_push(&tasks->combos, c);
            }
        }
}

/* A grid point at or below what is in use: no more watts, no less speed. */
static void fill_caps(struct bound_tasks *tasks, const struct bound_case *in)
{
    const struct cluster *c = in->cluster;

    tasks->capped = mem_array(struct bound_capped,
                              (size_t)c->type_count * PLAN_CAPS_MOST * (BOUND_STEPS + 1));
    for (int t = 0; t < c->type_count; t++) {
        double levels[PLAN_CAPS_MOST];

        tasks->caps[t] = plan_cap_levels(&c->types[t], levels);
        if (!in->caps)
            tasks->caps[t] = 1;
        for (int cap = 0; cap < tasks->caps[t]; cap++)
            for (int i = 0; i <= BOUND_STEPS; i++) {
                const struct gpu_sheet *gpu = sheet_of(in, t);
                double busy = i / (double)BOUND_STEPS;
                struct power_capped run =
                    in->truth->drawn_power
                        ? truth_power_best(gpu, power_draw_watts(gpu, busy), levels[cap])
                        : power_under_cap(gpu, busy, levels[cap]);

                if (in->truth->cap_steepness > 0)
                    run.speed = pow(run.speed, in->truth->cap_steepness);
                tasks->capped[((size_t)t * PLAN_CAPS_MOST + (size_t)cap) *
                                  (BOUND_STEPS + 1) +
                              (size_t)i] = (struct bound_capped){run.watts, run.speed};
            }
    }
}

static void fill_hosts(struct bound_tasks *tasks, const struct cluster *c)
{
    for (int t = 0; t < c->type_count; t++)
        tasks->host_watts[t] = INFINITY;
    for (int d = 0; d < c->device_count; d++) {
        const struct node *n = &c->nodes[c->devices[d].node];
        double *watts = &tasks->host_watts[c->devices[d].type];

        *watts = fmin(*watts, fmax(0, n->host_watts - n->sleep_watts) / n->device_count);
    }
}

bool bound_tasks_init(struct bound_tasks *tasks, const struct bound_case *in)
{
    *tasks = (struct bound_tasks){0};
    if (in->truth->drift > 0)
        return false;
    for (size_t i = 0; i < in->workload->count; i++) {
        const struct sim_request *r = &in->workload->requests[i];

        if (request_scales(r) || tasks->items.count > TASKS_MOST)
            return false;
        if (r->cls < 0)
            continue;
        if (r->job.kind == JOB_INFERENCE && r->serve_s > 0)
            add_service(tasks, r);
        else if (r->job.kind == JOB_TRAINING && r->steps > 0)
            add_training(tasks, r, in->grace_s);
    }
    fill_caps(tasks, in);
    fill_hosts(tasks, in->cluster);
    for (int t = 0; t < (int)tasks->items.count; t++) {
        const struct bound_task *task = &tasks->items.items[t];

        if (isfinite(task->till_s))
            tasks->until_s = fmax(tasks->until_s, task->till_s);
        tasks->until_s = fmax(tasks->until_s, task->from_s + task->request->serve_s);
        add_alone(tasks, in, t);
    }
    if (in->share_max > 1)
        add_pairs(tasks, in);
    return tasks->items.count > 0;
}

void bound_tasks_fini(struct bound_tasks *tasks)
{
    vec_free(&tasks->items);
    vec_free(&tasks->combos);
    free(tasks->capped);
}
