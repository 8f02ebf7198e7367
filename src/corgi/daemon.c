/* daemon.c - every command that needs the daemon comes through here: it finds out where
 * the daemon is, asks it by http/client.c, and prints what it says by view.c */
#include "corgi/daemon.h"

#include "base/file.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

int daemon_explain(const struct client *client, struct err *err)
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
        return daemon_explain(client, err);
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

int daemon_show_answer(const struct command_call *call,
                       const struct client_answer *answer, daemon_print print)
{
    const struct daemon_args *args = call->args;
    struct err err = {0};

    if (args->json)
        daemon_print_json(answer);
    else if (print(call, daemon_root(answer), &err) < 0)
        return command_failed(call, &err);
    return 0;
}

int daemon_show(const struct command_call *call, struct str *path, daemon_print print)
{
    struct client_answer answer;
    int status = daemon_send(call, HTTP_GET, str_text(path), NULL, &answer);

    str_fini(path);
    if (status)
        return status;
    status = daemon_show_answer(call, &answer, print);
    client_answer_fini(&answer);
    return status;
}

int daemon_show_table(const struct command_call *call, const char *path, const char *list,
                      const struct view_column *columns)
{
    const struct daemon_args *args = call->args;
    struct client_answer answer;
    struct err err = {0};
    int status = daemon_send(call, HTTP_GET, path, NULL, &answer);

    if (status)
        return status;
    if (args->json) {
        daemon_print_json(&answer);
    } else {
        struct view *v = view_create(columns);

        view_rows(v, json_value_get(daemon_root(&answer), list), NULL);
        if (view_print(v, args->parsable, &err) < 0)
            status = command_failed(call, &err);
        view_destroy(v);
    }
    client_answer_fini(&answer);
    return status;
}

void daemon_print_json(const struct client_answer *answer)
{
    fwrite(answer->body, 1, answer->length, stdout);
    if (answer->length == 0 || answer->body[answer->length - 1] != '\n')
        putchar('\n');
}

const struct json_value *daemon_root(const struct client_answer *answer)
{
    return answer->json ? json_doc_root(answer->json) : NULL;
}

void daemon_add_query(struct str *path, const char *name, const char *value)
{
    char *coded;

    if (!value)
        return;
    coded = client_encode(value);
    str_addf(path, "%c%s=%s", strchr(str_text(path), '?') ? '&' : '?', name, coded);
    free(coded);
}

void daemon_add_count(struct str *path, const char *name, int value)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", value);
    daemon_add_query(path, name, text);
}

void daemon_add_segment(struct str *path, const char *text)
{
    char *coded = text ? client_encode(text) : NULL;

    if (!coded)
        return;
    str_addf(path, "/%s", coded);
    free(coded);
}
