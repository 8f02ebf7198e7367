/* fuzz_learned.c - damaged bytes as what a model has learned
 *
 * A small model of today is saved, so that the target follows the format; the input says
 * where its bytes are changed, cut or moved, and size and checksum are put right, so that
 * what lies behind them is reached.  The input is tried as it is, too.  A model that was
 * filled must still answer; one that refused must answer as before. */
#include "fuzz/fuzz.h"

#include "base/mem.h"
#include "model/learned.h"
#include "nn/weights.h"
#include "world/gpu_sheet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD 24 /* magic, version, size */

static unsigned char *saved;
static size_t saved_count;

static struct model make(void)
{
    return learned_create(gpu_find("v100"), 1, &(struct learned_options){.seed = 1});
}

static struct job job_of(int n)
{
    struct job job = {.id = 70 + (uint64_t)n, .devices = 1, .descriptor = {.batch = 8}};

    snprintf(job.descriptor.family, sizeof(job.descriptor.family), "net%d", n % 2);
    job.descriptor.batch = 8 << n;
    return job;
}

static void save(void)
{
    struct model m = make();
    struct job jobs[3] = {job_of(0), job_of(1), job_of(2)};

    for (int i = 0; i < 9; i++) {
        struct observation seen = {
            .where = {.count = i < 6 ? 1 : 2,
                      .members = {{&jobs[i % 3], 1}, {&jobs[(i + 1) % 3], 1}}},
            .rate = 5 + i,
            .rate_sd_log = 0.03,
            .device_watts = 150,
            .at_s = 60 + i};

        m.ops->absorb(m.self, &seen);
    }
    learned_save(m.self, &saved, &saved_count);
    m.ops->destroy(m.self);
}

static double ask(struct model *m)
{
    struct job job = job_of(0);
    struct combination where = {.count = 1, .members = {{&job, 1}}};
    struct prediction out;

    job.id = 99;
    m->ops->predict(m->self, NULL, &where, &out);
    m->ops->end(m->self, &job);
    return out.rate[0].value;
}

static bool load(const void *bytes, size_t count)
{
    struct model m = make();
    struct err err = {0};
    double before = ask(&m);
    bool taken = learned_load(m.self, bytes, count, &err) == 0;

    if (!taken && (err.code == ERR_NONE || ask(&m) != before))
        abort();
    ask(&m);
    m.ops->destroy(m.self);
    return taken;
}

static void put(unsigned char *to, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        to[i] = (unsigned char)(value >> (8 * i));
}

/* Two bytes where, one what: a byte, a double of eight, or an end. */
static size_t change(unsigned char *bytes, size_t count, const uint8_t *data, size_t size)
{
    for (; size >= 4; data += 4, size -= 4) {
        size_t at = HEAD + (data[0] + 256u * data[1]) % (count - HEAD - 8);

        if (data[2] < 200) {
            bytes[at] = (unsigned char)(data[3] + data[2]);
        } else if (data[2] < 250 && size >= 12 && at + 8 <= count) {
            memcpy(bytes + at, data + 4, 8);
            data += 8;
            size -= 8;
        } else if (at > HEAD + 16) {
            count = at;
        }
    }
    put(bytes + 16, count);
    put(bytes + count - 8, weights_crc(bytes, count - 8));
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char *bytes;

    if (!saved) {
        save();
        if (!load(saved, saved_count))
            abort(); /* else nothing behind the frame would be tested */
    }
    load(data, size);
    bytes = mem_dup(saved, saved_count, 1);
    load(bytes, change(bytes, saved_count, data, size));
    free(bytes);
    return 0;
}
