/* cmd_slurm.c - corgi slurm: is this Slurm fit for advice and for control, and what the
 * daemon saw of it
 *
 * check starts the helper as the daemon would, with --read-only, asks for settings and
 * nodes and prints what engine/slurm/slurm_check.c finds.  export asks the daemon for its
 * record and writes it as sacct and sinfo would, for corgi advise. */
#include "corgi/commands.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/poller.h"
#include "corgi/daemon.h"
#include "engine/slurm/helper_link.h"
#include "engine/slurm/slurm_check.h"
#include "engine/slurm/slurm_engine.h"
#include "service/service_config.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SYSTEM_CONFIG "/etc/corgi/corgid.yaml"
#define WITHIN_S      20.0

struct slurm_args {
    const char *config;
    const char *helper;
    bool json;
};

static const struct option_spec options[] = {
    OPT(struct slurm_args, config, STRING, "config", 'c', "FILE",
        "the daemon's config, for slurm.helper and slurm.types; " SYSTEM_CONFIG
        " without it, when it is there"),
    OPT(struct slurm_args, helper, STRING, "helper", 0, "PROGRAM",
        "the helper, or unix:PATH, over the config's"),
    OPT(struct slurm_args, json, FLAG, "json", 'j', NULL, "print JSON"),
    {0},
};

struct slurm_look {
    struct helper_link *link;
    slurm_findings findings;
    char *types;
    int answers;
    struct err err;
};

static void on_up(void *ctx)
{
    struct slurm_look *look = ctx;

    helper_link_ask(look->link, "conf");
    helper_link_ask(look->link, "nodes");
}

static void on_down(void *ctx, const char *why)
{
    struct slurm_look *look = ctx;

    err_set(&look->err, ERR_SYSTEM, "%s", why);
}

static void on_answer(void *ctx, const char *op, const struct json_value *answer,
                      const char *error)
{
    struct slurm_look *look = ctx;

    if (!answer) {
        err_set(&look->err, ERR_SYSTEM, "%s", error);
        return;
    }
    look->answers++;
    if (strcmp(op, "conf") == 0)
        slurm_check_conf(json_value_get(answer, "conf"), &look->findings);
    else
        slurm_check_nodes(json_value_get(answer, "rows"), look->types, &look->findings);
}

static int look_at(struct slurm_look *look, const char *helper, struct err *err)
{
    struct helper_link_options how = {
        .helper = helper, .read_only = true, .within_s = WITHIN_S};
    double until_s = clock_wall_s() + WITHIN_S;
    int poller = poller_open(err);

    if (poller < 0)
        return -1;
    signal(SIGPIPE, SIG_IGN);
    look->link = helper_link_create(
        poller, &how,
        (struct helper_link_sink){
            .up = on_up, .down = on_down, .answer = on_answer, .ctx = look});
    while (look->answers < 2 && look->err.code == ERR_NONE && clock_wall_s() < until_s) {
        helper_link_advance(look->link, clock_wall_s());
        poller_wait(poller, 0.1);
    }
    helper_link_destroy(look->link);
    close(poller);
    if (look->answers == 2)
        return 0;
    if (look->err.code == ERR_NONE)
        err_set(&look->err, ERR_SYSTEM, "Slurm has not answered within %g s", WITHIN_S);
    *err = look->err;
    return err_prefix(err, "cannot ask Slurm");
}

static void print_json(const slurm_findings *findings)
{
    struct str text = {0};
    struct json_out out;

    json_out_init(&out, &text, true);
    json_out_begin_array(&out);
    vec_each (const struct slurm_finding, f, findings) {
        json_out_begin_object(&out);
        json_out_key_string(&out, "verdict", slurm_verdict_name(f->verdict));
        json_out_key_string(&out, "setting", f->setting);
        json_out_key_string(&out, "value", f->value);
        json_out_key_string(&out, "why", f->why);
        json_out_end(&out);
    }
    json_out_end(&out);
    fputs(str_text(&text), stdout);
    str_fini(&text);
}

static int print_lines(const slurm_findings *findings)
{
    int counts[SLURM_ADVICE + 1] = {0};

    vec_each (const struct slurm_finding, f, findings) {
        counts[f->verdict]++;
        printf("%-12s %-22s %s\n%-12s %-22s   %s\n", slurm_verdict_name(f->verdict),
               f->setting, f->value, "", "", f->why);
    }
    printf("\n%d fine, %d to know; %d to change before Corgi may place jobs, %d before "
           "its advice can be trusted\n",
           counts[SLURM_FINE], counts[SLURM_NOTE], counts[SLURM_CONTROL],
           counts[SLURM_ADVICE]);
    return counts[SLURM_ADVICE];
}

static int count_advice(const slurm_findings *findings)
{
    int count = 0;

    vec_each (const struct slurm_finding, f, findings)
        count += f->verdict == SLURM_ADVICE;
    return count;
}

static int run_check(struct command_call *call)
{
    const struct slurm_args *args = call->args;
    const char *path = args->config                       ? args->config
                       : access(SYSTEM_CONFIG, R_OK) == 0 ? SYSTEM_CONFIG
                                                          : NULL;
    struct service_config config;
    struct slurm_look look = {0};
    struct err err = {0};
    char *helper;
    int rc;

    if (service_config_load(&config, path, &err) < 0)
        return command_failed(call, &err);
    look.types = slurm_config_types(&config.slurm);
    helper = slurm_engine_helper(args->helper ? args->helper : config.slurm.helper);
    rc = look_at(&look, helper, &err);
    if (rc == 0 && args->json)
        print_json(&look.findings);
    else if (rc == 0)
        print_lines(&look.findings);
    if (rc == 0)
        rc = count_advice(&look.findings) > 0;
    else
        rc = command_failed(call, &err);
    vec_free(&look.findings);
    free(look.types);
    free(helper);
    service_config_fini(&config);
    return rc;
}

static const struct command cmd_slurm_check = {
    .name = "check",
    .summary = "say what of slurm.conf is fine and what must change, and why",
    .help =
        "Reads Slurm's configuration and nodes through corgi-engine-slurm, with "
        "--read-only and as the user who asks, and says line by line what is fine, what "
        "must change before Corgi's advice can be trusted, and what must change before "
        "Corgi may place jobs.  Nothing is changed.  Ends with 1 when advice cannot be "
        "trusted yet.",
    .options = options,
    .args_size = sizeof(struct slurm_args),
    .run = run_check,
};

/* ---- export ------------------------------------------------------------------------ */

#define PAGE 500

struct slurm_export_args {
    struct daemon_args daemon;
    const char *out;
    double since_s;
};

static const struct option_spec export_options[] = {
    OPT(struct slurm_export_args, out, STRING, "out", 'o', "DIR",
        "write sacct.txt and sinfo.txt there", .default_text = "."),
    OPT(struct slurm_export_args, since_s, SECONDS, "since", 0, "TIME",
        "only jobs that were submitted so long ago at most; 0: all", .min = 0, .max = 1e9,
        .default_text = "0"),
    DAEMON_CONNECT_OPTIONS,
    {0},
};

/* "node1 gpu:v100-16:2" for devices that stand in a row. */
static int write_nodes(const struct command_call *call, struct str *out)
{
    struct client_answer answer;
    const struct json_value *devices;
    char node[LOOP_NAME_SIZE] = "", type[GPU_NAME_SIZE] = "";
    int status = daemon_send(call, HTTP_GET, "/v1/devices", NULL, &answer), run = 0;

    if (status)
        return status;
    devices = json_value_get(daemon_root(&answer), "devices");
    str_add(out, "NODELIST GRES");
    for (size_t i = 0; i < json_value_count(devices); i++) {
        const struct json_value *d = json_value_item(devices, i);
        const char *on = view_text_or(d, "node", ""), *of = view_text_or(d, "type", "");

        if (run > 0 && strcmp(on, node) == 0 && strcmp(of, type) == 0) {
            run++;
            continue;
        }
        if (run > 0)
            str_addf(out, ":%d", run);
        if (strcmp(on, node) == 0)
            str_addf(out, ",gpu:%s", of);
        else
            str_addf(out, "\n%s gpu:%s", on, of);
        str_copy(node, sizeof(node), on);
        str_copy(type, sizeof(type), of);
        run = 1;
    }
    if (run > 0)
        str_addf(out, ":%d", run);
    str_add(out, "\n");
    client_answer_fini(&answer);
    return 0;
}

/* Nothing that would end a column or a line. */
static void add_text(struct str *out, const char *text)
{
    for (; *text; text++)
        str_addf(out, "%c",
                 (unsigned char)*text < ' ' || strchr("|", *text) ? '_' : *text);
}

static void add_time(struct str *out, double at_s)
{
    if (at_s > 0) /* not NaN */
        str_addf(out, "|%.0f", at_s);
    else
        str_add(out, "|Unknown");
}

/* A job that had GPUs, as sacct would tell it. */
static void write_job(const struct json_value *job, struct str *out)
{
    static const struct {
        const char *ours, *slurms;
    } states[] = {{"done", "COMPLETED"},
                  {"failed", "FAILED"},
                  {"cancelled", "CANCELLED"},
                  {"running", "RUNNING"}};
    const struct json_value *devices = json_value_get(job, "devices");
    size_t count = json_value_count(devices);
    struct str nodes = {0};
    const char *last = "", *state = "RUNNING";
    int node_count = 0;

    for (size_t i = 0; i < count; i++) {
        const char *node = view_text_or(json_value_item(devices, i), "node", "");

        if (strcmp(node, last) == 0)
            continue;
        str_addf(&nodes, "%s%s", node_count++ ? "," : "", node);
        last = node;
    }
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
        if (strcmp(view_text_or(job, "state", ""), states[i].ours) == 0)
            state = states[i].slurms;
    str_addf(out, "%.0f|", view_number(job, "id"));
    add_text(out, view_text_or(job, "user", ""));
    str_add(out, "|");
    add_text(out, view_text_or(job, "name", ""));
    add_time(out, view_number(job, "submitted_s"));
    add_time(out, view_number(job, "placed_s"));
    add_time(out, view_number(job, "ended_s"));
    str_addf(out, "|gres/gpu:%s=%zu,gres/gpu=%zu|%d|%s|%s\n",
             view_text_or(json_value_item(devices, 0), "type", ""), count, count,
             node_count, str_text(&nodes), state);
    str_fini(&nodes);
}

/* Page after page, newest first; the exit status. */
static int write_jobs(const struct command_call *call, double from_s, struct str *out,
                      size_t *written)
{
    struct str path = {0}, after = {0};
    bool older = false;
    int status;

    str_add(out, "JobID|User|JobName|Submit|Start|End|AllocTRES|NNodes|NodeList|State\n");
    do {
        struct client_answer answer;
        const struct json_value *jobs;
        const char *next;

        str_clear(&path);
        str_add(&path, "/v1/jobs");
        daemon_add_query(&path, "order", "newest");
        daemon_add_count(&path, "limit", PAGE);
        daemon_add_query(&path, "after", after.length ? str_text(&after) : NULL);
        status = daemon_send(call, HTTP_GET, str_text(&path), NULL, &answer);
        if (status)
            break;
        jobs = json_value_get(daemon_root(&answer), "jobs");
        for (size_t i = 0; i < json_value_count(jobs); i++) {
            const struct json_value *job = json_value_item(jobs, i);

            older = view_number(job, "submitted_s") < from_s;
            if (older || json_value_count(json_value_get(job, "devices")) == 0)
                continue;
            write_job(job, out);
            ++*written;
        }
        next = json_value_count(jobs) ? json_member_string(daemon_root(&answer), "next")
                                      : NULL;
        str_clear(&after);
        str_add(&after, next ? next : "");
        client_answer_fini(&answer);
    } while (after.length && !older);
    str_fini(&path);
    str_fini(&after);
    return status;
}

static int save(const char *folder, const char *name, const struct str *text,
                struct err *err)
{
    char *path = file_join(folder, name);
    int rc = file_make_dirs(folder, err) < 0
                 ? -1
                 : file_write(path, text->text, text->length, err);

    free(path);
    return rc;
}

static int run_export(struct command_call *call)
{
    const struct slurm_export_args *args = call->args;
    double from_s = args->since_s > 0 ? clock_epoch_s() - args->since_s : 0;
    struct str nodes = {0}, jobs = {0};
    struct err err = {0};
    size_t written = 0;
    int status = write_nodes(call, &nodes);

    if (status == 0)
        status = write_jobs(call, from_s, &jobs, &written);
    if (status == 0 && (save(args->out, "sinfo.txt", &nodes, &err) < 0 ||
                        save(args->out, "sacct.txt", &jobs, &err) < 0))
        status = command_failed(call, &err);
    if (status == 0)
        printf("%zu jobs\n", written);
    str_fini(&nodes);
    str_fini(&jobs);
    return status;
}

static const struct command cmd_slurm_export = {
    .name = "export",
    .summary = "write what the daemon saw as sacct and sinfo would, for corgi advise",
    .help =
        "Writes sacct.txt and sinfo.txt with the jobs the daemon has in its record and "
        "the nodes it knows, as `corgi advise --from-slurm` and `corgi sim --from-slurm` "
        "read them.",
    .examples = "corgi slurm export --out record\n",
    .options = export_options,
    .args_size = sizeof(struct slurm_export_args),
    .run = run_export,
};

static const struct command *const children[] = {&cmd_slurm_check, &cmd_slurm_export,
                                                 NULL};

const struct command cmd_slurm = {
    .name = "slurm",
    .summary = "Slurm beside Corgi",
    .children = children,
};
