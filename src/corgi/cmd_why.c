/* cmd_why.c - corgi why: what was decided about a job, and what it was chosen over */
#include "corgi/commands.h"

#include "corgi/daemon.h"
#include "corgi/view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct why_args {
    struct daemon_args daemon;
    int limit;
};

static const struct option_spec options[] = {
    {.name = "limit",
     .letter = 'l',
     .type = OPTION_INT,
     .argument = "COUNT",
     .min = 1,
     .max = 1000,
     .default_text = "1",
     .offset = offsetof(struct why_args, limit),
     .help = "how many of its newest decisions"},
    DAEMON_JSON_OPTION(struct why_args),
    DAEMON_PARSABLE_OPTION(struct why_args),
    DAEMON_CONNECT_OPTIONS(struct why_args),
    {0},
};

static void add_alternative(struct view *v, const struct json_value *decision,
                            const struct json_value *a)
{
    double beside = view_number(a, "beside");
    char text[VIEW_SIZE];

    view_row(v);
    view_cellf(v, "%.0f", view_number(decision, "id"));
    view_cell(v, view_text(a, "type"));
    view_cell(v, view_text(a, "node"));
    if (isfinite(beside))
        view_cellf(v, "job %.0f", beside);
    else
        view_cell(v, "alone");
    view_cell(v, view_text(a, "verdict"));
    view_cell(v, view_rate(text, view_number(a, "rate")));
    view_cell(v, view_watts(text, view_number(a, "more_watts")));
    view_cell(v, view_joules(text, view_number(a, "more_joules")));
    view_cell(v, view_text(a, "text"));
}

static void print_decision(const struct json_value *d)
{
    const struct json_value *devices = json_value_get(d, "devices");
    const struct json_value *rate = json_value_get(d, "rate");
    char a[VIEW_SIZE], b[VIEW_SIZE];

    printf("decision %.0f, %s: %s", view_number(d, "id"),
           view_time(a, view_number(d, "at_s")),
           view_text(d, "kind") ? view_text(d, "kind") : "?");
    for (size_t i = 0; i < json_value_count(devices); i++)
        printf("%s%s", i ? "," : " on ", view_text(json_value_item(devices, i), "name"));
    putchar('\n');
    printf("  %s\n", view_text(d, "reason") ? view_text(d, "reason") : "-");
    if (json_value_kind(rate) == JSON_KIND_OBJECT)
        printf("  predicted %s/s, measured %s/s\n",
               view_rate(a, view_number(rate, "value")),
               view_rate(b, view_number(d, "measured_rate")));
    if (isfinite(view_number(d, "joules")))
        printf("  predicted energy %s\n", view_joules(a, view_number(d, "joules")));
    if (view_flag(d, "explored"))
        printf("  chosen to learn how it would run there\n");
}

static int print_alternatives(const struct why_args *args, const struct json_value *list,
                              struct err *err)
{
    struct view *v = view_create();
    int rc = 0;
    bool any = false;

    view_columns(
        v, ">DECISION TYPE NODE BESIDE VERDICT >RATE >MORE-POWER >MORE-ENERGY TEXT");
    for (size_t i = 0; i < json_value_count(list); i++) {
        const struct json_value *d = json_value_item(list, i);
        const struct json_value *others = json_value_get(d, "alternatives");

        for (size_t k = 0; k < json_value_count(others); k++) {
            add_alternative(v, d, json_value_item(others, k));
            any = true;
        }
    }
    if (any || args->daemon.parsable)
        rc = view_print(v, args->daemon.parsable, err);
    view_destroy(v);
    return rc;
}

/* Nothing was decided yet: then why it waits. */
static int print_waiting(const struct command_call *call, const struct why_args *args)
{
    struct client_answer answer;
    struct str path = {0};
    const struct json_value *job;
    int status;

    str_add(&path, "/v1/jobs");
    daemon_add_segment(&path, call->operands[0]);
    status = daemon_fetch(call, &args->daemon, str_text(&path), &answer);
    str_fini(&path);
    if (status)
        return status;
    job = daemon_root(&answer);
    printf("job %.0f is %s: %s\n", view_number(job, "id"),
           view_text(job, "state") ? view_text(job, "state") : "?",
           view_text(job, "reason") ? view_text(job, "reason")
                                    : "nothing has been decided about it yet");
    client_answer_fini(&answer);
    return 0;
}

static int run(struct command_call *call)
{
    const struct why_args *args = call->args;
    const struct json_value *list;
    struct client_answer answer;
    struct str path = {0};
    struct err err = {0};
    char limit[16];
    int status;

    snprintf(limit, sizeof(limit), "%d", args->limit);
    str_add(&path, "/v1/decisions");
    daemon_add_query(&path, "job", call->operands[0]);
    daemon_add_query(&path, "limit", limit);
    status = daemon_fetch(call, &args->daemon, str_text(&path), &answer);
    str_fini(&path);
    if (status)
        return status;
    list = json_value_get(daemon_root(&answer), "decisions");
    if (args->daemon.json) {
        daemon_print_json(&answer);
    } else if (json_value_count(list) == 0 && !args->daemon.parsable) {
        status = print_waiting(call, args);
    } else {
        for (size_t i = 0; i < json_value_count(list) && !args->daemon.parsable; i++)
            print_decision(json_value_item(list, i));
        if (print_alternatives(args, list, &err) < 0)
            status = command_failed(call, &err);
    }
    client_answer_fini(&answer);
    return status;
}

const struct command cmd_why = {
    .name = "why",
    .summary = "say why a job runs where it does, or why it waits",
    .help = "Shows the decision from the ledger and the places that were passed over, "
            "with what they would have cost more.",
    .examples = "corgi why 7\ncorgi why 7 --limit 5",
    .operands = "JOB",
    .operand_min = 1,
    .operand_max = 1,
    .options = options,
    .args_size = sizeof(struct why_args),
    .run = run,
};
