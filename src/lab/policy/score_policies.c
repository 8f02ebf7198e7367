/* score_policies.c - the conventional policies that are a score of one device for one job
 *
 * in_order.c calls the score for every device a job may use and takes the least; policy.c
 * lists them with the model they are told.  "Told rates" is the model that Corgi learns,
 * "told the data sheet" only datasheet.h, and that only for what fits into memory.
 * Levers: idle nodes sleep under all of them when the settings allow it; sharing, moves
 * and power limits as said with each. */
#include "lab/policy/in_order.h"
#include "lab/policy/policy.h"
#include "loop/estimate/predict.h"

#include <math.h>

/* A job that wakes a node pays this many times its share of the host: until others join
 * it keeps the whole node awake. */
#define EMPTY_NODE_FACTOR 1.5

#define SCORE_POLICY(symbol, title, ...)                                                 \
    static void symbol##_plan(void *self, const struct optimize_input *in,               \
                              struct plan *out)                                          \
    {                                                                                    \
        in_order_plan(self, in, out, &(struct in_order_rules){__VA_ARGS__});             \
    }                                                                                    \
    const struct planner_ops policy_##symbol##_ops = {                                   \
        .name = title,                                                                   \
        .create = in_order_create,                                                       \
        .plan = symbol##_plan,                                                           \
        .destroy = in_order_destroy,                                                     \
    }

static bool free_and_fits(struct in_order *order, const struct occupancy *o,
                          const struct optimize_input *in, const struct job_status *job,
                          int device)
{
    return o->counts[device] == 0 && in_order_fits(order, in, job, device);
}

/* A place that breaks the requirement comes behind all others, and only when it may. */
static bool take_if_kept(struct in_order *order, const struct optimize_input *in,
                         const struct job_status *job, int device, double *out)
{
    double missing = in_order_shortfall(order, in, job, device);

    if (missing <= 0)
        return true;
    *out += IN_ORDER_BROKEN * (1 + missing);
    return in_order_may_break(order, in, job);
}

/* FIFO first fit: the first free device, whatever it is.  Told the data sheet; no
 * sharing, no moves. */
static bool fifo_score(void *ctx, const struct occupancy *o,
                       const struct optimize_input *in, const struct job_status *job,
                       int device, double *out)
{
    *out = in_order_preference(o, in, device);
    return free_and_fits(ctx, o, in, job, device);
}
SCORE_POLICY(fifo, "fifo", .score = fifo_score);

/* The free device believed to be the fastest for the job.  Told rates; no sharing, no
 * moves. */
static bool fastest_score(void *ctx, const struct occupancy *o,
                          const struct optimize_input *in, const struct job_status *job,
                          int device, double *out)
{
    if (!free_and_fits(ctx, o, in, job, device))
        return false;
    /* Rates decide; the preference only breaks ties within a type. */
    *out = -in_order_rate(ctx, in, job, device) *
           (1 - 1e-9 * in_order_preference(o, in, device));
    return true;
}
SCORE_POLICY(fastest, "fastest", .score = fastest_score);

/* Any free device.  Told the data sheet; no sharing, no moves. */
static bool random_score(void *ctx, const struct occupancy *o,
                         const struct optimize_input *in, const struct job_status *job,
                         int device, double *out)
{
    if (!free_and_fits(ctx, o, in, job, device))
        return false;
    *out = rng_uniform(in_order_rng(ctx));
    return true;
}
SCORE_POLICY(random, "random", .score = random_score);

/* Each job on the node after the last one's.  Told the data sheet; no sharing, no moves.
 */
static bool round_robin_score(void *ctx, const struct occupancy *o,
                              const struct optimize_input *in,
                              const struct job_status *job, int device, double *out)
{
    int nodes = in->cluster->node_count;
    int node = in->cluster->devices[device].node;
    int steps = (node - in_order_last_node(ctx) - 1 + nodes) % nodes;

    /* The nearest node decides, on it the first device. */
    *out = (double)steps + (double)device / (in->cluster->device_count + 1.0);
    return free_and_fits(ctx, o, in, job, device);
}
SCORE_POLICY(round_robin, "round-robin", .score = round_robin_score);

/* Devices that have a job first, blind to interference.  Told the data sheet; shares, no
 * moves. */
static bool pack_blind_score(void *ctx, const struct occupancy *o,
                             const struct optimize_input *in,
                             const struct job_status *job, int device, double *out)
{
    /* A gang beside others would be slowed by the slowest of them: give it free devices.
     */
    if (job->job.devices > 1 && o->counts[device] > 0)
        return false;
    *out = in_order_preference(o, in, device) + (o->counts[device] > 0 ? 0 : 1e7);
    return in_order_fits(ctx, in, job, device);
}
SCORE_POLICY(pack_blind, "pack-blind", .score = pack_blind_score);

static double busy(const struct gpu_sheet *gpu, const struct prediction *p)
{
    return fmax(0, p->watts.value - gpu->idle_watts) / (gpu->tdp_watts - gpu->idle_watts);
}

static double busy_there(const struct occupancy *o, const struct optimize_input *in,
                         int device)
{
    const struct job_status *const *there = occupancy_of(o, device);
    int type = in->cluster->devices[device].type;
    double sum = 0;

    for (int i = 0; i < o->counts[device]; i++) {
        struct prediction p = predict_alone_now(in->model, there[i], type);

        sum += busy(&in->cluster->types[type], &p);
    }
    return sum;
}

/* Jobs share a device when their draws above idle, each as predicted alone, add up to no
 * more than the card can draw: what dashboards show, and what many packers go by.  Told
 * rates and watts of jobs alone, nothing of what jobs do to each other; shares, no moves.
 */
static bool pack_util_score(void *ctx, const struct occupancy *o,
                            const struct optimize_input *in, const struct job_status *job,
                            int device, double *out)
{
    const struct gpu_sheet *gpu = &in->cluster->types[in->cluster->devices[device].type];
    const struct prediction *alone = in_order_alone(ctx, in, job, device);

    if (o->counts[device] > 0 &&
        (job->job.devices > 1 || busy(gpu, alone) + busy_there(o, in, device) > 1))
        return false;
    if (!in_order_fits(ctx, in, job, device))
        return false;
    /* The fastest type, on it a device in use, else the usual preference. */
    *out = -alone->rate[0].value * (1 - 1e-9 * in_order_preference(o, in, device) -
                                    (o->counts[device] > 0 ? 0 : 1e-2));
    return take_if_kept(ctx, in, job, device, out);
}
SCORE_POLICY(pack_util, "pack-util", .score = pack_util_score, .backfill = true);

/* The slowest type that is believed to meet the requirement: fast devices stay free for
 * jobs that need them.  Told rates; no sharing; jobs measured to fall short move up. */
static bool slowest_ok_score(void *ctx, const struct occupancy *o,
                             const struct optimize_input *in,
                             const struct job_status *job, int device, double *out)
{
    double tie;

    if (!free_and_fits(ctx, o, in, job, device))
        return false;
    tie = 1e-9 * in_order_preference(o, in, device);
    *out = in_order_shortfall(ctx, in, job, device) > 0
               ? tie
               : in_order_rate(ctx, in, job, device) * (1 + tie);
    return take_if_kept(ctx, in, job, device, out);
}
SCORE_POLICY(slowest_ok, "slowest-ok", .score = slowest_ok_score, .backfill = true,
             .mend = true);

/* What the node costs more because of one more job on one of its devices. */
static double node_watts(const struct occupancy *o, const struct optimize_input *in,
                         int device)
{
    int n = in->cluster->devices[device].node;
    const struct node *node = &in->cluster->nodes[n];
    double idle = in->cluster->types[in->cluster->devices[device].type].idle_watts;

    if (!in->settings->sleep)
        return -idle; /* host and idle draw are there anyway */
    return node->host_watts / node->device_count *
           (o->node_jobs[n] == 0 ? EMPTY_NODE_FACTOR : 1);
}

/* Watts of device and host for the time the work takes there, run like this. */
static double energy_score(struct in_order *order, const struct occupancy *o,
                           const struct optimize_input *in, const struct job_status *job,
                           int device, const struct device_cap *run)
{
    double watts = run->watts + node_watts(o, in, device);
    double score = watts * (1 + 1e-12 * in_order_preference(o, in, device));
    double rate = run->speed * in_order_rate(order, in, job, device);

    /* A service runs as long as it is wanted; training ends the sooner the faster. */
    if (job->job.kind != JOB_TRAINING)
        return score;
    return in_order_needed(in, job) > 0 ? score * (in_order_needed(in, job) / rate)
                                        : score / rate;
}

/* The free device on which the job costs the least energy: type by type the watts of
 * device and host for the time the work takes there.  With sleep it prefers nodes in use:
 * an empty one would stay awake for this job alone.  Told rates and watts; no sharing;
 * jobs measured to fall short move.  The strongest of those that do not share. */
static bool least_energy_score(void *ctx, const struct occupancy *o,
                               const struct optimize_input *in,
                               const struct job_status *job, int device, double *out)
{
    if (!free_and_fits(ctx, o, in, job, device))
        return false;
    *out = energy_score(
        ctx, o, in, job, device,
        &(struct device_cap){.watts = in_order_alone(ctx, in, job, device)->watts.value,
                             .speed = 1});
    return take_if_kept(ctx, in, job, device, out);
}
SCORE_POLICY(least_energy, "least-energy", .score = least_energy_score, .backfill = true,
             .mend = true);

static const struct device_cap_rule least_energy_rule = {0};

/* The same with power limits: device, host and the limit that keeps the requirement are
 * chosen together.  The strongest of those that do not share. */
static bool least_energy_caps_score(void *ctx, const struct occupancy *o,
                                    const struct optimize_input *in,
                                    const struct job_status *job, int device, double *out)
{
    struct device_cap cap;

    if (!free_and_fits(ctx, o, in, job, device))
        return false;
    cap = device_cap_of(in, device, &job, 1, in_order_alone(ctx, in, job, device),
                        &least_energy_rule);
    *out = energy_score(ctx, o, in, job, device, &cap);
    return take_if_kept(ctx, in, job, device, out);
}
SCORE_POLICY(least_energy_caps, "least-energy-caps", .score = least_energy_caps_score,
             .backfill = true, .mend = true, .caps = &least_energy_rule);

/* Zeus: where it costs the least energy, under the limit that minimises half energy, half
 * time at the card's peak (its eta of 0.5).  Zeus profiles the limits of each job; here
 * what a limit does is known as soon as the job is. */
static const struct device_cap_rule zeus_rule = {.against_peak = true};

SCORE_POLICY(zeus_like, "zeus-like", .score = least_energy_score, .backfill = true,
             .mend = true, .caps = &zeus_rule);

/* EAR's min_energy: the least energy of the node within 5 % of the full speed. */
static const struct device_cap_rule ear_rule = {.slowest = 0.95};

SCORE_POLICY(ear_like, "ear-like", .score = least_energy_score, .backfill = true,
             .mend = true, .caps = &ear_rule);

/* ---- power and fragmentation ---- */

/* Weight of power beside fragmentation, both as shares of a card: as its authors found
 * best (arXiv 2412.17484). */
#define PWR_WEIGHT 0.1

/* Of a device with so much left, the share that a job of any size, from nothing to the
 * whole card alike, is expected not to be able to use. */
static double fragment(double left)
{
    return left > 0 ? left * (1 - left) : 0;
}

/* Watts and fragments a job adds, weighed: jobs share while predicted utilisations add up
 * to one device.  Told rates and watts of jobs alone; shares, no moves, no limits. */
static bool pwr_fgd_score(void *ctx, const struct occupancy *o,
                          const struct optimize_input *in, const struct job_status *job,
                          int device, double *out)
{
    int type = in->cluster->devices[device].type;
    const struct gpu_sheet *gpu = &in->cluster->types[type];
    const struct node *node = &in->cluster->nodes[in->cluster->devices[device].node];
    double mine = busy(gpu, in_order_alone(ctx, in, job, device));
    double left = 1 - busy_there(o, in, device), watts;

    if (o->counts[device] > 0 && (job->job.devices > 1 || mine > left))
        return false;
    if (!in_order_fits(ctx, in, job, device))
        return false;
    watts = mine * (gpu->tdp_watts - gpu->idle_watts);
    if (o->node_jobs[in->cluster->devices[device].node] == 0)
        watts += node->host_watts;
    *out = PWR_WEIGHT * watts / gpu->tdp_watts +
           (1 - PWR_WEIGHT) * (fragment(left - mine) - fragment(left)) +
           1e-9 * in_order_preference(o, in, device);
    return take_if_kept(ctx, in, job, device, out);
}
SCORE_POLICY(pwr_fgd, "pwr-fgd", .score = pwr_fgd_score, .backfill = true);
