/* slurm_judge.c - what follows for our jobs from what a look at Slurm showed; see
 * slurm_control_private.h */
#include "engine/slurm/slurm_control_private.h"

#include "base/json.h"
#include "base/log.h"
#include "engine/slurm/slurm_job_table.h"
#include "engine/slurm/slurm_node_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* As in slurm_job_table.c: a slurmctld that was killed may bring a job back. */
#define GONE_S         30.0
#define GONE_ELEMENT_S 5.0
#define GONE_HELD_S                                                                      \
    10.0 /* one that we hand in again: should the first come back, it is                 \
            cancelled */
/* Nobody looked for so much of MinJobAge: what ended meanwhile may be forgotten. */
#define BLIND_SHARE 0.8
/* A book of ends that does not answer is asked again this often, and for so long. */
#define BOOK_AGAIN_S 10.0
#define BOOK_AWAY_S  900.0
/* One that Slurm shows as waiting runs again after so long. */
#define BOOK_SHOWN_S 60.0
/* slurmd refuses to launch a job on a node where it ended within the same second ("Job
 * credential revoked"), and slurmctld then fails the job. */
#define REST_S 1.1
/* What Slurm forgot may have ended well, and its probe says so; one that could not reach
 * the daemon tries again after some seconds. */
#define PROBE_S 20.0
/* Slurm tells in whole seconds when slurmctld began. */
#define BOOT_CLOCK_S 1.0

/* ---- telling ----------------------------------------------------------------------- */

static void tell(const struct slurm_control *c, struct engine_event *event)
{
    c->sink.event(c->sink.ctx, event);
}

static struct engine_event end_event(const struct slurm_ours *j, enum engine_end end,
                                     double at_s, const char *text)
{
    return (struct engine_event){.kind = ENGINE_ENDED,
                                 .at_s = at_s,
                                 .job = j->job,
                                 .end = end,
                                 .exit_status = j->shown.exit_status,
                                 .signal = j->shown.signal,
                                 .steps = NAN,
                                 .text = text};
}

void slurm_tell_end(const struct slurm_control *c, struct slurm_ours *j,
                    enum engine_end end, double at_s, const char *text)
{
    struct engine_event event = end_event(j, end, at_s, text);
    bool live = j->live;

    event.attempt = j->attempt;
    j->live = j->stopping = j->moving = j->holding = j->released = j->end_due = false;
    j->began_s = 0;
    if (live)
        tell(c, &event);
}

void slurm_tell_over(const struct slurm_control *c, const struct slurm_ours *j,
                     enum engine_end end, double at_s, const char *text)
{
    struct engine_event event = end_event(j, end, at_s, text);

    tell(c, &event);
}

void slurm_tell_entered(const struct slurm_control *c, const struct slurm_ours *j,
                        double now_s)
{
    char ref[2 * SLURM_ID_SIZE];

    slurm_ours_ref(j, ref, sizeof(ref));
    tell(c, &(struct engine_event){
                .kind = ENGINE_ENTERED, .at_s = now_s, .job = j->job, .text = ref});
}

static void tell_started(const struct slurm_control *c, struct slurm_ours *j)
{
    j->began_s = j->shown.start_s;
    tell(c, &(struct engine_event){.kind = ENGINE_STARTED,
                                   .at_s = j->shown.start_s,
                                   .job = j->job,
                                   .attempt = j->attempt,
                                   .device_count = j->shown.device_count,
                                   .devices = j->shown.devices});
}

static void tell_changed(const struct slurm_control *c, const struct slurm_ours *j,
                         const char *ref, bool planned, bool held, double now_s)
{
    struct engine_found found = {
        .ref = ref, .user = "", .held = held, .planned = planned};

    tell(c,
         &(struct engine_event){
             .kind = ENGINE_JOB_CHANGED, .at_s = now_s, .job = j->job, .found = &found});
}

/* Held for the daemon's planner, by its owner or by what it depends on. */
static void tell_held(const struct slurm_control *c, const struct slurm_ours *j,
                      bool held, double now_s)
{
    char ref[2 * SLURM_ID_SIZE];

    slurm_ours_ref(j, ref, sizeof(ref));
    tell_changed(c, j, ref, true, held, now_s);
}

/* As the table of those that are watched would have read it. */
static void row_of(const struct slurm_control *c, const struct slurm_ours *j,
                   struct slurm_job_row *row)
{
    const struct slurm_shown *s = &j->shown;

    *row = (struct slurm_job_row){.stands = s->stands,
                                  .state = s->state,
                                  .user = "",
                                  .submit_s = s->submit_s,
                                  .start_s = s->start_s,
                                  .restarts = s->restarts,
                                  .held = s->held,
                                  .cpus = s->cpus,
                                  .num_nodes = s->num_nodes,
                                  .memory_mb = s->memory_mb,
                                  .wish = {.untyped = s->device_count}};
    str_copy(row->id, sizeof(row->id), j->id);
    for (int i = 0; i < s->device_count; i++) {
        int at = 0, first, node = slurm_node_table_of(c->nodes, s->devices[i], &first);
        const char *name, *address;

        slurm_node_table_name(c->nodes, node, &name, &address);
        while (at < row->host_count && strcmp(row->hosts[at].node, name) != 0)
            at++;
        row->hosts[at].node = name;
        row->hosts[at].gpus |= (uint64_t)1 << (s->devices[i] - first);
        row->host_count += at == row->host_count;
    }
}

/* Somebody else released it, or took our mark off: it is only watched from now on. */
static void let_go(struct slurm_control *c, struct slurm_ours *j, double now_s)
{
    struct slurm_job_row row;
    char ref[2 * SLURM_ID_SIZE];

    log_info("slurm_job_let_go", LOG_U64("job", j->job), LOG_STR("id", j->id));
    slurm_tell_end(c, j, ENGINE_END_NO_ROOM, now_s, "Slurm's own scheduler has it now");
    row_of(c, j, &row);
    slurm_job_ref(ref, sizeof(ref), j->id, row.submit_s, row.restarts);
    tell_changed(c, j, ref, false, row.held, now_s);
    slurm_job_table_watch(c->watched, j->job, &row, now_s);
    slurm_ours_drop(c, j);
}

/* ---- it is not there --------------------------------------------------------------- */

/* It is to be handed in under another number; whoever waits for its attempt hears why. */
static void hand_in_again(struct slurm_control *c, struct slurm_ours *j, double now_s,
                          bool placed)
{
    log_info("slurm_forgot", LOG_U64("job", j->job), LOG_STR("id", j->id));
    slurm_ours_name(c, j, "");
    j->stage = STAGE_ENTERING;
    j->gone_s = 0;
    j->looked_up = false;
    j->ask_again_s = 0;
    j->wish = WISH_SUBMIT;
    if (placed) /* it may be gone then */
        slurm_tell_end(c, j, ENGINE_END_REQUEUED, now_s, "slurmctld forgot it");
}

static void judge_missing(struct slurm_control *c, struct slurm_ours *j, double now_s)
{
    bool element = strchr(j->id, '_') && !j->live;
    /* Within MinJobAge Slurm shows what has ended.  On hold it cannot have run then:
     * slurmctld forgot it. */
    bool long_ago = c->min_job_age_s > 0 && j->blind_s > BLIND_SHARE * c->min_job_age_s;
    bool again = j->submit && j->stage == STAGE_HELD && !long_ago;

    if (j->stage == STAGE_ENTERING) {
        if (j->wish == WISH_NOTHING)
            j->wish = WISH_SUBMIT;
        return;
    }
    if (j->stage >= STAGE_LEAVING) {
        slurm_tell_end(c, j, ENGINE_END_STOPPED, now_s, NULL);
        slurm_ours_drop(c, j);
        return;
    }
    if (j->gone_s == 0)
        j->gone_s = now_s;
    if (now_s - j->gone_s < (element ? GONE_ELEMENT_S : again ? GONE_HELD_S : GONE_S))
        return;
    if (element) { /* of those that are cancelled Slurm keeps nothing */
        slurm_tell_over(c, j, ENGINE_END_CANCELLED, now_s,
                        "Slurm took it out of its array");
    } else if (again) {
        hand_in_again(c, j, now_s, false);
        return;
    } else if (!j->looked_up && j->id[0]) {
        if (j->wish == WISH_NOTHING && now_s >= j->ask_again_s)
            j->wish = WISH_LOOK_UP;
        return;
    } else if (j->submit && c->probe && c->report && !long_ago && !j->book_away) {
        /* Its probe would have told that it was done, and a run that lives is fenced. */
        hand_in_again(c, j, now_s, true);
        return;
    } else {
        slurm_tell_over(c, j, ENGINE_END_UNKNOWN, now_s,
                        j->book_away
                            ? "Slurm does not know it any more, and slurmdbd, which may "
                              "know how it ended, has not answered for long"
                            : "Slurm does not know it any more: it ended while nobody "
                              "looked, or slurmctld lost it");
    }
    slurm_ours_drop(c, j);
}

/* ---- it waits ---------------------------------------------------------------------- */

/* It is on hold as if it had never been placed: slurmctld forgot that, and it may run. */
static bool was_forgotten(const struct slurm_ours *j)
{
    return slurm_mark_placed(j->shown.comment) != j->attempt ||
           (j->stage == STAGE_RUNS && j->shown.restarts == j->ran_restarts);
}

/* A slurmctld that was killed forgets ends, too: what it shows as waiting, of a job that
 * ran or may have, is looked up in its book of ends first.  True: that is not done yet.
 */
static bool asks_book(struct slurm_ours *j, double now_s)
{
    if (j->looked_up || j->stopping || !j->live || !j->id[0])
        return false;
    if (j->ask_again_s <= 0)
        j->asks_s = now_s;
    if (j->wish == WISH_NOTHING && now_s >= j->ask_again_s)
        j->wish = WISH_LOOK_UP;
    return true;
}

static double rest_s(const struct slurm_control *c, bool forgotten)
{
    if (!forgotten)
        return REST_S;
    return SLURM_FORGOTTEN_S + c->kill_wait_s + (c->report ? PROBE_S : 0);
}

static void judge_placed(struct slurm_control *c, struct slurm_ours *j, double now_s)
{
    bool forgotten = was_forgotten(j);
    bool others = j->released && !j->holding && !j->stopping && !forgotten &&
                  !j->shown.launch_failed;

    if (!j->shown.held) {
        if (now_s < j->until_s || j->wish != WISH_NOTHING)
            return;
        j->holding = true;
        j->wish = WISH_HOLD;
        return;
    }
    if (forgotten && asks_book(j, now_s))
        return;
    j->stage = STAGE_HELD;
    j->rest_s = now_s + rest_s(c, forgotten); /* it may have begun since the last look */
    if (!j->stopping && !forgotten && !others)
        slurm_node_table_no_room(c->nodes, j->devices, j->device_count, now_s);
    if (j->stopping)
        slurm_tell_end(c, j, ENGINE_END_STOPPED, now_s, NULL);
    else
        slurm_tell_end(c, j, ENGINE_END_NO_ROOM, now_s,
                       forgotten ? "slurmctld forgot that it was placed"
                       : others  ? "held in Slurm before it began"
                                 : "Slurm had no room for it where it was to be");
    if (others) /* the daemon's hold, until somebody lifts it there */
        tell_held(c, j, true, now_s);
}

static void judge_held(struct slurm_control *c, struct slurm_ours *j, double now_s)
{
    if (j->told_depends != j->shown.depends) {
        if (j->shown.depends)
            slurm_tell_end(c, j, ENGINE_END_NO_ROOM, now_s,
                           "it depends on a job that has not ended");
        j->told_depends = j->shown.depends;
        tell_held(c, j, j->shown.depends, now_s);
    }
    if (j->live && j->wish == WISH_NOTHING && !j->stopping)
        j->wish = WISH_START;
}

/* It is on hold no more.  A slurmctld that was killed forgets a hold of its last seconds,
 * and shows the job as it was released before; else somebody released it. */
static void judge_freed(struct slurm_control *c, struct slurm_ours *j, double now_s)
{
    if (j->freed_at == 0) {
        j->freed_at = c->confs + 1;
        c->asks_conf = true; /* when did it begin? */
    }
    if (c->confs < j->freed_at)
        return;
    j->freed_at = 0;
    if (c->boot_s + BOOT_CLOCK_S <= j->held_s) {
        let_go(c, j, now_s);
        return;
    }
    log_info("slurm_hold_forgotten", LOG_U64("job", j->job), LOG_STR("id", j->id));
    j->stage = STAGE_LOOSE;
    j->wish = WISH_HOLD;
}

static void judge_waiting(struct slurm_control *c, struct slurm_ours *j, double now_s)
{
    bool held = j->shown.held;

    if (j->shown.completing)
        return; /* its devices are not free */
    switch (j->stage) {
    case STAGE_ENTERING:
        j->stage = STAGE_HELD;
        slurm_tell_entered(c, j, now_s);
        break;
    case STAGE_HELD:
        if (held) {
            j->held_s = now_s;
            j->freed_at = 0;
            judge_held(c, j, now_s);
        } else {
            judge_freed(c, j, now_s);
        }
        break;
    case STAGE_PLACED:
        judge_placed(c, j, now_s);
        break;
    case STAGE_RUNS:
        if (asks_book(j, now_s))
            break;
        j->rest_s = now_s + rest_s(c, was_forgotten(j));
        j->stage = held ? STAGE_HELD : STAGE_LOOSE;
        j->wish = held ? WISH_NOTHING : WISH_HOLD; /* unless the daemon knows better: */
        slurm_tell_end(c, j, j->stopping ? ENGINE_END_STOPPED : ENGINE_END_REQUEUED,
                       now_s, j->stopping ? NULL : "Slurm queued it again");
        break;
    case STAGE_LOOSE:
        if (held)
            j->stage = STAGE_HELD;
        else if (j->wish == WISH_NOTHING)
            j->wish = WISH_HOLD;
        break;
    case STAGE_LEAVING:
    case STAGE_ENDED: /* an end in our store wins over what Slurm shows */
        j->stage = STAGE_LEAVING;
        j->wish = WISH_CANCEL;
        break;
    }
}

/* ---- it runs, or has ended --------------------------------------------------------- */

static void judge_running(struct slurm_control *c, struct slurm_ours *j, double now_s)
{
    switch (j->stage) {
    case STAGE_ENTERING:
        slurm_tell_entered(c, j, now_s);
        let_go(c, j, now_s);
        break;
    case STAGE_HELD:
    case STAGE_LOOSE:
        let_go(c, j, now_s);
        break;
    case STAGE_PLACED:
        j->stage = STAGE_RUNS;
        j->ran_from_s = j->shown.start_s;
        j->ran_restarts = j->shown.restarts;
        j->ask_again_s = 0;
        j->holding = false;
        if (j->wish == WISH_HOLD)
            j->wish = WISH_NOTHING;
        if (j->live)
            tell_started(c, j);
        if (j->stopping && j->wish == WISH_NOTHING)
            j->wish = j->moving ? slurm_move_wish(j) : WISH_CANCEL;
        break;
    case STAGE_RUNS:
        if (j->began_s != j->shown.start_s) { /* again, by Slurm's own doing */
            slurm_tell_end(c, j, ENGINE_END_REQUEUED, now_s, "Slurm queued it again");
            let_go(c, j, now_s);
        } else if (j->moving && j->wish == WISH_NOTHING &&
                   (j->parked_s == 0 || isinf(j->parked_s))) { /* nobody heard it */
            j->wish = slurm_move_wish(j);
        }
        break;
    case STAGE_ENDED: /* slurmctld forgot its end, and would queue it again */
        j->stage = STAGE_LEAVING;
        j->wish = WISH_CANCEL;
        break;
    case STAGE_LEAVING:
        break;
    }
}

static void judge_ended(struct slurm_control *c, struct slurm_ours *j, double now_s)
{
    static const enum engine_end ends[] = {
        [SLURM_JOB_DONE] = ENGINE_END_DONE,
        [SLURM_JOB_FAILED] = ENGINE_END_FAILED,
        [SLURM_JOB_CANCELLED] = ENGINE_END_CANCELLED,
        [SLURM_JOB_TIMEOUT] = ENGINE_END_TIME_LIMIT,
    };
    enum engine_end end = ends[j->shown.stands];
    double at_s = j->shown.end_s > 0 ? j->shown.end_s : now_s;
    char text[60];

    if (j->stage == STAGE_ENDED)
        return;
    snprintf(text, sizeof(text), "Slurm says: %.40s", j->shown.state);
    if (j->live && j->stage == STAGE_PLACED && j->shown.start_s > 0)
        tell_started(c, j);
    if (j->live)
        slurm_tell_end(c, j,
                       j->stopping && end != ENGINE_END_DONE ? ENGINE_END_STOPPED : end,
                       at_s, text);
    else if (j->stage != STAGE_LEAVING)
        slurm_tell_over(c, j, end, at_s, text);
    j->stage = STAGE_ENDED;
    j->wish = WISH_NOTHING;
}

/* Slurm shows a job as waiting.  One that was done is done, whatever it has forgotten; of
 * all others the next look says what follows. */
static void book_shown(struct slurm_control *c, struct slurm_ours *j, const char *state,
                       double end_s)
{
    if (strcmp(state, "COMPLETED") != 0 || j->shown.stands != SLURM_JOB_WAITS)
        return;
    log_info("slurm_end_forgotten", LOG_U64("job", j->job), LOG_STR("id", j->id));
    slurm_tell_end(c, j, ENGINE_END_DONE, end_s, "Slurm says: completed");
    j->stage = STAGE_LEAVING;
    j->wish = WISH_CANCEL;
}

void slurm_judge_book(struct slurm_control *c, struct slurm_ours *j,
                      const struct json_value *answer, const char *code, double now_s)
{
    static const struct {
        const char *state;
        enum slurm_job_stands stands;
    } ends[] = {{"COMPLETED", SLURM_JOB_DONE},
                {"CANCELLED", SLURM_JOB_CANCELLED},
                {"TIMEOUT", SLURM_JOB_TIMEOUT},
                {"DEADLINE", SLURM_JOB_TIMEOUT}};
    const char *state = answer ? json_member_string(answer, "state") : NULL;
    struct slurm_shown *s = &j->shown;

    j->book_away = code && strcmp(code, "refused") != 0;
    if (j->book_away &&
        (s->there ? now_s - j->asks_s < BOOK_SHOWN_S : now_s - j->gone_s < BOOK_AWAY_S)) {
        j->ask_again_s = now_s + BOOK_AGAIN_S;
        return;
    }
    j->looked_up = true;
    if (!state || (!json_member_bool(answer, "marked", false) &&
                   j->who != slurm_ours_who((uid_t)json_member_number(answer, "uid", 0),
                                            json_member_string(answer, "name"))))
        return; /* the next look calls it unknown */
    if (s->there) {
        book_shown(c, j, state, json_member_number(answer, "end_s", now_s));
        return;
    }
    slurm_ours_lose(j);
    s->stands = SLURM_JOB_FAILED;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        if (strcmp(state, ends[i].state) == 0)
            s->stands = ends[i].stands;
    s->start_s = json_member_number(answer, "start_s", 0);
    s->end_s = json_member_number(answer, "end_s", 0);
    s->exit_status = (int)json_member_number(answer, "exit_status", 0);
    s->signal = (int)json_member_number(answer, "signal", 0);
    str_copy(s->state, sizeof(s->state), state);
    log_info("slurm_end_looked_up", LOG_U64("job", j->job), LOG_STR("id", j->id),
             LOG_STR("state", state));
    judge_ended(c, j, now_s);
    slurm_ours_drop(c, j);
}

void slurm_judge(struct slurm_control *c, struct slurm_ours *j, double now_s)
{
    char digest[SLURM_DIGEST_SIZE];

    bool waits = j->shown.there && j->shown.stands == SLURM_JOB_WAITS;

    if (c->looks < j->judge_from || j->under_way != WISH_NOTHING ||
        (waits && j->wish == WISH_CANCEL && !j->doubted))
        return;
    j->doubted = false;
    if (!j->shown.there)
        judge_missing(c, j, now_s);
    else if (j->shown.stands >= SLURM_JOB_DONE)
        judge_ended(c, j, now_s);
    else if (waits && j->stage < STAGE_LEAVING &&
             !slurm_mark_digest(j->shown.comment, digest))
        let_go(c, j, now_s);
    else if (j->shown.stands == SLURM_JOB_RUNS)
        judge_running(c, j, now_s);
    else
        judge_waiting(c, j, now_s);
}
