/* gpu_watchdog.h - a watchdog around a backend
 *
 * A driver that hangs takes the thread that called it along.  So a watchdog makes every
 * call on a thread of its own, one at a time for each device (and one for listing), and
 * waits no longer than the deadline: then the answer is GPU_HUNG, and again at once for
 * every later call, until the stuck one returns.  Other devices of the same driver go on
 * meanwhile. */
#ifndef CORGI_GPU_GPU_WATCHDOG_H
#define CORGI_GPU_GPU_WATCHDOG_H

#include "gpu/gpu_backend.h"

/* The backend is the watchdog's from now on.  Any thread may call the result; destroying
 * it leaves a stuck thread and what it uses behind, to be freed if it ever returns. */
struct gpu_backend gpu_watchdog(struct gpu_backend inner, double deadline_s,
                                double list_deadline_s);

#endif
