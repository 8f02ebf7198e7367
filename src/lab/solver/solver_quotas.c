/* solver_quotas.c - see solver_quotas.h */
#include "lab/solver/solver_quotas.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct claim {
    bool pinned, running;
    double penalty;
    int job;
};

static int by_claim(const void *a, const void *b)
{
    const struct claim *x = a, *y = b;

    if (x->pinned != y->pinned)
        return x->pinned ? -1 : 1;
    if (x->running != y->running)
        return x->running ? -1 : 1;
    if (x->penalty != y->penalty)
        return x->penalty > y->penalty ? -1 : 1;
    return x->job < y->job ? -1 : x->job > y->job;
}

void quotas_hold(const struct problem *p, bool *held)
{
    struct claim *claims;
    int *left;
    size_t count = 0;

    memset(held, 0, (size_t)p->job_count * sizeof(bool));
    if (p->quota_count == 0)
        return;
    claims = mem_array(struct claim, (size_t)p->job_count);
    left = mem_dup(p->quotas, (size_t)p->quota_count, sizeof(int));
    for (int j = 0; j < p->job_count; j++) {
        const struct problem_job *job = &p->jobs[j];
        bool running = p->now[job->first_task] >= 0;

        if (job->owner >= 0 && p->quotas[job->owner] >= 0)
            claims[count++] =
                (struct claim){job->pinned && running, running, job->penalty, j};
    }
    qsort(claims, count, sizeof(*claims), by_claim);
    for (size_t c = 0; c < count; c++) {
        const struct problem_job *job = &p->jobs[claims[c].job];
        int devices = p->classes[job->class_id].devices;

        held[claims[c].job] = left[job->owner] < devices && !claims[c].pinned;
        if (!held[claims[c].job])
            left[job->owner] -= devices;
    }
    free(claims);
    free(left);
}
