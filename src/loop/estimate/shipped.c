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
EMBED(shipped_alone, CORGI_WEIGHTS_DIR "/alone.bin");

static const struct {
    const char *name;
    const unsigned char *bytes, *end;
} shipped[] = {
    {"p1", shipped_p1, shipped_p1_end},
    {"p2", shipped_p2, shipped_p2_end},
    {"alone", shipped_alone, shipped_alone_end},
};

struct statnet *statnet_shipped(const char *name)
{
    struct statnet *net;
    struct err err = {0};
    struct rng rng;
    size_t at = 0;

    while (strcmp(shipped[at].name, name))
        at++;
    rng_init(&rng, 1);
    net = statnet_create(name, &rng);
    if (weights_decode(statnet_params(net), shipped[at].bytes,
                       (size_t)(shipped[at].end - shipped[at].bytes), NULL, &err) < 0) {
        /* Our own build put them there: a broken binary, not a broken input. */
        fprintf(stderr, "weights of %s: %s\n", name, err.text);
        abort();
    }
    statnet_repack(net);
    return net;
}
