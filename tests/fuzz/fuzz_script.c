/* fuzz_script.c - the #CORGI lines of a script */
#include "fuzz/fuzz.h"

#include "base/directives.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct directives d = {0};
    struct err err = {0};

    if (directives_parse(&d, "#CORGI", (const char *)data, size, "fuzz", &err) < 0) {
        if (!strstr(err.text, "fuzz line "))
            abort();
        return 0;
    }
    for (size_t i = 0; i < d.count; i++) {
        if (d.items[i].word_count < 1 || d.items[i].words[d.items[i].word_count])
            abort();
        for (int k = 0; k < d.items[i].word_count; k++)
            if (strchr(d.items[i].words[k], '\n'))
                abort();
    }
    directives_fini(&d);
    return 0;
}
