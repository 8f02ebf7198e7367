/* solver_limit.c - see solver_limit.h */
#include "lab/solver/solver_limit.h"

#include "base/mem.h"
#include "lab/solver/finish_plan.h"

#include <math.h>
#include <stdlib.h>

#define DOUBLINGS  6
#define BISECTIONS 5

static bool fits(const struct problem *p, const struct solution *s)
{
    return s->watts <= p->limit_watts;
}

struct candidate {
    double penalty;
    int job;
};

static int least_harm_first(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->penalty != y->penalty)
        return x->penalty < y->penalty ? -1 : 1;
    return x->job > y->job ? -1 : x->job < y->job; /* the youngest of equals */
}

static void sleep_empty_nodes(const struct problem *p, struct solution *s)
{
    for (int n = 0; n < p->node_count; n++)
        s->awake[n] = !p->sleep || !p->nodes[n].may_sleep;
    for (int d = 0; d < s->device_count && p->node_count; d++)
        s->awake[p->devices[s->devices[d].device].node] = true;
}

void limit_shed(const struct problem *p, struct solution *out)
{
    struct candidate *order = mem_array(struct candidate, (size_t)p->job_count);
    size_t count = 0;

    for (int j = 0; j < p->job_count; j++)
        if (out->state[j] == SOLUTION_SERVED && !p->jobs[j].pinned)
            order[count++] = (struct candidate){p->jobs[j].penalty, j};
    qsort(order, count, sizeof(*order), least_harm_first);
    for (size_t c = 0; c < count && !fits(p, out); c++) {
        finish_remove_job(p, out, order[c].job);
        sleep_empty_nodes(p, out);
        finish_figures(p, out);
    }
    free(order);
}

/* Solve at this weight; what fits and is cheaper than the best so far becomes it. */
static bool try_weight(const struct problem *p, limit_solve *solve, void *self,
                       double weight, struct solution *best, bool *found,
                       struct solution *spare)
{
    double bound = fmax(best->bound, solve(self, weight, spare));
    bool fit = fits(p, spare);

    if (fit && (!*found || spare->cost < best->cost)) {
        solution_copy(best, spare, p);
        *found = true;
    }
    best->bound = bound;
    return fit;
}

void limit_search(const struct problem *p, limit_solve *solve, void *self,
                  struct solution *out, struct solution *spare)
{
    double low = 1, high = 1, bound;
    bool found = false;

    for (int x = 0; x < DOUBLINGS && !found; x++) {
        low = high;
        high *= 2;
        try_weight(p, solve, self, high, out, &found, spare);
    }
    for (int x = 0; x < BISECTIONS && found; x++) {
        double middle = sqrt(low * high);

        if (try_weight(p, solve, self, middle, out, &found, spare))
            high = middle;
        else
            low = middle;
    }
    bound = out->bound;
    if (!found)
        limit_shed(p, out);
    out->bound = bound;
}
