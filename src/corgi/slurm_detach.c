/* slurm_detach.c - cmd_slurm.c calls it: every job that waits with our mark loses it and
 * is released, over engine/slurm/helper_link.c */
#include "corgi/slurm_detach.h"

#include "base/clock.h"
#include "base/json_out.h"
#include "base/mem.h"
#include "base/poller.h"
#include "base/vec.h"
#include "engine/slurm/helper_link.h"
#include "engine/slurm/slurm_answers.h"
#include "engine/slurm/slurm_mark.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WITHIN_S 60.0 /* all of it */
#define LOOK_S   10.0 /* one request */

struct detached_job {
    char id[SLURM_ID_SIZE];
    int gpus; /* on each node, of one whose GPUs only the mark tells; 0: Slurm does */
    char *comment; /* others' words */
};

struct detaching {
    const struct slurm_detach *how;
    struct helper_link *link;
    vec_of(struct detached_job) jobs; /* in Slurm's hands; the tag of an order is a place
                                         here */
    size_t sent, answered;
    bool asked, looked; /* at all jobs, since the last orders */
    int found;          /* in that look */
    struct err err;
};

static void on_up(void *ctx)
{
    struct detaching *d = ctx;

    d->asked = true;
    helper_link_ask(d->link, "jobs");
}

static void on_down(void *ctx, const char *why)
{
    err_set(&((struct detaching *)ctx)->err, ERR_SYSTEM, "%s", why);
}

static struct detached_job *find(const struct detaching *d, const char *id)
{
    vec_each (struct detached_job, job, &d->jobs)
        if (strcmp(job->id, id) == 0)
            return job;
    return NULL;
}

/* One that waits with our mark, on hold or not; running ones are left alone. */
static void take_row(struct detaching *d, const struct slurm_job_row *row)
{
    char digest[SLURM_DIGEST_SIZE];
    struct detached_job job = {0};
    struct str rest = {0};

    if (row->stands != SLURM_JOB_WAITS || find(d, row->id) ||
        !slurm_mark_digest(row->admin_comment, digest))
        return;
    str_copy(job.id, sizeof(job.id), row->id);
    if (!slurm_job_wants_gpus(row))
        job.gpus = slurm_mark_gpus(row->admin_comment) / row->num_nodes;
    slurm_mark_strip(row->admin_comment, &rest);
    job.comment = rest.text ? str_take(&rest) : mem_strdup("");
    vec_push(&d->jobs, job);
    d->found++;
    printf("%s job %s of %s: %s\n", d->how->dry_run ? "would release" : "release",
           row->id, row->user, row->name ? row->name : "");
}

static void on_answer(void *ctx, const char *op, const struct json_value *answer,
                      const char *error)
{
    const struct json_value *rows = json_value_get(answer, "rows");
    struct detaching *d = ctx;
    struct slurm_job_row row;

    if (!answer) {
        err_set(&d->err, ERR_SYSTEM, "%s", error);
        return;
    }
    for (size_t i = 0; i < json_value_count(rows); i++)
        if (slurm_answers_job(json_value_item(rows, i), &row))
            take_row(d, &row);
    if (json_member_bool(answer, "more", false))
        helper_link_ask(d->link, op);
    else
        d->looked = true;
}

/* One that has begun or ended meanwhile needs nothing any more. */
static void on_ordered(void *ctx, uint64_t tag, const struct json_value *answer,
                       const char *code, const char *error)
{
    struct detaching *d = ctx;

    d->answered++;
    if (answer)
        return;
    if (strcmp(code, "refused") == 0)
        printf("job %s: %s\n", d->jobs.items[tag].id, error);
    else
        err_set(&d->err, ERR_SYSTEM, "job %s: %s", d->jobs.items[tag].id, error);
}

static bool release(struct detaching *d, size_t at)
{
    struct str text = {0};
    struct json_out out;
    char gres[40];
    bool sent;

    json_out_init(&out, &text, false);
    json_out_begin_object(&out);
    json_out_key_string(&out, "job", d->jobs.items[at].id);
    json_out_key_string(&out, "nodes", ""); /* wherever it was to be */
    snprintf(gres, sizeof(gres), "gres:gpu:%d", d->jobs.items[at].gpus);
    if (d->jobs.items[at].gpus > 0)
        json_out_key_string(&out, "gres", gres);
    json_out_key_string(&out, "admin_comment", d->jobs.items[at].comment);
    json_out_key_bool(&out, "release", true);
    json_out_end(&out);
    text.text[text.length - 1] = '\0';
    sent = helper_link_order(d->link, "update_job", text.text + 1, at);
    str_fini(&text);
    return sent;
}

/* Until a look at all jobs finds none any more. */
static bool go_on(struct detaching *d)
{
    if (d->how->dry_run)
        return !d->looked;
    while (d->sent < d->jobs.count && release(d, d->sent))
        d->sent++;
    if (!d->looked || d->answered < d->jobs.count)
        return true;
    if (d->found == 0)
        return false;
    d->found = 0;
    d->looked = false;
    helper_link_ask(d->link, "jobs");
    return true;
}

/* Without the file the plugin of slurmctld takes and holds nothing. */
static void put_settings_aside(const struct slurm_detach *how)
{
    struct str aside = {0};

    str_addf(&aside, "%s.detached", how->settings);
    if (access(how->settings, F_OK) < 0)
        printf("%s is not on this machine: on that of slurmctld, put it aside, or what "
               "comes is held for nobody\n",
               how->settings);
    else if (how->dry_run)
        printf("would rename %s to %s\n", how->settings, str_text(&aside));
    else if (rename(how->settings, str_text(&aside)) < 0)
        printf("cannot rename %s: %s; put it aside, or what comes is held for nobody\n",
               how->settings, strerror(errno));
    else
        printf("renamed %s to %s\n", how->settings, str_text(&aside));
    str_fini(&aside);
}

int slurm_detach_run(const struct slurm_detach *how, struct err *err)
{
    struct helper_link_options line = {
        .helper = how->helper, .read_only = how->dry_run, .within_s = LOOK_S};
    struct detaching d = {.how = how};
    double until_s = clock_wall_s() + WITHIN_S;
    int poller = poller_open(err), count;
    bool more = true;

    if (poller < 0)
        return -1;
    put_settings_aside(how); /* first: nothing more is held */
    signal(SIGPIPE, SIG_IGN);
    d.link = helper_link_create(poller, &line,
                                (struct helper_link_sink){.up = on_up,
                                                          .down = on_down,
                                                          .answer = on_answer,
                                                          .ordered = on_ordered,
                                                          .ctx = &d});
    while (d.err.code == ERR_NONE && clock_wall_s() < until_s &&
           (more = !d.asked || go_on(&d))) {
        helper_link_advance(d.link, clock_wall_s());
        poller_wait(poller, 0.1);
    }
    helper_link_destroy(d.link);
    close(poller);
    count = (int)d.jobs.count;
    if (more && d.err.code == ERR_NONE)
        err_set(&d.err, ERR_SYSTEM, "Slurm has not answered within %g s", WITHIN_S);
    vec_each (struct detached_job, job, &d.jobs)
        free(job->comment);
    vec_free(&d.jobs);
    if (!more)
        return count;
    *err = d.err;
    return err_prefix(err, "not all jobs are released; try again");
}
