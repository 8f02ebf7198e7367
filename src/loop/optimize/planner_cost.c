/* planner_cost.c - what a device with its jobs costs: every step of a round that places,
 * moves or caps asks here */
#include "loop/optimize/planner_private.h"

#include "loop/requirement.h"

#include <math.h>

/* Where a job has not been measured, a cap is believed to leave this much above its
 * requirement: it is set for less power, and what it does to the rate is a model. */
#define CAP_MARGIN 1.05
/* What a service could do is inferred, and its demand grows: a cap leaves it more. */
#define SERVICE_CAP_MARGIN 1.25
/* Beside a service: when it has more to do it takes more of the limit, and of the device.
 */
#define BESIDE_SERVICE_CAP_MARGIN 1.06

/* What the chance to fall short costs where a job was not measured in this company: a
 * place that is a little cheaper and a little less sure is not better. */
#define DOUBT_WATTS 150.0

/* How one job fares as part of what a device runs, without a cap. */
struct fare {
    int job;
    double expected; /* rate */
    double sure;     /* rate at the confidence asked for */
    bool here;       /* this very combination runs now, */
    bool keeps;      /* and, a service, it answers what it is asked, in time */
    bool paced;      /* and was measured */
    double guess;    /* rate as the model has it, */
    double hope;     /* and what it may turn out to be */
    double chance;   /* that it keeps the requirement; NaN: nobody has asked yet */
};

static double chance_of(const struct planner_state *s, struct fare *f)
{
    if (isnan(f->chance))
        f->chance = planner_chance(&s->jobs.items[f->job], f->guess, f->hope);
    return f->chance;
}

/* What the job is known to do here without a cap, from its last windows. */
static double paced_rate(const struct planner_state *s, int type, int job, double watts)
{
    const struct recent_rate *pace = &s->jobs.items[job].status->pace;
    const struct gpu_sheet *gpu = &s->in->cluster->types[type];

    if (!(pace->cap_watts > 0))
        return pace->rate;
    return pace->rate /
           pow(power_under_cap(gpu, power_busy(gpu, watts), pace->cap_watts).speed,
               s->types[type].steepness);
}

static bool is_service(const struct planner_state *s, int job)
{
    return s->jobs.items[job].status->job.kind == JOB_INFERENCE;
}

/* A service that falls short does less than it must, whatever it is believed to do. */
#define SHORT_SHARE 0.95

/* What a service could do no window tells: the model infers it from them. */
static void note_service(const struct planner_state *s, int type, double watts,
                         struct fare *f)
{
    const struct planner_job *job = &s->jobs.items[f->job];
    double most = SHORT_SHARE * job->keep / job->status->pace.rate;

    f->keeps = !job->suffers;
    if (job->suffers)
        f->expected = f->sure =
            fmin(f->expected, fmin(1, most) * paced_rate(s, type, f->job, watts));
}

/* Who falls short alone on a device does no better beside somebody on its like, whatever
 * is believed of the two. */
static void note_short_alone(const struct planner_state *s, int type, double watts,
                             struct fare *f)
{
    const struct planner_job *job = &s->jobs.items[f->job];
    const struct device *dev;

    if (f->here || !job->suffers || job->status->device_count != 1)
        return;
    dev = &s->in->cluster->devices[job->status->devices[0]];
    if (dev->type != type || dev->job_count != 1)
        return;
    if (is_service(s, f->job))
        note_service(s, type, watts, f);
    else
        f->expected = f->sure = fmin(f->expected, paced_rate(s, type, f->job, watts));
}

/* What is measured counts as it is.  All else is judged by the same view, also the place
 * a job has and was not measured at yet: it would lose against its like elsewhere. */
static void note_pace(const struct planner_state *s, int type, double watts, double hope,
                      double boldness, struct fare *f)
{
    f->guess = f->expected;
    f->hope = hope;
    f->chance = NAN;
    f->paced = f->here && s->jobs.items[f->job].paced;
    if (f->paced && is_service(s, f->job))
        note_service(s, type, watts, f);
    else if (f->paced)
        f->expected = f->sure = paced_rate(s, type, f->job, watts);
    else if (boldness > 0)
        f->expected *= pow(hope / f->expected, boldness); /* from the guess to the hope */
    note_short_alone(s, type, watts, f);
}

/* What the job does under a limit that leaves it this speed.  What was inferred of a
 * service is relied on only as far as it is sure. */
static double capped_rate(const struct planner_state *s, const struct fare *f,
                          double speed)
{
    bool measured = f->here && !(speed < 1 && is_service(s, f->job));

    return speed * (measured ? f->expected : f->sure);
}

/* A cap that has not been tried takes at most so much of a rate at a time. */
#define CAP_STEP_SPEED 0.9

/* A cap in force, or a higher one; the next to be tried; one that will be, some day. */
enum cap_step { CAP_TRIED, CAP_NEXT, CAP_SOME_DAY };

static enum cap_step step_to(int level, int now, bool next)
{
    if (level <= now)
        return CAP_TRIED;
    return next ? CAP_NEXT : CAP_SOME_DAY;
}

/* What a cap has to leave of a job's requirement. */
static double cap_margin(const struct planner_state *s, const struct fare *f,
                         enum cap_step step, bool beside_service)
{
    double headroom = is_service(s, f->job) ? SERVICE_CAP_MARGIN
                      : beside_service      ? BESIDE_SERVICE_CAP_MARGIN
                                            : 1;

    if (step == CAP_SOME_DAY)
        return headroom * CAP_MARGIN;
    if (step == CAP_TRIED)
        return headroom;
    return headroom * planner_cap_margin(s->jobs.items[f->job].status->pace.windows);
}

static double member_cost(const struct planner_state *s, struct fare *f, double speed,
                          enum cap_step step, bool beside_service)
{
    const struct planner_job *job = &s->jobs.items[f->job];
    double rate = capped_rate(s, f, speed);
    double needed = f->here ? job->keep : job->need;
    bool unpromised = job->status->job.unpromised && !f->paced;
    double cost = 0;

    if (speed < 1)
        needed = cap_margin(s, f, step, beside_service) * job->capped;

    if (unpromised && chance_of(s, f) >= PLANNER_CHANCE_LEAST)
        cost += PLANNER_UNSURE_WATTS * (1 - chance_of(s, f));
    else if (rate < needed && !(f->keeps && !(speed < 1)))
        cost += PLANNER_SHORT_WATTS * (0.2 + (needed - rate) / needed);
    else if (!f->paced)
        cost += DOUBT_WATTS * (1 - chance_of(s, f));
    return cost - planner_worth(s, job) * fmin(1, speed * f->expected / job->unit);
}

/* *least: what a deeper limit costs at least, because all it can save is the power. */
static double capped_cost(const struct planner_state *s, int type, int cap, double watts,
                          struct fare *fares, int count, enum cap_step step,
                          double *least)
{
    struct power_capped run = planner_under_cap(&s->types[type], cap, watts);
    /* A gang's progress counts once, for all of its devices; so does the power of all. */
    double power = (run.watts - s->types[type].idle_watts) *
                   s->jobs.items[fares[0].job].status->job.devices;
    double cost = power;

    for (int i = 0; i < count; i++)
        cost += member_cost(s, &fares[i], run.speed, step,
                            count > 1 && is_service(s, fares[1 - i].job));
    *least = cost - fmax(0, power);
    return cost;
}

/* A service that does well is moved, or gets a neighbour, only where it is rather sure to
 * go on so: as surely below the guess as the hope is above it. */
static double sure_rate(const struct planner_state *s, const struct fare *f, double hope)
{
    const struct planner_job *j = &s->jobs.items[f->job];

    if (f->here || !is_service(s, f->job) || !j->paced || j->suffers)
        return f->sure;
    return f->expected * f->expected / hope;
}

/* Fill the fares of a device; false: memory does not suffice. */
static bool ask(struct planner_state *s, int type, int a, int b, struct fare *fares,
                double *watts)
{
    const struct planner_job *x = &s->jobs.items[a];
    bool here = planner_runs_here(s, type, a, b);

    if (b < 0) {
        const struct table_alone *alone = &x->kind->alone[type];

        fares[0] = (struct fare){
            .job = a, .expected = alone->expected, .sure = alone->rate, .here = here};
        fares[0].sure = sure_rate(s, &fares[0], alone->hope);
        *watts = alone->watts;
        note_pace(s, type, *watts, alone->hope, s->view.alone, &fares[0]);
        return alone->fits >= PREDICT_FITS_LEAST || here;
    }
    struct table_pair pair =
        prediction_table_pair_on(s->table, x->kind, s->jobs.items[b].kind, type);

    *watts = (double)pair.watts;
    for (int e = 0; e < 2; e++) {
        fares[e] = (struct fare){.job = e ? b : a,
                                 .expected = (double)pair.expected[e],
                                 .sure = (double)pair.rate[e],
                                 .here = here};
        fares[e].sure = sure_rate(s, &fares[e], (double)pair.hope[e]);
        note_pace(s, type, *watts, (double)pair.hope[e], s->view.pair, &fares[e]);
    }
    return (pair.fits && pair.rate[0] > 0) || here;
}

/* Sums are not exact. */
#define LEAST_SLACK 1e-6

/* The cap it is cheapest with, in the end; or the next one on the way there. */
static double work_out(struct planner_state *s, int type, int a, int b, bool next,
                       double *best_cap)
{
    double best = PLANNER_NEVER, watts;
    struct planner_cap_range range = {0, s->types[type].caps - 1};
    struct fare fares[2];
    double least_speed;

    *best_cap = 0;
    if (!ask(s, type, a, b, fares, &watts))
        return PLANNER_NEVER;
    if (fares[0].paced && (b < 0 || fares[1].paced))
        range = planner_cap_range(s, s->jobs.items[a].status->devices[0], a, b);
    else
        next = false; /* nothing was tried yet */
    least_speed =
        CAP_STEP_SPEED * planner_under_cap(&s->types[type], range.now, watts).speed;
    for (int c = 0; c <= range.deepest; c++) {
        double cost, least;

        if (next && c > range.now &&
            planner_under_cap(&s->types[type], c, watts).speed < least_speed)
            break;
        cost = capped_cost(s, type, c, watts, fares, b < 0 ? 1 : 2,
                           step_to(c, range.now, next), &least);

        if (cost < best) {
            best = cost;
            *best_cap = s->types[type].cap_watts[c];
        }
        if (least > best + LEAST_SLACK)
            break;
    }
    return best;
}

struct planner_draw planner_draw(struct planner_state *s, int type, int a, int b,
                                 double cap_watts)
{
    const struct planner_type *t = &s->types[type];
    struct planner_draw draw = {t->idle_watts, true};
    struct power_capped run;
    struct fare fares[2];
    double watts;
    int cap = 0;

    if (a < 0 || !ask(s, type, a, b, fares, &watts))
        return draw;
    while (cap + 1 < t->caps && fabs(t->cap_watts[cap] - cap_watts) > 0.5)
        cap++;
    run = planner_under_cap(t, cap, watts);
    draw.watts = fmax(run.watts, t->idle_watts);
    for (int i = 0; i < (b < 0 ? 1 : 2); i++) {
        const struct planner_job *j = &s->jobs.items[fares[i].job];
        double rate = capped_rate(s, &fares[i], run.speed);

        draw.kept = draw.kept && (rate >= (run.speed < 1 ? CAP_MARGIN : 1) * j->capped ||
                                  (fares[i].keeps && !(run.speed < 1)));
    }
    return draw;
}

/* What is not in the memo. */
static double lone_cost(struct planner_state *s, int type, int a, int b)
{
    struct planner_alone *alone = b < 0 ? planner_alone_of(s, type, a) : NULL;
    struct planner_beside *two = b < 0 ? NULL : planner_beside_of(s, type, a, b);
    long look = s->memos[s->aside].look;
    double ignored;

    if (two) {
        if (two->look != look || two->type != type || two->a != a || two->b != b)
            *two = (struct planner_beside){look, type, a, b,
                                           work_out(s, type, a, b, false, &ignored)};
        return two->cost;
    }
    if (!alone)
        return work_out(s, type, a, b, false, &ignored);
    if (alone->look != look) {
        alone->cost = work_out(s, type, a, -1, false, &ignored);
        alone->look = look;
    }
    return alone->cost;
}

double planner_cost(struct planner_state *s, int type, int a, int b, double *cap)
{
    double cost;
    float *memo;

    if (a < 0) {
        a = b;
        b = -1;
    }
    if (a < 0) {
        if (cap)
            *cap = 0;
        return 0;
    }
    memo = planner_memo_of(s, type, a, b);
    if (memo && !cap && !isnan(*memo))
        return (double)*memo;
    if (cap)
        return work_out(s, type, a, b, true, cap);
    cost = lone_cost(s, type, a, b);
    if (memo)
        *memo = (float)cost;
    return cost;
}

double planner_node_cost(const struct planner_state *s, int node)
{
    const struct node *n = &s->in->cluster->nodes[node];

    if (!s->in->settings->sleep || !n->may_sleep)
        return 0;
    return n->host_watts + cluster_idle_watts(s->in->cluster, node) - n->sleep_watts;
}

static bool shares(const struct planner_state *s, int job, int device)
{
    const struct job *j = &s->jobs.items[job].status->job;

    return j->may_share && j->devices == 1 &&
           cluster_share_most(s->in->cluster, device, s->in->settings->share_max) > 1;
}

bool planner_allowed(const struct planner_state *s, int job, int device)
{
    return s->usable.items[device] && planner_may_use(s, job, device) &&
           requirement_allows_type(&s->jobs.items[job].status->job,
                                   s->in->cluster->devices[device].type);
}

double planner_add_cost(struct planner_state *s, int job, int device, double share)
{
    const struct device *dev = &s->in->cluster->devices[device];
    const int *m = planner_members(s, device);
    double cost;

    if (m[1] >= 0 || !planner_allowed(s, job, device) ||
        !planner_has_room(s, job, dev->node, 1))
        return PLANNER_NEVER;
    if (m[0] >= 0 && (!shares(s, job, device) || !shares(s, m[0], device)))
        return PLANNER_NEVER;
    cost = planner_cost(s, dev->type, m[0], job, NULL);
    if (cost >= PLANNER_IMPOSSIBLE)
        return PLANNER_NEVER;
    cost -= planner_cost(s, dev->type, m[0], -1, NULL);
    if (s->node_jobs.items[dev->node] == 0)
        cost += share * planner_node_cost(s, dev->node);
    return cost;
}

double planner_place_cost(struct planner_state *s, int job)
{
    int device = s->jobs.items[job].device;
    const struct device *dev = &s->in->cluster->devices[device];
    const int *m = planner_members(s, device);
    int other = m[0] == job ? m[1] : m[0];
    double cost = planner_cost(s, dev->type, job, other, NULL) -
                  planner_cost(s, dev->type, other, -1, NULL);

    if (s->node_jobs.items[dev->node] == 1)
        cost += planner_node_cost(s, dev->node);
    return cost;
}
