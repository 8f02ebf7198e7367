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
    OPT(struct why_args, limit, INT, "limit", 'l', "COUNT",
        "how many of its newest decisions", .min = 1, .max = 1000, .default_text = "1"),
    DAEMON_TABLE_OPTIONS,
    {0},
};

static void add_beside(struct table *t, const struct json_value *place, const void *ctx)
{
    double beside = view_number(place, "beside");

    (void)ctx;
    if (isfinite(beside))
        table_cellf(t, "job %.0f", beside);
    else
        view_cell(t, "alone");
}

/* The row is a place that was passed over; ctx is the decision. */
static const struct view_column columns[] = {
    {">DECISION", .key = "^id", .as = VIEW_COUNT},
    {"TYPE", .key = "type"},
    {"NODE", .key = "node"},
    {"BESIDE", .add = add_beside},
    {"VERDICT", .key = "verdict"},
    {">RATE", .key = "rate", .as = VIEW_RATE},
    {">MORE-POWER", .key = "more_watts", .as = VIEW_WATTS},
    {">MORE-ENERGY", .key = "more_joules", .as = VIEW_JOULES},
    {"TEXT", .key = "text"},
    {0},
};

static void print_decision(const struct json_value *d)
{
    const struct json_value *devices = json_value_get(d, "devices");
    const struct json_value *rate = json_value_get(d, "rate");
    char a[VIEW_SIZE], b[VIEW_SIZE];

    printf("decision %.0f, %s: %s", view_number(d, "id"),
           view_time(a, view_number(d, "at_s")), view_text_or(d, "kind", "?"));
    for (size_t i = 0; i < json_value_count(devices); i++)
        printf("%s%s", i ? "," : " on ", view_text(json_value_item(devices, i), "name"));
    putchar('\n');
    printf("  %s\n", view_text_or(d, "reason", "-"));
    if (json_value_kind(rate) == JSON_KIND_OBJECT)
        printf("  predicted %s/s, measured %s/s\n",
               view_rate(a, view_number(rate, "value")),
               view_rate(b, view_number(d, "measured_rate")));
    if (isfinite(view_number(d, "joules")))
        printf("  predicted energy %s\n", view_joules(a, view_number(d, "joules")));
    if (view_flag(d, "explored"))
        printf("  chosen to learn how it would run there\n");
}

/* Nothing was decided yet: then why it waits. */
static int print_waiting(const struct command_call *call, const struct json_value *job,
                         struct err *err)
{
    (void)call, (void)err;
    printf("job %.0f is %s: %s\n", view_number(job, "id"),
           view_text_or(job, "state", "?"),
           view_text_or(job, "reason", "nothing has been decided about it yet"));
    return 0;
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

static const struct daemon_view view = {.list = "decisions",
                                        .rows = "alternatives",
                                        .columns = columns,
                                        .before = print_decisions};
static const struct daemon_view waiting = {.path = "/v1/jobs/%s",
                                           .before = print_waiting};

static int run(struct command_call *call)
{
    const struct why_args *args = call->args;
    struct client_answer answer;
    struct str path = {0};
    int status;

    str_add(&path, "/v1/decisions");
    daemon_add_query(&path, "job", call->operands[0]);
    daemon_add_count(&path, "limit", args->limit);
    status = daemon_send(call, HTTP_GET, str_text(&path), NULL, &answer);
    str_fini(&path);
    if (status)
        return status;
    if (!args->daemon.json && !args->daemon.parsable &&
        json_value_count(json_value_get(daemon_root(&answer), "decisions")) == 0)
        status = daemon_show(call, &waiting, NULL, NULL);
    else
        status = daemon_show_answer(call, &answer, &view);
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
