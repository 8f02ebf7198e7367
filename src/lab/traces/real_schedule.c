/* real_schedule.c - scenario.c makes it of Slurm's list, for sim_follow.c to follow and
 * for lab/advise/ to compare with */
#include "lab/traces/real_schedule.h"

#include "base/mem.h"
#include "base/vec.h"
#include "loop/cluster.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node_search {
    const struct cluster *cluster;
    int type;
    vec_of(int) found;
};

static bool has_type(const struct node_search *s, const struct node *n)
{
    return n->device_count > 0 && s->cluster->devices[n->first_device].type == s->type;
}

/* A machine with several types of GPU is one node a type, see slurm.c. */
static bool is_host(const struct node_search *s, const struct node *n, const char *host)
{
    size_t length = strlen(host);

    if (!strcmp(n->name, host))
        return true;
    return !strncmp(n->name, host, length) && n->name[length] == '-' &&
           !strcmp(n->name + length + 1, s->cluster->types[s->type].name);
}

static bool visit_host(void *ctx, const char *host)
{
    struct node_search *s = ctx;
    int other = -1;

    for (int n = 0; n < s->cluster->node_count; n++) {
        if (!is_host(s, &s->cluster->nodes[n], host))
            continue;
        if (has_type(s, &s->cluster->nodes[n])) {
            vec_push(&s->found, n);
            return true;
        }
        other = n;
    }
    if (other >= 0) /* a job on several types */
        vec_push(&s->found, other);
    return true;
}

static int type_named(const struct cluster *cluster, const char *name)
{
    for (int t = 0; t < cluster->type_count; t++)
        if (!strcmp(cluster->types[t].name, name))
            return t;
    return -1;
}

static struct real_stay stay_of(const struct slurm_job *job, const struct arrival *a,
                                const struct cluster *cluster, double first_s)
{
    struct node_search search = {.cluster = cluster,
                                 .type = type_named(cluster, a->ran_on)};
    double start_s = fmax(job->start_s - first_s, a->at_s);

    if (search.type >= 0 && job->hosts[0] &&
        slurm_hosts(job->hosts, CLUSTER_MAX_NODES, visit_host, &search, NULL) < 0)
        vec_clear(&search.found);
    return (struct real_stay){.start_s = start_s,
                              .end_s = start_s + a->duration_s,
                              .type = search.type,
                              .node_count = (int)search.found.count,
                              .nodes = search.found.items};
}

/* A stay begins or ends. */
struct stay_turn {
    double at_s;
    size_t stay;
    bool begins;
};

static int by_time(const void *a, const void *b)
{
    const struct stay_turn *x = a, *y = b;

    if (x->at_s != y->at_s)
        return x->at_s < y->at_s ? -1 : 1;
    if (x->begins != y->begins) /* one may follow another in the same second */
        return x->begins ? 1 : -1;
    return (x->stay > y->stay) - (x->stay < y->stay);
}

/* GPUs of a node that have jobs, by the record: of those that had a part of one it is not
 * told who was beside whom. */
struct stay_use {
    int whole, parts;
};

static bool is_shared(const struct stay_use *use, int gpus)
{
    return use->whole + use->parts > gpus && use->whole + (use->parts > 0) <= gpus;
}

static void find_shared(struct real_schedule *s, const struct slurm *slurm,
                        const struct cluster *cluster)
{
    struct stay_use *uses = mem_array(struct stay_use, (size_t)cluster->node_count + 1);
    vec_of(struct stay_turn) turns = {0};

    for (size_t i = 0; i < s->count; i++)
        if (s->stays[i].node_count > 0 && s->stays[i].end_s > s->stays[i].start_s) {
            vec_push(&turns, (struct stay_turn){s->stays[i].start_s, i, true});
            vec_push(&turns, (struct stay_turn){s->stays[i].end_s, i, false});
        }
    if (turns.count > 0)
        qsort(turns.items, turns.count, sizeof(*turns.items), by_time);
    vec_each (const struct stay_turn, t, &turns) {
        const struct arrival *a = &slurm->arrivals.items[t->stay];
        struct real_stay *stay = &s->stays[t->stay];
        int first = stay->nodes[0], each = a->devices / stay->node_count;

        for (int n = 0; n < stay->node_count; n++) {
            struct stay_use *use = &uses[stay->nodes[n]];

            *(a->part ? &use->parts : &use->whole) += t->begins ? each : -each;
        }
        if (t->begins && a->devices == 1)
            stay->shares = is_shared(&uses[first], cluster->nodes[first].device_count);
    }
    vec_free(&turns);
    free(uses);
}

struct real_schedule *real_schedule_create(const struct slurm *slurm,
                                           const struct cluster *cluster)
{
    struct real_schedule *s = mem_new(struct real_schedule);

    s->count = slurm->arrivals.count;
    s->stays = mem_array(struct real_stay, s->count);
    for (size_t i = 0; i < s->count; i++) {
        const struct arrival *a = &slurm->arrivals.items[i];
        const struct slurm_job *job = &slurm->jobs.jobs[a->record];

        s->stays[i] = stay_of(job, a, cluster, slurm->first_s);
        s->elsewhere += job->hosts[0] && s->stays[i].node_count == 0;
    }
    find_shared(s, slurm, cluster);
    return s;
}

void real_schedule_destroy(struct real_schedule *schedule)
{
    if (!schedule)
        return;
    for (size_t i = 0; i < schedule->count; i++)
        free(schedule->stays[i].nodes);
    free(schedule->stays);
    free(schedule);
}
