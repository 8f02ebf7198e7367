/* codec.h - what was learned, to bytes or back by one description of its fields
 *
 * Every part describes its fields once, in a function that is called to write and to
 * read.  Writing changes nothing of what it is given.  Reading turns c->in->bad where a
 * number is outside its range, and its user looks once at the end.  Classes and kinds may
 * be left out and get new numbers on the way out (c->out->renumber). */
#pragma once

#include "base/bytes.h"

struct codec {
    struct bytes_out *out; /* one of the two */
    struct bytes_in *in;
};

void codec_u64(struct codec *c, uint64_t *value);
void codec_int(struct codec *c, int *value, int least, int most);
void codec_bool(struct codec *c, bool *value);
void codec_real(struct codec *c, double *value);                   /* finite */
void codec_at_least(struct codec *c, double *value, double least); /* less is that */
void codec_log(struct codec *c, double *value);                    /* see bytes_log() */
void codec_or_nan(struct codec *c, double *values, size_t count);  /* NaN too */
void codec_class(struct codec *c, int *cls, size_t count);         /* of so many */
void codec_kind(struct codec *c, int *kind, size_t count);         /* likewise */
void codec_text(struct codec *c, char *text, size_t size);

/* Writing: does the class stay?  Reading: all do that are there. */
bool codec_kept(const struct codec *c, int cls);
bool codec_kind_kept(const struct codec *c, int kind);

/* How many items follow, at most so many of at least `each` bytes. */
size_t codec_count(struct codec *c, size_t count, size_t most, size_t each);
/* The same of a list with an item for each class: of those that stay. */
size_t codec_class_count(struct codec *c, size_t count, size_t most, size_t each);
size_t codec_kind_count(struct codec *c, size_t count, size_t most, size_t each);

/* Does another item follow?  Writing: as `more` says. */
bool codec_more(struct codec *c, bool more);

/* The next of a list with an item for each class, each behind a 1 and a 0 at the end:
 *     for (size_t i = 0; codec_next(c, &i, count); i++)
 * Writing passes over classes that are left out; reading counts on until the 0. */
bool codec_next(struct codec *c, size_t *at, size_t count);

static inline bool codec_bad(const struct codec *c)
{
    return c->in && c->in->bad;
}
