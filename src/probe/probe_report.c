/* probe_report.c - report lines and the status file, written and read
 *
 * corgi-probe writes them (run_job.c the status, sender.c the reports); the local engine
 * reads the lines that come to its socket and the files of jobs that have ended.
 * heartbeat.c reads datagrams of a job as pairs, too. */
#include "probe/probe_report.h"

#include "base/parse.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[PROBE_KIND_COUNT + 1] = {"started", "rate", "demand",
                                                             "ended"};
const char *const probe_source_names[PROBE_SOURCE_COUNT + 1] = {
    "none", "heartbeat", "prometheus", "log", "progress", "activity"};

void probe_report_init(struct probe_report *report, enum probe_report_kind kind,
                       uint64_t job)
{
    *report = (struct probe_report){.version = 1,
                                    .kind = kind,
                                    .job = job,
                                    .attempt = 1,
                                    .at_s = NAN,
                                    .started_s = NAN,
                                    .window_s = NAN,
                                    .rate = NAN,
                                    .steps = NAN,
                                    .watts = NAN,
                                    .service = PROBE_SERVICE_UNKNOWN,
                                    .confidence = NAN,
                                    .exit_status = -1,
                                    .told = -1,
                                    .signal = -1};
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_over(const struct fields *f)
{
    return f->at == f->end || *f->at == '\n' || *f->at == '\r' || !*f->at;
}

static bool is_key_byte(char c)
{
    return islower((unsigned char)c) || isdigit((unsigned char)c) || c == '_';
}

static int read_key(struct fields *f)
{
    size_t length = 0;

    for (; f->at < f->end && is_key_byte(*f->at); f->at++) {
        if (length + 1 >= sizeof(f->key))
            return -1;
        f->key[length++] = *f->at;
    }
    f->key[length] = '\0';
    if (length == 0 || f->at == f->end || *f->at != '=')
        return -1;
    f->at++;
    return 0;
}

static int read_quoted(struct fields *f)
{
    size_t length = 0;

    for (f->at++; !is_over(f) && *f->at != '"'; f->at++) {
        if (*f->at == '\\') {
            f->at++;
            if (is_over(f) || (*f->at != '"' && *f->at != '\\'))
                return -1;
        }
        if (length + 1 >= sizeof(f->value))
            return -1;
        f->value[length++] = *f->at;
    }
    f->value[length] = '\0';
    if (is_over(f))
        return -1;
    f->at++;
    return is_over(f) || is_blank(*f->at) ? 0 : -1;
}

static int read_plain(struct fields *f)
{
    size_t length = 0;

    for (; !is_over(f) && !is_blank(*f->at); f->at++) {
        if (length + 1 >= sizeof(f->value) || *f->at == '"')
            return -1;
        f->value[length++] = *f->at;
    }
    f->value[length] = '\0';
    return 0;
}

int fields_next(struct fields *f)
{
    int rc;

    while (!is_over(f) && is_blank(*f->at))
        f->at++;
    if (is_over(f))
        return 0;
    if (read_key(f) < 0)
        return -1;
    rc = !is_over(f) && *f->at == '"' ? read_quoted(f) : read_plain(f);
    return rc < 0 ? -1 : 1;
}

/* One key of a line: where its value stands in a report, and what it may be. */
struct line_key {
    const char *key;
    size_t offset;
    struct value_rule rule;
    bool needed; /* a line without it is refused */
    bool shown;  /* it is written also when it is empty */
};

#define AT(member)  offsetof(struct probe_report, member)
#define LARGEST     1e18
#define MAX_SECONDS 1e12

static const struct line_key report_keys[] = {
    {"corgi", AT(version), {VALUE_INT, 0, 1e6, NULL}, true, true},
    {"kind", AT(kind), {VALUE_CHOICE, 0, 0, kind_names}, true, true},
    {"job", AT(job), {VALUE_U64, 0, 0, NULL}, true, true},
    {"attempt", AT(attempt), {VALUE_INT, 1, 1e9, NULL}, false, false},
    {"at", AT(at_s), {VALUE_DOUBLE, 0, MAX_SECONDS, NULL}, true, false},
    {"window", AT(window_s), {VALUE_DOUBLE, 0, MAX_SECONDS, NULL}, false, false},
    {"rate", AT(rate), {VALUE_DOUBLE, 0, LARGEST, NULL}, false, false},
    {"steps", AT(steps), {VALUE_DOUBLE, 0, LARGEST, NULL}, false, false},
    {"watts", AT(watts), {VALUE_DOUBLE, 0, 1e5, NULL}, false, false},
    {"latency",
     AT(service.latency_s),
     {VALUE_DOUBLE, 0, MAX_SECONDS, NULL},
     false,
     false},
    {"median", AT(service.median_s), {VALUE_DOUBLE, 0, MAX_SECONDS, NULL}, false, false},
    {"busy", AT(service.busy), {VALUE_DOUBLE, 0, 1, NULL}, false, false},
    {"held", AT(service.held), {VALUE_DOUBLE, 0, LARGEST, NULL}, false, false},
    {"source", AT(source), {VALUE_CHOICE, 0, 0, probe_source_names}, false, false},
    {"confidence", AT(confidence), {VALUE_DOUBLE, 0, 1, NULL}, false, false},
    {"exit", AT(exit_status), {VALUE_INT, 0, 255, NULL}, false, false},
    {"signal", AT(signal), {VALUE_INT, 0, 127, NULL}, false, false},
    {"oom", AT(oom), {VALUE_BOOL, 0, 1, NULL}, false, false},
    {"told", AT(told), {VALUE_INT, 0, 1, NULL}, false, false},
    {"text", AT(text), {VALUE_TEXT, 0, 0, NULL}, false, false},
    {"key", AT(key), {VALUE_TEXT, 0, 0, NULL}, false, false},
    {0},
};

static const struct line_key status_keys[] = {
    {"job", AT(job), {VALUE_U64, 0, 0, NULL}, true, true},
    {"attempt", AT(attempt), {VALUE_INT, 1, 1e9, NULL}, true, true},
    {"exit", AT(exit_status), {VALUE_INT, 0, 255, NULL}, true, true},
    {"signal", AT(signal), {VALUE_INT, 0, 127, NULL}, true, true},
    {"oom", AT(oom), {VALUE_BOOL, 0, 1, NULL}, true, true},
    {"told", AT(told), {VALUE_INT, 0, 1, NULL}, false, false},
    {"started", AT(started_s), {VALUE_DOUBLE, 0, MAX_SECONDS, NULL}, false, false},
    {"ended", AT(at_s), {VALUE_DOUBLE, 0, MAX_SECONDS, NULL}, true, false},
    {"steps", AT(steps), {VALUE_DOUBLE, 0, LARGEST, NULL}, false, false},
    {"rate", AT(rate), {VALUE_DOUBLE, 0, LARGEST, NULL}, false, false},
    {"text", AT(text), {VALUE_TEXT, 0, 0, NULL}, false, true},
    {"key", AT(key), {VALUE_TEXT, 0, 0, NULL}, false, false},
    {0},
};

/* What is not known is left out. */
static bool is_written(const struct line_key *k, const struct probe_report *report)
{
    const void *value = (const char *)report + k->offset;

    if (k->rule.type == VALUE_DOUBLE)
        return isfinite(*(const double *)value);
    if (k->shown)
        return true;
    switch (k->rule.type) {
    case VALUE_INT:
        return *(const int *)value >= 0;
    case VALUE_CHOICE:
        return *(const int *)value > 0;
    case VALUE_BOOL:
        return report->kind == PROBE_ENDED;
    default:
        return *(const char *)value != '\0';
    }
}

/* Quotes and backslashes are escaped, control bytes become blanks. */
static void add_quoted(struct str *line, const char *text)
{
    str_add(line, "\"");
    for (; *text; text++) {
        char c = *text;

        if ((unsigned char)c < 0x20 || c == 0x7f)
            c = ' ';
        if (c == '"' || c == '\\')
            str_add_bytes(line, "\\", 1);
        str_add_bytes(line, &c, 1);
    }
    str_add(line, "\"");
}

/* With the fewest digits that read back the same. */
static void add_number(struct str *line, double number)
{
    char digits[32];

    for (int precision = 6; precision <= 17; precision++) {
        snprintf(digits, sizeof(digits), "%.*g", precision, number);
        if (strtod(digits, NULL) == number)
            break;
    }
    str_add(line, digits);
}

static void add_value(struct str *line, const struct line_key *k, const void *value)
{
    switch (k->rule.type) {
    case VALUE_TEXT:
        add_quoted(line, value);
        break;
    case VALUE_U64:
        str_addf(line, "%llu", (unsigned long long)*(const uint64_t *)value);
        break;
    case VALUE_CHOICE:
        str_add(line, k->rule.choices[*(const int *)value]);
        break;
    case VALUE_BOOL:
        str_add(line, *(const bool *)value ? "1" : "0");
        break;
    case VALUE_INT:
        str_addf(line, "%d", *(const int *)value);
        break;
    default:
        add_number(line, *(const double *)value);
    }
}

static void write_line(const struct line_key *keys, const struct probe_report *report,
                       struct str *line)
{
    for (const struct line_key *k = keys; k->key; k++) {
        if (!is_written(k, report))
            continue;
        str_addf(line, "%s%s=", k == keys ? "" : " ", k->key);
        add_value(line, k, (const char *)report + k->offset);
    }
}

void probe_report_format(const struct probe_report *report, struct str *line)
{
    write_line(report_keys, report, line);
}

void probe_status_format(const struct probe_report *ended, struct str *line)
{
    write_line(status_keys, ended, line);
    str_add(line, "\n");
}

/* A flag is 0 or 1 on a line, and a text is copied. */
static bool take_value(const struct line_key *k, const char *text, void *target)
{
    const struct value_rule flag = {VALUE_INT, 0, 1, NULL};
    int number;

    if (k->rule.type == VALUE_TEXT) {
        str_copy(target, k->offset == AT(key) ? PROBE_KEY_SIZE : PROBE_REPORT_MAX_TEXT,
                 text);
        return true;
    }
    if (k->rule.type != VALUE_BOOL)
        return value_parse(&k->rule, text, target);
    if (!value_parse(&flag, text, &number))
        return false;
    *(bool *)target = number;
    return true;
}

static int read_line(const struct line_key *keys, const char *what, const char *line,
                     size_t length, struct probe_report *report, struct err *err)
{
    struct fields f = {.at = line, .end = line + length};
    unsigned seen = 0;
    int more;

    if (length > PROBE_REPORT_MAX_LINE)
        return err_set(err, ERR_LIMIT, "a %s has %zu bytes, more than the %d allowed",
                       what, length, PROBE_REPORT_MAX_LINE);
    while ((more = fields_next(&f)) > 0) {
        const struct line_key *k = keys;

        while (k->key && strcmp(k->key, f.key))
            k++;
        if (!k->key)
            continue;
        if (seen & 1u << (k - keys))
            return err_set(err, ERR_FORMAT, "a %s has %s twice", what, f.key);
        if (!take_value(k, f.value, (char *)report + k->offset))
            return err_set(err, ERR_FORMAT, "a %s has %s=%.40s, which cannot be", what,
                           f.key, f.value);
        seen |= 1u << (k - keys);
    }
    if (more < 0)
        return err_set(err, ERR_FORMAT, "a %s is not a line of key=value pairs", what);
    for (const struct line_key *k = keys; k->key; k++)
        if (k->needed && !(seen & 1u << (k - keys)))
            return err_set(err, ERR_FORMAT, "a %s lacks %s", what, k->key);
    return 0;
}

int probe_report_parse(struct probe_report *report, const char *line, size_t length,
                       struct err *err)
{
    struct probe_report r;

    probe_report_init(&r, PROBE_STARTED, 0);
    if (read_line(report_keys, "report", line, length, &r, err) < 0)
        return -1;
    if (r.version != 1)
        return err_set(err, ERR_UNSUPPORTED, "a report is of version %d, not 1",
                       r.version);
    *report = r;
    return 0;
}

int probe_status_parse(struct probe_report *ended, const char *line, size_t length,
                       struct err *err)
{
    struct probe_report r;

    probe_report_init(&r, PROBE_ENDED, 0);
    if (read_line(status_keys, "status", line, length, &r, err) < 0)
        return -1;
    *ended = r;
    return 0;
}
