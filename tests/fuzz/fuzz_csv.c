/* fuzz_csv.c - every field of every row can be looked at */
#include "fuzz/fuzz.h"

#include "fixture/text_file.h"
#include "lab/tables/csv.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct csv *csv = NULL;
    struct err err = {0};
    volatile size_t total = 0;
    double number;

    if (csv_load(&csv, text_file_of("fuzz", data, size), &err) < 0)
        return 0;
    while (csv_next(csv, &err) > 0) {
        for (int i = -1; i <= CSV_MAX_FIELDS; i++)
            total += strlen(csv_field(csv, i));
        csv_double(csv, 0, 0, 1, &number, &err);
    }
    csv_destroy(csv);
    return 0;
}
