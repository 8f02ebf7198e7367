/* slurm_node_taken.c - devices that nobody the daemon knows has, and that are not to be
 * had
 *
 * slurm_node_table.c tells what slurmctld counts as used, slurm_judge.c where a job that
 * was released did not start; the daemon hears which devices are taken, and plans
 * without.
 *
 * After crashes slurmctld may count GPUs as used that no job has, and starts nothing
 * there that wants them.  On an idle node that is seen at once.  Elsewhere, and where
 * jobs of others are hidden from the helper, only that jobs do not start is seen: without
 * a pause they would be placed there again and again, and everybody else would wait
 * behind them. */
#include "engine/slurm/slurm_node_table_private.h"

#include <math.h>

/* A second time within so long after the last, and the pause behind it, is in a row. */
#define IN_A_ROW_S   120.0
#define PAUSE_S      30.0
#define PAUSE_MOST_S 600.0

static void refuse(struct node_entry *n, uint64_t gpus, double now_s)
{
    bool again = n->refused_s > 0 && now_s - n->refused_s <= IN_A_ROW_S + n->pause_s;

    n->pause_s = again ? fmin(fmax(2 * n->pause_s, PAUSE_S), PAUSE_MOST_S) : 0;
    n->refused_s = now_s;
    if (!again)
        return;
    n->refused |= gpus;
    n->refused_until_s = now_s + n->pause_s;
}

void slurm_node_table_no_room(struct slurm_node_table *t, const int *devices, int count,
                              double now_s)
{
    vec_each (struct node_entry, n, &t->nodes) {
        uint64_t gpus = 0;

        for (int k = 0; k < count; k++)
            if (devices[k] >= n->first_device &&
                devices[k] < n->first_device + n->device_count)
                gpus |= (uint64_t)1 << (devices[k] - n->first_device);
        if (gpus)
            refuse(n, gpus, now_s);
    }
    slurm_node_table_tell_taken(t, now_s);
}

static void tell(struct slurm_node_table *t, const struct node_entry *n, int gpu,
                 double now_s)
{
    uint64_t bit = (uint64_t)1 << gpu;
    const char *why = n->stuck & bit ? "slurmctld counts it as used, but no job has it: "
                                       "'scontrol reconfigure' frees it"
                      : n->refused & bit
                          ? "Slurm had no room on it: it is left alone for a while"
                          : NULL;

    t->sink.event(t->sink.ctx, &(struct engine_event){.kind = why ? ENGINE_DEVICE_TAKEN
                                                                  : ENGINE_DEVICE_FREE,
                                                      .at_s = now_s,
                                                      .device = n->first_device + gpu,
                                                      .text = why});
}

void slurm_node_table_tell_taken(struct slurm_node_table *t, double now_s)
{
    if (!t->live)
        return;
    vec_each (struct node_entry, n, &t->nodes) {
        uint64_t changed;

        if (n->refused && now_s >= n->refused_until_s)
            n->refused = 0;
        changed = (n->stuck | n->refused) ^ n->taken_told;
        n->taken_told ^= changed;
        for (int i = 0; changed && i < n->device_count; i++)
            if (changed >> i & 1)
                tell(t, n, i, now_s);
    }
}
