/* shipped.c - the weights inside the binary, see statnet_shipped() in statnet.h
 *
 * The files are made by `corgi train` from the synthetic world alone. */
#include "loop/core/statnet.h"

#include "loop/estimate/embed.h"
#include "nn/weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

EMBED(shipped_p1, CORGI_WEIGHTS_DIR "/p1.bin");
EMBED(shipped_p2, CORGI_WEIGHTS_DIR "/p2.bin");

struct statnet *statnet_shipped(const char *name)
{
    bool second = !strcmp(name, "p2");
    const unsigned char *bytes = second ? shipped_p2 : shipped_p1;
    size_t size = (size_t)((second ? shipped_p2_end : shipped_p1_end) - bytes);
    struct statnet *net;
    struct err err = {0};
    struct rng rng;

    rng_init(&rng, 1);
    net = statnet_create(name, &rng);
    if (weights_decode(statnet_params(net), bytes, size, NULL, &err) < 0) {
        /* Our own build put them there: a broken binary, not a broken input. */
        fprintf(stderr, "weights of %s: %s\n", name, err.text);
        abort();
    }
    statnet_repack(net);
    return net;
}
