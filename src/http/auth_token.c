/* auth_token.c - making and reading bearer tokens, see auth.h; OpenSSL does the hashing
 */
#include "http/auth.h"

#include "base/str.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <string.h>

#define ID_DIGITS     16
#define SECRET_DIGITS 43 /* 256 bits in base 64, without padding */

static const char prefix[] = "corgi-";

static bool digest_of(const char *text, unsigned char digest[AUTH_DIGEST_BYTES])
{
    unsigned length = AUTH_DIGEST_BYTES;

    return EVP_Digest(text, strlen(text), digest, &length, EVP_sha256(), NULL) == 1;
}

int auth_token_make(struct auth_token *token, struct err *err)
{
    unsigned char random[8 + 32], coded[48];
    struct auth_token made = {0};
    size_t used = strlen(prefix);

    if (RAND_bytes(random, sizeof(random)) != 1)
        return err_set(err, ERR_SYSTEM, "the system has no random bytes to give");
    for (int i = 0; i < 8; i++)
        snprintf(made.id + 2L * i, 3, "%02x", random[i]);
    EVP_EncodeBlock(coded, random + 8, 32);
    for (int i = 0; i < SECRET_DIGITS; i++) {
        if (coded[i] == '+')
            coded[i] = '-';
        else if (coded[i] == '/')
            coded[i] = '_';
    }
    memcpy(made.text, prefix, used);
    memcpy(made.text + used, made.id, ID_DIGITS);
    made.text[used + ID_DIGITS] = '-';
    memcpy(made.text + used + ID_DIGITS + 1, coded, SECRET_DIGITS);
    OPENSSL_cleanse(random, sizeof(random));
    OPENSSL_cleanse(coded, sizeof(coded));
    if (!digest_of(made.text, made.digest))
        return err_set(err, ERR_SYSTEM, "OpenSSL cannot compute SHA-256");
    *token = made;
    return 0;
}

bool auth_token_read(const char *text, struct auth_token *token)
{
    static const char digits[] = "0123456789abcdef";
    static const char secret[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const char *id = text + strlen(prefix);
    struct auth_token read = {0};

    if (!str_starts(text, prefix) || strspn(id, digits) != ID_DIGITS ||
        id[ID_DIGITS] != '-' || strlen(id + ID_DIGITS + 1) != SECRET_DIGITS ||
        strspn(id + ID_DIGITS + 1, secret) != SECRET_DIGITS)
        return false;
    str_copy(read.text, sizeof(read.text), text);
    memcpy(read.id, id, ID_DIGITS);
    if (!digest_of(text, read.digest))
        return false;
    *token = read;
    return true;
}

bool auth_digest_equal(const unsigned char *a, const unsigned char *b)
{
    return CRYPTO_memcmp(a, b, AUTH_DIGEST_BYTES) == 0;
}
