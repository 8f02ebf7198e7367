/* slurm_guess.c - a cluster file from Slurm's nodes, or from the jobs when there are
 * none: slurm.c loads what it writes */
#include "lab/traces/slurm_guess.h"

#include "base/vec.h"
#include "engine/sim/cluster_file.h"

#include <string.h>

size_t slurm_guess_from_nodes(struct str *yaml, const struct slurm_nodes *nodes)
{
    size_t mixed = 0;

    str_add(yaml, "nodes:\n");
    for (size_t i = 0; i < nodes->count; i++) {
        const struct slurm_node *n = &nodes->nodes[i];

        mixed += n->kinds > 1;
        for (int k = 0; k < n->kinds; k++) {
            str_addf(yaml, "  - {gpu: \"%s\", gpus: %d, name: \"%s", n->card[k]->name,
                     n->gpus[k], n->name);
            if (n->kinds == 1)
                str_add(yaml, "\"}\n");
            else
                str_addf(yaml, "-%s\", host: %gW}\n", n->card[k]->name,
                         (double)CLUSTER_HOST_WATTS / n->kinds);
        }
    }
    return mixed;
}

/* GPUs taken or given back. */
struct change {
    double at_s;
    int by;
};

static int by_time(const void *a, const void *b)
{
    const struct change *x = a, *y = b;

    if (x->at_s != y->at_s)
        return x->at_s < y->at_s ? -1 : 1;
    return x->by - y->by; /* a job may follow another in the same second */
}

static long most_at_once(struct change *changes, size_t count)
{
    long used = 0, most = 0;

    if (count > 0)
        qsort(changes, count, sizeof(*changes), by_time);
    for (size_t i = 0; i < count; i++) {
        used += changes[i].by;
        most = used > most ? used : most;
    }
    return most;
}

static void guess_type(struct str *yaml, const struct slurm_jobs *jobs, const char *type)
{
    vec_of(struct change) changes = {0};
    long each = 1, most;

    for (size_t i = 0; i < jobs->count; i++) {
        const struct arrival *a = &jobs->jobs[i].arrival;
        double start_s = jobs->jobs[i].start_s;
        int nodes = a->nodes > 1 ? a->nodes : 1, part = (a->devices + nodes - 1) / nodes;

        if (strcmp(a->ran_on, type) != 0)
            continue;
        vec_push(&changes, (struct change){start_s, a->devices});
        vec_push(&changes, (struct change){start_s + a->duration_s, -a->devices});
        each = part > each ? part : each;
    }
    each = each > SLURM_NODE_GPUS ? SLURM_NODE_GPUS : each;
    most = most_at_once(changes.items, changes.count);
    str_addf(yaml, "  - {gpu: \"%s\", gpus: %ld, count: %ld, name: \"%s\"}\n", type, each,
             (most + each - 1) / each, type);
    vec_free(&changes);
}

void slurm_guess_from_jobs(struct str *yaml, const struct slurm_jobs *jobs)
{
    size_t count;
    const struct gpu_sheet *cards = gpu_catalogue(&count);

    str_add(yaml, "nodes:\n");
    for (size_t c = 0; c < count; c++) {
        bool used = false;

        for (size_t i = 0; i < jobs->count && !used; i++)
            used = !strcmp(jobs->jobs[i].arrival.ran_on, cards[c].name);
        if (used)
            guess_type(yaml, jobs, cards[c].name);
    }
}
