/* energy_bound.c - sweep.c asks for it once a scenario; see energy_bound.h */
#include "lab/bound/energy_bound.h"

#include "base/mem.h"
#include "base/vec.h"
#include "lab/bound/lp.h"

#include <math.h>
#include <stdlib.h>

#define ROUNDS_MOST 40
/* The bound is this near to what the prices promise, or there are no more rounds. */
#define NEAR 0.999
/* A column that would save less of its own cost is none. */
#define SAVES_LEAST 1e-4
#define JOULES_KWH  3.6e6

/* A combination under one limit, a second of it. */
struct column {
    int combo, cap;
    double saves; /* of its cost, at the prices of the round */
};

struct bound {
    const struct bound_case *in;
    struct bound_tasks tasks;
    struct lp *lp;
    double device_s[CLUSTER_MAX_TYPES]; /* of each type, in all */
};

/* Cost of a second, and what share of each member's task it does. */
struct second {
    double joules;
    double done[2];
    bool kept;
};

static struct second second_of(const struct bound *b, const struct bound_combo *c,
                               int cap)
{
    struct bound_capped run = bound_tasks_capped(&b->tasks, c->type, cap, c->busy);
    struct second s = {.kept = true};
    int devices = b->tasks.items.items[c->task[0]].request->job.devices;

    s.joules = devices * (run.watts + b->tasks.host_watts[c->type]);
    for (int e = 0; e < 2 && c->task[e] >= 0; e++) {
        const struct bound_task *t = &b->tasks.items.items[c->task[e]];
        double rate = (double)c->rate[e] * run.speed;

        s.kept = s.kept && rate >= t->need;
        s.done[e] = (t->high > 0 ? 1 : rate) / t->amount;
    }
    return s;
}

static void add_column(struct bound *b, int combo, int cap)
{
    const struct bound_combo *c = &b->tasks.combos.items[combo];
    struct second s = second_of(b, c, cap);
    int rows[3], count = 0, first_type = (int)b->tasks.items.count;
    double values[3], scale = 1 / fmax(s.done[0], s.done[1]);
    int devices = b->tasks.items.items[c->task[0]].request->job.devices;

    for (int e = 0; e < 2 && c->task[e] >= 0; e++) {
        rows[count] = c->task[e];
        values[count++] = s.done[e] * scale;
    }
    rows[count] = first_type + c->type;
    values[count++] = devices * scale / b->device_s[c->type];
    lp_column(b->lp, s.joules * scale / JOULES_KWH, 0, LP_INFINITY, count, rows, values);
}

/* At these prices, kWh a task and a type's device-seconds: what a second saves of its
 * cost; and the most that prices may grow before this column is worth more than it
 * costs. */
static double saved_by(const struct bound *b, const double *prices,
                       const struct bound_combo *c, const struct second *s,
                       double *may_grow)
{
    int devices = b->tasks.items.items[c->task[0]].request->job.devices;
    double type = -prices[b->tasks.items.count + (size_t)c->type];
    double worth =
        prices[c->task[0]] * s->done[0] - type * devices / b->device_s[c->type];

    if (c->task[1] >= 0)
        worth += prices[c->task[1]] * s->done[1];
    worth *= JOULES_KWH;
    if (worth > 0)
        *may_grow = fmin(*may_grow, s->joules / worth);
    return (worth - s->joules) / s->joules;
}

/* The best column of each task at the prices of the last round, into best (tasks). */
static double price(const struct bound *b, struct column *best)
{
    const double *prices = lp_duals(b->lp);
    double may_grow = INFINITY;

    for (size_t t = 0; t < b->tasks.items.count; t++)
        best[t] = (struct column){.combo = -1, .saves = SAVES_LEAST};
    for (size_t i = 0; i < b->tasks.combos.count; i++) {
        const struct bound_combo *c = &b->tasks.combos.items[i];

        for (int cap = 0; cap < b->tasks.caps[c->type]; cap++) {
            struct second s = second_of(b, c, cap);
            double saves;

            if (!s.kept)
                break; /* deeper limits leave less */
            saves = saved_by(b, prices, c, &s, &may_grow);
            for (int e = 0; e < 2 && c->task[e] >= 0; e++)
                if (saves > best[c->task[e]].saves)
                    best[c->task[e]] = (struct column){(int)i, cap, saves};
        }
    }
    return fmin(1, may_grow);
}

/* Each task alone on each type, and far too dear devices, so that there is a solution. */
static void begin(struct bound *b)
{
    int first_type = (int)b->tasks.items.count;

    for (int t = 0; t < first_type; t++)
        lp_row(b->lp, 1, LP_INFINITY);
    for (int t = 0; t < b->in->cluster->type_count; t++)
        lp_row(b->lp, -LP_INFINITY, 1);
    for (size_t i = 0; i < b->tasks.combos.count; i++) {
        const struct bound_combo *c = &b->tasks.combos.items[i];

        if (c->task[1] < 0 && second_of(b, c, 0).kept)
            add_column(b, (int)i, 0);
    }
    for (int t = 0; t < b->in->cluster->type_count; t++)
        lp_column(b->lp, 1e6, 0, LP_INFINITY, 1, &(int){first_type + t}, &(double){-1});
}

static double worth_of_prices(const struct bound *b)
{
    const double *prices = lp_duals(b->lp);
    double sum = 0;

    for (size_t t = 0; t < b->tasks.items.count; t++)
        sum += prices[t];
    for (int t = 0; t < b->in->cluster->type_count; t++)
        sum += prices[b->tasks.items.count + (size_t)t];
    return sum;
}

static double solve(struct bound *b)
{
    struct column *best = mem_array(struct column, b->tasks.items.count + 1);
    double proven = 0;

    begin(b);
    for (int round = 0; round < ROUNDS_MOST; round++) {
        double feasible;

        if (!lp_solve(b->lp))
            break;
        feasible = price(b, best);
        proven = fmax(proven, feasible * worth_of_prices(b));
        if (feasible >= NEAR)
            break;
        for (size_t t = 0; t < b->tasks.items.count; t++) {
            const struct column *c = &best[t];

            /* The best of both members once. */
            if (c->combo >= 0 && b->tasks.combos.items[c->combo].task[0] != (int)t &&
                best[b->tasks.combos.items[c->combo].task[0]].combo == c->combo)
                continue;
            if (c->combo >= 0)
                add_column(b, c->combo, c->cap);
        }
    }
    free(best);
    return proven * JOULES_KWH;
}

/* Nodes asleep from the first to the last arrival; awake costs the difference. */
static double asleep_joules(const struct bound_case *in)
{
    double watts = 0;

    for (int n = 0; n < in->cluster->node_count; n++)
        watts += in->cluster->nodes[n].sleep_watts;
    return watts * in->workload->last_arrival_s;
}

double energy_bound_joules(const struct bound_case *in)
{
    struct bound b = {.in = in};
    double joules = NAN;

    if (bound_tasks_init(&b.tasks, in)) {
        for (int d = 0; d < in->cluster->device_count; d++)
            b.device_s[in->cluster->devices[d].type] += b.tasks.until_s;
        b.lp = lp_create();
        joules = asleep_joules(in) + solve(&b);
        lp_destroy(b.lp);
    }
    bound_tasks_fini(&b.tasks);
    return joules;
}
