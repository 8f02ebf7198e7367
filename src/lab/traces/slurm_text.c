/* slurm_text.c - lines and times, for slurm_jobs.c and slurm_nodes.c */
#include "lab/traces/slurm_text.h"

#include "base/file.h"
#include "base/parse.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_SECONDS 4102444800.0 /* the year 2100 */

static int check_text(const char *text, size_t length, const char *name, struct err *err)
{
    if (!memchr(text, '\0', length))
        return 0;
    return err_set(err, ERR_FORMAT, "%s holds a NUL byte: it is no text", name);
}

int slurm_text_load(char **text, const char *path, struct err *err)
{
    size_t length;
    char *bytes;

    if (file_read(path, SLURM_MAX_BYTES, &bytes, &length, err) < 0)
        return -1;
    if (check_text(bytes, length, path, err) < 0) {
        free(bytes);
        return -1;
    }
    *text = bytes;
    return 0;
}

void slurm_lines_init(struct slurm_lines *lines, char *text, const char *name)
{
    *lines = (struct slurm_lines){.name = name, .rest = text};
}

char *slurm_cut(char **rest, char separator)
{
    char *first = *rest, *end;

    if (!first)
        return NULL;
    end = strchr(first, separator);
    *rest = end ? end + 1 : NULL;
    if (end)
        *end = '\0';
    return first;
}

int slurm_lines_next(struct slurm_lines *lines, char **line, struct err *err)
{
    char *found;

    while ((found = slurm_cut(&lines->rest, '\n'))) {
        size_t length = strlen(found);

        lines->number++;
        if (length > SLURM_MAX_LINE) {
            err_set(err, ERR_LIMIT, "longer than %zu bytes", SLURM_MAX_LINE);
            return slurm_lines_refuse(lines, err);
        }
        while (length > 0 && isspace((unsigned char)found[length - 1]))
            found[--length] = '\0';
        if (length == 0)
            continue;
        *line = found;
        return 1;
    }
    return 0;
}

int slurm_lines_refuse(const struct slurm_lines *lines, struct err *err)
{
    return err_prefix(err, "%s:%zu", lines->name, lines->number);
}

bool slurm_time(const char *text, double *seconds)
{
    static const char between[] = {'-', '-', 'T', ':', ':', '\0'};
    static const int low[] = {1970, 1, 1, 0, 0, 0}, high[] = {2099, 12, 31, 23, 59, 60};
    int part[6];
    double epoch;

    if (parse_double(text, &epoch) && epoch >= 0 && epoch <= MAX_SECONDS) {
        *seconds = epoch;
        return true;
    }
    for (int i = 0; i < 6; i++) {
        if (!parse_digits(&text, i == 0 ? 4 : 2, &part[i]) || part[i] < low[i] ||
            part[i] > high[i] || *text != between[i])
            return false;
        text++;
    }
    *seconds = (double)timegm(&(struct tm){.tm_year = part[0] - 1900,
                                           .tm_mon = part[1] - 1,
                                           .tm_mday = part[2],
                                           .tm_hour = part[3],
                                           .tm_min = part[4],
                                           .tm_sec = part[5]});
    return true;
}

/* A number of up to nine digits. */
static bool read_number(const char **text, double *value)
{
    int digits = 0;

    *value = 0;
    for (; isdigit((unsigned char)**text) && digits < 9; digits++, (*text)++)
        *value = 10 * *value + (**text - '0');
    return digits > 0;
}

bool slurm_elapsed(const char *text, double *seconds)
{
    double days = 0, sum, part;
    int parts = 1;

    if (!read_number(&text, &sum))
        return false;
    if (*text == '-') {
        days = sum;
        text++;
        if (!read_number(&text, &sum))
            return false;
    }
    for (; *text == ':' && parts < 3; parts++) {
        text++;
        if (!read_number(&text, &part) || part > 59)
            return false;
        sum = 60 * sum + part;
    }
    /* Behind days all three parts are there; parts of a second do not matter. */
    if (parts < 2 || (days > 0 && parts < 3))
        return false;
    if (*text == '.')
        text += 1 + strspn(text + 1, "0123456789");
    if (*text)
        return false;
    *seconds = 86400 * days + sum;
    return true;
}
