/* slurm_node_table_private.h - shared by slurm_node_table.c, which takes in what the
 * helper tells, slurm_node_file.c, slurm_node_taken.c and slurm_node_questions.c */
#pragma once

#include "base/vec.h"
#include "engine/slurm/slurm_node_table.h"

enum node_told { TOLD_UP, TOLD_ASLEEP, TOLD_DOWN, TOLD_FALLING };

struct node_entry {
    char name[SLURM_NAME_SIZE];
    int first_device, device_count;
    int types[SLURM_MOST_GPUS];
    enum node_told told;
    bool drained, reserved;
    bool seen;              /* in the look that is being told */
    struct host_room room;  /* 0: not told */
    struct host_room taken; /* of it by jobs without GPUs */
    bool room_changed;      /* since it was told */
    int share_most;         /* jobs a GPU takes at once */
    bool pins;              /* its GPUs are g0, g1... */
    uint64_t stuck;         /* GPUs that count as used, and nobody has them */
    uint64_t refused;       /* those Slurm had no room on, until then, epoch */
    double refused_until_s;
    double refused_s, pause_s; /* when that was last, and how long they are left alone */
    uint64_t taken_told;       /* of both, as told */
    char address[SLURM_ADDRESS_SIZE];
    double watts;  /* as Slurm meters it; NaN: it does not */
    double woke_s; /* it was told to wake, epoch; 0: not since it was put to sleep */
};

struct slurm_node_table {
    struct engine_sink sink;
    struct slurm_access *access; /* not ours */
    char *path, *names;
    vec_of(struct node_entry) nodes; /* in the order of the cluster */
    vec_of(struct gpu_sheet) types;
    int device_count;
    bool live;  /* the cluster was given: changes are told */
    bool whole; /* all nodes have been told since the helper came */
    bool sleeps, kept_awake;
    bool shared;
    bool changed;            /* since the file was written */
    vec_of(uint64_t) warned; /* hashes of names that were complained of */
};

/* NULL: there is none of this name. */
struct node_entry *slurm_node_table_entry(const struct slurm_node_table *table,
                                          const char *name);

/* The number of a card; -1: there is none such.  take_type() makes a new one while nobody
 * has been given the cluster. */
int slurm_node_table_type_at(const struct slurm_node_table *table,
                             const struct gpu_sheet *sheet);
int slurm_node_table_take_type(struct slurm_node_table *table,
                               const struct gpu_sheet *sheet);

/* slurm_node_taken.c: which devices are not to be had has changed, maybe. */
void slurm_node_table_tell_taken(struct slurm_node_table *table, double now_s);

/* slurm_node_file.c: what was known when the daemon ran last, and, when it has changed,
 * what is known now. */
void slurm_node_table_load(struct slurm_node_table *table);
void slurm_node_table_save(struct slurm_node_table *table);
