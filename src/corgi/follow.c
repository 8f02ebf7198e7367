/* follow.c - corgi watch and corgi submit --wait follow events through here
 *
 * http/client.c reads one connection's events; this opens the next one where it broke,
 * and notes the end of a job. */
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
    struct follow *follow;
    struct client *client;
    struct client *aside; /* asks about the job while the other one follows */
    struct str last;      /* id of the newest event */
    bool connected;       /* at least once, this time */
    bool over;
    struct err looking; /* why the job could not be looked at */
};

/* Note a state of the job; true when it is its last. */
static bool note_state(struct follow *f, const char *state)
{
    if (strcmp(state, "done") != 0 && strcmp(state, "failed") != 0 &&
        strcmp(state, "cancelled") != 0)
        return false;
    str_copy(f->state, sizeof(f->state), state);
    return true;
}

/* A job that has ended already sends no more events, so it is looked at when they begin.
 * True when there is nothing to wait for. */
static bool look(struct session *s)
{
    struct client_request request = {.method = HTTP_GET, .retries = 2};
    struct follow *f = s->follow;
    struct client_answer answer;
    struct str path = {0};
    const char *state;

    str_add(&path, "/v1/jobs");
    daemon_add_segment(&path, f->job);
    request.path = str_text(&path);
    if (daemon_ask(s->aside, &request, &answer, &s->looking) == 0) {
        state = view_text(daemon_root(&answer), "state");
        if (state)
            f->ended_before = note_state(f, state);
        else
            err_set(&s->looking, ERR_FORMAT,
                    "the daemon does not tell the state of job %s", f->job);
    }
    client_answer_fini(&answer);
    str_fini(&path);
    return f->ended_before || s->looking.code != ERR_NONE;
}

static bool take_event(void *ctx, const struct client_event *event)
{
    struct session *s = ctx;
    struct follow *f = s->follow;
    struct json_doc *doc = NULL;
    const struct json_value *data;
    struct err ignored;

    if (!event) { /* the stream has begun */
        s->connected = true;
        s->over = f->job && look(s);
        return !s->over;
    }
    if (*event->id) {
        str_clear(&s->last);
        str_add(&s->last, event->id);
    }
    json_doc_parse(&doc, event->data, strlen(event->data), "event", &ignored);
    data = doc ? json_doc_root(doc) : NULL;
    s->over = f->event && !f->event(f->ctx, event, data);
    if (f->job && !strcmp(event->type, "job") &&
        note_state(f, view_text_or(data, "state", "")))
        s->over = true;
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
    rc = client_follow(s->client, &stream, err);
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

static int follow(struct session *s, struct err *err)
{
    double retry_s = RETRY_FIRST_S, lost_s = 0;
    bool ever = false;

    for (;;) {
        int rc;

        s->connected = false;
        rc = connect_once(s, err);
        if (s->over || rc == 0)
            return 0;
        if (s->connected) {
            ever = true;
            retry_s = RETRY_FIRST_S;
            lost_s = clock_wall_s();
        }
        if (rc < 0 && (!ever || !passing(err) || clock_wall_s() - lost_s > PATIENCE_S))
            return daemon_explain(s->client, err);
        pause_s(retry_s);
        retry_s = retry_s * 2 < RETRY_LAST_S ? retry_s * 2 : RETRY_LAST_S;
    }
}

int follow_events(struct follow *f, struct err *err)
{
    struct session s = {.follow = f};
    int rc = -1;

    if (f->last)
        str_add(&s.last, f->last);
    if (daemon_open(&s.client, f->daemon, err) == 0 &&
        (!f->job || daemon_open(&s.aside, f->daemon, err) == 0))
        rc = follow(&s, err);
    if (rc == 0 && s.looking.code != ERR_NONE) {
        *err = s.looking;
        rc = -1;
    }
    str_fini(&s.last);
    client_destroy(s.client);
    client_destroy(s.aside);
    return rc;
}
