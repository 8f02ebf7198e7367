/* cmd_control.c - corgi cancel, hold, release, requeue, drain and resume: one word to the
 * daemon about each of several things */
#include "corgi/commands.h"

#include "base/json_out.h"
#include "corgi/daemon.h"
#include "corgi/view.h"

#include <stdio.h>
#include <string.h>

struct control_args {
    struct daemon_args daemon;
    const char *reason;
    bool force;
};

static const struct option_spec options[] = {
    OPT(struct control_args, reason, STRING, "reason", 'r', "TEXT", "why; is recorded"),
    DAEMON_OPTIONS,
    {0},
};

static const struct option_spec cancel_options[] = {
    OPT(struct control_args, reason, STRING, "reason", 'r', "TEXT", "why; is recorded"),
    OPT(struct control_args, force, FLAG, "force", 'f', NULL,
        "kill it at once, also one that is leaving"),
    DAEMON_OPTIONS,
    {0},
};

static const char about_jobs[] = "JOB...", about_hardware[] = "NODE|NODE:INDEX...";

static void make_body(struct str *body, const struct control_args *args)
{
    struct json_out out;

    json_out_init(&out, body, false);
    json_out_begin_object(&out);
    if (args->reason)
        json_out_key_string(&out, "reason", args->reason);
    if (args->force)
        json_out_key_bool(&out, "force", true);
    json_out_end(&out);
}

static void report(const struct control_args *args, const char *what,
                   const struct client_answer *answer)
{
    const struct json_value *root = daemon_root(answer);

    if (args->daemon.json)
        daemon_print_json(answer);
    else
        printf("%s is %s%s\n", what, view_text_or(root, "state", "done"),
               json_member_bool(root, "drained", false) ? " and drained" : "");
}

/* Where to say it: gpu07 is a node, gpu07:3 one of its GPUs. */
static const char *path_of(const struct command *command, const char *text)
{
    if (command->about == about_jobs)
        return "/v1/jobs/%s";
    return strchr(text, ':') ? "/v1/devices/%s" : "/v1/nodes/%s";
}

/* Say the verb about one thing; 0 or the exit status. */
static int say(const struct command_call *call, struct client *client, const char *what,
               const char *body)
{
    const struct control_args *args = call->args;
    struct client_request request = {.method = HTTP_POST, .body = body};
    struct client_answer answer;
    struct str path = {0};
    struct err err = {0};
    int status = 0;

    daemon_add_path(&path, path_of(call->command, what), what);
    str_addf(&path, "/%s", call->command->name);
    request.path = str_text(&path);
    if (daemon_ask(client, &request, &answer, &err) < 0) {
        err_prefix(&err, "%s", what);
        status = command_failed(call, &err);
    } else {
        report(args, what, &answer);
    }
    client_answer_fini(&answer);
    str_fini(&path);
    return status;
}

static int run(struct command_call *call)
{
    const struct control_args *args = call->args;
    struct client *client = NULL;
    struct str body = {0};
    struct err err = {0};
    int worst = 0;

    for (int i = 0; i < call->operand_count && call->command->about == about_jobs; i++) {
        worst = daemon_check_job(call, call->operands[i]);
        if (worst)
            return worst;
    }
    if (daemon_open(&client, &args->daemon, &err) < 0)
        return command_failed(call, &err);
    make_body(&body, args);
    for (int i = 0; i < call->operand_count; i++) {
        int status = say(call, client, call->operands[i], str_text(&body));

        worst = status > worst ? status : worst;
    }
    str_fini(&body);
    client_destroy(client);
    return worst;
}

/* A word to the daemon: its summary, more help or NULL, examples or NULL, and what it is
 * about. */
#define WORD(verb, text, more, example, what, choices)                                   \
    const struct command cmd_##verb = {                                                  \
        .name = #verb,                                                                   \
        .summary = (text),                                                               \
        .help = (more),                                                                  \
        .examples = (example),                                                           \
        .operands = (what),                                                              \
        .options = (choices),                                                            \
        .args_size = sizeof(struct control_args),                                        \
        .run = run,                                                                      \
        .about = (what),                                                                 \
    }

WORD(cancel, "end jobs, whether they wait or run",
     "A job that runs gets SIGTERM and its grace time.  Until its processes are gone it "
     "is "
     "leaving, and its GPUs are not given to others.",
     NULL, about_jobs, cancel_options);
WORD(hold, "keep waiting jobs from starting", NULL, NULL, about_jobs, options);
WORD(release, "let held jobs start", NULL, NULL, about_jobs, options);
WORD(requeue, "put jobs back into the queue",
     "Running ones are stopped first, and ended ones start over.", NULL, about_jobs,
     options);
WORD(drain, "start nothing more on nodes or GPUs",
     "What runs there goes on.  For operators.",
     "corgi drain gpu07 --reason 'new fan'\ncorgi drain gpu07:3", about_hardware,
     options);
WORD(resume, "use drained or failed nodes or GPUs again", "For operators.", NULL,
     about_hardware, options);
