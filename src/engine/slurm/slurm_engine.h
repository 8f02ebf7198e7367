/* slurm_engine.h - an engine whose machines belong to Slurm
 *
 * The engine looks at Slurm through corgi-engine-slurm every so often and tells the
 * daemon what it sees: jobs that were found, where they run, how they ended, nodes that
 * come, sleep, drain and go.  In the mode `advise` it does nothing else: whatever would
 * change something is refused here, and by the helper once more.  In the mode `control`
 * it hands in, places, starts and ends the jobs of managed partitions (slurm_control.h);
 * all others are watched as before. */
#pragma once

#include "base/config.h"
#include "engine/engine.h"

enum slurm_mode { SLURM_ADVISE, SLURM_PLACES };

struct slurm_engine_options {
    int mode;              /* enum slurm_mode */
    const char *helper;    /* program or unix:PATH; NULL: corgi-engine-slurm beside us */
    const char *types;     /* "tesla=v100,g0=k80": what Slurm's GPU types are; NULL: as in
                              the catalogue */
    double poll_s;         /* between two looks */
    double within_s;       /* a look takes this long at most */
    const char *exporter;  /* pages with power of nodes, see exporter_scrape.h; NULL: none
                            */
    const char *state_dir; /* absolute; keeps the last known cluster */
    const char *partitions;  /* that are managed, with commas between; of control */
    double start_s;          /* a job that was released and has not begun is held again */
    bool sharing;            /* GPUs that have shards are shared; of control */
    const char *cap_program; /* sets power limits; NULL: none are set */
    bool sleep;              /* nodes may be put to sleep; of control */
    const char *probe;       /* on the nodes: what we hand in runs under it; NULL: not */
    const char *report;      /* where probes report to; NULL: nowhere */
    const char *report_ca;   /* on the nodes: whom they trust; NULL: the system's */
};

/* The keys of `slurm:` in the daemon's config. */
struct slurm_config {
    int mode;
    char *helper;
    struct config_list types; /* of char *, NAME=CARD */
    double poll_s, within_s;
    char *exporter;
    struct config_list partitions; /* of char * */
    double start_s;
    char *cap_program;
    char *probe, *report, *report_ca;
    bool moves, sharing, sleep; /* of control: what it does beside placing */
};
extern const struct config_key slurm_config_keys[];

/* Waits for Slurm when no cluster is known yet, for some seconds: then ERR_NOT_FOUND. */
int slurm_engine_create(struct engine *engine, const struct slurm_engine_options *options,
                        struct engine_sink sink, struct err *err);

/* The helper's program: what was configured, else the one beside this program; the caller
 * frees. */
char *slurm_engine_helper(const char *configured);

/* Names with commas between, from the config's list; the caller frees. */
char *slurm_config_types(const struct slurm_config *config);
char *slurm_config_partitions(const struct slurm_config *config);
/* Control without a partition controls nothing: ERR_INVALID. */
int slurm_config_check(const struct slurm_config *config, struct err *err);
