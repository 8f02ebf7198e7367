/* cmd_operate.c - corgi quota and corgi token: what operators look at and set; daemon.c
 * asks and shows */
#include "corgi/commands.h"

#include "base/json_out.h"
#include "base/parse.h"
#include "corgi/daemon.h"

#include <stdio.h>
#include <string.h>

static const struct option_spec table_options[] = {
    DAEMON_TABLE_OPTIONS,
    {0},
};

/* ---- quota: how much a user may have ----------------------------------------------- */

struct quota_args {
    struct daemon_args daemon;
    const char *jobs, *running, *gpus; /* NULL: stays as it is */
};

#define LIMIT(member, text)                                                              \
    OPT(struct quota_args, member, STRING, #member, 0, "N", text "; none: no limit")

static const struct option_spec quota_options[] = {
    LIMIT(jobs, "jobs that wait or run"),
    LIMIT(running, "jobs that run"),
    LIMIT(gpus, "GPUs in use"),
    DAEMON_OPTIONS,
    {0},
};

/* False: it is neither a number nor none. */
static bool add_limit(struct json_out *out, const char *key, const char *text)
{
    int limit;

    if (!text)
        return true;
    if (parse_int(text, &limit) && limit >= 0 && limit <= 1000000) {
        json_out_key_int(out, key, limit);
        return true;
    }
    json_out_key(out, key);
    json_out_null(out);
    return !strcmp(text, "none") || !strcmp(text, "-1");
}

static int print_quota(const struct command_call *call, const struct json_value *root,
                       struct err *err)
{
    (void)root, (void)err;
    printf("the quota of %s is set\n", call->operands[0]);
    return 0;
}

static int run_quota_set(struct command_call *call)
{
    static const struct daemon_view view = {
        .method = HTTP_PUT, .path = "/v1/quotas/%s", .before = print_quota};
    const struct quota_args *args = call->args;
    struct str body = {0};
    struct json_out out;

    if (!args->jobs && !args->running && !args->gpus)
        return command_wrong_use(call, "say what to limit: --jobs, --running or --gpus");
    json_out_init(&out, &body, false);
    json_out_begin_object(&out);
    if (!add_limit(&out, "max_jobs", args->jobs) ||
        !add_limit(&out, "max_running", args->running) ||
        !add_limit(&out, "max_gpus", args->gpus)) {
        str_fini(&body);
        return command_wrong_use(call, "a limit is a number from 0 to 1000000, or none");
    }
    json_out_end(&out);
    return daemon_show(call, &view, NULL, &body);
}

static const struct view_column quota_columns[] = {
    {"USER", .key = "user"},
    {">JOBS/MAX", .key = "jobs", .as = VIEW_USE, .limit = "max_jobs"},
    {">RUNNING/MAX", .key = "running", .as = VIEW_USE, .limit = "max_running"},
    {">GPUS/MAX", .key = "gpus", .as = VIEW_USE, .limit = "max_gpus"},
    {"ACCOUNT", .key = "account"},
    {">WEIGHT", .key = "weight", .as = VIEW_COUNT},
    {">HAD", .key = "had", .as = VIEW_SHARE},
    {">DUE", .key = "due", .as = VIEW_SHARE},
    {0},
};

static const struct daemon_view quota_view = {
    .path = "/v1/quotas", .list = "quotas", .columns = quota_columns};

static const struct command quota_list = {
    .name = "list",
    .summary = "list quotas, what is used of them, and shares of the cluster",
    .help = "HAD is the user's part of the GPU time that all users had, the older the "
            "less it counts; DUE is their part by the weights of the config.  Among jobs "
            "of equal priority those go first whose user had least for their weight.  "
            "account:NAME, qos:NAME and partition:NAME are those of Slurm; a user whose "
            "jobs are reckoned to several of them has a row for each.",
    .options = table_options,
    .args_size = sizeof(struct quota_args),
    .run = daemon_run,
    .about = &quota_view,
};

static const struct command quota_set = {
    .name = "set",
    .summary = "set a user's quota, or that of an account, a QOS or a partition",
    .help = "The user 'default' stands for all who have none of their own; account:NAME, "
            "qos:NAME and partition:NAME for jobs that Slurm says this of.  What is set "
            "goes before the config.  For operators.",
    .examples = "corgi quota set ada --jobs 20 --gpus 8\n"
                "corgi quota set default --gpus 4\n"
                "corgi quota set account:physics --gpus 16",
    .operands = "USER",
    .options = quota_options,
    .args_size = sizeof(struct quota_args),
    .run = run_quota_set,
};

static const struct command *const quota_children[] = {&quota_list, &quota_set, NULL};

const struct command cmd_quota = {
    .name = "quota",
    .summary = "list and set how much users may have",
    .children = quota_children,
};

/* ---- token: who may ask over TCP --------------------------------------------------- */

struct token_args {
    struct daemon_args daemon;
    const char *note;
    int role;
    double expires_s;
};

static const char *const roles[] = {"viewer", "user", "operator", NULL};

static const struct option_spec token_options[] = {
    OPT(struct token_args, role, CHOICE, "role", 'r', "ROLE",
        "what it may do: look, submit, or everything", .choices = roles,
        .default_text = "user"),
    OPT(struct token_args, expires_s, SECONDS, "expires", 'e', "TIME",
        "good for so long, as 90d; for ever without it", .min = 1, .max = 3155760000.0),
    OPT(struct token_args, note, STRING, "note", 'n', "TEXT", "what it is for"),
    DAEMON_OPTIONS,
    {0},
};

static int print_token(const struct command_call *call, const struct json_value *root,
                       struct err *err)
{
    (void)call, (void)err;
    printf("%s\n", view_text_or(root, "token", "-"));
    return 0;
}

static int run_token_make(struct command_call *call)
{
    static const struct daemon_view view = {
        .method = HTTP_POST, .path = "/v1/tokens", .before = print_token};
    const struct token_args *args = call->args;
    struct str body = {0};
    struct json_out out;

    json_out_init(&out, &body, false);
    json_out_begin_object(&out);
    json_out_key_string(&out, "user", call->operands[0]);
    json_out_key_string(&out, "role", roles[args->role]);
    if (args->expires_s > 0)
        json_out_key_number(&out, "expires_in_s", args->expires_s);
    if (args->note)
        json_out_key_string(&out, "note", args->note);
    json_out_end(&out);
    return daemon_show(call, &view, NULL, &body);
}

static int run_token_job(struct command_call *call)
{
    const struct token_args *args = call->args;
    struct str path = {0}, body = {0};
    struct client_answer answer;
    struct json_out out;
    int status;

    json_out_init(&out, &body, false);
    json_out_begin_object(&out);
    if (args->expires_s > 0)
        json_out_key_number(&out, "expires_in_s", args->expires_s);
    json_out_end(&out);
    daemon_add_path(&path, "/v1/jobs/%s/token", call->operands[0]);
    status = daemon_send(call, HTTP_POST, str_text(&path), str_text(&body), &answer);
    str_fini(&path);
    str_fini(&body);
    if (status)
        return status;
    printf("%s\n", view_text_or(json_doc_root(answer.json), "token", "-"));
    client_answer_fini(&answer);
    return 0;
}

static const struct view_column token_columns[] = {
    {"ID", .key = "id"},
    {"USER", .key = "user"},
    {"ROLE", .key = "role"},
    {"CREATED", .key = "created_s", .as = VIEW_TIME},
    {"EXPIRES", .key = "expires_s", .as = VIEW_TIME},
    {"USED", .key = "last_used_s", .as = VIEW_TIME},
    {"NOTE", .key = "note"},
    {0},
};

static const struct daemon_view token_view = {
    .path = "/v1/tokens", .list = "tokens", .columns = token_columns};

static int run_token_revoke(struct command_call *call)
{
    struct client_answer answer;
    struct str path = {0};
    int status;

    daemon_add_path(&path, "/v1/tokens/%s", call->operands[0]);
    status = daemon_send(call, HTTP_DELETE, str_text(&path), NULL, &answer);
    str_fini(&path);
    if (status)
        return status;
    printf("token %s is revoked\n", call->operands[0]);
    client_answer_fini(&answer);
    return 0;
}

static const struct command token_make = {
    .name = "make",
    .summary = "make a token for a user and print it",
    .help = "The daemon keeps only a digest of it: it is shown this once.",
    .examples = "corgi token make $USER --expires 90d > my.token",
    .operands = "USER",
    .options = token_options,
    .args_size = sizeof(struct token_args),
    .run = run_token_make,
};

static const struct option_spec job_token_options[] = {
    OPT(struct token_args, expires_s, SECONDS, "expires", 'e', "TIME",
        "good for so long [30d]", .min = 1, .max = 3155760000.0),
    DAEMON_OPTIONS,
    {0},
};

static const struct command token_job = {
    .name = "job",
    .summary = "print a token with which the probe of a job may report, and nothing else",
    .help = "For the job's owner and operators.  corgi-probe takes it from "
            "CORGI_JOB_TOKEN or --token-file; the daemon keeps nothing of it.",
    .examples = "corgi token job 7 > job7.token",
    .operands = "JOB",
    .options = job_token_options,
    .args_size = sizeof(struct token_args),
    .run = run_token_job,
};

static const struct command token_list = {
    .name = "list",
    .summary = "list tokens, without their secrets",
    .options = table_options,
    .args_size = sizeof(struct token_args),
    .run = daemon_run,
    .about = &token_view,
};

static const struct command token_revoke = {
    .name = "revoke",
    .summary = "make a token worthless",
    .operands = "ID",
    .options = table_options,
    .args_size = sizeof(struct token_args),
    .run = run_token_revoke,
};

static const struct command *const token_children[] = {&token_job, &token_list,
                                                       &token_make, &token_revoke, NULL};

const struct command cmd_token = {
    .name = "token",
    .summary = "make, list and revoke the tokens of those who ask over TCP",
    .help = "For operators; of a job for its owner, too.",
    .children = token_children,
};
