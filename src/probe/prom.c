/* prom.c - sums out of a Prometheus page, see prom.h
 *
 * scrape.c feeds the body of an answer piece by piece and reads the sums at its end. */
#include "probe/prom.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void prom_init(struct prom *prom, const char *const *names, int count)
{
    assert(count <= PROM_MAX_NAMES);
    memcpy(prom->names, names, (size_t)count * sizeof(names[0]));
    prom->count = count;
    prom_begin(prom);
}

void prom_begin(struct prom *prom)
{
    for (int i = 0; i < prom->count; i++)
        prom->sums[i] = NAN;
    prom->length = 0;
    prom->cut = false;
}

static bool is_name_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == ':';
}

/* Behind the label set that begins at p; quotes may hold braces.  NULL: it has no end. */
static const char *skip_labels(const char *p, const char *end)
{
    bool quoted = false;

    for (p++; p < end; p++) {
        if (quoted && *p == '\\')
            p++;
        else if (*p == '"')
            quoted = !quoted;
        else if (*p == '}' && !quoted)
            return p + 1;
    }
    return NULL;
}

static bool read_value(const char *p, const char *end, double *value)
{
    char text[64], *rest;
    size_t length = 0;

    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    while (p < end && !isspace((unsigned char)*p) && length + 1 < sizeof(text))
        text[length++] = *p++;
    text[length] = '\0';
    *value = strtod(text, &rest);
    return length > 0 && !*rest && isfinite(*value);
}

bool prom_sample(const char *line, size_t length, size_t *name_length, double *value)
{
    const char *p = line, *end = line + length;

    while (p < end && is_name_byte(*p))
        p++;
    *name_length = (size_t)(p - line);
    if (p == line || p == end)
        return false;
    if (*p == '{')
        p = skip_labels(p, end);
    else if (*p != ' ' && *p != '\t')
        return false;
    return p && read_value(p, end, value);
}

static bool is_named(const char *wanted, const char *name, size_t length)
{
    size_t plain = strlen(wanted);

    if (length < plain || memcmp(wanted, name, plain) != 0)
        return false;
    return length == plain || (length == plain + 6 && !memcmp(name + plain, "_total", 6));
}

static void take_line(struct prom *prom)
{
    size_t name_length;
    double value;

    if (prom->cut || prom->length == 0 || prom->line[0] == '#' ||
        !prom_sample(prom->line, prom->length, &name_length, &value))
        return;
    for (int i = 0; i < prom->count; i++)
        if (is_named(prom->names[i], prom->line, name_length))
            prom->sums[i] = isnan(prom->sums[i]) ? value : prom->sums[i] + value;
}

void prom_feed(struct prom *prom, const char *bytes, size_t count)
{
    while (count > 0) {
        const char *newline = memchr(bytes, '\n', count);
        size_t piece = newline ? (size_t)(newline - bytes) : count;

        if (piece > PROM_MAX_LINE - prom->length)
            prom->cut = true;
        if (!prom->cut) {
            memcpy(prom->line + prom->length, bytes, piece);
            prom->length += piece;
        }
        if (!newline)
            return;
        prom_end(prom);
        bytes += piece + 1;
        count -= piece + 1;
    }
}

void prom_end(struct prom *prom)
{
    take_line(prom);
    prom->length = 0;
    prom->cut = false;
}
