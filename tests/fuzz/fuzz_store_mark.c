/* fuzz_store_mark.c - the file beside a store that says how far it had come */
#include "fuzz/fuzz.h"
#include "fuzz/fuzz_folder.h"

#include "store/store_mark.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct store_mark mark = {.fd = -1};
    struct mark_record found;
    struct err err = {0};
    char store[128];

    str_copy(store, sizeof(store), fuzz_file("corgi.db.mark", data, size));
    store[strlen(store) - strlen(".mark")] = '\0';
    if (mark_open(&mark, store, &found, &err) < 0) {
        if (!err.text[0])
            abort();
        return 0;
    }
    mark.now.commit++;
    mark_write(&mark, false);
    mark_close(&mark);
    if (mark_open(&mark, store, &found, &err) < 0)
        abort(); /* what it wrote itself it reads */
    mark_close(&mark);
    return 0;
}
