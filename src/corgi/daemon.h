/* daemon.h - what commands that talk to the daemon have in common
 *
 * Where it is: --url or --socket, else $CORGI_URL or $CORGI_SOCKET, else the first of
 * $XDG_RUNTIME_DIR/corgi/corgid.sock and /run/corgi/corgid.sock that is there. */
#pragma once

#include "base/command.h"
#include "base/str.h"
#include "corgi/view.h"
#include "http/client.h"

/* The first member of the struct of every such command. */
struct daemon_args {
    const char *socket;
    const char *url;
    const char *token_file;
    const char *ca_file;
    bool json;
    bool parsable;
};

/* Entries of an option table: of commands that print something, and of those that print
 * columns. */
#define DAEMON_OPTIONS                                                                   \
    OPT(struct daemon_args, json, FLAG, "json", 'j', NULL,                               \
        "print the daemon's answer as JSON"),                                            \
        DAEMON_CONNECT_OPTIONS
#define DAEMON_TABLE_OPTIONS                                                             \
    OPT(struct daemon_args, json, FLAG, "json", 'j', NULL,                               \
        "print the daemon's answer as JSON"),                                            \
        OPT(struct daemon_args, parsable, FLAG, "parsable", 'P', NULL,                   \
            "columns with | between, for scripts"),                                      \
        DAEMON_CONNECT_OPTIONS
#define DAEMON_CONNECT_OPTIONS                                                           \
    OPT(struct daemon_args, socket, STRING, "socket", 0, "FILE",                         \
        "the daemon's Unix socket; $CORGI_SOCKET without it"),                           \
        OPT(struct daemon_args, url, STRING, "url", 0, "URL",                            \
            "the daemon over TCP, http://HOST:PORT or https://HOST:PORT; "               \
            "$CORGI_URL without it"),                                                    \
        OPT(struct daemon_args, token_file, STRING, "token-file", 0, "FILE",             \
            "bearer token for the URL; $CORGI_TOKEN without it"),                        \
        OPT(struct daemon_args, ca_file, STRING, "ca-file", 0, "FILE",                   \
            "certificates to trust instead of the system's")

int daemon_open(struct client **client, const struct daemon_args *args, struct err *err);

/* Ask; 0 for an answer 2xx.  -1 with the reason otherwise; the answer is there too when
 * there was one (its status is not 0), and is ended with client_answer_fini(). */
int daemon_ask(struct client *client, const struct client_request *request,
               struct client_answer *answer, struct err *err);

/* Open, ask once and close; on failure the reason is on stderr and the exit status is
 * returned, else 0.  body: JSON, or NULL. */
int daemon_send(const struct command_call *call, enum http_method method,
                const char *path, const char *body, struct client_answer *answer);

/* 0, or the exit status after saying that the text is not the number of a job. */
int daemon_check_job(const struct command_call *call, const char *text);

/* The same with GET, for one member of the answer. */
int daemon_fetch_number(const struct command_call *call, const char *path,
                        const char *key, double *number);

/* What a command asks, and how it shows an answer that is not wanted as JSON. */
struct daemon_view {
    enum http_method method;
    const char *path; /* "/v1/jobs/%s": with the first operand in it */
    const char *list; /* the member of the answer with the rows */
    const char *rows; /* each item of the list has its rows there, and so has the answer
                         when there is no list; NULL: the items are the rows */
    const struct view_column *columns; /* ctx: who has the rows; NULL: no table */
    /* Before the table and after it; NULL: nothing. */
    int (*before)(const struct command_call *call, const struct json_value *root,
                  struct err *err);
    void (*after)(const struct command_call *call, const struct json_value *root);
};

/* The whole of a command that asks one thing and shows the answer: as it came with
 * --json, else as the view says.  Ends query and body, which may be NULL; returns the
 * exit status. */
int daemon_show(const struct command_call *call, const struct daemon_view *view,
                struct str *query, struct str *body);

/* run() of a command whose `about` is a view: nothing but the operand goes there. */
int daemon_run(struct command_call *call);

/* The same for an answer that is there. */
int daemon_show_answer(const struct command_call *call,
                       const struct client_answer *answer,
                       const struct daemon_view *view);

void daemon_print_json(const struct client_answer *answer);
const struct json_value *daemon_root(const struct client_answer *answer);

/* "?name=value" or "&name=value", encoded; nothing when value is NULL. */
void daemon_add_query(struct str *query, const char *name, const char *value);
void daemon_add_count(struct str *query, const char *name, int value);
/* The form with the name in place of its %s, encoded. */
void daemon_add_path(struct str *path, const char *form, const char *name);

/* ---- events as they happen, over lost connections too ------------------------------ */

struct follow {
    const struct daemon_args *daemon;
    const char *job;   /* ends with this job; NULL: all jobs, for ever */
    const char *types; /* with commas between; NULL: all */
    const char *last;  /* resume behind this id; NULL: from now on */
    /* data: parsed, NULL when it is not JSON; false ends it; NULL: only wait for the job.
     */
    bool (*event)(void *ctx, const struct client_event *event,
                  const struct json_value *data);
    void *ctx;
    /* What came of the job: */
    char state[32];    /* "" while it has not ended: done, failed or cancelled */
    bool ended_before; /* no event said so: it had ended before they began */
};

/* Until event() says so or the job has ended: 0.  -1 when the daemon cannot be reached at
 * all, or not for half a minute after it could. */
int follow_events(struct follow *f, struct err *err);
