/* cmd_advise.c - corgi advise: what an operator's own jobs cost as they ran, and what
 * Corgi would have saved */
#include "corgi/commands.h"

#include "base/file.h"
#include "corgi/daemon.h"
#include "corgi/slurm_export.h"
#include "lab/advise/advice.h"
#include "lab/commands/progress.h"
#include "lab/commands/sim_args.h"
#include "lab/report/report_page.h"
#include "lab/sim/run_result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct advise_args {
    struct daemon_args daemon;
    const char *slurm_jobs;
    const char *slurm_nodes;
    const char *slurm_types;
    bool slurm_any_type;
    const char *cluster;
    double since_s;
    const char *policy;
    const char *levers;
    int draws;
    uint64_t seed;
    double price, co2_g;
    const char *currency;
    int threads;
    const char *out;
    bool json;
    bool publish;
};

static const struct option_spec options[] = {
    OPT(struct advise_args, slurm_jobs, STRING, "from-slurm", 0, "FILE",
        "the jobs that ran, as sacct -P prints them; those of the daemon's record "
        "without it"),
    OPT(struct advise_args, slurm_nodes, STRING, "slurm-nodes", 0, "FILE",
        "the nodes, as sinfo -N -o \"%N %G %P\" or scontrol show node prints them"),
    OPT(struct advise_args, slurm_types, STRING, "slurm-types", 0, "LIST",
        "what names of GPU types mean: tesla=v100,gpu=l4"),
    OPT(struct advise_args, slurm_any_type, FLAG, "slurm-any-type", 0, NULL,
        "a job that asked for a type may run on any that meets its need"),
    OPT(struct advise_args, cluster, STRING, "cluster", 'c', "FILE",
        "the same nodes as YAML, with what their machines really draw"),
    OPT(struct advise_args, since_s, SECONDS, "since", 0, "TIME",
        "only jobs that ended in this last part of the record, as 7d; 0 is all of it",
        .default_text = "0"),
    OPT(struct advise_args, policy, STRING, "policy", 'p', "LIST",
        "what Corgi is compared with, beside what really happened",
        .default_text = "slurm-like,least-energy-caps,ear-like"),
    OPT(struct advise_args, levers, STRING, "levers", 0, "LIST",
        "what Corgi and the others may do beside placing: moves, sharing, caps, sleep, "
        "as "
        "in the daemon's group slurm; or none",
        .default_text = "moves,sharing,caps,sleep"),
    OPT(struct advise_args, draws, INT, "draws", 0, "N",
        "play it so many times, with what the jobs compute drawn anew", .min = 1,
        .max = 100, .default_text = "5"),
    OPT(struct advise_args, seed, U64, "seed", 's', "N", "seed of the first draw",
        .default_text = "1"),
    OPT(struct advise_args, price, DOUBLE, "price", 0, "PRICE", "of a kWh", .min = 0,
        .max = 1e6, .default_text = "0"),
    OPT(struct advise_args, currency, STRING, "currency", 0, "NAME", "of that price",
        .default_text = "EUR"),
    OPT(struct advise_args, co2_g, DOUBLE, "co2", 0, "GRAMS", "of CO2 a kWh", .min = 0,
        .max = 1e5, .default_text = "0"),
    OPT(struct advise_args, threads, INT, "threads", 0, "N",
        "runs at the same time; 0 is one a core", .min = 0, .max = 64,
        .default_text = "0"),
    OPT(struct advise_args, out, STRING, "out", 'o', "DIR",
        "also write report.html, advice.json, sim.json, rows.csv and jobs.csv there"),
    OPT(struct advise_args, json, FLAG, "json", 'j', NULL,
        "print JSON instead of tables"),
    OPT(struct advise_args, publish, FLAG, "publish", 0, NULL,
        "also hand it to the daemon, whose dashboard shows it; for operators"),
    DAEMON_CONNECT_OPTIONS,
    {0},
};

/* What really happened first, then Corgi, then the others. */
static int list_policies(const char *text, struct sweep_options *o, struct err *err)
{
    const struct policy *others[POLICY_MAX];
    size_t count;

    if (policy_parse_list(text, others, &count, err) < 0)
        return -1;
    o->policies[0] = &policy_as_it_ran;
    o->policies[1] = policy_find("corgi");
    o->policy_count = 2;
    for (size_t i = 0; i < count && o->policy_count < POLICY_MAX; i++)
        if (others[i] != o->policies[1])
            o->policies[o->policy_count++] = others[i];
    return 0;
}

/* All that are not named are off. */
static int set_levers(const char *text, struct optimize_settings *s, struct err *err)
{
    struct optimize_settings only = *s;
    char word[16];
    int share = s->share_max;

    only.share_max = 1;
    only.moves = only.caps = only.sleep = false;
    for (const char *rest = text; str_next_word(&rest, word, sizeof(word));) {
        if (!strcmp(word, "moves"))
            only.moves = s->moves;
        else if (!strcmp(word, "sharing"))
            only.share_max = share;
        else if (!strcmp(word, "caps"))
            only.caps = s->caps;
        else if (!strcmp(word, "sleep"))
            only.sleep = s->sleep;
        else if (strcmp(word, "none") != 0)
            return err_set(
                err, ERR_INVALID,
                "--levers knows moves, sharing, caps, sleep and none, not '%s'", word);
    }
    *s = only;
    return 0;
}

static struct sweep_options sweep_of(const struct advise_args *args,
                                     const struct slurm *slurm)
{
    struct sweep_options o = {.sim = sim_default_options(),
                              .loads = {1},
                              .load_count = 1,
                              .seeds = args->draws,
                              .threads = args->threads,
                              .record = args->out != NULL};

    o.scenario = (struct scenario_options){.workload = "standard",
                                           .cluster = args->cluster,
                                           .slurm = slurm,
                                           .alone_sd = o.sim.alone_sd,
                                           .as_is = true,
                                           .seed = args->seed};
    return o;
}

static int write_files(const struct advise_args *args, const struct advice *advice,
                       const struct sweep_options *o, const struct advice_prices *prices,
                       struct err *err)
{
    static const char *const except[] = {"out",        "threads", "json",
                                         "publish",    "url",     "socket",
                                         "token-file", "ca-file", NULL};
    struct str command = {0}, page = {0}, part = {0}, json = {0};
    struct report_input report = {
        .sweep = advice->sweep, .options = o, .price = args->price, .co2_g = args->co2_g};
    char *path = file_join(args->out, "advice.json");
    int rc;

    str_add(&command, "corgi advise");
    options_words(options, args, sizeof(*args), except, &command);
    str_add(&command, " --out DIR");
    report.command = str_text(&command);
    advice_html(advice, o, prices, &part);
    report.part = str_text(&part);
    report_page(&page, &report);
    rc = result_write(advice->sweep, o, str_text(&page), args->out, err);
    advice_json(advice, o, prices, &json);
    if (rc == 0)
        rc = file_write(path, str_text(&json), json.length, err);
    free(path);
    str_fini(&json);
    str_fini(&part);
    str_fini(&page);
    str_fini(&command);
    return rc;
}

/* PUT /v1/advice takes the text itself, in a string. */
static int publish(const struct advise_args *args, const char *json, struct err *err)
{
    struct client_request request = {.method = HTTP_PUT, .path = "/v1/advice"};
    struct client_answer answer = {0};
    struct client *client;
    struct str body = {0};
    struct json_out out;
    int rc;

    if (daemon_open(&client, &args->daemon, err) < 0)
        return -1;
    json_out_init(&out, &body, false);
    json_out_begin_object(&out);
    json_out_key_string(&out, "advice", json);
    json_out_end(&out);
    request.body = str_text(&body);
    rc = daemon_ask(client, &request, &answer, err);
    client_answer_fini(&answer);
    client_destroy(client);
    str_fini(&body);
    return rc;
}

static int tell(const struct advise_args *args, const struct advice *advice,
                const struct sweep_options *o, struct err *err)
{
    const struct advice_prices prices = {
        .per_kwh = args->price, .co2_g = args->co2_g, .currency = args->currency};
    struct str json = {0};
    int rc = 0;

    if (args->out && write_files(args, advice, o, &prices, err) < 0)
        return -1;
    advice_json(advice, o, &prices, &json);
    if (args->json)
        fputs(str_text(&json), stdout);
    else
        rc = advice_print(advice, o, &prices, err);
    if (rc == 0 && args->publish)
        rc = publish(args, str_text(&json), err);
    str_fini(&json);
    return rc;
}

static int advise(const struct advise_args *args, const struct sweep_options *o,
                  const char *warnings, struct err *err)
{
    struct progress progress;
    struct sweep sweep = {0};
    struct advice advice = {0};
    int rc;

    progress_init_stderr(&progress, "replaying");
    rc = sweep_run(&sweep, o, progress_show, &progress, err);
    progress_end(&progress);
    if (rc == 0)
        rc = advice_init(&advice, &sweep, o, err);
    advice.warnings = warnings;
    if (rc == 0)
        rc = tell(args, &advice, o, err);
    advice_fini(&advice);
    sweep_fini(&sweep);
    return rc;
}

/* ---- a daemon's own record ---- */

/* In files of a folder of its own, as lab/traces reads what sacct and sinfo print. */
struct daemon_record {
    char *folder; /* NULL: none */
    char *jobs, *nodes;
    struct str warnings; /* what the daemon says of itself, a line each */
};

static void daemon_record_remove(struct daemon_record *r)
{
    if (r->jobs)
        unlink(r->jobs);
    if (r->nodes)
        unlink(r->nodes);
    if (r->folder)
        rmdir(r->folder);
    free(r->folder);
    free(r->jobs);
    free(r->nodes);
    str_fini(&r->warnings);
}

/* Jobs that are hidden from the daemon, a Slurm that is away: the exit status. */
static int ask_warnings(const struct command_call *call, struct str *out)
{
    struct client_answer answer;
    const struct json_value *list;
    int status = daemon_send(call, HTTP_GET, "/v1/summary", NULL, &answer);

    if (status)
        return status;
    list = json_value_get(daemon_root(&answer), "warnings");
    for (size_t i = 0; i < json_value_count(list); i++) {
        const char *warning = json_value_string(json_value_item(list, i));

        str_addf(out, "The daemon says: %s\n", warning ? warning : "");
    }
    client_answer_fini(&answer);
    return 0;
}

/* A daemon that has just begun is no mistake of whoever asks. */
static int nothing_yet(const struct command_call *call)
{
    fprintf(stderr,
            "%s: no job of the daemon's record has run to its end on a GPU yet, so "
            "there is nothing to advise on; ask again later, or read what sacct prints "
            "with --from-slurm\n",
            call->path);
    return 0;
}

/* The exit status; 0: `from` reads it, and daemon_record_remove() ends it. */
static int fetch(const struct command_call *call, struct daemon_record *r,
                 struct slurm_options *from)
{
    const char *temporary = getenv("TMPDIR");
    struct err err = {0};
    size_t written;
    int status;

    r->folder =
        file_join(temporary && *temporary ? temporary : "/tmp", "corgi-record.XXXXXX");
    if (!mkdtemp(r->folder)) {
        err_sys(&err, "cannot make %s", r->folder);
        free(r->folder);
        return command_failed(call, &err);
    }
    from->jobs = r->jobs = file_join(r->folder, SLURM_EXPORT_JOBS);
    from->nodes = r->nodes = file_join(r->folder, SLURM_EXPORT_NODES);
    from->jobs_named = "the daemon's record";
    status = slurm_export_write(call, 0, r->folder, &written);
    if (status == 0)
        status = ask_warnings(call, &r->warnings);
    if (status != 0)
        daemon_record_remove(r);
    return status;
}

static int run(struct command_call *call)
{
    const struct advise_args *args = call->args;
    struct slurm_options from = {.jobs = args->slurm_jobs,
                                 .nodes = args->slurm_nodes,
                                 .names = args->slurm_types,
                                 .any_type = args->slurm_any_type,
                                 .since_s = args->since_s};
    struct daemon_record record = {0};
    struct slurm slurm = {0};
    struct sweep_options o;
    struct err err = {0};
    int rc = -1;

    if (!args->slurm_jobs && args->slurm_nodes)
        return command_wrong_use(call, "--slurm-nodes needs --from-slurm FILE");
    if (args->slurm_types && slurm_gres_check_names(args->slurm_types, &err) < 0)
        return command_wrong_use(call, "%s", err.text);
    o = sweep_of(args, &slurm);
    if (list_policies(args->policy, &o, &err) < 0 ||
        set_levers(args->levers, &o.sim.settings, &err) < 0)
        return command_wrong_use(call, "%s", err.text);
    if (!args->slurm_jobs) {
        int status = fetch(call, &record, &from);

        if (status != 0)
            return status;
    }
    if (slurm_load(&slurm, &from, &err) == 0)
        rc = advise(args, &o, str_text(&record.warnings), &err);
    slurm_fini(&slurm);
    daemon_record_remove(&record);
    if (rc < 0 && !args->slurm_jobs && err.code == ERR_INFEASIBLE)
        return nothing_yet(call);
    return rc < 0 ? command_failed(call, &err) : 0;
}

const struct command cmd_advise = {
    .name = "advise",
    .summary = "what your jobs cost as they ran, and what Corgi would have saved",
    .help =
        "Reads what a daemon that watches Slurm has seen, or what Slurm's tools print, "
        "and touches nothing.  The jobs are played where "
        "and when they really ran, then under Corgi and under simple policies: energy, "
        "money, CO2, waits, needs that were broken, who gains and who loses.  It says "
        "how "
        "well the replay of the real schedule meets the record, what was measured and "
        "what is assumed.  Where jobstats keeps counters in AdminComment, jobs that hold "
        "GPUs they hardly use are listed by user.\n\n"
        "The jobs are what sacct -a -P -X prints with -o and the columns JobID, User, "
        "JobName, Submit, Eligible, Start, End, Elapsed, AllocTRES, ReqTRES, NNodes, "
        "NodeList, State, Partition, ConsumedEnergyRaw and AdminComment; the nodes what "
        "sinfo -N -o \"%N %G %P\" prints.",
    .examples = "corgi advise --since 7d\n"
                "corgi advise --from-slurm sacct.txt --slurm-nodes sinfo.txt\n"
                "corgi advise --from-slurm sacct.txt --slurm-nodes sinfo.txt --since 7d "
                "--price 0.3 --co2 380 --out advice\n"
                "corgi advise --since 7d --publish",
    .options = options,
    .args_size = sizeof(struct advise_args),
    .run = run,
};
