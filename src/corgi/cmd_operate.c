/* cmd_operate.c - corgi policy, corgi quota and corgi token: what operators look at and
 * set; daemon.c asks and shows */
#include "corgi/commands.h"

#include "base/json_out.h"
#include "base/parse.h"
#include "corgi/daemon.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct option_spec table_options[] = {
    DAEMON_TABLE_OPTIONS,
    {0},
};

/* ---- policy: how the daemon's loop decides ----------------------------------------- */

/* The API has units in its names; people write them behind the number. */
#define LIMIT_NAME "power_limit"
#define LIMIT_KEY  "power_limit_watts"

static const char *const not_as_it_is[] = {LIMIT_KEY, "changed_s", NULL};

static int print_policy(const struct command_call *call, const struct json_value *root,
                        struct err *err)
{
    const struct daemon_args *args = call->args;
    double changed_s = view_number(root, "changed_s"),
           limit = view_number(root, LIMIT_KEY);
    struct table *t = view_table_of_members(root, not_as_it_is);
    char a[VIEW_SIZE];

    if (isfinite(limit)) {
        table_row(t);
        table_cell(t, LIMIT_NAME);
        table_cell(t, limit > 0 ? view_watts(a, limit) : "none");
    }
    if (isfinite(changed_s)) {
        table_row(t);
        table_cell(t, "changed");
        table_cell(t, view_time(a, changed_s));
    }
    return view_finish(t, args->parsable, err);
}

static const struct daemon_view policy_view = {.path = "/v1/policy",
                                               .before = print_policy};

/* KEY=VALUE; which keys there are and what they may be the daemon knows. */
static int add_setting(struct json_out *out, const char *word)
{
    const char *equals = strchr(word, '=');
    static const struct value_rule watts = {.type = VALUE_WATTS};
    char key[64];
    double number = 0;
    bool flag;

    if (!equals || equals == word || (size_t)(equals - word) >= sizeof(key))
        return -1;
    snprintf(key, sizeof(key), "%.*s", (int)(equals - word), word);
    if (!strcmp(key, LIMIT_NAME)) {
        if (strcmp(equals + 1, "none") != 0 && !value_parse(&watts, equals + 1, &number))
            return -1;
        json_out_key_number(out, LIMIT_KEY, number);
    } else if (parse_double(equals + 1, &number))
        json_out_key_number(out, key, number);
    else if (parse_bool(equals + 1, &flag))
        json_out_key_bool(out, key, flag);
    else
        json_out_key_string(out, key, equals + 1);
    return 0;
}

/* The operands as the members of a body, `hours` too unless it is 0. */
static int send_settings(const struct command_call *call, const struct daemon_view *view,
                         double hours)
{
    struct str body = {0};
    struct json_out out;

    json_out_init(&out, &body, false);
    json_out_begin_object(&out);
    for (int i = 0; i < call->operand_count; i++)
        if (add_setting(&out, call->operands[i]) < 0) {
            str_fini(&body);
            return command_wrong_use(
                call, "'%.40s' is not KEY=VALUE, as share=2 or " LIMIT_NAME "=3kW",
                call->operands[i]);
        }
    if (hours > 0)
        json_out_key_number(&out, "hours", hours);
    json_out_end(&out);
    return daemon_show(call, view, NULL, &body);
}

static int run_policy_set(struct command_call *call)
{
    static const struct daemon_view view = {
        .method = HTTP_PATCH, .path = "/v1/policy", .before = print_policy};

    return send_settings(call, &view, 0);
}

/* ---- policy preview ---------------------------------------------------------------- */

struct preview_args {
    struct daemon_args daemon;
    double span_s;
};

static const struct option_spec preview_options[] = {
    OPT(struct preview_args, span_s, SECONDS, "for", 'f', "TIME", "how far to play it",
        .min = 360, .max = 86400, .default_text = "2h"),
    DAEMON_TABLE_OPTIONS,
    {0},
};

static const char *preview_cell(char *out, const struct json_value *run, const char *key,
                                enum view_as as)
{
    double value = view_number(run, key);

    switch (as) {
    case VIEW_JOULES:
        return view_joules(out, value);
    case VIEW_WATTS:
        return view_watts(out, value);
    case VIEW_SHARE:
        return view_share(out, value);
    case VIEW_TIME:
        return view_elapsed(out, value);
    default:
        return view_count(out, value);
    }
}

static int print_preview(const struct command_call *call, const struct json_value *root,
                         struct err *err)
{
    static const struct {
        const char *title, *key;
        enum view_as as;
    } rows[] = {{"energy", "joules", VIEW_JOULES},
                {"mean power", "mean_watts", VIEW_WATTS},
                {"highest power", "peak_watts", VIEW_WATTS},
                {"jobs done", "done", VIEW_COUNT},
                {"jobs started", "started", VIEW_COUNT},
                {"jobs waiting at the end", "waiting", VIEW_COUNT},
                {"waited, all together", "waited_s", VIEW_TIME},
                {"moves", "moves", VIEW_COUNT},
                {"promises kept, of the time", "kept_share", VIEW_SHARE}};
    const struct daemon_args *args = call->args;
    const struct json_value *now = json_value_get(root, "present"),
                            *then = json_value_get(root, "proposed");
    struct table *t = table_create("FIGURE|>NOW|>THEN");
    char a[VIEW_SIZE];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        table_row(t);
        table_cell(t, rows[i].title);
        table_cell(t, preview_cell(a, now, rows[i].key, rows[i].as));
        table_cell(t, preview_cell(a, then, rows[i].key, rows[i].as));
    }
    return view_finish(t, args->parsable, err);
}

static void tell_preview(const struct command_call *call, const struct json_value *root)
{
    const struct daemon_args *args = call->args;
    char a[VIEW_SIZE], b[VIEW_SIZE];

    if (!args->parsable)
        printf(
            "%s played on for %s, as they are believed to run: nobody comes, nothing "
            "fails.\n",
            view_plural(a, view_number(root, "jobs"), "job"),
            view_elapsed(b, view_number(root, "until_s") - view_number(root, "from_s")));
}

static int run_policy_preview(struct command_call *call)
{
    static const struct daemon_view view = {.method = HTTP_POST,
                                            .path = "/v1/policy/preview",
                                            .before = print_preview,
                                            .after = tell_preview};
    const struct preview_args *args = call->args;

    return send_settings(call, &view, args->span_s / 3600);
}

static const struct command policy_preview_command = {
    .name = "preview",
    .summary = "what would come of other settings, without setting them",
    .help =
        "For operators.  The daemon plays the jobs there are on from the present, once "
        "with the settings in force and once with these, in a simulation where "
        "everything runs as the model believes it.  It takes seconds, and the daemon "
        "goes on meanwhile.",
    .examples = "corgi policy preview share=1\n"
                "corgi policy preview power_limit=3kW --for 6h",
    .operands = "KEY=VALUE...",
    .options = preview_options,
    .args_size = sizeof(struct preview_args),
    .run = run_policy_preview,
};

static const struct command policy_show = {
    .name = "show",
    .summary = "show the settings in force",
    .options = table_options,
    .args_size = sizeof(struct daemon_args),
    .run = daemon_run,
    .about = &policy_view,
};

static const struct command policy_set = {
    .name = "set",
    .summary = "change settings until the daemon's next start",
    .help = "For operators.  What shall last belongs into the daemon's config file.",
    .examples = "corgi policy set share=2 sleep=no\n"
                "corgi policy set power_limit=20kW",
    .operands = "KEY=VALUE...",
    .options = table_options,
    .args_size = sizeof(struct daemon_args),
    .run = run_policy_set,
};

static const struct command *const policy_children[] = {&policy_preview_command,
                                                        &policy_set, &policy_show, NULL};

const struct command cmd_policy = {
    .name = "policy",
    .summary = "show and change how the daemon decides",
    .children = policy_children,
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
            "of equal priority those go first whose user had least for their weight.",
    .options = table_options,
    .args_size = sizeof(struct quota_args),
    .run = daemon_run,
    .about = &quota_view,
};

static const struct command quota_set = {
    .name = "set",
    .summary = "set a user's quota",
    .help =
        "The user 'default' stands for all who have none of their own.  For operators.",
    .examples =
        "corgi quota set ada --jobs 20 --gpus 8\ncorgi quota set default --gpus 4",
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
