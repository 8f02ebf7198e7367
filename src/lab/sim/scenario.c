/* scenario.c - see scenario.h */
#include "lab/sim/scenario.h"

#include "base/mem.h"
#include "loop/cluster.h"
#include "engine/sim/cluster_file.h"
#include "engine/sim/sim_engine.h"
#include "lab/traces/told_sizes.h"
#include "lab/traces/trace.h"
#include "lab/traces/trace_demand.h"
#include "lab/sim/what_if.h"
#include "lab/tables/gavel_table.h"
#include "lab/tables/power_sweeps.h"

#include <stdlib.h>
#include <string.h>

#define STREAM_WORLD 21

#define STANDARD                                                                         \
    .days = 5, .inference = 0.3, .seeds = 8, .loads = "30,50,70,90", .cluster = "standard"

static const struct scenario_builtin builtins[] = {
    {.name = "demo",
     .summary = "48 GPUs of three generations, two days",
     .days = 2,
     .inference = 0.3,
     .several_gpus = 0.1,
     .diurnal = true,
     .seeds = 4,
     .loads = "80"},
    {.name = "standard",
     .summary = "108 GPUs of three generations, five days of Poisson arrivals",
     .days = 5,
     .inference = 0.3,
     .seeds = 8,
     .loads = "30,50,70,90"},
    {.name = "standard-gangs",
     .summary =
         "120 GPUs in nodes of eight, a fifth of the requests on 2, 4 or 8 of them",
     .days = 5,
     .inference = 0.3,
     .several_gpus = 0.2,
     .seeds = 8,
     .loads = "30,50,70,90",
     .cluster = "standard-gangs"},
    {.name = "standard-host40",
     .summary = "standard on machines that draw 40 W",
     STANDARD,
     .host_watts = 40},
    {.name = "standard-host400",
     .summary = "standard on machines that draw 400 W",
     STANDARD,
     .host_watts = 400},
    {.name = "standard-nok80",
     .summary = "standard without the oldest cards",
     .days = 5,
     .inference = 0.3,
     .seeds = 8,
     .loads = "30,50,70,90",
     .cluster = "standard-nok80"},
    {.name = "standard-tight",
     .summary = "standard with requirements of 0.5 to 0.9 of the fastest card's rate",
     STANDARD,
     .tight = true},
    {.name = "standard-drift",
     .summary = "standard with rates that rise and fall by a fifth over the days",
     STANDARD,
     .drift = 0.2},
    {.name = "standard-newfamily",
     .summary = "standard with a family of jobs that first comes half way",
     STANDARD,
     .new_family = true},
    {.name = "standard-newgpu",
     .summary = "standard with the P100 nodes bought half way",
     STANDARD,
     .late_gpu = "p100"},
    {.name = "standard-replicas",
     .summary = "standard with services of up to four replicas that follow the demand",
     STANDARD,
     .max_replicas = 4},
    {.name = "modern",
     .summary = "100 GPUs from T4 to H100, five days",
     .days = 5,
     .inference = 0.3,
     .several_gpus = 0.1,
     .diurnal = true,
     .seeds = 8,
     .loads = "50"},
};

const struct scenario_builtin *scenario_builtin_find(const char *name)
{
    for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++)
        if (!strcmp(builtins[i].name, name))
            return &builtins[i];
    return NULL;
}

const char *scenario_builtin_names(struct str *out)
{
    size_t count = sizeof(builtins) / sizeof(builtins[0]);

    for (size_t i = 0; i < count; i++)
        str_addf(out, "%s%s", i ? ", " : "", builtins[i].name);
    return str_text(out);
}

/* The cluster's types, and behind them those that jobs ran on and it does not have: where
 * they were fast is asked for even when the cards are to be replaced. */
static int types_of_world(const struct cluster *cluster, const struct slurm *slurm,
                          struct gpu_sheet *types)
{
    int count = cluster->type_count;

    memcpy(types, cluster->types, (size_t)count * sizeof(*types));
    for (int s = 0; slurm && s < slurm->cluster->type_count; s++) {
        int t = 0;

        while (t < count && strcmp(types[t].name, slurm->cluster->types[s].name) != 0)
            t++;
        if (t == count && count < CLUSTER_MAX_TYPES)
            types[count++] = slurm->cluster->types[s];
    }
    return count;
}

static struct world *synthetic_world(const struct cluster *cluster,
                                     const struct slurm *slurm, uint64_t seed)
{
    struct gpu_sheet types[CLUSTER_MAX_TYPES];
    int count = types_of_world(cluster, slurm, types);

    return sim_engine_world(types, count, seed, STREAM_WORLD);
}

/* Which GPU of the world each type of the cluster is. */
static int match_types(struct scenario *s, const char *throughputs, struct err *err)
{
    s->gpu_of_type = mem_array(int, (size_t)s->cluster->type_count);
    for (int t = 0; t < s->cluster->type_count; t++) {
        const char *name = s->cluster->types[t].name;

        s->gpu_of_type[t] = world_find_gpu(s->world, name);
        if (s->gpu_of_type[t] < 0)
            return err_set(
                err, ERR_NOT_FOUND,
                "%s has no rates for GPU '%s' of the cluster; describe a cluster "
                "of GPUs it has with --cluster",
                throughputs ? throughputs : "the world", name);
    }
    return 0;
}

static void generate_workload(struct scenario *s, const struct scenario_options *o,
                              const struct scenario_builtin *builtin)
{
    const struct workload_options options = {
        .load = o->load,
        .days = o->days > 0 ? o->days : builtin->days,
        .inference = builtin->inference,
        .several_gpus = builtin->several_gpus,
        .max_replicas = builtin->max_replicas,
        .diurnal = builtin->diurnal,
        .tight = builtin->tight,
        .new_family = builtin->new_family,
        .seed = o->seed,
        .limit = o->limit,
    };
    int *devices = mem_array(int, (size_t)s->world->gpu_count);

    for (int d = 0; d < s->cluster->device_count; d++)
        devices[s->gpu_of_type[s->cluster->devices[d].type]]++;
    s->workload = workload_generate(&options, s->world, devices);
    free(devices);
}

static int read_arrivals(struct scenario *s, const struct scenario_options *o,
                         const struct scenario_builtin *builtin, struct err *err)
{
    const struct arrivals_use use = {
        .cluster = s->cluster,
        .inference = builtin->inference,
        .load = o->as_is ? 0 : o->load,
        .days = o->days > 0 ? o->days : builtin->days,
        .limit = o->limit,
        .seed = o->seed,
        .alone_sd = o->alone_sd,
    };
    struct arrivals arrivals;

    if (o->slurm) {
        s->workload = arrivals_workload(&o->slurm->arrivals, &use, s->world);
        return 0;
    }
    if (arrivals_load(&arrivals, o->arrivals, o->arrivals_format, err) < 0)
        return -1;
    s->workload = arrivals_workload(&arrivals, &use, s->world);
    arrivals_fini(&arrivals);
    return 0;
}

static int make_workload(struct scenario *s, const struct scenario_options *o,
                         const struct scenario_builtin *builtin, struct err *err)
{
    size_t minutes;
    float *shape;

    if (o->trace) {
        if (trace_load(&s->workload, o->trace, s->world, o->seed, err) < 0)
            return -1;
    } else if (o->arrivals || o->slurm) {
        if (read_arrivals(s, o, builtin, err) < 0)
            return -1;
    } else {
        generate_workload(s, o, builtin);
    }
    if (o->first_protocol)
        told_sizes_true(s->workload);
    else
        told_sizes_apply(s->workload, o->seed);
    for (size_t i = 0; i < s->workload->count && o->first_protocol; i++)
        s->workload->requests[i].job.need.latency_s = 0;
    if (!o->demand)
        return 0;
    if (trace_demand_load(&shape, &minutes, o->demand, err) < 0)
        return -1;
    trace_demand_apply_take(s->workload, shape, minutes);
    return 0;
}

static int unknown_workload(const char *name, struct err *err)
{
    struct str names = {0};

    err_set(err, ERR_NOT_FOUND, "unknown workload '%s'; there are %s", name,
            scenario_builtin_names(&names));
    str_fini(&names);
    return -1;
}

/* Whatever of the cluster a variant changes. */
static void vary(struct scenario *s, const struct scenario_options *o,
                 const struct scenario_builtin *builtin)
{
    for (int n = 0; builtin->host_watts > 0 && n < s->cluster->node_count; n++)
        s->cluster->nodes[n].host_watts = builtin->host_watts;
    for (int t = 0; builtin->late_gpu && t < s->cluster->type_count; t++) {
        if (!gpu_named(&s->cluster->types[t], builtin->late_gpu))
            continue;
        s->late_type = t;
        s->late_s = (o->days > 0 ? o->days : builtin->days) * 86400 / 2;
    }
    s->drift = builtin->drift;
}

int scenario_build(struct scenario *scenario, const struct scenario_options *o,
                   struct err *err)
{
    const struct scenario_builtin *builtin = scenario_builtin_find(o->workload);
    struct scenario s = {0};

    if (!builtin)
        return unknown_workload(o->workload, err);
    if (o->cluster)
        s.cluster = cluster_builtin(o->cluster);
    if (o->cluster && !s.cluster && cluster_file_load(&s.cluster, o->cluster, err) < 0)
        goto failed;
    if (!s.cluster && o->slurm)
        s.cluster = cluster_dup(o->slurm->cluster);
    if (!s.cluster)
        s.cluster = cluster_builtin(builtin->cluster ? builtin->cluster : builtin->name);
    if (o->replace && what_if_replace(&s.cluster, o->replace, err) < 0)
        goto failed;
    vary(&s, o, builtin);
    if (o->throughputs) {
        if (gavel_load(&s.world, o->throughputs, o->seed, err) < 0)
            goto failed;
        if (o->watts && power_sweeps_apply(s.world, o->watts, o->seed, err) < 0)
            goto failed;
    } else {
        s.world = synthetic_world(s.cluster, o->slurm, o->seed);
    }
    if (match_types(&s, o->throughputs, err) < 0)
        goto failed;
    if (make_workload(&s, o, builtin, err) < 0)
        goto failed;
    if (o->slurm && o->as_is && s.workload->count == o->slurm->arrivals.count)
        s.schedule = real_schedule_create(o->slurm, s.cluster);
    *scenario = s;
    return 0;
failed:
    scenario_fini(&s);
    return -1;
}

void scenario_fini(struct scenario *s)
{
    world_destroy(s->world);
    workload_destroy(s->workload);
    cluster_destroy(s->cluster);
    real_schedule_destroy(s->schedule);
    free(s->gpu_of_type);
    *s = (struct scenario){0};
}
