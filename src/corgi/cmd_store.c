/* cmd_store.c - corgi store: look after the daemon's store, while it runs or not */
#include "corgi/commands.h"

#include "base/file.h"
#include "base/json_out.h"
#include "store/admin.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- check ------------------------------------------------------------------------- */

struct check_args {
    bool quick;
    bool json;
};

static const struct option_spec check_options[] = {
    OPT(struct check_args, quick, FLAG, "quick", 'q', NULL,
        "do not compare every index with its table"),
    OPT(struct check_args, json, FLAG, "json", 'j', NULL, "print JSON"),
    {0},
};

static void print_finding(void *ctx, const char *sentence)
{
    (void)ctx;
    printf("%s\n", sentence);
}

static void add_finding(void *ctx, const char *sentence)
{
    json_out_string(ctx, sentence);
}

static void print_check_json(struct json_out *out,
                             const struct store_check_result *result)
{
    json_out_end(out); /* findings */
    json_out_key_bool(out, "sound", result->findings == 0);
    json_out_key_int(out, "schema", result->schema);
    json_out_key_int(out, "jobs", (int64_t)result->jobs);
    json_out_key_int(out, "transitions", (int64_t)result->transitions);
    json_out_key_int(out, "events", (int64_t)result->events);
    json_out_key_int(out, "measurements", (int64_t)result->measurements);
    json_out_end(out);
    fputs(str_text(out->to), stdout);
}

static int run_check(struct command_call *call)
{
    const struct check_args *args = call->args;
    const char *path = call->operands[0];
    struct store_check_result result = {0};
    struct json_out out;
    struct str text = {0};
    struct err err = {0};
    int rc;

    json_out_init(&out, &text, true);
    json_out_begin_object(&out);
    json_out_key(&out, "findings");
    json_out_begin_array(&out);
    rc = store_check(path, args->quick, args->json ? add_finding : print_finding, &out,
                     &result, &err);
    if (rc == 0 && args->json)
        print_check_json(&out, &result);
    else if (rc == 0 && result.findings == 0)
        printf("%s: sound; schema: %d, jobs: %" PRIu64 ", transitions: %" PRIu64
               ", events: %" PRIu64 "\n",
               path, result.schema, result.jobs, result.transitions, result.events);
    str_fini(&text);
    if (rc == 0 && result.findings > 0)
        rc = err_set(&err, ERR_FORMAT,
                     "%s is not sound (findings: %d): keep this file, and start corgid "
                     "from the last backup",
                     path, result.findings);
    return rc < 0 ? command_failed(call, &err) : 0;
}

static const struct command store_check_command = {
    .name = "check",
    .summary = "is the store whole, and do its rows agree with each other?",
    .help = "Reads only; corgid may run.  Findings are printed one a line, and the exit "
            "status is then 1.",
    .examples = "corgi store check /var/lib/corgi/corgi.db",
    .operands = "STORE",
    .options = check_options,
    .args_size = sizeof(struct check_args),
    .run = run_check,
};

/* ---- backup ------------------------------------------------------------------------ */

struct backup_args {
    bool force;
};

static const struct option_spec backup_options[] = {
    OPT(struct backup_args, force, FLAG, "force", 'f', NULL,
        "replace FILE when it is there"),
    {0},
};

static int run_backup(struct command_call *call)
{
    const struct backup_args *args = call->args;
    struct err err = {0};

    if (store_backup(call->operands[0], call->operands[1], args->force, &err) < 0)
        return command_failed(call, &err);
    return 0;
}

static const struct command store_backup_command = {
    .name = "backup",
    .summary = "copy the store as it is at one moment",
    .help = "corgid may run and goes on writing.  The copy is one file that is there "
            "whole or not at all; to restore it, stop corgid, remove the store with its "
            "-wal and -shm, and put the copy in its place.",
    .examples = "corgi store backup /var/lib/corgi/corgi.db monday.db",
    .operands = "STORE FILE",
    .options = backup_options,
    .args_size = sizeof(struct backup_args),
    .run = run_backup,
};

/* ---- export ------------------------------------------------------------------------ */

static const char *const formats[] = {"jsonl", "csv", NULL};

struct export_args {
    const char *table;
    int format;
    const char *out;
    bool secrets;
};

static const struct option_spec export_options[] = {
    OPT(struct export_args, table, STRING, "table", 't', "NAME",
        "which table: jobs, transitions, decisions, quotes, events, energy, ...",
        .default_text = "jobs"),
    OPT(struct export_args, format, CHOICE, "format", 'f', "FORMAT",
        "an object a line, or a line of titles and rows", .choices = formats,
        .default_text = "jsonl"),
    OPT(struct export_args, out, STRING, "out", 'o', "FILE",
        "write there instead of to standard output"),
    OPT(struct export_args, secrets, FLAG, "secrets", 0, NULL,
        "with the environments of jobs"),
    {0},
};

static int export_to_file(const char *store, const struct store_export_options *options,
                          const char *path, struct err *err)
{
    struct file_out *file = file_out_open(path, err);
    uint64_t rows;

    if (!file)
        return -1;
    if (store_export(store, options, file_out_stream(file), &rows, err) < 0) {
        file_out_abort(file);
        return -1;
    }
    return file_out_commit(file, err);
}

static int run_export(struct command_call *call)
{
    const struct export_args *args = call->args;
    struct store_export_options options = {.table = args->table,
                                           .format = (enum store_format)args->format,
                                           .secrets = args->secrets};
    struct err err = {0};
    uint64_t rows;
    int rc = args->out ? export_to_file(call->operands[0], &options, args->out, &err)
                       : store_export(call->operands[0], &options, stdout, &rows, &err);

    return rc < 0 ? command_failed(call, &err) : 0;
}

static const struct command store_export_command = {
    .name = "export",
    .summary = "print a table as JSON lines or CSV",
    .help =
        "Reads only; corgid may run.  Tokens come without their digests, jobs without "
        "their environments unless --secrets is given.",
    .examples = "corgi store export /var/lib/corgi/corgi.db --table energy --format csv\n"
                "corgi store export corgi.db --table decisions --out decisions.jsonl",
    .operands = "STORE",
    .options = export_options,
    .args_size = sizeof(struct export_args),
    .run = run_export,
};

static const struct command *const children[] = {
    &store_backup_command, &store_check_command, &store_export_command, NULL};

const struct command cmd_store = {
    .name = "store",
    .summary = "back up, check and export the daemon's store",
    .children = children,
};
