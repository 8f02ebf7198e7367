/* loop_settings.c - see loop_settings.h */
#include "loop/loop_settings.h"

#include <stddef.h>

const struct config_key settings_keys[] = {
    {.name = "share",
     .type = CONFIG_INT,
     .min = 1,
     .max = LOOP_MAX_SHARE,
     .default_text = "2",
     .offset = offsetof(struct optimize_settings, share_max),
     .help = "most jobs on one GPU"},
    {.name = "sleep",
     .type = CONFIG_BOOL,
     .default_text = "true",
     .offset = offsetof(struct optimize_settings, sleep),
     .help = "nodes without jobs may sleep"},
    {.name = "caps",
     .type = CONFIG_BOOL,
     .default_text = "true",
     .offset = offsetof(struct optimize_settings, caps),
     .help =
         "power limits of GPUs may be planned; an engine sets them only with consent"},
    {.name = "moves",
     .type = CONFIG_BOOL,
     .default_text = "true",
     .offset = offsetof(struct optimize_settings, moves),
     .help = "running jobs may be moved"},
    {.name = "confidence",
     .type = CONFIG_DOUBLE,
     .min = 0.5,
     .max = 0.999,
     .default_text = "0.8",
     .offset = offsetof(struct optimize_settings, confidence),
     .help = "requirements hold with this probability; a job may ask for more"},
    {.name = "trial",
     .type = CONFIG_DOUBLE,
     .min = 0.5,
     .max = 0.999,
     .default_text = "0.55",
     .offset = offsetof(struct optimize_settings, trial_confidence),
     .help = "where a job can be moved again, a new place is tried from this probability "
             "on: what is measured there decides soon enough"},
    {.name = "progress",
     .type = CONFIG_WATTS,
     .min = 0,
     .max = 100000,
     .default_text = "200W",
     .offset = offsetof(struct optimize_settings, progress_watts),
     .help =
         "what a unit of training progress is worth, until the cluster shows how many "
         "watts one takes: without it jobs linger"},
    {.name = "explore",
     .type = CONFIG_DOUBLE,
     .min = 0,
     .max = 0.5,
     .default_text = "0.02",
     .offset = offsetof(struct optimize_settings, explore),
     .help = "share of the cluster's energy that may be spent on trying places to learn "
             "how they do; 0 is none"},
    {.name = "move_cost",
     .type = CONFIG_SECONDS,
     .min = 0,
     .max = 86400,
     .default_text = "45s",
     .offset = offsetof(struct optimize_settings, move_s),
     .help = "work a job loses when it is moved"},
    {.name = "grace",
     .type = CONFIG_SECONDS,
     .min = 0,
     .max = 86400,
     .default_text = "10m",
     .offset = offsetof(struct optimize_settings, grace_s),
     .help = "a wait up to this breaks no promise"},
    {.name = "power_limit",
     .type = CONFIG_WATTS,
     .min = 0,
     .max = 1e9,
     .default_text = "0W",
     .offset = offsetof(struct optimize_settings, power_limit_watts),
     .help = "of the whole cluster; 0 is none"},
    {0},
};

struct optimize_settings settings_default(void)
{
    struct optimize_settings settings = {0};

    config_defaults(settings_keys, &settings);
    return settings;
}
