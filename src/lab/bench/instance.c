/* instance.c - problems drawn from a world: the bench and the solver's tests solve
 * them */
#include "lab/bench/instance.h"

#include "base/mem.h"
#include "base/rng.h"
#include "world/power.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CAP_STEPS     4
#define PENALTY_WATTS 1500.0

struct instance_draw {
    const struct world *world;
    const struct instance_options *o;
    struct problem *p;
    int types;
    int singles;   /* classes on one device come first */
    int *of_world; /* (classes of p) */
    int *single;   /* (classes of p) class of the world whose sharing it copies */
    struct rng rng;
};

/* Types beyond the table's: faster or slower copies of its own. */
static double invented_speed(const struct instance_draw *d, int type, int cls)
{
    static const double scale[] = {0.5, 0.85, 2.1, 1.4, 0.7};
    int extra = type - d->world->gpu_count;

    if (extra < 0)
        return 1;
    return scale[extra % 5] *
           (0.85 + 0.3 * (double)(rng_mix((uint64_t)type, (uint64_t)cls) >> 40) / 0x1p24);
}

static int gpu_of(const struct instance_draw *d, int type)
{
    return type % d->world->gpu_count;
}

static struct gpu_sheet sheet_of(const struct instance_draw *d, int type)
{
    struct gpu_sheet sheet = d->world->gpus[gpu_of(d, type)];
    static const double power[] = {0.35, 0.6, 1.5, 1.1, 0.5};
    int extra = type - d->world->gpu_count;

    if (extra >= 0) {
        sheet.tdp_watts *= power[extra % 5];
        sheet.idle_watts *= power[extra % 5];
        sheet.cap_min_watts *= power[extra % 5];
    }
    return sheet;
}

static double alone_rate(const struct instance_draw *d, int type, int k)
{
    return (double)*world_alone(d->world, gpu_of(d, type), d->of_world[k]) *
           invented_speed(d, type, d->of_world[k]);
}

/* Relative speed of class k beside l; 0 where the table has none. */
static double beside(const struct instance_draw *d, int type, int k, int l)
{
    double f =
        (double)*world_beside(d->world, gpu_of(d, type), d->single[k], d->single[l]);

    return f > 0 ? fmin(f, 1) : 0;
}

static void fill_pair(struct instance_draw *d, int v, int k, int l,
                      const struct gpu_sheet *sheet)
{
    struct problem *p = d->p;
    int type = p->variants[v].type, gpu = gpu_of(d, type);
    double f = beside(d, type, k, l), g = beside(d, type, l, k);
    double busy = (double)*world_busy(d->world, gpu, d->of_world[k]) * f +
                  (double)*world_busy(d->world, gpu, d->of_world[l]) * g;
    struct power_capped run =
        power_under_cap(sheet, fmin(busy, 1), p->variants[v].cap_watts);

    if (f <= 0 || g <= 0)
        return;
    p->pair_rate[problem_cell(p, v, k, l)] =
        (float)(alone_rate(d, type, k) * f * run.speed);
    p->pair_watts[problem_cell(p, v, k, l)] = (float)run.watts;
}

static void fill_tables(struct instance_draw *d)
{
    struct problem *p = d->p;

    for (int v = 0; v < p->variant_count; v++) {
        int type = p->variants[v].type;
        struct gpu_sheet sheet = sheet_of(d, type);

        for (int k = 0; k < p->class_count; k++) {
            size_t at = (size_t)v * (size_t)p->class_count + (size_t)k;
            double busy = (double)*world_busy(d->world, gpu_of(d, type), d->of_world[k]);
            struct power_capped run =
                power_under_cap(&sheet, busy, p->variants[v].cap_watts);

            p->alone_rate[at] = (float)(alone_rate(d, type, k) * run.speed);
            p->alone_watts[at] = (float)run.watts;
            for (int l = 0; l < p->class_count; l++)
                fill_pair(d, v, k, l, &sheet);
        }
    }
}

static void fill_types(struct instance_draw *d)
{
    struct problem *p = d->p;
    double per_job = d->o->devices_per_job > 0 ? d->o->devices_per_job : 0.8;
    int variants = d->o->caps ? CAP_STEPS : 1;
    int tasks = 0, devices;

    for (int j = 0; j < d->o->jobs; j++)
        tasks += p->classes[p->jobs[j].class_id].devices;
    devices = (int)(per_job * tasks + 0.5);
    if (devices < d->types)
        devices = d->types;
    for (int t = 0; t < d->types; t++) {
        struct gpu_sheet sheet = sheet_of(d, t);

        p->types[t] = (struct problem_type){.devices = devices / d->types +
                                                       (t < devices % d->types),
                                            .first_variant = t * variants,
                                            .variant_count = variants,
                                            .idle_watts = sheet.idle_watts};
        for (int c = 0; c < variants; c++)
            p->variants[t * variants + c] = (struct problem_variant){
                t, c ? fmax(sheet.cap_min_watts, sheet.tdp_watts * (1 - 0.15 * c)) : 0};
    }
}

static void draw_job(struct instance_draw *d, int j)
{
    struct problem *p = d->p;
    struct problem_job *job = &p->jobs[j];
    int k = (int)rng_below(&d->rng, (size_t)d->singles);
    bool multi = rng_uniform(&d->rng) < d->o->multi;
    int pick = (int)rng_below(&d->rng, 1u << 20), ref;
    double share;

    if (multi && p->class_count > d->singles)
        k = d->singles + pick % (p->class_count - d->singles);
    for (int t = 0; t < d->types; t++) {
        double z = rng_normal(&d->rng);

        if (d->o->distinct)
            p->speed[(size_t)j * (size_t)d->types + (size_t)t] = (float)exp(0.1 * z);
    }
    share = rng_uniform(&d->rng);
    if (d->o->distinct)
        p->drag[j] = (float)(1 - 0.1 * share);
    *job = (struct problem_job){.class_id = k,
                                .types = PROBLEM_ANY_TYPE,
                                .may_share = true,
                                .penalty = PENALTY_WATTS * p->classes[k].devices};
    ref = (int)rng_below(&d->rng, (size_t)d->types);
    job->need = rng_range(&d->rng, 0.2, 0.8) * alone_rate(d, ref, k) *
                (double)p->speed[(size_t)j * (size_t)d->types + (size_t)ref];
}

static void fill_nodes(struct instance_draw *d)
{
    struct problem *p = d->p;
    int room = d->o->node_devices ? d->o->node_devices : 4, at = 0, n = 0;

    for (int t = 0; t < d->types && p->node_count; t++)
        for (int left = p->types[t].devices; left > 0; n++) {
            int here = left < room ? left : room;

            p->nodes[n] = (struct problem_node){.first_device = at,
                                                .device_count = here,
                                                .host_watts = d->o->host_watts,
                                                .sleep_watts = d->o->host_watts / 12,
                                                .awake = true,
                                                .may_sleep = true};
            for (int e = 0; e < here; e++, at++)
                p->devices[at] = (struct problem_device){t, n, false};
            left -= here;
        }
    if (p->node_count)
        p->node_count = n;
    p->device_count = at;
    p->sleep = d->o->sleep;
}

/* Classes on one device first, then those on more if asked for. */
static void choose_classes(struct instance_draw *d)
{
    const struct world *w = d->world;
    int count = 0;

    for (int multi = 0; multi < (d->o->multi > 0 ? 2 : 1); multi++) {
        for (int c = 0; c < w->class_count; c++) {
            int single = world_find_class(w, w->classes[c].name, 1);
            bool runs = single >= 0 && (w->classes[c].scale > 1) == multi;

            for (int g = 0; g < w->gpu_count; g++)
                runs = runs && *world_alone(w, g, c) > 0;
            if (!runs)
                continue;
            d->of_world[count] = c;
            d->single[count++] = single;
        }
        if (!multi)
            d->singles = count;
    }
    d->p->class_count = count;
}

static void fill_classes(struct instance_draw *d)
{
    struct problem *p = d->p;

    for (int k = 0; k < p->class_count; k++) {
        double ref = alone_rate(d, d->world->gpu_count - 1, k);

        p->classes[k] =
            (struct problem_class){.devices = d->world->classes[d->of_world[k]].scale,
                                   .progress = ref > 0 ? d->o->progress / ref : 0,
                                   .spread = 0.8};
    }
}

struct problem *instance_create(const struct world *world,
                                const struct instance_options *o)
{
    struct instance_draw d = {.world = world, .o = o};
    int types = o->types > 0 ? o->types : world->gpu_count;
    int jobs = o->jobs + o->spare_jobs;
    int tasks = o->multi > 0 ? 8 * jobs : jobs;
    int devices = (int)(fmax(o->devices_per_job, 1) * tasks) + types + 1;
    struct problem_size size = {.types = types,
                                .variants = types * (o->caps ? CAP_STEPS : 1),
                                .classes = world->class_count,
                                .jobs = jobs,
                                .tasks = tasks,
                                .nodes = o->host_watts > 0 ? devices : 0,
                                .devices = o->host_watts > 0 ? devices : 0};

    d.p = problem_create(&size);
    d.types = types;
    d.of_world = mem_array(int, (size_t)world->class_count);
    d.single = mem_array(int, (size_t)world->class_count);
    rng_init(&d.rng, o->seed);
    choose_classes(&d);
    fill_classes(&d);
    for (int j = 0; j < jobs; j++)
        draw_job(&d, j);
    d.p->job_count = o->jobs;
    problem_number_tasks(d.p);
    fill_types(&d);
    fill_nodes(&d);
    fill_tables(&d);
    free(d.of_world);
    free(d.single);
    return d.p;
}
