/* planner_load.c - the state of a round or of an offer, from what the loop shows; the
 * first step of planner.c */
#include "loop/optimize/planner_private.h"

#include "loop/estimate/lengths.h"
#include "loop/requirement.h"
#include "loop/recent_rate.h"

#include <math.h>
#include <string.h>

/* A job is left alone until it was measured where it is beside whoever is there: what a
 * move is worth is not known before.  Not shorter than this, nor for ever. */
#define SETTLE_S      600.0
#define SETTLE_MOST_S 1800.0
/* Where a service is already, the demand of the moment counts, and a little more. */
#define SERVICE_KEEP 1.03
/* One window is noise: a job is moved for falling short after two, or by so much. */
#define SHORT_WINDOWS 2
#define SHORT_CLEARLY 0.95
/* So much more than it must have for each time it was helped, up to so many times. */
#define HELPED_MARGIN 0.2
#define HELPED_MOST   3

static void load_type(struct planner_type *type, const struct gpu_sheet *gpu, bool caps)
{
    *type = (struct planner_type){
        .idle_watts = gpu->idle_watts, .top_watts = gpu->tdp_watts, .steepness = 1};
    type->caps = plan_cap_levels(gpu, type->cap_watts);
    if (!caps)
        type->caps = 1;
    for (int c = 1; c < type->caps; c++)
        for (int i = 0; i <= PLANNER_STEPS; i++) {
            double watts =
                gpu->idle_watts + i * (gpu->tdp_watts - gpu->idle_watts) / PLANNER_STEPS;

            type->capped[c][i] =
                power_under_cap(gpu, power_busy(gpu, watts), type->cap_watts[c]);
        }
}

static void load_types(struct planner_state *s)
{
    if (s->typed && s->typed_caps == s->settings.caps)
        return;
    for (int t = 0; t < s->in->cluster->type_count; t++)
        load_type(&s->types[t], &s->in->cluster->types[t], s->settings.caps);
    s->typed = true;
    s->typed_caps = s->settings.caps;
}

struct power_capped planner_under_cap(const struct planner_type *type, int cap,
                                      double watts)
{
    double at = (watts - type->idle_watts) / (type->top_watts - type->idle_watts);
    double x = fmax(0, fmin(1, at)) * PLANNER_STEPS;
    int i = (int)fmin(x, PLANNER_STEPS - 1);
    const struct power_capped *a = &type->capped[cap][i];
    double speed;

    if (cap == 0)
        return (struct power_capped){.watts = watts, .speed = 1};
    speed = a->speed + (x - i) * (a[1].speed - a->speed);
    if (speed < 1 && type->steepness > 1)
        speed = pow(speed, type->steepness);
    return (struct power_capped){
        .watts = fmin(watts, a->watts + (x - i) * (a[1].watts - a->watts)),
        .speed = speed};
}

/* The type of all devices of a node; -1: it has several. */
static int type_of_node(const struct cluster *c, const struct node *n)
{
    int type = c->devices[n->first_device].type;

    for (int d = n->first_device + 1; d < n->first_device + n->device_count; d++)
        if (c->devices[d].type != type)
            return -1;
    return type;
}

static void load_devices(struct planner_state *s)
{
    const struct cluster *c = s->in->cluster;

    vec_clear(&s->members);
    vec_clear(&s->usable);
    vec_clear(&s->node_jobs);
    vec_clear(&s->node_empty);
    vec_clear(&s->node_left);
    for (int d = 0; d < c->device_count; d++) {
        vec_push(&s->members, -1);
        vec_push(&s->members, -1);
        vec_push(&s->usable, cluster_device_usable(c, d));
    }
    for (int n = 0; n < c->node_count; n++) {
        if (s->node_type.count == (size_t)n) /* types do not change */
            vec_push(&s->node_type, type_of_node(c, &c->nodes[n]));
        vec_push(&s->node_jobs, 0);
        vec_push(&s->node_empty, c->nodes[n].device_count);
        vec_push(&s->node_left, host_room_of_node(c, n));
    }
}

static double unit_of(const struct planner_state *s, const struct planner_job *j)
{
    double unit = 0;

    for (int t = 0; t < s->in->cluster->type_count; t++)
        if (requirement_allows_type(&j->status->job, t))
            unit = fmax(unit, j->kind->alone[t].expected);
    return unit;
}

/* Training is taken to go on at half its best rate.  Most rounds ask for few. */
double planner_left_s(const struct planner_state *s, const struct planner_job *j)
{
    double *left_s = &s->jobs.items[j - s->jobs.items].left_s;

    if (isnan(*left_s))
        *left_s = lengths_left_s(s->in->lengths, j->status, fmax(0.5 * j->unit, 1e-9),
                                 0.5, s->in->now_s);
    return *left_s;
}

/* More may sit on a device than this planner ever seats: they stay. */
static bool crowded(const struct planner_state *s, const struct job_status *status)
{
    return status->device_count > 0 &&
           s->in->cluster->devices[status->devices[0]].job_count > 2;
}

static bool suffers(const struct job_status *status, double keep)
{
    return recent_rate_falls_short(status, keep) &&
           (status->job.kind == JOB_INFERENCE || status->pace.windows >= SHORT_WINDOWS ||
            status->pace.rate < SHORT_CLEARLY * keep);
}

/* What is believed of a service that had to be helped was too much, so it needs more than
 * others to be put anywhere, or beside anybody. */
static double tightness(const struct job_status *status)
{
    return 1 + HELPED_MARGIN * fmin(status->helped, HELPED_MOST);
}

bool planner_has_settled(const struct planner_state *s, const struct planner_job *j)
{
    return s->in->now_s - j->placed_s >= (j->paced ? SETTLE_S : SETTLE_MOST_S);
}

/* What of a job neither its kind nor the round changes. */
static struct planner_job new_job(const struct planner_state *s,
                                  const struct job_status *status)
{
    struct planner_job job = {.window_s = status->pace.at_s,
                              .unpromised = status->job.unpromised,
                              .room = host_room_each(&status->job),
                              .mark = rng_mix(status->job.id, 1),
                              .placed_s = status->placed_s,
                              .gang = status->job.devices > 1,
                              .beside =
                                  status->state == JOB_RUNNING && status->job.may_share
                                      ? status->device_count
                                      : 0,
                              .service = status->job.kind == JOB_INFERENCE,
                              .timed = status->job.need.kind == NEED_DEADLINE,
                              .home = status->device_count > 0 ? status->devices[0] : -1};

    job.need = requirement_rate_now(status, s->in->now_s);
    job.keep = requirement_rate_kept(status, s->in->now_s);
    if (job.service)
        job.keep = fmin(job.need, SERVICE_KEEP * job.keep);
    job.paced = status->state == JOB_RUNNING && recent_rate_known(status, s->in->cluster);
    job.movable = s->in->settings->moves && status->job.may_move &&
                  status->state == JOB_RUNNING && !job.gang && !crowded(s, status);
    job.suffers = job.paced && suffers(status, job.keep);
    job.capped = job.need;
    if (job.service && job.paced && !job.suffers)
        job.need = status->job.need.rate; /* demand will rise again */
    if (job.service) {
        job.need *= tightness(status);
        job.capped *= tightness(status);
    }
    job.bound = status->job.group > 0 || s->reserved;
    return job;
}

static void load_job(struct planner_state *s, size_t i, const struct table_kind *kind)
{
    int was = s->was.items[i];
    bool known = was >= 0 && !s->jobs_before.items[was].timed;
    struct planner_job job =
        known ? s->jobs_before.items[was] : new_job(s, s->in->jobs[i]);

    job.status = s->in->jobs[i];
    job.seat = s->seats.items[i];
    job.device = -1;
    job.left_s = NAN;
    job.moved = job.stopped = job.held = false;
    if (!known || job.kind != kind || job.asked != kind->asked) {
        job.kind = kind;
        job.unit = unit_of(s, &job);
        job.asked = kind->asked;
    }
    if (job.gang)
        vec_push(&s->gang_jobs, (struct planner_gang){(int)i, job.beside});
    if (job.suffers)
        vec_push(&s->suffering, (int)i);
    s->jobs.items[s->jobs.count++] = job;
}

/* Which jobs were loaded before as they are now: both lists are in order of admission. */
static void find_unchanged(struct planner_state *s)
{
    const struct job_stamp *before = s->stamps.items;
    size_t count = s->jobs_before.count, at = 0;

    if (s->stamps.count != count || s->may_move_before != s->in->settings->moves ||
        s->reserved_before != s->reserved)
        count = 0;
    vec_clear(&s->was);
    vec_reserve(&s->was, s->in->job_count);
    for (size_t i = 0; i < s->in->job_count; i++) {
        const struct job_stamp *stamp = s->in->stamps ? &s->in->stamps[i] : NULL;

        while (stamp && at < count && before[at].admitted < stamp->admitted)
            at++;
        s->was.items[s->was.count++] = stamp && at < count && stamp->changed > 0 &&
                                               before[at].changed == stamp->changed
                                           ? (int)at
                                           : -1;
    }
}

/* The jobs of the last round, to be looked up, and whom they are compared with next. */
static void keep_before(struct planner_state *s)
{
    struct planner_job *items = s->jobs_before.items;
    size_t capacity = s->jobs_before.capacity;

    s->jobs_before.items = s->jobs.items;
    s->jobs_before.count = s->jobs.count;
    s->jobs_before.capacity = s->jobs.capacity;
    s->jobs.items = items;
    s->jobs.count = 0;
    s->jobs.capacity = capacity;
    vec_reserve(&s->jobs, s->in->job_count);
}

static void keep_stamps(struct planner_state *s)
{
    size_t count = s->in->stamps ? s->in->job_count : 0;

    vec_clear(&s->stamps);
    vec_reserve(&s->stamps, count);
    if (count > 0)
        memcpy(s->stamps.items, s->in->stamps, count * sizeof(*s->stamps.items));
    s->stamps.count = count;
    s->may_move_before = s->in->settings->moves;
    s->reserved_before = s->reserved;
}

void planner_attach(struct planner_state *s, int job, const int *devices, int count)
{
    for (int k = 0; k < count; k++) {
        int *m = planner_members(s, devices[k]);
        int node = s->in->cluster->devices[devices[k]].node;

        s->node_empty.items[node] -= m[0] < 0;
        m[m[0] >= 0] = job;
        s->node_jobs.items[node]++;
        host_room_take(&s->node_left.items[node], s->jobs.items[job].room, 1);
    }
    if (count > 0)
        s->jobs.items[job].device = devices[0];
}

void planner_detach(struct planner_state *s, int job, const int *devices, int count)
{
    for (int k = 0; k < count; k++) {
        int *m = planner_members(s, devices[k]);
        int node = s->in->cluster->devices[devices[k]].node;

        if (m[0] == job)
            m[0] = m[1];
        m[1] = -1;
        s->node_empty.items[node] += m[0] < 0;
        s->node_jobs.items[node]--;
        host_room_take(&s->node_left.items[node], s->jobs.items[job].room, -1);
    }
    s->jobs.items[job].device = -1;
}

void planner_load(struct planner_state *s, const struct optimize_input *in)
{
    const struct table_kind *const *kinds;

    planner_show(s, in);
    s->in = in = &s->shown;
    s->reserved = node_access_reserved(in->cluster);
    keep_before(s);
    find_unchanged(s);
    kinds = prediction_table_load(s->table, in, s->was.items, s->improves);
    load_types(s);
    load_devices(s);
    vec_clear(&s->gangs);
    vec_clear(&s->gang_jobs);
    vec_clear(&s->suffering);
    vec_clear(&s->started);
    s->preemptions = 0;
    for (size_t i = 0; i < in->job_count; i++)
        load_job(s, i, kinds[i]);
    keep_stamps(s);
    for (int i = 0; i < (int)in->job_count; i++) {
        const struct planner_job *j = &s->jobs.items[i];

        if (j->gang)
            planner_attach(s, i, j->status->devices, j->status->device_count);
        else if (j->home >= 0)
            planner_attach(s, i, &j->home, 1);
    }
    planner_memo_load(s);
    planner_hold_nothing(s);
}
