/* planner_improve.c - moves: for jobs that do less than they must, in each round of
 * planner.c, and for less cost, now and then */
#include "loop/optimize/planner_private.h"

#include <limits.h>
#include <math.h>

/* A move has to earn this many times what it costs: the pause is part of a promise, what
 * is believed of the new place may be wrong, and the cluster will look different soon.
 * Services feel a pause more, and each further one more again. */
#define EARN_TRAINING    28.0
#define EARN_SERVICE     240.0
#define CAUTION_TRAINING 0.25
#define CAUTION_SERVICE  4.0
/* Nobody knows what the cluster looks like after this long.  With a shorter horizon and a
 * lower hurdle as many moves went to jobs with less to gain. */
#define HORIZON_S 14400.0
/* Watts of a device that stands still for a move. */
#define PAUSE_WATTS 250.0
#define SWAPS_A_JOB 4
/* Large clusters are improved a part at a time: so many jobs a pass, and for each so many
 * devices, taken at random. */
#define JOBS_A_PASS    160
#define DEVICES_A_LOOK 320
/* Fewer jobs on a node than this: worth a thought whether they fit elsewhere. */
#define EVACUATE_MOST 6
/* After each move a gang or a service is left alone longer: where nothing helps it must
 * not wander. */
#define PATIENCE_S 600.0

/* On large clusters so many who fall short are helped in a round, whoever comes first
 * from a random one on, and each looks at so many devices; in a round that improves, and
 * is not in a hurry, twice as many. */
#define MENDS_A_ROUND   2
#define DEVICES_TO_MEND 96

/* Joules a move must save. */
double planner_hurdle(const struct planner_state *s, const struct planner_job *j)
{
    bool service = j->status->job.kind == JOB_INFERENCE;
    double caution =
        1 + (service ? CAUTION_SERVICE : CAUTION_TRAINING) * j->status->moves;

    return caution * (service ? EARN_SERVICE : EARN_TRAINING) *
           fmax(s->settings.move_s, 1) * PAUSE_WATTS;
}

double planner_horizon(const struct planner_state *s, const struct planner_job *j)
{
    return fmin(planner_left_s(s, j), HORIZON_S);
}

/* A neighbour's cost ends when the neighbour does, so a move away from a job, or next to
 * one, pays only until that job ends.  A move that also pays without the neighbour is
 * found in the first round after it has left. */
static double beside_horizon(const struct planner_state *s, double h, int device,
                             int besides)
{
    const int *m = planner_members(s, device);

    for (int e = 0; e < 2; e++)
        if (m[e] >= 0 && m[e] != besides)
            h = fmin(h, planner_left_s(s, &s->jobs.items[m[e]]));
    return h;
}

/* What moves take from a job's promise, with what it was seen to fall short, stays within
 * this share of its time so far.  By its age: how long it will still run is hearsay. */
#define SHORT_BUDGET 0.005

bool planner_within_budget(const struct planner_state *s, const struct planner_job *j)
{
    double short_s = (j->status->moves + 1) * s->settings.move_s + j->status->short_s;

    return short_s <= SHORT_BUDGET * (s->in->now_s - j->status->started_s);
}

/* For less cost; who falls short is moved whatever it took so far. */
static bool may_move(const struct planner_state *s, const struct planner_job *j)
{
    return j->movable && planner_has_settled(s, j) && !j->moved && j->device >= 0 &&
           planner_within_budget(s, j);
}

bool planner_has_waited(const struct planner_state *s, const struct planner_job *j)
{
    return s->in->now_s - j->status->placed_s >= PATIENCE_S * j->status->moves;
}

int planner_mends(const struct planner_state *s)
{
    if (s->in->cluster->device_count <= PLANNER_LARGE)
        return INT_MAX;
    return s->improves ? 2 * MENDS_A_ROUND : MENDS_A_ROUND;
}

size_t planner_first_mended(struct planner_state *s)
{
    size_t count = s->jobs.count, at = 0;
    int first;

    if (s->in->cluster->device_count <= PLANNER_LARGE || count == 0)
        return 0;
    first = (int)rng_below(&s->rng, count);
    while (at < s->suffering.count && s->suffering.items[at] < first)
        at++;
    return at;
}

static void move(struct planner_state *s, int job, int device)
{
    int from = s->jobs.items[job].device;

    planner_detach(s, job, &from, 1);
    planner_attach(s, job, &device, 1);
    s->jobs.items[job].moved = true;
}

static int looks_to_mend(const struct planner_state *s)
{
    if (s->in->cluster->device_count <= PLANNER_LARGE)
        return DEVICES_A_LOOK;
    return s->improves ? 2 * DEVICES_TO_MEND : DEVICES_TO_MEND;
}

/* The best other place of a job that has just been taken off its device. */
static int best_place(struct planner_state *s, int job, int not_here, bool only_used,
                      int most, double *cost)
{
    int best = -1, count = s->in->cluster->device_count;
    int first = count > most ? (int)rng_below(&s->rng, (size_t)count) : 0;

    for (int i = 0; i < count && i < most; i++) {
        int d = (first + i) % count;
        int node = s->in->cluster->devices[d].node;
        double c;

        if (d == not_here || (only_used && s->node_jobs.items[node] == 0))
            continue;
        c = planner_add_cost(s, job, d, 1);
        if (c < *cost - 1e-3) {
            *cost = c;
            best = d;
        }
    }
    return best;
}

static void relocate(struct planner_state *s, int job, bool mend)
{
    struct planner_job *j = &s->jobs.items[job];
    int from = j->device, to;
    double now = planner_place_cost(s, job), cost = now, h;

    planner_detach(s, job, &from, 1);
    to = best_place(s, job, from, false, mend ? looks_to_mend(s) : DEVICES_A_LOOK, &cost);
    planner_attach(s, job, &from, 1);
    if (mend && cost > PLANNER_KEEPS) {
        int hopeful = planner_hopeful_place(s, job);

        if (hopeful >= 0) {
            move(s, job, hopeful);
            return;
        }
    }
    if (to < 0)
        return;
    h = beside_horizon(s, beside_horizon(s, planner_horizon(s, j), from, job), to, job);
    if (mend ? now - cost > PLANNER_KEEPS
             : (now - cost) * h > planner_hurdle(s, j) &&
                   planner_left_s(s, j) > PLANNER_LEFT_LEAST_S)
        move(s, job, to);
}

/* Not helped by another cap, nor by a neighbour that has just been moved away? */
static bool still_short(struct planner_state *s, int job)
{
    const struct planner_job *j = &s->jobs.items[job];
    const int *m = planner_members(s, j->device);

    return planner_cost(s, s->in->cluster->devices[j->device].type, m[0], m[1], NULL) >
           PLANNER_KEEPS;
}

/* The neighbour of a job that falls short goes, if both do better then. */
static void send_neighbour_away(struct planner_state *s, int job)
{
    int device = s->jobs.items[job].device;
    const int *m = planner_members(s, device);
    int other = m[0] == job ? m[1] : m[0], to;
    double now, cost;

    if (other < 0 || !s->jobs.items[other].movable || s->jobs.items[other].moved ||
        s->jobs.items[other].status->job.priority >
            s->jobs.items[job].status->job.priority)
        return;
    now = cost = planner_place_cost(s, other);
    planner_detach(s, other, &device, 1);
    to = best_place(s, other, device, false, looks_to_mend(s), &cost);
    planner_attach(s, other, &device, 1);
    if (to >= 0 && now - cost > PLANNER_KEEPS)
        move(s, other, to);
}

/* What a service could do elsewhere is known badly while it has too many requests. */
static bool may_mend(const struct planner_state *s, const struct planner_job *j)
{
    return j->status->job.kind != JOB_INFERENCE || planner_has_waited(s, j);
}

/* Everybody who asks a service feels the pause of its move.  A job that trains beside it
 * loses less by one. */
static bool trains_beside(const struct planner_state *s, int job)
{
    const int *m = planner_members(s, s->jobs.items[job].device);
    int other = m[0] == job ? m[1] : m[0];

    return s->jobs.items[job].status->job.kind == JOB_INFERENCE && other >= 0 &&
           s->jobs.items[other].status->job.kind != JOB_INFERENCE;
}

/* Help those who do less than they must.  Whoever finds no better place keeps what it
 * has: a job is never stopped for want of a better place.  A service moves only when the
 * training beside it cannot go instead. */
void planner_mend(struct planner_state *s)
{
    size_t count = s->suffering.count, first = planner_first_mended(s);
    int left = planner_mends(s);

    for (size_t k = 0; k < count && left > 0; k++) {
        int i = s->suffering.items[(first + k) % count];
        const struct planner_job *j = &s->jobs.items[i];

        if (j->moved || j->device < 0 || j->gang)
            continue;
        left--;
        if (trains_beside(s, i))
            send_neighbour_away(s, i);
        if (j->movable && may_mend(s, j) && still_short(s, i))
            relocate(s, i, true);
        if (!j->moved && still_short(s, i))
            send_neighbour_away(s, i);
    }
    planner_mend_gangs(s);
}

/* ---- for less cost ---- */

static void shuffle_running(struct planner_state *s)
{
    vec_clear(&s->order);
    for (int i = 0; i < (int)s->jobs.count; i++)
        if (may_move(s, &s->jobs.items[i]))
            vec_push(&s->order, i);
    for (size_t i = s->order.count; i > 1; i--) {
        size_t k = rng_below(&s->rng, i);
        int swap = s->order.items[i - 1];

        s->order.items[i - 1] = s->order.items[k];
        s->order.items[k] = swap;
    }
    if (s->order.count > JOBS_A_PASS)
        s->order.count = JOBS_A_PASS;
}

static double cost_of(struct planner_state *s, int device, int instead, int of)
{
    const int *m = planner_members(s, device);

    return planner_cost(s, s->in->cluster->devices[device].type,
                        m[0] == of ? instead : m[0], m[1] == of ? instead : m[1], NULL);
}

/* May the job come to a device that somebody else of two stays on? */
static bool joins(const struct planner_state *s, const struct planner_job *j, int device)
{
    return planner_members(s, device)[1] < 0 ||
           (j->status->job.may_share &&
            cluster_share_most(s->in->cluster, device, s->settings.share_max) > 1);
}

/* Exchange two jobs that run on different devices. */
static void try_swap(struct planner_state *s, int a, int b)
{
    struct planner_job *x = &s->jobs.items[a], *y = &s->jobs.items[b];
    int dx = x->device, dy = y->device;
    double h = fmin(planner_horizon(s, x), planner_horizon(s, y)), before, after;

    if (dx == dy || !may_move(s, x) || !may_move(s, y) || h < PLANNER_LEFT_LEAST_S)
        return;
    if (!planner_allowed(s, a, dy) || !planner_allowed(s, b, dx) ||
        !planner_has_room_swapped(s, a, b))
        return;
    /* Where nobody may share any more, those who do already stay as they are. */
    if (!joins(s, y, dx) || !joins(s, x, dy))
        return;
    h = beside_horizon(s, beside_horizon(s, h, dx, a), dy, b);
    before = cost_of(s, dx, a, a) + cost_of(s, dy, b, b);
    after = cost_of(s, dx, b, a) + cost_of(s, dy, a, b);
    if ((before - after) * h <= planner_hurdle(s, x) + planner_hurdle(s, y))
        return;
    planner_detach(s, a, &dx, 1);
    planner_detach(s, b, &dy, 1);
    planner_attach(s, a, &dy, 1);
    planner_attach(s, b, &dx, 1);
    x->moved = y->moved = true;
}

static void try_swaps(struct planner_state *s)
{
    size_t count = s->order.count;

    for (size_t i = 0; i < SWAPS_A_JOB * count && count > 1; i++)
        try_swap(s, s->order.items[rng_below(&s->rng, count)],
                 s->order.items[rng_below(&s->rng, count)]);
}

/* The jobs of a node; 0 when it cannot be emptied. */
static int jobs_of_node(struct planner_state *s, int node, int *jobs)
{
    const struct node *n = &s->in->cluster->nodes[node];
    int count = 0;

    if (n->state != NODE_AWAKE || s->node_jobs.items[node] > EVACUATE_MOST)
        return 0;
    for (int d = n->first_device; d < n->first_device + n->device_count; d++)
        for (int e = 0; e < 2; e++) {
            int job = planner_members(s, d)[e];

            if (job < 0)
                continue;
            if (!may_move(s, &s->jobs.items[job]) ||
                planner_left_s(s, &s->jobs.items[job]) < PLANNER_LEFT_LEAST_S)
                return 0;
            jobs[count++] = job;
        }
    return count;
}

static double node_now(struct planner_state *s, int node)
{
    const struct node *n = &s->in->cluster->nodes[node];
    double cost = planner_node_cost(s, node);

    for (int d = n->first_device; d < n->first_device + n->device_count; d++)
        cost += cost_of(s, d, -1, -2);
    return cost;
}

/* Send all jobs of a node elsewhere, so that it can sleep. */
static void evacuate(struct planner_state *s, int node)
{
    int jobs[EVACUATE_MOST], from[EVACUATE_MOST], to[EVACUATE_MOST];
    int count = jobs_of_node(s, node, jobs), done = 0;
    double before, after = 0, hurdles = 0, h = HORIZON_S / 2;

    if (count < 2)
        return; /* one alone is relocate()'s */
    before = node_now(s, node);
    for (int i = 0; i < count; i++) {
        from[i] = s->jobs.items[jobs[i]].device;
        hurdles += planner_hurdle(s, &s->jobs.items[jobs[i]]);
        h = fmin(h, planner_left_s(s, &s->jobs.items[jobs[i]]));
        planner_detach(s, jobs[i], &from[i], 1);
    }
    for (; done < count; done++) {
        double cost = PLANNER_SHORT_WATTS;

        to[done] = best_place(s, jobs[done], from[done], true, DEVICES_A_LOOK, &cost);
        if (to[done] < 0)
            break;
        planner_attach(s, jobs[done], &to[done], 1);
        after += cost;
    }
    bool pays = done == count && (before - after) * h > hurdles;

    for (int i = 0; i < done && !pays; i++)
        planner_detach(s, jobs[i], &to[i], 1);
    for (int i = 0; i < count; i++) {
        if (!pays)
            planner_attach(s, jobs[i], &from[i], 1);
        else
            s->jobs.items[jobs[i]].moved = true;
    }
}

void planner_improve(struct planner_state *s)
{
    shuffle_running(s);
    for (size_t i = 0; i < s->order.count; i++)
        if (may_move(s, &s->jobs.items[s->order.items[i]]))
            relocate(s, s->order.items[i], false);
    try_swaps(s);
    planner_improve_gangs(s);
    for (int n = 0; n < s->in->cluster->node_count && s->settings.sleep; n++)
        evacuate(s, n);
}
