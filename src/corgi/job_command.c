/* job_command.c - corgi submit and corgi quote run here: read the operands, a script with
 * its header or a command, send them to the daemon, and hand the answer back
 *
 * Options count in this order: the defaults, the script's #CORGI lines, the command line.
 */
#include "corgi/job_options.h"

#include "base/directives.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

#define MARK             "#CORGI"
#define MAX_SCRIPT_BYTES ((size_t)4 << 20)

/* What args and words point into. */
struct job_held {
    struct directives directives;
    char *path;        /* of the script, absolute */
    char *interpreter; /* its line: "/bin/bash", an argument behind a NUL */
    char **words;
};

static int read_header(struct job_args *args, const struct command_call *call,
                       const struct job_held *held, const char *script, struct err *err)
{
    for (size_t i = 0; i < held->directives.count; i++) {
        const struct directive *d = &held->directives.items[i];
        bool help;
        int first = options_parse(call->command->options, false, args, d->word_count,
                                  d->words, &help, err);

        if (first >= 0 && help)
            first = err_set(err, ERR_USAGE, "--help has no place in a script");
        else if (first >= 0 && first < d->word_count)
            first = err_set(err, ERR_USAGE, "'%.60s' is not an option", d->words[first]);
        if (first < 0)
            return err_prefix(err, "%s line %d", script, d->line);
    }
    return 0;
}

/* "#!/usr/bin/env -S python" as the kernel reads it: a program and one argument. */
static int take_interpreter(struct job_held *held, const char *script, const char *text,
                            struct err *err)
{
    size_t length;
    char *blank;

    if (strncmp(text, "#!", 2) != 0)
        return err_set(err, ERR_INVALID,
                       "%s does not begin with #!, so it is no script; to run a command "
                       "write 'corgi submit -- COMMAND'",
                       script);
    text += 2 + strspn(text + 2, " \t");
    length = strcspn(text, "\r\n");
    if (length == 0)
        return err_set(err, ERR_INVALID, "%s names no interpreter behind #!", script);
    held->interpreter = mem_array(char, length + 2);
    memcpy(held->interpreter, text, length);
    blank = strpbrk(held->interpreter, " \t");
    if (blank) {
        *blank = '\0';
        memmove(blank + 1, blank + 1 + strspn(blank + 1, " \t"),
                strlen(blank + 1 + strspn(blank + 1, " \t")) + 1);
    }
    return 0;
}

static int read_script(struct job_command *command, struct job_held *held,
                       const struct command_call *call, struct err *err)
{
    const char *script = call->operands[0];
    char *text = NULL;
    size_t length;
    bool help;
    int rc = -1;

    if (file_read(script, MAX_SCRIPT_BYTES, &text, &length, err) < 0) {
        if (err->code == ERR_NOT_FOUND)
            err_set(err, ERR_NOT_FOUND,
                    "there is no script '%.200s'; to run a command write '%s -- %.100s'",
                    script, call->path, script);
        return -1;
    }
    if (take_interpreter(held, script, text, err) == 0 &&
        directives_parse(&held->directives, MARK, text, length, script, err) == 0 &&
        read_header(&command->args, call, held, script, err) == 0 &&
        options_parse(call->command->options, true, &command->args, call->word_count,
                      call->words, &help, err) >= 0)
        rc = 0;
    free(text);
    return rc;
}

static void collect_words(struct job_command *command, struct job_held *held,
                          const struct command_call *call)
{
    int used = 0, skip = 0;

    held->words = mem_array(char *, (size_t)call->operand_count + 4);
    if (held->interpreter) {
        char *argument = held->interpreter + strlen(held->interpreter) + 1;

        held->words[used++] = held->interpreter;
        if (*argument)
            held->words[used++] = argument;
        held->words[used++] = held->path;
        skip = 1;
    }
    for (int i = skip; i < call->operand_count; i++)
        held->words[used++] = call->operands[i];
    command->words = held->words;
    command->word_count = used;
    if (call->operand_count > 0) {
        const char *slash = strrchr(call->operands[0], '/');

        command->name = slash && slash[1] ? slash + 1 : call->operands[0];
    }
}

static int read_operands(struct job_command *command, struct job_held *held,
                         const struct command_call *call, bool needed, struct err *err)
{
    options_defaults(call->command->options, &command->args);
    if (call->operand_count == 0 && needed)
        return err_set(err, ERR_USAGE, "a script, or a command behind --, is missing");
    if (call->operand_count == 0 || call->dashes) {
        command->args = *(const struct job_args *)call->args;
    } else {
        held->path = realpath(call->operands[0], NULL);
        if (read_script(command, held, call, err) < 0)
            return -1;
    }
    if (job_options_check(&command->args.job, err) < 0)
        return -1;
    collect_words(command, held, call);
    return 0;
}

int job_command_run(
    const struct command_call *call, bool needed, const struct client_request *request,
    int (*body)(const struct job_command *command, struct json_out *out, struct err *err),
    int (*told)(const struct command_call *call, const struct job_args *args,
                const struct client_answer *answer, const struct err *err))
{
    struct job_held held = {0};
    struct job_command command = {.held = &held};
    struct client_request post = *request;
    struct client_answer answer = {0};
    struct client *client = NULL;
    struct str text = {0};
    struct json_out out;
    struct err err = {0};
    int status;

    json_out_init(&out, &text, false);
    if (read_operands(&command, &held, call, needed, &err) < 0 ||
        body(&command, &out, &err) < 0 ||
        daemon_open(&client, &command.args.daemon, &err) < 0) {
        status = command_failed(call, &err);
    } else {
        post.method = HTTP_POST;
        post.body = str_text(&text);
        daemon_ask(client, &post, &answer, &err);
        status = told(call, &command.args, &answer, &err);
    }
    client_answer_fini(&answer);
    client_destroy(client);
    str_fini(&text);
    directives_fini(&held.directives);
    free(held.path);
    free(held.interpreter);
    free(held.words);
    return status;
}
