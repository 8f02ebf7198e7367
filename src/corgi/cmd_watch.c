/* cmd_watch.c - corgi watch: events as they happen */
#include "corgi/commands.h"

#include "base/json_out.h"
#include "base/parse.h"
#include "corgi/daemon.h"
#include "corgi/view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct watch_args {
    struct daemon_args daemon;
    const char *types, *since;
    int count;
};

static const struct option_spec options[] = {
    OPT(struct watch_args, types, STRING, "types", 't', "TYPE,...",
        "job, decision, guard, device, node, measurement, power, policy; all without it"),
    OPT(struct watch_args, since, STRING, "since", 0, "ID",
        "first what came after the event of this number"),
    OPT(struct watch_args, count, INT, "count", 'c', "COUNT", "end after so many",
        .min = 1, .max = 1000000000),
    DAEMON_OPTIONS,
    {0},
};

/* The event as one object on one line; its data is JSON already. */
static void print_json(const struct client_event *event)
{
    uint64_t id;

    printf("{\"id\":%s,\"type\":\"%s\",\"data\":",
           parse_u64(event->id, &id) ? event->id : "null", event->type);
    for (const char *c = event->data; *c; c++)
        putchar(*c == '\n' ? ' ' : *c);
    puts("}");
}

static void print_line(const struct client_event *event, const struct json_value *data)
{
    static const char *const shown[] = {"id",     "job",    "name",  "node",
                                        "device", "kind",   "state", "rate",
                                        "watts",  "reason", "text",  NULL};
    char a[VIEW_SIZE];

    printf("%s %-11s", view_time(a, view_number(data, "at_s")), event->type);
    for (int i = 0; shown[i]; i++) {
        const char *text = json_member_string(data, shown[i]);
        double number = view_number(data, shown[i]);

        if (text && strchr(text, ' '))
            printf(" %s=\"%s\"", shown[i], text);
        else if (text)
            printf(" %s=%s", shown[i], text);
        else if (isfinite(number))
            printf(" %s=%.6g", shown[i], number);
    }
    putchar('\n');
}

struct watching {
    const struct watch_args *args;
    int seen;
};

static bool take_event(void *ctx, const struct client_event *event,
                       const struct json_value *data)
{
    struct watching *w = ctx;

    if (!strcmp(event->type, "bye")) {
        fprintf(stderr, "the daemon ended the stream: %s\n",
                view_text_or(data, "reason", "-"));
        return true; /* and is asked again */
    }
    if (!strcmp(event->type, "lost"))
        fprintf(stderr, "some events are not kept any more\n");
    if (w->args->daemon.json)
        print_json(event);
    else
        print_line(event, data);
    fflush(stdout);
    return !(w->args->count && ++w->seen >= w->args->count) && !ferror(stdout);
}

static int run(struct command_call *call)
{
    const struct watch_args *args = call->args;
    struct watching w = {.args = args};
    struct follow f = {.daemon = &args->daemon,
                       .job = call->operands[0],
                       .types = args->types,
                       .last = args->since,
                       .event = take_event,
                       .ctx = &w};
    struct err err = {0};
    uint64_t id;

    if ((f.job && !parse_u64(f.job, &id)) ||
        (args->since && !parse_u64(args->since, &id)))
        return command_wrong_use(call, "'%.40s' is not a number",
                                 f.job && !parse_u64(f.job, &id) ? f.job : args->since);
    if (follow_events(&f, &err) < 0)
        return command_failed(call, &err);
    if (f.ended_before)
        fprintf(stderr, "job %s is %s\n", f.job, f.state);
    return *f.state && strcmp(f.state, "done") != 0 ? 1 : 0;
}

const struct command cmd_watch = {
    .name = "watch",
    .summary = "follow events as they happen",
    .help = "With a job it ends when the job does, with status 1 unless the job is done "
            "in good order.  A lost connection is taken up again where it broke.",
    .examples = "corgi watch\ncorgi watch 7\ncorgi watch --types guard,node --json",
    .operands = "[JOB]",
    .options = options,
    .args_size = sizeof(struct watch_args),
    .run = run,
};
