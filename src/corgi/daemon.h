/* daemon.h - what commands that talk to the daemon have in common
 *
 * Where it is: --url or --socket, else $CORGI_URL or $CORGI_SOCKET, else the first of
 * $XDG_RUNTIME_DIR/corgi/corgid.sock and /run/corgi/corgid.sock that is there. */
#ifndef CORGI_CORGI_DAEMON_H
#define CORGI_CORGI_DAEMON_H

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

/* Say what to do when nobody listens there; returns -1. */
int daemon_explain(const struct client *client, struct err *err);

/* Open, ask once and close; on failure the reason is on stderr and the exit status is
 * returned, else 0.  body: JSON, or NULL. */
int daemon_send(const struct command_call *call, enum http_method method,
                const char *path, const char *body, struct client_answer *answer);

/* The same with GET, for one member of the answer. */
int daemon_fetch_number(const struct command_call *call, const char *path,
                        const char *key, double *number);

/* The whole of a command that asks one thing and shows the answer: as it came with
 * --json, else by print() or as a table of the list of that name.  Ends the path and
 * returns the exit status. */
typedef int (*daemon_print)(const struct command_call *call,
                            const struct json_value *root, struct err *err);
int daemon_show(const struct command_call *call, struct str *path, daemon_print print);
int daemon_show_table(const struct command_call *call, const char *path, const char *list,
                      const struct view_column *columns);

/* The same for an answer that is there. */
int daemon_show_answer(const struct command_call *call,
                       const struct client_answer *answer, daemon_print print);

void daemon_print_json(const struct client_answer *answer);
const struct json_value *daemon_root(const struct client_answer *answer);

/* "?name=value" or "&name=value", encoded; nothing when value is NULL. */
void daemon_add_query(struct str *path, const char *name, const char *value);
void daemon_add_count(struct str *path, const char *name, int value);
void daemon_add_segment(struct str *path, const char *text); /* NULL: nothing */

#endif
