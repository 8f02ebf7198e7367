/* slurm_order_members.c - what the orders for Slurm's jobs say, as members of JSON
 * objects; slurm_placing.c sends them, see slurm_control_private.h */
#include "engine/slurm/slurm_control_private.h"

#include "base/json_out.h"
#include "engine/slurm/slurm_node_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define USUAL_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define MOST_NODES 64

/* An object's inside; takes the text. */
static char *without_braces(struct str *object)
{
    char *text = str_take(object);
    size_t length = strlen(text);

    memmove(text, text + 1, length - 2);
    text[length - 2] = '\0';
    return text;
}

static void add_quoted(struct str *script, const char *word)
{
    str_add(script, " '");
    for (; *word; word++) {
        if (*word == '\'')
            str_add(script, "'\\''");
        else
            str_add_bytes(script, word, 1);
    }
    str_add(script, "'");
}

static void write_pair(struct json_out *out, const char *name, const char *value)
{
    struct str pair = {0};

    if (!value)
        return;
    str_addf(&pair, "%s=%s", name, value);
    json_out_string(out, str_text(&pair));
    str_fini(&pair);
}

static void write_environment(const struct slurm_control *c, struct json_out *out,
                              const struct engine_job *job)
{
    bool path = false;

    json_out_key_array(out, "environment");
    for (int i = 0; job->env[i]; i++) {
        json_out_string(out, job->env[i]);
        path = path || str_starts(job->env[i], "PATH=");
    }
    if (!path)
        json_out_string(out, "PATH=" USUAL_PATH);
    write_pair(out, "SLURM_JOB_NAME", slurm_submit_name(job)); /* as sbatch would */
    write_pair(out, "CORGI_REPORT", c->report);
    write_pair(out, "CORGI_REPORT_CA", c->report_ca);
    write_pair(out, "CORGI_JOB_TOKEN", c->report ? job->token : NULL);
    json_out_end(out);
}

static void write_size(const struct slurm_control *c, struct json_out *out,
                       const struct engine_job *job)
{
    const struct job *asked = job->job;
    char gres[40];

    snprintf(gres, sizeof(gres), "gres:gpu:%d", asked->devices > 0 ? asked->devices : 1);
    if (!c->sharing) /* else as it is placed: what Slurm was asked for cannot be changed
                      */
        json_out_key_string(out, "gres", gres);
    if (asked->cpus >= 1)
        json_out_key_number(out, "cpus", ceil(asked->cpus));
    if (asked->host_memory_gb > 0)
        json_out_key_number(out, "memory_mb", ceil(asked->host_memory_gb * 1024));
}

const char *slurm_submit_name(const struct engine_job *job)
{
    return job->job->name[0] ? job->job->name : "corgi";
}

/* Of a job that we hand in; with its GPUs where Slurm is not told of them. */
static void own_mark(const struct slurm_control *c, uint64_t job, int devices,
                     struct str *mark)
{
    char digest[SLURM_DIGEST_SIZE];

    slurm_ours_digest(c, job, digest);
    str_addf(mark, SLURM_MARK "%s:{", digest);
    if (c->sharing)
        str_addf(mark, "\"gpus\":%d", devices > 0 ? devices : 1);
    str_add(mark, "}");
}

char *slurm_submit_members(const struct slurm_control *c, const struct engine_job *job)
{
    struct str text = {0}, script = {0}, mark = {0};
    char partition[SLURM_NAME_SIZE] = "";
    const char *list = c->partitions;
    const struct job_groups *there = job->there;
    struct json_out out;

    if (there && there->names[JOB_GROUP_PARTITION][0])
        str_copy(partition, sizeof(partition), there->names[JOB_GROUP_PARTITION]);
    else
        str_next_word(&list, partition, sizeof(partition));
    str_add(&script, "#!/bin/sh\nexec");
    if (c->probe) {
        add_quoted(&script, c->probe);
        str_add(&script, " --whole --");
    }
    for (int i = 0; job->argv[i]; i++)
        add_quoted(&script, job->argv[i]);
    str_add(&script, "\n");
    own_mark(c, job->job->id, job->job->devices, &mark);
    json_out_init(&out, &text, false);
    json_out_begin_object(&out);
    json_out_key_int(&out, "uid", job->uid);
    json_out_key_int(&out, "gid", job->gid);
    json_out_key_string(&out, "name", slurm_submit_name(job));
    json_out_key_string(&out, "partition", partition);
    for (int i = JOB_GROUP_ACCOUNT; there && i <= JOB_GROUP_QOS; i++)
        if (there->names[i][0])
            json_out_key_string(&out, job_group_kinds[i], there->names[i]);
    json_out_key_string(&out, "directory", job->directory);
    if (job->output)
        json_out_key_string(&out, "output", job->output);
    json_out_key_string(&out, "script", str_text(&script));
    json_out_key_string(&out, "admin_comment", str_text(&mark));
    write_size(c, &out, job);
    write_environment(c, &out, job);
    json_out_end(&out);
    str_fini(&script);
    str_fini(&mark);
    return without_braces(&text);
}

/* Names of its nodes with commas between; returns how many devices each has, 0: not all
 * have the same number, or they are too many. */
static int nodes_of(const struct slurm_control *c, const struct slurm_ours *j,
                    struct str *names)
{
    int nodes[MOST_NODES], counts[MOST_NODES] = {0}, used = 0, first;

    for (int i = 0; i < j->device_count; i++) {
        int node = slurm_node_table_of(c->nodes, j->devices[i], &first), at = 0;

        while (at < used && nodes[at] != node)
            at++;
        if (at == MOST_NODES)
            return 0;
        nodes[at] = node;
        counts[at]++;
        used += at == used;
    }
    for (int at = 0; at < used; at++) {
        const char *name, *address;

        if (counts[at] != counts[0])
            return 0;
        slurm_node_table_name(c->nodes, nodes[at], &name, &address);
        str_addf(names, "%s%s", at ? "," : "", name);
    }
    return counts[0];
}

uint64_t slurm_ours_pinned(const struct slurm_control *c, const struct slurm_ours *j)
{
    uint64_t masks[MOST_NODES] = {0}, all = 0;
    int nodes[MOST_NODES], used = 0, first;

    for (int i = 0; i < j->device_count; i++) {
        int node = slurm_node_table_of(c->nodes, j->devices[i], &first), at = 0;

        if (!slurm_node_table_pins(c->nodes, node) || j->devices[i] - first >= 64)
            return 0;
        while (at < used && nodes[at] != node)
            at++;
        nodes[at] = node;
        used += at == used;
        masks[at] |= (uint64_t)1 << (j->devices[i] - first);
        all |= masks[at];
    }
    for (int at = 0; at < used; at++)
        if (masks[at] != all)
            return 0;
    return all;
}

/* Of a job that Slurm knows no GPUs of: a shard where it shares its device, else whole
 * ones; by name where they have names. */
static void first_gres(const struct slurm_control *c, const struct slurm_ours *j,
                       int each, struct str *gres)
{
    int first, node = slurm_node_table_of(c->nodes, j->devices[0], &first);
    bool shard = c->sharing && j->shares && slurm_node_table_shares(c->nodes, node) > 1;
    uint64_t names = slurm_ours_pinned(c, j);

    if (names == 0)
        str_addf(gres, "gres:%s:%d", shard ? "shard" : "gpu", each);
    for (int i = 0; i < 64; i++)
        if (names >> i & 1)
            str_addf(gres, "%sgres:%s:g%d:1", gres->length ? "," : "",
                     shard ? "shard" : "gpu", i);
}

bool slurm_ours_is_bare(const struct slurm_control *c, const struct slurm_ours *j)
{
    return c->sharing && (j->shown.there ? j->shown.bare : j->submit != NULL);
}

/* So many GPUs on each node, of the type its user named; nothing when it is so already,
 * or was asked for in another way.  Slurm only ever adds to the types a job asks for, so
 * a user's that was placed before keeps its GPU's name on another node. */
static void write_gres(const struct slurm_control *c, struct json_out *out,
                       const struct slurm_ours *j, int each)
{
    const struct slurm_shown *s = &j->shown;
    int now = s->there ? s->node_gpus : j->submit && !c->sharing ? j->device_count : 0;
    bool bare = slurm_ours_is_bare(c, j);
    struct str gres = {0};

    if (!bare && (now == 0 || now == each))
        return;
    if (bare)
        first_gres(c, j, each, &gres);
    else
        str_addf(&gres, "gres:gpu%s%s:%d", s->node_type[0] ? ":" : "", s->node_type,
                 each);
    json_out_key_string(out, "gres", str_text(&gres));
    str_fini(&gres);
}

/* Others' words stay; a comment that would be too long keeps the attempt before. */
static void write_mark(const struct slurm_control *c, struct json_out *out,
                       const struct slurm_ours *j)
{
    struct str own = {0}, mark = {0};

    own_mark(c, j->job, j->device_count, &own);
    slurm_mark_attempt(j->shown.comment ? j->shown.comment : str_text(&own), j->attempt,
                       &mark);
    if (mark.length <= SLURM_MARK_MOST)
        json_out_key_string(out, "admin_comment", str_text(&mark));
    str_fini(&own);
    str_fini(&mark);
}

char *slurm_place_members(const struct slurm_control *c, const struct slurm_ours *j,
                          struct err *err)
{
    struct str text = {0}, names = {0};
    struct json_out out;
    int each = nodes_of(c, j, &names);

    if (each == 0) {
        str_fini(&names);
        err_set(err, ERR_UNSUPPORTED,
                "Slurm gives a job the same number of GPUs on each of its nodes");
        return NULL;
    }
    json_out_init(&out, &text, false);
    json_out_begin_object(&out);
    json_out_key_string(&out, "job", j->id);
    json_out_key_string(&out, "mark", j->tail);
    json_out_key_string(&out, "nodes", str_text(&names));
    write_gres(c, &out, j, each);
    write_mark(c, &out, j);
    json_out_key_bool(&out, "release", true);
    json_out_end(&out);
    str_fini(&names);
    return without_braces(&text);
}
