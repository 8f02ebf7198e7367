/* solver_caps.c - caps that can never be the cheapest: solve.c drops them before
 * anything else */
#include "lab/solver/solver_caps.h"

/* Is cell a of no use beside b?  Of two equal ones the earlier stays. */
static bool dominated(float cost_a, float cost_b, bool rates_reach, bool earlier)
{
    if (cost_b >= WORK_NEVER || !rates_reach || cost_b > cost_a)
        return false;
    return cost_b < cost_a || earlier;
}

static long prune_alone(struct work *w, const struct problem_type *t, int k)
{
    int end = t->first_variant + t->variant_count;
    long pruned = 0;

    for (int v = t->first_variant; v < end; v++) {
        size_t a = (size_t)v * (size_t)w->classes + (size_t)k;

        for (int u = t->first_variant; u < end && w->cell1[a] < WORK_NEVER; u++) {
            size_t b = (size_t)u * (size_t)w->classes + (size_t)k;

            if (u != v && dominated(w->cell1[a], w->cell1[b],
                                    w->p->alone_rate[b] >= w->p->alone_rate[a], u < v)) {
                w->cell1[a] = WORK_NEVER;
                pruned++;
            }
        }
    }
    return pruned;
}

static long prune_pair(struct work *w, const struct problem_type *t, int k, int l)
{
    const struct problem *p = w->p;
    int end = t->first_variant + t->variant_count;
    long pruned = 0;

    for (int v = t->first_variant; v < end; v++) {
        size_t kl = problem_cell(p, v, k, l), lk = problem_cell(p, v, l, k);

        for (int u = t->first_variant; u < end && w->cell2[kl] < WORK_NEVER; u++) {
            size_t ukl = problem_cell(p, u, k, l), ulk = problem_cell(p, u, l, k);
            bool reach = p->pair_rate[ukl] >= p->pair_rate[kl] &&
                         p->pair_rate[ulk] >= p->pair_rate[lk];

            if (u != v && dominated(w->cell2[kl], w->cell2[ukl], reach, u < v)) {
                w->cell2[kl] = w->cell2[lk] = WORK_NEVER;
                pruned++;
            }
        }
    }
    return pruned;
}

long caps_prune(struct work *w)
{
    long pruned = 0;

    for (int t = 0; t < w->types; t++) {
        const struct problem_type *type = &w->p->types[t];

        if (type->variant_count < 2)
            continue;
        for (int k = 0; k < w->classes; k++) {
            pruned += prune_alone(w, type, k);
            for (int l = k; l < w->classes; l++)
                pruned += prune_pair(w, type, k, l);
        }
    }
    return pruned;
}
