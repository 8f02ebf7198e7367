/* slurm_control.c - slurm_engine.c calls the operations, slurm_job_table.c hands over
 * rows; see slurm_control_private.h for the other files of it */
#include "engine/slurm/slurm_control.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/slurm/helper_link.h"
#include "engine/slurm/slurm_control_private.h"
#include "engine/slurm/slurm_found.h"
#include "engine/slurm/slurm_job_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of slurm.conf, until it is known. */
#define USUAL_KILL_WAIT_S   30.0
#define USUAL_MIN_JOB_AGE_S 300.0

/* ---- the table --------------------------------------------------------------------- */

struct slurm_control *slurm_control_create(const struct slurm_control_options *options,
                                           struct slurm_node_table *nodes,
                                           struct slurm_job_table *watched,
                                           struct helper_link *link,
                                           struct engine_sink sink)
{
    struct slurm_control *c = mem_new(struct slurm_control);

    c->nodes = nodes;
    c->watched = watched;
    c->link = link;
    c->sink = sink;
    c->partitions = mem_strdup(options->partitions);
    c->start_s = options->start_s;
    c->sharing = options->sharing;
    c->probe = options->probe;
    c->report = options->report;
    c->report_ca = options->report_ca;
    c->by_job = map_create();
    c->by_id = map_create();
    c->boot_s = -1;
    c->kill_wait_s = USUAL_KILL_WAIT_S;
    c->min_job_age_s = USUAL_MIN_JOB_AGE_S;
    slurm_identity_know(c, options->state_dir);
    return c;
}

static void free_job(struct slurm_ours *j)
{
    free(j->submit);
    free(j->shown.comment);
    free(j);
}

void slurm_control_destroy(struct slurm_control *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->jobs.count; i++)
        free_job(c->jobs.items[i]);
    vec_free(&c->jobs);
    map_destroy(c->by_job);
    map_destroy(c->by_id);
    free(c->partitions);
    free(c->looked_path);
    free(c);
}

void slurm_control_conf(struct slurm_control *c, double kill_wait_s, double min_job_age_s,
                        double boot_s)
{
    c->boot_s = boot_s;
    c->confs++;
    c->asks_conf = false;
    c->kill_wait_s = kill_wait_s;
    c->min_job_age_s = min_job_age_s;
}

bool slurm_control_asks_conf(const struct slurm_control *c)
{
    return c->asks_conf;
}

static struct slurm_ours *find_job(const struct slurm_control *c, uint64_t job)
{
    size_t at;

    return map_get(c->by_job, job, &at) ? c->jobs.items[at] : NULL;
}

static struct slurm_ours *find_id(const struct slurm_control *c, const char *id)
{
    size_t at;

    return map_get(c->by_id, hash_text(id), &at) ? c->jobs.items[at] : NULL;
}

static struct slurm_ours *add(struct slurm_control *c, uint64_t job)
{
    struct slurm_ours *j = mem_new(struct slurm_ours);

    j->job = job;
    map_put(c->by_job, job, c->jobs.count);
    vec_push(&c->jobs, j);
    return j;
}

void slurm_ours_name(struct slurm_control *c, struct slurm_ours *j, const char *id)
{
    size_t at;

    if (j->id[0] && find_id(c, j->id) == j)
        map_remove(c->by_id, hash_text(j->id));
    str_copy(j->id, sizeof(j->id), id);
    j->submit_s = 0;
    j->restarts = 0;
    if (j->id[0] && map_get(c->by_job, j->job, &at))
        map_put(c->by_id, hash_text(j->id), at);
}

void slurm_ours_drop(struct slurm_control *c, struct slurm_ours *j)
{
    size_t at;

    slurm_ours_name(c, j, "");
    if (map_get(c->by_job, j->job, &at)) {
        struct slurm_ours *last = c->jobs.items[--c->jobs.count];
        /* Else its number has come to somebody else. */
        bool named = last->id[0] && find_id(c, last->id) == last;

        map_remove(c->by_job, j->job);
        if (last != j) {
            c->jobs.items[at] = last;
            map_put(c->by_job, last->job, at);
            if (named)
                map_put(c->by_id, hash_text(last->id), at);
        }
    }
    free_job(j);
}

/* ---- what the daemon asks for ------------------------------------------------------ */

int slurm_control_enter(struct slurm_control *c, const struct engine_job *job,
                        struct err *err)
{
    char digest[SLURM_DIGEST_SIZE], id[SLURM_ID_SIZE];
    struct slurm_ours *j;

    if (find_job(c, job->job->id))
        return 0;
    if (job->device_count > 0)
        return err_set(err, ERR_INVALID, "it has devices already");
    j = add(c, job->job->id);
    j->who = slurm_ours_who(job->uid, slurm_submit_name(job));
    j->belongs = slurm_groups_hash(job->there);
    slurm_ours_digest(c, j->job, digest);
    slurm_ours_tail(digest, j->tail);
    j->judge_from = c->looks > 0 ? 0 : 1;
    if (!job->ref || !slurm_ours_read_ref(job->ref, id, j->tail)) {
        j->submit = slurm_submit_members(c, job);
        if (c->looks > 0) /* a new one, else it may be there from before a restart */
            j->wish = WISH_SUBMIT;
        return 0;
    }
    if (strcmp(j->tail, digest + SLURM_DIGEST_SIZE - SLURM_TAIL_SIZE) == 0)
        j->submit = slurm_submit_members(c, job);
    slurm_ours_name(c, j, id);
    j->stage = STAGE_HELD;
    j->held_s = c->looked_s;
    return 0;
}

int slurm_control_leave(struct slurm_control *c, uint64_t job)
{
    struct slurm_ours *j = find_job(c, job);

    if (!j || j->stage == STAGE_ENDED || j->stage == STAGE_LEAVING)
        return 0;
    if (j->stage == STAGE_ENTERING && !j->id[0] && j->under_way == WISH_NOTHING &&
        c->looks > 0) {
        slurm_ours_drop(c, j);
        return 0;
    }
    j->live = j->end_due = false;
    j->wish = WISH_CANCEL;
    return 0;
}

static void take_place(struct slurm_ours *j, const struct engine_job *job)
{
    j->attempt = job->attempt;
    j->live = true;
    j->device_count = job->device_count;
    memcpy(j->devices, job->devices, (size_t)job->device_count * sizeof(*j->devices));
    j->shares = job->job->may_share && job->device_count == 1;
    j->checkpoint_signal = job->checkpoint_signal;
    j->grace_s = job->stop_grace_s;
    j->parked_s = 0;
}

int slurm_control_start(struct slurm_control *c, const struct engine_job *job,
                        struct err *err)
{
    struct slurm_ours *j = find_job(c, job->job->id);

    if (!j || j->stage >= STAGE_LEAVING)
        return err_set(err, ERR_NOT_FOUND, "Slurm does not have it");
    j->stopping = j->moving = j->holding = j->released = false;
    j->began_s = 0;
    take_place(j, job);
    j->until_s = 0;
    if (j->stage == STAGE_HELD) /* else when it is */
        j->wish = WISH_START;
    return 0;
}

int slurm_control_stop(struct slurm_control *c, uint64_t job, enum engine_stop how,
                       struct err *err)
{
    struct slurm_ours *j = find_job(c, job);
    bool unheard;

    if (!j || j->stage == STAGE_ENDED)
        return err_set(err, ERR_NOT_FOUND, "Slurm does not have it");
    unheard = j->stage < STAGE_PLACED && j->under_way != WISH_START;
    j->stopping = true;
    j->moving = how == ENGINE_STOP_MOVE;
    if (how != ENGINE_STOP_MOVE)
        j->wish = WISH_CANCEL;
    else if (unheard)
        j->wish = j->stage == STAGE_ENTERING ? WISH_SUBMIT : WISH_NOTHING;
    else if (j->stage == STAGE_RUNS)
        j->wish = slurm_move_wish(j);
    else if (j->stage == STAGE_PLACED || j->under_way == WISH_START)
        j->wish = WISH_HOLD;
    j->end_due = unheard && j->live;
    return unheard ? ENGINE_GONE : 0;
}

int slurm_control_adopt(struct slurm_control *c, const struct engine_job *job,
                        struct err *err)
{
    char id[SLURM_ID_SIZE], tail[SLURM_TAIL_SIZE], digest[SLURM_DIGEST_SIZE];
    struct slurm_ours *j;

    if (!slurm_ours_read_ref(job->ref, id, tail))
        return err_set(err, ERR_NOT_FOUND, "Slurm never had it");
    j = find_job(c, job->job->id);
    if (!j)
        j = add(c, job->job->id);
    j->who = slurm_ours_who(job->uid, slurm_submit_name(job));
    j->belongs = slurm_groups_hash(job->there);
    memcpy(j->tail, tail, sizeof(tail));
    slurm_ours_digest(c, j->job, digest);
    if (!j->submit && strcmp(tail, digest + SLURM_DIGEST_SIZE - SLURM_TAIL_SIZE) == 0)
        j->submit = slurm_submit_members(c, job);
    slurm_ours_name(c, j, id);
    j->stage = STAGE_PLACED;
    take_place(j, job);
    j->judge_from = 1;
    return 0;
}

/* ---- what Slurm shows -------------------------------------------------------------- */

static bool is_managed(const struct slurm_control *c, const char *partition)
{
    const char *list = c->partitions;
    char word[SLURM_NAME_SIZE];

    while (partition && str_next_word(&list, word, sizeof(word)))
        if (strcmp(word, partition) == 0)
            return true;
    return false;
}

static void note(const struct slurm_control *c, struct slurm_ours *j,
                 const struct slurm_job_row *row, double now_s)
{
    struct slurm_shown *s = &j->shown;

    free(s->comment);
    *s = (struct slurm_shown){
        .there = true,
        .stands = row->stands,
        .held = row->held,
        .launch_failed = row->launch_failed,
        .depends = row->depends,
        .completing = row->completing,
        .submit_s = row->submit_s,
        .start_s = row->start_s,
        .end_s = row->end_s,
        .restarts = row->restarts,
        .exit_status = row->exit_status,
        .signal = row->signal,
        .cpus = row->cpus,
        .num_nodes = row->num_nodes,
        .memory_mb = row->memory_mb,
        .node_gpus = row->node_gpus,
        .bare = !slurm_job_wants_gpus(row) && slurm_mark_gpus(row->admin_comment) > 0,
        .comment = row->admin_comment ? mem_strdup(row->admin_comment) : NULL};
    if (row->wish.kinds > 0)
        str_copy(s->node_type, sizeof(s->node_type), row->wish.kind[0].type);
    str_copy(s->state, sizeof(s->state), row->state);
    s->device_count = slurm_job_devices(c->nodes, row, s->devices);
    j->who = slurm_ours_who(row->uid, row->name);
    j->submit_s = row->submit_s;
    j->restarts = row->restarts;
    if (j->gone_s > 0)
        j->ask_again_s = 0;
    j->gone_s = j->blind_s = 0;
    j->looked_up = false;
    slurm_job_tell_groups(&c->sink, row, j->job, now_s, &j->belongs);
}

void slurm_ours_lose(struct slurm_ours *j)
{
    free(j->shown.comment);
    j->shown = (struct slurm_shown){0};
}

static void write_ref(const struct slurm_job_row *row, const char *digest,
                      char tail[SLURM_TAIL_SIZE], char ref[2 * SLURM_ID_SIZE])
{
    struct slurm_ours named = {0};

    str_copy(named.id, sizeof(named.id), row->id);
    slurm_ours_tail(digest, named.tail);
    slurm_ours_ref(&named, ref, 2 * SLURM_ID_SIZE);
    memcpy(tail, named.tail, SLURM_TAIL_SIZE);
}

/* Slurm waits for us to place it; the daemon gets to know it. */
static void take_in(struct slurm_control *c, const struct slurm_job_row *row,
                    const char *digest, double now_s)
{
    struct slurm_ours *j;
    char ref[2 * SLURM_ID_SIZE], tail[SLURM_TAIL_SIZE];
    struct engine_found found;
    uint64_t job = 0;

    write_ref(row, digest, tail, ref);
    found = slurm_job_found(c->nodes, row, ref);
    found.planned = true;
    found.held = row->depends;
    found.job_out = &job;
    c->sink.event(
        c->sink.ctx,
        &(struct engine_event){.kind = ENGINE_JOB_FOUND, .at_s = now_s, .found = &found});
    if (job == 0 || find_job(c, job)) {
        log_info("slurm_job_not_wanted", LOG_STR("id", row->id));
        return;
    }
    j = add(c, job);
    memcpy(j->tail, tail, sizeof(j->tail));
    slurm_ours_name(c, j, row->id);
    j->stage = STAGE_HELD;
    j->told_depends = row->depends;
    j->belongs = slurm_groups_hash(&found.there);
    note(c, j, row, now_s);
}

/* One that we handed in, by the number in its digest. */
static struct slurm_ours *handed_in(const struct slurm_control *c, const char *digest,
                                    bool *ours)
{
    size_t length = strlen(c->identity);

    *ours = strncmp(digest, c->identity, length) == 0;
    return *ours ? find_job(c, strtoull(digest + length, NULL, 16)) : NULL;
}

/* The number of a job that has ended, by the daemon's store; 0: this one has not. */
static uint64_t ended_before(const struct slurm_control *c,
                             const struct slurm_job_row *row, const char *digest,
                             bool ours)
{
    char ref[2 * SLURM_ID_SIZE], tail[SLURM_TAIL_SIZE];
    struct engine_found found;
    uint64_t job = 0;

    write_ref(row, digest, tail, ref);
    found = slurm_job_found(c->nodes, row, ref);
    found.number = ours ? strtoull(digest + strlen(c->identity), NULL, 16) : 0;
    found.ended_out = &job;
    c->sink.event(c->sink.ctx,
                  &(struct engine_event){.kind = ENGINE_JOB_FOUND, .found = &found});
    return job;
}

/* The end of it is in our store: slurmctld forgot that, or that it ever ran. */
static void cancel_again(struct slurm_control *c, uint64_t job,
                         const struct slurm_job_row *row, const char *digest,
                         double now_s)
{
    struct slurm_ours *j = add(c, job);

    slurm_ours_tail(digest, j->tail);
    slurm_ours_name(c, j, row->id);
    note(c, j, row, now_s);
    j->stage = STAGE_LEAVING;
    j->wish = WISH_CANCEL;
}

/* It was handed in again under another number, since Slurm had forgotten this one. */
static void cancel_first(struct slurm_control *c, const struct slurm_job_row *row)
{
    char members[SLURM_ID_SIZE + 16];

    snprintf(members, sizeof(members), "\"job\":\"%s\"", row->id);
    helper_link_order(c->link, "cancel", members, NOBODY);
    log_info("slurm_job_came_back", LOG_STR("id", row->id));
}

/* A row of a name that nobody of ours has. */
static bool take_new(struct slurm_control *c, const struct slurm_job_row *row,
                     double now_s)
{
    char digest[SLURM_DIGEST_SIZE];
    struct slurm_ours *j;
    uint64_t job = 0;
    bool ours;

    if (!is_managed(c, row->partition) || !slurm_mark_digest(row->admin_comment, digest))
        return false;
    if (row->stands >= SLURM_JOB_DONE)
        return !slurm_job_table_watches(c->watched, row->id); /* else of the past */
    j = handed_in(c, digest, &ours);
    if (j && (!j->id[0] || strcmp(j->id, row->id) == 0)) {
        /* The answer to our order has not come, or never will; or another had its number
         * before. */
        slurm_ours_name(c, j, row->id);
        note(c, j, row, now_s);
        return true;
    }
    if (!j && !slurm_job_table_watches(c->watched, row->id))
        job = ended_before(c, row, digest, ours);
    if (job > 0 && !find_job(c, job)) {
        cancel_again(c, job, row, digest, now_s);
        return true;
    }
    if (row->stands != SLURM_JOB_WAITS || !row->held ||
        (ours && slurm_job_table_watches(c->watched, row->id)))
        return false; /* it is Slurm's already, or was let go */
    if (ours && j)
        cancel_first(c, row);
    else
        take_in(c, row, digest, now_s);
    return true;
}

/* A row of its number without our mark.  It was detached, or others replaced the comment
 * at its end; or the number came to somebody else, which may be in the same second. */
static bool may_be_it(const struct slurm_ours *j, const struct slurm_job_row *row)
{
    if (j->who != slurm_ours_who(row->uid, row->name))
        return false;
    return j->submit_s == 0 || j->submit_s == row->submit_s ||
           row->restarts > j->restarts;
}

bool slurm_control_take(void *control, const struct slurm_job_row *row, double now_s)
{
    struct slurm_control *c = control;
    struct slurm_ours *j = find_id(c, row->id);
    char digest[SLURM_DIGEST_SIZE], tail[SLURM_TAIL_SIZE];

    if (!j)
        return take_new(c, row, now_s);
    if (slurm_mark_digest(row->admin_comment, digest)) {
        slurm_ours_tail(digest, tail);
        if (strcmp(tail, j->tail) != 0) { /* its number came to somebody else */
            slurm_ours_name(c, j, "");
            slurm_ours_lose(j);
            return take_new(c, row, now_s);
        }
    } else if (!may_be_it(j, row)) {
        slurm_ours_name(c, j, "");
        slurm_ours_lose(j);
        return false;
    }
    note(c, j, row, now_s);
    return true;
}

void slurm_control_gone(void *control, const char *id)
{
    struct slurm_ours *j = find_id(control, id);

    if (j)
        slurm_ours_lose(j);
}

void slurm_control_anew(void *control)
{
    struct slurm_control *c = control;

    for (size_t i = 0; i < c->jobs.count; i++)
        c->jobs.items[i]->shown.there = false;
}

void slurm_control_looked(void *control, double now_s)
{
    struct slurm_control *c = control;

    c->looks++;
    for (size_t i = 0; i < c->jobs.count; i++) {
        struct slurm_ours *j = c->jobs.items[i];

        if (j->shown.there || j->gone_s > 0)
            continue;
        j->alive_s = c->looked_s;
        j->blind_s = now_s - c->looked_s;
    }
    for (size_t i = c->jobs.count; i-- > 0;)
        slurm_judge(c, c->jobs.items[i], now_s);
    slurm_identity_looked(c, now_s);
}
