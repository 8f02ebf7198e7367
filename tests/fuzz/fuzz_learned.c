/* fuzz_learned.c - any bytes as what a model has learned
 *
 * Bytes are tried as they are, and again with the size and the checksum put right, so
 * that what lies behind the checksum is reached too.  A model that was filled must still
 * answer; one that refused must answer as before. */
#include "fuzz/fuzz.h"
#include "model/learned.h"
#include "nn/weights.h"
#include "world/gpu_sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double ask(struct model *m)
{
    struct job job = {
        .id = 77, .devices = 1, .descriptor = {.family = "net", .batch = 8}};
    struct combination where = {.count = 1, .members = {{&job, 1}}};
    struct prediction out;

    m->ops->predict(m->self, NULL, &where, &out);
    m->ops->end(m->self, &job);
    return out.rate[0].value;
}

static void load(const void *bytes, size_t count)
{
    struct model m = learned_create(gpu_find("v100"), 1, &(struct learned_options){0});
    struct err err = {0};
    double before = ask(&m);

    if (learned_load(m.self, bytes, count, &err) < 0 &&
        (err.code == ERR_NONE || ask(&m) != before))
        abort();
    ask(&m);
    m.ops->destroy(m.self);
}

static void put(unsigned char *to, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        to[i] = (unsigned char)(value >> (8 * i));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    unsigned char *framed;

    load(bytes, count);
    if (count < 32)
        return 0;
    framed = malloc(count);
    if (!framed)
        abort();
    memcpy(framed, bytes, count);
    memcpy(framed, "CORGILRN", 8);
    put(framed + 8, 2); /* the version of today */
    put(framed + 16, count);
    put(framed + count - 8, weights_crc(framed, count - 8));
    load(framed, count);
    free(framed);
    return 0;
}
