/* follow.c - see follow.h */
#include "corgi/follow.h"

#include "base/clock.h"
#include "base/str.h"
#include "corgi/view.h"

#include <string.h>
#include <time.h>

#define PATIENCE_S    30.0
#define RETRY_FIRST_S 0.25
#define RETRY_LAST_S  4.0

struct session {
    const struct follow *follow;
    struct str last; /* id of the newest event */
    bool connected;  /* at least once, this time */
    bool over;
};

static bool take_event(void *ctx, const struct client_event *event)
{
    struct session *s = ctx;
    const struct follow *f = s->follow;
    struct json_doc *doc = NULL;
    struct err ignored;

    if (!event) {
        s->connected = true;
        s->over = f->begun && !f->begun(f->ctx);
        return !s->over;
    }
    if (*event->id) {
        str_clear(&s->last);
        str_add(&s->last, event->id);
    }
    json_doc_parse(&doc, event->data, strlen(event->data), "event", &ignored);
    s->over = !f->event(f->ctx, event, doc ? json_doc_root(doc) : NULL);
    json_doc_destroy(doc);
    return !s->over;
}

static int connect_once(struct session *s, struct err *err)
{
    const struct follow *f = s->follow;
    struct str path = {0};
    struct client_stream stream = {.event = take_event, .ctx = s};
    int rc;

    str_add(&path, "/v1/events");
    daemon_add_query(&path, "job", f->job);
    daemon_add_query(&path, "types", f->types);
    stream.path = str_text(&path);
    stream.last_event_id = s->last.length ? str_text(&s->last) : NULL;
    rc = client_follow(f->client, &stream, err);
    str_fini(&path);
    return rc;
}

static void pause_s(double seconds)
{
    struct timespec t = {.tv_sec = (time_t)seconds};

    t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
    nanosleep(&t, NULL);
}

/* Worth another try: the daemon restarts, or the connection broke. */
static bool passing(const struct err *err)
{
    return err->code == ERR_SYSTEM || err->code == ERR_NOT_FOUND;
}

int follow_events(const struct follow *f, struct err *err)
{
    struct session s = {.follow = f};
    double retry_s = RETRY_FIRST_S, lost_s = 0;
    bool ever = false;
    int rc;

    if (f->last)
        str_add(&s.last, f->last);
    for (;;) {
        s.connected = false;
        rc = connect_once(&s, err);
        if (s.over || rc == 0)
            break;
        if (s.connected) {
            ever = true;
            retry_s = RETRY_FIRST_S;
            lost_s = clock_wall_s();
        }
        if (rc < 0 && (!ever || !passing(err) || clock_wall_s() - lost_s > PATIENCE_S))
            break;
        pause_s(retry_s);
        retry_s = retry_s * 2 < RETRY_LAST_S ? retry_s * 2 : RETRY_LAST_S;
    }
    str_fini(&s.last);
    return s.over || rc == 0 ? 0 : daemon_explain(f->client, err);
}

/* ---- the end of one job ------------------------------------------------------------ */

struct job_wait {
    struct client *aside;
    const char *job;
    char state[32];
    struct err err;
    bool failed;
};

bool follow_is_end(const char *state)
{
    return !strcmp(state, "done") || !strcmp(state, "failed") ||
           !strcmp(state, "cancelled");
}

int follow_look(struct client *client, const char *job, char *state, size_t size,
                struct err *err)
{
    struct client_request request = {.method = HTTP_GET, .retries = 2};
    struct client_answer answer;
    struct str path = {0};
    const char *found;
    int rc;

    str_add(&path, "/v1/jobs");
    daemon_add_segment(&path, job);
    request.path = str_text(&path);
    rc = daemon_ask(client, &request, &answer, err);
    found = rc == 0 ? view_text(daemon_root(&answer), "state") : NULL;
    if (found)
        str_copy(state, size, found);
    else if (rc == 0)
        rc =
            err_set(err, ERR_FORMAT, "the daemon does not tell the state of job %s", job);
    client_answer_fini(&answer);
    str_fini(&path);
    return rc;
}

/* It may have ended before the events began, so it is looked at then. */
static bool look(void *ctx)
{
    struct job_wait *w = ctx;

    w->failed = follow_look(w->aside, w->job, w->state, sizeof(w->state), &w->err) < 0;
    return !w->failed && !follow_is_end(w->state);
}

static bool job_event(void *ctx, const struct client_event *event,
                      const struct json_value *data)
{
    struct job_wait *w = ctx;
    const char *state = view_text(data, "state");

    if (strcmp(event->type, "job") != 0 || !state)
        return true;
    str_copy(w->state, sizeof(w->state), state);
    return !follow_is_end(state);
}

int follow_job(const struct daemon_args *daemon, const char *job, char *state,
               size_t size, struct err *err)
{
    struct job_wait w = {.job = job};
    struct follow f = {
        .job = job, .types = "job", .event = job_event, .begun = look, .ctx = &w};
    int rc = -1;

    if (daemon_open(&f.client, daemon, err) == 0 &&
        daemon_open(&w.aside, daemon, err) == 0)
        rc = follow_events(&f, err);
    if (rc == 0 && w.failed) {
        *err = w.err;
        rc = -1;
    }
    if (rc == 0)
        str_copy(state, size, w.state);
    client_destroy(f.client);
    client_destroy(w.aside);
    return rc;
}
