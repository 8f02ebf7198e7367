/* cmd_quote.c - corgi quote: what would be promised, and what if */
#include "corgi/commands.h"

#include "base/json_out.h"
#include "base/parse.h"
#include "corgi/job_options.h"
#include "corgi/quote_view.h"
#include "corgi/view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_CHANGES 8

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

static void add_case(struct view *v, const struct json_value *quote, const void *label)
{
    (void)quote;
    view_cell(v, label);
}

static void add_shared(struct view *v, const struct json_value *quote, const void *label)
{
    const struct json_value *neighbour = json_value_get(quote, "neighbour");

    (void)label;
    view_cell(v, isfinite(view_number(neighbour, "job")) ? "yes" : "no");
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
    struct view *v = view_create(columns);
    const char *list = args->what_if;
    char word[80];
    int rc;

    view_row(v, json_value_get(root, "quote"), "as asked");
    for (size_t i = 0;
         i < json_value_count(more) && job_next_word(&list, word, sizeof(word)); i++)
        view_row(v, json_value_get(json_value_item(more, i), "quote"), word);
    rc = view_print(v, args->daemon.parsable, err);
    view_destroy(v);
    return rc;
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
        quote_view_print(quote, job_unit(&args->job), NAN, true, stdout);
    }
    return !strcmp(verdict, "counter") || !strcmp(verdict, "refused");
}

static int make_body(const struct job_command *command, struct json_out *out,
                     struct err *err)
{
    json_out_begin_object(out);
    json_out_key(out, "job");
    if (job_options_json(command, out, err) < 0 ||
        (command->args.what_if && add_changes(out, &command->args, err) < 0))
        return -1;
    json_out_end(out);
    return 0;
}

static int run(struct command_call *call)
{
    const struct client_request request = {.path = "/v1/quotes", .retries = 1};

    return job_command_run(call, false, &request, make_body, quoted);
}

const struct command cmd_quote = {
    .name = "quote",
    .summary = "ask what would be promised, without submitting",
    .help = "Exit status 1 means that what was asked cannot be promised; the counter-"
            "offers say what can.",
    .examples = "corgi quote --min-rate 40 --family ResNet-50 --batch 64\n"
                "corgi quote --min-rate 40 --what-if gpus=2,exclusive,rate=30 train.sh",
    .operands = "[SCRIPT [ARG...] | -- COMMAND [ARG...]]",
    .operand_max = -1,
    .options_lead = true,
    .options = job_quote_options,
    .args_size = sizeof(struct job_args),
    .run = run,
};
