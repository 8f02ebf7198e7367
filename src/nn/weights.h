/* weights.h - trained parameters as bytes: inside the binary, in checkpoints, on disk
 *
 * Little-endian: "CORGIWTS", version (4 bytes), size of the whole (8), text (length 4,
 * bytes), number of matrices (4), then for each its name (length 2, bytes), rows (4),
 * columns (4) and numbers as floats (4 each); last a CRC-32 of all before it (4).
 *
 * Reading fills a set that already has its layout: every matrix must be there under its
 * name and in its shape, and no other.  A file that is cut, altered, of another version,
 * too large or holds a number that is not finite is refused, and the set stays as it
 * was. */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "nn/params.h"

#include <stdint.h>

#define WEIGHTS_VERSION   1
#define WEIGHTS_MAX_BYTES ((size_t)64 * 1024 * 1024)
#define WEIGHTS_MAX_TEXT  ((size_t)64 * 1024)

/* Replaces *bytes.  text is free (training data, date, scores) and may be ""; ERR_LIMIT
 * when it or the whole is too large, ERR_INVALID when a number is not finite. */
int weights_encode(const struct params *params, const char *text, struct str *bytes,
                   struct err *err);
int weights_decode(struct params *params, const void *bytes, size_t count,
                   struct err *err);

/* CRC-32 (IEEE 802.3), against damage and not against intent. */
uint32_t weights_crc(const void *bytes, size_t count);
