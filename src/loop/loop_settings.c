/* loop_settings.c - the daemon reads its config with it, the simulator its --config */
#include "loop/loop_settings.h"

#include <stddef.h>

/* A key, the field it sets, its limits, what it is without a file, and what it means. */
#define KEY(key, kind, field, least, most, otherwise, text)                              \
    {                                                                                    \
        .name = key, .type = kind, .min = least, .max = most, .default_text = otherwise, \
        .offset = offsetof(struct optimize_settings, field), .help = text                \
    }

const char *const settings_preempt_names[] = {"none", "best_effort", "priority", NULL};

static int parse_limit(const char *text, void *value, struct err *err)
{
    return power_schedule_parse(text, value, err);
}

const struct config_key settings_keys[] = {
    KEY("share", CONFIG_INT, share_max, 1, PLANNER_MAX_SHARE, "2",
        "most jobs on one GPU"),
    KEY("sleep", CONFIG_BOOL, sleep, 0, 0, "true", "nodes without jobs may sleep"),
    KEY("caps", CONFIG_BOOL, caps, 0, 0, "true",
        "power limits of GPUs may be planned; an engine sets them only with consent"),
    KEY("moves", CONFIG_BOOL, moves, 0, 0, "true", "running jobs may be moved"),
    KEY("confidence", CONFIG_DOUBLE, confidence, 0.5, 0.999, "0.8",
        "requirements hold with this probability; a job may ask for more"),
    KEY("trial", CONFIG_DOUBLE, trial_confidence, 0.5, 0.999, "0.55",
        "where a job can be moved again, a new place is tried from this probability "
        "on: what is measured there decides soon enough"),
    KEY("progress", CONFIG_WATTS, progress_watts, 0, 100000, "200W",
        "what a unit of training progress is worth, until the cluster shows how many "
        "watts one takes: without it jobs linger"),
    KEY("explore", CONFIG_DOUBLE, explore, 0, 0.5, "0.02",
        "share of the cluster's energy that may be spent on trying places to learn "
        "how they do; 0 is none"),
    KEY("move_cost", CONFIG_SECONDS, move_s, 0, 86400, "45s",
        "work a job loses when it is moved"),
    KEY("grace", CONFIG_SECONDS, grace_s, 0, 86400, "10m",
        "a wait up to this breaks no promise"),
    {.name = "preempt",
     .type = CONFIG_CHOICE,
     .choices = settings_preempt_names,
     .default_text = "best_effort",
     .offset = offsetof(struct optimize_settings, preempt),
     .help =
         "who may be stopped, with a checkpoint, for a job that would wait beyond the "
         "grace time: best effort for what was promised; with priority smaller "
         "priorities for larger ones too"},
    KEY("fair_share", CONFIG_SECONDS, fair_share_s, 0, 1e9, "7d",
        "half-life of what users had of GPUs: who had least for their weight, see "
        "shares, goes first among equal priorities; 0: in order of admission"),
    {.name = "power_limit",
     .type = CONFIG_OWN,
     .parse = parse_limit,
     .takes = "a power, or a list with limits for hours of the day in UTC, as [20kW, "
              "07:00-20:00 12kW]",
     .default_text = "0W",
     .offset = offsetof(struct optimize_settings, power_limit),
     .help = "of the whole cluster; 0 is none"},
    {0},
};

struct optimize_settings settings_default(void)
{
    struct optimize_settings settings = {0};

    config_defaults(settings_keys, &settings);
    return settings;
}
