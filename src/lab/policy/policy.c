/* policy.c - the table of policies: sweep.c runs each under the model and with the levers
 * that its line says */
#include "lab/policy/policy.h"

#include "base/str.h"
#include "loop/optimize/planner_private.h"

#include <string.h>

static const struct policy policies[] = {
    {.name = "corgi",
     .summary = "least energy with requirements kept, on learned estimates",
     .planner = &corgi_planner_ops},
    {.name = "corgi-nocaps",
     .summary = "corgi without power caps",
     .planner = &corgi_planner_ops,
     .no_caps = true},
    {.name = "corgi-p1",
     .summary =
         "corgi on first estimates and what was measured, nothing concluded from it",
     .planner = &corgi_planner_ops,
     .model = SIM_MODEL_INITIAL},
    {.name = "corgi-noshare",
     .summary = "corgi with one job a device",
     .planner = &corgi_planner_ops,
     .share_max = 1},
    {.name = "corgi-nomoves",
     .summary = "corgi that never moves a running job",
     .planner = &corgi_planner_ops,
     .no_moves = true},
    {.name = "corgi-nosleep",
     .summary = "corgi that keeps idle nodes awake",
     .planner = &corgi_planner_ops,
     .no_sleep = true},
    {.name = "corgi-noexplore",
     .summary = "corgi that tries no place for what it may turn out to be",
     .planner = &corgi_planner_ops,
     .no_explore = true},
    {.name = "oracle",
     .summary = "corgi's planner told the true rates: a bound, not a policy",
     .planner = &corgi_planner_ops,
     .model = SIM_MODEL_ORACLE},
    {.name = "oracle-nocaps",
     .summary = "the oracle without power caps",
     .planner = &corgi_planner_ops,
     .model = SIM_MODEL_ORACLE,
     .no_caps = true},
    {.name = "feedback-only",
     .summary = "corgi's planner without an estimator: constants, and what was measured "
                "of the same job",
     .planner = &corgi_planner_ops,
     .model = SIM_MODEL_FEEDBACK},
    {.name = "fifo",
     .summary = "first in, first out, on the first free device",
     .planner = &policy_fifo_ops,
     .model = SIM_MODEL_SHEET},
    {.name = "fastest",
     .summary = "first in, first out, on the fastest free device",
     .planner = &policy_fastest_ops},
    {.name = "random",
     .summary = "first in, first out, on any free device",
     .planner = &policy_random_ops,
     .model = SIM_MODEL_SHEET},
    {.name = "round-robin",
     .summary = "first in, first out, node after node",
     .planner = &policy_round_robin_ops,
     .model = SIM_MODEL_SHEET},
    {.name = "slurm-like",
     .summary = "the user names the slowest type that gives a tenth more than needed",
     .planner = &policy_slurm_like_ops},
    {.name = "slowest-ok",
     .summary = "the slowest type that meets the requirement",
     .planner = &policy_slowest_ok_ops},
    {.name = "pack-blind",
     .summary = "two jobs a device, blind to interference",
     .planner = &policy_pack_blind_ops,
     .model = SIM_MODEL_SHEET},
    {.name = "pack-util",
     .summary = "shared while predicted utilisations add up to one device",
     .planner = &policy_pack_util_ops},
    {.name = "least-energy",
     .summary = "one job a device, where it costs the least energy",
     .planner = &policy_least_energy_ops},
    {.name = "least-energy-caps",
     .summary = "the same under the power limit that keeps the requirement",
     .planner = &policy_least_energy_caps_ops},
    {.name = "zeus-like",
     .summary = "the same under the limit that weighs energy and time as Zeus does",
     .planner = &policy_zeus_like_ops},
    {.name = "ear-like",
     .summary = "the same under the best limit within 5 % of full speed, as EAR",
     .planner = &policy_ear_like_ops},
    {.name = "pwr-fgd",
     .summary = "shared by predicted utilisation, least power and fragmentation added",
     .planner = &policy_pwr_fgd_ops},
    {.name = "gavel-maxmin",
     .summary = "Gavel: shares of time by max-min fairness over GPU types",
     .planner = &policy_gavel_maxmin_ops},
    {.name = "gavel-maxmin-packed",
     .summary = "the same with two jobs a device where that pays",
     .planner = &policy_gavel_maxmin_packed_ops},
    {.name = "gavel-cost",
     .summary = "Gavel: most throughput per dollar with requirements kept",
     .planner = &policy_gavel_cost_ops},
    {.name = "gavel-cost-packed",
     .summary = "the same with two jobs a device where that pays",
     .planner = &policy_gavel_cost_packed_ops},
    {.name = "gavel-energy-packed",
     .summary = "the same with watts of devices and hosts as the cost, and power limits",
     .planner = &policy_gavel_energy_packed_ops},
};

const struct policy policy_as_it_ran = {
    .name = "as-it-ran",
    .summary = "every job where and when it really ran, on nodes that stay awake",
    .planner = &policy_fifo_ops, /* never asked */
    .model = SIM_MODEL_SHEET,
    .no_sleep = true,
    .follows = true,
};

const struct policy *policy_all(size_t *count)
{
    *count = sizeof(policies) / sizeof(policies[0]);
    return policies;
}

const struct policy *policy_find(const char *name)
{
    size_t count;
    const struct policy *all = policy_all(&count);

    for (size_t i = 0; i < count; i++)
        if (!strcmp(all[i].name, name))
            return &all[i];
    return NULL;
}

static int unknown(const char *name, struct err *err)
{
    struct str names = {0};
    size_t count;
    const struct policy *all = policy_all(&count);

    for (size_t i = 0; i < count; i++)
        str_addf(&names, "%s%s", i ? ", " : "", all[i].name);
    err_set(err, ERR_NOT_FOUND, "unknown policy '%s'; there are %s, or all", name,
            str_text(&names));
    str_fini(&names);
    return -1;
}

int policy_parse_list(const char *text, const struct policy **list, size_t *count,
                      struct err *err)
{
    const struct policy *found[POLICY_MAX];
    size_t n = 0, all_count;
    const struct policy *all = policy_all(&all_count);

    if (!strcmp(text, "all")) {
        for (n = 0; n < all_count; n++)
            list[n] = &all[n];
        *count = n;
        return 0;
    }
    while (*text) {
        char name[64];
        size_t length = strcspn(text, ",");

        if (length == 0 || length >= sizeof(name) || n == POLICY_MAX)
            return err_set(err, ERR_INVALID, "'%s' is not a list of policies", text);
        memcpy(name, text, length);
        name[length] = '\0';
        found[n] = policy_find(name);
        if (!found[n])
            return unknown(name, err);
        for (size_t i = 0; i < n; i++)
            if (found[i] == found[n])
                return err_set(err, ERR_INVALID, "policy '%s' is named twice", name);
        n++;
        text += length + (text[length] == ',');
    }
    if (n == 0)
        return err_set(err, ERR_INVALID, "no policy is named");
    memcpy(list, found, n * sizeof(*list));
    *count = n;
    return 0;
}
