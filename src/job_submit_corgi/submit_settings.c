/* submit_settings.c - the lines of slurm-plugin.conf; plugin.c reads the file when
 * slurmctld loads the plugin and whenever it has changed, submit_rules.c follows what it
 * says */
#include "job_submit_corgi/submit_settings.h"

#include "base/str.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* A line without its comment and the blanks around it. */
static void trim(const char **at, const char **end)
{
    const char *comment = memchr(*at, '#', (size_t)(*end - *at));

    if (comment)
        *end = comment;
    while (*at < *end && isspace((unsigned char)**at))
        ++*at;
    while (*end > *at && isspace((unsigned char)(*end)[-1]))
        --*end;
}

/* Names of partitions, without blanks between. */
static int read_partitions(struct submit_settings *s, const char *value, struct err *err)
{
    size_t used = 0;

    for (; *value; value++) {
        if (*value == ' ' || *value == '\t')
            continue;
        if (!isprint((unsigned char)*value))
            return err_set(err, ERR_FORMAT,
                           "a name of Partitions has a character that is "
                           "not printed");
        s->partitions[used++] = *value;
    }
    s->partitions[used] = '\0';
    return 0;
}

static int read_switch(const char *key, const char *value, bool *on, struct err *err)
{
    *on = strcasecmp(value, "yes") == 0;
    if (*on || strcasecmp(value, "no") == 0)
        return 0;
    return err_set(err, ERR_FORMAT, "%s is yes or no, not '%.40s'", key, value);
}

static int read_probe(struct submit_settings *s, const char *value, struct err *err)
{
    if (*value != '/')
        return err_set(err, ERR_FORMAT,
                       "Probe is the whole path of corgi-probe, not '%.40s'", value);
    if (!str_copy(s->probe, sizeof(s->probe), value))
        return err_set(err, ERR_FORMAT, "Probe has more than %zu bytes",
                       sizeof(s->probe) - 1);
    return 0;
}

static int read_text(const char *key, const char *value, char *text, size_t size,
                     struct err *err)
{
    for (const char *at = value; *at; at++)
        if (!isgraph((unsigned char)*at))
            return err_set(err, ERR_FORMAT, "%s has a blank or what is not printed", key);
    return str_copy(text, size, value)
               ? 0
               : err_set(err, ERR_FORMAT, "%s has more than %zu bytes", key, size - 1);
}

static int read_report(struct submit_settings *s, const char *value, struct err *err)
{
    if (!str_starts(value, "https://") && !str_starts(value, "http://"))
        return err_set(err, ERR_FORMAT,
                       "Report is where corgid listens, as https://corgi:8421, not "
                       "'%.40s'",
                       value);
    return read_text("Report", value, s->report, sizeof(s->report), err);
}

static int read_pair(struct submit_settings *s, const char *key, const char *value,
                     struct err *err)
{
    if (strcasecmp(key, "Partitions") == 0)
        return read_partitions(s, value, err);
    if (strcasecmp(key, "Default") == 0)
        return read_switch("Default", value, &s->takes_default, err);
    if (strcasecmp(key, "Hold") == 0)
        return read_switch("Hold", value, &s->hold, err);
    if (strcasecmp(key, "Sharing") == 0)
        return read_switch("Sharing", value, &s->sharing, err);
    if (strcasecmp(key, "Probe") == 0)
        return read_probe(s, value, err);
    if (strcasecmp(key, "Report") == 0)
        return read_report(s, value, err);
    if (strcasecmp(key, "ReportCA") == 0)
        return read_text("ReportCA", value, s->report_ca, sizeof(s->report_ca), err);
    return err_set(err, ERR_FORMAT,
                   "there is no setting '%.40s'; there are Partitions, Default, Hold, "
                   "Sharing, Probe, Report and ReportCA",
                   key);
}

static int read_line(struct submit_settings *s, const char *at, const char *end,
                     struct err *err)
{
    char line[SUBMIT_MAX_PARTITIONS];
    char *equals, *value;

    trim(&at, &end);
    if (at == end)
        return 0;
    if ((size_t)(end - at) >= sizeof(line))
        return err_set(err, ERR_FORMAT, "it has more than %zu bytes", sizeof(line) - 1);
    if (memchr(at, '\0', (size_t)(end - at)))
        return err_set(err, ERR_FORMAT, "there is a NUL");
    memcpy(line, at, (size_t)(end - at));
    line[end - at] = '\0';
    equals = strchr(line, '=');
    if (!equals)
        return err_set(err, ERR_FORMAT, "'%.40s' is not KEY=VALUE", line);
    value = equals + 1 + strspn(equals + 1, " \t");
    while (equals > line && isspace((unsigned char)equals[-1]))
        equals--;
    *equals = '\0';
    return read_pair(s, line, value, err);
}

int submit_settings_parse(struct submit_settings *settings, const char *text,
                          size_t length, const char *name, struct err *err)
{
    struct submit_settings made = {.hold = true};
    const char *end = text + length;

    for (int number = 1; text < end; number++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline ? newline : end;

        if (read_line(&made, text, stop, err) < 0)
            return err_prefix(err, "%s line %d", name, number);
        text = stop + 1;
    }
    *settings = made;
    return 0;
}
