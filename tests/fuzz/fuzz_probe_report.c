/* fuzz_probe_report.c - a line that can be read, written again, reads the same */
#include "fuzz/fuzz.h"

#include "probe/probe_report.h"

#include <stdlib.h>
#include <string.h>

static void check_report(const char *text, size_t size)
{
    struct probe_report first, second;
    struct str line = {0}, again = {0};

    if (probe_report_parse(&first, text, size, NULL) < 0)
        return;
    probe_report_format(&first, &line);
    if (probe_report_parse(&second, line.text, line.length, NULL) < 0)
        abort();
    probe_report_format(&second, &again);
    if (strcmp(line.text, again.text) != 0)
        abort();
    str_fini(&line);
    str_fini(&again);
}

static void check_status(const char *text, size_t size)
{
    struct probe_report first, second;
    struct str line = {0};

    if (probe_status_parse(&first, text, size, NULL) < 0)
        return;
    probe_status_format(&first, &line);
    if (probe_status_parse(&second, line.text, line.length, NULL) < 0 ||
        second.job != first.job || second.exit_status != first.exit_status)
        abort();
    str_fini(&line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_report((const char *)data, size);
    check_status((const char *)data, size);
    return 0;
}
