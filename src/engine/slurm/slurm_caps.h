/* slurm_caps.h - power limits of GPUs on Slurm's nodes, set by a program of the
 * operator's
 *
 *     PROGRAM NODE GPU WATTS      WATTS 0: no limit of ours
 *
 * Slurm has no way to set them, as it has none to power a node: there, too, a program of
 * the operator's knows how.  A few run at once, the newest wish of a GPU waits, and one
 * that takes too long is killed and tried again.  Nothing here blocks. */
#pragma once

#include "base/err.h"

struct slurm_caps;

/* Ends of the program are seen through the poller; one that takes longer is killed. */
struct slurm_caps *slurm_caps_create(int poller, const char *program, double within_s);
void slurm_caps_destroy(struct slurm_caps *caps); /* NULL is fine */

/* Wanted from now on; device is the caller's number of it. */
void slurm_caps_set(struct slurm_caps *caps, int device, const char *node, int gpu,
                    double watts);

/* Do what is due by this time on the monotonic clock; returns when the next thing is. */
double slurm_caps_advance(struct slurm_caps *caps, double now_s);
