/* advice_fit.c - how well the replay of the real schedule meets the record
 *
 * advice.c asks.  The energy of the record is worked out here without the simulator's
 * engine and meter: each job's GPUs draw what the power model says while it ran, idle
 * ones their idle draw, machines theirs.  So a mistake of the replay shows as a
 * difference. */
#include "lab/advise/advice_private.h"

#include "base/mem.h"
#include "base/vec.h"
#include "lab/sim/run_measure.h"

#include <math.h>
#include <stdlib.h>

#define JOULES_A_KWH 3.6e6
#define ENDS_NEAR    5.0 /* percent */

static double job_watts(const struct scenario *s, const struct sim_options *sim,
                        const struct sim_request *request, int type, int nodes)
{
    const struct truth truth = {.world = s->world,
                                .gpu_of_type = s->gpu_of_type,
                                .alone_sd = sim->alone_sd,
                                .beside_sd = sim->beside_sd};
    const struct truth_member member = {.request = request,
                                        .nodes = request->job.devices > 1 ? nodes : 1};
    struct truth_outcome outcome;

    truth_outcome(&truth, type, 0, &member, 1, &outcome);
    return outcome.watts;
}

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
    double joules = base_joules(s);

    for (size_t i = 0; i < s->schedule->count; i++) {
        const struct arrival *a = &slurm->arrivals.items[i];
        const struct real_stay *stay = &s->schedule->stays[i];
        double watts;

        if (stay->type < 0)
            continue;
        watts = job_watts(s, sim, &s->workload->requests[i], stay->type,
                          stay->node_count > 1 ? stay->node_count : 1);
        joules += a->devices * a->duration_s *
                  (watts - s->cluster->types[stay->type].idle_watts);
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
