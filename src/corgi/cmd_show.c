/* cmd_show.c - corgi show and corgi why: everything about a job, and what was decided
 * about it; daemon.c asks, view.c prints tables and figures */
#include "corgi/commands.h"

#include "corgi/daemon.h"
#include "corgi/view.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- show: everything about a job -------------------------------------------------- */

struct show_args {
    struct daemon_args daemon;
    bool history;
};

static const struct option_spec show_options[] = {
    OPT(struct show_args, history, FLAG, "history", 'H', NULL,
        "what became of it, step by step"),
    DAEMON_TABLE_OPTIONS,
    {0},
};

/* A line of the page; nothing when there is nothing to say. */
static void line(const char *label, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void line(const char *label, const char *format, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&text, format, args) > 0 && strcmp(text, "-") != 0)
        printf("  %-15s %s\n", label, text);
    va_end(args);
    free(text);
}

static void print_need(const struct json_value *job, const char *unit)
{
    const struct json_value *need = json_value_get(job, "need");
    const char *kind = json_member_string(need, "kind");
    struct str text = {0};
    char a[VIEW_SIZE];

    if (!kind)
        return;
    if (!strcmp(kind, "rate") || !strcmp(kind, "service"))
        str_addf(&text, "%s %s", view_rate(a, view_number(need, "rate")), unit);
    else if (!strcmp(kind, "deadline"))
        str_addf(&text, "by %s", view_time(a, view_number(need, "deadline_s")));
    else
        str_add(&text, "best effort");
    if (view_number(need, "latency_s") > 0)
        str_addf(&text, ", p99 within %g s", view_number(need, "latency_s"));
    if (view_number(need, "confidence") > 0)
        str_addf(&text, " at %.0f %% confidence", 100 * view_number(need, "confidence"));
    line("need", "%s", str_text(&text));
    str_fini(&text);
}

static void print_rates(const struct json_value *job, const char *unit)
{
    char a[VIEW_SIZE], b[VIEW_SIZE];
    double rate = view_number(job, "rate"), promised = view_number(job, "promised_rate");
    double done = view_number(job, "steps_done"), total = view_number(job, "total_steps");
    double mean = view_number(job, "mean_rate");
    const char *promise = view_text_or(job, "promise", "none");

    if (isfinite(rate))
        line("rate", "%s %s measured", view_rate(a, rate), unit);
    if (isfinite(mean))
        line("mean rate", "%s %s while it ran", view_rate(a, mean), unit);
    if (isfinite(promised))
        line("promised", "%s %s", view_rate(a, promised), unit);
    else if (!strcmp(promise, "pending"))
        line("promised", "nothing yet: it gets its promise when it has been measured");
    else if (!strcmp(promise, "offered"))
        line("offered",
             "%s %s: what it needs cannot be had; it runs on, 'corgi update %.0f "
             "--accept' "
             "takes this",
             view_rate(a, view_number(job, "offered_rate")), unit,
             view_number(job, "id"));
    if (total > 0)
        line("progress", "%s of %s steps", view_count(a, done), view_count(b, total));
    else if (done > 0)
        line("progress", "%s %s", view_count(a, done),
             strchr(unit, 'q') ? "requests" : "steps");
}

/* What was measured of it and taught nothing, and why. */
static void print_refused(const struct json_value *job)
{
    static const struct {
        const char *key, *text;
    } reasons[] = {{"straddles", "began before its devices last changed"},
                   {"doubted", "the source was not sure of its rate"},
                   {"numbers", "no rate can be like that"},
                   {"contradicted", "too little work was seen for so many steps"},
                   {"outside", "not within the life of the attempt"},
                   {"overlaps", "of a time that was told already"},
                   {"engine_measures", "told by the job, and the engine measures it"},
                   {"not_running", "it did not run"}};
    const struct json_value *refused = json_value_get(job, "measurements_refused");
    char many[VIEW_SIZE];
    bool first = true;

    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        double count = view_number(refused, reasons[i].key);

        if (count > 0)
            line(first ? "not learned" : "", "%s: %s", view_plural(many, count, "window"),
                 reasons[i].text);
        first = first && !(count > 0);
    }
}

/* Of a service: who answers, how many ask, how soon they are answered. */
static void print_service(const struct json_value *job)
{
    double most = view_number(job, "max_replicas");
    double demand = view_number(job, "demand_rate");
    double latency = view_number(job, "latency_s"), of = view_number(job, "replica_of");
    char a[VIEW_SIZE];

    if (isfinite(of))
        line("service", "a replica of job %.0f", of);
    if (most > 1)
        line("replicas", "%.0f, %.0f at most", view_number(job, "replicas"), most);
    if (isfinite(demand))
        line("asked for", "%s requests/s", view_rate(a, demand));
    if (isfinite(latency))
        line("latency", "p99 %.3g s measured", latency);
}

static void print_places(const struct json_value *job)
{
    const struct json_value *devices = json_value_get(job, "devices");
    const struct json_value *neighbours = json_value_get(job, "neighbours");

    for (size_t i = 0; i < json_value_count(devices); i++) {
        const struct json_value *d = json_value_item(devices, i);

        line(i ? "" : "on", "%s (%s)", view_text_or(d, "name", "?"),
             view_text_or(d, "type", "?"));
    }
    for (size_t i = 0; i < json_value_count(neighbours); i++) {
        const struct json_value *n = json_value_item(neighbours, i);

        line(i ? "" : "beside", "job %.0f %s", view_number(n, "job"),
             view_text_or(n, "name", ""));
    }
}

/* What is simulated is said to be. */
static const char *mark(const struct json_value *job)
{
    return json_member_bool(job, "simulated", false) ? " (simulated)" : "";
}

static void print_times(const struct json_value *job)
{
    static const char *const keys[] = {"submitted_s",      "started_s",
                                       "placed_s",         "ended_s",
                                       "expected_start_s", "expected_end_s"};
    static const char *const labels[] = {"submitted", "first started",  "started",
                                         "ended",     "start expected", "end expected"};
    bool once = view_number(job, "started_s") >= view_number(job, "placed_s");
    char a[VIEW_SIZE];

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (isfinite(view_number(job, keys[i])) && !(once && i == 1))
            line(labels[i], "%s%s", view_time(a, view_number(job, keys[i])), mark(job));
}

/* How its program ended. */
static void print_exit(const struct json_value *job)
{
    double status = view_number(job, "exit_status"), by = view_number(job, "signal");

    if (by > 0)
        line("exit", "signal %.0f (%s)", by, strsignal((int)by));
    else if (status >= 0)
        line("exit", "status %.0f", status);
}

static void print_energy(const struct json_value *job)
{
    char a[VIEW_SIZE], b[VIEW_SIZE], c[VIEW_SIZE];
    double joules = view_number(job, "joules");
    double low = view_number(job, "joules_low"), high = view_number(job, "joules_high");

    if (!isfinite(joules))
        return;
    if (isfinite(low) && isfinite(high) && high > low)
        line("energy", "%s%s (%s to %s)", view_joules(a, joules), mark(job),
             view_joules(b, low), view_joules(c, high));
    else if (joules > 0)
        line("energy", "%s%s", view_joules(a, joules), mark(job));
    if (view_number(job, "watts") > 0)
        line("power", "%s%s", view_watts(a, view_number(job, "watts")), mark(job));
}

static void print_command(const struct json_value *job)
{
    const struct json_value *words = json_value_get(job, "command");
    struct str text = {0};

    for (size_t i = 0; i < json_value_count(words); i++)
        str_addf(&text, "%s%s", i ? " " : "",
                 json_value_string(json_value_item(words, i)));
    line("command", "%s", str_text(&text));
    line("directory", "%s", view_text_or(job, "directory", ""));
    line("output", "%s", view_text_or(job, "output", ""));
    str_fini(&text);
}

static void print_job(const struct json_value *job)
{
    const char *kind = view_text_or(job, "kind", "");
    const char *unit = !strcmp(kind, "inference") ? "requests/s" : "steps/s";
    const struct json_value *quote = json_value_get(job, "quote");
    char a[VIEW_SIZE], b[VIEW_SIZE], c[VIEW_SIZE];

    printf("job %.0f %s\n", view_number(job, "id"), view_text_or(job, "name", ""));
    line("state", "%s", view_text_or(job, "state", ""));
    line("reason", "%s", view_text_or(job, "reason", ""));
    print_exit(job);
    line("user", "%s", view_text_or(job, "user", ""));
    line("account", "%s", view_text_or(job, "account", ""));
    line("QOS", "%s", view_text_or(job, "qos", ""));
    line("partition", "%s", view_text_or(job, "partition", ""));
    line("kind", "%s", kind);
    print_need(job, unit);
    print_rates(job, unit);
    print_refused(job);
    print_service(job);
    print_places(job);
    print_energy(job);
    print_times(job);
    line("runs", "%s, priority %.0f, %s, %s",
         view_plural(a, view_number(job, "gpus"), "GPU"), view_number(job, "priority"),
         view_plural(b, view_number(job, "moves"), "move"),
         view_plural(c, view_number(job, "restarts"), "restart"));
    print_command(job);
    if (json_value_kind(quote) == JSON_KIND_OBJECT) {
        printf("%s\n", isfinite(view_number(quote, "promised_rate"))
                           ? "the promise"
                           : "what was expected when it was submitted");
        view_quote(quote, unit, NAN, true, stdout);
    }
}

static int print_whole(const struct command_call *call, const struct json_value *root,
                       struct err *err)
{
    const struct daemon_args *args = call->args;

    if (args->parsable)
        return view_finish(view_table_of_members(root, NULL), true, err);
    print_job(root);
    return 0;
}

static const struct view_column show_columns[] = {
    {"TIME", .key = "at_s", .as = VIEW_TIME},
    {"WHAT", .key = "kind"},
    {"FROM", .key = "from"},
    {"TO", .key = "to"},
    {"BY", .key = "by"},
    {"TEXT", .key = "text"},
    {0},
};

static const struct daemon_view whole = {.path = "/v1/jobs/%s", .before = print_whole};
static const struct daemon_view history = {
    .path = "/v1/jobs/%s/history?limit=1000", .list = "events", .columns = show_columns};

static int run_show(struct command_call *call)
{
    const struct show_args *args = call->args;

    return daemon_show(call, args->history ? &history : &whole, NULL, NULL);
}

const struct command cmd_show = {
    .name = "show",
    .summary = "show everything about a job",
    .examples = "corgi show 7\ncorgi show 7 --history",
    .operands = "JOB",
    .options = show_options,
    .args_size = sizeof(struct show_args),
    .run = run_show,
};

/* ---- why: what was decided, and what it was chosen over ---------------------------- */

struct why_args {
    struct daemon_args daemon;
    int limit;
};

static const struct option_spec why_options[] = {
    OPT(struct why_args, limit, INT, "limit", 'l', "COUNT",
        "so many of its newest decisions, also about power limits and broken promises "
        "[the one that put it where it is]",
        .min = 0, .max = 1000, .default_text = "0"),
    DAEMON_TABLE_OPTIONS,
    {0},
};

/* The row is a place that was passed over; ctx is the decision. */
static const struct view_column why_columns[] = {
    {">DECISION", .key = "^id", .as = VIEW_COUNT},
#define PLACE_COLUMNS                                                                    \
    {"TYPE", .key = "type"}, {"VERDICT", .key = "verdict"},                              \
        {">RATE", .key = "rate", .as = VIEW_RATE},                                       \
        {">SURE", .key = "sure_rate", .as = VIEW_RATE},                                  \
        {">NEEDED", .key = "needed_rate", .as = VIEW_RATE},                              \
        {">POWER", .key = "watts", .as = VIEW_WATTS},                                    \
        {">FITS", .key = "fits", .as = VIEW_SHARE}, {"TEXT", .key = "text"}, {0},
    PLACE_COLUMNS};

/* Of a job that waits: nothing was decided. */
static const struct view_column place_columns[] = {PLACE_COLUMNS};

/* Beside Slurm, which decides itself. */
#define ADVISE_PREFIX "advise_"

static void print_decision(const struct json_value *d)
{
    const struct json_value *devices = json_value_get(d, "devices");
    const struct json_value *rate = json_value_get(d, "rate");
    const char *kind = view_text_or(d, "kind", "?");
    bool advice = str_starts(kind, ADVISE_PREFIX);
    char a[VIEW_SIZE], b[VIEW_SIZE];

    printf("decision %.0f, %s: %s%s", view_number(d, "id"),
           view_time(a, view_number(d, "at_s")), advice ? "only advised: " : "",
           advice ? kind + strlen(ADVISE_PREFIX) : kind);
    for (size_t i = 0; i < json_value_count(devices); i++)
        printf("%s%s", i ? "," : " on ",
               json_member_string(json_value_item(devices, i), "name"));
    putchar('\n');
    printf("  %s\n", view_text_or(d, "reason", "-"));
    if (json_value_kind(rate) == JSON_KIND_OBJECT) {
        printf("  predicted %s/s", view_rate(a, view_number(rate, "value")));
        if (isfinite(view_number(d, "measured_rate")))
            printf(", measured %s/s", view_rate(b, view_number(d, "measured_rate")));
        putchar('\n');
    }
    if (isfinite(view_number(d, "joules")))
        printf("  predicted energy %s\n", view_joules(a, view_number(d, "joules")));
    if (json_member_bool(d, "explored", false))
        printf("  chosen to learn how it would run there\n");
}

/* Why it waits, before the places it could have. */
static int print_waiting(const struct command_call *call, const struct json_value *job,
                         struct err *err)
{
    const struct daemon_args *args = call->args;

    (void)err;
    if (!args->parsable)
        printf("job %.0f is %s: %s\n", view_number(job, "id"),
               view_text_or(job, "state", "?"),
               view_text_or(job, "reason", "nothing has been decided about it yet"));
    return 0;
}

/* What decisions do not tell: how it ended, who else placed it, why it only waits. */
static void print_standing(const struct daemon_args *args, const struct json_value *job)
{
    static const char *const words[][2] = {{"waiting", "is waiting"},
                                           {"held", "is held"},
                                           {"done", "is done"},
                                           {"failed", "has failed"},
                                           {"cancelled", "was cancelled"}};
    const char *state = view_text_or(job, "state", ""),
               *reason = view_text_or(job, "reason", "");

    if (args->json || args->parsable)
        return;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(state, words[i][0]) == 0)
            printf("job %.0f %s%s%s\n", view_number(job, "id"), words[i][1],
                   *reason ? ": " : "", reason);
    if (strcmp(state, "running") == 0 && json_member_string(job, "engine_ref"))
        printf("job %.0f runs where Slurm put it\n", view_number(job, "id"));
}

static int print_decisions(const struct command_call *call, const struct json_value *root,
                           struct err *err)
{
    const struct daemon_args *args = call->args;
    const struct json_value *list = json_value_get(root, "decisions");

    (void)err;
    for (size_t i = 0; !args->parsable && i < json_value_count(list); i++)
        print_decision(json_value_item(list, i));
    return 0;
}

static const struct daemon_view why_view = {.list = "decisions",
                                            .rows = "alternatives",
                                            .columns = why_columns,
                                            .before = print_decisions};
static const struct daemon_view why_waiting = {
    .list = "places", .columns = place_columns, .before = print_waiting};

/* Of a job that waits its places; else the decision that put it where it is, or as many
 * of all kinds as are asked for. */
static int run_why(struct command_call *call)
{
    const struct why_args *args = call->args;
    struct client_answer answer;
    struct str path = {0};
    bool waits;
    int status;

    str_addf(&path, "/v1/jobs/%s", call->operands[0]);
    status = daemon_send(call, HTTP_GET, str_text(&path), NULL, &answer);
    str_fini(&path);
    if (status)
        return status;
    waits = args->limit == 0 && json_value_get(daemon_root(&answer), "places");
    if (waits)
        status = daemon_show_answer(call, &answer, &why_waiting);
    else
        print_standing(&args->daemon, daemon_root(&answer));
    client_answer_fini(&answer);
    if (waits)
        return status;
    str_add(&path, "/v1/decisions");
    daemon_add_query(&path, "job", call->operands[0]);
    if (args->limit == 0)
        daemon_add_query(&path, "kind", "placed");
    daemon_add_count(&path, "limit", args->limit > 0 ? args->limit : 1);
    status = daemon_send(call, HTTP_GET, str_text(&path), NULL, &answer);
    str_fini(&path);
    if (status)
        return status;
    status = daemon_show_answer(call, &answer, &why_view);
    client_answer_fini(&answer);
    return status;
}

const struct command cmd_why = {
    .name = "why",
    .summary = "say why a job runs where it does, waits or has ended",
    .help = "Shows the decision that put the job where it is and the types that were "
            "passed over; of a job that waits, every type and why it is not taken; of "
            "one that has ended, first why. SURE "
            "is the rate at the confidence that is asked for: it must reach what is "
            "NEEDED.",
    .examples = "corgi why 7\ncorgi why 7 --limit 5",
    .operands = "JOB",
    .options = why_options,
    .args_size = sizeof(struct why_args),
    .run = run_why,
};
