/* cmd_slurm.c - corgi slurm: is this Slurm fit for advice and for control, and what the
 * daemon saw of it
 *
 * check starts the helper as the daemon would, with --read-only, asks for settings and
 * nodes and prints what engine/slurm/slurm_check.c finds.  export is slurm_export.c's,
 * detach is slurm_detach.c's. */
#include "corgi/commands.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/poller.h"
#include "corgi/daemon.h"
#include "corgi/slurm_detach.h"
#include "corgi/slurm_export.h"
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
    struct slurm_nodes_seen *nodes;
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
    if (strcmp(op, "conf") == 0) {
        slurm_check_conf(json_value_get(answer, "conf"), &look->findings);
        look->answers++;
        return;
    }
    slurm_nodes_seen_add(look->nodes, json_value_get(answer, "rows"), look->types);
    if (json_member_bool(answer, "more", false))
        helper_link_ask(look->link, "nodes");
    else
        look->answers++;
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
    if (look->answers == 2) {
        slurm_check_nodes(look->nodes, &look->findings);
        return 0;
    }
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

static const char *config_of(const char *told)
{
    return told ? told : access(SYSTEM_CONFIG, R_OK) == 0 ? SYSTEM_CONFIG : NULL;
}

static int run_check(struct command_call *call)
{
    const struct slurm_args *args = call->args;
    struct service_config config;
    struct slurm_look look = {0};
    struct err err = {0};
    char *helper;
    int rc;

    if (service_config_load(&config, config_of(args->config), &err) < 0)
        return command_failed(call, &err);
    look.types = slurm_config_types(&config.slurm);
    look.nodes = slurm_nodes_seen_create();
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
    slurm_nodes_seen_destroy(look.nodes);
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

static int run_export(struct command_call *call)
{
    const struct slurm_export_args *args = call->args;
    size_t written = 0;
    int status = slurm_export_write(call, args->since_s, args->out, &written);

    if (status == 0)
        printf("%zu jobs\n", written);
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

/* ---- detach ------------------------------------------------------------------------ */

#define PLUGIN_SETTINGS "/etc/corgi/slurm-plugin.conf"

struct slurm_detach_args {
    const char *config, *helper, *settings;
    bool dry_run;
};

static const struct option_spec detach_options[] = {
    OPT(struct slurm_detach_args, dry_run, FLAG, "dry-run", 'n', NULL,
        "say what would be done, and do nothing"),
    OPT(struct slurm_detach_args, config, STRING, "config", 'c', "FILE",
        "the daemon's config, for slurm.helper; " SYSTEM_CONFIG
        " without it, when it is there"),
    OPT(struct slurm_detach_args, helper, STRING, "helper", 0, "PROGRAM",
        "the helper, or unix:PATH, over the config's"),
    OPT(struct slurm_detach_args, settings, STRING, "plugin-conf", 0, "FILE",
        "settings of slurmctld's plugin", .default_text = PLUGIN_SETTINGS),
    {0},
};

static int run_detach(struct command_call *call)
{
    const struct slurm_detach_args *args = call->args;
    struct slurm_detach how = {.settings = args->settings, .dry_run = args->dry_run};
    struct service_config config;
    struct err err = {0};
    char *helper;
    int count;

    if (service_config_load(&config, config_of(args->config), &err) < 0)
        return command_failed(call, &err);
    helper = slurm_engine_helper(args->helper ? args->helper : config.slurm.helper);
    how.helper = helper;
    count = slurm_detach_run(&how, &err);
    if (count >= 0)
        printf("%d jobs %s Slurm's own scheduler\n", count,
               args->dry_run ? "would go to" : "are with");
    free(helper);
    service_config_fini(&config);
    return count < 0 ? command_failed(call, &err) : 0;
}

static const struct command cmd_slurm_detach = {
    .name = "detach",
    .summary = "give Slurm's scheduler every job that Corgi holds",
    .help =
        "Puts the settings of slurmctld's plugin aside, so that nothing more is held, "
        "takes Corgi's mark off every job that waits and releases it to Slurm's own "
        "scheduler.  Jobs that run are left alone.  Needs root or SlurmUser, and no "
        "daemon; one that runs only watches these jobs from then on.  To manage the "
        "partition again, rename the settings back.",
    .examples = "corgi slurm detach --dry-run\n",
    .options = detach_options,
    .args_size = sizeof(struct slurm_detach_args),
    .run = run_detach,
};

static const struct command *const children[] = {&cmd_slurm_check, &cmd_slurm_export,
                                                 &cmd_slurm_detach, NULL};

const struct command cmd_slurm = {
    .name = "slurm",
    .summary = "Slurm beside Corgi",
    .children = children,
};
