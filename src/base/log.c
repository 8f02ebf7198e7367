/* log.c - events as lines of key=value, for corgid and the probe
 *
 * A line is made in the caller's thread and then leaves whole under the lock; the
 * settings are written once before threads start. */
#include "base/log.h"

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
} settings = {.least = LOG_LEVEL_INFO};

static pthread_mutex_t out_lock = PTHREAD_MUTEX_INITIALIZER; /* guards writing to out */

static const char *const level_names[] = {"debug", "info", "warn", "error"};

void log_setup(FILE *out, enum log_level least, enum log_format format,
               double (*times_from)(void))
{
    settings.out = out;
    settings.least = least;
    settings.format = format;
    settings.times_from = times_from;
}

bool log_wants(enum log_level level)
{
    return level >= settings.least;
}

static double now_s(void)
{
    struct timespec now;

    if (settings.times_from)
        return settings.times_from();
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* 2026-03-01T09:00:00.123Z */
static void add_time(struct str *line)
{
    double since_1970_s = now_s();
    time_t whole = (time_t)floor(since_1970_s);
    int milli = (int)((since_1970_s - floor(since_1970_s)) * 1000);
    char text[32];
    struct tm parts;

    gmtime_r(&whole, &parts);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
    str_addf(line, "%s.%03dZ", text, milli);
}

/* The length of the UTF-8 sequence that begins here; 0 when it is none. */
static size_t sequence_length(const unsigned char *c)
{
    size_t length = *c < 0x80                 ? 1
                    : *c >= 0xc2 && *c < 0xe0 ? 2
                    : *c >= 0xe0 && *c < 0xf0 ? 3
                    : *c >= 0xf0 && *c < 0xf5 ? 4
                                              : 0;

    for (size_t i = 1; i < length; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    /* Overlong forms, surrogates and what lies beyond Unicode. */
    if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] >= 0xa0) ||
        (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] >= 0x90))
        return 0;
    return length;
}

/* In quotes, as JSON wants it: no control characters, no broken UTF-8.  A value from
 * outside can therefore not forge a line or steer a terminal. */
static void add_quoted(struct str *line, const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    const unsigned char *end = c + strnlen(text, MAX_VALUE);

    str_add(line, "\"");
    while (c < end) {
        size_t length = sequence_length(c);

        if (length == 0)
            str_add(line, "\\ufffd");
        else if (*c == '"' || *c == '\\')
            str_addf(line, "\\%c", *c);
        else if (*c == '\n')
            str_add(line, "\\n");
        else if (*c < 0x20 || *c == 0x7f)
            str_addf(line, "\\u%04x", *c);
        else
            str_add_bytes(line, (const char *)c, length);
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

    if (!log_wants(level))
        return;
    make_line(&line, level, event, fields, count);
    pthread_mutex_lock(&out_lock);
    fwrite(str_text(&line), 1, line.length, out);
    fflush(out);
    pthread_mutex_unlock(&out_lock);
    str_fini(&line);
}
