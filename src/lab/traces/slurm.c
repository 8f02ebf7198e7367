/* slurm.c - an operator's own jobs and nodes as arrivals and a cluster: scenario.c
 * loads them for `corgi sim` */
#include "lab/traces/slurm.h"

#include "base/mem.h"
#include "base/vec.h"
#include "engine/sim/cluster_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whose demands are the highest: the fastest card jobs ran on or nodes have. */
static const struct gpu_sheet *fastest(const struct slurm_jobs *jobs,
                                       const struct slurm_nodes *nodes)
{
    const struct gpu_sheet *best = NULL;

    for (size_t i = 0; nodes && i < nodes->count; i++)
        for (int k = 0; k < nodes->nodes[i].kinds; k++) {
            const struct gpu_sheet *card = nodes->nodes[i].card[k];

            if (!best || card->fp16_tflops > best->fp16_tflops)
                best = card;
        }
    for (size_t i = 0; !nodes && i < jobs->count; i++) {
        const struct gpu_sheet *card = jobs->jobs[i].arrival.ran_on[0]
                                           ? gpu_find(jobs->jobs[i].arrival.ran_on)
                                           : NULL;

        if (card && (!best || card->fp16_tflops > best->fp16_tflops))
            best = card;
    }
    return best;
}

static int settle_types(struct slurm_jobs *jobs, const struct slurm_nodes *nodes,
                        const struct slurm_options *o, const struct gpu_sheet **card,
                        struct err *err)
{
    *card = NULL;
    if (jobs->type_unknown == 0)
        return 0;
    *card = fastest(jobs, nodes);
    if (!*card)
        return err_set(err, ERR_NOT_FOUND,
                       "%s: AllocTRES of no job tells the type of its GPUs; give the "
                       "nodes with --slurm-nodes, or the type with --slurm-types "
                       "gpu=CARD",
                       o->jobs);
    for (size_t i = 0; i < jobs->count; i++)
        if (!jobs->jobs[i].arrival.ran_on[0])
            str_copy(jobs->jobs[i].arrival.ran_on, GPU_NAME_SIZE, (*card)->name);
    return 0;
}

/* The types of a job's nodes, the first and others. */
struct host_types {
    const struct slurm_nodes *nodes;
    struct arrival *arrival;
};

static bool visit_node(void *ctx, const char *host)
{
    struct host_types *s = ctx;
    const struct slurm_node *node = slurm_nodes_find(s->nodes, host);
    char *others = s->arrival->beside_on;
    size_t used = strlen(others);
    const char *name;

    if (!node || node->kinds != 1)
        return true;
    name = node->card[0]->name;
    if (strcmp(name, s->arrival->ran_on) != 0 && !str_in_list(others, '|', name) &&
        used + strlen(name) + 2 <= sizeof(s->arrival->beside_on))
        snprintf(others + used, sizeof(s->arrival->beside_on) - used, "%s%s",
                 used ? "|" : "", name);
    return true;
}

/* Returns how many jobs were on nodes of several types. */
static size_t find_mixed(struct slurm_jobs *jobs, const struct slurm_nodes *nodes)
{
    size_t mixed = 0;

    for (size_t i = 0; nodes && i < jobs->count; i++) {
        struct host_types search = {nodes, &jobs->jobs[i].arrival};

        search.arrival->beside_on[0] = '\0';
        if (search.arrival->nodes > 1)
            slurm_hosts(jobs->jobs[i].hosts, CLUSTER_MAX_NODES, visit_node, &search,
                        NULL);
        mixed += search.arrival->beside_on[0] != '\0';
    }
    return mixed;
}

static void note_jobs(struct str *notes, const struct slurm_jobs *jobs,
                      const struct slurm_nodes *nodes, const struct slurm_options *o,
                      const struct gpu_sheet *unknown)
{
    str_addf(notes, "%s: jobs on GPUs: %zu; left out: without GPUs %zu, never ran %zu.\n",
             o->jobs_named ? o->jobs_named : o->jobs, jobs->count, jobs->without_gpus,
             jobs->never_ran);
    str_addf(
        notes,
        "Assumed: every job is training and needs %.0f %% of the rate it had alone on "
        "the GPU type it ran on%s.\n",
        100 * ARRIVALS_KEPT,
        jobs->needs_told ? ", those that told their need (below) no more than that" : "");
    if (jobs->needs_told)
        str_addf(notes,
                 "Told: what %zu jobs need, as a share of the rate they were measured to "
                 "have.\n",
                 jobs->needs_told);
    str_addf(
        notes,
        "Assumed: what a job computes is drawn from the seed%s; a number of GPUs the "
        "rates do not have becomes the next lower one, for longer.\n",
        jobs->named ? ", the same for the same user and job name" : "");
    if (jobs->drew)
        str_addf(notes,
                 "Told: what the GPUs of %zu jobs drew, as the record has it; each "
                 "computes something that uses such a GPU about as much.\n",
                 jobs->drew);
    if (unknown)
        str_addf(
            notes,
            "Assumed: jobs whose GPU type is not told (%zu) ran on %s, the fastest.\n",
            jobs->type_unknown, unknown->name);
    if (jobs->type_asked)
        str_addf(notes, "Assumed: jobs that asked for a GPU type (%zu) may run on %s.\n",
                 jobs->type_asked,
                 o->any_type ? "any that meets their need"
                             : "no other (--slurm-any-type lifts this)");
    if (jobs->bound)
        str_addf(notes,
                 "Kept: jobs whose partition is told (%zu) run on its nodes alone.\n",
                 jobs->bound);
    else if (nodes)
        str_add(notes, "Assumed: every job may run on all nodes; with the partitions of "
                       "jobs and nodes they are kept to these.\n");
    if (jobs->still_running)
        str_addf(notes,
                 "Assumed: jobs that still run (%zu) are as long as they have run.\n",
                 jobs->still_running);
    if (jobs->before)
        str_addf(notes, "Left out: jobs that ended before the time asked for (%zu).\n",
                 jobs->before);
    if (jobs->counted)
        str_addf(
            notes,
            "Measured: how much %zu jobs used their GPUs, by jobstats; each computes "
            "something that uses such a GPU about as much.\n",
            jobs->counted);
    if (jobs->counted_damaged)
        str_addf(notes, "Counters of jobstats that cannot be read: %zu.\n",
                 jobs->counted_damaged);
    if (jobs->shards)
        str_addf(
            notes,
            "Assumed: jobs on a part of a GPU (%zu) need a whole one; as they ran, they "
            "shared one where there were more jobs than GPUs.\n",
            jobs->shards);
}

/* A cluster as a text for cluster_file.h, so that a node draws what a node of a file
 * draws by default.  Nodes with several types of GPU become one a type, which share the
 * machine's draw; returns how many there were. */
static size_t cluster_of_nodes(struct str *yaml, const struct slurm_nodes *nodes)
{
    size_t mixed = 0;

    str_add(yaml, "nodes:\n");
    for (size_t i = 0; i < nodes->count; i++) {
        const struct slurm_node *n = &nodes->nodes[i];

        mixed += n->kinds > 1;
        for (int k = 0; k < n->kinds; k++) {
            str_addf(yaml, "  - {gpu: \"%s\", gpus: %d, name: \"%s", n->card[k]->name,
                     n->gpus[k], n->name);
            if (n->kinds > 1)
                str_addf(yaml, "-%s", n->card[k]->name);
            str_addf(yaml, "\", host: %gW}\n",
                     (n->host_watts > 0 ? n->host_watts : CLUSTER_HOST_WATTS) / n->kinds);
        }
    }
    return mixed;
}

/* The cluster's nodes are in the order of the list, one a type. */
static void set_groups(struct cluster *cluster, const struct slurm_nodes *nodes)
{
    int at = 0;

    for (size_t i = 0; i < nodes->count; i++)
        for (int k = 0; k < nodes->nodes[i].kinds; k++)
            cluster->nodes[at++].access.groups = nodes->nodes[i].groups;
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

/* As many GPUs of each type as were in use at once, on nodes that hold the largest part
 * of a job that ran on one.  Every job must have its type. */
static void cluster_of_jobs(struct str *yaml, const struct slurm_jobs *jobs)
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

static void note_hosts(struct str *notes, const struct slurm_nodes *nodes)
{
    size_t told = 0;

    for (size_t i = 0; nodes && i < nodes->count; i++)
        told += nodes->nodes[i].host_watts > 0;
    if (told > 0)
        str_addf(notes, "; %zu machines draw without their GPUs what the record says",
                 told);
    if (!nodes || told < nodes->count)
        str_addf(notes, "; %s draws %d W without its GPUs (--cluster changes it)",
                 told > 0 ? "each other one" : "a machine", CLUSTER_HOST_WATTS);
    str_add(notes, ".\n");
}

static int make_cluster(struct slurm *s, const struct slurm_jobs *jobs,
                        const struct slurm_nodes *nodes, const struct slurm_options *o,
                        struct err *err)
{
    struct str yaml = {0};
    size_t mixed = 0;
    int rc;

    if (nodes)
        mixed = cluster_of_nodes(&yaml, nodes);
    else
        cluster_of_jobs(&yaml, jobs);
    rc =
        cluster_file_parse(&s->cluster, str_text(&yaml), yaml.length, "its cluster", err);
    str_fini(&yaml);
    if (rc < 0) /* too large; the line it names is none of theirs */
        return err_prefix(err, "%s", nodes ? o->nodes : o->jobs);
    if (nodes)
        set_groups(s->cluster, nodes);
    if (nodes)
        str_addf(&s->cluster_notes, "%s: %d nodes with %d GPUs", o->nodes,
                 s->cluster->node_count, s->cluster->device_count);
    else
        str_addf(&s->cluster_notes,
                 "Assumed: %d nodes with %d GPUs, the most in use at once (--slurm-nodes "
                 "tells)",
                 s->cluster->node_count, s->cluster->device_count);
    note_hosts(&s->cluster_notes, nodes);
    if (mixed)
        str_addf(&s->cluster_notes,
                 "Assumed: nodes with several GPU types (%zu) are one node a type.\n",
                 mixed);
    return 0;
}

int slurm_build(struct slurm *slurm, struct slurm_jobs *jobs,
                const struct slurm_nodes *nodes, const struct slurm_options *o,
                struct err *err)
{
    const struct gpu_sheet *unknown;
    struct slurm s = {0};
    size_t mixed;

    if (settle_types(jobs, nodes, o, &unknown, err) < 0)
        return -1;
    mixed = find_mixed(jobs, nodes);
    note_jobs(&s.notes, jobs, nodes, o, unknown);
    if (mixed)
        str_addf(
            &s.notes,
            "Assumed: jobs on nodes of several GPU types (%zu) went at the pace of the "
            "slowest.\n",
            mixed);
    if (make_cluster(&s, jobs, nodes, o, err) < 0) {
        slurm_fini(&s);
        return -1;
    }
    s.arrivals.items = mem_array(struct arrival, jobs->count);
    s.arrivals.count = jobs->count;
    for (size_t i = 0; i < jobs->count; i++) {
        s.arrivals.items[i] = jobs->jobs[i].arrival;
        if (o->any_type)
            s.arrivals.items[i].gpus[0] = '\0';
    }
    s.first_s = INFINITY;
    for (size_t i = 0; i < jobs->count; i++)
        s.first_s = fmin(s.first_s, jobs->jobs[i].arrival.at_s);
    if (arrivals_finish(&s.arrivals, o->jobs, err) < 0) {
        slurm_fini(&s);
        return -1;
    }
    *slurm = s;
    return 0;
}

int slurm_load(struct slurm *slurm, const struct slurm_options *o, struct err *err)
{
    struct slurm_nodes nodes = {0};
    struct slurm_jobs jobs = {0};
    int rc = -1;

    if (o->nodes && slurm_nodes_load(&nodes, o->nodes, o->names, err) < 0)
        goto done;
    if (slurm_jobs_load(&jobs, o->jobs, o->nodes ? &nodes : NULL, o->names, err) < 0)
        goto done;
    slurm_jobs_since(&jobs, o->since_s);
    rc = slurm_build(slurm, &jobs, o->nodes ? &nodes : NULL, o, err);
    if (rc == 0) {
        slurm->jobs = jobs;
        jobs = (struct slurm_jobs){0}; /* slurm's now */
    }
done:
    slurm_jobs_fini(&jobs);
    slurm_nodes_fini(&nodes);
    return rc;
}

void slurm_fini(struct slurm *slurm)
{
    arrivals_fini(&slurm->arrivals);
    slurm_jobs_fini(&slurm->jobs);
    cluster_destroy(slurm->cluster);
    str_fini(&slurm->notes);
    str_fini(&slurm->cluster_notes);
    *slurm = (struct slurm){0};
}

const char *slurm_notes(const struct slurm *slurm, bool other_cluster, struct str *out)
{
    str_add(out, str_text(&slurm->notes));
    if (!other_cluster)
        str_add(out, str_text(&slurm->cluster_notes));
    return str_text(out);
}
