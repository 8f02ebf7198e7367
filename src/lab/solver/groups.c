/* groups.c - see groups.h */
#include "lab/solver/groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CANDIDATES 12 /* partners asked about for each device */
#define PASSES     12
#define SMALL      14 /* hosts; so few are all tried with each other */
#define MIN_SAVING 1e-3

struct host {
    int type; /* -1: a job without a place; -2: gone */
    int variant;
    int count;
    int jobs[PROBLEM_MAX_SHARE];
    double cost;
};

struct join {
    double saving;
    int from, to; /* hosts */
    int job;      /* moved alone; -1: all of from */
    int back;     /* job of to that goes the other way; -1: none */
    int type, variant;
    double cost, rest_cost; /* of the device joined, and of what stays behind */
    int rest_variant;
};

struct groups {
    const struct work *w;
    const struct problem *p;
    struct host *hosts;
    int count, most;
    int use[PROBLEM_MAX_TYPES];
    struct join *joins;
    int join_count, join_room;
};

bool groups_wanted(const struct problem *p)
{
    return p->share_max > 2 && p->group;
}

/* Least rate of one task of the job on a device. */
static double need_of(const struct problem *p, int job)
{
    const struct problem_class *c = &p->classes[p->jobs[job].class_id];
    double need = p->jobs[job].need;

    if (c->adds)
        return need / c->devices;
    return c->devices > 1 && p->node_count && c->spread > 0 ? need / c->spread : need;
}

static bool content(const struct groups *g, int type, const int *jobs, int count,
                    const float *rate)
{
    const struct problem *p = g->p;

    for (int e = 0; e < count; e++) {
        double own =
            (double)rate[e] *
            (double)p->speed[(size_t)jobs[e] * (size_t)p->type_count + (size_t)type];

        for (int f = 0; f < count; f++)
            own *= f == e ? 1 : (double)p->drag[jobs[f]];
        if (!(own > 0) || own < need_of(p, jobs[e]) * (1 - 1e-6))
            return false;
    }
    return true;
}

/* Cost of these jobs on a device of the type with its best cap; WORK_NEVER. */
static double cost_of(const struct groups *g, int type, const int *jobs, int count,
                      int *variant)
{
    const struct problem_type *t = &g->p->types[type];
    double best = (double)WORK_NEVER;

    for (int e = 0; e < count; e++)
        if (!(g->p->jobs[jobs[e]].types >> type & 1))
            return best;
    for (int v = t->first_variant; v < t->first_variant + t->variant_count; v++) {
        float rate[PROBLEM_MAX_SHARE], watts;
        double cost;

        if (!problem_rates(g->p, v, jobs, count, rate, &watts) ||
            !content(g, type, jobs, count, rate))
            continue;
        cost = g->w->watts_weight * (double)watts + g->w->open[type];
        for (int e = 0; e < count; e++) {
            const struct problem_class *c = &g->p->classes[g->p->jobs[jobs[e]].class_id];

            cost -= c->progress * (double)rate[e] / (c->adds ? 1 : c->devices);
        }
        if (cost < best) {
            best = cost;
            *variant = v;
        }
    }
    return best;
}

static void load(struct groups *g, const bool *held, const struct solution *s)
{
    for (int d = 0; d < s->device_count; d++) {
        struct host *h = &g->hosts[g->count++];

        *h = (struct host){.type = g->p->variants[s->devices[d].variant].type,
                           .count = solution_device_jobs(&s->devices[d])};
        memcpy(h->jobs, s->devices[d].jobs, sizeof(h->jobs));
        h->cost = cost_of(g, h->type, h->jobs, h->count, &h->variant);
        if (h->cost >= (double)WORK_NEVER) { /* as the plan has it, then */
            h->variant = s->devices[d].variant;
            h->cost = 0;
        }
        g->use[h->type]++;
    }
    for (int j = 0; j < g->p->job_count; j++)
        if (s->state[j] == SOLUTION_UNSERVED && !held[j] &&
            g->p->classes[g->p->jobs[j].class_id].devices == 1)
            g->hosts[g->count++] = (struct host){.type = -1,
                                                 .count = 1,
                                                 .jobs = {j, -1, -1, -1},
                                                 .cost = g->p->jobs[j].penalty};
}

static bool sharing(const struct groups *g, const struct host *h)
{
    for (int e = 0; e < h->count; e++)
        if (!g->p->jobs[h->jobs[e]].may_share)
            return false;
    return h->count > 0 && h->type > -2;
}

static bool has_pin(const struct groups *g, const struct host *h)
{
    for (int e = 0; e < h->count; e++)
        if (g->p->jobs[h->jobs[e]].pinned)
            return true;
    return false;
}

/* How well the members of two devices go together, two by two, on this type: mean part of
 * the rate alone that is left; 0: some cannot. */
static double harmony(const struct groups *g, int type, const int *a, int a_count,
                      const int *b, int b_count)
{
    const struct problem *p = g->p;
    int v = p->types[type].first_variant;
    double sum = 0;

    for (int x = 0; x < a_count; x++)
        for (int y = 0; y < b_count; y++) {
            int k = p->jobs[a[x]].class_id, l = p->jobs[b[y]].class_id;
            size_t at = (size_t)v * (size_t)p->class_count;
            double f = p->pair_rate[problem_cell(p, v, k, l)];
            double h = p->pair_rate[problem_cell(p, v, l, k)];

            if (a[x] == b[y] || !(f > 0) || !(h > 0))
                return 0;
            sum += f / (double)p->alone_rate[at + (size_t)k] +
                   h / (double)p->alone_rate[at + (size_t)l];
        }
    return sum / (a_count * b_count);
}

static void note(struct groups *g, struct join join)
{
    if (join.saving < MIN_SAVING || g->join_count == g->join_room)
        return;
    g->joins[g->join_count++] = join;
}

/* Who is on which of the two devices afterwards. */
struct sides {
    int all[PROBLEM_MAX_SHARE], rest[PROBLEM_MAX_SHARE];
    int count, left;
};

static struct sides sides_of(const struct groups *g, const struct join *join)
{
    const struct host *f = &g->hosts[join->from], *t = &g->hosts[join->to];
    struct sides s = {{-1, -1, -1, -1}, {-1, -1, -1, -1}, 0, 0};

    for (int e = 0; e < t->count; e++)
        if (t->jobs[e] != join->back)
            s.all[s.count++] = t->jobs[e];
    for (int e = 0; e < f->count; e++)
        if (join->job < 0 || f->jobs[e] == join->job)
            s.all[s.count++] = f->jobs[e];
        else
            s.rest[s.left++] = f->jobs[e];
    if (join->back >= 0)
        s.rest[s.left++] = join->back;
    return s;
}

/* Would a device of the type be there for the joined ones? */
static bool free_for(const struct groups *g, const struct join *join, int type, int left)
{
    const struct host *f = &g->hosts[join->from], *t = &g->hosts[join->to];

    return type == t->type || (left == 0 && type == f->type) ||
           (g->use[type] < g->p->types[type].devices && !has_pin(g, t));
}

/* Put the jobs of from, or one of them, onto to, one of to's perhaps onto from. */
static void consider(struct groups *g, int from, int to, int job, int back)
{
    struct join join = {.from = from, .to = to, .job = job, .back = back};
    struct sides s = sides_of(g, &join);
    double least = (double)WORK_NEVER;

    if (s.left) {
        join.rest_cost =
            cost_of(g, g->hosts[from].type, s.rest, s.left, &join.rest_variant);
        if (join.rest_cost >= (double)WORK_NEVER)
            return;
    }
    for (int type = 0; type < g->p->type_count; type++) {
        int variant;
        double cost;

        if (!free_for(g, &join, type, s.left))
            continue;
        cost = cost_of(g, type, s.all, s.count, &variant);
        if (cost < least) {
            least = join.cost = cost;
            join.type = type;
            join.variant = variant;
        }
    }
    if (least >= (double)WORK_NEVER)
        return;
    join.saving = g->hosts[from].cost + g->hosts[to].cost - join.cost - join.rest_cost;
    note(g, join);
}

struct near_host {
    double harmony;
    int host;
};

/* The hosts whose members go best with those of from. */
static int find_near(const struct groups *g, int from, struct near_host *best)
{
    const struct host *f = &g->hosts[from];
    int count = 0;

    for (int h = 0; h < g->count; h++) {
        const struct host *t = &g->hosts[h];
        double together;
        int at;

        if (h == from || t->type < 0 || !sharing(g, t))
            continue;
        together = harmony(g, t->type, f->jobs, f->count, t->jobs, t->count);
        if ((together <= 0 && g->count > SMALL) ||
            (count == CANDIDATES && together <= best[CANDIDATES - 1].harmony))
            continue;
        at = count < CANDIDATES ? count++ : CANDIDATES - 1;
        for (; at > 0 && best[at - 1].harmony < together; at--)
            best[at] = best[at - 1];
        best[at] = (struct near_host){together, h};
    }
    return count;
}

static void find_joins(struct groups *g)
{
    g->join_count = 0;
    for (int h = 0; h < g->count; h++) {
        struct near_host near[CANDIDATES];
        const struct host *f = &g->hosts[h];
        int count;

        if (!sharing(g, f) || has_pin(g, f))
            continue;
        count = find_near(g, h, near);
        for (int x = 0; x < count; x++) {
            const struct host *t = &g->hosts[near[x].host];

            if (f->count + t->count <= g->most)
                consider(g, h, near[x].host, -1, -1);
            for (int e = 0; e < f->count && f->type >= 0; e++) {
                if (f->count > 1 && t->count < g->most)
                    consider(g, h, near[x].host, f->jobs[e], -1);
                for (int b = 0; b < t->count && !has_pin(g, t); b++)
                    consider(g, h, near[x].host, f->jobs[e], t->jobs[b]);
            }
        }
    }
}

static int largest_first(const void *a, const void *b)
{
    const struct join *x = a, *y = b;

    if (x->saving != y->saving)
        return x->saving > y->saving ? -1 : 1;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return x->job < y->job ? -1 : x->job > y->job;
}

static void make(struct groups *g, const struct join *join)
{
    struct host *f = &g->hosts[join->from], *t = &g->hosts[join->to];
    struct sides s = sides_of(g, join);

    g->use[t->type]--;
    g->use[join->type]++;
    *t = (struct host){join->type, join->variant, s.count, {0}, join->cost};
    memcpy(t->jobs, s.all, sizeof(t->jobs));
    f->count = s.left;
    f->cost = join->rest_cost;
    f->variant = join->rest_variant;
    memcpy(f->jobs, s.rest, sizeof(f->jobs));
    if (s.left)
        return;
    if (f->type >= 0)
        g->use[f->type]--;
    f->type = -2;
}

/* The best first; what one has changed is looked at again in the next pass. */
static int make_joins(struct groups *g, bool *touched)
{
    int made = 0;

    for (int h = 0; h < g->count; h++)
        touched[h] = false;
    qsort(g->joins, (size_t)g->join_count, sizeof(*g->joins), largest_first);
    for (int x = 0; x < g->join_count; x++) {
        const struct join *join = &g->joins[x];

        if (touched[join->from] || touched[join->to] ||
            !free_for(g, join, join->type, sides_of(g, join).left))
            continue; /* the room may be gone by now */
        make(g, join);
        touched[join->from] = touched[join->to] = true;
        made++;
    }
    return made;
}

/* A job still without a place gets a device that came free, if one serves it. */
static int seat_unserved(struct groups *g)
{
    int seated = 0;

    for (int h = 0; h < g->count; h++) {
        struct host *host = &g->hosts[h];
        double best = host->cost - MIN_SAVING;

        for (int t = 0; t < g->p->type_count && host->type == -1; t++) {
            int variant;
            double cost = cost_of(g, t, host->jobs, 1, &variant);

            if (g->use[t] < g->p->types[t].devices && cost < best) {
                host->type = t;
                host->variant = variant;
                host->cost = cost;
                g->use[t]++;
                seated++;
            }
        }
    }
    return seated;
}

static void store(const struct groups *g, struct solution *s)
{
    s->device_count = 0;
    for (int h = 0; h < g->count; h++) {
        const struct host *host = &g->hosts[h];
        struct solution_device *d = &s->devices[s->device_count];

        if (host->type < 0)
            continue;
        *d = solution_device_of(host->variant, -1, -1);
        memcpy(d->jobs, host->jobs, sizeof(d->jobs));
        for (int e = 0; e < host->count; e++)
            s->state[host->jobs[e]] = SOLUTION_SERVED;
        s->device_count++;
    }
}

int groups_join(const struct work *w, const bool *held, struct solution *s)
{
    struct arena *arena = w->arena;
    size_t mark = arena_mark(arena), room;
    struct groups g = {.w = w, .p = w->p, .most = w->p->share_max};
    int joined = 0;
    bool *touched;

    if (g.most > PROBLEM_MAX_SHARE)
        g.most = PROBLEM_MAX_SHARE;
    room = (size_t)s->device_count + (size_t)w->p->job_count + 1;
    g.hosts = arena_array(arena, struct host, room);
    touched = arena_array(arena, bool, room);
    g.join_room = (int)room * CANDIDATES * 4;
    g.joins = arena_array(arena, struct join, g.join_room);
    load(&g, held, s);
    for (int pass = 0; pass < PASSES; pass++) {
        int made;

        find_joins(&g);
        made = make_joins(&g, touched) + seat_unserved(&g);
        joined += made;
        if (made == 0)
            break;
    }
    store(&g, s);
    arena_release(arena, mark);
    return joined;
}
