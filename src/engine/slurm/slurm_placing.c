/* slurm_placing.c - orders for Slurm's jobs that Corgi places: what they say, sending
 * them, and what their answers mean; see slurm_control_private.h */
#include "engine/slurm/slurm_control_private.h"

#include "base/json_out.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/slurm/helper_link.h"
#include "engine/slurm/slurm_node_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define USUAL_PATH   "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define MOST_NODES   64
#define WAKE_AGAIN_S 60.0
#define WAKE_MOST_S                                                                      \
    1800.0 /* a node that sleeps for longer does not wake; Slurm calls it down sooner */

/* ---- what orders say --------------------------------------------------------------- */

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

static void write_environment(struct json_out *out, const struct engine_job *job)
{
    bool path = false;

    json_out_key_array(out, "environment");
    for (int i = 0; job->env[i]; i++) {
        json_out_string(out, job->env[i]);
        path = path || str_starts(job->env[i], "PATH=");
    }
    if (!path)
        json_out_string(out, "PATH=" USUAL_PATH);
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
    struct json_out out;

    str_next_word(&list, partition, sizeof(partition));
    str_add(&script, "#!/bin/sh\nexec");
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
    json_out_key_string(&out, "directory", job->directory);
    if (job->output)
        json_out_key_string(&out, "output", job->output);
    json_out_key_string(&out, "script", str_text(&script));
    json_out_key_string(&out, "admin_comment", str_text(&mark));
    write_size(c, &out, job);
    write_environment(&out, job);
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

/* Which GPUs of its nodes it is to have, as bits; 0: other ones on each node, or nodes
 * whose GPUs cannot be asked for by name. */
static uint64_t pinned(const struct slurm_control *c, const struct slurm_ours *j)
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
    uint64_t names = pinned(c, j);

    if (names == 0)
        str_addf(gres, "gres:%s:%d", shard ? "shard" : "gpu", each);
    for (int i = 0; i < 64; i++)
        if (names >> i & 1)
            str_addf(gres, "%sgres:%s:g%d:1", gres->length ? "," : "",
                     shard ? "shard" : "gpu", i);
}

/* Does only the mark say how many GPUs it asks for? */
static bool is_bare(const struct slurm_control *c, const struct slurm_ours *j)
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
    bool bare = is_bare(c, j);
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
    slurm_mark_attempt(j->shown.there ? j->shown.comment : str_text(&own), j->attempt,
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

/* ---- sending ----------------------------------------------------------------------- */

static const char *const ops[] = {
    [WISH_SUBMIT] = "submit", [WISH_START] = "update_job", [WISH_HOLD] = "update_job",
    [WISH_CANCEL] = "cancel", [WISH_SIGNAL] = "signal",    [WISH_REQUEUE] = "requeue"};

static char *job_members(const struct slurm_ours *j, const char *more)
{
    struct str text = {0};

    str_addf(&text, "\"job\":\"%s\",\"mark\":\"%s\"%s", j->id, j->tail, more);
    return str_take(&text);
}

static char *signal_members(const struct slurm_ours *j)
{
    char more[32];

    snprintf(more, sizeof(more), ",\"signal\":%d", j->checkpoint_signal);
    return job_members(j, more);
}

static char *members_of(const struct slurm_control *c, const struct slurm_ours *j,
                        struct err *err)
{
    switch (j->wish) {
    case WISH_SUBMIT:
        return mem_strdup(j->submit);
    case WISH_START:
        return slurm_place_members(c, j, err);
    case WISH_HOLD:
        return job_members(j, ",\"hold\":true");
    case WISH_SIGNAL:
        return signal_members(j);
    default:
        return job_members(j, "");
    }
}

static void wake(const struct slurm_control *c, int node)
{
    const char *name, *address;
    struct str members = {0};

    slurm_node_table_name(c->nodes, node, &name, &address);
    str_addf(&members, "\"node\":\"%s\",\"state\":\"power_up\"", name);
    helper_link_order(c->link, "update_node", str_text(&members), SLURM_NODE_TAG);
    str_fini(&members);
}

/* Slurm starts a job late on a node that sleeps when it is released: the node is woken,
 * and the job released when all of its nodes are up. */
static bool nodes_are_up(const struct slurm_control *c, struct slurm_ours *j,
                         double now_s)
{
    enum slurm_node_stands worst = SLURM_NODE_UP;
    bool order = now_s - j->woke_s > WAKE_AGAIN_S;
    int first;

    for (int i = 0; i < j->device_count; i++) {
        int node = slurm_node_table_of(c->nodes, j->devices[i], &first);
        enum slurm_node_stands stands = slurm_node_table_stands(c->nodes, node);

        worst = stands > worst ? stands : worst;
        if (stands == SLURM_NODE_SLEEPS && order) {
            wake(c, node);
            j->woke_s = now_s;
        }
    }
    if (worst == SLURM_NODE_UP)
        return true;
    if (j->until_s == 0)
        j->until_s = now_s + WAKE_MOST_S;
    if (worst == SLURM_NODE_DOWN || now_s >= j->until_s) {
        j->wish = WISH_NOTHING;
        slurm_tell_end(c, j, ENGINE_END_NO_ROOM, now_s, "its node does not answer");
    }
    return false;
}

/* Slurm only adds to the GPUs by name that a job asks for: one that is to have another
 * one is handed in again, if it is ours to hand in. */
static bool begins_anew(struct slurm_control *c, struct slurm_ours *j)
{
    char *members;
    bool sent;

    if (!j->submit || j->pin == 0 || j->pin == pinned(c, j))
        return false;
    members = job_members(j, "");
    sent = helper_link_order(c->link, "cancel", members, NOBODY);
    free(members);
    if (!sent)
        return true;
    slurm_ours_name(c, j, "");
    slurm_ours_lose(j);
    j->stage = STAGE_ENTERING;
    j->pin = 0;
    j->wish = WISH_SUBMIT;
    return true;
}

static void send(struct slurm_control *c, struct slurm_ours *j, double now_s)
{
    struct err err = {0};
    char *members;

    if (j->doubted)
        return;
    if (j->wish == WISH_SUBMIT && !j->submit) { /* a user's: only he has it */
        j->wish = WISH_NOTHING;
        return;
    }
    if (j->wish == WISH_START &&
        (j->gone_s > 0 || now_s < j->rest_s || !nodes_are_up(c, j, now_s)))
        return; /* gone: Slurm may have forgotten it, and it is handed in again */
    if (j->wish == WISH_START && begins_anew(c, j))
        return;
    members = members_of(c, j, &err);
    if (!members) {
        j->wish = WISH_NOTHING;
        slurm_tell_end(c, j, ENGINE_END_NOT_STARTED, now_s, err.text);
    } else if (helper_link_order(c->link, ops[j->wish], members, j->job)) {
        log_debug("slurm_order", LOG_U64("job", j->job), LOG_STR("id", j->id),
                  LOG_STR("op", ops[j->wish]));
        if (j->wish == WISH_START && is_bare(c, j))
            j->pin = pinned(c, j);
        j->under_way = j->wish;
        j->wish = WISH_NOTHING;
    }
    free(members);
}

/* It was told to checkpoint, and has time for that. */
static bool is_parked(const struct slurm_ours *j)
{
    return j->parked_s > 0 && j->stage == STAGE_RUNS && j->moving &&
           j->wish == WISH_NOTHING && j->under_way == WISH_NOTHING;
}

double slurm_control_advance(struct slurm_control *c, double now_s)
{
    double next_s = INFINITY;

    for (size_t i = c->jobs.count; i-- > 0;) {
        struct slurm_ours *j = c->jobs.items[i];

        if (j->end_due)
            slurm_tell_end(c, j, ENGINE_END_STOPPED, now_s, NULL);
        if (is_parked(j) && now_s >= j->parked_s) {
            j->parked_s = INFINITY;
            j->wish = WISH_REQUEUE;
        }
        if (j->wish == WISH_CANCEL && !j->id[0] && j->under_way == WISH_NOTHING &&
            c->looks >= j->judge_from && c->looks > 0) { /* Slurm never had it */
            slurm_ours_drop(c, j);
            continue;
        }
        if (j->wish != WISH_NOTHING && j->under_way == WISH_NOTHING &&
            (j->id[0] || j->wish == WISH_SUBMIT) && helper_link_is_up(c->link))
            send(c, j, now_s);
        if (j->wish == WISH_START && j->rest_s > now_s)
            next_s = fmin(next_s, j->rest_s);
        if (is_parked(j))
            next_s = fmin(next_s, j->parked_s);
    }
    return next_s;
}

/* ---- answers ----------------------------------------------------------------------- */

static void submitted(struct slurm_control *c, struct slurm_ours *j,
                      const struct json_value *answer, const char *code,
                      const char *error, double now_s)
{
    const char *id = answer ? json_member_string(answer, "job") : NULL;

    if (id) {
        slurm_ours_name(c, j, id);
        j->stage = STAGE_HELD;
        slurm_tell_entered(c, j, now_s);
        if (j->live && j->wish == WISH_NOTHING)
            j->wish = WISH_START;
    } else if (strcmp(code, "refused") == 0) {
        c->sink.event(c->sink.ctx, &(struct engine_event){.kind = ENGINE_REFUSED,
                                                          .at_s = now_s,
                                                          .job = j->job,
                                                          .text = error});
        slurm_ours_drop(c, j);
    } /* else a later look tells whether Slurm has it */
}

static void placed(struct slurm_control *c, struct slurm_ours *j, const char *code,
                   const char *error, double now_s)
{
    if (!error || strcmp(code, "late") == 0) {
        j->stage = STAGE_PLACED;
        j->released = !error;
        j->until_s = now_s + c->start_s;
    } else if (!j->doubted) { /* else it is still to be started, whatever its number */
        slurm_tell_end(c, j,
                       strcmp(code, "refused") == 0 ? ENGINE_END_NOT_STARTED
                                                    : ENGINE_END_NO_ROOM,
                       now_s, error);
    }
}

void slurm_control_ordered(struct slurm_control *c, uint64_t tag,
                           const struct json_value *answer, const char *code,
                           const char *error, double now_s)
{
    struct slurm_ours *j;
    enum slurm_wish was;
    size_t at;

    if (!map_get(c->by_job, tag, &at))
        return;
    j = c->jobs.items[at];
    was = j->under_way;
    j->under_way = WISH_NOTHING;
    j->judge_from = c->looks + 2; /* the look under way may have begun before */
    if (error)
        log_warn("slurm_refused", LOG_U64("job", tag), LOG_STR("id", j->id),
                 LOG_STR("op", ops[was]), LOG_STR("text", error));
    j->doubted = code && strcmp(code, "foreign") == 0;
    if (was == WISH_SUBMIT)
        submitted(c, j, answer, code, error, now_s);
    else if (was == WISH_START)
        placed(c, j, code, error, now_s);
    else if (was == WISH_SIGNAL) /* who cannot be told is moved all the same */
        j->parked_s = error ? now_s : now_s + j->grace_s;
    else if (was == WISH_CANCEL && !error)
        j->stage = STAGE_LEAVING;
    else if (was == WISH_CANCEL && strcmp(code, "refused") != 0 &&
             j->wish == WISH_NOTHING)
        j->wish = WISH_CANCEL; /* nobody heard it */
}

void slurm_control_down(struct slurm_control *c)
{
    for (size_t i = 0; i < c->jobs.count; i++) {
        struct slurm_ours *j = c->jobs.items[i];

        if (j->under_way == WISH_NOTHING)
            continue;
        if (j->under_way == WISH_START) { /* it may have been released */
            j->stage = STAGE_PLACED;
            j->until_s = 0;
        } else if (j->under_way != WISH_SUBMIT && j->wish == WISH_NOTHING) {
            j->wish = j->under_way;
        }
        j->under_way = WISH_NOTHING;
        j->judge_from = c->looks + 1;
    }
}
