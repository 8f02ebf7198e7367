/* levers.c - the plan held against those of smaller problems: the last step of
 * solver_run() */
#include "lab/solver/levers.h"

#include "lab/solver/lp_bound.h"
#include "lab/solver/solver_caps.h"
#include "lab/solver/finish_plan.h"

#include <string.h>

#define HAIR 1e-3 /* watts; figures are sums of floats */

static bool has_caps(const struct problem *p)
{
    for (int t = 0; t < p->type_count; t++)
        if (p->types[t].variant_count > 1)
            return true;
    return false;
}

static bool has_sleep(const struct problem *p)
{
    return p->sleep && p->node_count > 0;
}

/* Tables with only the first variant of each type, which has no cap. */
static void drop_caps(struct problem *q, const struct problem *p, struct arena *arena)
{
    size_t k = (size_t)p->class_count, types = (size_t)p->type_count;

    q->variant_count = p->type_count;
    q->types = arena_array(arena, struct problem_type, types);
    q->variants = arena_array(arena, struct problem_variant, types);
    q->alone_rate = arena_array(arena, float, types *k + 1);
    q->alone_watts = arena_array(arena, float, types *k + 1);
    q->pair_rate = arena_array(arena, float, types *k *k + 1);
    q->pair_watts = arena_array(arena, float, types *k *k + 1);
    for (size_t t = 0; t < types; t++) {
        size_t v = (size_t)p->types[t].first_variant;

        q->types[t] = p->types[t];
        q->types[t].first_variant = (int)t;
        q->types[t].variant_count = 1;
        q->variants[t] = p->variants[v];
        memcpy(q->alone_rate + t * k, p->alone_rate + v * k, k * sizeof(float));
        memcpy(q->alone_watts + t * k, p->alone_watts + v * k, k * sizeof(float));
        memcpy(q->pair_rate + t * k * k, p->pair_rate + v * k * k, k * k * sizeof(float));
        memcpy(q->pair_watts + t * k * k, p->pair_watts + v * k * k,
               k * k * sizeof(float));
    }
}

static struct problem without(const struct levers *l, bool caps, bool sleep)
{
    struct problem q = *l->p;

    q.room = NULL; /* its arrays are not its own */
    if (!caps)
        drop_caps(&q, l->p, l->arena);
    if (!sleep)
        q.sleep = false;
    return q;
}

/* No plan of q costs less than this. */
static double lower_bound(const struct levers *l, const struct problem *q)
{
    struct work w;

    work_build(&w, q, l->arena, NULL, 0);
    caps_prune(&w);
    memcpy(w.price, l->price, (size_t)w.types * sizeof(double));
    for (int i = 0; i < w.tasks; i++)
        w.pi[i] = (float)l->worth[i];
    return bound_from(&w, w.pi, NULL);
}

/* As it stands, with the nodes that have nothing to do asleep. */
static void rest_idle_nodes(const struct problem *p, struct solution *s)
{
    for (int n = 0; n < p->node_count; n++)
        s->awake[n] = !p->sleep || !p->nodes[n].may_sleep;
    for (int d = 0; d < s->device_count && p->node_count; d++)
        s->awake[p->devices[s->devices[d].device].node] = true;
    finish_figures(p, s);
}

/* What q's plan is with all levers: never dearer, and often cheaper. */
static void lift(const struct levers *l, const struct problem *q, struct solution *s)
{
    const struct problem *p = l->p;

    for (int d = 0; d < s->device_count; d++) {
        int *variant = &s->devices[d].variant, type = q->variants[*variant].type;

        *variant += p->types[type].first_variant - q->types[type].first_variant;
    }
    rest_idle_nodes(p, s);
}

static void hold_against(struct levers *l, const struct problem *q, struct solution *out)
{
    double bound = out->bound;

    if (out->cost <= lower_bound(l, q) + HAIR)
        return;
    l->solve(l->self, q, l->spare);
    l->solved++;
    lift(l, q, l->spare);
    if (l->spare->cost < out->cost)
        solution_copy(out, l->spare, l->p);
    out->bound = bound;
}

void levers_run(struct levers *l, struct solution *out)
{
    bool caps = has_caps(l->p), sleep = has_sleep(l->p);

    /* Without one of two, then without any. */
    for (int kept = caps && sleep ? 2 : 0; kept >= 0 && (caps || sleep); kept--) {
        size_t mark = arena_mark(l->arena);
        struct problem q = without(l, kept == 2, kept == 1);

        hold_against(l, &q, out);
        arena_release(l->arena, mark);
    }
}
