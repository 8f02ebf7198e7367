/* main.c - corgi-probe: its options */
#include "base/command.h"
#include "probe/attach_job.h"
#include "probe/heartbeat.h"
#include "probe/report_spool.h"
#include "probe/run_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

struct probe_args {
    struct run_job_options run;
    const char *beat;
    bool attach;
    double output_mb;
    bool guarded;
};

static const struct option_spec options[] = {
    OPT(struct probe_args, run.meter.job, U64, "job", 0, "ID",
        "the job's number, for reports and files"),
    OPT(struct probe_args, run.meter.attempt, INT, "attempt", 0, "N",
        "which start of the job this is", .min = 1, .max = 1e9, .default_text = "1"),
    OPT(struct probe_args, run.meter.dir, STRING, "dir", 0, "DIR",
        "keep the files pid, status and heartbeat there"),
    OPT(struct probe_args, run.report.target, STRING, "report", 0, "WHERE",
        "send reports to unix:PATH, or to corgid at https://HOST:PORT with the job's "
        "token; else CORGI_REPORT"),
    OPT(struct probe_args, run.report.token_file, STRING, "token-file", 0, "FILE",
        "the job's token for an address; else it is in CORGI_JOB_TOKEN"),
    OPT(struct probe_args, run.report.ca, STRING, "report-ca", 0, "FILE",
        "trust certificates signed by these; else CORGI_REPORT_CA, or the system's"),
    OPT(struct probe_args, run.report.whole, FLAG, "whole", 0, NULL,
        "the command is all of the job: when it is done, so is the job"),
    OPT(struct probe_args, run.meter.metrics_url, STRING, "metrics-url", 0, "URL",
        "the job's Prometheus page; an IP address or localhost"),
    OPT(struct probe_args, run.meter.metrics_counter, STRING, "metrics-counter", 0,
        "NAME", "the counter there that counts the job's work"),
    OPT(struct probe_args, run.meter.progress, STRING, "progress", 0, "FILE",
        "the job keeps its count of steps in this file"),
    OPT(struct probe_args, run.output, STRING, "output", 'o', "FILE",
        "append the job's output to this file"),
    OPT(struct probe_args, output_mb, DOUBLE, "output-mb", 0, "MEGABYTES",
        "keep at most so much of that file, its beginning and its end; 0: all", .min = 0,
        .max = 1e6, .default_text = "0"),
    OPT(struct probe_args, run.meter.window_s, SECONDS, "window", 0, "SECONDS",
        "measure and report over this long", .min = 0.2, .max = 3600,
        .default_text = "10"),
    OPT(struct probe_args, run.grace_s, SECONDS, "grace", 0, "SECONDS",
        "after SIGTERM, kill what still runs after this long", .min = 0, .max = 86400,
        .default_text = "30"),
    OPT(struct probe_args, run.environment_fd, INT, "environment-fd", 0, "N",
        "the job's environment, NAME=value with a NUL behind each, is read from this "
        "descriptor; -1: it has the probe's own",
        .min = -1, .max = 1e6, .default_text = "-1"),
    OPT(struct probe_args, guarded, FLAG, "guarded", 0, NULL,
        "processes of the same user cannot trace the probe or read its memory"),
    OPT(struct probe_args, run.meter.service, FLAG, "service", 0, NULL,
        "the job serves requests: report what is asked of it, too"),
    OPT(struct probe_args, attach, FLAG, "attach", 0, NULL,
        "in a TaskProlog of Slurm: measure the job of SLURM_JOB_ID, which is not started "
        "by this probe, until it is over; returns at once"),
    OPT(struct probe_args, beat, STRING, "beat", 0, "LINE",
        "inside of a job: send this heartbeat, as in --beat steps=120, and end"),
    {0},
};

/* What the environment says where the options do not; and whose job it is, by its token.
 */
static int settle_report(struct probe_args *args, struct err *err)
{
    struct sender_options *report = &args->run.report;
    bool wanted = report->target;
    char *token = NULL;
    int rc;

    if (!report->target)
        report->target = getenv("CORGI_REPORT");
    if (!report->ca)
        report->ca = getenv("CORGI_REPORT_CA");
    if (!report->target || str_starts(report->target, "unix:"))
        return 0;
    rc = report_token_read(report->token_file, &token, err);
    if (rc == 0 && args->run.meter.job == 0)
        rc = report_token_job(token, &args->run.meter.job, err);
    if (rc < 0 && !wanted && !args->attach) { /* a site's setting stops nobody's job */
        fprintf(stderr, "corgi-probe: nothing is reported: %s\n", err->text);
        report->target = NULL;
        rc = 0;
    }
    args->run.meter.power = true; /* nobody else meters there */
    if (token)
        explicit_bzero(token, strlen(token));
    free(token);
    return rc;
}

static int attach(struct command_call *call, const struct probe_args *args)
{
    const char *slurm_job = getenv("SLURM_JOB_ID");
    struct attach_options attached = {
        .meter = args->run.meter, .report = args->run.report, .slurm_job = slurm_job};
    struct err err = {0};

    if (call->operand_count > 0)
        return command_wrong_use(call, "--attach takes no command");
    if (!slurm_job)
        return command_wrong_use(call, "--attach needs SLURM_JOB_ID, as Slurm sets it");
    return attach_job(&attached, &err) < 0 ? command_failed(call, &err) : 0;
}

static int run_command(struct command_call *call)
{
    struct probe_args *args = call->args;
    struct err err = {0};
    int status;

    if (args->beat) {
        if (call->operand_count > 0)
            return command_wrong_use(call, "--beat takes no command");
        return heartbeat_send(args->beat, &err) < 0 ? command_failed(call, &err) : 0;
    }
    if (call->operand_count == 0 && !args->attach)
        return command_wrong_use(call, "COMMAND is missing");
    if (settle_report(args, &err) < 0)
        return command_failed(call, &err);
    if (args->attach)
        return attach(call, args);
    if (args->guarded)
        prctl(PR_SET_DUMPABLE, 0);
    args->run.argv = call->operands;
    args->run.output_bytes = args->output_mb * 1e6;
    status = run_job(&args->run, &err);
    return status < 0 ? command_failed(call, &err) : status;
}

static const struct command probe = {
    .name = "corgi-probe",
    .summary = "run a job, measure its rate and report it",
    .help =
        "Runs the command as a job: hands its output on untouched, finds out how fast it "
        "is, and ends with its exit status (128 and the signal's number when one ended "
        "it; 127 when there is no such command, 126 when it cannot be run).\n\n"
        "The rate comes from the best of: lines the job sends to the datagram socket "
        "named in CORGI_HEARTBEAT (rate=12.5 or steps=1234), its Prometheus page, its "
        "output (tqdm bars, steps/s, step 120/1000, and what the usual frameworks "
        "print), "
        "its progress file, how busy it keeps its GPUs or the processor.\n\n"
        "When the first process ends or SIGTERM has come and the grace is over, "
        "everything "
        "the job has started is stopped, detached processes too.",
    .examples = "corgi-probe --job 7 -- python train.py\n"
                "corgi-probe --job 7 --dir /run/job7 --report unix:/run/corgi/reports -- "
                "./train --steps 1000",
    .operands = "[--] COMMAND [ARGUMENT...]",
    .operands_free = true,
    .options = options,
    .args_size = sizeof(struct probe_args),
    .run = run_command,
};

int main(int argc, char **argv)
{
    return command_main(&probe, argc, argv);
}
