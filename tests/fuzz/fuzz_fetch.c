/* fuzz_fetch.c - an HTTP answer of a job's own server, whole and as far as it has come */
#include "fuzz/fuzz.h"

#include "probe/fetch.h"

#include <stdlib.h>
#include <string.h>

static enum fetch_state read_answer(const uint8_t *data, size_t size, bool ended)
{
    struct str answer = {0}, body = {0};
    enum fetch_state state;

    str_add_bytes(&answer, (const char *)data, size);
    state = fetch_read_answer(&answer, ended, &body);
    if (body.length > size)
        abort(); /* more than was sent */
    str_fini(&answer);
    str_fini(&body);
    return state;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char url[FETCH_MAX_URL + 8] = "";
    struct fetch fetch;
    struct err err = {0};

    if (read_answer(data, size, true) == FETCH_RUNNING)
        abort(); /* nothing more will come */
    read_answer(data, size, false);
    for (size_t i = 0; i < size && i < 64; i++)
        read_answer(data, i, false);
    memcpy(url, data, size < sizeof(url) - 1 ? size : sizeof(url) - 1);
    if (fetch_init(&fetch, url, &err) == 0)
        fetch_fini(&fetch);
    else if (!err.text[0])
        abort();
    return 0;
}
