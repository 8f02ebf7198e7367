/* fuzz_token.c - the value of an Authorization header: nobody's unless it is a token */
#include "fuzz/fuzz.h"

#include "base/mem.h"
#include "http/auth.h"

#include <stdlib.h>
#include <string.h>

static bool no_token(void *ctx, const char *id, struct auth_token_record *record)
{
    (void)ctx;
    (void)record;
    if (!*id)
        abort(); /* never asked for nothing */
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned char key[AUTH_KEY_BYTES] = "of nobody";
    struct auth_rules rules = {.find_token = no_token, .job_key = key};
    struct auth_identity identity = {0};
    struct auth_token token;
    char *text = mem_array(char, size + 1);

    memcpy(text, data, size);
    auth_token_read(text, &token);
    if (auth_bearer(&rules, text, 1000, &identity))
        abort(); /* there are no tokens */
    free(text);
    return 0;
}
