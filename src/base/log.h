/* log.h - one line an event: what happened, and its facts as key=value
 *
 *     log_info("job_started", LOG_U64("job", id), LOG_STR("device", name));
 *     2026-03-01T09:00:00.123Z info job_started job=7 device="node 1"
 *
 * or, as JSON, {"time":"...","level":"info","event":"job_started","job":7,...}.
 * Set up once before threads start; then any thread may log, a line is never torn. */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARN, LOG_LEVEL_ERROR };
enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON };

enum log_type {
    LOG_TYPE_STR,
    LOG_TYPE_I64,
    LOG_TYPE_U64,
    LOG_TYPE_DOUBLE,
    LOG_TYPE_BOOL
};

struct log_field {
    const char *key; /* ours: lower case, digits, _ */
    enum log_type type;
    union {
        const char *str; /* NULL is fine */
        int64_t i64;
        uint64_t u64;
        double number;
        bool truth;
    };
};

#define LOG_STR(k, v) ((struct log_field){.key = (k), .type = LOG_TYPE_STR, .str = (v)})
#define LOG_I64(k, v) ((struct log_field){.key = (k), .type = LOG_TYPE_I64, .i64 = (v)})
#define LOG_U64(k, v) ((struct log_field){.key = (k), .type = LOG_TYPE_U64, .u64 = (v)})
#define LOG_NUM(k, v)                                                                    \
    ((struct log_field){.key = (k), .type = LOG_TYPE_DOUBLE, .number = (v)})
#define LOG_BOOL(k, v)                                                                   \
    ((struct log_field){.key = (k), .type = LOG_TYPE_BOOL, .truth = (v)})

/* The two facts of an error: its code and its sentence. */
#define LOG_ERR(e) LOG_STR("code", err_code_name((e)->code)), LOG_STR("error", (e)->text)

/* Until this is called, events of level info and above go to stderr as text.  The stream
 * is borrowed; times_from gives the seconds since 1970, NULL for the real ones. */
void log_setup(FILE *out, enum log_level least, enum log_format format,
               double (*times_from)(void));

void log_event(enum log_level level, const char *event, const struct log_field *fields,
               size_t count);

#define LOG_EVENT(level, event, ...)                                                     \
    do {                                                                                 \
        const struct log_field log_fields_[] = {{0}, ##__VA_ARGS__};                     \
        log_event((level), (event), log_fields_ + 1,                                     \
                  sizeof(log_fields_) / sizeof(log_fields_[0]) - 1);                     \
    } while (0)

#define log_debug(event, ...) LOG_EVENT(LOG_LEVEL_DEBUG, (event), ##__VA_ARGS__)
#define log_info(event, ...)  LOG_EVENT(LOG_LEVEL_INFO, (event), ##__VA_ARGS__)
#define log_warn(event, ...)  LOG_EVENT(LOG_LEVEL_WARN, (event), ##__VA_ARGS__)
#define log_error(event, ...) LOG_EVENT(LOG_LEVEL_ERROR, (event), ##__VA_ARGS__)
