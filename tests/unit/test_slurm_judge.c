/* test_slurm_judge.c - what follows for jobs that Corgi places from what Slurm shows
 *
 * The helper never comes up, so orders stay wishes and can be looked at. */
#include "support/test.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/poller.h"
#include "engine/slurm/helper_link.h"
#include "engine/slurm/slurm_control_private.h"
#include "engine/slurm/slurm_job_table.h"
#include "engine/slurm/slurm_node_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define USERS "corgi1:00000000000000000000000000000000000000000000000011111111111111aa"

struct lab {
    struct slurm_node_table *nodes;
    struct slurm_job_table *watched;
    struct slurm_control *control;
    struct helper_link *link;
    struct cluster *cluster;
    int poller;
    struct str told;
    uint64_t last_job, ended; /* the store knows the end of that one; 0: of none */
    double now_s;
};

static void on_event(void *ctx, const struct engine_event *e)
{
    static const char *const ends[] = {[ENGINE_END_DONE] = "done",
                                       [ENGINE_END_FAILED] = "failed",
                                       [ENGINE_END_STOPPED] = "stopped",
                                       [ENGINE_END_CANCELLED] = "cancelled",
                                       [ENGINE_END_REQUEUED] = "requeued",
                                       [ENGINE_END_UNKNOWN] = "unknown",
                                       [ENGINE_END_NO_ROOM] = "no_room",
                                       [ENGINE_END_NOT_STARTED] = "not_started",
                                       [ENGINE_END_TIME_LIMIT] = "time_limit"};
    struct lab *lab = ctx;

    switch (e->kind) {
    case ENGINE_JOB_FOUND:
        if (e->found->ended_out) {
            *e->found->ended_out = lab->ended;
            break;
        }
        str_addf(&lab->told, "found %s\n", e->found->ref);
        *e->found->job_out = ++lab->last_job;
        break;
    case ENGINE_JOB_CHANGED:
        str_addf(&lab->told, "%s\n", e->found->planned ? "ours" : "watched");
        break;
    case ENGINE_STARTED:
        str_addf(&lab->told, "started on %d\n", e->device_count ? e->devices[0] : -1);
        break;
    case ENGINE_ENDED:
        str_addf(&lab->told, "ended %s\n", ends[e->end]);
        break;
    default:
        break;
    }
}

static struct lab *lab_create(void)
{
    static const char nodes[] =
        "{\"fresh\":true,\"rows\":[{\"name\":\"a\",\"state\":\"idle\","
        "\"gres\":\"gpu:v100:2\"}]}";
    struct slurm_control_options how = {.partitions = "main", .start_s = 20};
    struct helper_link_options line = {.helper = "/nowhere", .within_s = 1};
    struct lab *lab = mem_new(struct lab);
    struct engine_sink sink = {on_event, lab};
    struct json_doc *doc;

    lab->now_s = 1000;
    lab->poller = poller_open(NULL);
    lab->nodes = slurm_node_table_create(&(struct slurm_node_options){0}, sink);
    assert_int_equal(json_doc_parse(&doc, nodes, strlen(nodes), "nodes", NULL), 0);
    slurm_node_table_take(lab->nodes, json_doc_root(doc), lab->now_s);
    json_doc_destroy(doc);
    assert_int_equal(slurm_node_table_cluster(lab->nodes, &lab->cluster, NULL), 0);
    lab->watched = slurm_job_table_create(lab->nodes, sink);
    lab->link = helper_link_create(lab->poller, &line, (struct helper_link_sink){0});
    lab->control = slurm_control_create(&how, lab->nodes, lab->watched, lab->link, sink);
    slurm_control_conf(lab->control, 2, 300, 0);
    return lab;
}

static void lab_destroy(struct lab *lab)
{
    slurm_control_destroy(lab->control);
    helper_link_destroy(lab->link);
    slurm_job_table_destroy(lab->watched);
    slurm_node_table_destroy(lab->nodes);
    cluster_destroy(lab->cluster);
    close(lab->poller);
    str_fini(&lab->told);
    free(lab);
}

/* One look that shows this row, or none. */
static bool look(struct lab *lab, const struct slurm_job_row *row)
{
    bool ours = false;

    if (row)
        ours = slurm_control_take(lab->control, row, lab->now_s);
    slurm_control_looked(lab->control, lab->now_s);
    lab->now_s += 1;
    return ours;
}

static struct slurm_job_row row_of(enum slurm_job_stands stands, bool held)
{
    struct slurm_job_row row = {.stands = stands,
                                .state = "some state",
                                .submit_s = 900,
                                .held = held,
                                .user = "ada",
                                .name = "train",
                                .partition = "main",
                                .admin_comment = USERS ":{}",
                                .num_nodes = 1,
                                .node_gpus = 1,
                                .wish = {.untyped = 1}};

    strcpy(row.id, "7");
    if (stands != SLURM_JOB_WAITS) {
        row.start_s = 950;
        row.host_count = 1;
        row.hosts[0].node = "a";
        row.hosts[0].gpus = 2;
    }
    return row;
}

static void told(struct lab *lab, const char *expected)
{
    assert_string_equal(str_text(&lab->told), expected);
    str_clear(&lab->told);
}

static struct slurm_ours *the_job(const struct lab *lab)
{
    assert_int_equal(lab->control->jobs.count, 1);
    return lab->control->jobs.items[0];
}

static const int device = 0;

/* Found on hold, and the daemon says where it goes. */
static struct slurm_ours *start(struct lab *lab)
{
    struct slurm_job_row row = row_of(SLURM_JOB_WAITS, true);
    struct job job = {.id = 1};
    const struct engine_job order = {
        .job = &job, .attempt = 1, .device_count = 1, .devices = &device};

    assert_true(look(lab, &row));
    told(lab, "found 7#11111111111111aa\n");
    assert_int_equal(slurm_control_start(lab->control, &order, NULL), 0);
    assert_int_equal(the_job(lab)->wish, WISH_START);
    return the_job(lab);
}

/* The order was sent, and the helper says what it came to. */
static void answered(struct lab *lab, enum slurm_wish order, const char *code)
{
    struct slurm_ours *j = the_job(lab);

    j->under_way = order;
    j->wish = WISH_NOTHING;
    slurm_control_ordered(lab->control, 1, NULL, code, code ? "because" : NULL,
                          lab->now_s);
    look(lab, NULL); /* may have begun before the answer */
}

/* It waits, and may have ended before: Slurm's book is asked, and has no end of it. */
static void not_in_book(struct lab *lab)
{
    told(lab, "");
    assert_int_equal(the_job(lab)->wish, WISH_LOOK_UP);
    answered(lab, WISH_LOOK_UP, NULL);
}

static struct slurm_ours *run(struct lab *lab)
{
    struct slurm_job_row row = row_of(SLURM_JOB_RUNS, false);
    struct slurm_ours *j = start(lab);

    answered(lab, WISH_START, NULL);
    assert_true(look(lab, &row));
    told(lab, "started on 1\n");
    return j;
}

static void it_starts_and_ends(void **state)
{
    struct slurm_job_row row = row_of(SLURM_JOB_DONE, false);
    struct lab *lab = lab_create();

    (void)state;
    run(lab);
    row.admin_comment = "JS1:Short"; /* others replace it at the end */
    assert_true(look(lab, &row));
    told(lab, "ended done\n");
    lab_destroy(lab);
}

static void one_that_does_not_begin_is_held(void **state)
{
    struct slurm_job_row row = row_of(SLURM_JOB_WAITS, false);
    struct lab *lab = lab_create();
    struct slurm_ours *j = start(lab);

    (void)state;
    answered(lab, WISH_START, NULL);
    row.admin_comment = USERS ".1:{}"; /* our order is known there */
    look(lab, &row);
    assert_int_equal(j->wish, WISH_NOTHING);
    lab->now_s += 20;
    look(lab, &row);
    assert_int_equal(j->wish, WISH_HOLD);
    answered(lab, WISH_HOLD, NULL);
    row.held = true;
    look(lab, &row);
    told(lab, "ended no_room\n");
    lab_destroy(lab);
}

/* slurmd refuses to start a job in the second in which it ended there. */
static void one_that_was_queued_again_rests_for_a_second(void **state)
{
    struct slurm_job_row row = row_of(SLURM_JOB_WAITS, true);
    struct lab *lab = lab_create();
    struct slurm_ours *j = run(lab);
    double at_s;

    (void)state;
    assert_int_equal(slurm_control_stop(lab->control, 1, ENGINE_STOP_MOVE, NULL), 0);
    assert_int_equal(j->wish, WISH_REQUEUE);
    answered(lab, WISH_REQUEUE, NULL);
    row.completing = true; /* its GPU is not free */
    look(lab, &row);
    told(lab, "");
    row.completing = false;
    at_s = lab->now_s;
    look(lab, &row);
    told(lab, "ended stopped\n");
    assert_true(j->rest_s > at_s + 1);
    j->wish = WISH_START;
    assert_true(slurm_control_advance(lab->control, at_s) == j->rest_s);
    lab_destroy(lab);
}

static void slurms_own_requeue_is_held_and_placed_anew(void **state)
{
    struct slurm_job_row row = row_of(SLURM_JOB_WAITS, false);
    struct lab *lab = lab_create();
    struct slurm_ours *j = run(lab);

    (void)state;
    row.restarts = 1;
    row.submit_s = 980;
    look(lab, &row);
    not_in_book(lab);
    told(lab, "ended requeued\n");
    assert_int_equal(j->wish, WISH_HOLD);
    answered(lab, WISH_HOLD, NULL);
    row.held = true;
    look(lab, &row);
    assert_int_equal(j->stage, STAGE_HELD);
    lab_destroy(lab);
}

/* It was released, and is on hold again with the mark of before: nobody held it. */
static void one_whose_release_slurmctld_forgot_is_placed_anew(void **state)
{
    struct slurm_job_row row = row_of(SLURM_JOB_WAITS, true);
    struct lab *lab = lab_create();
    struct slurm_ours *j = start(lab);
    double at_s;

    (void)state;
    slurm_control_conf(lab->control, 30, 300, 0);
    answered(lab, WISH_START, NULL);
    at_s = lab->now_s;
    look(lab, &row);
    not_in_book(lab);
    told(lab, "ended no_room\n");
    assert_int_equal(j->stage, STAGE_HELD);
    assert_true(j->rest_s > at_s + 30); /* it may run, and slurmctld ends it */
    lab_destroy(lab);
    lab = lab_create();
    j = start(lab);
    lab->control->report = "https://corgi:8421";
    answered(lab, WISH_START, NULL);
    at_s = lab->now_s;
    look(lab, &row);
    not_in_book(lab);
    told(lab, "ended no_room\n");
    assert_true(j->rest_s > at_s + 30); /* its probe may yet say that it is done */
    lab_destroy(lab);
}

static void one_that_somebody_held_before_it_began_stays_held(void **state)
{
    struct slurm_job_row row = row_of(SLURM_JOB_WAITS, true);
    struct lab *lab = lab_create();

    (void)state;
    start(lab);
    answered(lab, WISH_START, NULL);
    row.admin_comment = USERS ".1:{}"; /* our order is known there */
    look(lab, &row);
    told(lab, "ended no_room\nours\n");
    lab_destroy(lab);
}

/* slurmctld began a moment ago: what it forgot may still run. */
static void nothing_starts_beside_what_a_killed_slurmctld_forgot(void **state)
{
    struct lab *lab = lab_create();
    struct slurm_ours *j = start(lab);

    (void)state;
    slurm_control_conf(lab->control, 30, 300, 1000);
    assert_true(slurm_control_advance(lab->control, 1001) == 1008);
    j->attempt = 2; /* under its own number, too */
    assert_true(slurm_control_advance(lab->control, 1001) == 1038);
    lab_destroy(lab);
}

static void one_whose_launch_failed_is_placed_anew(void **state)
{
    struct slurm_job_row row = row_of(SLURM_JOB_WAITS, true);
    struct lab *lab = lab_create();

    (void)state;
    start(lab);
    answered(lab, WISH_START, NULL);
    row.admin_comment = USERS ".1:{}";
    row.launch_failed = true;
    look(lab, &row);
    told(lab, "ended no_room\n"); /* nobody holds it */
    lab_destroy(lab);
}

/* The comment says that it is to run, and the count that it was never queued again. */
static void one_that_slurmctld_forgot_to_run_rests(void **state)
{
    struct slurm_job_row row = row_of(SLURM_JOB_WAITS, true);
    struct lab *lab = lab_create();
    struct slurm_ours *j = run(lab);
    double at_s = lab->now_s;

    (void)state;
    row.admin_comment = USERS ".1:{}";
    look(lab, &row);
    not_in_book(lab);
    told(lab, "ended requeued\n");
    assert_true(j->rest_s > at_s + 5);
    lab_destroy(lab);
}

/* After a break nobody knows whose mark a user's job bears before Slurm is seen. */
static void a_users_job_is_placed_when_it_has_been_seen(void **state)
{
    struct lab *lab = lab_create();
    struct slurm_ours *j = start(lab);
    char *members = slurm_place_members(lab->control, j, NULL);

    (void)state;
    assert_non_null(strstr(members, "11111111111111aa.1:"));
    free(members);
    slurm_control_anew(lab->control);
    members = slurm_place_members(lab->control, j, NULL);
    assert_non_null(strstr(members, "11111111111111aa.1:")); /* not the daemon's */
    free(members);
    lab_destroy(lab);
}

/* Released by an operator with our mark on it: its end is seen all the same. */
static void the_end_of_one_that_was_let_go_is_told(void **state)
{
    struct slurm_job_row row = row_of(SLURM_JOB_RUNS, false);
    struct lab *lab = lab_create();

    (void)state;
    start(lab);
    look(lab, &row);
    assert_false(slurm_control_take(lab->control, &row, lab->now_s));
    row.stands = SLURM_JOB_DONE;
    assert_false(slurm_control_take(lab->control, &row, lab->now_s));
    lab_destroy(lab);
}

static void one_that_others_release_is_only_watched(void **state)
{
    struct slurm_job_row row = row_of(SLURM_JOB_WAITS, true);
    struct lab *lab = lab_create();

    (void)state;
    look(lab, &row);
    str_clear(&lab->told);
    row.held = false;
    look(lab, &row);
    told(lab, ""); /* slurmctld may have been killed, and forgot the hold */
    assert_true(slurm_control_asks_conf(lab->control));
    slurm_control_conf(lab->control, 2, 300, 0); /* it was not */
    assert_false(slurm_control_asks_conf(lab->control));
    look(lab, &row);
    told(lab, "watched\n");
    assert_int_equal(lab->control->jobs.count, 0);
    lab_destroy(lab);
}

static void one_whose_hold_slurmctld_forgot_is_held_again(void **state)
{
    struct slurm_job_row row = row_of(SLURM_JOB_WAITS, true);
    struct lab *lab = lab_create();
    struct slurm_ours *j;

    (void)state;
    look(lab, &row);
    str_clear(&lab->told);
    j = lab->control->jobs.items[0];
    row.held = false;
    look(lab, &row);
    slurm_control_conf(lab->control, 2, 300, floor(lab->now_s));
    look(lab, &row);
    told(lab, "");
    assert_int_equal(j->wish, WISH_HOLD);
    row.held = true;
    j->wish = WISH_NOTHING;
    look(lab, &row);
    assert_int_equal(j->stage, STAGE_HELD);
    lab_destroy(lab);
}

/* slurmctld was killed, forgot it and gave its number away. */
static void a_number_that_came_to_somebody_else_is_left_alone(void **state)
{
    struct slurm_job_row row = row_of(SLURM_JOB_DONE, false);
    struct lab *lab = lab_create();
    struct slurm_ours *j = start(lab);

    (void)state;
    row.admin_comment = "";
    row.name = "theirs"; /* in the same second, by the same user */
    answered(lab, WISH_START, "foreign");
    assert_true(j->doubted);
    assert_true(j->live); /* it is to be started still, under which number ever */
    assert_false(look(lab, &row));
    assert_string_equal(j->id, "");
    told(lab, "");
    lab_destroy(lab);
}

static struct slurm_job_row held_row(const char *id, const char *comment)
{
    struct slurm_job_row row = row_of(SLURM_JOB_WAITS, true);

    snprintf(row.id, sizeof(row.id), "%s", id);
    row.admin_comment = comment;
    return row;
}

/* slurmctld was killed, forgot the last of three jobs and gave its number to the second,
 * which is handed in; then the first is over. */
static void who_has_a_number_anew_keeps_it_when_others_go(void **state)
{
#define OF(who)                                                                          \
    "corgi1:000000000000000000000000000000000000000000000000111111111111110" who
    struct slurm_job_row first = held_row("5", OF("1") ":{}"),
                         second = held_row("6", OF("2") ":{}"),
                         third = held_row("220", OF("3") ":{}");
    struct lab *lab = lab_create();
    struct slurm_ours *j;

    (void)state;
    slurm_control_take(lab->control, &first, lab->now_s);
    slurm_control_take(lab->control, &second, lab->now_s);
    look(lab, &third);
    assert_int_equal(lab->control->jobs.count, 3);
    str_clear(&lab->told);
    j = lab->control->jobs.items[1];
    slurm_ours_name(lab->control, j, "220");
    slurm_ours_drop(lab->control, lab->control->jobs.items[0]);
    second = held_row("220", OF("2") ":{}");
    assert_true(look(lab, &second));
    assert_string_equal(j->id, "220");
    assert_true(j->shown.there);
    told(lab, ""); /* not found anew */
    lab_destroy(lab);
}

static void an_end_that_was_told_wins(void **state)
{
    struct slurm_job_row row = row_of(SLURM_JOB_DONE, false);
    struct lab *lab = lab_create();
    struct slurm_ours *j = run(lab);

    (void)state;
    look(lab, &row);
    told(lab, "ended done\n");
    row =
        row_of(SLURM_JOB_WAITS, true); /* a slurmctld that was killed has forgotten it */
    look(lab, &row);
    told(lab, "");
    assert_int_equal(j->wish, WISH_CANCEL);
    lab_destroy(lab);
}

/* slurmctld and the daemon were killed: Slurm shows what the store knows to be over. */
static void an_end_of_a_daemon_before_wins_too(void **state)
{
    static const enum slurm_job_stands stands[] = {SLURM_JOB_WAITS, SLURM_JOB_RUNS};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct slurm_job_row row = row_of(stands[i], stands[i] == SLURM_JOB_WAITS);
        struct lab *lab = lab_create();

        lab->ended = 5;
        assert_true(look(lab, &row));
        told(lab, "");
        assert_int_equal(the_job(lab)->job, 5);
        assert_int_equal(the_job(lab)->wish, WISH_CANCEL);
        lab_destroy(lab);
    }
}

static void what_slurm_forgot_while_it_ran_is_never_run_again(void **state)
{
    struct lab *lab = lab_create();

    (void)state;
    run(lab);
    slurm_control_gone(lab->control, "7");
    look(lab, NULL);
    told(lab, "");
    lab->now_s += 30;
    look(lab, NULL);
    told(lab, "");
    assert_int_equal(the_job(lab)->wish, WISH_LOOK_UP);
    answered(lab, WISH_LOOK_UP, "refused"); /* there is no such book */
    look(lab, NULL);
    told(lab, "ended unknown\n");
    lab_destroy(lab);
}

/* One of ours, on hold when somebody looked last. */
static struct slurm_ours *enter(struct lab *lab)
{
    static const char *const argv[] = {"true", NULL}, *const env[] = {NULL};
    struct job job = {.id = 1, .devices = 1};
    const struct engine_job order = {.job = &job,
                                     .argv = argv,
                                     .env = env,
                                     .directory = "/",
                                     .ref = "7#0000000000000001"};

    lab->control->looked_s = lab->now_s;
    assert_int_equal(slurm_control_enter(lab->control, &order, NULL), 0);
    return the_job(lab);
}

/* Where runs are fenced, and told of by their probes, it may be run again. */
static void what_slurm_forgot_is_handed_in_again_where_runs_are_fenced(void **state)
{
    struct lab *lab = lab_create();
    struct slurm_ours *j;

    (void)state;
    lab->control->probe = "/usr/bin/corgi-probe";
    lab->control->report = "https://corgi:8421";
    j = enter(lab);
    j->stage = STAGE_RUNS;
    j->live = true;
    j->attempt = 1;
    look(lab, NULL);
    lab->now_s += 30;
    look(lab, NULL);
    answered(lab, WISH_LOOK_UP, "refused");
    look(lab, NULL);
    told(lab, "ended requeued\n");
    assert_int_equal(j->wish, WISH_SUBMIT);
    assert_int_equal(j->stage, STAGE_ENTERING);
    lab_destroy(lab);
}

static void tell_book(struct lab *lab, const char *json)
{
    struct json_doc *doc;

    assert_int_equal(json_doc_parse(&doc, json, strlen(json), "book", NULL), 0);
    the_job(lab)->under_way = WISH_LOOK_UP;
    the_job(lab)->wish = WISH_NOTHING;
    slurm_control_ordered(lab->control, 1, json_doc_root(doc), NULL, NULL, lab->now_s);
    json_doc_destroy(doc);
}

static void what_ended_while_nobody_looked_is_in_slurms_book(void **state)
{
    struct lab *lab = lab_create();

    (void)state;
    run(lab);
    slurm_control_gone(lab->control, "7");
    look(lab, NULL);
    lab->now_s += 30;
    look(lab, NULL);
    tell_book(lab, "{\"state\":\"COMPLETED\",\"uid\":1,\"name\":\"another\"}");
    told(lab, ""); /* its number came to somebody else */
    tell_book(lab, "{\"state\":\"COMPLETED\",\"uid\":0,\"name\":\"train\"}");
    told(lab, "ended done\n");
    assert_int_equal(lab->control->jobs.count, 0);
    lab_destroy(lab);
    lab = lab_create();
    run(lab);
    slurm_control_gone(lab->control, "7");
    look(lab, NULL);
    lab->now_s += 30;
    look(lab, NULL);
    tell_book(lab, "{\"state\":\"FAILED\",\"marked\":true,\"uid\":0,\"name\":\"\"}");
    told(lab, "ended failed\n"); /* by our mark, whatever it is called there */
    lab_destroy(lab);
}

/* That it does not answer is no word about the job: it is asked again, for a while. */
static void a_book_that_does_not_answer_is_asked_again(void **state)
{
    struct lab *lab = lab_create();

    (void)state;
    run(lab);
    slurm_control_gone(lab->control, "7");
    look(lab, NULL);
    lab->now_s += 30;
    look(lab, NULL);
    answered(lab, WISH_LOOK_UP, "slurm");
    look(lab, NULL);
    told(lab, "");
    assert_int_equal(the_job(lab)->wish, WISH_NOTHING);
    lab->now_s += 10;
    look(lab, NULL);
    assert_int_equal(the_job(lab)->wish, WISH_LOOK_UP);
    answered(lab, WISH_LOOK_UP, "late");
    lab->now_s += 10;
    look(lab, NULL);
    tell_book(lab, "{\"state\":\"COMPLETED\",\"uid\":0,\"name\":\"train\"}");
    told(lab, "ended done\n");
    lab_destroy(lab);
}

/* Also where what is forgotten would be handed in again: nobody knows that it has not
 * ended. */
static void a_book_that_does_not_answer_for_long_leaves_it_unknown(void **state)
{
    struct lab *lab = lab_create();

    (void)state;
    run(lab);
    lab->control->probe = "/usr/bin/corgi-probe";
    lab->control->report = "https://corgi:8421";
    slurm_control_gone(lab->control, "7");
    look(lab, NULL);
    lab->now_s += 30;
    look(lab, NULL);
    answered(lab, WISH_LOOK_UP, "busy");
    lab->now_s += 1000;
    look(lab, NULL);
    assert_int_equal(the_job(lab)->wish, WISH_LOOK_UP);
    answered(lab, WISH_LOOK_UP, "slurm");
    look(lab, NULL);
    told(lab, "ended unknown\n");
    lab_destroy(lab);
}

/* A slurmctld that was killed forgets an end, and queues the job again: it is done. */
static void what_had_ended_before_slurm_queued_it_again_is_done(void **state)
{
    struct slurm_job_row row = row_of(SLURM_JOB_WAITS, false);
    struct lab *lab = lab_create();
    struct slurm_ours *j = run(lab);

    (void)state;
    row.restarts = 1;
    look(lab, &row);
    told(lab, "");
    assert_int_equal(j->wish, WISH_LOOK_UP);
    tell_book(lab,
              "{\"state\":\"COMPLETED\",\"uid\":0,\"name\":\"train\",\"end_s\":960}");
    told(lab, "ended done\n");
    assert_int_equal(j->wish, WISH_CANCEL);
    answered(lab, WISH_CANCEL, NULL);
    row.stands = SLURM_JOB_CANCELLED;
    look(lab, &row);
    told(lab, "");
    lab_destroy(lab);
}

/* Likewise when it shows the job as it was before it was placed. */
static void what_had_ended_before_slurm_forgot_that_it_was_placed_is_done(void **state)
{
    struct slurm_job_row row = row_of(SLURM_JOB_WAITS, true);
    struct lab *lab = lab_create();
    struct slurm_ours *j = start(lab);

    (void)state;
    answered(lab, WISH_START, NULL);
    look(lab, &row);
    tell_book(lab,
              "{\"state\":\"NODE_FAIL\",\"uid\":0,\"name\":\"train\",\"end_s\":960}");
    told(lab, ""); /* that is no reason not to run it */
    j->looked_up = false;
    look(lab, &row);
    tell_book(lab,
              "{\"state\":\"COMPLETED\",\"uid\":0,\"name\":\"train\",\"end_s\":960}");
    told(lab, "ended done\n");
    assert_int_equal(j->wish, WISH_CANCEL);
    lab_destroy(lab);
}

/* A book that does not answer keeps such a job for a minute, not for ever. */
static void what_slurm_queued_again_waits_a_minute_for_a_book_that_is_away(void **state)
{
    struct slurm_job_row row = row_of(SLURM_JOB_WAITS, true);
    struct lab *lab = lab_create();
    struct slurm_ours *j = run(lab);

    (void)state;
    row.restarts = 1;
    look(lab, &row);
    for (int i = 0; i < 4; i++) { /* every ten seconds */
        assert_int_equal(j->wish, WISH_LOOK_UP);
        answered(lab, WISH_LOOK_UP, "slurm");
        told(lab, "");
        lab->now_s += 10;
        look(lab, NULL);
    }
    lab->now_s += 20;
    answered(lab, WISH_LOOK_UP, "late");
    told(lab, "ended requeued\n");
    lab_destroy(lab);
}

static void what_was_on_hold_is_handed_in_again_unless_it_may_have_ended(void **state)
{
    struct lab *lab = lab_create();

    (void)state;
    enter(lab);
    look(lab, NULL);
    lab->now_s += 10;
    look(lab, NULL);
    assert_int_equal(the_job(lab)->wish, WISH_SUBMIT); /* slurmctld forgot it */
    lab_destroy(lab);
    lab = lab_create();
    enter(lab);
    lab->now_s += 300; /* Slurm forgets by itself what ended before */
    look(lab, NULL);
    lab->now_s += 30;
    look(lab, NULL);
    assert_int_equal(the_job(lab)->wish, WISH_LOOK_UP);
    lab_destroy(lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_starts_and_ends),
        cmocka_unit_test(one_that_does_not_begin_is_held),
        cmocka_unit_test(one_that_was_queued_again_rests_for_a_second),
        cmocka_unit_test(slurms_own_requeue_is_held_and_placed_anew),
        cmocka_unit_test(one_whose_release_slurmctld_forgot_is_placed_anew),
        cmocka_unit_test(one_that_somebody_held_before_it_began_stays_held),
        cmocka_unit_test(nothing_starts_beside_what_a_killed_slurmctld_forgot),
        cmocka_unit_test(one_whose_launch_failed_is_placed_anew),
        cmocka_unit_test(one_that_slurmctld_forgot_to_run_rests),
        cmocka_unit_test(a_users_job_is_placed_when_it_has_been_seen),
        cmocka_unit_test(the_end_of_one_that_was_let_go_is_told),
        cmocka_unit_test(one_that_others_release_is_only_watched),
        cmocka_unit_test(one_whose_hold_slurmctld_forgot_is_held_again),
        cmocka_unit_test(a_number_that_came_to_somebody_else_is_left_alone),
        cmocka_unit_test(who_has_a_number_anew_keeps_it_when_others_go),
        cmocka_unit_test(an_end_that_was_told_wins),
        cmocka_unit_test(an_end_of_a_daemon_before_wins_too),
        cmocka_unit_test(what_slurm_forgot_while_it_ran_is_never_run_again),
        cmocka_unit_test(what_slurm_forgot_is_handed_in_again_where_runs_are_fenced),
        cmocka_unit_test(what_ended_while_nobody_looked_is_in_slurms_book),
        cmocka_unit_test(what_had_ended_before_slurm_queued_it_again_is_done),
        cmocka_unit_test(what_had_ended_before_slurm_forgot_that_it_was_placed_is_done),
        cmocka_unit_test(what_slurm_queued_again_waits_a_minute_for_a_book_that_is_away),
        cmocka_unit_test(a_book_that_does_not_answer_is_asked_again),
        cmocka_unit_test(a_book_that_does_not_answer_for_long_leaves_it_unknown),
        cmocka_unit_test(what_was_on_hold_is_handed_in_again_unless_it_may_have_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
