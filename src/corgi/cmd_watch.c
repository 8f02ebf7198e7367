/* cmd_watch.c - corgi watch: events as they happen */
#include "corgi/commands.h"

#include "base/json_out.h"
#include "base/parse.h"
#include "corgi/daemon.h"
#include "corgi/follow.h"
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
    {.name = "types",
     .letter = 't',
     .type = OPTION_STRING,
     .argument = "TYPE,...",
     .offset = offsetof(struct watch_args, types),
     .help = "job, decision, guard, device, node, measurement, power, policy; all "
             "without it"},
    {.name = "since",
     .type = OPTION_STRING,
     .argument = "ID",
     .offset = offsetof(struct watch_args, since),
     .help = "first what came after the event of this number"},
    {.name = "count",
     .letter = 'c',
     .type = OPTION_INT,
     .argument = "COUNT",
     .min = 1,
     .max = 1000000000,
     .offset = offsetof(struct watch_args, count),
     .help = "end after so many"},
    DAEMON_JSON_OPTION(struct watch_args),
    DAEMON_CONNECT_OPTIONS(struct watch_args),
    {0},
};

struct watching {
    const struct watch_args *args;
    const char *job; /* NULL: all */
    struct client *aside;
    struct err err; /* of looking at the job */
    int seen;
    bool ended;
    char state[32];
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
        const char *text = view_text(data, shown[i]);
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

static bool take_event(void *ctx, const struct client_event *event,
                       const struct json_value *data)
{
    struct watching *w = ctx;
    const char *state = view_text(data, "state");

    if (!strcmp(event->type, "bye")) {
        const char *reason = view_text(data, "reason");

        fprintf(stderr, "the daemon ended the stream: %s\n", reason ? reason : "-");
        return true; /* and is asked again */
    }
    if (!strcmp(event->type, "lost"))
        fprintf(stderr, "some events are not kept any more\n");
    if (w->args->daemon.json)
        print_json(event);
    else
        print_line(event, data);
    fflush(stdout);
    if (w->job && !strcmp(event->type, "job") && state && follow_is_end(state)) {
        str_copy(w->state, sizeof(w->state), state);
        w->ended = true;
        return false;
    }
    return !(w->args->count && ++w->seen >= w->args->count) && !ferror(stdout);
}

/* A job that has ended already sends no more events. */
static bool look(void *ctx)
{
    struct watching *w = ctx;

    if (follow_look(w->aside, w->job, w->state, sizeof(w->state), &w->err) < 0)
        return false;
    w->ended = follow_is_end(w->state);
    if (w->ended)
        fprintf(stderr, "job %s is %s\n", w->job, w->state);
    return !w->ended;
}

static int run(struct command_call *call)
{
    const struct watch_args *args = call->args;
    struct watching w = {.args = args, .job = call->operands[0]};
    struct follow f = {.job = w.job,
                       .types = args->types,
                       .last = args->since,
                       .event = take_event,
                       .ctx = &w};
    struct err err = {0};
    uint64_t id;
    int rc;

    if ((w.job && !parse_u64(w.job, &id)) ||
        (args->since && !parse_u64(args->since, &id)))
        return command_wrong_use(call, "'%.40s' is not a number",
                                 w.job && !parse_u64(w.job, &id) ? w.job : args->since);
    if (daemon_open(&f.client, &args->daemon, &err) < 0)
        return command_failed(call, &err);
    if (w.job) {
        f.begun = look;
        if (daemon_open(&w.aside, &args->daemon, &err) < 0) {
            client_destroy(f.client);
            return command_failed(call, &err);
        }
    }
    rc = follow_events(&f, &err);
    client_destroy(f.client);
    client_destroy(w.aside);
    if (rc == 0 && w.err.code != ERR_NONE) {
        err = w.err;
        rc = -1;
    }
    if (rc < 0)
        return command_failed(call, &err);
    return w.ended && strcmp(w.state, "done") != 0 ? 1 : 0;
}

const struct command cmd_watch = {
    .name = "watch",
    .summary = "follow events as they happen",
    .help = "With a job it ends when the job does, with status 1 unless the job is done "
            "in good order.  A lost connection is taken up again where it broke.",
    .examples = "corgi watch\ncorgi watch 7\ncorgi watch --types guard,node --json",
    .operands = "[JOB]",
    .operand_max = 1,
    .options = options,
    .args_size = sizeof(struct watch_args),
    .run = run,
};
