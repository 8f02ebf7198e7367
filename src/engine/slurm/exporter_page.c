/* exporter_page.c - exporter_scrape.c reads what it fetched with it */
#include "engine/slurm/exporter_page.h"

#include "base/str.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 4096
#define WATTS_MAX      1e5
#define JOULES_MAX     1e15

void exporter_page_init(struct exporter_page *page)
{
    for (int i = 0; i < EXPORTER_MOST_GPUS; i++)
        page->gpu_watts[i] = page->gpu_joules[i] = NAN;
    page->host_joules = NAN;
}

/* The value behind the labels, within 0 and the most there can be; NaN: it is none. */
static double value_of(const char *line, double most)
{
    const char *at = strrchr(line, '}'), *space;
    char *end;
    double value;

    space = strchr(at ? at : line, ' ');
    if (!space)
        return NAN;
    value = strtod(space + 1, &end);
    if (end == space + 1 || (*end && *end != ' ' && *end != '\r')) /* a time may follow */
        return NAN;
    return value >= 0 && value <= most ? value : NAN;
}

/* gpu="3" as a number; -1: the line does not tell. */
static int gpu_of(const char *line)
{
    const char *at = strstr(line, "{gpu=\"");
    char *end;
    long gpu;

    if (!at)
        at = strstr(line, ",gpu=\"");
    if (!at)
        return -1;
    gpu = strtol(at + 6, &end, 10);
    return end != at + 6 && *end == '"' && gpu >= 0 && gpu < EXPORTER_MOST_GPUS ? (int)gpu
                                                                                : -1;
}

static bool is_named(const char *line, const char *name)
{
    size_t length = strlen(name);

    return strncmp(line, name, length) == 0 &&
           (line[length] == '{' || line[length] == ' ');
}

static void read_line(struct exporter_page *page, const char *line)
{
    int gpu = gpu_of(line);
    double value;

    if (is_named(line, "DCGM_FI_DEV_POWER_USAGE") && gpu >= 0) {
        value = value_of(line, WATTS_MAX);
        if (!isnan(value))
            page->gpu_watts[gpu] = value;
    } else if (is_named(line, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION") && gpu >= 0) {
        value = value_of(line, 1e3 * JOULES_MAX) / 1e3;
        if (!isnan(value))
            page->gpu_joules[gpu] = value;
    } else if (is_named(line, "node_rapl_package_joules_total") ||
               is_named(line, "node_rapl_dram_joules_total")) {
        value = value_of(line, JOULES_MAX);
        if (!isnan(value))
            page->host_joules =
                value + (isnan(page->host_joules) ? 0 : page->host_joules);
    }
}

void exporter_page_read(struct exporter_page *page, const char *text, size_t length)
{
    const char *end = text + length;
    char line[LINE_MAX_BYTES];

    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t bytes = (size_t)((newline ? newline : end) - text);

        if (bytes < sizeof(line) && text[0] != '#') {
            memcpy(line, text, bytes);
            line[bytes] = '\0';
            read_line(page, line);
        }
        text += bytes + 1;
    }
}
