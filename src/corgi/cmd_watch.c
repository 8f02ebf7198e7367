/* cmd_watch.c - corgi watch: events as they happen, a line each
 *
 * daemon.c follows the stream and gives every event to take_event().  Each device tells
 * its power every few seconds: those are added up, and the sum is told now and then. */
#include "corgi/commands.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/vec.h"
#include "corgi/daemon.h"
#include "corgi/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define POWER_EVERY_S 30.0

struct watch_args {
    struct daemon_args daemon;
    const char *types, *since;
    int count;
    bool all;
};

static const struct option_spec options[] = {
    OPT(struct watch_args, types, STRING, "types", 't', "EVENT,...",
        "job, decision, guard, device, node, measurement, power, policy; all without it"),
    OPT(struct watch_args, all, FLAG, "all", 'a', NULL,
        "the power of each GPU too, not only the sum now and then"),
    OPT(struct watch_args, since, STRING, "since", 0, "ID",
        "first what came after the event of this number"),
    OPT(struct watch_args, count, INT, "count", 'c', "COUNT", "end after so many",
        .min = 1, .max = 1000000000),
    DAEMON_OPTIONS,
    {0},
};

struct named_job {
    double id;
    char *name;
};

struct gpu_power {
    char *device;
    double watts;
};

struct watching {
    const struct watch_args *args;
    int seen;
    bool colours, simulated;
    char day[16]; /* of the line before */
    double power_told_s;
    vec_of(struct named_job) jobs;
    vec_of(struct gpu_power) powers;
};

/* ---- what was heard before --------------------------------------------------------- */

static const char *name_of(const struct watching *w, double job)
{
    vec_each (const struct named_job, j, &w->jobs)
        if (j->id == job)
            return j->name;
    return "";
}

static void note_name(struct watching *w, double job, const char *name)
{
    if (name && *name && !*name_of(w, job))
        vec_push(&w->jobs, ((struct named_job){job, mem_strdup(name)}));
}

static void note_power(struct watching *w, const char *device, double watts)
{
    vec_each (struct gpu_power, p, &w->powers)
        if (!strcmp(p->device, device)) {
            p->watts = watts;
            return;
        }
    vec_push(&w->powers, ((struct gpu_power){mem_strdup(device), watts}));
}

static void forget(struct watching *w)
{
    vec_each (struct named_job, j, &w->jobs)
        free(j->name);
    vec_each (struct gpu_power, p, &w->powers)
        free(p->device);
    vec_free(&w->jobs);
    vec_free(&w->powers);
}

/* ---- an event in words ------------------------------------------------------------- */

/* "kepler-1:0, kepler-1:1 (k80)" */
static void add_places(struct str *out, const char *before,
                       const struct json_value *devices)
{
    size_t count = json_value_count(devices);

    for (size_t i = 0; i < count; i++)
        str_addf(out, "%s%s", i ? ", " : before,
                 view_text_or(json_value_item(devices, i), "name", "?"));
    if (count > 0)
        str_addf(out, " (%s)", view_text_or(json_value_item(devices, 0), "type", "?"));
}

static void add_reason(struct str *out, const struct json_value *data)
{
    const char *by = json_member_string(data, "by");
    const char *reason = json_member_string(data, "reason");

    if (by)
        str_addf(out, " by %s", by);
    if (reason && *reason)
        str_addf(out, ": %s", reason);
}

static void add_job(struct str *out, const struct watching *w, double job)
{
    const char *name = name_of(w, job);

    str_addf(out, "job %.0f%s%s ", job, *name ? " " : "", name);
}

static void job_words(struct str *out, struct watching *w, const struct json_value *data)
{
    const char *what = view_text_or(data, "what", view_text_or(data, "state", "?"));

    note_name(w, view_number(data, "id"), json_member_string(data, "name"));
    add_job(out, w, view_number(data, "id"));
    str_add(out, what);
    if (!strcmp(what, "started") || !strcmp(what, "moved"))
        add_places(out, !strcmp(what, "moved") ? " to " : " on ",
                   json_value_get(data, "devices"));
    add_reason(out, data);
}

static void decision_words(struct str *out, struct watching *w,
                           const struct json_value *data)
{
    double rate = view_number(data, "rate"), watts = view_number(data, "watts");
    char a[VIEW_SIZE];

    if (view_number(data, "job") > 0)
        add_job(out, w, view_number(data, "job"));
    str_addf(out, "%s", view_text_or(data, "kind", "?"));
    add_places(out, " on ", json_value_get(data, "devices"));
    add_reason(out, data);
    if (rate > 0)
        str_addf(out, "; expects %s/s", view_rate(a, rate));
    if (watts > 0)
        str_addf(out, "%s%s", rate > 0 ? ", " : "; ", view_watts(a, watts));
}

static void guard_words(struct str *out, struct watching *w,
                        const struct json_value *data)
{
    char a[VIEW_SIZE], b[VIEW_SIZE];

    add_job(out, w, view_number(data, "job"));
    str_addf(out, "has %s/s of the %s/s promised",
             view_rate(a, view_number(data, "measured")),
             view_rate(b, view_number(data, "promised")));
    add_reason(out, data);
}

static void measurement_words(struct str *out, struct watching *w,
                              const struct json_value *data)
{
    double latency_s = view_number(data, "latency_s");
    double steps = view_number(data, "steps_done"), watts = view_number(data, "watts");
    char a[VIEW_SIZE];

    add_job(out, w, view_number(data, "job"));
    str_addf(out, "%s/s", view_rate(a, view_number(data, "rate")));
    if (watts > 0)
        str_addf(out, ", %s", view_watts(a, watts));
    if (latency_s > 0)
        str_addf(out, ", p99 %.3g ms", 1000 * latency_s);
    if (steps > 0)
        str_addf(out, ", %s steps", view_count(a, steps));
}

static void power_words(struct str *out, struct watching *w,
                        const struct json_value *data)
{
    char a[VIEW_SIZE];

    (void)w;
    str_addf(out, "%s %s", view_text_or(data, "device", "?"),
             view_watts(a, view_number(data, "watts")));
}

/* Nodes, devices, the policy: what has become of which. */
static void thing_words(struct str *out, struct watching *w,
                        const struct json_value *data)
{
    const char *by = json_member_string(data, "changed_by");

    (void)w;
    if (json_member_string(data, "name"))
        str_addf(out, "%s: %s", json_member_string(data, "name"),
                 view_text_or(data, "what", view_text_or(data, "state", "?")));
    else
        str_addf(out, "changed%s%s", by ? " by " : "", by ? by : "");
    add_reason(out, data);
}

static const struct event_words {
    const char *type;
    void (*add)(struct str *out, struct watching *w, const struct json_value *data);
} all_words[] = {
    {"job", job_words},     {"decision", decision_words},
    {"guard", guard_words}, {"measurement", measurement_words},
    {"power", power_words}, {NULL, thing_words},
};

/* ---- lines ------------------------------------------------------------------------- */

static const char *colour_of(const char *type, const struct json_value *data)
{
    const char *state = view_text_or(data, "state", "");

    if (!strcmp(type, "guard") || !strcmp(state, "failed"))
        return "\033[31m";
    if (!strcmp(state, "done"))
        return "\033[32m";
    return !strcmp(type, "measurement") || !strcmp(type, "power") ? "\033[2m" : "";
}

/* A day has its own line, with the zone of all times below it. */
static void print_day(struct watching *w, const char *time)
{
    if (strncmp(w->day, time, 10) == 0)
        return;
    str_copy(w->day, 11, time);
    printf("%s, times in %s%s\n", w->day, str_ends(time, "Z") ? "UTC" : time + 19,
           w->simulated ? ", simulated" : "");
}

static void print_line(struct watching *w, const char *type, double at_s,
                       const struct json_value *data, const char *text)
{
    const char *colour = w->colours ? colour_of(type, data) : "";
    char time[VIEW_SIZE];

    view_time(time, at_s);
    if (strlen(time) > 19)
        print_day(w, time);
    printf("%s%.8s %-11s %s%s\n", colour, strlen(time) > 19 ? time + 11 : "-", type, text,
           *colour ? "\033[0m" : "");
}

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

/* True when a line with the sum was due. */
static bool add_power(struct watching *w, const struct json_value *data)
{
    double now_s = clock_wall_s(), total = 0;
    char a[VIEW_SIZE], text[2 * VIEW_SIZE], b[VIEW_SIZE];

    note_power(w, view_text_or(data, "device", "?"), view_number(data, "watts"));
    if (now_s - w->power_told_s < POWER_EVERY_S)
        return false;
    w->power_told_s = now_s;
    vec_each (const struct gpu_power, p, &w->powers)
        total += isfinite(p->watts) ? p->watts : 0;
    snprintf(text, sizeof(text), "%s of %s", view_watts(a, total),
             view_plural(b, (double)w->powers.count, "GPU"));
    print_line(w, "power", view_number(data, "at_s"), data, text);
    return true;
}

static void print_words(struct watching *w, const struct client_event *event,
                        const struct json_value *data)
{
    const struct event_words *words = all_words;
    struct str text = {0};

    while (words->type && strcmp(words->type, event->type) != 0)
        words++;
    words->add(&text, w, data);
    print_line(w, event->type,
               json_member_number(data, "at_s", view_number(data, "changed_s")), data,
               str_text(&text));
    str_fini(&text);
}

static bool take_event(void *ctx, const struct client_event *event,
                       const struct json_value *data)
{
    struct watching *w = ctx;

    if (!strcmp(event->type, "bye")) {
        fprintf(stderr, "the daemon ended the stream: %s\n",
                view_text_or(data, "reason", "-"));
        return true; /* and is asked again */
    }
    if (!strcmp(event->type, "lost")) {
        fprintf(stderr, "some events are not kept any more\n");
        return true;
    }
    if (w->args->daemon.json)
        print_json(event);
    else if (strcmp(event->type, "power") != 0 || w->args->all)
        print_words(w, event, data);
    else if (!add_power(w, data))
        return true;
    fflush(stdout);
    return !(w->args->count && ++w->seen >= w->args->count) && !ferror(stdout);
}

/* Names of jobs that were there before, and whose clock it is; people can do without. */
static void look_around(struct watching *w)
{
    struct client_request version = {.method = HTTP_GET, .path = "/v1/version"};
    struct client_request jobs = {.method = HTTP_GET,
                                  .path = "/v1/jobs?state=active&limit=1000"};
    struct client_answer answer = {0};
    struct client *client = NULL;
    struct err ignored;
    const struct json_value *list;

    if (daemon_open(&client, &w->args->daemon, &ignored) < 0)
        return;
    if (daemon_ask(client, &version, &answer, &ignored) == 0)
        w->simulated = !strcmp(view_text_or(daemon_root(&answer), "engine", ""), "sim");
    client_answer_fini(&answer);
    if (daemon_ask(client, &jobs, &answer, &ignored) == 0) {
        list = json_value_get(daemon_root(&answer), "jobs");
        for (size_t i = 0; i < json_value_count(list); i++)
            note_name(w, view_number(json_value_item(list, i), "id"),
                      json_member_string(json_value_item(list, i), "name"));
    }
    client_answer_fini(&answer);
    client_destroy(client);
}

static int run(struct command_call *call)
{
    const struct watch_args *args = call->args;
    struct watching w = {.args = args,
                         .colours = table_colours_wanted(stdout),
                         .power_told_s = clock_wall_s()};
    struct follow f = {.daemon = &args->daemon,
                       .job = call->operands[0],
                       .types = args->types,
                       .last = args->since,
                       .event = take_event,
                       .ctx = &w};
    struct err err = {0};
    uint64_t id;
    int status = f.job ? daemon_check_job(call, f.job) : 0;

    if (status)
        return status;
    if (args->since && !parse_u64(args->since, &id))
        return command_wrong_use(call, "'%.40s' is not a number", args->since);
    if (!args->daemon.json)
        look_around(&w);
    if (follow_events(&f, &err) < 0)
        status = command_failed(call, &err);
    else if (f.ended_before)
        fprintf(stderr, "job %s is %s\n", f.job, f.state);
    forget(&w);
    return status ? status : *f.state && strcmp(f.state, "done") != 0;
}

const struct command cmd_watch = {
    .name = "watch",
    .summary = "follow events as they happen",
    .help = "A line for each event; the power of all GPUs is summed up every half "
            "minute.  With a job it ends when the job does, with status 1 unless the job "
            "is done in good order.  A lost connection is taken up again where it broke.",
    .examples = "corgi watch\ncorgi watch 7\ncorgi watch --types guard,node --json",
    .operands = "[JOB]",
    .options = options,
    .args_size = sizeof(struct watch_args),
    .run = run,
};
