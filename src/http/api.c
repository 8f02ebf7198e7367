/* api.c - the schemas of request bodies; service/ puts them into its table of routes, and
 * request_checks.c checks bodies by them */
#include "http/api.h"

#define COMMAND_MAX_WORDS 1000
#define PATH_MAX_BYTES    4095
#define TEXT_MAX_BYTES    65535

static const char *const kinds[] = {"training", "inference", NULL};
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
    {                                                                                    \
        .name = (n), .type = SCHEMA_NUMBER, .min = (low), .max = (high)                  \
    }
#define INTEGER(n, low, high)                                                            \
    {                                                                                    \
        .name = (n), .type = SCHEMA_INTEGER, .min = (low), .max = (high)                 \
    }
#define STRING(n, low, high)                                                             \
    {                                                                                    \
        .name = (n), .type = SCHEMA_STRING, .min = (low), .max = (high)                  \
    }
#define CHOICE(n, list)                                                                  \
    {                                                                                    \
        .name = (n), .type = SCHEMA_STRING, .min = 1, .max = 64, .choices = (list)       \
    }
#define BOOL(n)                                                                          \
    {                                                                                    \
        .name = (n), .type = SCHEMA_BOOL                                                 \
    }

static const struct schema_field type_name = STRING(NULL, 1, 64);
static const struct schema_field word = {
    .type = SCHEMA_STRING, .min = 0, .max = TEXT_MAX_BYTES, .text = true};

static const struct schema_field descriptor_fields[] = {
    STRING("family", 0, 47),
    CHOICE("model", models),
    INTEGER("batch", 0, 1e9),
    NUMBER("gmac_per_sample", 0, 1e9),
    NUMBER("params_millions", 0, 1e9),
    NUMBER("memory_mb_per_sample", 0, 1e9),
    {0},
};
static const struct schema descriptor = {.name = "Descriptor",
                                         .fields = descriptor_fields};

static const struct schema_field need_fields[] = {
    {.name = "kind",
     .type = SCHEMA_STRING,
     .required = true,
     .min = 1,
     .max = 64,
     .choices = need_kinds},
    NUMBER("rate", 0, API_MAX_RATE),
    NUMBER("latency_s", 0, 3600),
    NUMBER("deadline_s", 0, API_MAX_TIME_S),
    NUMBER("within_s", 0, 3155760000),
    NUMBER("confidence", 0, 0.999),
    {0},
};
static const struct schema need = {.name = "Need", .fields = need_fields};

#define TYPES_FIELD                                                                      \
    {                                                                                    \
        .name = "types", .type = SCHEMA_ARRAY, .max = 64, .item = &type_name             \
    }
#define NEED_FIELD                                                                       \
    {                                                                                    \
        .name = "need", .type = SCHEMA_OBJECT, .schema = &need                           \
    }

static const struct schema_field job_fields[] = {
    STRING("name", 1, 79),
    CHOICE("kind", kinds),
    {.name = "descriptor", .type = SCHEMA_OBJECT, .schema = &descriptor},
    NEED_FIELD,
    NUMBER("total_steps", 0, API_MAX_STEPS),
    NUMBER("duration_s", 0, 3155760000),
    INTEGER("gpus", 1, 64),
    NUMBER("memory_gb", 0, 1e5),
    INTEGER("priority", -1000000, 1000000),
    TYPES_FIELD,
    BOOL("share"),
    BOOL("move"),
    BOOL("hold"),
    CHOICE("on_counter", on_counter),
    {.name = "command",
     .type = SCHEMA_ARRAY,
     .min = 1,
     .max = COMMAND_MAX_WORDS,
     .item = &word},
    STRING("directory", 1, PATH_MAX_BYTES),
    {.name = "environment", .type = SCHEMA_MAP, .max = 1000, .item = &word},
    STRING("output", 1, PATH_MAX_BYTES),
    STRING("metrics_url", 1, 1023),
    STRING("metrics_counter", 1, 255),
    STRING("progress_file", 1, PATH_MAX_BYTES),
    NUMBER("stop_grace_s", 0, 86400),
    INTEGER("checkpoint_signal", 0, 64),
    BOOL("scale_to_zero"),
    INTEGER("max_replicas", 1, 64),
    {0},
};
const struct schema api_job_request = {.name = "JobRequest", .fields = job_fields};

static const struct schema_field update_fields[] = {
    STRING("name", 1, 79),
    NEED_FIELD,
    NUMBER("total_steps", 0, API_MAX_STEPS),
    NUMBER("duration_s", 0, 3155760000),
    NUMBER("memory_gb", 0, 1e5),
    INTEGER("priority", -1000000, 1000000),
    TYPES_FIELD,
    BOOL("share"),
    BOOL("move"),
    {0},
};
const struct schema api_job_update = {
    .name = "JobUpdate", .fields = update_fields, .one_at_least = true};

static const struct schema_field change_fields[] = {
    NEED_FIELD, INTEGER("gpus", 1, 64), TYPES_FIELD, BOOL("share"), BOOL("move"), {0},
};
static const struct schema change = {
    .name = "WhatIf", .fields = change_fields, .one_at_least = true};
static const struct schema_field change_item = {.type = SCHEMA_OBJECT, .schema = &change};

static const struct schema_field quote_fields[] = {
    {.name = "job", .type = SCHEMA_OBJECT, .required = true, .schema = &api_job_request},
    {.name = "what_if", .type = SCHEMA_ARRAY, .max = 8, .item = &change_item},
    {0},
};
const struct schema api_quote_request = {.name = "QuoteRequest", .fields = quote_fields};

static const struct schema_field reason_fields[] = {STRING("reason", 0, 200), {0}};
const struct schema api_reason = {.name = "Reason", .fields = reason_fields};

static const struct schema_field node_power_fields[] = {
    {.name = "state",
     .type = SCHEMA_STRING,
     .required = true,
     .min = 1,
     .max = 64,
     .choices = power_states},
    STRING("reason", 0, 200),
    {0},
};
const struct schema api_node_power = {.name = "NodePower", .fields = node_power_fields};

static const struct schema_field device_power_fields[] = {
    {.name = "cap_watts",
     .type = SCHEMA_NUMBER,
     .required = true,
     .nullable = true,
     .min = 0,
     .max = 1e5},
    STRING("reason", 0, 200),
    {0},
};
const struct schema api_device_power = {.name = "DevicePower",
                                        .fields = device_power_fields};

static const struct schema_field sample_fields[] = {
    {.name = "at_s",
     .type = SCHEMA_NUMBER,
     .required = true,
     .min = 0,
     .max = API_MAX_TIME_S},
    {.name = "window_s",
     .type = SCHEMA_NUMBER,
     .required = true,
     .min = 0,
     .max = 86400,
     .above_min = true},
    NUMBER("rate", 0, API_MAX_RATE),
    NUMBER("demand_rate", 0, API_MAX_RATE),
    NUMBER("latency_s", 0, 3600),
    NUMBER("steps", 0, API_MAX_STEPS),
    NUMBER("device_watts", 0, 1e5),
    BOOL("out_of_memory"),
    CHOICE("source", sources),
    NUMBER("confidence", 0, 1),
    {0},
};
static const struct schema sample = {.name = "Sample", .fields = sample_fields};
static const struct schema_field sample_item = {.type = SCHEMA_OBJECT, .schema = &sample};

static const struct schema_field measurement_fields[] = {
    {.name = "job",
     .type = SCHEMA_INTEGER,
     .required = true,
     .min = 1,
     .max = 9007199254740991},
    INTEGER("attempt", 1, 1000000),
    {.name = "samples",
     .type = SCHEMA_ARRAY,
     .required = true,
     .min = 1,
     .max = 1000,
     .item = &sample_item},
    {0},
};
const struct schema api_measurements = {.name = "Measurements",
                                        .fields = measurement_fields};

static const struct schema_field policy_fields[] = {
    INTEGER("share", 1, API_MAX_SHARE),
    BOOL("sleep"),
    BOOL("caps"),
    BOOL("moves"),
    NUMBER("confidence", 0.5, 0.999),
    NUMBER("progress_watts", 0, 100000),
    NUMBER("move_s", 0, 86400),
    NUMBER("grace_s", 0, 86400),
    NUMBER("power_limit_watts", 0, 1e9),
    {0},
};
const struct schema api_policy_update = {
    .name = "PolicyUpdate", .fields = policy_fields, .one_at_least = true};

static const struct schema_field sim_advance_fields[] = {
    {.name = "to_s", .type = SCHEMA_NUMBER, .required = true, .max = API_MAX_TIME_S},
    {0},
};
const struct schema api_sim_advance = {.name = "SimAdvance",
                                       .fields = sim_advance_fields};

#define QUOTA(n, high)                                                                   \
    {                                                                                    \
        .name = (n), .type = SCHEMA_INTEGER, .nullable = true, .max = (high)             \
    }
static const struct schema_field quota_fields[] = {
    QUOTA("max_jobs", 1000000),
    QUOTA("max_running", 1000000),
    QUOTA("max_gpus", 1000000),
    {0},
};
const struct schema api_quota = {
    .name = "QuotaUpdate", .fields = quota_fields, .one_at_least = true};

static const struct schema_field token_fields[] = {
    {.name = "user", .type = SCHEMA_STRING, .required = true, .min = 1, .max = 63},
    {.name = "role",
     .type = SCHEMA_STRING,
     .required = true,
     .min = 1,
     .max = 64,
     .choices = roles},
    {.name = "expires_in_s",
     .type = SCHEMA_NUMBER,
     .nullable = true,
     .min = 1,
     .max = 3155760000},
    STRING("note", 0, 200),
    {0},
};
const struct schema api_token_request = {.name = "TokenRequest", .fields = token_fields};

const struct schema *const api_schemas[] = {
    &api_job_request, &api_job_update,   &api_quote_request, &api_reason,
    &api_node_power,  &api_device_power, &api_measurements,  &api_policy_update,
    &api_sim_advance, &api_quota,        &api_token_request, NULL,
};
