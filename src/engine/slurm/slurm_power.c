/* slurm_power.c - slurm_engine.c calls it between its looks; exporter_scrape.c fetches,
 * service/energy_books.c books */
#include "engine/slurm/slurm_power.h"

#include "base/mem.h"
#include "base/vec.h"
#include "engine/slurm/exporter_scrape.h"
#include "engine/slurm/slurm_node_table.h"
#include "probe/fetch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A reading that is so many rounds old says nothing any more. */
#define FRESH_ROUNDS 3.5

/* The last reading that was told of a node. */
struct told_node {
    bool known;
    struct exporter_reading reading;
    double host_watts; /* of the last two that differ; NaN: not told */
};

struct slurm_power {
    struct engine_sink sink;
    struct slurm_node_table *nodes;
    struct exporter_scrape *scrape; /* NULL: none */
    bool whole;                     /* Slurm meters nodes with their GPUs */
    double every_s;
    double next_s, told_s;         /* monotonic; epoch, 0: never */
    vec_of(struct told_node) told; /* (nodes) */
};

int slurm_power_create(struct slurm_power **power, const char *exporter, double every_s,
                       struct slurm_node_table *nodes, struct engine_sink sink,
                       struct err *err)
{
    struct slurm_power *p = mem_new(struct slurm_power);

    p->sink = sink;
    p->every_s = every_s;
    p->nodes = nodes;
    if (exporter && exporter_scrape_create(&p->scrape, exporter, every_s, err) < 0) {
        free(p);
        return -1;
    }
    *power = p;
    return 0;
}

void slurm_power_destroy(struct slurm_power *p)
{
    if (!p)
        return;
    exporter_scrape_destroy(p->scrape);
    vec_free(&p->told);
    free(p);
}

/* Between two readings: the meter's own, unless it began anew; else by the watts. */
static double joules_between(double before, double after, double watts, double seconds)
{
    double joules = after - before;

    if (joules >= 0 && joules < 1e5 * fmax(seconds, 1)) /* not NaN */
        return joules;
    return watts * seconds;
}

static void tell_device(struct slurm_power *p, int device, int gpu,
                        const struct told_node *was, const struct exporter_reading *now,
                        double now_s)
{
    struct engine_event e = {.kind = ENGINE_POWER,
                             .at_s = now_s,
                             .device = device,
                             .watts = NAN,
                             .joules = NAN,
                             .modelled = true};
    double span_s = now_s - p->told_s;

    if (now && gpu < EXPORTER_MOST_GPUS && now->page.gpu_watts[gpu] >= 0) {
        double meter_s = was->known ? now->at_s - was->reading.at_s : 0;
        double watts = now->page.gpu_watts[gpu];

        e.modelled = false;
        e.watts = watts;
        e.joules = watts * span_s;
        if (meter_s > 0) /* over the meter's own time, which is not quite ours */
            e.joules = joules_between(was->reading.page.gpu_joules[gpu],
                                      now->page.gpu_joules[gpu], watts, meter_s) *
                       span_s / meter_s;
    }
    p->sink.event(p->sink.ctx, &e);
}

/* Processors and memory by the exporter, else what Slurm's own plugin says of it. */
static void tell_host(struct slurm_power *p, int node, struct told_node *was,
                      const struct exporter_reading *now, double now_s)
{
    double watts = slurm_node_table_watts(p->nodes, node);
    int first, count = slurm_node_table_span(p->nodes, node, &first);

    for (int i = 0; i < count && p->whole; i++)
        watts -= now && i < EXPORTER_MOST_GPUS ? now->page.gpu_watts[i] : NAN;
    if (!now || !was->known)
        was->host_watts = NAN;
    else if (now->at_s > was->reading.at_s)
        was->host_watts = (now->page.host_joules - was->reading.page.host_joules) /
                          (now->at_s - was->reading.at_s);
    if (was->host_watts >= 0) /* not NaN */
        watts = was->host_watts;
    p->sink.event(p->sink.ctx, &(struct engine_event){.kind = ENGINE_HOST_POWER,
                                                      .at_s = now_s,
                                                      .node = node,
                                                      .watts = watts,
                                                      .modelled = isnan(watts)});
}

void slurm_power_set_meter(struct slurm_power *p, const char *plugin)
{
    p->whole = plugin && !strstr(plugin, "rapl");
}

static void tell_node(struct slurm_power *p, int node, double now_s)
{
    struct told_node *was = &p->told.items[node];
    struct exporter_reading reading;
    int first, count = slurm_node_table_span(p->nodes, node, &first);
    bool fresh = p->scrape && exporter_scrape_take(p->scrape, node, &reading) &&
                 now_s - reading.at_s < FRESH_ROUNDS * p->every_s + FETCH_TIMEOUT_S;

    tell_host(p, node, was, fresh ? &reading : NULL, now_s); /* before its devices */
    for (int i = 0; i < count; i++)
        tell_device(p, first + i, i, was, fresh ? &reading : NULL, now_s);
    if (fresh && (!was->known || reading.at_s > was->reading.at_s))
        was->reading = reading;
    was->known = fresh;
}

double slurm_power_advance(struct slurm_power *p, double now_s, double wall_s)
{
    int count = slurm_node_table_count(p->nodes);

    if (wall_s < p->next_s)
        return p->next_s;
    p->next_s = wall_s + p->every_s;
    while ((int)p->told.count < count)
        vec_push(&p->told, (struct told_node){.host_watts = NAN});
    for (int n = 0; n < count; n++) {
        const char *name, *address;

        if (p->told_s > 0)
            tell_node(p, n, now_s);
        slurm_node_table_name(p->nodes, n, &name, &address);
        if (p->scrape)
            exporter_scrape_node(p->scrape, n, name, address);
    }
    p->told_s = now_s;
    return p->next_s;
}
