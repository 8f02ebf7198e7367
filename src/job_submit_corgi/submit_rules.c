/* submit_rules.c - whose job it is, what it asks for, and how it is marked; asked by
 * plugin.c for every job, with the table of options that corgi submit has */
#include "job_submit_corgi/submit_rules.h"

#include "base/directives.h"
#include "base/mem.h"
#include "base/str.h"
#include "corgi/job_request.h"

#include <stdlib.h>
#include <string.h>

#define MARK             "#CORGI"
#define COMMENT_MARK     "corgi:"
#define MAX_SCRIPT_BYTES ((size_t)4 << 20) /* as corgi submit takes */
#define MAX_FIRST_LINE   250               /* the kernel reads no further */
#define MAX_NAME         128
#define MAX_GPUS         64 /* of a node */

void submit_verdict_fini(struct submit_verdict *verdict)
{
    free(verdict->admin_comment);
    free(verdict->script);
    free(verdict->message);
    *verdict = (struct submit_verdict){0};
}

/* ---- whose it is ------------------------------------------------------------------- */

static int managed_partitions(const struct submit_settings *s, const char *names,
                              bool *managed, struct err *err)
{
    char name[MAX_NAME];
    int ours = 0, all = 0;

    if (!names || !*names) {
        *managed = s->takes_default;
        return 0;
    }
    while (str_next_word(&names, name, sizeof(name))) {
        all++;
        ours += *name && str_in_list(s->partitions, ',', name);
    }
    *managed = ours > 0;
    if (ours == 0 || ours == all)
        return 0;
    return err_set(err, ERR_INVALID,
                   "some of these partitions are Corgi's and some are not; name "
                   "only such as are (%.200s) or none of them",
                   s->partitions);
}

/* ---- what it asks for -------------------------------------------------------------- */

/* What Slurm is told by options of its own would be told twice. */
static int check_whose_option(const struct job_options *o, struct err *err)
{
    const char *name = o->directory                      ? "directory"
                       : o->output                       ? "output"
                       : o->gpus != 1                    ? "gpus"
                       : o->cpus > 0                     ? "cpus"
                       : o->host_memory_gb > 0           ? "host-memory"
                       : o->priority                     ? "priority"
                       : o->hold                         ? "hold"
                       : o->metrics_url                  ? "metrics-url"
                       : o->metrics_counter              ? "metrics-counter"
                       : o->progress_file                ? "progress-file"
                       : strcmp(o->export, "USUAL") != 0 ? "export"
                                                         : NULL;

    if (name)
        return err_set(err, ERR_USAGE,
                       "--%s has no place in a job that Slurm starts; use sbatch's own "
                       "options for it",
                       name);
    if (o->max_replicas > 1 || o->scale_to_zero)
        return err_set(err, ERR_USAGE, "Slurm starts no replicas of a service");
    return 0;
}

static int check_words(const struct directives *lines, const char *where, struct err *err)
{
    for (size_t i = 0; i < lines->count; i++)
        for (int k = 1; k < lines->items[i].word_count; k++)
            for (const char *at = lines->items[i].words[k]; *at;) {
                size_t bytes = str_utf8_length(at);

                if (bytes == 0 || (unsigned char)*at < ' ' || *at == 0x7f)
                    return err_set(err, ERR_FORMAT,
                                   "%s line %d: there is a character that is no text",
                                   where, lines->items[i].line);
                at += bytes;
            }
    return 0;
}

/* Whole GPUs, or one shard, of no special type; 0: something else. */
static int plain_gpus(const char *gres)
{
    const char *count;
    char *end;
    long gpus;

    if (!gres)
        return 0;
    gres += str_starts(gres, "gres:") ? strlen("gres:") : 0;
    if (strcmp(gres, "gpu") == 0 || strcmp(gres, "shard") == 0 ||
        strcmp(gres, "shard:1") == 0)
        return 1;
    count = str_starts(gres, "gpu:") ? gres + strlen("gpu:") : "";
    gpus = *count >= '1' && *count <= '9' ? strtol(count, &end, 10) : 0;
    return gpus > 0 && gpus <= MAX_GPUS && !*end ? (int)gpus : 0;
}

static int read_asked(const struct directives *lines, const char *where, int gpus,
                      struct str *json, struct err *err)
{
    char *const nothing[] = {NULL};
    struct job_args args = {0};
    struct json_out out;

    options_defaults(job_header_options, &args);
    json_out_init(&out, json, false);
    if (check_words(lines, where, err) < 0 ||
        job_read_header(job_header_options, lines, where, &args, err) < 0 ||
        check_whose_option(&args.job, err) < 0 || job_options_check(&args.job, err) < 0)
        return -1;
    args.job.gpus = gpus; /* 0: Slurm knows them */
    return job_request_json(&args.job, NULL, nothing, &out, err);
}

/* A comment "corgi: --min-rate 40" is read as a header of one line. */
static int read_comment(const char *comment, struct directives *lines, struct err *err)
{
    struct str line = {0};
    int rc;

    if (!comment || !str_starts(comment, COMMENT_MARK))
        return 0;
    if (strchr(comment, '\n'))
        return err_set(err, ERR_FORMAT, "the comment has more than one line");
    str_addf(&line, MARK " %s", comment + strlen(COMMENT_MARK));
    rc = directives_parse(lines, MARK, line.text, line.length, "comment", err);
    str_fini(&line);
    return rc;
}

/* Of the script's header, else of the comment, else nothing. */
static int asked_of(const struct submitted_job *job, int gpus, struct str *json,
                    struct err *err)
{
    struct directives lines = {0};
    const char *where = "script";
    size_t length = job->script ? strnlen(job->script, MAX_SCRIPT_BYTES + 1) : 0;
    int rc = -1;

    if (length > MAX_SCRIPT_BYTES)
        return err_set(err, ERR_LIMIT, "the script has more than %zu MB",
                       MAX_SCRIPT_BYTES >> 20);
    if (length > 0 && directives_parse(&lines, MARK, job->script, length, where, err) < 0)
        return -1;
    if (lines.count == 0) {
        where = "comment";
        directives_fini(&lines);
        if (read_comment(job->comment, &lines, err) < 0)
            return -1;
    }
    rc = read_asked(&lines, where, gpus, json, err);
    directives_fini(&lines);
    return rc;
}

/* ---- how it is marked -------------------------------------------------------------- */

static int mark(const struct submitted_job *job, const char *json, char **comment,
                struct err *err)
{
    const char *foreign = job->admin_comment ? job->admin_comment : "";
    struct str text = {0};

    str_addf(&text, "%s%s" SLURM_MARK "%s:%s", foreign, *foreign ? " " : "", job->digest,
             json);
    if (text.length > SUBMIT_MAX_COMMENT) {
        err_set(err, ERR_LIMIT,
                "what it asks for is %zu bytes too long to be noted in Slurm",
                text.length - SUBMIT_MAX_COMMENT);
        str_fini(&text);
        return -1;
    }
    *comment = str_take(&text);
    return 0;
}

/* "#!/bin/bash -l" becomes "#!/usr/bin/env -S PROBE --whole -- /bin/bash -l": the step is
 * the probe then.  NULL where the line would be longer than the kernel reads. */
static char *under_probe(const char *script, const char *probe)
{
    struct str made = {0};
    const char *line;
    size_t length;

    if (!str_starts(script, "#!"))
        return NULL;
    line = script + 2 + strspn(script + 2, " \t");
    length = strcspn(line, "\n");
    if (length == 0)
        return NULL;
    str_addf(&made, "#!/usr/bin/env -S %s --whole -- ", probe);
    if (made.length + length > MAX_FIRST_LINE) {
        str_fini(&made);
        return NULL;
    }
    str_add(&made, line);
    return str_take(&made);
}

/* One line that is safe on any terminal and in any log. */
static char *printable(const char *text)
{
    struct str line = {0};

    str_add(&line, "corgi: ");
    while (*text) {
        size_t bytes = str_utf8_length(text);
        bool plain = bytes > 0 && (unsigned char)*text >= ' ' && *text != 0x7f;

        str_add_bytes(&line, plain ? text : "?", plain ? bytes : 1);
        text += plain ? bytes : 1;
    }
    return str_take(&line);
}

static struct submit_verdict refuse(const struct err *err)
{
    return (struct submit_verdict){.fate = SUBMIT_REFUSE,
                                   .message = printable(err->text)};
}

struct submit_verdict submit_decide(const struct submit_settings *settings,
                                    const struct submitted_job *job)
{
    struct submit_verdict v = {0};
    struct str json = {0};
    struct err err = {0};
    bool managed = false;
    int gpus = settings->sharing && settings->hold ? plain_gpus(job->gres) : 0;

    if (managed_partitions(settings, job->partition, &managed, &err) < 0)
        return refuse(&err);
    if (!managed)
        return v;
    if (asked_of(job, gpus * (job->nodes > 1 ? job->nodes : 1), &json, &err) < 0 ||
        mark(job, str_text(&json), &v.admin_comment, &err) < 0) {
        str_fini(&json);
        return refuse(&err);
    }
    str_fini(&json);
    v.fate = SUBMIT_TAKE;
    v.hold = settings->hold;
    v.drop_gres = gpus > 0;
    if (job->script && *settings->probe)
        v.script = under_probe(job->script, settings->probe);
    if (v.hold)
        v.message = printable("held until Corgi has a place for it, see 'corgi queue'");
    return v;
}
