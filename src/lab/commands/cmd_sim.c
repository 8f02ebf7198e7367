/* cmd_sim.c - corgi sim: what would happen on a cluster under each policy */
#include "corgi/commands.h"
#include "lab/commands/progress.h"
#include "lab/commands/sim_args.h"

#include "base/parse.h"
#include "loop/loop_settings.h"
#include "lab/sim/goals.h"
#include "lab/report/report_page.h"
#include "lab/sim/run_result.h"
#include "lab/sim/sim_told.h"

#include <stdio.h>
#include <string.h>

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
        s->power_limit = (struct power_schedule){.watts = args->power_limit_watts};
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
        .watts = args->watts,
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
        .first_protocol = args->protocol == 1,
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
    o->sim.noise_sd = args->noise;
    o->sim.networks = (enum network_choice)args->model;
    o->sim.gang_interference = args->gang_interference < 1 ? args->gang_interference : 0;
    o->sim.cap_steepness =
        args->cap_steepness < 1 || args->cap_steepness > 1 ? args->cap_steepness : 0;
    o->sim.drawn_power = args->protocol != 1;
    if (args->protocol == 1)
        o->sim.forgiven = SIM_FORGIVEN_FIRST;
    o->sim.limit_s = args->until_s;
    o->sim.check = args->check;
    o->record = args->out != NULL;
    o->bound = args->bound;
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
        printf("\n");
        rc = table_finish(goals_table(&goals), TABLE_ALIGNED, stdout, err);
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
    int rc;

    if (args->json) {
        struct str json = {0};

        result_json(sweep, o, args->timings, &json);
        fputs(str_text(&json), stdout);
        str_fini(&json);
        return 0;
    }
    rc = table_finish(result_table(sweep), TABLE_ALIGNED, stdout, err);
    printf("\n%s rates, %s power.  Work is in hours of the fastest GPU type.\nSLA "
           "time%%: share of job-time with the requirement met; oracle rows know "
           "true rates.\n",
           args->throughputs ? "Measured" : "Synthetic",
           args->watts ? "partly measured" : "modelled");
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
    struct report_input report = {.sweep = sweep,
                                  .options = o,
                                  .timings = args->timings,
                                  .price = args->price,
                                  .co2_g = args->co2_g};
    int rc;

    str_add(&command, "corgi sim");
    options_words(sim_options, args, sizeof(*args), except, &command);
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
    if (args->requests || args->daemon || args->ledger)
        return err_set(err, ERR_USAGE, "--requests, --daemon and --ledger go together");
    if (args->watts && !args->throughputs)
        return err_set(err, ERR_USAGE, "--watts needs --throughputs");
    if (lists > 1)
        return err_set(err, ERR_USAGE,
                       "--trace, --arrivals and --from-slurm exclude each other");
    if (!args->slurm_jobs &&
        (args->slurm_nodes || args->slurm_types || args->slurm_any_type))
        return err_set(err, ERR_USAGE,
                       "--slurm-nodes, --slurm-types and --slurm-any-type need "
                       "--from-slurm");
    if (args->slurm_types && slurm_gres_check_names(args->slurm_types, err) < 0)
        return err_prefix(err, "--slurm-types");
    return 0;
}

static int simulate(const struct sim_args *args, const struct sweep_options *o,
                    struct err *err)
{
    struct progress progress;
    struct sweep sweep = {0};
    int rc;

    progress_init_stderr(&progress, "simulating");
    rc = sweep_run(&sweep, o, progress_show, &progress, err);
    progress_end(&progress);
    if (rc == 0 && args->out)
        rc = write_files(args, &sweep, o, err);
    if (rc == 0)
        rc = print_result(args, &sweep, o, err);
    sweep_fini(&sweep);
    return rc;
}

static void print_quotes(const struct quote_score *quotes)
{
    struct quote_windows w = quote_score_windows(quotes);

    printf("first windows at the quoted place: %ld", w.measured);
    for (int i = 0; i < QUOTE_LEVELS; i++)
        printf(", kept at %g: %ld", quote_levels[i], w.kept[i]);
    printf("\nstarts told: %ld, well: %ld\n", quotes->starts, quotes->starts_good);
}

/* Requests as a daemon gets them: what it would answer, plan and decide. */
static int play_requests(const struct sim_args *args, struct err *err)
{
    struct quote_score quotes;
    struct sim_told told;
    FILE *ledger;
    int rc;

    if (told_load(&told, args->daemon, args->requests, err) < 0)
        return -1;
    ledger = fopen(args->ledger, "w");
    if (!ledger) {
        told_fini(&told);
        return err_sys(err, "cannot write %s", args->ledger);
    }
    rc = told_run(&told, args->until_s, ledger, &quotes, err);
    if (fclose(ledger) != 0 && rc == 0)
        rc = err_sys(err, "cannot write %s", args->ledger);
    if (rc == 0)
        print_quotes(&quotes);
    told_fini(&told);
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

    if (args->requests && args->daemon && args->ledger)
        return play_requests(args, &err) < 0 ? command_failed(call, &err) : 0;
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
    .options = sim_options,
    .args_size = sizeof(struct sim_args),
    .run = run,
};
