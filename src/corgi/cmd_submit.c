/* cmd_submit.c - corgi submit and corgi quote: a job for the daemon, or what it would
 * promise one
 *
 * Both read the operands, a script with its header or a command, send them as
 * job_request.c puts them together, and print the answer.  Options count in this order:
 * the defaults, the script's #CORGI lines, the command line. */
#include "corgi/commands.h"

#include "base/directives.h"
#include "base/file.h"
#include "base/json_out.h"
#include "base/mem.h"
#include "base/parse.h"
#include "corgi/daemon.h"
#include "corgi/job_request.h"
#include "corgi/logs.h"
#include "corgi/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK             "#CORGI"
#define MAX_SCRIPT_BYTES ((size_t)4 << 20)
#define MAX_CHANGES      8
#define LAST_LINES       10 /* of its output, at the end of --wait */

/* The connection may break after the daemon has taken the job; with the same key it is
 * taken once however often it is sent. */
#define RETRIES 5

/* ---- what is asked for ------------------------------------------------------------- */

/* The operands: a script and its arguments, whose header is read below the command line's
 * options; or after "--" a command. */
struct job_command {
    struct job_args args;
    char **words;     /* what runs; ends with NULL */
    const char *name; /* of the script or the program; NULL: there is neither */
    /* What args and words point into: */
    struct directives directives;
    char *path;        /* of the script, absolute */
    char *interpreter; /* its line: "/bin/bash", an argument behind a NUL */
};

/* "#!/usr/bin/env -S python" as the kernel reads it: a program and one argument. */
static int take_interpreter(struct job_command *command, const char *script,
                            const char *text, struct err *err)
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
    command->interpreter = mem_array(char, length + 2);
    memcpy(command->interpreter, text, length);
    blank = strpbrk(command->interpreter, " \t");
    if (blank) {
        *blank = '\0';
        memmove(blank + 1, blank + 1 + strspn(blank + 1, " \t"),
                strlen(blank + 1 + strspn(blank + 1, " \t")) + 1);
    }
    return 0;
}

static int read_script(struct job_command *command, const struct command_call *call,
                       struct err *err)
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
    if (take_interpreter(command, script, text, err) == 0 &&
        directives_parse(&command->directives, MARK, text, length, script, err) == 0 &&
        job_read_header(call->command->options, &command->directives, script,
                        &command->args, err) == 0 &&
        options_parse(call->command->options, true, &command->args, call->word_count,
                      call->words, &help, err) >= 0)
        rc = 0;
    free(text);
    return rc;
}

static void collect_words(struct job_command *command, const struct command_call *call)
{
    int used = 0, skip = 0;

    command->words = mem_array(char *, (size_t)call->operand_count + 4);
    if (command->interpreter) {
        char *argument = command->interpreter + strlen(command->interpreter) + 1;

        command->words[used++] = command->interpreter;
        if (*argument)
            command->words[used++] = argument;
        command->words[used++] = command->path;
        skip = 1;
    }
    for (int i = skip; i < call->operand_count; i++)
        command->words[used++] = call->operands[i];
    if (call->operand_count > 0) {
        const char *slash = strrchr(call->operands[0], '/');

        command->name = slash && slash[1] ? slash + 1 : call->operands[0];
    }
}

static int read_operands(struct job_command *command, const struct command_call *call,
                         bool needed, struct err *err)
{
    options_defaults(call->command->options, &command->args);
    if (call->operand_count == 0 && needed)
        return err_set(err, ERR_USAGE, "a script, or a command behind --, is missing");
    if (call->operand_count == 0 || call->dashes) {
        command->args = *(const struct job_args *)call->args;
    } else {
        command->path = realpath(call->operands[0], NULL);
        if (read_script(command, call, err) < 0)
            return -1;
    }
    if (job_options_check(&command->args.job, err) < 0)
        return -1;
    collect_words(command, call);
    return 0;
}

/* Read the operands (there must be some, or not), put the body together, POST it, and
 * give the answer to told(); its result is the exit status.  err of told() has ERR_NONE
 * when the answer is 2xx. */
static int
ask(const struct command_call *call, bool needed, const struct client_request *request,
    int (*body)(const struct job_command *command, struct json_out *out, struct err *err),
    int (*told)(const struct command_call *call, const struct job_args *args,
                const struct client_answer *answer, const struct err *err))
{
    struct job_command command = {0};
    struct client_request post = *request;
    struct client_answer answer = {0};
    struct client *client = NULL;
    struct str text = {0};
    struct json_out out;
    struct err err = {0};
    int status;

    json_out_init(&out, &text, false);
    if (read_operands(&command, call, needed, &err) < 0 ||
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
    directives_fini(&command.directives);
    free(command.path);
    free(command.interpreter);
    free(command.words);
    return status;
}

/* ---- submit ------------------------------------------------------------------------ */

static void print_taken(const struct job_args *args, const struct json_value *root)
{
    const struct json_value *job = json_value_get(root, "job");
    const char *state = json_member_string(job, "state");

    if (args->daemon.parsable) {
        printf("%.0f\n", view_number(job, "id"));
        return;
    }
    printf("Submitted job %.0f", view_number(job, "id"));
    if (state && strcmp(state, "waiting") != 0)
        printf(" (%s)", state);
    putchar('\n');
    view_quote(json_value_get(root, "quote"), job_unit(&args->job),
               view_number(job, "submitted_s"), true, stdout);
    if (json_member_bool(job, "simulated", false))
        printf(
            "  note      the cluster is simulated: no program runs, and time and watts "
            "are simulated\n");
}

static int refused(const struct command_call *call, const struct job_args *args,
                   const struct client_answer *answer, const struct err *err)
{
    const struct json_value *quote =
        json_value_get(json_value_get(daemon_root(answer), "error"), "quote");
    int status = command_failed(call, err);

    if (args->daemon.json && answer->json)
        daemon_print_json(answer);
    else if (quote)
        view_quote(quote, job_unit(&args->job), NAN, false, stderr);
    return status;
}

/* How it ended, in a sentence and its last lines; its own exit status, 128 and the signal
 * that ended it as shells do, or 1. */
static int tell_end(const struct job_args *args, const struct json_value *job,
                    const char *state)
{
    const char *reason = view_text_or(job, "reason", "");
    double status = view_number(job, "exit_status"), by = view_number(job, "signal");
    char id[24];

    snprintf(id, sizeof(id), "%.0f", view_number(job, "id"));
    fprintf(stderr, "job %s is %s%s%s\n", id, state, *reason ? ": " : "", reason);
    logs_print_end(&args->daemon, id, LAST_LINES, stderr);
    if (!strcmp(state, "done"))
        return 0;
    if (by > 0)
        return 128 + (int)by;
    return status > 0 && status < 256 ? (int)status : 1;
}

static int wait_for_end(const struct command_call *call, const struct job_args *args,
                        const struct json_value *root)
{
    struct client_request request = {.method = HTTP_GET, .retries = RETRIES};
    struct client_answer answer = {0};
    struct client *client = NULL;
    struct str path = {0};
    char id[24];
    int status;
    struct follow f = {.daemon = &args->daemon, .job = id, .types = "job"};
    struct err err = {0};

    snprintf(id, sizeof(id), "%.0f", view_number(json_value_get(root, "job"), "id"));
    fflush(stdout);
    if (follow_events(&f, &err) < 0)
        return command_failed(call, &err);
    daemon_add_path(&path, "/v1/jobs/%s", id);
    request.path = str_text(&path);
    if (daemon_open(&client, &args->daemon, &err) == 0 &&
        daemon_ask(client, &request, &answer, &err) == 0)
        status = tell_end(args, daemon_root(&answer), f.state);
    else
        status = command_failed(call, &err);
    client_answer_fini(&answer);
    client_destroy(client);
    str_fini(&path);
    return status;
}

static int submitted(const struct command_call *call, const struct job_args *args,
                     const struct client_answer *answer, const struct err *err)
{
    if (err->code != ERR_NONE)
        return refused(call, args, answer, err);
    if (args->daemon.json)
        daemon_print_json(answer);
    else
        print_taken(args, daemon_root(answer));
    return args->wait ? wait_for_end(call, args, daemon_root(answer)) : 0;
}

static int make_request(const struct job_command *command, struct json_out *out,
                        struct err *err)
{
    return job_request_json(&command->args.job, command->name, command->words, out, err);
}

static int run_submit(struct command_call *call)
{
    struct client_request request = {.path = "/v1/jobs", .retries = RETRIES};
    char key[33];

    client_idempotency_key(key);
    request.idempotency_key = key;
    return ask(call, true, &request, make_request, submitted);
}

const struct command cmd_submit = {
    .name = "submit",
    .summary = "submit a job and get a promise",
    .help = "The daemon answers when the job is safe on disk: with the rate it promises "
            "and how sure it is, where, beside whom and for how much energy; or with "
            "counter-offers, and then nothing was submitted.  A job of a kind that was "
            "never measured is taken without a promise: it runs, and after a minute it "
            "gets its promise or an offer of what can be had ('corgi show').\n\n"
            "A script begins with #! and may hold options in lines that begin with "
            "#CORGI, before its first command; options of the command line win over "
            "those.  What follows the script is for the script.  It is not copied: it "
            "is read again when the job starts.\n\n"
            "The environment is stored with the job, so without --export only USUAL goes "
            "along: PATH, LANG, LC_*, TZ, TMPDIR, LD_LIBRARY_PATH, PYTHONPATH, "
            "PYTHONUNBUFFERED, VIRTUAL_ENV, CONDA_PREFIX, CONDA_DEFAULT_ENV, CUDA_HOME, "
            "OMP_*, NCCL_* and CORGI_* but no token.  Add to it with --export "
            "USUAL,NAME; --export ALL sends everything.",
    .examples = "corgi submit --min-rate 40 --steps 1e6 -- python train.py --epochs 3\n"
                "corgi submit train.sh\n"
                "corgi submit --kind inference --requests 200 --latency 50ms -- ./serve",
    .operands = "SCRIPT [ARG...] | -- COMMAND [ARG...]",
    .operands_free = true,
    .options_lead = true,
    .options = job_submit_options,
    .args_size = sizeof(struct job_args),
    .run = run_submit,
};

/* ---- quote ------------------------------------------------------------------------- */

/* One of --what-if's words as a WhatIf of the API. */
static int add_change(struct json_out *out, const struct job_options *o, const char *word,
                      struct err *err)
{
    double rate;
    int gpus;

    json_out_begin_object(out);
    if (!strcmp(word, "share") || !strcmp(word, "exclusive")) {
        json_out_key_bool(out, "share", *word == 's');
    } else if (!strcmp(word, "move") || !strcmp(word, "stay")) {
        json_out_key_bool(out, "move", *word == 'm');
    } else if (str_starts(word, "type=")) {
        json_out_key(out, "types");
        json_out_begin_array(out);
        json_out_string(out, word + strlen("type="));
        json_out_end(out);
    } else if (str_starts(word, "gpus=") && parse_int(word + strlen("gpus="), &gpus)) {
        json_out_key_int(out, "gpus", gpus);
    } else if (str_starts(word, "rate=") && parse_double(word + strlen("rate="), &rate)) {
        json_out_key(out, "need");
        json_out_begin_object(out);
        json_out_key_string(out, "kind", o->requests > 0 ? "service" : "rate");
        json_out_key_number(out, "rate", rate);
        json_out_end(out);
    } else {
        return err_set(err, ERR_USAGE,
                       "option --what-if takes gpus=N, rate=R, share, exclusive, move, "
                       "stay and type=T, not '%.40s'",
                       word);
    }
    json_out_end(out);
    return 0;
}

static int add_changes(struct json_out *out, const struct job_args *args, struct err *err)
{
    const char *list = args->what_if;
    char word[80];

    json_out_key(out, "what_if");
    json_out_begin_array(out);
    for (int i = 0; job_next_word(&list, word, sizeof(word)); i++) {
        if (i == MAX_CHANGES)
            return err_set(err, ERR_USAGE, "option --what-if takes at most %d changes",
                           MAX_CHANGES);
        if (add_change(out, &args->job, word, err) < 0)
            return -1;
    }
    json_out_end(out);
    return 0;
}

static void add_case(struct table *t, const struct json_value *quote, const void *label)
{
    (void)quote;
    view_cell(t, label);
}

static void add_shared(struct table *t, const struct json_value *quote, const void *label)
{
    const struct json_value *neighbour = json_value_get(quote, "neighbour");

    (void)label;
    view_cell(t, isfinite(view_number(neighbour, "job")) ? "yes" : "no");
}

/* The row is a quote; ctx says what for. */
static const struct view_column columns[] = {
    {"CASE", .add = add_case},
    {"VERDICT", .key = "verdict"},
    {">PROMISED", .key = "promised_rate", .as = VIEW_RATE},
    {">EXPECTED", .key = "rate.value", .as = VIEW_RATE},
    {"TYPE", .key = "type"},
    {"SHARED", .add = add_shared},
    {">ENERGY", .key = "joules.value", .as = VIEW_JOULES},
    {"REASON", .key = "reason"},
    {0},
};

static int print_table(const struct job_args *args, const struct json_value *root,
                       struct err *err)
{
    const struct json_value *more = json_value_get(root, "what_if");
    struct table *t = view_table(columns);
    const char *list = args->what_if;
    char word[80];

    view_row(t, columns, json_value_get(root, "quote"), "as asked");
    for (size_t i = 0;
         i < json_value_count(more) && job_next_word(&list, word, sizeof(word)); i++)
        view_row(t, columns, json_value_get(json_value_item(more, i), "quote"), word);
    return view_finish(t, args->daemon.parsable, err);
}

static int quoted(const struct command_call *call, const struct job_args *args,
                  const struct client_answer *answer, const struct err *problem)
{
    const struct json_value *root = daemon_root(answer);
    const struct json_value *quote = json_value_get(root, "quote");
    const char *verdict = view_text_or(quote, "verdict", "-");
    struct err err = {0};

    if (problem->code != ERR_NONE)
        return command_failed(call, problem);
    if (args->daemon.json) {
        daemon_print_json(answer);
    } else if (args->daemon.parsable || args->what_if) {
        if (print_table(args, root, &err) < 0)
            return command_failed(call, &err);
    } else {
        printf("%s\n", verdict);
        view_quote(quote, job_unit(&args->job), NAN, true, stdout);
    }
    return !strcmp(verdict, "counter") || !strcmp(verdict, "refused");
}

static int make_quote(const struct job_command *command, struct json_out *out,
                      struct err *err)
{
    json_out_begin_object(out);
    json_out_key(out, "job");
    if (make_request(command, out, err) < 0 ||
        (command->args.what_if && add_changes(out, &command->args, err) < 0))
        return -1;
    json_out_end(out);
    return 0;
}

static int run_quote(struct command_call *call)
{
    const struct client_request request = {.path = "/v1/quotes", .retries = 1};

    return ask(call, false, &request, make_quote, quoted);
}

const struct command cmd_quote = {
    .name = "quote",
    .summary = "ask what would be promised, without submitting",
    .help = "Exit status 1 means that what was asked cannot be had; the counter-offers "
            "say what can.  'unpromised' means that nobody knows yet: the job would be "
            "taken, and gets its promise or an offer after a minute of measuring.",
    .examples =
        "corgi quote --family ResNet-50 --model conv --batch 64 --gmac 4.1 --params 25 "
        "--min-rate 1\n"
        "corgi quote --min-rate 40 --what-if gpus=2,exclusive,rate=30 train.sh",
    .operands = "[SCRIPT [ARG...] | -- COMMAND [ARG...]]",
    .operands_free = true,
    .options_lead = true,
    .options = job_quote_options,
    .args_size = sizeof(struct job_args),
    .run = run_quote,
};
