/* sim_args.c - the options of `corgi sim`: cmd_sim.c reads them into a sweep's, and its
 * results name the command with them as they would be typed */
#include "lab/commands/sim_args.h"

#include "base/json_out.h"
#include "base/mem.h"
#include "lab/policy/policy.h"
#include "lab/sim/scenario.h"
#include "lab/traces/arrivals.h"
#include "model/network_choice.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* In the order of enum arrivals_format. */
static const char *const formats[] = {"philly", "alibaba", NULL};

static void workload_words(struct str *out)
{
    scenario_builtin_names(out);
}

static void policy_words(struct str *out)
{
    size_t count;
    const struct policy *all = policy_all(&count);

    str_add(out, "all");
    for (size_t i = 0; i < count; i++)
        str_addf(out, ",%s", all[i].name);
}

const struct option_spec sim_options[] = {
    OPT(struct sim_args, workload, STRING, "workload", 'w', "NAME",
        "built-in cluster and requests: demo, standard, modern, or a variant of "
        "standard (-tight, -drift, -newfamily, -newgpu, -gangs, -nok80, -host40, "
        "-host400)",
        .words = workload_words, .default_text = "demo"),
    OPT(struct sim_args, cluster, STRING, "cluster", 'c', "FILE",
        "nodes and GPUs as YAML, or alibaba or another built-in name"),
    OPT(struct sim_args, config, STRING, "config", 0, "FILE",
        "settings of the loop as YAML; 'corgi config show' prints them"),
    OPT(struct sim_args, trace, STRING, "trace", 't', "FILE",
        "requests as CSV, instead of generated ones"),
    OPT(struct sim_args, requests, STRING, "requests", 0, "FILE",
        "jobs as a daemon is asked for them, a line each: {\"at_s\": T, \"job\": "
        "{...}}; played as the daemon of --daemon would"),
    OPT(struct sim_args, daemon, STRING, "daemon", 0, "FILE",
        "config of that daemon, with engine sim"),
    OPT(struct sim_args, ledger, STRING, "ledger", 0, "FILE",
        "write quotes, plans and decisions on --requests there, a line of JSON each"),
    OPT(struct sim_args, throughputs, STRING, "throughputs", 0, "FILE",
        "measured rates as Gavel's JSON, instead of the synthetic world"),
    OPT(struct sim_args, watts, STRING, "watts", 0, "DIR",
        "with --throughputs: what jobs draw alone, from sweeps of power limits of the "
        "jobs "
        "most like them (Zeus's summary_power_<gpu>.csv), instead of drawn from the "
        "seed"),
    OPT(struct sim_args, arrivals, STRING, "arrivals", 0, "FILE",
        "when jobs came, how long and on how many GPUs, from a public trace; with "
        "--load its bursts, else all of it"),
    OPT(struct sim_args, arrivals_format, CHOICE, "arrivals-format", 0, "NAME",
        "what that file is: philly or alibaba (a pod list)", .choices = formats,
        .default_text = "philly"),
    OPT(struct sim_args, slurm_jobs, STRING, "from-slurm", 0, "FILE",
        "your own jobs as 'sacct -P' prints them; with --load their bursts, else all "
        "of them"),
    OPT(struct sim_args, slurm_nodes, STRING, "slurm-nodes", 0, "FILE",
        "the nodes they ran on, from 'sinfo -N -o \"%N %G\"' or 'scontrol show node' "
        "[as many GPUs as were in use at once]"),
    OPT(struct sim_args, slurm_types, STRING, "slurm-types", 0, "LIST",
        "what Slurm's GPU types are, for instance tesla=v100,gpu=l4, where gpu stands "
        "for those without a type"),
    OPT(struct sim_args, slurm_any_type, FLAG, "slurm-any-type", 0, NULL,
        "jobs that asked for a GPU type may run on others that meet their need"),
    OPT(struct sim_args, demand, STRING, "demand", 0, "FILE",
        "times of requests (CSV with arrival_s) that give services their load"),
    OPT(struct sim_args, replace, STRING, "replace", 0, "OUT=IN",
        "what if: other cards, for instance k80:8=l4:2, with commas between"),
    OPT(struct sim_args, power_limit_watts, WATTS, "power-cap-total", 0, "WATTS",
        "limit on the draw of the whole cluster, for planners that keep one; 0 is "
        "none",
        .default_text = "0"),
    OPT(struct sim_args, policy, STRING, "policy", 'p', "LIST",
        "policies to compare, with commas between, or all", .words = policy_words,
        .default_text = "corgi,fifo,fastest,pack-blind"),
    OPT(struct sim_args, load, STRING, "load", 'l', "LIST",
        "offered loads in percent, with commas between [the workload's]"),
    OPT(struct sim_args, seed, U64, "seed", 's', "N", "seed of everything drawn",
        .default_text = "1"),
    OPT(struct sim_args, seeds, INT, "seeds", 0, "N",
        "paired seeds a row; 0 is the workload's own number, 1 with a trace", .min = 0,
        .max = 1000, .default_text = "0"),
    OPT(struct sim_args, days, DOUBLE, "days", 0, "N",
        "days of arrivals; 0 is the workload's own", .min = 0, .max = 365,
        .default_text = "0"),
    OPT(struct sim_args, limit, INT, "limit", 0, "N",
        "stop generating after so many requests; 0 is no limit", .min = 0,
        .max = WORKLOAD_MAX_REQUESTS, .default_text = "0"),
    OPT(struct sim_args, until_s, SECONDS, "until", 0, "TIME",
        "stop the clock there; 0 is when all work is done", .default_text = "0"),
    OPT(struct sim_args, share, INT, "share", 0, "N",
        "most jobs on one GPU; 0 is what the config says", .min = 0,
        .max = PLANNER_MAX_SHARE, .default_text = "0"),
    OPT(struct sim_args, sleep, STRING, "sleep", 0, "MODE",
        "whether idle nodes sleep, for every policy: on, off, or both in turn [what the "
        "config says]"),
    OPT(struct sim_args, mtbf_s, SECONDS, "mtbf", 0, "TIME",
        "mean time between failures of a node; 0 is never", .default_text = "60d"),
    OPT(struct sim_args, noise, DOUBLE, "noise", 0, "SD", "of measured rates, as a share",
        .min = 0, .max = 1, .default_text = "0.03"),
    OPT(struct sim_args, model, CHOICE, "model", 0, "NAME",
        "architecture of P1 and P2: auto, ff, gru or transformer",
        .choices = network_choice_names, .default_text = "auto"),
    OPT(struct sim_args, gang_interference, DOUBLE, "gang-interference", 0, "FACTOR",
        "two gangs that share really run at this factor of what is known of jobs on one "
        "GPU",
        .min = 0.1, .max = 1, .default_text = "1"),
    OPT(struct sim_args, cap_steepness, DOUBLE, "cap-steepness", 0, "POWER",
        "power limits really cost more speed than the loop's power model says: what they "
        "leave, to this power (2.33: an A40 at low limits)",
        .min = 0.1, .max = 10, .default_text = "1"),
    OPT(struct sim_args, protocol, INT, "protocol", 0, "N",
        "1 is the first one, for comparison: users tell true sizes, services ask for no "
        "latency, a kept job may miss 5 % of its time instead of 1, and devices draw and "
        "slow down as the loop's power model says",
        .min = 1, .max = 2, .default_text = "2"),
    OPT(struct sim_args, threads, INT, "threads", 0, "N",
        "runs at the same time; 0 is one a core", .min = 0, .max = 64,
        .default_text = "0"),
    OPT(struct sim_args, out, STRING, "out", 'o', "DIR",
        "also write report.html, sim.json, rows.csv and jobs.csv there"),
    OPT(struct sim_args, price, DOUBLE, "price", 0, "PRICE",
        "of a kWh: the page tells what the difference is worth in a year", .min = 0,
        .max = 1e6, .default_text = "0"),
    OPT(struct sim_args, co2_g, DOUBLE, "co2", 0, "GRAMS",
        "of CO2 a kWh: the page tells tonnes a year", .min = 0, .max = 1e5,
        .default_text = "0"),
    OPT(struct sim_args, check, FLAG, "check", 0, NULL,
        "debug: look for broken rules at every event and end with the first one"),
    OPT(struct sim_args, bound, FLAG, "bound", 0, NULL,
        "also prove an energy that no plan stays below, and put it into the JSON"),
    OPT(struct sim_args, timings, FLAG, "timings", 0, NULL,
        "put decision times into the JSON, which then differs from run to run"),
    OPT(struct sim_args, json, FLAG, "json", 'j', NULL, "print JSON instead of a table"),
    {0},
};

/* ---- options as they would be typed ------------------------------------------------ */

static void quote(struct str *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-+=.,:/@%";

    if (*word && word[strspn(word, plain)] == '\0') {
        str_add(out, word);
        return;
    }
    str_add(out, "'");
    for (; *word; word++) {
        if (*word == '\'')
            str_add(out, "'\\''");
        else
            str_add_bytes(out, word, 1);
    }
    str_add(out, "'");
}

static void add_value(const struct option_spec *spec, const void *at, struct str *out)
{
    struct json_out digits;
    const char *text;
    double number;
    uint64_t whole;
    int small;

    switch (spec->type) {
    case OPTION_FLAG:
        str_add(out, *(const bool *)at ? "true" : "");
        break;
    case OPTION_STRING:
        memcpy(&text, at, sizeof(text));
        if (text)
            quote(out, text);
        break;
    case OPTION_INT:
        memcpy(&small, at, sizeof(small));
        str_addf(out, "%d", small);
        break;
    case OPTION_U64:
        memcpy(&whole, at, sizeof(whole));
        str_addf(out, "%" PRIu64, whole);
        break;
    case OPTION_DOUBLE:
    case OPTION_SECONDS:
    case OPTION_WATTS:
        memcpy(&number, at, sizeof(number));
        json_out_init(&digits, out, false); /* the shortest that read back the same */
        json_out_number(&digits, number);
        break;
    case OPTION_CHOICE:
        memcpy(&small, at, sizeof(small));
        str_add(out, spec->choices[small]);
        break;
    }
}

static bool listed(const char *const *names, const char *name)
{
    for (; *names; names++)
        if (!strcmp(*names, name))
            return true;
    return false;
}

void options_words(const struct option_spec *specs, const void *args, size_t args_size,
                   const char *const *except, struct str *out)
{
    char *defaults = mem_zeroed(1, args_size);

    options_defaults(specs, defaults);
    for (const struct option_spec *spec = specs; spec->name; spec++) {
        struct str value = {0}, usual = {0};

        add_value(spec, (const char *)args + spec->offset, &value);
        add_value(spec, defaults + spec->offset, &usual);
        if (!listed(except, spec->name) &&
            strcmp(str_text(&value), str_text(&usual)) != 0) {
            str_addf(out, " --%s", spec->name);
            if (spec->type != OPTION_FLAG)
                str_addf(out, " %s", str_text(&value));
        }
        str_fini(&value);
        str_fini(&usual);
    }
    free(defaults);
}
