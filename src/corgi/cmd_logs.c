/* cmd_logs.c - corgi logs: what a job has printed, and what it prints
 *
 * The daemon gives the output piece by piece (GET /v1/jobs/ID/output); this asks for one
 * after the other, goes on to the next attempt, and with --follow asks again. */
#include "corgi/logs.h"

#include "corgi/commands.h"
#include "corgi/view.h"

#include <string.h>
#include <time.h>

#define FOLLOW_S   0.5
#define PATIENCE_S 30.0 /* a daemon that restarts is waited for so long */

struct logs_args {
    struct daemon_args daemon;
    bool follow;
    int attempt, lines;
};

static const struct option_spec options[] = {
    OPT(struct logs_args, follow, FLAG, "follow", 'f', NULL,
        "go on with what it prints until it ends"),
    OPT(struct logs_args, attempt, INT, "attempt", 'a', "N",
        "only what this start of it has printed; the first is 1", .min = 1,
        .max = 1000000),
    OPT(struct logs_args, lines, INT, "lines", 'n', "COUNT",
        "begin with so many of the last lines", .min = 1, .max = 10000),
    DAEMON_OPTIONS,
    {0},
};

/* Where we are in the output. */
struct reading {
    struct client *client;
    const char *job;
    int attempt;   /* 0: the newest */
    double offset; /* in bytes */
    int lines;     /* of the end, instead of the offset; 0: by offset */
};

static int ask(const struct reading *at, struct client_answer *answer, struct err *err)
{
    struct client_request request = {.method = HTTP_GET, .retries = 1};
    struct str path = {0};
    char offset[32];
    int rc;

    daemon_add_path(&path, "/v1/jobs/%s/output", at->job);
    if (at->attempt)
        daemon_add_count(&path, "attempt", at->attempt);
    snprintf(offset, sizeof(offset), "%.0f", at->offset);
    if (at->lines)
        daemon_add_count(&path, "lines", at->lines);
    else
        daemon_add_query(&path, "offset", offset);
    request.path = str_text(&path);
    rc = daemon_ask(at->client, &request, answer, err);
    str_fini(&path);
    return rc;
}

static void wait_s(double seconds)
{
    nanosleep(&(struct timespec){.tv_sec = (time_t)seconds,
                                 .tv_nsec = (long)(seconds * 1e9) % 1000000000},
              NULL);
}

/* With --follow the daemon may go and come again. */
static int ask_patiently(const struct reading *at, bool follow,
                         struct client_answer *answer, struct err *err)
{
    int rc = ask(at, answer, err);

    for (double waited_s = 0;
         rc < 0 && follow && answer->status == 0 && waited_s < PATIENCE_S;
         waited_s += FOLLOW_S) {
        client_answer_fini(answer);
        wait_s(FOLLOW_S);
        *err = (struct err){0};
        rc = ask(at, answer, err);
    }
    return rc;
}

/* What is to be done after a piece. */
enum then { THEN_END, THEN_AGAIN, THEN_WAIT };

static enum then after_piece(const struct logs_args *args, struct reading *at,
                             const struct json_value *root)
{
    int attempts = (int)view_number(root, "attempts");

    if (view_number(root, "next") < view_number(root, "size") &&
        json_member_string(root, "text") && *json_member_string(root, "text"))
        return THEN_AGAIN;
    if (json_member_bool(root, "ended", false)) {
        if (args->attempt || at->attempt == 0 || at->attempt >= attempts ||
            json_member_bool(root, "all_attempts", false))
            return THEN_END;
        at->attempt++;
        at->offset = 0;
        fprintf(stderr, "--- attempt %d\n", at->attempt);
        return THEN_AGAIN;
    }
    return args->follow ? THEN_WAIT : THEN_END;
}

/* Print a piece and note where the next one begins. */
static void print_piece(const struct logs_args *args, struct reading *at,
                        const struct client_answer *answer)
{
    const struct json_value *root = daemon_root(answer);

    if (!at->lines && view_number(root, "offset") < at->offset)
        fprintf(stderr, "--- some of the output is not kept any more\n");
    if (args->daemon.json)
        daemon_print_json(answer);
    else
        fputs(view_text_or(root, "text", ""), stdout);
    fflush(stdout);
    at->offset = view_number(root, "next");
    at->lines = 0;
    at->attempt = (int)view_number(root, "attempt");
}

/* All attempts are wanted: begin with the first. */
static bool starts_over(const struct logs_args *args, struct reading *at,
                        const struct json_value *root)
{
    if (args->attempt || args->lines || at->attempt ||
        view_number(root, "attempts") < 2 ||
        json_member_bool(root, "all_attempts", false))
        return false;
    at->attempt = 1;
    fprintf(stderr, "--- attempt 1\n");
    return true;
}

static int read_all(const struct logs_args *args, struct reading *at, bool *missing,
                    struct err *err)
{
    char noted[300] = "";
    enum then then = THEN_AGAIN;

    while (then != THEN_END && !ferror(stdout)) {
        struct client_answer answer = {0};
        const struct json_value *root;
        const char *note;

        if (ask_patiently(at, args->follow, &answer, err) < 0) {
            client_answer_fini(&answer);
            return -1;
        }
        root = daemon_root(&answer);
        note = json_member_string(root, "note");
        if (!starts_over(args, at, root)) {
            print_piece(args, at, &answer);
            if (note && strcmp(note, noted) != 0)
                fprintf(stderr, "%s\n", note);
            str_copy(noted, sizeof(noted), note ? note : "");
            *missing = json_member_bool(root, "missing", false);
            then = after_piece(args, at, root);
            if (!json_member_string(root, "file") && view_number(root, "attempts") > 0)
                then = THEN_END; /* simulated: nothing will ever come */
        }
        client_answer_fini(&answer);
        if (then == THEN_WAIT)
            wait_s(FOLLOW_S);
    }
    return 0;
}

static int run(struct command_call *call)
{
    const struct logs_args *args = call->args;
    struct reading at = {
        .job = call->operands[0], .attempt = args->attempt, .lines = args->lines};
    struct err err = {0};
    bool missing = false;
    int status = daemon_check_job(call, at.job);

    if (status)
        return status;
    if (daemon_open(&at.client, &args->daemon, &err) < 0 ||
        read_all(args, &at, &missing, &err) < 0)
        status = command_failed(call, &err);
    client_destroy(at.client);
    return status ? status : missing;
}

void logs_print_end(const struct daemon_args *daemon, const char *job, int lines,
                    FILE *to)
{
    struct reading at = {.job = job, .lines = lines};
    struct client_answer answer = {0};
    struct err err = {0};
    const char *text;

    if (daemon_open(&at.client, daemon, &err) == 0 && ask(&at, &answer, &err) == 0) {
        text = view_text_or(daemon_root(&answer), "text", "");
        if (*text)
            fprintf(to, "the end of its output ('corgi logs %s' shows all):\n%s%s", job,
                    text, str_ends(text, "\n") ? "" : "\n");
    }
    client_answer_fini(&answer);
    client_destroy(at.client);
}

const struct command cmd_logs = {
    .name = "logs",
    .summary = "show what a job prints",
    .help = "Standard output and standard error, of all its starts one after the other: "
            "a job that was moved or restarted has several attempts.  Works while it "
            "runs and after its end; only its owner and operators may read it.  Bytes "
            "that are no UTF-8 are shown as \xef\xbf\xbd.",
    .examples = "corgi logs 7\ncorgi logs 7 --follow --lines 20\n"
                "corgi logs 7 --attempt 1",
    .operands = "JOB",
    .options = options,
    .args_size = sizeof(struct logs_args),
    .run = run,
};
