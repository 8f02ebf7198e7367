/* slurm_placing.c - orders for Slurm's jobs that Corgi places: sending them, and what
 * their answers mean; slurm_order_members.c has what they say, see
 * slurm_control_private.h */
#include "engine/slurm/slurm_control_private.h"

#include "base/log.h"
#include "base/mem.h"
#include "engine/slurm/helper_link.h"
#include "engine/slurm/slurm_node_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DENIED_S     30.0
#define LOOK_SLACK_S 10.0 /* of times in Slurm's book of ends */
#define WAKE_MOST_S                                                                      \
    1800.0 /* a node that sleeps for longer does not wake; Slurm calls it down sooner */

/* ---- sending ----------------------------------------------------------------------- */

static const char *const ops[] = {
    [WISH_SUBMIT] = "submit", [WISH_START] = "update_job", [WISH_HOLD] = "update_job",
    [WISH_CANCEL] = "cancel", [WISH_SIGNAL] = "signal",    [WISH_REQUEUE] = "requeue",
    [WISH_LOOK_UP] = "ended"};

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

/* Of one that Slurm shows: what became of it since it was handed in, or began. */
static char *look_up_members(const struct slurm_ours *j)
{
    double since_s = j->alive_s - LOOK_SLACK_S;
    char more[80];

    if (j->shown.there)
        since_s = j->stage == STAGE_RUNS ? j->ran_from_s : j->shown.submit_s;
    snprintf(more, sizeof(more), ",\"since_s\":%.0f,\"submit_s\":%.0f",
             fmax(0, floor(since_s)), j->submit_s);
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
    case WISH_LOOK_UP:
        return look_up_members(j);
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
    int first;

    for (int i = 0; i < j->device_count; i++) {
        int node = slurm_node_table_of(c->nodes, j->devices[i], &first);
        enum slurm_node_stands stands = slurm_node_table_stands(c->nodes, node);

        worst = stands > worst ? stands : worst;
        if (stands == SLURM_NODE_SLEEPS && slurm_node_table_wake(c->nodes, node, now_s))
            wake(c, node);
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

    if (!j->submit || j->pin == 0 || j->pin == slurm_ours_pinned(c, j))
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

/* Until when a start waits: numbers that a killed slurmctld forgot may still run, under
 * this job's name if it was placed before. */
static double start_from_s(const struct slurm_control *c, const struct slurm_ours *j)
{
    bool before = j->attempt > 1 || slurm_mark_placed(j->shown.comment) > 0;

    return c->boot_s < 0 ? INFINITY
                         : fmax(j->rest_s, c->boot_s + SLURM_FORGOTTEN_S +
                                               (before ? c->kill_wait_s : 0));
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
    if (j->wish == WISH_START && !j->submit && !j->shown.there)
        return; /* a user's, of which only Slurm knows the mark */
    if (j->wish == WISH_START &&
        (j->gone_s > 0 || now_s < start_from_s(c, j) || !nodes_are_up(c, j, now_s)))
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
        if (j->wish == WISH_START && slurm_ours_is_bare(c, j))
            j->pin = slurm_ours_pinned(c, j);
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
        if (j->wish == WISH_START && now_s < c->denied_s) { /* it waits, as all do */
            j->wish = WISH_NOTHING;
            slurm_tell_end(c, j, ENGINE_END_NO_ROOM, now_s, c->denied);
        }
        if (j->wish != WISH_NOTHING && j->under_way == WISH_NOTHING &&
            now_s >= c->denied_s && (j->id[0] || j->wish == WISH_SUBMIT) &&
            helper_link_is_up(c->link))
            send(c, j, now_s);
        if (j->wish == WISH_START && start_from_s(c, j) > now_s)
            next_s = fmin(next_s, start_from_s(c, j));
        if (is_parked(j))
            next_s = fmin(next_s, j->parked_s);
    }
    return next_s;
}

const char *slurm_control_denied(const struct slurm_control *c, double now_s)
{
    return now_s < c->denied_s ? c->denied : NULL;
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
    if (was != WISH_LOOK_UP)          /* which changes nothing */
        j->judge_from = c->looks + 2; /* the look under way may have begun before */
    if (error)
        log_warn("slurm_refused", LOG_U64("job", tag), LOG_STR("id", j->id),
                 LOG_STR("op", ops[was]), LOG_STR("text", error));
    j->doubted = code && strcmp(code, "foreign") == 0;
    if (code && strcmp(code, "rights") == 0) {
        c->denied_s = now_s + DENIED_S;
        str_copy(c->denied, sizeof(c->denied), error);
    }
    if (was == WISH_SUBMIT)
        submitted(c, j, answer, code, error, now_s);
    else if (was == WISH_START)
        placed(c, j, code, error, now_s);
    else if (was == WISH_SIGNAL) /* who cannot be told is moved all the same */
        j->parked_s = error ? now_s : now_s + j->grace_s;
    else if (was == WISH_LOOK_UP)
        slurm_judge_book(c, j, answer, error ? code : NULL, now_s);
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
