/* fuzz_token.c - the value of an Authorization header: nobody's unless it is one of the
 * two tokens that were made
 *
 * The seeds hold both, so that what follows a valid token is reached too. */
#include "fuzz/fuzz.h"

#include "base/mem.h"
#include "http/auth.h"

#include <stdlib.h>
#include <string.h>

#define NOW_S     1000.0
#define JOB       7
#define EXPIRES_S 1999999999.0

static const char user_token[] =
    "corgi-0123456789abcdef-ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopq";

static bool find_one(void *ctx, const char *id, struct auth_token_record *record)
{
    struct auth_token known;

    (void)ctx;
    if (!*id || !auth_token_read(user_token, &known))
        abort(); /* never asked for nothing */
    if (strcmp(id, known.id) != 0)
        return false;
    memcpy(record->digest, known.digest, sizeof(record->digest));
    record->identity = (struct auth_identity){.role = AUTH_USER, .name = "ada"};
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned char key[AUTH_KEY_BYTES] = "of nobody";
    struct auth_rules rules = {.find_token = find_one, .job_key = key};
    struct auth_identity identity = {0};
    struct auth_token token;
    char *text = mem_array(char, size + 1);
    char job_token[AUTH_JOB_TOKEN_SIZE];

    memcpy(text, data, size);
    auth_token_read(text, &token);
    if (auth_job_token_make(key, JOB, EXPIRES_S, job_token, NULL) < 0)
        abort();
    if (auth_bearer(&rules, text, NOW_S, &identity)) {
        /* "Bearer", in any case, blanks, and the token to its last character */
        const char *shown = strrchr(text, ' ');
        const char *expected = identity.job ? job_token : user_token;

        if (!shown || strcmp(shown + 1, expected) != 0)
            abort();
        if (identity.job ? identity.job != JOB || identity.role != AUTH_REPORTER
                         : identity.role != AUTH_USER)
            abort();
    }
    free(text);
    return 0;
}
