/* codec.c - fields to bytes and back: learned_checkpoint.c runs it over all parts of the
 * model to save, to load and to leave classes out */
#include "model/codec.h"

#include <math.h>
#include <string.h>

void codec_u64(struct codec *c, uint64_t *value)
{
    if (c->out)
        bytes_put_u64(c->out, *value);
    else
        *value = bytes_u64(c->in);
}

void codec_int(struct codec *c, int *value, int least, int most)
{
    if (c->out)
        bytes_put_u64(c->out, (uint64_t)(int64_t)*value);
    else
        *value = bytes_int(c->in, least, most);
}

void codec_bool(struct codec *c, bool *value)
{
    if (c->out)
        bytes_put_u64(c->out, *value);
    else
        *value = bytes_int(c->in, 0, 1);
}

void codec_real(struct codec *c, double *value)
{
    if (c->out)
        bytes_put_real(c->out, *value);
    else
        *value = bytes_real(c->in);
}

void codec_at_least(struct codec *c, double *value, double least)
{
    codec_real(c, value);
    if (c->in)
        *value = fmax(*value, least);
}

void codec_log(struct codec *c, double *value)
{
    if (c->out)
        bytes_put_real(c->out, *value);
    else
        *value = bytes_log(c->in);
}

void codec_or_nan(struct codec *c, double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (c->out)
            bytes_put_real(c->out, values[i]);
        else
            values[i] = bytes_real_or_nan(c->in);
}

void codec_class(struct codec *c, int *cls, size_t count)
{
    int number = c->out ? bytes_class(c->out, *cls) : 0;

    codec_int(c, &number, 0, (int)count - 1);
    if (c->in)
        *cls = number;
}

void codec_kind(struct codec *c, int *kind, size_t count)
{
    int number = c->out ? bytes_kind(c->out, *kind) : 0;

    codec_int(c, &number, 0, (int)count - 1);
    if (c->in)
        *kind = number;
}

void codec_text(struct codec *c, char *text, size_t size)
{
    size_t length = codec_count(c, c->out ? strlen(text) : 0, size - 1, 1);

    if (c->out) {
        bytes_put(c->out, text, length);
        return;
    }
    bytes_get(c->in, text, length);
    text[length] = 0;
    if (strlen(text) != length)
        c->in->bad = true;
}

bool codec_kept(const struct codec *c, int cls)
{
    return !c->out || bytes_class(c->out, cls) >= 0;
}

bool codec_kind_kept(const struct codec *c, int kind)
{
    return !c->out || bytes_kind(c->out, kind) >= 0;
}

size_t codec_count(struct codec *c, size_t count, size_t most, size_t each)
{
    if (c->in)
        return bytes_count(c->in, most, each);
    bytes_put_u64(c->out, count);
    return count;
}

size_t codec_class_count(struct codec *c, size_t count, size_t most, size_t each)
{
    size_t kept = 0;

    for (size_t i = 0; c->out && i < count; i++)
        kept += codec_kept(c, (int)i);
    return codec_count(c, kept, most, each);
}

size_t codec_kind_count(struct codec *c, size_t count, size_t most, size_t each)
{
    size_t kept = 0;

    for (size_t i = 0; c->out && i < count; i++)
        kept += codec_kind_kept(c, (int)i);
    return codec_count(c, kept, most, each);
}

bool codec_more(struct codec *c, bool more)
{
    codec_bool(c, &more);
    return more;
}

bool codec_next(struct codec *c, size_t *at, size_t count)
{
    while (c->out && *at < count && !codec_kept(c, (int)*at))
        ++*at;
    return codec_more(c, *at < count);
}
