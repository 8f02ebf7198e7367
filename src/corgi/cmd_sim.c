/* cmd_sim.c - corgi sim: what would happen on a cluster under each policy */
#include "corgi/commands.h"

#include "base/options_words.h"
#include "base/parse.h"
#include "base/progress.h"
#include "loop/settings.h"
#include "sim/goals.h"
#include "sim/report/report.h"
#include "sim/result.h"

#include <stdio.h>
#include <string.h>

struct sim_args {
    const char *cluster;
    const char *config;
    const char *trace;
    const char *workload;
    const char *throughputs;
    const char *arrivals;
    int arrivals_format;
    const char *slurm_jobs;
    const char *slurm_nodes;
    const char *slurm_types;
    bool slurm_any_type;
    const char *demand;
    const char *replace;
    double power_limit_watts;
    const char *policy;
    const char *load;
    const char *out;
    const char *sleep;
    uint64_t seed;
    int seeds;
    int threads;
    int share;
    double days;
    int limit;
    double mtbf_s;
    double until_s;
    bool check;
    bool timings;
    bool json;
};

/* In the order of enum arrivals_format. */
static const char *const formats[] = {"philly", "alibaba", NULL};

static const struct option_spec options[] = {
    {.name = "workload",
     .letter = 'w',
     .type = OPTION_STRING,
     .argument = "NAME",
     .default_text = "demo",
     .offset = offsetof(struct sim_args, workload),
     .help = "built-in cluster and requests: demo, standard, modern, or a variant of "
             "standard (-tight, -drift, -newfamily, -newgpu, -nok80, -host40, -host400)"},
    {.name = "cluster",
     .letter = 'c',
     .type = OPTION_STRING,
     .argument = "FILE",
     .offset = offsetof(struct sim_args, cluster),
     .help = "nodes and GPUs as YAML, or alibaba or another built-in name"},
    {.name = "config",
     .type = OPTION_STRING,
     .argument = "FILE",
     .offset = offsetof(struct sim_args, config),
     .help = "settings of the loop as YAML; 'corgi config show' prints them"},
    {.name = "trace",
     .letter = 't',
     .type = OPTION_STRING,
     .argument = "FILE",
     .offset = offsetof(struct sim_args, trace),
     .help = "requests as CSV, instead of generated ones"},
    {.name = "throughputs",
     .type = OPTION_STRING,
     .argument = "FILE",
     .offset = offsetof(struct sim_args, throughputs),
     .help = "measured rates as Gavel's JSON, instead of the synthetic world"},
    {.name = "arrivals",
     .type = OPTION_STRING,
     .argument = "FILE",
     .offset = offsetof(struct sim_args, arrivals),
     .help = "when jobs came, how long and on how many GPUs, from a public trace; with "
             "--load its bursts, else all of it"},
    {.name = "arrivals-format",
     .type = OPTION_CHOICE,
     .argument = "NAME",
     .choices = formats,
     .default_text = "philly",
     .offset = offsetof(struct sim_args, arrivals_format),
     .help = "what that file is: philly or alibaba (a pod list)"},
    {.name = "from-slurm",
     .type = OPTION_STRING,
     .argument = "FILE",
     .offset = offsetof(struct sim_args, slurm_jobs),
     .help =
         "your own jobs as 'sacct -P' prints them; with --load their bursts, else all "
         "of them"},
    {.name = "slurm-nodes",
     .type = OPTION_STRING,
     .argument = "FILE",
     .offset = offsetof(struct sim_args, slurm_nodes),
     .help =
         "the nodes they ran on, from 'sinfo -N -o \"%N %G\"' or 'scontrol show node' "
         "[as many GPUs as were in use at once]"},
    {.name = "slurm-types",
     .type = OPTION_STRING,
     .argument = "LIST",
     .offset = offsetof(struct sim_args, slurm_types),
     .help =
         "what Slurm's GPU types are, for instance tesla=v100,gpu=l4, where gpu stands "
         "for those without a type"},
    {.name = "slurm-any-type",
     .type = OPTION_FLAG,
     .offset = offsetof(struct sim_args, slurm_any_type),
     .help = "jobs that asked for a GPU type may run on others that meet their need"},
    {.name = "demand",
     .type = OPTION_STRING,
     .argument = "FILE",
     .offset = offsetof(struct sim_args, demand),
     .help = "times of requests (CSV with arrival_s) that give services their load"},
    {.name = "replace",
     .type = OPTION_STRING,
     .argument = "OUT=IN",
     .offset = offsetof(struct sim_args, replace),
     .help = "what if: other cards, for instance k80:8=l4:2, with commas between"},
    {.name = "power-cap-total",
     .type = OPTION_WATTS,
     .argument = "WATTS",
     .default_text = "0",
     .offset = offsetof(struct sim_args, power_limit_watts),
     .help = "limit on the draw of the whole cluster, for planners that keep one; 0 is "
             "none"},
    {.name = "policy",
     .letter = 'p',
     .type = OPTION_STRING,
     .argument = "LIST",
     .default_text = "corgi,fifo,fastest,pack-blind",
     .offset = offsetof(struct sim_args, policy),
     .help = "policies to compare, with commas between, or all"},
    {.name = "load",
     .letter = 'l',
     .type = OPTION_STRING,
     .argument = "LIST",
     .offset = offsetof(struct sim_args, load),
     .help = "offered loads in percent, with commas between [the workload's]"},
    {.name = "seed",
     .letter = 's',
     .type = OPTION_U64,
     .argument = "N",
     .default_text = "1",
     .offset = offsetof(struct sim_args, seed),
     .help = "seed of everything drawn"},
    {.name = "seeds",
     .type = OPTION_INT,
     .argument = "N",
     .min = 0,
     .max = 1000,
     .default_text = "0",
     .offset = offsetof(struct sim_args, seeds),
     .help = "paired seeds a row; 0 is the workload's own number, 1 with a trace"},
    {.name = "days",
     .type = OPTION_DOUBLE,
     .argument = "N",
     .min = 0,
     .max = 365,
     .default_text = "0",
     .offset = offsetof(struct sim_args, days),
     .help = "days of arrivals; 0 is the workload's own"},
    {.name = "limit",
     .type = OPTION_INT,
     .argument = "N",
     .min = 0,
     .max = WORKLOAD_MAX_REQUESTS,
     .default_text = "0",
     .offset = offsetof(struct sim_args, limit),
     .help = "stop generating after so many requests; 0 is no limit"},
    {.name = "until",
     .type = OPTION_SECONDS,
     .argument = "TIME",
     .default_text = "0",
     .offset = offsetof(struct sim_args, until_s),
     .help = "stop the clock there; 0 is when all work is done"},
    {.name = "share",
     .type = OPTION_INT,
     .argument = "N",
     .min = 0,
     .max = LOOP_MAX_SHARE,
     .default_text = "0",
     .offset = offsetof(struct sim_args, share),
     .help = "most jobs on one GPU; 0 is what the config says"},
    {.name = "sleep",
     .type = OPTION_STRING,
     .argument = "MODE",
     .offset = offsetof(struct sim_args, sleep),
     .help =
         "whether idle nodes sleep, for every policy: on, off, or both in turn [what the "
         "config says]"},
    {.name = "mtbf",
     .type = OPTION_SECONDS,
     .argument = "TIME",
     .default_text = "60d",
     .offset = offsetof(struct sim_args, mtbf_s),
     .help = "mean time between failures of a node; 0 is never"},
    {.name = "threads",
     .type = OPTION_INT,
     .argument = "N",
     .min = 0,
     .max = 64,
     .default_text = "0",
     .offset = offsetof(struct sim_args, threads),
     .help = "runs at the same time; 0 is one a core"},
    {.name = "out",
     .letter = 'o',
     .type = OPTION_STRING,
     .argument = "DIR",
     .offset = offsetof(struct sim_args, out),
     .help = "also write report.html, sim.json, rows.csv and jobs.csv there"},
    {.name = "check",
     .type = OPTION_FLAG,
     .offset = offsetof(struct sim_args, check),
     .help = "debug: look for broken rules at every event and end with the first one"},
    {.name = "timings",
     .type = OPTION_FLAG,
     .offset = offsetof(struct sim_args, timings),
     .help = "put decision times into the JSON, which then differs from run to run"},
    {.name = "json",
     .letter = 'j',
     .type = OPTION_FLAG,
     .offset = offsetof(struct sim_args, json),
     .help = "print JSON instead of a table"},
    {0},
};

static int parse_loads(const char *text, struct sweep_options *o, struct err *err)
{
    o->load_count = 0;
    while (*text) {
        size_t length = strcspn(text, ",");
        char item[32];
        double percent;

        if (length == 0 || length >= sizeof(item) || o->load_count == SWEEP_MAX_LOADS)
            return err_set(err, ERR_USAGE, "--load '%s' is not a list of percentages",
                           text);
        memcpy(item, text, length);
        item[length] = '\0';
        if (!parse_double(item, &percent) || !(percent >= 1) || percent > 200)
            return err_set(err, ERR_USAGE, "--load %s is not within 1 and 200 percent",
                           item);
        o->loads[o->load_count++] = percent / 100;
        text += length + (text[length] == ',');
    }
    if (o->load_count == 0)
        return err_set(err, ERR_USAGE, "--load names no load");
    return 0;
}

/* What the command line says goes before what a config file says. */
static int override_settings(const struct sim_args *args, struct sweep_options *o,
                             struct err *err)
{
    struct optimize_settings *s = &o->sim.settings;

    if (args->share > 0)
        s->share_max = args->share;
    if (args->power_limit_watts > 0)
        s->power_limit_watts = args->power_limit_watts;
    if (!args->sleep)
        return 0;
    o->both_sleeps = !strcmp(args->sleep, "both");
    s->sleep = strcmp(args->sleep, "off") != 0;
    if (o->both_sleeps || !strcmp(args->sleep, "on") || !strcmp(args->sleep, "off"))
        return 0;
    return err_set(err, ERR_USAGE, "--sleep %s is none of on, off and both", args->sleep);
}

static struct scenario_options scenario_of(const struct sim_args *args,
                                           const struct slurm *slurm,
                                           const struct sim_options *sim)
{
    struct scenario_options o = {
        .workload = args->workload,
        .cluster = args->cluster,
        .throughputs = args->throughputs,
        .trace = args->trace,
        .arrivals = args->arrivals,
        .arrivals_format = (enum arrivals_format)args->arrivals_format,
        .slurm = args->slurm_jobs ? slurm : NULL,
        .alone_sd = sim->alone_sd,
        .as_is = (args->arrivals || args->slurm_jobs) && !args->load,
        .demand = args->demand,
        .replace = args->replace,
        .days = args->days,
        .limit = (size_t)args->limit,
        .seed = args->seed,
    };

    /* Traces of measured jobs name machines of a whole cluster: give them the standard
     * one, and the pods of Alibaba their own. */
    if ((args->trace || args->arrivals || o.slurm) && !strcmp(args->workload, "demo")) {
        o.workload = "standard";
        if (args->arrivals && o.arrivals_format == ARRIVALS_ALIBABA && !args->cluster)
            o.cluster = args->load ? "alibaba-small" : "alibaba";
    }
    return o;
}

static int fill_options(const struct sim_args *args, const struct slurm *slurm,
                        struct sweep_options *o, struct err *err)
{
    const struct scenario_builtin *builtin = scenario_builtin_find(args->workload);

    if (!builtin) {
        struct str names = {0};

        err_set(err, ERR_USAGE, "unknown workload '%s'; there are %s", args->workload,
                scenario_builtin_names(&names));
        str_fini(&names);
        return -1;
    }
    *o = (struct sweep_options){.sim = sim_default_options(), .threads = args->threads};
    o->scenario = scenario_of(args, slurm, &o->sim);
    if (override_settings(args, o, err) < 0)
        return -1;
    o->sim.node_mtbf_s = args->mtbf_s;
    o->sim.limit_s = args->until_s;
    o->sim.check = args->check;
    o->record = args->out != NULL;
    o->seeds = args->seeds                        ? args->seeds
               : args->trace || o->scenario.as_is ? 1
                                                  : builtin->seeds;
    if (policy_parse_list(args->policy, o->policies, &o->policy_count, err) < 0) {
        err->code = ERR_USAGE;
        return -1;
    }
    if ((args->trace || o->scenario.as_is) && !args->load) {
        o->loads[0] = 1;
        o->load_count = 1;
        return 0;
    }
    return parse_loads(args->load ? args->load : builtin->loads, o, err);
}

/* The file's settings, under those of the command line. */
static int read_settings(const struct sim_args *args, struct sweep_options *o,
                         struct err *err)
{
    struct optimize_settings settings;

    if (config_read(settings_keys, &settings, sizeof(settings), args->config, err) < 0)
        return -1;
    o->sim.settings = settings;
    return override_settings(args, o, err);
}

static void show_progress(void *ctx, double share)
{
    progress_update(ctx, share);
}

/* A line for what the columns do not show. */
static void print_rejected(const struct sweep *sweep)
{
    size_t rejected = 0, jobs = 0;

    for (int s = 0; s < sweep->rows[0].seeds; s++) {
        rejected += sweep->rows[0].runs[s].refused;
        jobs += sweep->rows[0].runs[s].jobs;
    }
    if (rejected > 0)
        printf("%zu of %zu requests of %s were rejected: nobody knows a rate of theirs "
               "on so "
               "many GPUs, or they fit nowhere.\n",
               rejected, jobs, sweep->rows[0].policy->name);
}

/* Whether the goals are met, where there is an opponent to compare with. */
static int print_goals(const struct sweep *sweep, const struct sweep_options *o,
                       struct err *err)
{
    struct goals goals;
    int rc = 0;

    goals_init(&goals, sweep, o);
    if (goals_compare(&goals)) {
        struct table *table = goals_table(&goals);

        printf("\n");
        rc = table_print(table, stdout, err);
        table_destroy(table);
        printf("\nEach goal at the load where it does worst; unclear: the 95 %% interval "
               "reaches beyond.\nEnergy saved counts only where promises are kept as "
               "well.\n%s",
               goals.by_protocol ? ""
                                 : "The goals are set for --workload standard with 8 "
                                   "seeds: this is another run.\n");
    }
    goals_fini(&goals);
    return rc;
}

static int print_result(const struct sim_args *args, const struct sweep *sweep,
                        const struct sweep_options *o, struct err *err)
{
    struct table *table;
    int rc;

    if (args->json) {
        struct str json = {0};

        result_json(sweep, o, args->timings, &json);
        fputs(str_text(&json), stdout);
        str_fini(&json);
        return 0;
    }
    table = result_table(sweep);
    rc = table_print(table, stdout, err);
    table_destroy(table);
    printf("\n%s rates, modelled power.  Work is in hours of the fastest GPU type.\nSLA "
           "time%%: share of job-time with the requirement met; oracle rows know "
           "true rates.\n",
           args->throughputs ? "Measured" : "Synthetic");
    print_rejected(sweep);
    if (o->scenario.slurm) {
        struct str notes = {0};

        printf("\n%s", slurm_notes(o->scenario.slurm, o->scenario.cluster, &notes));
        str_fini(&notes);
    }
    return rc < 0 ? rc : print_goals(sweep, o, err);
}

static int write_files(const struct sim_args *args, const struct sweep *sweep,
                       const struct sweep_options *o, struct err *err)
{
    /* How many threads there were, who looked on and where results go is no part of
     * them. */
    static const char *const except[] = {"out", "threads", "json", "check", NULL};
    struct str command = {0}, page = {0};
    struct report_input report = {.sweep = sweep, .options = o, .timings = args->timings};
    int rc;

    str_add(&command, "corgi sim");
    options_words(options, args, sizeof(*args), except, &command);
    str_add(&command, " --out DIR");
    report.command = str_text(&command);
    report_page(&page, &report);
    rc = result_write(sweep, o, str_text(&page), args->out, err);
    str_fini(&page);
    str_fini(&command);
    return rc;
}

static int check_use(const struct sim_args *args, struct err *err)
{
    int lists =
        (args->trace != NULL) + (args->arrivals != NULL) + (args->slurm_jobs != NULL);

    if (args->trace && args->load)
        return err_set(err, ERR_USAGE,
                       "--load is for generated requests, not for a --trace");
    if (lists > 1)
        return err_set(err, ERR_USAGE,
                       "--trace, --arrivals and --from-slurm exclude each other");
    if (!args->slurm_jobs &&
        (args->slurm_nodes || args->slurm_types || args->slurm_any_type))
        return err_set(err, ERR_USAGE,
                       "--slurm-nodes, --slurm-types and --slurm-any-type need "
                       "--from-slurm");
    return args->slurm_types ? slurm_gres_check_names(args->slurm_types, err) : 0;
}

static int simulate(const struct sim_args *args, const struct sweep_options *o,
                    struct err *err)
{
    struct progress *progress = progress_create("simulating", 1);
    struct sweep sweep = {0};
    int rc = sweep_run(&sweep, o, show_progress, progress, err);

    progress_destroy(progress);
    if (rc == 0 && args->out)
        rc = write_files(args, &sweep, o, err);
    if (rc == 0)
        rc = print_result(args, &sweep, o, err);
    sweep_fini(&sweep);
    return rc;
}

static int run(struct command_call *call)
{
    const struct sim_args *args = call->args;
    const struct slurm_options from = {.jobs = args->slurm_jobs,
                                       .nodes = args->slurm_nodes,
                                       .names = args->slurm_types,
                                       .any_type = args->slurm_any_type};
    struct slurm slurm = {0};
    struct sweep_options o;
    struct err err = {0};
    int rc = -1;

    if (check_use(args, &err) < 0 || fill_options(args, &slurm, &o, &err) < 0)
        return command_wrong_use(call, "%s", err.text);
    if ((!args->slurm_jobs || slurm_load(&slurm, &from, &err) == 0) &&
        (!args->config || read_settings(args, &o, &err) == 0))
        rc = simulate(args, &o, &err);
    slurm_fini(&slurm);
    return rc < 0 ? command_failed(call, &err) : 0;
}

const struct command cmd_sim = {
    .name = "sim",
    .summary = "simulate a cluster under one or more policies",
    .help =
        "Play requests on a cluster, on a virtual clock, under each policy, and compare "
        "energy, kept promises, waits and efficiency.  Corgi's own policy runs the very "
        "loop the daemon runs: it never sees true rates, only its estimates and noisy "
        "measurements.\n\n"
        "Without files everything is drawn from the seed: the same seed gives the same "
        "bytes.  Each seed of a row is another world and another list of requests, the "
        "same for all policies.",
    .examples = "corgi sim\n"
                "corgi sim --workload standard --policy all --load 30,50,70,90\n"
                "corgi sim --from-slurm sacct.txt --slurm-nodes sinfo.txt\n"
                "corgi sim --cluster mine.yaml --policy corgi,fifo --seeds 4 --json",
    .options = options,
    .args_size = sizeof(struct sim_args),
    .run = run,
};
