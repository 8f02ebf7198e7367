/* handle_output.c - GET /v1/jobs/{id}/output: what a job has printed
 *
 * The route finds out here which file that is; a thread of its own reads a piece of it
 * (output_file.c), because the disk may hang, and posts it back; then it is answered. */
#include "service/handlers.h"

#include "base/mem.h"
#include "base/thread.h"
#include "service/output_file.h"
#include "service/views.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A file on a disk that hangs keeps its thread; others must still find one. */
#define MAX_READS 16
#define MAX_LINES 10000

/* Where reads come back to; it lives as long as the service or a read does. */
struct output_desk {
    pthread_mutex_t lock;    /* guards the rest */
    struct reactor *reactor; /* NULL: the service has gone */
    int reads;
};

struct output_read {
    struct output_desk *desk;
    struct request *request;
    uint64_t job;
    int attempt, attempts;
    enum job_state state;
    bool over;    /* nothing more will be printed by this attempt */
    bool lasting; /* every attempt adds to this file */
    char *path;
    struct output_ask ask;
    struct output_piece piece;
    struct err err;
};

static void free_read(struct output_read *read)
{
    str_fini(&read->piece.text);
    free(read->path);
    free(read);
}

/* What a person is told when there is nothing to show; NULL: there is something. */
static const char *nothing_because(const struct output_read *read, char *text,
                                   size_t size)
{
    unsigned long long job = read->job;

    if (read->attempts == 0 && read->state >= JOB_DONE)
        snprintf(text, size, "job %llu ended before it was started", job);
    else if (read->attempts == 0)
        snprintf(text, size, "job %llu has not been started yet", job);
    else if (!read->path)
        snprintf(text, size,
                 "job %llu is simulated: no program runs, so nothing is printed", job);
    else if (read->err.code == ERR_NOT_FOUND && !read->over)
        snprintf(text, size, "job %llu has printed nothing yet", job);
    else if (read->err.code == ERR_NOT_FOUND)
        snprintf(text, size, "there is no output of attempt %d of job %llu: %s",
                 read->attempt, job, read->err.text);
    else if (read->err.code != ERR_NONE)
        snprintf(text, size, "%s", read->err.text);
    else if (read->piece.size == 0)
        snprintf(text, size, "job %llu has printed nothing%s", job,
                 read->over ? "" : " yet");
    else
        return NULL;
    return text;
}

static void answer(void *ctx)
{
    struct output_read *read = ctx;
    const struct output_piece *piece = &read->piece;
    struct handlers_answer a;
    char note[sizeof(struct err) + 100];

    handlers_begin(&a, read->request, NULL);
    json_out_key_int(&a.out, "job", (int64_t)read->job);
    json_out_key_int(&a.out, "attempt", read->attempt);
    json_out_key_int(&a.out, "attempts", read->attempts);
    json_out_key_string(&a.out, "state", views_job_state(read->state, false));
    json_out_key_bool(&a.out, "ended", read->over);
    json_out_key_bool(&a.out, "all_attempts", read->lasting);
    json_out_key_string(&a.out, "file", read->path);
    json_out_key_int(&a.out, "size", piece->size);
    json_out_key_int(&a.out, "offset", piece->offset);
    json_out_key_int(&a.out, "next", piece->next);
    json_out_key_string(&a.out, "text", str_text(&piece->text));
    json_out_key_bool(&a.out, "missing",
                      read->err.code != ERR_NONE &&
                          (read->over || read->err.code != ERR_NOT_FOUND));
    json_out_key_string(&a.out, "note", nothing_because(read, note, sizeof(note)));
    handlers_answer(&a, 200);
    free_read(read);
}

/* ---- the thread, and back from it -------------------------------------------------- */

/* Somebody leaves the desk; the last one takes it away. */
static void leave(struct output_desk *desk, struct output_read *done)
{
    bool last;

    pthread_mutex_lock(&desk->lock);
    desk->reads -= done != NULL;
    if (!done)
        desk->reactor = NULL;
    else if (desk->reactor)
        reactor_post(desk->reactor, answer, done);
    else
        free_read(done);
    last = !desk->reactor && desk->reads == 0;
    pthread_mutex_unlock(&desk->lock);
    if (last) {
        pthread_mutex_destroy(&desk->lock);
        free(desk);
    }
}

static void *read_piece(void *arg)
{
    struct output_read *read = arg;

    output_file_read(&read->ask, &read->piece, &read->err);
    leave(read->desk, read);
    return NULL;
}

/* False: too many are under way. */
static bool begin_read(struct service *s, struct output_read *read)
{
    pthread_t thread;
    bool may;

    if (!s->output_desk) {
        s->output_desk = mem_new(struct output_desk);
        s->output_desk->reactor = s->reactor;
        pthread_mutex_init(&s->output_desk->lock, NULL);
    }
    read->desk = s->output_desk;
    pthread_mutex_lock(&read->desk->lock);
    may = read->desk->reads < MAX_READS;
    if (may && thread_start(&thread, read_piece, read) == 0) {
        read->desk->reads++;
        pthread_detach(thread);
    } else {
        may = false;
    }
    pthread_mutex_unlock(&read->desk->lock);
    return may;
}

void handlers_end_output(struct service *s)
{
    if (s->output_desk)
        leave(s->output_desk, NULL);
    s->output_desk = NULL;
}

/* ---- the route --------------------------------------------------------------------- */

static bool parse_output(struct request *r, struct output_read *read)
{
    double attempt = 0, offset = 0, lines = 0;

    if (!handlers_number(r, "attempt", 1, 1e6, &attempt) ||
        !handlers_number(r, "offset", 0, 1e15, &offset) ||
        !handlers_number(r, "lines", 1, MAX_LINES, &lines))
        return false;
    read->attempt = (int)attempt;
    read->ask.offset = (int64_t)offset;
    read->ask.lines = (int)lines;
    return true;
}

/* Which file, and how far the job is. */
static void look_at(const struct service *s, const struct store_job *job,
                    struct output_read *read)
{
    const struct store_request *q = &job->request;

    read->attempts = job->progress.attempt;
    read->state = job->progress.state;
    if (read->attempt == 0)
        read->attempt = read->attempts;
    read->over = read->state >= JOB_DONE || read->attempt < read->attempts;
    read->lasting = q->output != NULL;
    read->path = views_output_path(s, q, read->attempt);
    read->ask.path = read->path;
    read->ask.chosen = read->lasting;
    read->ask.uid = q->uid;
    read->ask.gid = q->gid;
}

void handle_job_output(void *ctx, struct request *r)
{
    struct service *s = ctx;
    struct output_read *read = mem_new(struct output_read);
    struct store_job *job = NULL;
    struct err err = {0};

    read->request = r;
    if (!parse_output(r, read) || request_param_id(r, "id", &read->job) < 0) {
        free_read(read);
        return;
    }
    if (store_read_job(s->reader, read->job, &job, &err) < 0) {
        request_fail(r, NULL, &err);
        free_read(read);
        return;
    }
    look_at(s, job, read);
    if (!service_may_touch(&r->identity, job->request.user)) {
        handlers_forbid(r, read->job);
        free_read(read);
    } else if (read->attempt > read->attempts) {
        request_answer_error(r, 404, "not_found", "attempt",
                             "job %llu has been started %d times, there is no attempt %d",
                             (unsigned long long)read->job, read->attempts,
                             read->attempt);
        free_read(read);
    } else if (!read->path) {
        answer(read);
    } else if (!begin_read(s, read)) {
        request_answer_error(r, 503, "busy", NULL,
                             "other reads of output take long; try again");
        free_read(read);
    }
    store_job_destroy(job);
}
