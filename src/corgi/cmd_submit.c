/* cmd_submit.c - corgi submit: a job for the daemon */
#include "corgi/commands.h"

#include "base/json_out.h"
#include "corgi/follow.h"
#include "corgi/job_options.h"
#include "corgi/quote_view.h"
#include "corgi/view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The connection may break after the daemon has taken the job; with the same key it is
 * taken once however often it is sent. */
#define RETRIES 5

static const char *unit_of(const struct job_args *args)
{
    return args->job.kind == 1 ? "requests/s" : "steps/s";
}

static void print_taken(const struct job_args *args, const struct json_value *root)
{
    const struct json_value *job = json_value_get(root, "job");
    const char *state = view_text(job, "state");

    if (args->daemon.parsable) {
        printf("%.0f\n", view_number(job, "id"));
        return;
    }
    printf("Submitted job %.0f", view_number(job, "id"));
    if (state && strcmp(state, "waiting") != 0)
        printf(" (%s)", state);
    putchar('\n');
    quote_view_print(json_value_get(root, "quote"), unit_of(args),
                     view_number(job, "submitted_s"), stdout);
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
        quote_view_print(quote, unit_of(args), NAN, stderr);
    return status;
}

static int wait_for_end(const struct command_call *call, const struct job_args *args,
                        const struct json_value *root)
{
    struct err err = {0};
    char id[24], state[32];

    snprintf(id, sizeof(id), "%.0f", view_number(json_value_get(root, "job"), "id"));
    fflush(stdout);
    if (follow_job(&args->daemon, id, state, sizeof(state), &err) < 0)
        return command_failed(call, &err);
    fprintf(stderr, "job %s is %s\n", id, state);
    return strcmp(state, "done") == 0 ? 0 : 1;
}

static int submit(const struct command_call *call, const struct job_args *args,
                  const char *body)
{
    struct client_request request = {
        .method = HTTP_POST, .path = "/v1/jobs", .body = body, .retries = RETRIES};
    struct client_answer answer = {0};
    struct client *client = NULL;
    struct err err = {0};
    char key[33];
    int status = 0;

    client_idempotency_key(key);
    request.idempotency_key = key;
    if (daemon_open(&client, &args->daemon, &err) < 0)
        return command_failed(call, &err);
    if (daemon_ask(client, &request, &answer, &err) < 0) {
        status = refused(call, args, &answer, &err);
    } else {
        if (args->daemon.json)
            daemon_print_json(&answer);
        else
            print_taken(args, daemon_root(&answer));
        if (args->wait)
            status = wait_for_end(call, args, daemon_root(&answer));
    }
    client_answer_fini(&answer);
    client_destroy(client);
    return status;
}

static int run(struct command_call *call)
{
    struct job_command command;
    struct json_out out;
    struct str body = {0};
    struct err err = {0};
    int status;

    if (job_command_read(&command, call, true, &err) < 0)
        return command_failed(call, &err);
    json_out_init(&out, &body, false);
    if (job_options_json(&command.args.job, &command, &out, &err) < 0)
        status = command_failed(call, &err);
    else
        status = submit(call, &command.args, str_text(&body));
    str_fini(&body);
    job_command_fini(&command);
    return status;
}

const struct command cmd_submit = {
    .name = "submit",
    .summary = "submit a job and get a promise",
    .help = "The daemon answers when the job is safe on disk: with the rate it promises "
            "and how sure it is, where, beside whom and for how much energy; or with "
            "counter-offers, and then nothing was submitted.\n\n"
            "A script begins with #! and may hold options in lines that begin with "
            "#CORGI, before its first command; options of the command line win over "
            "those.  What follows the script is for the script.  It is not copied: it "
            "is read again when the job starts.",
    .examples = "corgi submit --min-rate 40 --steps 1e6 -- python train.py --epochs 3\n"
                "corgi submit train.sh\n"
                "corgi submit --kind inference --requests 200 --latency 0.05 -- ./serve",
    .operands = "SCRIPT [ARG...] | -- COMMAND [ARG...]",
    .operand_max = -1,
    .options_lead = true,
    .options = job_submit_options,
    .args_size = sizeof(struct job_args),
    .run = run,
};
