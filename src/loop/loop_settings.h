/* loop_settings.h - how the loop decides, as an operator sets it
 *
 * A table of keys for base/config.h, so that the daemon and the simulator read the same
 * file; the reading is theirs, for the loop does no I/O. */
#pragma once

#include "base/config.h"
#include "loop/planner.h"

/* Keys of a struct optimize_settings; ends with {0}. */
extern const struct config_key settings_keys[];
extern const char *const settings_preempt_names[]; /* by enum preempt */

/* What the table says when no file does. */
struct optimize_settings settings_default(void);
