/* advice_fit.c - how well the replay of the real schedule meets the record
 *
 * advice.c asks.  The energy of the record is worked out here without the simulator's
 * engine and meter: each job's GPUs draw what the power model says while it ran, alone or
 * beside another that had a part of the same GPU, idle ones their idle draw, machines
 * theirs.  So a mistake of the replay shows as a difference. */
#include "lab/advise/advice_private.h"

#include "base/mem.h"
#include "base/vec.h"
#include "lab/sim/run_measure.h"

#include <math.h>
#include <stdlib.h>

#define JOULES_A_KWH 3.6e6
#define ENDS_NEAR    5.0 /* percent */

/* What the draws of one scenario have in common. */
struct record_model {
    const struct scenario *s;
    struct truth truth;
};

static struct record_model model_of(const struct scenario *s,
                                    const struct sim_options *sim)
{
    return (struct record_model){.s = s,
                                 .truth = {.world = s->world,
                                           .gpu_of_type = s->gpu_of_type,
                                           .alone_sd = sim->alone_sd,
                                           .beside_sd = sim->beside_sd,
                                           .beside_free = true}};
}

static struct truth_member member_of(const struct record_model *m, size_t index)
{
    const struct sim_request *request = &m->s->workload->requests[index];
    int nodes = m->s->schedule->stays[index].node_count;

    return (struct truth_member){
        .request = request, .nodes = request->job.devices > 1 && nodes > 1 ? nodes : 1};
}

/* A GPU with this job, or with two. */
static double watts_of(const struct record_model *m, int type, const size_t *jobs,
                       int count)
{
    struct truth_member members[2];
    struct truth_outcome outcome;

    for (int i = 0; i < count; i++)
        members[i] = member_of(m, jobs[i]);
    truth_outcome(&m->truth, type, 0, members, count, &outcome);
    return outcome.watts;
}

/* ---- GPUs that two jobs shared ------------------------------------------------------
 */

struct gpu_seat {
    size_t jobs[2];
    int count;
};

struct seat_search {
    const struct record_model *m;
    struct gpu_seat *seats; /* (devices of the cluster) */
    size_t job;
    int *taken, taken_count, wanted;
};

/* Devices of a node with so many jobs, up to `most` of them. */
static void take_seats(struct seat_search *q, int node, int jobs, int most)
{
    const struct node *n = &q->m->s->cluster->nodes[node];

    for (int d = n->first_device; d < n->first_device + n->device_count; d++) {
        bool have = q->seats[d].count != jobs || most == 0 || q->taken_count == q->wanted;

        for (int i = 0; i < q->taken_count; i++)
            have = have || q->taken[i] == d;
        if (have)
            continue;
        q->taken[q->taken_count++] = d;
        most--;
    }
}

static void leave_seats(const struct real_schedule *r, struct gpu_seat *seat, double at_s)
{
    int kept = 0;

    for (int i = 0; i < seat->count; i++)
        if (r->stays[seat->jobs[i]].end_s > at_s)
            seat->jobs[kept++] = seat->jobs[i];
    seat->count = kept;
}

/* Two draw together what the model says, not what each of them drew alone. */
static double together_joules(const struct record_model *m, const struct gpu_seat *seat)
{
    const struct real_stay *stays = m->s->schedule->stays, *first = &stays[seat->jobs[0]],
                           *second = &stays[seat->jobs[1]];
    int type = second->type;
    double together_s = fmin(first->end_s, second->end_s) - second->start_s;

    return fmax(0, together_s) *
           (watts_of(m, type, seat->jobs, 2) - watts_of(m, type, &seat->jobs[0], 1) -
            watts_of(m, type, &seat->jobs[1], 1) + m->s->cluster->types[type].idle_watts);
}

/* As sim_follow.c has it: free GPUs of its nodes, the same number on each as far as
 * possible, else one beside another job. */
static double sit_down(struct seat_search *q)
{
    const struct real_stay *stay = &q->m->s->schedule->stays[q->job];
    int each = (q->wanted + stay->node_count - 1) / stay->node_count;
    double joules = 0;

    for (int i = 0; i < stay->node_count; i++)
        take_seats(q, stay->nodes[i], 0, each);
    for (int i = 0; i < stay->node_count; i++)
        take_seats(q, stay->nodes[i], 0, q->wanted);
    if (stay->shares && q->taken_count == 0)
        take_seats(q, stay->nodes[0], 1, 1);
    for (int i = 0; i < q->taken_count; i++) {
        struct gpu_seat *seat = &q->seats[q->taken[i]];

        seat->jobs[seat->count++] = q->job;
        if (seat->count == 2)
            joules += together_joules(q->m, seat);
    }
    return joules;
}

static int by_start(const void *a, const void *b, void *ctx)
{
    const struct real_schedule *r = ctx;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;

    if (r->stays[x].start_s != r->stays[y].start_s)
        return r->stays[x].start_s < r->stays[y].start_s ? -1 : 1;
    return (x > y) - (x < y);
}

/* What jobs that shared GPUs drew beyond what each would have drawn alone; mostly
 * negative. */
static double shared_joules(const struct record_model *m)
{
    struct real_schedule *r = m->s->schedule;
    const struct cluster *c = m->s->cluster;
    struct seat_search q = {
        .m = m, .seats = mem_array(struct gpu_seat, (size_t)c->device_count + 1)};
    size_t *order = mem_array(size_t, r->count + 1);
    double joules = 0;

    q.taken = mem_array(int, (size_t)c->device_count + 1);
    for (size_t i = 0; i < r->count; i++)
        order[i] = i;
    qsort_r(order, r->count, sizeof(*order), by_start, r);
    for (size_t i = 0; i < r->count; i++) {
        const struct real_stay *stay = &r->stays[order[i]];

        q.job = order[i];
        q.wanted = m->s->workload->requests[q.job].job.devices;
        q.taken_count = 0;
        if (stay->type < 0 || stay->node_count == 0)
            continue;
        for (int n = 0; n < stay->node_count; n++) {
            const struct node *node = &c->nodes[stay->nodes[n]];

            for (int d = 0; d < node->device_count; d++)
                leave_seats(r, &q.seats[node->first_device + d], stay->start_s);
        }
        joules += sit_down(&q);
    }
    free(order);
    free(q.taken);
    free(q.seats);
    return joules;
}

/* ---- the record --------------------------------------------------------------------
 */

struct node_span {
    int node;
    double from_s, to_s;
};

static int by_node_and_time(const void *a, const void *b)
{
    const struct node_span *x = a, *y = b;

    if (x->node != y->node)
        return x->node - y->node;
    return (x->from_s > y->from_s) - (x->from_s < y->from_s);
}

static double node_watts(const struct cluster *c, int node)
{
    const struct node *n = &c->nodes[node];
    double watts = n->host_watts;

    for (int d = n->first_device; d < n->first_device + n->device_count; d++)
        watts += c->types[c->devices[d].type].idle_watts;
    return watts;
}

/* Machines and idle GPUs: all nodes until the last submission, and from then on each
 * while it has a job, as the simulator's meter has it for every policy. */
static double base_joules(const struct scenario *s)
{
    const struct cluster *c = s->cluster;
    double last_s = s->workload->last_arrival_s, joules = 0, covered_s = last_s;
    vec_of(struct node_span) spans = {0};

    for (int n = 0; n < c->node_count; n++)
        joules += node_watts(c, n) * last_s;
    for (size_t i = 0; i < s->schedule->count; i++) {
        const struct real_stay *stay = &s->schedule->stays[i];

        for (int n = 0; n < stay->node_count; n++)
            if (stay->end_s > last_s)
                vec_push(&spans,
                         (struct node_span){stay->nodes[n], fmax(stay->start_s, last_s),
                                            stay->end_s});
    }
    if (spans.count > 0)
        qsort(spans.items, spans.count, sizeof(spans.items[0]), by_node_and_time);
    for (size_t i = 0; i < spans.count; i++) {
        const struct node_span *span = &spans.items[i];

        if (i == 0 || span->node != spans.items[i - 1].node)
            covered_s = last_s;
        joules += node_watts(c, span->node) *
                  fmax(0, span->to_s - fmax(covered_s, span->from_s));
        covered_s = fmax(covered_s, span->to_s);
    }
    vec_free(&spans);
    return joules;
}

static double record_joules(const struct scenario *s, const struct sim_options *sim,
                            const struct slurm *slurm)
{
    struct record_model m = model_of(s, sim);
    double joules = base_joules(s) + shared_joules(&m);

    for (size_t i = 0; i < s->schedule->count; i++) {
        const struct arrival *a = &slurm->arrivals.items[i];
        int type = s->schedule->stays[i].type;

        if (type < 0)
            continue;
        joules += a->devices * a->duration_s *
                  (watts_of(&m, type, &i, 1) - s->cluster->types[type].idle_watts);
    }
    return joules;
}

/* Mean distance of each job's end over the draws, in percent of the time it ran. */
static void compare_ends(struct advice_fit *fit, const struct sweep_row *replay,
                         const struct slurm *slurm, const struct real_schedule *real)
{
    double *far = mem_array(double, real->count);
    size_t ended = 0, near = 0;

    for (size_t i = 0; i < real->count; i++) {
        double sum = 0;

        for (int d = 0; d < replay->seeds; d++)
            sum += fabs(replay->runs[d].job_results[i].end_s - real->stays[i].end_s) /
                   replay->seeds;
        if (isnan(sum))
            continue;
        far[ended] = 100 * sum / slurm->arrivals.items[i].duration_s;
        fit->ends_percent += far[ended];
        near += far[ended] <= ENDS_NEAR;
        ended++;
    }
    fit->ended = ended;
    fit->ends_percent /= ended ? (double)ended : 1;
    fit->ends_within = ended ? (double)near / (double)ended : 0;
    fit->ends_percent_p95 = measure_quantile(far, ended, 0.95);
    free(far);
}

static void compare_metered(struct advice_fit *fit, const struct sweep_row *replay,
                            const struct slurm *slurm)
{
    for (size_t i = 0; i < slurm->arrivals.count; i++) {
        const struct slurm_job *job = &slurm->jobs.jobs[slurm->arrivals.items[i].record];

        if (isnan(job->consumed_j))
            continue;
        fit->metered++;
        fit->metered_kwh += job->consumed_j / JOULES_A_KWH;
        for (int d = 0; d < replay->seeds; d++)
            fit->metered_replay +=
                replay->runs[d].job_results[i].joules / JOULES_A_KWH / replay->seeds;
    }
}

int advice_measure_fit(struct advice_fit *fit, const struct sweep *sweep,
                       const struct sweep_options *o, struct err *err)
{
    const struct sweep_row *replay = &sweep->rows[0];
    const struct slurm *slurm = o->scenario.slurm;
    struct advice_fit f = {.jobs = slurm->arrivals.count};

    for (int d = 0; d < replay->seeds; d++) {
        struct scenario_options options = o->scenario;
        struct scenario s;
        double record_j, replay_j = replay->runs[d].energy.total_j;

        options.load = o->loads[0];
        options.seed = o->scenario.seed + (uint64_t)d;
        if (scenario_build(&s, &options, err) < 0)
            return -1;
        record_j = record_joules(&s, &o->sim, slurm);
        f.record_kwh += record_j / JOULES_A_KWH / replay->seeds;
        f.replay_kwh += replay_j / JOULES_A_KWH / replay->seeds;
        f.energy_percent += 100 * fabs(replay_j / record_j - 1) / replay->seeds;
        if (d == 0)
            compare_ends(&f, replay, slurm, s.schedule);
        scenario_fini(&s);
    }
    compare_metered(&f, replay, slurm);
    *fit = f;
    return 0;
}
