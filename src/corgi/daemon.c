/* daemon.c - every command that needs the daemon comes through here: it finds out where
 * the daemon is, asks it by http/client.c, and prints what it says by view.c
 *
 * corgi watch and corgi submit --wait follow events: http/client.c reads those of one
 * connection; this opens the next one where it broke, and notes the end of a job. */
#include "corgi/daemon.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SYSTEM_SOCKET "/run/corgi/corgid.sock"
#define TOKEN_BYTES   1024

static const char *setting(const char *option, const char *variable)
{
    const char *value = option ? option : getenv(variable);

    return value && *value ? value : NULL;
}

/* The user's own daemon, when it runs, else the system's; the caller frees. */
static char *default_socket(void)
{
    const char *runtime = setting(NULL, "XDG_RUNTIME_DIR");
    char *own = runtime ? file_join(runtime, "corgi/corgid.sock") : NULL;

    if (own && (access(own, F_OK) == 0 || access(SYSTEM_SOCKET, F_OK) != 0))
        return own;
    free(own);
    return mem_strdup(SYSTEM_SOCKET);
}

static int read_token(const struct daemon_args *args, char **token, struct err *err)
{
    const char *given = getenv("CORGI_TOKEN");
    size_t length;

    *token = NULL;
    if (args->token_file) {
        if (file_read(args->token_file, TOKEN_BYTES, token, &length, err) < 0)
            return -1;
    } else if (given && *given) {
        *token = mem_strdup(given);
    }
    if (*token)
        (*token)[strcspn(*token, " \t\r\n")] = '\0';
    return 0;
}

int daemon_open(struct client **client, const struct daemon_args *args, struct err *err)
{
    struct client_config config = {.ca_file = args->ca_file};
    char *token = NULL, *socket = NULL;

    if (args->socket && args->url)
        return err_set(err, ERR_USAGE, "--socket and --url exclude each other");
    if (!args->socket)
        config.url = setting(args->url, "CORGI_URL");
    if (!config.url) {
        const char *given = setting(args->socket, "CORGI_SOCKET");

        socket = given ? mem_strdup(given) : default_socket();
        config.socket = socket;
    }
    if (read_token(args, &token, err) < 0) {
        free(socket);
        return -1;
    }
    config.token = token;
    *client = client_create(&config, err);
    if (token)
        explicit_bzero(token, strlen(token));
    free(token);
    free(socket);
    return *client ? 0 : -1;
}

/* Say what to do when nobody listens there; returns -1. */
static int explain(const struct client *client, struct err *err)
{
    if (err->code == ERR_NOT_FOUND)
        return err_set(err, ERR_NOT_FOUND,
                       "no daemon listens on %s; start one with 'corgid --config FILE', "
                       "or say where it is with --socket or --url",
                       client_where(client));
    return -1;
}

int daemon_ask(struct client *client, const struct client_request *request,
               struct client_answer *answer, struct err *err)
{
    *answer = (struct client_answer){0};
    if (client_call(client, request, answer, err) < 0)
        return explain(client, err);
    client_answer_error(answer, err);
    if (answer->status == 401)
        err_prefix(err, "the daemon wants a token (see --token-file)");
    if (err->code == ERR_NONE && answer->length > 0 && !answer->json)
        err_set(err, ERR_FORMAT, "%s does not answer in JSON: is it a Corgi daemon?",
                client_where(client));
    return err->code == ERR_NONE ? 0 : -1;
}

int daemon_send(const struct command_call *call, enum http_method method,
                const char *path, const char *body, struct client_answer *answer)
{
    const struct client_request request = {.method = method,
                                           .path = path,
                                           .body = body,
                                           .retries = method == HTTP_GET ? 1 : 0};
    struct client *client = NULL;
    struct err err = {0};
    int status = 0;

    if (daemon_open(&client, call->args, &err) < 0)
        return command_failed(call, &err);
    if (daemon_ask(client, &request, answer, &err) < 0) {
        status = command_failed(call, &err);
        client_answer_fini(answer);
    }
    client_destroy(client);
    return status;
}

int daemon_check_job(const struct command_call *call, const char *text)
{
    uint64_t id;

    if (parse_u64(text, &id) && id > 0)
        return 0;
    return command_wrong_use(call,
                             "'%.40s' is not a job number: a job has a number from 1 on, "
                             "which 'corgi queue --all' lists",
                             text);
}

int daemon_fetch_number(const struct command_call *call, const char *path,
                        const char *key, double *number)
{
    struct client_answer answer;
    int status = daemon_send(call, HTTP_GET, path, NULL, &answer);

    if (status)
        return status;
    *number = view_number(daemon_root(&answer), key);
    client_answer_fini(&answer);
    return 0;
}

static int show_table(const struct command_call *call, const struct json_value *root,
                      const struct daemon_view *view, struct err *err)
{
    const struct daemon_args *args = call->args;
    const struct json_value *list = json_value_get(root, view->list);
    struct table *t = view_table(view->columns);

    if (!view->rows)
        view_rows(t, view->columns, list, root);
    else if (!list) /* one was asked for */
        view_rows(t, view->columns, json_value_get(root, view->rows), root);
    for (size_t i = 0; view->rows && i < json_value_count(list); i++) {
        const struct json_value *item = json_value_item(list, i);

        view_rows(t, view->columns, json_value_get(item, view->rows), item);
    }
    return view_finish(t, args->parsable, err);
}

int daemon_show_answer(const struct command_call *call,
                       const struct client_answer *answer, const struct daemon_view *view)
{
    const struct daemon_args *args = call->args;
    const struct json_value *root = daemon_root(answer);
    struct err err = {0};

    if (args->json) {
        daemon_print_json(answer);
        return 0;
    }
    if ((view->before && view->before(call, root, &err) < 0) ||
        (view->columns && show_table(call, root, view, &err) < 0))
        return command_failed(call, &err);
    if (view->after)
        view->after(call, root);
    return 0;
}

int daemon_show(const struct command_call *call, const struct daemon_view *view,
                struct str *query, struct str *body)
{
    struct client_answer answer;
    struct str path = {0};
    int status = str_starts(view->path, "/v1/jobs/%s")
                     ? daemon_check_job(call, call->operands[0])
                     : 0;

    daemon_add_path(&path, view->path, call->operands[0]);
    if (query)
        str_add(&path, str_text(query));
    if (status == 0)
        status = daemon_send(call, view->method, str_text(&path),
                             body ? body->text : NULL, &answer);
    if (status == 0) {
        status = daemon_show_answer(call, &answer, view);
        client_answer_fini(&answer);
    }
    str_fini(&path);
    if (query)
        str_fini(query);
    if (body)
        str_fini(body);
    return status;
}

int daemon_run(struct command_call *call)
{
    return daemon_show(call, call->command->about, NULL, NULL);
}

void daemon_print_json(const struct client_answer *answer)
{
    fwrite(answer->body, 1, answer->length, stdout);
    if (answer->length == 0 || answer->body[answer->length - 1] != '\n')
        putchar('\n');
}

const struct json_value *daemon_root(const struct client_answer *answer)
{
    return json_doc_root(answer->json);
}

void daemon_add_query(struct str *query, const char *name, const char *value)
{
    char *coded;

    if (!value)
        return;
    coded = client_encode(value);
    str_addf(query, "%c%s=%s", strchr(str_text(query), '?') ? '&' : '?', name, coded);
    free(coded);
}

void daemon_add_count(struct str *query, const char *name, int value)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", value);
    daemon_add_query(query, name, text);
}

void daemon_add_path(struct str *path, const char *form, const char *name)
{
    const char *mark = strstr(form, "%s");
    char *coded;

    if (!mark) {
        str_add(path, form);
        return;
    }
    coded = client_encode(name);
    str_add_bytes(path, form, (size_t)(mark - form));
    str_addf(path, "%s%s", coded, mark + strlen("%s"));
    free(coded);
}

/* ---- events ------------------------------------------------------------------------ */

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

    daemon_add_path(&path, "/v1/jobs/%s", f->job);
    request.path = str_text(&path);
    if (daemon_ask(s->aside, &request, &answer, &s->looking) == 0) {
        state = json_member_string(daemon_root(&answer), "state");
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
    data = json_doc_root(doc);
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
            return explain(s->client, err);
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
