/* policy.h - everything a simulation can be scheduled by, by name */
#pragma once

#include "base/err.h"
#include "loop/planner.h"
#include "lab/sim/sim_run.h"

#define POLICY_MAX 64

struct policy {
    const char *name;
    const char *summary;
    const struct planner_ops *planner;
    enum sim_model model;
    int share_max; /* overrides the setting when not 0 */
    bool no_moves; /* levers the policy does without, whatever the settings allow */
    bool no_sleep;
    bool no_caps;
    bool no_explore;
    bool follows; /* no policy, but what really happened: see real_schedule.h */
};

/* What really happened as a row among policies.  It is none of policy_all(): only lists
 * of an operator's own jobs have it. */
extern const struct policy policy_as_it_ran;

const struct policy *policy_all(size_t *count);
const struct policy *policy_find(const char *name); /* NULL when unknown */

/* "corgi,fifo" or "all" to a list; err names the unknown one and all that exist. */
int policy_parse_list(const char *text, const struct policy **list, size_t *count,
                      struct err *err);

extern const struct planner_ops policy_fifo_ops;
extern const struct planner_ops policy_fastest_ops;
extern const struct planner_ops policy_random_ops;
extern const struct planner_ops policy_round_robin_ops;
extern const struct planner_ops policy_slurm_like_ops;
extern const struct planner_ops policy_slowest_ok_ops;
extern const struct planner_ops policy_pack_blind_ops;
extern const struct planner_ops policy_pack_util_ops;
extern const struct planner_ops policy_least_energy_ops;
extern const struct planner_ops policy_least_energy_caps_ops;
extern const struct planner_ops policy_zeus_like_ops;
extern const struct planner_ops policy_ear_like_ops;
extern const struct planner_ops policy_pwr_fgd_ops;
extern const struct planner_ops policy_gavel_maxmin_ops;
extern const struct planner_ops policy_gavel_maxmin_packed_ops;
extern const struct planner_ops policy_gavel_cost_ops;
extern const struct planner_ops policy_gavel_cost_packed_ops;
extern const struct planner_ops policy_gavel_energy_packed_ops;
