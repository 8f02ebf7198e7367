/* slurm_other_jobs.c - slurm_job_table.c hands over jobs that ask for no GPU;
 * slurm_node_table.c tells what they leave */
#include "engine/slurm/slurm_other_jobs.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "engine/slurm/slurm_node_table.h"
#include "loop/host_room.h"

#include <stdlib.h>

/* A part of a job on a node with GPUs. */
struct other_part {
    uint64_t job; /* hash of its id */
    int node;
    struct host_room room;
};

struct slurm_other_jobs {
    struct slurm_node_table *nodes;
    vec_of(struct other_part) parts;
    struct map *known; /* jobs that have parts */
};

struct slurm_other_jobs *slurm_other_jobs_create(struct slurm_node_table *nodes)
{
    struct slurm_other_jobs *o = mem_new(struct slurm_other_jobs);

    o->nodes = nodes;
    o->known = map_create();
    return o;
}

void slurm_other_jobs_destroy(struct slurm_other_jobs *o)
{
    if (!o)
        return;
    vec_free(&o->parts);
    map_destroy(o->known);
    free(o);
}

static void give_back(struct slurm_other_jobs *o, const struct other_part *part)
{
    slurm_node_table_use(o->nodes, part->node,
                         (struct host_room){-part->room.cpus, -part->room.memory_gb});
}

static void drop(struct slurm_other_jobs *o, uint64_t job)
{
    size_t kept = 0;

    if (!map_remove(o->known, job))
        return;
    for (size_t i = 0; i < o->parts.count; i++) {
        if (o->parts.items[i].job == job)
            give_back(o, &o->parts.items[i]);
        else
            o->parts.items[kept++] = o->parts.items[i];
    }
    o->parts.count = kept;
}

void slurm_other_jobs_take(struct slurm_other_jobs *o, const struct slurm_job_row *row)
{
    uint64_t job = hash_text(row->id);

    drop(o, job);
    for (int i = 0; i < row->host_count && row->stands == SLURM_JOB_RUNS; i++) {
        struct other_part part = {.job = job,
                                  .node =
                                      slurm_node_table_find(o->nodes, row->hosts[i].node),
                                  .room = {(double)row->cpus / row->num_nodes,
                                           row->memory_mb / 1024 / row->num_nodes}};

        if (part.node < 0 || !host_room_wanted(part.room))
            continue;
        vec_push(&o->parts, part);
        map_put(o->known, job, 1);
        slurm_node_table_use(o->nodes, part.node, part.room);
    }
}

void slurm_other_jobs_gone(struct slurm_other_jobs *o, const char *id)
{
    drop(o, hash_text(id));
}

void slurm_other_jobs_forget(struct slurm_other_jobs *o)
{
    for (size_t i = 0; i < o->parts.count; i++) {
        give_back(o, &o->parts.items[i]);
        map_remove(o->known, o->parts.items[i].job);
    }
    vec_clear(&o->parts);
}
