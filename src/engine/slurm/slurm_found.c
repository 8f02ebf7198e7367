/* slurm_found.c - slurm_job_table.c and slurm_control.c tell the daemon of jobs with it
 */
#include "engine/slurm/slurm_found.h"

#include "base/hash.h"
#include "base/rng.h"
#include "base/str.h"
#include "engine/slurm/slurm_access.h"
#include "engine/slurm/slurm_mark.h"
#include "engine/slurm/slurm_node_table.h"

#include <string.h>

/* GPU types it names as a resource or as features; 0: any. */
static uint64_t types_of(const struct slurm_node_table *nodes,
                         const struct slurm_job_row *row)
{
    const char *at = row->features;
    uint64_t types = 0;
    char word[64];

    for (int k = 0; k < row->wish.kinds; k++)
        types |= slurm_node_table_type(nodes, row->wish.kind[k].type);
    while (types == 0 && at && *at) {
        size_t length = strcspn(at, ",&|()[]*");

        if (length > 0 && length < sizeof(word)) {
            memcpy(word, at, length);
            word[length] = '\0';
            types |= slurm_node_table_type(nodes, word);
        }
        at += length + (at[length] != '\0');
    }
    return types;
}

int slurm_job_wanted(const struct slurm_job_row *row)
{
    int count = row->wish.untyped;

    if (!slurm_job_wants_gpus(row)) /* the plugin has taken it off */
        count = slurm_mark_gpus(row->admin_comment);

    for (int k = 0; k < row->wish.kinds; k++)
        count += row->wish.kind[k].count;
    return count > 0 ? count : 1; /* shards are parts of one */
}

struct job_groups slurm_job_groups(const struct slurm_job_row *row)
{
    const char *const names[JOB_GROUPS] = {[JOB_GROUP_ACCOUNT] = row->account,
                                           [JOB_GROUP_QOS] = row->qos,
                                           [JOB_GROUP_PARTITION] = row->partition};
    struct job_groups groups = {0};

    for (int i = 0; i < JOB_GROUPS; i++)
        str_copy(groups.names[i], sizeof(groups.names[i]), names[i] ? names[i] : "");
    return groups;
}

uint64_t slurm_groups_hash(const struct job_groups *groups)
{
    uint64_t hash = 0;

    for (int i = 0; i < JOB_GROUPS; i++)
        hash = rng_mix(hash, hash_text(groups ? groups->names[i] : ""));
    return hash;
}

void slurm_job_tell_groups(const struct engine_sink *sink,
                           const struct slurm_job_row *row, uint64_t job, double now_s,
                           uint64_t *told)
{
    struct job_groups groups = slurm_job_groups(row);
    uint64_t hash = slurm_groups_hash(&groups);

    if (hash == *told)
        return;
    *told = hash;
    sink->event(sink->ctx, &(struct engine_event){.kind = ENGINE_JOB_BELONGS,
                                                  .at_s = now_s,
                                                  .job = job,
                                                  .there = &groups});
}

struct engine_found slurm_job_found(const struct slurm_node_table *nodes,
                                    const struct slurm_job_row *row, const char *ref)
{
    struct slurm_access *access = slurm_node_table_access(nodes);

    return (struct engine_found){
        .ref = ref,
        .submit_s = row->submit_s,
        .restarts = row->restarts,
        .user = row->user,
        .uid = row->uid,
        .gid = row->gid,
        .name = row->name,
        .there = slurm_job_groups(row),
        .command = row->command,
        .directory = row->directory,
        .asked = slurm_mark_request(row->admin_comment),
        .token_digest = slurm_mark_digits(row->admin_comment),
        .devices = slurm_job_wanted(row),
        .shares = row->wish.shards > 0 ||
                  (slurm_node_table_shared(nodes) && slurm_job_wanted(row) == 1),
        .part = row->wish.shards > 0,
        .types = types_of(nodes, row),
        .cpus = row->cpus,
        .memory_mb = row->memory_mb,
        .limit_s = slurm_access_limit_s(access, row),
        .group = slurm_access_group(access, row),
        .held = row->held};
}

int slurm_job_devices(const struct slurm_node_table *nodes,
                      const struct slurm_job_row *row, int devices[LOOP_MAX_GANG])
{
    int count = 0;

    for (int i = 0; i < row->host_count; i++) {
        if (row->hosts[i].gpus == 0)
            return 0;
        count = slurm_node_table_devices(nodes, row->hosts[i].node, row->hosts[i].gpus, 0,
                                         devices, count);
    }
    return count;
}
