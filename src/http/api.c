/* api.c - the schemas of request bodies; service/ puts them into its table of routes, and
 * request.c checks bodies by them */
#include "http/api.h"

#define COMMAND_MAX_WORDS 1000
#define PATH_MAX_BYTES    4095
#define TEXT_MAX_BYTES    65535

static const char *const kinds[] = {"training", "inference", NULL};
static const char *const preempts[] = {"none", "best_effort", "priority", NULL};
static const char *const need_kinds[] = {"best_effort", "rate", "service", "deadline",
                                         NULL};
static const char *const models[] = {"unknown", "conv", "attention", "rnn",   "embedding",
                                     "gan",     "rl",   "diffusion", "other", NULL};
static const char *const on_counter[] = {"refuse", "accept", NULL};
static const char *const roles[] = {"viewer", "user", "operator", NULL};
static const char *const power_states[] = {"awake", "asleep", NULL};
static const char *const sources[] = {"heartbeat", "prometheus", "log",   "progress",
                                      "activity",  "simulated",  "other", NULL};

#define NUMBER(n, low, high)                                                             \
    .name = (n), .type = SCHEMA_NUMBER, .min = (low), .max = (high)
#define INTEGER(n, low, high)                                                            \
    .name = (n), .type = SCHEMA_INTEGER, .min = (low), .max = (high)
#define STRING(n, low, high)                                                             \
    .name = (n), .type = SCHEMA_STRING, .min = (low), .max = (high)
#define ARRAY(n, low, high, each)                                                        \
    .name = (n), .type = SCHEMA_ARRAY, .min = (low), .max = (high), .item = (each)
#define CHOICE(n, list)    STRING(n, 1, 64), .choices = (list)
#define OBJECT(n, members) .name = (n), .type = SCHEMA_OBJECT, .schema = (members)
#define BOOL(n)            .name = (n), .type = SCHEMA_BOOL
#define TYPES              ARRAY("types", 0, 64, &type_name)

static const struct schema_field type_name = {STRING(NULL, 1, 64)};
static const struct schema_field word = {STRING(NULL, 0, TEXT_MAX_BYTES), .text = true};

static const struct schema_field descriptor_fields[] = {
    {STRING("family", 0, 47)},
    {CHOICE("model", models)},
    {INTEGER("batch", 0, 1e9)},
    {NUMBER("gmac_per_sample", 0, 1e9)},
    {NUMBER("params_millions", 0, 1e9)},
    {NUMBER("memory_mb_per_sample", 0, 1e9)},
    {0},
};
static const struct schema descriptor = {.name = "Descriptor",
                                         .fields = descriptor_fields};

static const struct schema_field need_fields[] = {
    {CHOICE("kind", need_kinds), .required = true},
    {NUMBER("rate", 0, API_MAX_RATE)},
    {NUMBER("latency_s", 0, 3600)},
    {NUMBER("deadline_s", 0, API_MAX_TIME_S)},
    {NUMBER("within_s", 0, 3155760000)},
    {NUMBER("confidence", 0, 0.999)},
    {0},
};
static const struct schema need = {.name = "Need", .fields = need_fields};

static const struct schema_field job_fields[] = {
    {STRING("name", 1, 79)},
    {CHOICE("kind", kinds)},
    {OBJECT("descriptor", &descriptor)},
    {OBJECT("need", &need)},
    {NUMBER("total_steps", 0, API_MAX_STEPS)},
    {NUMBER("duration_s", 0, 3155760000)},
    {INTEGER("gpus", 1, 64)},
    {NUMBER("memory_gb", 0, 1e5)},
    {NUMBER("cpus", 0, 1e6)},
    {NUMBER("host_memory_gb", 0, 1e6)},
    {INTEGER("priority", -API_MAX_PRIORITY, API_MAX_PRIORITY)},
    {TYPES},
    {BOOL("share")},
    {BOOL("move")},
    {BOOL("hold")},
    {CHOICE("on_counter", on_counter)},
    {ARRAY("command", 1, COMMAND_MAX_WORDS, &word)},
    {STRING("directory", 1, PATH_MAX_BYTES)},
    {.name = "environment", .type = SCHEMA_MAP, .max = 1000, .item = &word},
    {STRING("output", 1, PATH_MAX_BYTES)},
    {STRING("metrics_url", 1, 1023)},
    {STRING("metrics_counter", 1, 255)},
    {STRING("progress_file", 1, PATH_MAX_BYTES)},
    {NUMBER("stop_grace_s", 0, API_MAX_GRACE_S)},
    {INTEGER("checkpoint_signal", 0, 64)},
    {BOOL("scale_to_zero")},
    {INTEGER("max_replicas", 1, 64)},
    {STRING("account", 1, 63)},
    {STRING("qos", 1, 63)},
    {STRING("partition", 1, 63)},
    {0},
};
const struct schema api_job_request = {.name = "JobRequest", .fields = job_fields};

static const struct schema_field update_fields[] = {
    {STRING("name", 1, 79)},
    {OBJECT("need", &need)},
    {NUMBER("total_steps", 0, API_MAX_STEPS)},
    {NUMBER("duration_s", 0, 3155760000)},
    {NUMBER("memory_gb", 0, 1e5)},
    {INTEGER("priority", -API_MAX_PRIORITY, API_MAX_PRIORITY)},
    {TYPES},
    {BOOL("share")},
    {BOOL("move")},
    {0},
};
const struct schema api_job_update = {
    .name = "JobUpdate", .fields = update_fields, .one_at_least = true};

static const struct schema_field change_fields[] = {
    {OBJECT("need", &need)}, {INTEGER("gpus", 1, 64)}, {TYPES},
    {BOOL("share")},         {BOOL("move")},           {0},
};
static const struct schema change = {
    .name = "WhatIf", .fields = change_fields, .one_at_least = true};
static const struct schema_field change_item = {.type = SCHEMA_OBJECT, .schema = &change};

static const struct schema_field quote_fields[] = {
    {OBJECT("job", &api_job_request), .required = true},
    {ARRAY("what_if", 0, 8, &change_item)},
    {0},
};
const struct schema api_quote_request = {.name = "QuoteRequest", .fields = quote_fields};

static const struct schema_field reason_fields[] = {{STRING("reason", 0, 200)}, {0}};
const struct schema api_reason = {
    .name = "Reason", .fields = reason_fields, .optional = true};

static const struct schema_field cancel_fields[] = {
    {STRING("reason", 0, 200)},
    {BOOL("force")},
    {0},
};
const struct schema api_cancel = {
    .name = "Cancel", .fields = cancel_fields, .optional = true};

static const struct schema_field node_power_fields[] = {
    {CHOICE("state", power_states), .required = true},
    {STRING("reason", 0, 200)},
    {0},
};
const struct schema api_node_power = {.name = "NodePower", .fields = node_power_fields};

static const struct schema_field device_power_fields[] = {
    {NUMBER("cap_watts", 0, 1e5), .required = true, .nullable = true},
    {STRING("reason", 0, 200)},
    {0},
};
const struct schema api_device_power = {.name = "DevicePower",
                                        .fields = device_power_fields};

static const struct schema_field sample_fields[] = {
    {NUMBER("at_s", 0, API_MAX_TIME_S), .required = true},
    {NUMBER("window_s", 0, 86400), .required = true, .above_min = true},
    {NUMBER("rate", 0, API_MAX_RATE)},
    {NUMBER("demand_rate", 0, API_MAX_RATE)},
    {NUMBER("latency_s", 0, 3600)},
    {NUMBER("median_s", 0, 3600)},
    {NUMBER("busy", 0, 1)},
    {NUMBER("held", 0, 1e9)},
    {NUMBER("steps", 0, API_MAX_STEPS)},
    {NUMBER("device_watts", 0, 1e5)},
    {BOOL("out_of_memory")},
    {CHOICE("source", sources)},
    {NUMBER("confidence", 0, 1)},
    {0},
};
static const struct schema sample = {.name = "Sample", .fields = sample_fields};
static const struct schema_field sample_item = {.type = SCHEMA_OBJECT, .schema = &sample};

static const struct schema_field measurement_fields[] = {
    {INTEGER("job", 1, 9007199254740991), .required = true},
    {INTEGER("attempt", 1, 1000000)},
    {ARRAY("samples", 1, 1000, &sample_item), .required = true},
    {0},
};
const struct schema api_measurements = {.name = "Measurements",
                                        .fields = measurement_fields};

static const struct schema_field report_line = {STRING(NULL, 1, API_MAX_REPORT),
                                                .text = true};
static const struct schema_field uuid = {STRING(NULL, 1, 95)};

static const struct schema_field report_fields[] = {
    {INTEGER("job", 1, 9007199254740991)},
    {STRING("run", API_RUN_BYTES, API_RUN_BYTES), .required = true},
    {STRING("node", 1, 255), .required = true},
    {INTEGER("rank", 0, 1e6)},
    {STRING("slurm_job", 1, 63)},
    {ARRAY("gpus", 0, 64, &uuid)},
    {NUMBER("age_s", 0, 3155760000)},
    {BOOL("whole")},
    {INTEGER("first", 1, 9007199254740991), .required = true},
    {ARRAY("reports", 0, API_MAX_REPORTS, &report_line), .required = true},
    {0},
};
const struct schema api_reports = {.name = "Reports", .fields = report_fields};

static const struct schema_field job_token_fields[] = {
    {NUMBER("expires_in_s", 1, 3155760000)},
    {0},
};
const struct schema api_job_token = {
    .name = "JobTokenRequest", .fields = job_token_fields, .optional = true};

static const struct schema_field power_hours_fields[] = {
    {INTEGER("from_minute", 0, 1439), .required = true},
    {INTEGER("to_minute", 0, 1440), .required = true},
    {NUMBER("watts", 0, 1e9), .required = true},
    {0},
};
static const struct schema power_hours = {.name = "PowerHours",
                                          .fields = power_hours_fields};
static const struct schema_field power_hours_item = {.type = SCHEMA_OBJECT,
                                                     .schema = &power_hours};

#define POLICY_FIELDS                                                                    \
    {INTEGER("share", 1, API_MAX_SHARE)}, {BOOL("sleep")}, {BOOL("caps")},               \
        {BOOL("moves")}, {NUMBER("confidence", 0.5, 0.999)},                             \
        {NUMBER("progress_watts", 0, 100000)}, {NUMBER("move_s", 0, 86400)},             \
        {NUMBER("grace_s", 0, 86400)}, {CHOICE("preempt", preempts)},                    \
        {NUMBER("fair_share_s", 0, 1e9)}, {NUMBER("power_limit_watts", 0, 1e9)},         \
    {                                                                                    \
        ARRAY("power_limit_hours", 0, API_MAX_POWER_HOURS, &power_hours_item)            \
    }

static const struct schema_field policy_fields[] = {
    POLICY_FIELDS,
    {BOOL("paused")},
    {0},
};
const struct schema api_policy_update = {
    .name = "PolicyUpdate", .fields = policy_fields, .one_at_least = true};

static const struct schema_field preview_fields[] = {
    POLICY_FIELDS,
    {NUMBER("hours", 0.1, 24)},
    {0},
};
const struct schema api_policy_preview = {
    .name = "PolicyPreview", .fields = preview_fields, .one_at_least = true};

static const struct schema_field advice_fields[] = {
    {STRING("advice", 2, API_MAX_ADVICE), .required = true, .text = true},
    {0},
};
const struct schema api_advice = {.name = "AdvicePublished", .fields = advice_fields};

static const struct schema_field sim_advance_fields[] = {
    {NUMBER("to_s", 0, API_MAX_TIME_S), .required = true},
    {0},
};
const struct schema api_sim_advance = {.name = "SimAdvance",
                                       .fields = sim_advance_fields};

static const struct schema_field quota_fields[] = {
    {INTEGER("max_jobs", 0, 1000000), .nullable = true},
    {INTEGER("max_running", 0, 1000000), .nullable = true},
    {INTEGER("max_gpus", 0, 1000000), .nullable = true},
    {0},
};
const struct schema api_quota = {
    .name = "QuotaUpdate", .fields = quota_fields, .one_at_least = true};

static const struct schema_field token_fields[] = {
    {STRING("user", 1, 63), .required = true},
    {CHOICE("role", roles), .required = true},
    {NUMBER("expires_in_s", 1, 3155760000), .nullable = true},
    {STRING("note", 0, 200)},
    {0},
};
const struct schema api_token_request = {.name = "TokenRequest", .fields = token_fields};
