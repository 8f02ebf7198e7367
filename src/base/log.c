/* log.c - events as lines of key=value, for corgid and the probe
 *
 * A line is made in the caller's thread and then leaves whole under the lock; the
 * settings are written once before threads start. */
#include "base/log.h"

#include "base/clock.h"
#include "base/str.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

/* A value longer than this is cut: one event must not drown the others. */
#define MAX_VALUE 1024

static struct {
    FILE *out; /* NULL: stderr */
    enum log_level least;
    enum log_format format;
    double (*times_from)(void);
} settings = {.least = LOG_LEVEL_INFO, .times_from = clock_epoch_s};

static pthread_mutex_t out_lock = PTHREAD_MUTEX_INITIALIZER; /* guards writing to out */

static const char *const level_names[] = {"debug", "info", "warn", "error"};

void log_setup(FILE *out, enum log_level least, enum log_format format,
               double (*times_from)(void))
{
    settings.out = out;
    settings.least = least;
    settings.format = format;
    settings.times_from = times_from ? times_from : clock_epoch_s;
}

/* 2026-03-01T09:00:00.123Z */
static void add_time(struct str *line)
{
    double since_1970_s = settings.times_from();
    time_t whole = (time_t)floor(since_1970_s);
    int milli = (int)((since_1970_s - floor(since_1970_s)) * 1000);
    char text[32];
    struct tm parts;

    gmtime_r(&whole, &parts);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
    str_addf(line, "%s.%03dZ", text, milli);
}

/* In quotes, as JSON wants it: no control characters, no broken UTF-8.  A value from
 * outside can therefore not forge a line or steer a terminal. */
static void add_quoted(struct str *line, const char *text)
{
    const char *c = text, *end = text + strnlen(text, MAX_VALUE);

    str_add(line, "\"");
    while (c < end) {
        size_t length = str_utf8_length(c);

        if (length == 0)
            str_add(line, "\\ufffd");
        else if (*c == '"' || *c == '\\')
            str_addf(line, "\\%c", *c);
        else if (*c == '\n')
            str_add(line, "\\n");
        else if ((unsigned char)*c < 0x20 || *c == 0x7f)
            str_addf(line, "\\u%04x", (unsigned)*c);
        else
            str_add_bytes(line, c, length);
        c += length ? length : 1;
    }
    str_add(line, *c ? "...\"" : "\"");
}

static bool is_plain(const char *text)
{
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "0123456789_-.:/+@%,");

    return length > 0 && length <= MAX_VALUE && text[length] == '\0';
}

static void add_value(struct str *line, const struct log_field *field, bool json)
{
    switch (field->type) {
    case LOG_TYPE_STR:
        if (!field->str)
            str_add(line, json ? "null" : "-");
        else if (!json && is_plain(field->str))
            str_add(line, field->str);
        else
            add_quoted(line, field->str);
        break;
    case LOG_TYPE_I64:
        str_addf(line, "%" PRId64, field->i64);
        break;
    case LOG_TYPE_U64:
        str_addf(line, "%" PRIu64, field->u64);
        break;
    case LOG_TYPE_DOUBLE:
        if (isfinite(field->number))
            str_addf(line, "%.10g", field->number);
        else
            str_add(line, json ? "null" : isnan(field->number) ? "nan" : "inf");
        break;
    case LOG_TYPE_BOOL:
        str_add(line, field->truth ? "true" : "false");
        break;
    }
}

static void make_line(struct str *line, enum log_level level, const char *event,
                      const struct log_field *fields, size_t count)
{
    bool json = settings.format == LOG_FORMAT_JSON;

    str_add(line, json ? "{\"time\":\"" : "");
    add_time(line);
    str_addf(line, json ? "\",\"level\":\"%s\",\"event\":\"%s\"" : " %s %s",
             level_names[level], event);
    for (size_t i = 0; i < count; i++) {
        str_addf(line, json ? ",\"%s\":" : " %s=", fields[i].key);
        add_value(line, &fields[i], json);
    }
    str_add(line, json ? "}\n" : "\n");
}

void log_event(enum log_level level, const char *event, const struct log_field *fields,
               size_t count)
{
    FILE *out = settings.out ? settings.out : stderr;
    struct str line = {0};

    if (level < settings.least)
        return;
    make_line(&line, level, event, fields, count);
    pthread_mutex_lock(&out_lock);
    fwrite(str_text(&line), 1, line.length, out);
    fflush(out);
    pthread_mutex_unlock(&out_lock);
    str_fini(&line);
}
