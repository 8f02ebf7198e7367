/* fuzz_stored_extra.c - what the store has of a job beside its columns, as a damaged disk
 * may give it back: read, and written again as JSON */
#include "fuzz/fuzz.h"

#include "base/json.h"
#include "base/mem.h"
#include "service/job_records.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct record record = {0};
    char *text = mem_array(char, size + 1);
    struct str out = {0};
    struct json_doc *doc = NULL;

    memcpy(text, data, size);
    record_read_extra(&record, text);
    free(record_read_leaving(&record, text));
    record_extra_json(&record, "", &out);
    if (json_doc_parse(&doc, out.text, out.length, "again", NULL) < 0)
        abort();
    json_doc_destroy(doc);
    str_fini(&out);
    free(text);
    return 0;
}
