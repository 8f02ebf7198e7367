/* planner_place.c - seats for those who wait; called by planner.c when what runs has been
 * looked at */
#include "loop/optimize/planner_private.h"

#include "loop/requirement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Among equals the node that is awake. */
#define ASLEEP_WATTS 1.0
/* From this part of the grace time on, any place is better than none. */
#define GRACE_USED 0.8

/* A node that has fewer devices than are wanted comes after all that have enough. */
#define SCORE_TOO_FEW 1000

/* On large clusters a job looks at so many devices that somebody has; all it could find
 * on more is what it finds on these, a little cheaper. */
#define BESIDE_MOST 192

/* All empty devices of a type on nodes in the same state are alike. */
static int alike_of(const struct planner_state *s, int device)
{
    const struct device *dev = &s->in->cluster->devices[device];
    enum node_state state = s->in->cluster->nodes[dev->node].state;
    int mode = s->node_jobs.items[dev->node] > 0 ? 0 : state == NODE_AWAKE ? 1 : 2;

    return dev->type * 3 + mode;
}

/* Is nothing on the node worth a look: no device that somebody has, as enough were looked
 * at, nor an empty one unlike those seen? */
static bool nothing_new(const struct planner_state *s, int node, const bool *seen,
                        int beside)
{
    if (s->in->cluster->device_count <= PLANNER_LARGE || beside < BESIDE_MOST)
        return false;
    return s->node_empty.items[node] == 0 ||
           (s->node_type.items[node] >= 0 &&
            seen[alike_of(s, s->in->cluster->nodes[node].first_device)]);
}

static void find_single(struct planner_state *s, int job, struct planner_seats *best)
{
    const struct cluster *c = s->in->cluster;
    bool seen[3 * CLUSTER_MAX_TYPES] = {false};
    int count = c->device_count, beside = 0;
    /* From anywhere on, but in the same order each time it is asked for this job. */
    int first =
        count > PLANNER_LARGE
            ? (int)(rng_mix(s->jobs.items[job].status->job.id, 1) % (uint64_t)count)
            : 0;

    for (int i = 0; i < count; i++) {
        int d = (first + i) % count, node = c->devices[d].node;
        double cost;

        if (d == c->nodes[node].first_device && nothing_new(s, node, seen, beside)) {
            i += c->nodes[node].device_count - 1;
            continue;
        }
        if (!planner_reaches(s, job, node) || !planner_has_room(s, job, node, 1))
            continue;
        if (planner_members(s, d)[0] < 0 && s->usable.items[d]) {
            if (seen[alike_of(s, d)])
                continue;
            seen[alike_of(s, d)] = true;
        } else if (planner_members(s, d)[1] >= 0 ||
                   (count > PLANNER_LARGE && beside++ >= BESIDE_MOST)) {
            continue;
        }
        cost = planner_add_cost(s, job, d, PLANNER_FIRST_SHARE);
        if (c->nodes[node].state == NODE_ASLEEP)
            cost += ASLEEP_WATTS;
        if (cost < best->cost) {
            best->cost = cost;
            best->devices[0] = d;
        }
    }
}

static bool free_for(const struct planner_state *s, int job, int device, int type)
{
    return s->in->cluster->devices[device].type == type && s->usable.items[device] &&
           planner_members(s, device)[0] < 0 && planner_may_use(s, job, device);
}

static int free_on_node(const struct planner_state *s, int job, int node, int type)
{
    const struct node *n = &s->in->cluster->nodes[node];
    int count = 0;

    for (int d = n->first_device; d < n->first_device + n->device_count; d++)
        count += free_for(s, job, d, type);
    return planner_room_devices(s, job, node, count);
}

/* Lower is better, with so many devices free for the job; and the least it may come to
 * when all its empty devices were. */
static double score_of(const struct planner_state *s, int node, int free, int wanted)
{
    double score = free >= wanted ? free - wanted : SCORE_TOO_FEW - free;

    return s->node_jobs.items[node] == 0 ? score + 0.5 : score;
}

static double least_score(const struct planner_state *s, int node, int wanted)
{
    int empty = s->node_empty.items[node];

    return score_of(s, node, empty < wanted ? empty : wanted, wanted);
}

/* The node to take devices from next: one that has all, the tightest such; else the one
 * with most.  Nodes in use before empty ones. */
static int next_node(const struct planner_state *s, int job, int type, int wanted,
                     const bool *used)
{
    int best = -1;
    double best_score = INFINITY;

    for (int n = 0; n < s->in->cluster->node_count && best_score > 0; n++) {
        int of_type = s->node_type.items[n], free;
        double score;

        if (used[n] || s->node_empty.items[n] == 0 || (of_type >= 0 && of_type != type) ||
            least_score(s, n, wanted) >= best_score)
            continue;
        free = free_on_node(s, job, n, type);
        score = score_of(s, n, free, wanted);
        if (free > 0 && score < best_score) {
            best = n;
            best_score = score;
        }
    }
    return best;
}

/* What it costs a gang to span nodes: progress, and maybe its requirement. */
static double spread_cost(const struct planner_state *s, const struct planner_job *j,
                          int type)
{
    double spread = j->kind->spread, rate = j->kind->alone[type].rate;
    double cost = (1 - spread) * planner_worth(s, j);

    if (rate >= j->need && spread * rate < j->need)
        cost += PLANNER_SHORT_WATTS * (0.2 + 1 - spread * rate / j->need);
    return cost;
}

/* The devices of a gang on one type, on as few nodes as may be; false: there are none, or
 * they cost at least `below`. */
static bool gang_on_type(struct planner_state *s, int job, int type, bool *used,
                         double below, struct planner_seats *out)
{
    const struct cluster *c = s->in->cluster;
    const struct planner_job *j = &s->jobs.items[job];
    int wanted = j->status->job.devices, got = 0, nodes = 0;
    double cost = planner_cost(s, type, job, -1, NULL);

    if (cost >= fmin(below, PLANNER_IMPOSSIBLE)) /* nodes only add to it */
        return false;
    out->cost = 0;
    memset(used, 0, (size_t)c->node_count * sizeof(*used));
    while (got < wanted) {
        int n = next_node(s, job, type, wanted - got, used), left;

        if (n < 0)
            return false;
        left = free_on_node(s, job, n, type);
        used[n] = true;
        nodes++;
        if (s->node_jobs.items[n] == 0)
            out->cost += PLANNER_FIRST_SHARE * planner_node_cost(s, n);
        for (int d = c->nodes[n].first_device;
             d < c->nodes[n].first_device + c->nodes[n].device_count && got < wanted &&
             left > 0;
             d++)
            if (free_for(s, job, d, type)) {
                out->devices[got++] = d;
                left--;
            }
    }
    out->cost += cost;
    if (nodes > 1)
        out->cost += spread_cost(s, j, type);
    return true;
}

double planner_gang_cost(struct planner_state *s, int job, const int *devices)
{
    const struct cluster *c = s->in->cluster;
    const struct planner_job *j = &s->jobs.items[job];
    int count = j->status->job.devices, type = c->devices[devices[0]].type;
    int other = planner_members(s, devices[0])[0];
    double cost =
        planner_cost(s, type, job, other, NULL) - planner_cost(s, type, other, -1, NULL);

    for (int k = 0; k < count; k++) {
        bool seen = s->node_jobs.items[c->devices[devices[k]].node] > 0;

        for (int i = 0; i < k && !seen; i++)
            seen = c->devices[devices[i]].node == c->devices[devices[k]].node;
        if (!seen)
            cost += planner_node_cost(s, c->devices[devices[k]].node);
    }
    /* What was measured where it is has that in it. */
    if (cluster_nodes_spanned(c, devices, count) > 1 &&
        !(j->paced && devices == j->status->devices))
        cost += spread_cost(s, j, type);
    return cost;
}

/* ---- two gangs on the same devices ---- */

/* On large clusters so many gangs are looked at as company. */
#define COMPANIONS_MOST 128

static bool shares(const struct planner_state *s, const struct planner_job *j)
{
    return j->status->job.may_share && s->settings.share_max > 1;
}

/* Is the gang alone on its devices, all of which the job may have? */
static bool may_join(const struct planner_state *s, int job, int other)
{
    const struct planner_job *o = &s->jobs.items[other];
    const struct job_status *status = o->status;

    if (other == job || o->moved || o->stopped)
        return false;
    for (int k = 0; k < status->device_count; k++) {
        const int *m = planner_members(s, status->devices[k]);

        if (m[0] != other || m[1] >= 0 || !planner_allowed(s, job, status->devices[k]) ||
            cluster_share_most(s->in->cluster, status->devices[k],
                               s->settings.share_max) < 2)
            return false;
    }
    return planner_has_room_all(s, job, status->devices, status->device_count);
}

/* The first gang from a job on that is the same each time it is asked for this one. */
static int some_gang(const struct planner_state *s, int job)
{
    int from =
        (int)(rng_mix(s->jobs.items[job].status->job.id, 2) % (uint64_t)s->jobs.count);
    int low = 0, high = (int)s->gang_jobs.count;

    while (low < high) {
        int middle = (low + high) / 2;

        if (s->gang_jobs.items[middle].job < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Beside a gang of the same size, on all of its devices: the slowest device sets the pace
 * of a gang, so on some of them it would lose as much and save less. */
static void find_companion(struct planner_state *s, int job, struct planner_seats *best)
{
    const struct planner_job *j = &s->jobs.items[job];
    int count = (int)s->gang_jobs.count, left = COMPANIONS_MOST;
    int wanted = j->status->job.devices;
    int first = s->in->cluster->device_count > PLANNER_LARGE ? some_gang(s, job) : 0;

    if (!shares(s, j))
        return;
    for (int i = 0; i < count && left > 0; i++) {
        const struct planner_gang *gang = &s->gang_jobs.items[(first + i) % count];
        int other = gang->job, type;
        const int *devices;
        double cost;

        if (gang->beside != wanted || !may_join(s, job, other))
            continue;
        left--;
        devices = s->jobs.items[other].status->devices;
        type = s->in->cluster->devices[devices[0]].type;
        cost = planner_cost(s, type, other, job, NULL);
        if (cost >= PLANNER_IMPOSSIBLE)
            continue;
        cost -= planner_cost(s, type, other, -1, NULL);
        if (cluster_nodes_spanned(s->in->cluster, devices, j->status->job.devices) > 1)
            cost += spread_cost(s, j, type);
        if (cost < best->cost) {
            best->cost = cost;
            memcpy(best->devices, devices, sizeof(best->devices));
        }
    }
}

static void find_gang(struct planner_state *s, int job, struct planner_seats *best)
{
    bool *used = mem_array(bool, (size_t)s->in->cluster->node_count);
    struct planner_seats found = {.job = job};

    for (int t = 0; t < s->in->cluster->type_count; t++)
        if (requirement_allows_type(&s->jobs.items[job].status->job, t) &&
            gang_on_type(s, job, t, used, best->cost, &found) && found.cost < best->cost)
            *best = found;
    find_companion(s, job, best);
    free(used);
}

bool planner_find_seats(struct planner_state *s, int job, struct planner_seats *best)
{
    *best = (struct planner_seats){.job = job, .cost = PLANNER_NEVER};
    if (s->jobs.items[job].status->job.devices > 1)
        find_gang(s, job, best);
    else
        find_single(s, job, best);
    return best->cost < PLANNER_IMPOSSIBLE;
}

/* Alone on some type where it may run, does its memory suffice; and does it keep its
 * requirement there? */
static bool possible(const struct planner_state *s, int job, bool kept)
{
    const struct planner_job *j = &s->jobs.items[job];

    for (int t = 0; t < s->in->cluster->type_count; t++)
        if (requirement_allows_type(&j->status->job, t) &&
            (kept ? j->kind->alone[t].rate >= j->need
                  : j->kind->alone[t].fits >= PREDICT_FITS_LEAST))
            return true;
    return false;
}

/* Was the place taken for what it may turn out to be?  Then what the best guess would
 * have taken, and how much less it was believed to cost, is remembered. */
static void note_if_trial(struct planner_state *s, int job, int device)
{
    struct planner_view bold = s->view;
    struct planner_seats guess;
    double taken;

    if (bold.alone <= 0 || s->terms)
        return;
    planner_look_aside(s, true, (struct planner_view){0});
    taken = planner_add_cost(s, job, device, PLANNER_FIRST_SHARE);
    if (planner_find_seats(s, job, &guess) && guess.devices[0] != device) {
        double node = taken - planner_add_cost(s, job, device, 0);

        planner_note_trial(s, job, device, guess.cost - node, taken - guess.cost);
    }
    planner_look_aside(s, false, bold);
}

double planner_grace_ends_s(const struct planner_state *s, int job)
{
    return s->jobs.items[job].status->job.submitted_s + GRACE_USED * s->settings.grace_s;
}

bool planner_rather_waits(const struct planner_state *s, int job, double cost,
                          double at_s)
{
    return cost > PLANNER_KEEPS && !s->jobs.items[job].status->job.unpromised &&
           at_s < planner_grace_ends_s(s, job) && possible(s, job, true);
}

static void seat_job(struct planner_state *s, struct plan *plan, int job,
                     const struct planner_seats *seats)
{
    int count = s->jobs.items[job].status->job.devices;

    planner_release(s, job);
    planner_attach(s, job, seats->devices, count);
    plan_seat(plan, s->jobs.items[job].seat, seats->devices, count);
}

/* Others are stopped for it, or a round will look whether they are when its grace time is
 * over. */
static bool place_instead(struct planner_state *s, struct plan *plan, int job)
{
    struct planner_seats seats;

    if (planner_preempt(s, plan, job, &seats)) {
        seat_job(s, plan, job, &seats);
        return true;
    }
    if (planner_preempts(s, job) && planner_grace_ends_s(s, job) > s->in->now_s)
        plan->again_s = fmin(plan->again_s, planner_grace_ends_s(s, job));
    return false;
}

static bool place(struct planner_state *s, struct plan *plan, int job)
{
    const struct job_status *status = s->jobs.items[job].status;
    size_t seat = s->jobs.items[job].seat;
    struct planner_seats seats;
    bool found = planner_find_seats(s, job, &seats);

    if ((!found || seats.cost > PLANNER_KEEPS) && place_instead(s, plan, job))
        return true;
    if (!found) {
        if (!possible(s, job, false))
            plan->seats[seat].reason = UNPLACED_MEMORY;
        else if (planner_room_binds(s, job))
            plan->seats[seat].reason = UNPLACED_HOST;
        else if (planner_access_binds(s, job))
            plan->seats[seat].reason = UNPLACED_ACCESS;
        return false;
    }
    if (planner_rather_waits(s, job, seats.cost, s->in->now_s)) {
        plan->seats[seat].reason = UNPLACED_RATE;
        plan->again_s = fmin(plan->again_s, planner_grace_ends_s(s, job));
        return false;
    }
    if (planner_awaits_node(s, job, seats.devices)) {
        plan->seats[seat].reason = UNPLACED_NODE;
        return false;
    }
    if (status->job.devices == 1)
        note_if_trial(s, job, seats.devices[0]);
    seat_job(s, plan, job, &seats);
    vec_push(&s->started, job);
    return true;
}

void planner_place_waiting(struct planner_state *s, struct plan *plan)
{
    int failed[LOOP_NODE_GROUPS] = {0};

    planner_list_waiting(s);
    if (s->order.count > 0)
        planner_look_to_place(s);
    for (size_t i = 0; i < s->order.count; i++) {
        int job = s->order.items[i];
        const struct job *asked = &s->jobs.items[job].status->job;

        /* A gang that finds no devices says nothing of those behind it, and a job bound
         * to some nodes nothing of those bound to others. */
        if (failed[asked->group] < PLANNER_WAITING_TRIES && !place(s, plan, job) &&
            asked->devices == 1)
            failed[asked->group]++;
    }
}
