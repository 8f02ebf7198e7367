/* probe_report.c - report lines and the status file, written and read
 *
 * corgi-probe writes them (run_job.c the status, sender.c the reports); the local engine
 * reads the lines that come to its socket and the files of jobs that have ended. */
#include "probe/probe_report.h"

#include "base/parse.h"
#include "probe/fields.h"

#include <math.h>
#include <string.h>

static const char *const kind_names[PROBE_KIND_COUNT] = {"started", "rate", "demand",
                                                         "ended"};
static const char *const source_names[PROBE_SOURCE_COUNT] = {
    "none", "heartbeat", "prometheus", "log", "progress", "activity"};

const char *probe_report_kind_name(enum probe_report_kind kind)
{
    return (size_t)kind < PROBE_KIND_COUNT ? kind_names[kind] : "unknown";
}

const char *probe_source_name(enum probe_source source)
{
    return (size_t)source < PROBE_SOURCE_COUNT ? source_names[source] : "unknown";
}

void probe_report_init(struct probe_report *report, enum probe_report_kind kind,
                       uint64_t job)
{
    *report = (struct probe_report){.kind = kind,
                                    .job = job,
                                    .attempt = 1,
                                    .at_s = NAN,
                                    .window_s = NAN,
                                    .rate = NAN,
                                    .steps = NAN,
                                    .confidence = NAN,
                                    .exit_status = -1,
                                    .signal = -1};
}

void probe_status_init(struct probe_status *status, uint64_t job)
{
    *status = (struct probe_status){.job = job,
                                    .attempt = 1,
                                    .started_s = NAN,
                                    .ended_s = NAN,
                                    .steps = NAN,
                                    .rate = NAN};
}

void probe_report_format(const struct probe_report *report, struct str *line)
{
    str_addf(line, "corgi=1 kind=%s job=%llu attempt=%d",
             probe_report_kind_name(report->kind), (unsigned long long)report->job,
             report->attempt);
    fields_add_number(line, "at", report->at_s);
    fields_add_number(line, "window", report->window_s);
    fields_add_number(line, "rate", report->rate);
    fields_add_number(line, "steps", report->steps);
    if (report->source != PROBE_NO_SOURCE)
        str_addf(line, " source=%s", probe_source_name(report->source));
    fields_add_number(line, "confidence", report->confidence);
    if (report->exit_status >= 0)
        str_addf(line, " exit=%d", report->exit_status);
    if (report->signal >= 0)
        str_addf(line, " signal=%d", report->signal);
    if (report->kind == PROBE_ENDED)
        str_addf(line, " oom=%d", report->oom);
    if (report->text[0])
        fields_add_text(line, "text", report->text, PROBE_REPORT_MAX_TEXT - 1);
}

void probe_status_format(const struct probe_status *status, struct str *line)
{
    str_addf(line, "job=%llu attempt=%d exit=%d signal=%d oom=%d",
             (unsigned long long)status->job, status->attempt, status->exit_status,
             status->signal, status->oom);
    fields_add_number(line, "started", status->started_s);
    fields_add_number(line, "ended", status->ended_s);
    fields_add_number(line, "steps", status->steps);
    fields_add_number(line, "rate", status->rate);
    fields_add_text(line, "text", status->text, PROBE_REPORT_MAX_TEXT - 1);
    str_add(line, "\n");
}

/* One pair may go to one of these; the readers below are tables of them. */
enum slot_type { SLOT_COUNT_U64, SLOT_INT, SLOT_FLAG, SLOT_NUMBER, SLOT_NAME, SLOT_TEXT };

struct report_key {
    const char *key;
    enum slot_type type;
    void *target;
    double min, max;
    const char *const *names; /* of a SLOT_NAME; max is how many */
    bool needed, seen;
};

static bool fill_number(const struct report_key *slot, const char *value)
{
    double number;

    if (!parse_double(value, &number) || number < slot->min || number > slot->max)
        return false;
    *(double *)slot->target = number;
    return true;
}

static bool fill_int(const struct report_key *slot, const char *value)
{
    int number;

    if (!parse_int(value, &number) || number < slot->min || number > slot->max)
        return false;
    if (slot->type == SLOT_FLAG)
        *(bool *)slot->target = number == 1;
    else
        *(int *)slot->target = number;
    return true;
}

static bool fill_name(const struct report_key *slot, const char *value)
{
    for (int i = 0; i < (int)slot->max; i++) {
        if (!strcmp(slot->names[i], value)) {
            *(int *)slot->target = i;
            return true;
        }
    }
    return false;
}

static bool fill(const struct report_key *slot, const char *value)
{
    switch (slot->type) {
    case SLOT_COUNT_U64:
        return parse_u64(value, slot->target);
    case SLOT_NUMBER:
        return fill_number(slot, value);
    case SLOT_NAME:
        return fill_name(slot, value);
    case SLOT_TEXT:
        str_copy(slot->target, PROBE_REPORT_MAX_TEXT, value);
        return true;
    case SLOT_INT:
    case SLOT_FLAG:
        return fill_int(slot, value);
    }
    return false;
}

static int take_pair(struct report_key *slots, const struct fields *f, const char *what,
                     struct err *err)
{
    for (struct report_key *slot = slots; slot->key; slot++) {
        if (strcmp(slot->key, f->key))
            continue;
        if (slot->seen)
            return err_set(err, ERR_FORMAT, "a %s has %s twice", what, f->key);
        if (!fill(slot, f->value))
            return err_set(err, ERR_FORMAT, "a %s has %s=%.40s, which cannot be", what,
                           f->key, f->value);
        slot->seen = true;
    }
    return 0;
}

static int read_line(struct report_key *slots, const char *line, size_t length,
                     const char *what, struct err *err)
{
    struct fields f = {.at = line, .end = line + length};
    int more;

    if (length > PROBE_REPORT_MAX_LINE)
        return err_set(err, ERR_LIMIT, "a %s has %zu bytes, more than the %d allowed",
                       what, length, PROBE_REPORT_MAX_LINE);
    while ((more = fields_next(&f)) > 0)
        if (take_pair(slots, &f, what, err) < 0)
            return -1;
    if (more < 0)
        return err_set(err, ERR_FORMAT, "a %s is not a line of key=value pairs", what);
    for (const struct report_key *slot = slots; slot->key; slot++)
        if (slot->needed && !slot->seen)
            return err_set(err, ERR_FORMAT, "a %s lacks %s", what, slot->key);
    return 0;
}

#define LARGEST     1e18
#define MAX_SECONDS 1e12

int probe_report_parse(struct probe_report *report, const char *line, size_t length,
                       struct err *err)
{
    struct probe_report r;
    int version = 0, kind = 0, source = 0;
    struct report_key slots[] = {
        {"corgi", SLOT_INT, &version, 0, 1e6, NULL, true, false},
        {"kind", SLOT_NAME, &kind, 0, PROBE_KIND_COUNT, kind_names, true, false},
        {"job", SLOT_COUNT_U64, &r.job, 0, 0, NULL, true, false},
        {"attempt", SLOT_INT, &r.attempt, 1, 1e9, NULL, false, false},
        {"at", SLOT_NUMBER, &r.at_s, 0, MAX_SECONDS, NULL, true, false},
        {"window", SLOT_NUMBER, &r.window_s, 0, MAX_SECONDS, NULL, false, false},
        {"rate", SLOT_NUMBER, &r.rate, 0, LARGEST, NULL, false, false},
        {"steps", SLOT_NUMBER, &r.steps, 0, LARGEST, NULL, false, false},
        {"source", SLOT_NAME, &source, 0, PROBE_SOURCE_COUNT, source_names, false, false},
        {"confidence", SLOT_NUMBER, &r.confidence, 0, 1, NULL, false, false},
        {"exit", SLOT_INT, &r.exit_status, 0, 255, NULL, false, false},
        {"signal", SLOT_INT, &r.signal, 0, 127, NULL, false, false},
        {"oom", SLOT_FLAG, &r.oom, 0, 1, NULL, false, false},
        {"text", SLOT_TEXT, r.text, 0, 0, NULL, false, false},
        {0},
    };

    probe_report_init(&r, PROBE_STARTED, 0);
    if (read_line(slots, line, length, "report", err) < 0)
        return -1;
    if (version != 1)
        return err_set(err, ERR_UNSUPPORTED, "a report is of version %d, not 1", version);
    r.kind = (enum probe_report_kind)kind;
    r.source = (enum probe_source)source;
    *report = r;
    return 0;
}

int probe_status_parse(struct probe_status *status, const char *line, size_t length,
                       struct err *err)
{
    struct probe_status s;
    struct report_key slots[] = {
        {"job", SLOT_COUNT_U64, &s.job, 0, 0, NULL, true, false},
        {"attempt", SLOT_INT, &s.attempt, 1, 1e9, NULL, true, false},
        {"exit", SLOT_INT, &s.exit_status, 0, 255, NULL, true, false},
        {"signal", SLOT_INT, &s.signal, 0, 127, NULL, true, false},
        {"oom", SLOT_FLAG, &s.oom, 0, 1, NULL, true, false},
        {"started", SLOT_NUMBER, &s.started_s, 0, MAX_SECONDS, NULL, false, false},
        {"ended", SLOT_NUMBER, &s.ended_s, 0, MAX_SECONDS, NULL, true, false},
        {"steps", SLOT_NUMBER, &s.steps, 0, LARGEST, NULL, false, false},
        {"rate", SLOT_NUMBER, &s.rate, 0, LARGEST, NULL, false, false},
        {"text", SLOT_TEXT, s.text, 0, 0, NULL, false, false},
        {0},
    };

    probe_status_init(&s, 0);
    if (read_line(slots, line, length, "status", err) < 0)
        return -1;
    *status = s;
    return 0;
}
