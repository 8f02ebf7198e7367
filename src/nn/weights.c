/* weights.c - the bytes of a weights file, see weights.h; files are weights_file.c */
#include "nn/weights.h"

#include "base/mem.h"
#include "nn/crc.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC        "CORGIWTS"
#define MAGIC_BYTES  8u
#define SIZE_AT      12u /* where the size of the whole stands */
#define HEADER_BYTES 20u
#define CRC_BYTES    4u

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
    put(&out, crc_of(out.text, out.length), CRC_BYTES);
    str_fini(bytes);
    *bytes = out;
    return 0;
fail:
    str_fini(&out);
    return -1;
}

/* What is left to read; every take checks it. */
struct reader {
    const unsigned char *at;
    size_t left;
    struct err *err;
};

static const unsigned char *take(struct reader *in, size_t count)
{
    const unsigned char *at = in->at;

    if (count > in->left) {
        err_set(in->err, ERR_FORMAT, "a length inside the weights points past their end");
        return NULL;
    }
    in->at += count;
    in->left -= count;
    return at;
}

static int take_number(struct reader *in, int bytes, uint64_t *value)
{
    const unsigned char *at = take(in, (size_t)bytes);

    if (!at)
        return -1;
    *value = get(at, bytes);
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
    if (crc_of(bytes, count - CRC_BYTES) != get(bytes + count - CRC_BYTES, CRC_BYTES))
        return err_set(err, ERR_FORMAT, "weights were altered: the checksum differs");
    return 0;
}

/* The text stays where it is in the file; at and length say where. */
static int take_text(struct reader *in, const char **at, size_t *length)
{
    uint64_t count;

    if (take_number(in, 4, &count) < 0)
        return -1;
    if (count > WEIGHTS_MAX_TEXT)
        return err_set(in->err, ERR_LIMIT, "the text of the weights is over %zu bytes",
                       WEIGHTS_MAX_TEXT);
    *at = (const char *)take(in, count);
    if (!*at)
        return -1;
    if (memchr(*at, '\0', count))
        return err_set(in->err, ERR_FORMAT, "the text of the weights holds a zero byte");
    *length = count;
    return 0;
}

/* Name and shape of the next matrix; its place in the set, or -1. */
static int take_matrix_head(struct reader *in, const struct params *params)
{
    char name[PARAMS_NAME_SIZE] = {0};
    const unsigned char *at;
    uint64_t length, rows, cols;
    int id;

    if (take_number(in, 2, &length) < 0 || !(at = take(in, length)))
        return -1;
    if (length >= sizeof(name))
        return err_set(in->err, ERR_LIMIT, "a name in the weights has %u characters",
                       (unsigned)length);
    memcpy(name, at, length);
    id = params_find(params, name);
    if (id < 0 || strlen(name) != length)
        return err_set(in->err, ERR_FORMAT, "weights of another network: no %.40s here",
                       name);
    if (take_number(in, 4, &rows) < 0 || take_number(in, 4, &cols) < 0)
        return -1;
    if (rows != (uint64_t)params->items[id].rows ||
        cols != (uint64_t)params->items[id].cols)
        return err_set(in->err, ERR_FORMAT,
                       "weights of another network: %s is %u by %u, expected %d by %d",
                       name, (unsigned)rows, (unsigned)cols, params->items[id].rows,
                       params->items[id].cols);
    return id;
}

static int take_matrix(struct reader *in, const struct params *params, nn_real *value,
                       bool *seen)
{
    int id = take_matrix_head(in, params);
    const struct param *item;
    const unsigned char *at;
    size_t count;

    if (id < 0)
        return -1;
    item = &params->items[id];
    count = (size_t)item->rows * (size_t)item->cols;
    if (seen[id])
        return err_set(in->err, ERR_FORMAT, "weights hold %s twice", item->name);
    seen[id] = true;
    at = take(in, count * 4);
    if (!at)
        return -1;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = (uint32_t)get(at + i * 4, 4);
        float number;

        memcpy(&number, &bits, sizeof(number));
        if (!isfinite(number))
            return err_set(in->err, ERR_FORMAT, "%s holds a number that is not finite",
                           item->name);
        value[item->offset + i] = (nn_real)number;
    }
    return 0;
}

static int take_matrices(struct reader *in, const struct params *params, nn_real *value)
{
    bool *seen = mem_array(bool, (size_t)params->item_count);
    uint64_t count;
    int rc = take_number(in, 4, &count);

    if (rc == 0 && count != (uint64_t)params->item_count)
        rc = err_set(in->err, ERR_FORMAT,
                     "weights of another network: %u matrices, expected %d",
                     (unsigned)count, params->item_count);
    for (int i = 0; rc == 0 && i < params->item_count; i++)
        rc = take_matrix(in, params, value, seen);
    if (rc == 0 && in->left > 0)
        rc = err_set(in->err, ERR_FORMAT, "weights hold %zu bytes too many", in->left);
    free(seen);
    return rc;
}

int weights_decode(struct params *params, const void *bytes, size_t count,
                   struct str *text, struct err *err)
{
    struct reader in = {.at = bytes, .left = count, .err = err};
    const char *text_at = NULL;
    size_t text_length = 0;
    nn_real *value;
    int rc = -1;

    if (check_frame(bytes, count, err) < 0)
        return -1;
    in.at += HEADER_BYTES;
    in.left -= HEADER_BYTES + CRC_BYTES;
    value = mem_array(nn_real, params->count);
    if (take_text(&in, &text_at, &text_length) < 0 ||
        take_matrices(&in, params, value) < 0)
        goto done;
    memcpy(params->value, value, params->count * sizeof(*value));
    if (text) {
        str_clear(text);
        str_add_bytes(text, text_at, text_length);
    }
    rc = 0;
done:
    free(value);
    return rc;
}
