/* main.c - corgi-report: takes a probe's reports on its standard input and delivers them
 *
 * corgi-probe starts it for --report https://..., and ends without waiting for it.  The
 * reports are messages of a socket, a line each; their end is the probe's.  What cannot
 * be delivered stays in the spool, for the next corgi-report of this user here. */
#include "base/clock.h"
#include "base/command.h"
#include "base/mem.h"
#include "base/parse.h"
#include "corgi-report/deliver.h"
#include "probe/probe_report.h"
#include "probe/sender.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define AGAIN_FIRST_S 1.0
#define AGAIN_MOST_S  15.0
/* A run that may have lost its claim while it was cut off; and the end of one that is all
 * of a job, for which the job may be started again until it is heard. */
#define AGAIN_FENCED_S 3.0
#define OTHERS_EVERY_S 30.0 /* a look for what others left */
#define TAKE_MOST      256
#define TOO_OLD_S      (2 * 86400.0)

struct report_args {
    const char *daemon;
    const char *ca;
    const char *token_file;
    const char *node;
    const char *spool;
    const char *run;
    double patience_s;
    bool whole;
    bool deliver;
};

static const struct option_spec options[] = {
    OPT(struct report_args, daemon, STRING, "daemon", 0, "URL",
        "where corgid listens: https://host:8421, or http:// on this machine"),
    OPT(struct report_args, ca, STRING, "ca", 0, "FILE",
        "trust certificates signed by these, instead of the system's"),
    OPT(struct report_args, token_file, STRING, "token-file", 0, "FILE",
        "the job's token; else it is in CORGI_JOB_TOKEN"),
    OPT(struct report_args, node, STRING, "node", 0, "NAME",
        "of this machine; else SLURMD_NODENAME, or what it calls itself"),
    OPT(struct report_args, spool, STRING, "spool", 0, "DIR",
        "keep there what cannot be delivered; else CORGI_SPOOL, or /tmp/corgi-spool-UID"),
    OPT(struct report_args, patience_s, SECONDS, "patience", 0, "TIME",
        "go on trying for so long after the last report", .min = 0, .max = 86400,
        .default_text = "2m"),
    OPT(struct report_args, run, STRING, "run", 0, "ID",
        "of the probe's run, 32 hex digits; else one is drawn"),
    OPT(struct report_args, whole, FLAG, "whole", 0, NULL,
        "what the probe runs is all of the job"),
    OPT(struct report_args, deliver, FLAG, "deliver", 0, NULL,
        "take no reports; deliver what others of this user have left in the spool"),
    {0},
};

/* ---- whose reports they are ---------------------------------------------------------
 */

static char *node_name(const struct report_args *args)
{
    const char *slurm = getenv("SLURMD_NODENAME");
    char name[256] = "";

    if (args->node || (slurm && *slurm))
        return mem_strdup(args->node ? args->node : slurm);
    gethostname(name, sizeof(name) - 1);
    return mem_strdup(*name ? name : "unknown");
}

static char *variable(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? mem_strdup(value) : NULL;
}

/* Elements of an array by their names, as they have only one token together. */
static char *slurm_job(void)
{
    const char *array = getenv("SLURM_ARRAY_JOB_ID");
    const char *element = getenv("SLURM_ARRAY_TASK_ID");
    struct str name = {0};

    if (!array || !*array || !element || !*element)
        return variable("SLURM_JOB_ID");
    str_addf(&name, "%s_%s", array, element);
    return str_take(&name);
}

static int rank_of(void)
{
    const char *rank = getenv("SLURM_PROCID");
    int number = 0;

    return rank && parse_int(rank, &number) && number >= 0 && number <= 1000000 ? number
                                                                                : 0;
}

static int read_origin(const struct report_args *args, struct report_origin *o,
                       struct err *err)
{
    *o = (struct report_origin){.daemon = mem_strdup(args->daemon),
                                .ca = args->ca ? mem_strdup(args->ca) : NULL,
                                .node = node_name(args),
                                .rank = rank_of(),
                                .whole = args->whole,
                                .began_s = clock_wall_s(),
                                .slurm_job = slurm_job(),
                                .gpus = variable("CUDA_VISIBLE_DEVICES")};
    if (report_token_read(args->token_file, &o->token, err) < 0 ||
        report_token_job(o->token, &o->job, err) < 0 ||
        (!args->run && report_run_make(o->run, err) < 0)) {
        report_origin_fini(o);
        return -1;
    }
    if (args->run)
        str_copy(o->run, sizeof(o->run), args->run);
    return 0;
}

static char *spool_folder(const struct report_args *args)
{
    struct str path = {0};
    const char *given = args->spool ? args->spool : getenv("CORGI_SPOOL");

    if (given && *given)
        return mem_strdup(given);
    str_addf(&path, "/tmp/corgi-spool-%u", (unsigned)geteuid());
    return str_take(&path);
}

/* ---- what others left ---------------------------------------------------------------
 */

/* The daemon takes reports for a day after a job's end. */
static bool is_old(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 &&
           clock_epoch_s() - (double)info.st_mtim.tv_sec > TOO_OLD_S;
}

/* How many could not be delivered. */
static int deliver_others(const char *folder)
{
    char **paths = report_spool_list(folder);
    int left = 0;

    for (char **path = paths; *path; path++) {
        struct err err = {0};
        struct report_spool *spool = report_spool_open(*path, &err);
        struct deliver *d = NULL;
        enum deliver_result result;

        if (spool)
            d = deliver_create(report_spool_origin(spool), &err);
        result = d ? deliver_all(d, spool, &err) : DELIVER_LATER;
        if (d && (result == DELIVER_NEVER || (result == DELIVER_LATER && is_old(*path))))
            report_spool_delivered(spool, UINT64_MAX); /* nobody will take them */
        if (spool)
            left += report_spool_count(spool) > 0;
        else
            left += err.code != ERR_EXISTS; /* else its own process delivers it */
        deliver_destroy(d);
        report_spool_destroy(spool);
        free(*path);
    }
    free(paths);
    return left;
}

/* ---- reports as they come -----------------------------------------------------------
 */

struct reporter {
    struct report_spool *spool;
    struct deliver *deliver;
    const char *folder;
    double patience_s;
    double again_s, wait_s; /* when to try again, and how long after that */
    double most_s;          /* that at most */
    double others_s;        /* a look at what others left */
    double ended_s;         /* the probe has gone; INFINITY: not yet */
    double ask_s;           /* ask then whether the run may go on; INFINITY: no need */
    bool stopped;           /* the probe has been told that it may not */
};

/* Whatever is there; false: the probe has gone. */
static bool take_reports(struct reporter *r)
{
    for (int i = 0; i < TAKE_MOST; i++) {
        char line[PROBE_REPORT_MAX_LINE + 1];
        ssize_t n = recv(STDIN_FILENO, line, sizeof(line) - 1, MSG_DONTWAIT);

        if (n == 0)
            return false;
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        line[n] = '\0';
        report_spool_put(r->spool, line);
    }
    return true;
}

/* The probe listens at the other end of the reports' socket. */
static void hear_daemon(struct reporter *r)
{
    struct deliver_told told = deliver_told(r->deliver);
    bool lives = isinf(r->ended_s);

    r->ask_s = told.ask_s > 0 && lives ? clock_wall_s() + told.ask_s : INFINITY;
    if (told.stop && lives && !r->stopped)
        r->stopped = send(STDIN_FILENO, SENDER_STOP, strlen(SENDER_STOP),
                          MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
}

/* False: nobody will ever take them. */
static bool try_delivery(struct reporter *r, double now_s)
{
    bool asks = now_s >= r->ask_s;
    struct err err = {0};

    if (now_s < r->again_s || (report_spool_count(r->spool) == 0 && !asks))
        return true;
    switch (asks ? deliver_ask(r->deliver, r->spool, &err)
                 : deliver_all(r->deliver, r->spool, &err)) {
    case DELIVER_DONE:
        hear_daemon(r);
        r->wait_s = AGAIN_FIRST_S;
        if (now_s >= r->others_s) {
            r->others_s = now_s + OTHERS_EVERY_S;
            deliver_others(r->folder);
        }
        return true;
    case DELIVER_LATER:
        r->again_s = clock_wall_s() + r->wait_s;
        r->wait_s = fmin(2 * r->wait_s, isinf(r->ask_s) ? r->most_s : AGAIN_FENCED_S);
        return true;
    case DELIVER_NEVER:
        break;
    }
    fprintf(stderr, "corgi-report: %s\n", err.text);
    report_spool_delivered(r->spool, UINT64_MAX);
    return false;
}

static int wait_ms(const struct reporter *r, bool waits, double now_s)
{
    double until_s = fmax(waits ? now_s : r->ask_s, r->again_s);

    return isinf(until_s) ? -1 : (int)(1e3 * fmax(0.01, until_s - now_s));
}

static void follow(struct reporter *r)
{
    for (;;) {
        struct pollfd in = {.fd = isinf(r->ended_s) ? STDIN_FILENO : -1,
                            .events = POLLIN};
        double now_s = clock_wall_s();
        bool waits = report_spool_count(r->spool) > 0;

        if (!isinf(r->ended_s) && (!waits || now_s > r->ended_s + r->patience_s))
            return;
        poll(&in, 1, wait_ms(r, waits, now_s));
        now_s = clock_wall_s();
        if (in.revents && !take_reports(r)) {
            r->ended_s = now_s;
            r->ask_s = INFINITY;
            r->again_s = now_s; /* the last ones at once */
        }
        if (!try_delivery(r, now_s))
            return;
    }
}

static int report(const struct report_args *args, const char *folder, struct err *err)
{
    struct reporter r = {.folder = folder,
                         .patience_s = args->patience_s,
                         .wait_s = AGAIN_FIRST_S,
                         .most_s = args->whole ? AGAIN_FENCED_S : AGAIN_MOST_S,
                         .ask_s = INFINITY,
                         .ended_s = INFINITY};
    struct report_origin origin;
    int rc = -1;

    if (read_origin(args, &origin, err) < 0)
        return -1;
    r.deliver = deliver_create(&origin, err);
    if (r.deliver) {
        r.spool = report_spool_create(&origin, folder);
        follow(&r);
        rc = 0;
    }
    report_spool_destroy(r.spool);
    deliver_destroy(r.deliver);
    report_origin_fini(&origin);
    return rc;
}

static int run(struct command_call *call)
{
    const struct report_args *args = call->args;
    char *folder = spool_folder(args);
    struct err err = {0};
    int rc = 0;

    signal(SIGPIPE, SIG_IGN);
    if (args->deliver)
        rc = deliver_others(folder) > 0;
    else if (!args->daemon)
        rc = command_wrong_use(call, "--daemon URL is missing");
    else if (report(args, folder, &err) < 0)
        rc = command_failed(call, &err);
    free(folder);
    return rc;
}

static const struct command corgi_report = {
    .name = "corgi-report",
    .summary = "deliver what a probe saw to a daemon on another machine",
    .help =
        "corgi-probe starts it for --report https://... and hands its reports over on "
        "the standard input, messages of a socket.  They go to the daemon in order, "
        "with the job's token; while it cannot be reached they wait, in memory and in "
        "a file that only this user can read, and are delivered later: by this "
        "process, by the next one of the user on this machine, or with --deliver.",
    .examples = "corgi-report --deliver",
    .options = options,
    .args_size = sizeof(struct report_args),
    .run = run,
};

int main(int argc, char **argv)
{
    return command_main(&corgi_report, argc, argv);
}
