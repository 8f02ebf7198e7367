/* fuzz_slurm_answers.c - whatever the helper answers, what is told of it makes sense
 *
 * Every line of the input is an answer; lines that have jobs go to the table of jobs,
 * those with partitions or reservations to who may use which nodes, the others to the
 * table of nodes.  The sink plays the daemon: devices are within the cluster, a job is
 * found before anything else is told of it, and ends once. */
#include "fuzz/fuzz.h"

#include "base/json.h"
#include "base/mem.h"
#include "engine/slurm/slurm_access.h"
#include "engine/slurm/slurm_job_table.h"
#include "engine/slurm/slurm_node_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_JOBS 4096

struct daemon {
    int devices, nodes;
    uint64_t jobs;
    enum { NOBODY, WAITS, RUNS, ENDED } jobs_are[MOST_JOBS];
};

static void check_started(struct daemon *d, const struct engine_event *e)
{
    if (d->jobs_are[e->job] == ENDED || e->device_count > LOOP_MAX_GANG)
        abort();
    for (int i = 0; i < e->device_count; i++)
        if (e->devices[i] < 0 || e->devices[i] >= d->devices)
            abort();
    d->jobs_are[e->job] = RUNS;
}

static void on_event(void *ctx, const struct engine_event *e)
{
    struct daemon *d = ctx;

    if (e->group < 0 || e->group >= LOOP_NODE_GROUPS || !(e->limit_s >= 0))
        abort();
    if (e->kind == ENGINE_JOB_FOUND) {
        if (!e->found->ref[0] || !e->found->user[0] || e->found->devices < 1 ||
            e->found->group < 0 || e->found->group >= LOOP_NODE_GROUPS ||
            !(e->found->limit_s >= 0))
            abort();
        if (d->jobs + 1 < MOST_JOBS) {
            *e->found->job_out = ++d->jobs;
            d->jobs_are[d->jobs] = WAITS;
        }
        return;
    }
    if (e->job >= MOST_JOBS || (e->job > 0 && d->jobs_are[e->job] == NOBODY))
        abort();
    if (e->kind == ENGINE_STARTED)
        check_started(d, e);
    if (e->kind == ENGINE_ENDED) {
        if (d->jobs_are[e->job] == ENDED || !isfinite(e->at_s))
            abort();
        d->jobs_are[e->job] = e->end == ENGINE_END_REQUEUED ? WAITS : ENDED;
    }
    if (e->kind == ENGINE_NODE_ADDED) {
        if (e->node != d->nodes++ || e->spec->device_count < 1)
            abort();
        d->devices += e->spec->device_count;
    } else if (e->node < 0 || e->node >= d->nodes + (e->job > 0)) {
        abort();
    }
}

static void take(struct slurm_node_table *nodes, struct slurm_job_table *jobs,
                 const char *line, size_t length)
{
    struct json_doc *doc;

    if (json_doc_parse_few(&doc, line, length, "fuzz", 100000, NULL) < 0)
        return;
    if (json_member_bool(json_doc_root(doc), "jobs", false))
        slurm_job_table_take(jobs, json_doc_root(doc), 1e9);
    else if (json_member_bool(json_doc_root(doc), "partitions", false))
        slurm_access_take_partitions(slurm_node_table_access(nodes), json_doc_root(doc),
                                     1e9);
    else if (json_member_bool(json_doc_root(doc), "reservations", false))
        slurm_access_take_reservations(slurm_node_table_access(nodes), json_doc_root(doc),
                                       1e9);
    else
        slurm_node_table_take(nodes, json_doc_root(doc), 1e9);
    slurm_access_tell(slurm_node_table_access(nodes), 1e9);
    json_doc_destroy(doc);
}

/* The cluster every input begins with. */
static const char first[] =
    "{\"fresh\":true,\"more\":false,\"gone\":[],\"rows\":["
    "{\"name\":\"node1\",\"state\":\"idle\",\"flags\":[],\"gres\":\"gpu:v100:2,shard:4\"}"
    ","
    "{\"name\":\"node2\",\"state\":\"down\",\"flags\":[],\"gres\":\"gpu:k80:4\"}]}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct daemon *d = mem_new(struct daemon);
    struct engine_sink sink = {on_event, d};
    const struct slurm_node_options options = {.names = "tesla=t4,gpu=l4"};
    struct slurm_node_table *nodes = slurm_node_table_create(&options, sink);
    struct slurm_access *access = slurm_access_create(nodes, sink);
    struct slurm_job_table *jobs = slurm_job_table_create(nodes, sink);
    const char *at = (const char *)data, *end = at + size;
    struct cluster *cluster;

    slurm_node_table_set_access(nodes, access);
    take(nodes, jobs, first, sizeof(first) - 1);
    if (slurm_node_table_cluster(nodes, &cluster, NULL) < 0)
        abort();
    d->devices = cluster->device_count;
    d->nodes = cluster->node_count;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t length = newline ? (size_t)(newline - at) : (size_t)(end - at);

        take(nodes, jobs, at, length);
        at += length + 1;
    }
    cluster_destroy(cluster);
    slurm_job_table_destroy(jobs);
    slurm_access_destroy(access);
    slurm_node_table_destroy(nodes);
    free(d);
    return 0;
}
