/* fuzz_submit_rules.c - jobs as users hand them in to Slurm: the first byte says whether
 * the rest is a script, a comment or the names of partitions */
#include "fuzz/fuzz.h"

#include "base/mem.h"
#include "job_submit_corgi/submit_rules.h"

#include <stdlib.h>
#include <string.h>

static void check(const struct submit_verdict *v)
{
    if ((v->fate == SUBMIT_TAKE) != (v->admin_comment != NULL))
        abort();
    if (v->admin_comment && strlen(v->admin_comment) > SUBMIT_MAX_COMMENT)
        abort();
    if (v->fate == SUBMIT_REFUSE && !v->message)
        abort();
    for (const char *at = v->message ? v->message : ""; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct submit_settings settings = {
        .partitions = "gpu,ml", .probe = "/usr/bin/corgi-probe", .hold = true};
    struct submitted_job job = {.partition = "gpu", .digest = "0123"};
    struct submit_verdict v;
    char *text;

    if (size == 0)
        return 0;
    text = mem_array(char, size);
    memcpy(text, data + 1, size - 1);
    if (data[0] % 3 == 0)
        job.script = text;
    else if (data[0] % 3 == 1)
        job.comment = text;
    else
        job.partition = text;
    v = submit_decide(&settings, &job);
    check(&v);
    submit_verdict_fini(&v);
    free(text);
    return 0;
}
