/* weights.c - parameters to bytes and back: model/stat_network.c reads those inside the
 * binary, model/pairs.c keeps a trained network in checkpoints, `corgi train` writes
 * files */
#include "nn/weights.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC        "CORGIWTS"
#define MAGIC_BYTES  8u
#define SIZE_AT      12u /* where the size of the whole stands */
#define HEADER_BYTES 20u
#define CRC_BYTES    4u

uint32_t weights_crc(const void *bytes, size_t count)
{
    /* What the low four bits of the register add, polynomial 0xedb88320 reflected. */
    static const uint32_t nibble[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    const unsigned char *at = bytes;
    uint32_t crc = 0xffffffff;

    for (size_t i = 0; i < count; i++) {
        crc ^= at[i];
        crc = (crc >> 4) ^ nibble[crc & 15];
        crc = (crc >> 4) ^ nibble[crc & 15];
    }
    return ~crc;
}

static void put(struct str *to, uint64_t value, int bytes)
{
    char little[8];

    for (int i = 0; i < bytes; i++)
        little[i] = (char)(value >> (8 * i) & 0xff);
    str_add_bytes(to, little, (size_t)bytes);
}

static uint64_t get(const unsigned char *at, int bytes)
{
    uint64_t value = 0;

    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static int put_matrix(struct str *to, const struct params *params,
                      const struct param *item, struct err *err)
{
    size_t length = strlen(item->name);

    put(to, length, 2);
    str_add_bytes(to, item->name, length);
    put(to, (uint64_t)item->rows, 4);
    put(to, (uint64_t)item->cols, 4);
    for (size_t i = 0; i < (size_t)item->rows * (size_t)item->cols; i++) {
        float number = (float)params->value[item->offset + i];
        uint32_t bits;

        if (!isfinite(number))
            return err_set(err, ERR_INVALID, "%s holds a number that is not finite",
                           item->name);
        memcpy(&bits, &number, sizeof(bits));
        put(to, bits, 4);
    }
    return 0;
}

int weights_encode(const struct params *params, const char *text, struct str *bytes,
                   struct err *err)
{
    struct str out = {0};
    size_t text_length = strlen(text);

    if (text_length > WEIGHTS_MAX_TEXT)
        return err_set(err, ERR_LIMIT, "the text of a weights file is over %zu bytes",
                       WEIGHTS_MAX_TEXT);
    str_add_bytes(&out, MAGIC, MAGIC_BYTES);
    put(&out, WEIGHTS_VERSION, 4);
    put(&out, 0, 8); /* the size, known below */
    put(&out, text_length, 4);
    str_add_bytes(&out, text, text_length);
    put(&out, (uint64_t)params->item_count, 4);
    for (int i = 0; i < params->item_count; i++)
        if (put_matrix(&out, params, &params->items[i], err) < 0)
            goto fail;
    if (out.length + CRC_BYTES > WEIGHTS_MAX_BYTES) {
        err_set(err, ERR_LIMIT, "weights of %zu bytes are over the limit", out.length);
        goto fail;
    }
    for (unsigned i = 0; i < 8; i++)
        out.text[SIZE_AT + i] = (char)((out.length + CRC_BYTES) >> (8 * i) & 0xff);
    put(&out, weights_crc(out.text, out.length), CRC_BYTES);
    str_fini(bytes);
    *bytes = out;
    return 0;
fail:
    str_fini(&out);
    return -1;
}

/* A number of so many bytes; past the end in turns bad, and what is read is 0. */
static uint64_t take(struct bytes_in *in, int bytes)
{
    unsigned char little[8];

    bytes_get(in, little, (size_t)bytes);
    return get(little, bytes);
}

/* So many bytes follow? */
static int follow(struct bytes_in *in, size_t count, struct err *err)
{
    if (in->bad || count > in->left)
        return err_set(err, ERR_FORMAT,
                       "a length inside the weights points past their end");
    return 0;
}

/* Is this whole, ours, of our version and as it was written? */
static int check_frame(const unsigned char *bytes, size_t count, struct err *err)
{
    uint64_t version, size;

    if (count < MAGIC_BYTES || memcmp(bytes, MAGIC, MAGIC_BYTES) != 0)
        return err_set(err, ERR_FORMAT, "not a weights file");
    if (count < HEADER_BYTES + CRC_BYTES)
        return err_set(err, ERR_FORMAT, "weights cut short: only %zu bytes", count);
    version = get(bytes + MAGIC_BYTES, 4);
    if (version != WEIGHTS_VERSION)
        return err_set(err, ERR_UNSUPPORTED,
                       "weights of version %u, this program reads version %d",
                       (unsigned)version, WEIGHTS_VERSION);
    size = get(bytes + SIZE_AT, 8);
    if (size > WEIGHTS_MAX_BYTES || count > WEIGHTS_MAX_BYTES)
        return err_set(err, ERR_LIMIT, "weights are over %zu bytes", WEIGHTS_MAX_BYTES);
    if (size > count)
        return err_set(err, ERR_FORMAT, "weights cut short: %zu bytes of %zu", count,
                       (size_t)size);
    if (size < count)
        return err_set(err, ERR_FORMAT, "weights are followed by %zu foreign bytes",
                       count - (size_t)size);
    if (weights_crc(bytes, count - CRC_BYTES) !=
        get(bytes + count - CRC_BYTES, CRC_BYTES))
        return err_set(err, ERR_FORMAT, "weights were altered: the checksum differs");
    return 0;
}

/* The text is for people: nobody here reads it. */
static int take_text(struct bytes_in *in, struct err *err)
{
    uint64_t count = take(in, 4);

    if (count > WEIGHTS_MAX_TEXT)
        return err_set(err, ERR_LIMIT, "the text of the weights is over %zu bytes",
                       WEIGHTS_MAX_TEXT);
    if (follow(in, count, err) < 0)
        return -1;
    if (memchr(in->at, '\0', count))
        return err_set(err, ERR_FORMAT, "the text of the weights holds a zero byte");
    in->at += count;
    in->left -= count;
    return 0;
}

/* Name and shape of the next matrix; its place in the set, or -1. */
static int take_matrix_head(struct bytes_in *in, const struct params *params,
                            struct err *err)
{
    char name[PARAMS_NAME_SIZE] = {0};
    uint64_t length = take(in, 2), rows, cols;
    int id;

    if (follow(in, length, err) < 0)
        return -1;
    if (length >= sizeof(name))
        return err_set(err, ERR_LIMIT, "a name in the weights has %u characters",
                       (unsigned)length);
    bytes_get(in, name, length);
    id = params_find(params, name);
    if (id < 0 || strlen(name) != length)
        return err_set(err, ERR_FORMAT, "weights of another network: no %.40s here",
                       name);
    rows = take(in, 4);
    cols = take(in, 4);
    if (follow(in, 0, err) < 0)
        return -1;
    if (rows != (uint64_t)params->items[id].rows ||
        cols != (uint64_t)params->items[id].cols)
        return err_set(err, ERR_FORMAT,
                       "weights of another network: %s is %u by %u, expected %d by %d",
                       name, (unsigned)rows, (unsigned)cols, params->items[id].rows,
                       params->items[id].cols);
    return id;
}

static int take_matrix(struct bytes_in *in, const struct params *params, nn_real *value,
                       bool *seen, struct err *err)
{
    int id = take_matrix_head(in, params, err);
    const struct param *item;
    size_t count;

    if (id < 0)
        return -1;
    item = &params->items[id];
    count = (size_t)item->rows * (size_t)item->cols;
    if (seen[id])
        return err_set(err, ERR_FORMAT, "weights hold %s twice", item->name);
    seen[id] = true;
    if (follow(in, count * 4, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = (uint32_t)take(in, 4);
        float number;

        memcpy(&number, &bits, sizeof(number));
        if (!isfinite(number))
            return err_set(err, ERR_FORMAT, "%s holds a number that is not finite",
                           item->name);
        value[item->offset + i] = (nn_real)number;
    }
    return 0;
}

static int take_matrices(struct bytes_in *in, const struct params *params, nn_real *value,
                         struct err *err)
{
    bool *seen = mem_array(bool, (size_t)params->item_count);
    uint64_t count = take(in, 4);
    int rc = follow(in, 0, err);

    if (rc == 0 && count != (uint64_t)params->item_count)
        rc = err_set(err, ERR_FORMAT,
                     "weights of another network: %u matrices, expected %d",
                     (unsigned)count, params->item_count);
    for (int i = 0; rc == 0 && i < params->item_count; i++)
        rc = take_matrix(in, params, value, seen, err);
    if (rc == 0 && in->left > 0)
        rc = err_set(err, ERR_FORMAT, "weights hold %zu bytes too many", in->left);
    free(seen);
    return rc;
}

int weights_decode(struct params *params, const void *bytes, size_t count,
                   struct err *err)
{
    struct bytes_in in = {bytes, count, false};
    nn_real *value;
    int rc;

    if (check_frame(bytes, count, err) < 0)
        return -1;
    in.at += HEADER_BYTES;
    in.left -= HEADER_BYTES + CRC_BYTES;
    value = mem_array(nn_real, params->count);
    rc = take_text(&in, err);
    if (rc == 0)
        rc = take_matrices(&in, params, value, err);
    if (rc == 0)
        memcpy(params->value, value, params->count * sizeof(*value));
    free(value);
    return rc;
}
