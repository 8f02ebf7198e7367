/* cmd_submit.c - corgi submit: a job for the daemon */
#include "corgi/commands.h"

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
    quote_view_print(json_value_get(root, "quote"), job_unit(&args->job),
                     view_number(job, "submitted_s"), true, stdout);
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
        quote_view_print(quote, job_unit(&args->job), NAN, false, stderr);
    return status;
}

static int wait_for_end(const struct command_call *call, const struct job_args *args,
                        const struct json_value *root)
{
    char id[24];
    struct follow f = {.daemon = &args->daemon, .job = id, .types = "job"};
    struct err err = {0};

    snprintf(id, sizeof(id), "%.0f", view_number(json_value_get(root, "job"), "id"));
    fflush(stdout);
    if (follow_events(&f, &err) < 0)
        return command_failed(call, &err);
    fprintf(stderr, "job %s is %s\n", id, f.state);
    return strcmp(f.state, "done") == 0 ? 0 : 1;
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

static int run(struct command_call *call)
{
    struct client_request request = {.path = "/v1/jobs", .retries = RETRIES};
    char key[33];

    client_idempotency_key(key);
    request.idempotency_key = key;
    return job_command_run(call, true, &request, job_options_json, submitted);
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
