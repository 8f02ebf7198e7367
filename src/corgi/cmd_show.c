/* cmd_show.c - corgi show: everything about a job */
#include "corgi/commands.h"

#include "corgi/daemon.h"
#include "corgi/quote_view.h"
#include "corgi/view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct show_args {
    struct daemon_args daemon;
    bool history;
};

static const struct option_spec options[] = {
    {.name = "history",
     .letter = 'H',
     .type = OPTION_FLAG,
     .offset = offsetof(struct show_args, history),
     .help = "what became of it, step by step"},
    DAEMON_JSON_OPTION(struct show_args),
    DAEMON_PARSABLE_OPTION(struct show_args),
    DAEMON_CONNECT_OPTIONS(struct show_args),
    {0},
};

static void line(const char *label, const char *text)
{
    if (text && *text && strcmp(text, "-") != 0)
        printf("  %-12s %s\n", label, text);
}

static void print_need(const struct json_value *job, const char *unit)
{
    const struct json_value *need = json_value_get(job, "need");
    const char *kind = view_text(need, "kind");
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
    line("need", str_text(&text));
    str_fini(&text);
}

static void print_rates(const struct json_value *job, const char *unit)
{
    char a[VIEW_SIZE], b[VIEW_SIZE], text[120];
    double rate = view_number(job, "rate"), promised = view_number(job, "promised_rate");
    double done = view_number(job, "steps_done"), total = view_number(job, "total_steps");

    if (isfinite(rate)) {
        snprintf(text, sizeof(text), "%s %s measured", view_rate(a, rate), unit);
        line("rate", text);
    }
    if (isfinite(promised)) {
        snprintf(text, sizeof(text), "%s %s", view_rate(a, promised), unit);
        line("promised", text);
    }
    if (done > 0 || total > 0) {
        snprintf(text, sizeof(text), "%s of %s steps", view_rate(a, done),
                 total > 0 ? view_rate(b, total) : "?");
        line("progress", text);
    }
}

/* Of a service: who answers, how many ask, how soon they are answered. */
static void print_service(const struct json_value *job)
{
    double most = view_number(job, "max_replicas"),
           demand = view_number(job, "demand_rate");
    double latency = view_number(job, "latency_s"), of = view_number(job, "replica_of");
    char a[VIEW_SIZE], text[120];

    if (isfinite(of)) {
        snprintf(text, sizeof(text), "a replica of job %.0f", of);
        line("service", text);
    }
    if (most > 1) {
        snprintf(text, sizeof(text), "%.0f, %.0f at most", view_number(job, "replicas"),
                 most);
        line("replicas", text);
    }
    if (isfinite(demand)) {
        snprintf(text, sizeof(text), "%s requests/s", view_rate(a, demand));
        line("asked for", text);
    }
    if (isfinite(latency)) {
        snprintf(text, sizeof(text), "p99 %.3g s measured", latency);
        line("latency", text);
    }
}

static void print_places(const struct json_value *job)
{
    const struct json_value *devices = json_value_get(job, "devices");
    const struct json_value *neighbours = json_value_get(job, "neighbours");
    char text[200];

    for (size_t i = 0; i < json_value_count(devices); i++) {
        const struct json_value *d = json_value_item(devices, i);

        snprintf(text, sizeof(text), "%s (%s)",
                 view_text(d, "name") ? view_text(d, "name") : "?",
                 view_text(d, "type") ? view_text(d, "type") : "?");
        line(i ? "" : "on", text);
    }
    for (size_t i = 0; i < json_value_count(neighbours); i++) {
        const struct json_value *n = json_value_item(neighbours, i);

        snprintf(text, sizeof(text), "job %.0f %s", view_number(n, "job"),
                 view_text(n, "name") ? view_text(n, "name") : "");
        line(i ? "" : "beside", text);
    }
}

static void print_times(const struct json_value *job)
{
    static const char *const keys[] = {"submitted_s", "started_s", "ended_s",
                                       "expected_start_s", "expected_end_s"};
    static const char *const labels[] = {"submitted", "started", "ended",
                                         "start expected", "end expected"};
    char a[VIEW_SIZE];

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        line(labels[i], view_time(a, view_number(job, keys[i])));
}

static void print_energy(const struct json_value *job)
{
    char a[VIEW_SIZE], b[VIEW_SIZE], c[VIEW_SIZE], text[140];
    double low = view_number(job, "joules_low"), high = view_number(job, "joules_high");

    if (!isfinite(view_number(job, "joules")))
        return;
    snprintf(text, sizeof(text), "%s", view_joules(a, view_number(job, "joules")));
    if (isfinite(low) && isfinite(high) && high > low)
        snprintf(text, sizeof(text), "%s (%s to %s)", a, view_joules(b, low),
                 view_joules(c, high));
    line("energy", text);
    line("power", view_watts(a, view_number(job, "watts")));
}

static void print_command(const struct json_value *job)
{
    const struct json_value *words = json_value_get(job, "command");
    struct str text = {0};

    for (size_t i = 0; i < json_value_count(words); i++)
        str_addf(&text, "%s%s", i ? " " : "",
                 json_value_string(json_value_item(words, i)));
    line("command", str_text(&text));
    line("directory", view_text(job, "directory"));
    line("output", view_text(job, "output"));
    str_fini(&text);
}

static void print_job(const struct json_value *job)
{
    const char *kind = view_text(job, "kind"), *name = view_text(job, "name");
    const char *unit = kind && !strcmp(kind, "inference") ? "requests/s" : "steps/s";
    const struct json_value *quote = json_value_get(job, "quote");
    char text[80];

    printf("job %.0f %s\n", view_number(job, "id"), name ? name : "");
    line("state", view_text(job, "state"));
    line("reason", view_text(job, "reason"));
    line("user", view_text(job, "user"));
    line("kind", kind);
    print_need(job, unit);
    print_rates(job, unit);
    print_service(job);
    print_places(job);
    print_energy(job);
    print_times(job);
    snprintf(text, sizeof(text), "%.0f GPUs, priority %.0f, %.0f moves, %.0f restarts",
             view_number(job, "gpus"), view_number(job, "priority"),
             view_number(job, "moves"), view_number(job, "restarts"));
    line("runs", text);
    print_command(job);
    if (json_value_kind(quote) == JSON_KIND_OBJECT) {
        printf("the promise\n");
        quote_view_print(quote, unit, NAN, true, stdout);
    }
}

static int print_history(const struct show_args *args, const struct json_value *root,
                         struct err *err)
{
    const struct json_value *events = json_value_get(root, "events");
    struct view *v = view_create();
    char a[VIEW_SIZE];
    int rc;

    view_columns(v, "TIME WHAT FROM TO BY TEXT");
    for (size_t i = 0; i < json_value_count(events); i++) {
        const struct json_value *e = json_value_item(events, i);

        view_row(v);
        view_cell(v, view_time(a, view_number(e, "at_s")));
        view_cell(v, view_text(e, "kind"));
        view_cell(v, view_text(e, "from"));
        view_cell(v, view_text(e, "to"));
        view_cell(v, view_text(e, "by"));
        view_cell(v, view_text(e, "text"));
    }
    rc = view_print(v, args->daemon.parsable, err);
    view_destroy(v);
    return rc;
}

/* The members that are plain values, as KEY|VALUE. */
static int print_members(const struct json_value *job, struct err *err)
{
    struct json_iter it = {.object = job};
    struct view *v = view_create();
    int rc;

    view_columns(v, "KEY VALUE");
    while (json_iter_next(&it)) {
        double number;
        bool flag;

        if (json_value_kind(it.value) == JSON_KIND_OBJECT ||
            json_value_kind(it.value) == JSON_KIND_ARRAY)
            continue;
        view_row(v);
        view_cell(v, it.key);
        if (json_value_number(it.value, &number))
            view_cellf(v, "%.15g", number);
        else if (json_value_bool(it.value, &flag))
            view_cell(v, flag ? "true" : "false");
        else
            view_cell(v, json_value_string(it.value));
    }
    rc = view_print(v, true, err);
    view_destroy(v);
    return rc;
}

static int run(struct command_call *call)
{
    const struct show_args *args = call->args;
    struct client_answer answer;
    struct str path = {0};
    struct err err = {0};
    int status, rc = 0;

    str_add(&path, "/v1/jobs");
    daemon_add_segment(&path, call->operands[0]);
    if (args->history)
        str_add(&path, "/history?limit=1000");
    status = daemon_fetch(call, &args->daemon, str_text(&path), &answer);
    str_fini(&path);
    if (status)
        return status;
    if (args->daemon.json)
        daemon_print_json(&answer);
    else if (args->history)
        rc = print_history(args, daemon_root(&answer), &err);
    else if (args->daemon.parsable)
        rc = print_members(daemon_root(&answer), &err);
    else
        print_job(daemon_root(&answer));
    client_answer_fini(&answer);
    return rc < 0 ? command_failed(call, &err) : 0;
}

const struct command cmd_show = {
    .name = "show",
    .summary = "show everything about a job",
    .examples = "corgi show 7\ncorgi show 7 --history",
    .operands = "JOB",
    .operand_min = 1,
    .operand_max = 1,
    .options = options,
    .args_size = sizeof(struct show_args),
    .run = run,
};
