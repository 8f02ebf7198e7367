/* gzip.h - unpack gzip from outside, never beyond a size the caller gives
 *
 * The only file that knows zlib. */
#pragma once

#include "base/err.h"
#include "base/str.h"

/* Add what the bytes unpack to, at most `most` of it.  ERR_FORMAT: no gzip, damaged or
 * cut short; ERR_LIMIT: it would be more.  *out is then as it was. */
int gzip_unpack(const void *bytes, size_t count, size_t most, struct str *out,
                struct err *err);
