/* cmd_doctor.c - corgi doctor: is this installation sound, and what is to be fixed?
 *
 * Each check looks at one thing and adds one line to the list.  The daemon is asked as
 * any client does; config, folder and store are read where they are, which needs the
 * right to. Nothing is changed. */
#include "corgi/commands.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json_out.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/vec.h"
#include "corgi/daemon.h"
#include "engine/local/cgroups.h"
#include "gpu/gpu_devices.h"
#include "service/service_config.h"
#include "store/admin.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

#define SYSTEM_CONFIG "/etc/corgi/corgid.yaml"

/* A store that cannot grow stops the daemon from taking jobs. */
#define SPACE_BAD_MB  100.0
#define SPACE_WARN_MB 1000.0
/* Deadlines and schedules of power are minutes; a token's end is compared too. */
#define CLOCK_APART_S 5.0

struct doctor_args {
    struct daemon_args daemon;
    const char *config;
    bool json;
};

static const struct option_spec options[] = {
    OPT(struct doctor_args, config, STRING, "config", 'c', "FILE",
        "the daemon's config; " SYSTEM_CONFIG " without it, when it is there"),
    OPT(struct doctor_args, json, FLAG, "json", 'j', NULL, "print JSON"),
    DAEMON_CONNECT_OPTIONS,
    {0},
};

enum finding_state { FINDING_OK, FINDING_NOTE, FINDING_WARNING, FINDING_PROBLEM };

static const char *const state_names[] = {"ok", "note", "warning", "problem"};

struct finding {
    const char *check;
    enum finding_state state;
    char text[sizeof(((struct err *)NULL)->text)];
    char fix[400]; /* what to do; "": nothing */
};

struct doctor {
    const struct doctor_args *args;
    vec_of(struct finding) findings;
    struct service_config config;
    const char *config_path; /* NULL: the defaults */
    bool config_read;
    bool answered; /* the daemon did */
};

/* Adds a finding; its fix is added by the next function. */
static void found(struct doctor *d, const char *check, enum finding_state state,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));
static void found(struct doctor *d, const char *check, enum finding_state state,
                  const char *format, ...)
{
    struct finding finding = {.check = check, .state = state};
    va_list args;

    va_start(args, format);
    vsnprintf(finding.text, sizeof(finding.text), format, args);
    va_end(args);
    for (char *c = finding.text; *c; c++) /* of a config a line a mistake */
        if (*c == '\n')
            *c = ' ';
    vec_push(&d->findings, finding);
}

static void to_fix(struct doctor *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void to_fix(struct doctor *d, const char *format, ...)
{
    struct finding *last = &d->findings.items[d->findings.count - 1];
    va_list args;

    va_start(args, format);
    vsnprintf(last->fix, sizeof(last->fix), format, args);
    va_end(args);
}

/* ---- programs and config ------------------------------------------------------------
 */

static void check_programs(struct doctor *d)
{
    static const char *const names[] = {"corgid", "corgi-probe"};
    char own[512];
    ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
    char *slash;
    int missing = 0;

    own[length > 0 ? length : 0] = '\0';
    slash = strrchr(own, '/');
    if (!slash)
        return;
    *slash = '\0';
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char *path = file_join(own, names[i]);

        if (access(path, X_OK) < 0 && !missing++) {
            found(d, "programs", FINDING_NOTE, "corgi %s; %s is not in %s", CORGI_VERSION,
                  names[i], own);
            to_fix(d, "a machine that only submits needs no more; one with the daemon "
                      "needs the packages corgi-daemon and corgi-probe");
        }
        free(path);
    }
    if (!missing)
        found(d, "programs", FINDING_OK, "corgi, corgid and corgi-probe %s in %s",
              CORGI_VERSION, own);
}

static void check_config(struct doctor *d)
{
    struct err err = {0};

    d->config_path = d->args->config                    ? d->args->config
                     : access(SYSTEM_CONFIG, F_OK) == 0 ? SYSTEM_CONFIG
                                                        : NULL;
    d->config_read = service_config_load(&d->config, d->config_path, &err) == 0;
    if (!d->config_read) {
        found(d, "config", FINDING_PROBLEM, "%s", err.text);
        to_fix(d, "correct the line; `corgi config show --kind daemon` prints every key");
    } else if (!d->config_path) {
        found(d, "config", FINDING_NOTE, "no %s: defaults are assumed", SYSTEM_CONFIG);
        to_fix(d, "name the daemon's file with --config");
    } else {
        found(d, "config", FINDING_OK, "%s: fine", d->config_path);
    }
}

/* ---- the daemon ---------------------------------------------------------------------
 */

/* GET; the answer's JSON, which lives as long as the answer, or NULL with err. */
static const struct json_value *ask(struct client *client, const char *path,
                                    struct client_answer *answer, struct err *err)
{
    const struct client_request request = {.method = HTTP_GET, .path = path};

    if (daemon_ask(client, &request, answer, err) < 0)
        return NULL;
    return daemon_root(answer);
}

static void check_ready(struct doctor *d, struct client *client)
{
    struct client_answer answer = {0};
    struct err err = {0};
    const struct json_value *root = ask(client, "/readyz", &answer, &err);

    d->answered = answer.status != 0;
    if (root) {
        found(d, "daemon", FINDING_OK, "ready at %s", client_where(client));
    } else if (d->answered) {
        found(d, "daemon", FINDING_PROBLEM, "not ready: %s", err.text);
        to_fix(d, "see its log: `journalctl -u corgid`");
    } else {
        found(d, "daemon", FINDING_PROBLEM, "%s", err.text);
        to_fix(d,
               "`systemctl start corgid`, then `journalctl -u corgid` when it does not "
               "stay; $CORGI_SOCKET, --socket or --url say where else it may be");
    }
    client_answer_fini(&answer);
}

static void check_version(struct doctor *d, struct client *client)
{
    struct client_answer answer = {0};
    struct err err = {0};
    const struct json_value *root = ask(client, "/v1/version", &answer, &err);
    const char *version = root ? view_text_or(root, "version", "?") : "?";
    double apart_s;

    if (!root) {
        found(d, "version", FINDING_WARNING, "%s", err.text);
    } else if (strcmp(version, CORGI_VERSION) != 0) {
        found(d, "version", FINDING_WARNING, "corgid %s answers corgi %s", version,
              CORGI_VERSION);
        to_fix(d, "install the same version of both; `systemctl restart corgid` after an "
                  "upgrade, jobs go on");
    } else {
        found(d, "version", FINDING_OK, "corgid %s, engine %s", version,
              view_text_or(root, "engine", "?"));
    }
    /* A simulated cluster may have a time of its own. */
    if (root && !strcmp(view_text_or(root, "engine", ""), "local")) {
        apart_s = fabs(view_number(root, "now_s") - clock_wall_s());
        if (apart_s > CLOCK_APART_S) {
            found(d, "clock", FINDING_PROBLEM, "%.0f s apart from the daemon's", apart_s);
            to_fix(d, "let both machines follow one time server (chrony, "
                      "systemd-timesyncd)");
        }
    }
    client_answer_fini(&answer);
}

static void check_role(struct doctor *d, struct client *client)
{
    struct client_answer answer = {0};
    struct err err = {0};
    const struct json_value *root = ask(client, "/v1/whoami", &answer, &err);

    if (root) {
        found(d, "role", FINDING_OK, "%s is %s%s%s", view_text_or(root, "user", "?"),
              view_text_or(root, "role", "?"),
              json_member_string(root, "token") ? " by token " : "",
              view_text_or(root, "token", ""));
    } else {
        found(d, "role", FINDING_PROBLEM, "%s", err.text);
        to_fix(d, "an operator makes a token with `corgi token make`; local users come "
                  "in by the socket, see auth in the config");
    }
    client_answer_fini(&answer);
}

static void check_warnings(struct doctor *d, struct client *client)
{
    struct client_answer answer = {0};
    struct err err = {0};
    const struct json_value *root = ask(client, "/v1/summary", &answer, &err);
    const struct json_value *list = root ? json_value_get(root, "warnings") : NULL;
    const struct json_value *devices = root ? json_value_get(root, "devices") : NULL;

    for (size_t i = 0; i < json_value_count(list); i++) {
        found(d, "daemon says", FINDING_WARNING, "%s",
              json_value_string(json_value_item(list, i)));
        to_fix(d, "see docs/guides/troubleshooting.md");
    }
    if (devices && view_number(devices, "failed") > 0) {
        found(d, "devices", FINDING_WARNING, "%.0f of %.0f have failed",
              view_number(devices, "failed"), view_number(devices, "total"));
        to_fix(d, "`corgi nodes` names them; `corgi resume NODE:INDEX` uses one again");
    }
    client_answer_fini(&answer);
}

static void check_daemon(struct doctor *d)
{
    struct client *client = NULL;
    struct err err = {0};

    if (daemon_open(&client, &d->args->daemon, &err) < 0) {
        found(d, "daemon", FINDING_PROBLEM, "%s", err.text);
        return;
    }
    check_ready(d, client);
    if (d->answered) {
        check_version(d, client);
        check_role(d, client);
        check_warnings(d, client);
    }
    client_destroy(client);
}

/* ---- this machine -------------------------------------------------------------------
 */

static void check_clock(struct doctor *d)
{
    struct timex now = {0};
    int state = adjtimex(&now);

    if (state < 0 || state == TIME_ERROR || now.status & STA_UNSYNC) {
        found(d, "clock", FINDING_NOTE, "no time server corrects this machine's clock");
        to_fix(d, "chrony or systemd-timesyncd; books and deadlines go by the clock");
    } else {
        found(d, "clock", FINDING_OK, "synchronised");
    }
}

static void check_space(struct doctor *d, const char *state)
{
    struct statvfs fs;
    double free_mb;

    if (statvfs(state, &fs) < 0)
        return;
    free_mb = (double)fs.f_bavail * (double)fs.f_frsize / 1e6;
    if (free_mb < SPACE_WARN_MB) {
        found(d, "space", free_mb < SPACE_BAD_MB ? FINDING_PROBLEM : FINDING_WARNING,
              "%.0f MB left for %s", free_mb, state);
        to_fix(d, "make room, or keep less: keep in the config; without room the daemon "
                  "takes no jobs, and goes on by itself when there is some");
    } else {
        found(d, "space", FINDING_OK, "%.1f GB left for %s", free_mb / 1e3, state);
    }
}

static void keep_first(void *ctx, const char *sentence)
{
    struct err *first = ctx;

    if (first->code == ERR_NONE)
        err_set(first, ERR_FORMAT, "%s", sentence);
}

static void check_store(struct doctor *d, const char *state)
{
    struct store_check_result result = {0};
    struct err err = {0}, first = {0};
    char *path = file_join(state, "corgi.db");

    if (access(path, R_OK) < 0 && errno == ENOENT) {
        found(d, "store", d->answered ? FINDING_NOTE : FINDING_OK, "none yet at %s",
              path);
        if (d->answered)
            to_fix(d, "the daemon that answers keeps its store elsewhere: --config FILE");
    } else if (store_check(path, true, keep_first, &first, &result, &err) < 0) {
        found(d, "store", FINDING_WARNING, "%s", err.text);
        to_fix(d, "as root it can be looked at");
    } else if (result.findings > 0) {
        found(d, "store", FINDING_PROBLEM, "%s", first.text);
        to_fix(d,
               "`corgi store check %s` says all; keep the file and start from the last "
               "backup",
               path);
    } else {
        found(d, "store", FINDING_OK, "sound; schema %d, %llu jobs", result.schema,
              (unsigned long long)result.jobs);
    }
    free(path);
}

/* Only its owner may write there: whoever can change the store can run anything. */
static void check_state(struct doctor *d)
{
    char *state = d->config.state ? mem_strdup(d->config.state) : service_default_state();
    struct stat about;

    if (stat(state, &about) < 0) {
        bool may_be_elsewhere = d->answered && !d->config_path;

        found(d, "state",
              may_be_elsewhere || !d->answered ? FINDING_NOTE : FINDING_PROBLEM, "%s: %s",
              state, strerror(errno));
        to_fix(d, "corgid makes it at its first start; as another user it may not be "
                  "visible, or its config says another one: --config FILE");
    } else if (!S_ISDIR(about.st_mode) || about.st_mode & (S_IWGRP | S_IWOTH)) {
        found(d, "state", FINDING_PROBLEM, "%s may be written by others (mode %03o)",
              state, about.st_mode & 0777);
        to_fix(d, "chmod 700 %s", state);
    } else {
        found(d, "state", FINDING_OK, "%s, mode %03o", state, about.st_mode & 0777);
        check_space(d, state);
        check_store(d, state);
    }
    free(state);
}

static void check_gpus(struct doctor *d)
{
    bool wanted = d->config.engine == SERVICE_ENGINE_LOCAL && d->config.local.gpus;
    struct err err = {0};
    struct gpu *gpu = gpu_open(&(struct gpu_options){.deadline_s = 1}, &err);
    int cards = 0;
    char first[240] = "";

    for (int i = 0; gpu && i < gpu_count(gpu); i++) {
        const struct gpu_device *device = gpu_device(gpu, i);

        if (device->kind == GPU_KIND_CPU)
            continue;
        if (!cards++)
            snprintf(first, sizeof(first), "%s, driver %s", device->name,
                     device->driver[0] ? device->driver : "unknown");
    }
    if (cards > 0) {
        found(d, "telemetry", FINDING_OK, "GPUs: %d, the first %s", cards, first);
    } else {
        found(d, "telemetry", wanted ? FINDING_PROBLEM : FINDING_NOTE, "no GPU is seen%s",
              wanted ? ", and the config wants them (local.gpus)" : "");
        to_fix(d,
               "`corgi devices` says why: libnvidia-ml.so.1 comes with NVIDIA's driver, "
               "the files of amdgpu with the kernel");
    }
    gpu_close(gpu);
}

static void check_groups(struct doctor *d)
{
    struct cgroups *groups;

    if (d->config.engine != SERVICE_ENGINE_LOCAL)
        return;
    groups = cgroups_open(&(struct cgroups_options){.name = "corgi-doctor"});
    if (!strcmp(cgroups_text(groups), "none")) {
        found(d, "cgroups", FINDING_WARNING, "none may be used from here");
        to_fix(d, "jobs are then counted and ended by other means, not limited: start "
                  "corgid by its unit, which has Delegate=yes");
    } else {
        found(d, "cgroups", FINDING_OK, "%s", cgroups_text(groups));
    }
    cgroups_close(groups);
}

/* ---- what is printed ----------------------------------------------------------------
 */

static void print_json(const struct doctor *d, bool sound)
{
    struct str text = {0};
    struct json_out out;

    json_out_init(&out, &text, true);
    json_out_begin_object(&out);
    json_out_key_bool(&out, "sound", sound);
    json_out_key_array(&out, "checks");
    for (size_t i = 0; i < d->findings.count; i++) {
        const struct finding *f = &d->findings.items[i];

        json_out_begin_object(&out);
        json_out_key_string(&out, "check", f->check);
        json_out_key_string(&out, "state", state_names[f->state]);
        json_out_key_string(&out, "text", f->text);
        json_out_key_string(&out, "fix", f->fix[0] ? f->fix : NULL);
        json_out_end(&out);
    }
    json_out_end(&out);
    json_out_end(&out);
    fputs(str_text(&text), stdout);
    str_fini(&text);
}

static int print_table(const struct doctor *d, struct err *err)
{
    static const enum table_colour colours[] = {TABLE_GOOD, TABLE_DIM, TABLE_BAD,
                                                TABLE_BAD};
    struct table *t = table_create("check|state|what is there");
    int fixes = 0;

    for (size_t i = 0; i < d->findings.count; i++) {
        const struct finding *f = &d->findings.items[i];

        table_row(t);
        table_cell(t, f->check);
        table_cell(t, state_names[f->state]);
        table_mark(t, colours[f->state]);
        table_cell(t, f->text);
    }
    if (table_finish(t, TABLE_ALIGNED, stdout, err) < 0)
        return -1;
    for (size_t i = 0; i < d->findings.count; i++)
        if (d->findings.items[i].fix[0])
            printf("%s  %s: %s\n", fixes++ ? "" : "\nWhat to do:\n",
                   d->findings.items[i].check, d->findings.items[i].fix);
    return 0;
}

static int run(struct command_call *call)
{
    struct doctor d = {.args = call->args};
    struct err err = {0};
    bool sound = true;
    int rc = 0;

    check_programs(&d);
    check_config(&d);
    check_daemon(&d);
    check_clock(&d);
    if (d.config_read) {
        check_state(&d);
        check_gpus(&d);
        check_groups(&d);
        service_config_fini(&d.config);
    }
    for (size_t i = 0; i < d.findings.count; i++)
        sound = sound && d.findings.items[i].state != FINDING_PROBLEM;
    if (d.args->json)
        print_json(&d, sound);
    else
        rc = print_table(&d, &err);
    vec_free(&d.findings);
    if (rc < 0)
        return command_failed(call, &err);
    return sound ? 0 : 1;
}

const struct command cmd_doctor = {
    .name = "doctor",
    .summary = "check an installation and say what to fix",
    .help =
        "Looks at the programs, the daemon's config, whether it answers and as whom, "
        "its version, the clock, the folder of its state with room and rights, the "
        "store, the telemetry of GPUs and the groups of processes.  Changes nothing.  "
        "As root it sees most; over --url only what the daemon says.\n\n"
        "The exit status is 1 when there is a problem; warnings and notes do not "
        "count.",
    .examples = "corgi doctor\ncorgi doctor --json",
    .options = options,
    .args_size = sizeof(struct doctor_args),
    .run = run,
};
