/* cmd_policy.c - corgi policy: how the daemon's loop decides, shown, set and tried out;
 * daemon.c asks and shows */
#include "corgi/commands.h"

#include "base/json_out.h"
#include "base/parse.h"
#include "corgi/daemon.h"
#include "loop/power_schedule.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct option_spec table_options[] = {
    DAEMON_TABLE_OPTIONS,
    {0},
};

/* The API has units in its names; people write them behind the number. */
#define LIMIT_NAME  "power_limit"
#define LIMIT_KEY   "power_limit_watts"
#define LIMIT_NOW   "power_limit_now_watts"
#define LIMIT_HOURS "power_limit_hours"

static const char *const not_as_it_is[] = {LIMIT_KEY, LIMIT_NOW, "changed_s", NULL};

static void limit_row(struct table *t, const char *name, double watts)
{
    char a[VIEW_SIZE];

    table_row(t);
    table_cell(t, name);
    table_cell(t, watts > 0 ? view_watts(a, watts) : "none");
}

/* The limit of all day, those of some hours, and what holds now if there are such. */
static void limit_rows(struct table *t, const struct json_value *root)
{
    const struct json_value *hours = json_value_get(root, LIMIT_HOURS);
    size_t count = json_value_count(hours);

    if (isfinite(view_number(root, LIMIT_KEY)))
        limit_row(t, LIMIT_NAME, view_number(root, LIMIT_KEY));
    for (size_t i = 0; i < count; i++) {
        const struct json_value *item = json_value_item(hours, i);
        int from = (int)view_number(item, "from_minute"),
            to = (int)view_number(item, "to_minute");
        char name[64];

        snprintf(name, sizeof(name), "  %02d:%02d-%02d:%02d UTC", from / 60, from % 60,
                 to / 60, to % 60);
        limit_row(t, name, view_number(item, "watts"));
    }
    if (count > 0)
        limit_row(t, "  now", view_number(root, LIMIT_NOW));
}

static int print_policy(const struct command_call *call, const struct json_value *root,
                        struct err *err)
{
    const struct daemon_args *args = call->args;
    double changed_s = view_number(root, "changed_s");
    struct table *t = view_table_of_members(root, not_as_it_is);
    char a[VIEW_SIZE];

    limit_rows(t, root);
    if (isfinite(changed_s)) {
        table_row(t);
        table_cell(t, "changed");
        table_cell(t, view_time(a, changed_s));
    }
    return view_finish(t, args->parsable, err);
}

static const struct daemon_view policy_view = {.path = "/v1/policy",
                                               .before = print_policy};

/* A limit that is told takes the place of all that was, its hours too. */
static int add_power_limit(struct json_out *out, const char *text)
{
    struct power_schedule limit;

    if (power_schedule_parse(text, &limit, NULL) < 0)
        return -1;
    json_out_key_number(out, LIMIT_KEY, limit.watts);
    json_out_key_array(out, LIMIT_HOURS);
    for (int i = 0; i < limit.count; i++) {
        json_out_begin_object(out);
        json_out_key_int(out, "from_minute", limit.hours[i].from_minute);
        json_out_key_int(out, "to_minute", limit.hours[i].to_minute);
        json_out_key_number(out, "watts", limit.hours[i].watts);
        json_out_end(out);
    }
    json_out_end(out);
    return 0;
}

/* KEY=VALUE; which keys there are and what they may be the daemon knows. */
static int add_setting(struct json_out *out, const char *word)
{
    const char *equals = strchr(word, '=');
    char key[64];
    double number = 0;
    bool flag;

    if (!equals || equals == word || (size_t)(equals - word) >= sizeof(key))
        return -1;
    snprintf(key, sizeof(key), "%.*s", (int)(equals - word), word);
    if (!strcmp(key, LIMIT_NAME))
        return add_power_limit(out, equals + 1);
    if (parse_double(equals + 1, &number))
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
            return command_wrong_use(call,
                                     "'%.60s' is not KEY=VALUE, as share=2, " LIMIT_NAME
                                     "=3kW or " LIMIT_NAME "='20kW, 07:00-20:00 12kW'",
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
    .help =
        "For operators.  What shall last belongs into the daemon's config file.  With "
        "paused=yes nothing is started, moved, stopped, capped or put to sleep, and "
        "what runs goes on: that lasts until paused=no, beyond a restart too.",
    .examples = "corgi policy set share=2 sleep=no\n"
                "corgi policy set paused=yes\n"
                "corgi policy set power_limit=20kW\n"
                "corgi policy set power_limit='20kW, 07:00-20:00 12kW'",
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
