/* fuzz_report_spool.c - a spool somebody left: what is taken is numbered and bounded */
#include "fuzz/fuzz.h"

#include "fixture/text_file.h"
#include "probe/probe_report.h"
#include "probe/report_spool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = {0};
    struct report_spool *s = report_spool_open(text_file_of("x.spool", data, size), &err);
    const struct report_origin *o;

    if (!s) {
        if (!err.text[0])
            abort();
        return 0;
    }
    o = report_spool_origin(s);
    if ((o->job == 0 && !o->slurm_job) || !o->daemon || !o->token || !o->node ||
        o->rank < 0 || strlen(o->run) != REPORT_RUN_DIGITS ||
        report_spool_count(s) > REPORT_SPOOL_MOST)
        abort();
    for (size_t i = 0; i < report_spool_count(s); i++)
        if (strlen(report_spool_line(s, i)) > PROBE_REPORT_MAX_LINE)
            abort();
    report_spool_delivered(s, UINT64_MAX);
    if (report_spool_count(s) > 0)
        abort();
    report_spool_destroy(s);
    return 0;
}
