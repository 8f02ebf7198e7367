/* slurm_power.h - what nodes and GPUs of Slurm's draw, as far as somebody meters it
 *
 * Every few seconds the sink hears the energy of each device since the last time: of an
 * exporter on the node where there is one, else without a figure, for the daemon to take
 * what probes report or its model.  Of hosts it hears what the exporter or Slurm itself
 * meters. */
#pragma once

#include "engine/engine.h"

struct slurm_node_table;
struct slurm_power;

/* exporter: as in exporter_scrape.h, looked at every so many seconds; NULL: none.  The
 * nodes are borrowed. */
int slurm_power_create(struct slurm_power **power, const char *exporter, double every_s,
                       struct slurm_node_table *nodes, struct engine_sink sink,
                       struct err *err);
void slurm_power_destroy(struct slurm_power *power); /* NULL is fine */

/* AcctGatherEnergyType: rapl meters processors and memory, all others whole nodes. */
void slurm_power_set_meter(struct slurm_power *power, const char *plugin);

/* Tell, if it is time; now_s: epoch, wall_s: monotonic.  Returns when next, likewise. */
double slurm_power_advance(struct slurm_power *power, double now_s, double wall_s);
