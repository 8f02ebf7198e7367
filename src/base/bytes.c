/* bytes.c - the model writes its checkpoint with these and reads it back */
#include "base/bytes.h"

#include "base/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void bytes_out_fini(struct bytes_out *out)
{
    free(out->items);
    *out = (struct bytes_out){0};
}

void bytes_put(struct bytes_out *out, const void *bytes, size_t count)
{
    vec_reserve(out, out->count + count);
    if (count > 0)
        memcpy(out->items + out->count, bytes, count);
    out->count += count;
}

void bytes_put_u64(struct bytes_out *out, uint64_t value)
{
    unsigned char bytes[8];

    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
    bytes_put(out, bytes, sizeof(bytes));
}

void bytes_put_real(struct bytes_out *out, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    bytes_put_u64(out, bits);
}

int bytes_class(const struct bytes_out *out, int cls)
{
    return out->renumber && cls >= 0 ? out->renumber[cls] : cls;
}

int bytes_kind(const struct bytes_out *out, int kind)
{
    return out->renumber_kinds && kind >= 0 ? out->renumber_kinds[kind] : kind;
}

bool bytes_get(struct bytes_in *in, void *bytes, size_t count)
{
    if (in->bad || in->left < count) {
        in->bad = true;
        memset(bytes, 0, count);
        return false;
    }
    memcpy(bytes, in->at, count);
    in->at += count;
    in->left -= count;
    return true;
}

uint64_t bytes_u64(struct bytes_in *in)
{
    unsigned char bytes[8];
    uint64_t value = 0;

    bytes_get(in, bytes, sizeof(bytes));
    for (int i = 0; i < 8; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

size_t bytes_count(struct bytes_in *in, size_t most, size_t each)
{
    uint64_t count = bytes_u64(in);

    if (count > most || count * each > in->left)
        in->bad = true;
    return in->bad ? 0 : (size_t)count;
}

int bytes_int(struct bytes_in *in, int least, int most)
{
    int64_t value = (int64_t)bytes_u64(in);

    if (value < least || value > most) {
        in->bad = true;
        return least;
    }
    return (int)value;
}

/* The value, or 0 when it is not a fine one. */
static double checked(struct bytes_in *in, double value, bool fine)
{
    in->bad = in->bad || !fine;
    return fine ? value : 0;
}

double bytes_real_or_nan(struct bytes_in *in)
{
    uint64_t bits = bytes_u64(in);
    double value;

    memcpy(&value, &bits, sizeof(value));
    return checked(in, value, !isinf(value));
}

double bytes_real(struct bytes_in *in)
{
    double value = bytes_real_or_nan(in);

    return checked(in, value, !isnan(value));
}

double bytes_log(struct bytes_in *in)
{
    double value = bytes_real(in);

    return checked(in, value, fabs(value) <= BYTES_LOG_MOST);
}
