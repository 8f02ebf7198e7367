/* fuzz_weights.c - any bytes as a weights file
 *
 * Bytes are tried as they are, and again as the body of a file whose header and checksum
 * are right, so that what lies behind the checksum is reached too. */
#include "nn/mlp.h"
#include "nn/weights.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void put(unsigned char *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (unsigned char)(value >> (8 * i));
}

static void decode(struct params *params, const void *bytes, size_t count)
{
    struct params *before = params_dup(params);
    struct err err = {0};

    if (weights_decode(params, bytes, count, &err) < 0 &&
        (err.code == ERR_NONE ||
         memcmp(before->value, params->value, params->count * sizeof(nn_real)) != 0))
        abort();
    params_destroy(before);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct params *params = params_create();
    unsigned char *framed = malloc(count + 24);
    struct mlp net;
    struct rng rng;

    if (!framed)
        abort();
    rng_init(&rng, 1);
    mlp_init(&net, params, "p", (const int[]){2, 2, 1}, 3, &rng);
    decode(params, bytes, count);
    memcpy(framed, "CORGIWTS", 8);
    put(framed + 8, WEIGHTS_VERSION, 4);
    put(framed + 12, count + 24, 8);
    if (count > 0)
        memcpy(framed + 20, bytes, count);
    put(framed + 20 + count, weights_crc(framed, 20 + count), 4);
    decode(params, framed, count + 24);
    free(framed);
    params_destroy(params);
    return 0;
}
