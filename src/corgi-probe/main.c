/* main.c - corgi-probe: its options */
#include "base/command.h"
#include "probe/heartbeat.h"
#include "probe/run_job.h"

struct probe_args {
    struct run_job_options run;
    const char *beat;
    double output_mb;
};

static const struct option_spec options[] = {
    {.name = "job",
     .type = OPTION_U64,
     .argument = "ID",
     .offset = offsetof(struct probe_args, run.meter.job),
     .help = "the job's number, for reports and files"},
    {.name = "attempt",
     .type = OPTION_INT,
     .argument = "N",
     .min = 1,
     .max = 1e9,
     .default_text = "1",
     .offset = offsetof(struct probe_args, run.meter.attempt),
     .help = "which start of the job this is"},
    {.name = "dir",
     .type = OPTION_STRING,
     .argument = "DIR",
     .offset = offsetof(struct probe_args, run.meter.dir),
     .help = "keep the files pid, status and heartbeat there"},
    {.name = "report",
     .type = OPTION_STRING,
     .argument = "WHERE",
     .offset = offsetof(struct probe_args, run.report),
     .help = "send reports to unix:PATH or to an http:// address"},
    {.name = "metrics-url",
     .type = OPTION_STRING,
     .argument = "URL",
     .offset = offsetof(struct probe_args, run.meter.metrics_url),
     .help = "the job's Prometheus page; an IP address or localhost"},
    {.name = "metrics-counter",
     .type = OPTION_STRING,
     .argument = "NAME",
     .offset = offsetof(struct probe_args, run.meter.metrics_counter),
     .help = "the counter there that counts the job's work"},
    {.name = "progress",
     .type = OPTION_STRING,
     .argument = "FILE",
     .offset = offsetof(struct probe_args, run.meter.progress),
     .help = "the job keeps its count of steps in this file"},
    {.name = "output",
     .letter = 'o',
     .type = OPTION_STRING,
     .argument = "FILE",
     .offset = offsetof(struct probe_args, run.output),
     .help = "append the job's output to this file"},
    {.name = "output-mb",
     .type = OPTION_DOUBLE,
     .argument = "MEGABYTES",
     .min = 0,
     .max = 1e6,
     .default_text = "0",
     .offset = offsetof(struct probe_args, output_mb),
     .help = "keep at most so much of that file, its beginning and its end; 0: all"},
    {.name = "window",
     .type = OPTION_SECONDS,
     .argument = "SECONDS",
     .min = 0.2,
     .max = 3600,
     .default_text = "10",
     .offset = offsetof(struct probe_args, run.meter.window_s),
     .help = "measure and report over this long"},
    {.name = "grace",
     .type = OPTION_SECONDS,
     .argument = "SECONDS",
     .min = 0,
     .max = 86400,
     .default_text = "30",
     .offset = offsetof(struct probe_args, run.grace_s),
     .help = "after SIGTERM, kill what still runs after this long"},
    {.name = "service",
     .type = OPTION_FLAG,
     .offset = offsetof(struct probe_args, run.service),
     .help = "the job serves requests: report what is asked of it, too"},
    {.name = "beat",
     .type = OPTION_STRING,
     .argument = "LINE",
     .offset = offsetof(struct probe_args, beat),
     .help = "inside of a job: send this heartbeat, as in --beat steps=120, and end"},
    {0},
};

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
    if (call->operand_count == 0)
        return command_wrong_use(call, "COMMAND is missing");
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
    .operand_max = -1,
    .options = options,
    .args_size = sizeof(struct probe_args),
    .run = run_command,
};

int main(int argc, char **argv)
{
    return command_main(&probe, argc, argv);
}
