/* daemon.h - what commands that talk to the daemon have in common
 *
 * Where it is: --url or --socket, else $CORGI_URL or $CORGI_SOCKET, else the first of
 * $XDG_RUNTIME_DIR/corgi/corgid.sock and /run/corgi/corgid.sock that is there. */
#ifndef CORGI_CORGI_DAEMON_H
#define CORGI_CORGI_DAEMON_H

#include "base/command.h"
#include "base/str.h"
#include "http/client.h"

struct daemon_args {
    const char *socket;
    const char *url;
    const char *token_file;
    const char *ca_file;
    bool json;
    bool parsable;
};

/* Entries of an option table; `type` is the command's struct, with a member `daemon`. */
#define DAEMON_CONNECT_OPTIONS(args_type)                                                \
    {.name = "socket",                                                                   \
     .type = OPTION_STRING,                                                              \
     .argument = "FILE",                                                                 \
     .offset = offsetof(args_type, daemon.socket),                                       \
     .help = "the daemon's Unix socket; $CORGI_SOCKET without it"},                      \
        {.name = "url",                                                                  \
         .type = OPTION_STRING,                                                          \
         .argument = "URL",                                                              \
         .offset = offsetof(args_type, daemon.url),                                      \
         .help = "the daemon over TCP, http://HOST:PORT or https://HOST:PORT; "          \
                 "$CORGI_URL without it"},                                               \
        {.name = "token-file",                                                           \
         .type = OPTION_STRING,                                                          \
         .argument = "FILE",                                                             \
         .offset = offsetof(args_type, daemon.token_file),                               \
         .help = "bearer token for the URL; $CORGI_TOKEN without it"},                   \
    {                                                                                    \
        .name = "ca-file", .type = OPTION_STRING, .argument = "FILE",                    \
        .offset = offsetof(args_type, daemon.ca_file),                                   \
        .help = "certificates to trust instead of the system's"                          \
    }

#define DAEMON_JSON_OPTION(args_type)                                                    \
    {                                                                                    \
        .name = "json", .letter = 'j', .type = OPTION_FLAG,                              \
        .offset = offsetof(args_type, daemon.json),                                      \
        .help = "print the daemon's answer as JSON"                                      \
    }

#define DAEMON_PARSABLE_OPTION(args_type)                                                \
    {                                                                                    \
        .name = "parsable", .letter = 'P', .type = OPTION_FLAG,                          \
        .offset = offsetof(args_type, daemon.parsable),                                  \
        .help = "columns with | between, for scripts"                                    \
    }

int daemon_open(struct client **client, const struct daemon_args *args, struct err *err);

/* Ask; 0 for an answer 2xx.  -1 with the reason otherwise; the answer is there too when
 * there was one (its status is not 0), and is ended with client_answer_fini(). */
int daemon_ask(struct client *client, const struct client_request *request,
               struct client_answer *answer, struct err *err);

/* Say what to do when nobody listens there; returns -1. */
int daemon_explain(const struct client *client, struct err *err);

/* Open, ask once and close; on failure the reason is on stderr and the exit status is
 * returned, else 0. */
int daemon_fetch(const struct command_call *call, const struct daemon_args *args,
                 const char *path, struct client_answer *answer);

void daemon_print_json(const struct client_answer *answer);
const struct json_value *daemon_root(const struct client_answer *answer);

/* "?name=value" or "&name=value", encoded; nothing when value is NULL. */
void daemon_add_query(struct str *path, const char *name, const char *value);
void daemon_add_segment(struct str *path, const char *text);

#endif
