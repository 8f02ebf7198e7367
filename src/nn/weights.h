/* weights.h - trained parameters as a file
 *
 * Little-endian: "CORGIWTS", version (4 bytes), size of the whole (8), text (length 4,
 * bytes), number of matrices (4), then for each its name (length 2, bytes), rows (4),
 * columns (4) and numbers as floats (4 each); last a CRC-32 of all before it (4).
 *
 * Reading fills a set that already has its layout: every matrix must be there under its
 * name and in its shape, and no other.  A file that is cut, altered, of another version,
 * too large or holds a number that is not finite is refused, and the set and the text
 * stay as they were. */
#ifndef CORGI_NN_WEIGHTS_H
#define CORGI_NN_WEIGHTS_H

#include "base/err.h"
#include "base/str.h"
#include "nn/params.h"

#define WEIGHTS_VERSION   1
#define WEIGHTS_MAX_BYTES ((size_t)64 * 1024 * 1024)
#define WEIGHTS_MAX_TEXT  ((size_t)64 * 1024)

/* Write to a file beside path, sync it, and rename it over path: readers see the old one
 * or the new one, never half.  text is free (training data, date, scores) and may be "";
 * ERR_LIMIT when it or the whole is too large, ERR_INVALID when a number is not finite.
 */
int weights_save(const struct params *params, const char *path, const char *text,
                 struct err *err);

/* text (NULL: not wanted) is replaced by the file's. */
int weights_load(struct params *params, const char *path, struct str *text,
                 struct err *err);

/* The same in memory, for weights inside the binary.  weights_encode() replaces *bytes.
 */
int weights_encode(const struct params *params, const char *text, struct str *bytes,
                   struct err *err);
int weights_decode(struct params *params, const void *bytes, size_t count,
                   struct str *text, struct err *err);

#endif
