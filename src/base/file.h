/* file.h - a whole file of bounded size in memory */
#ifndef CORGI_BASE_FILE_H
#define CORGI_BASE_FILE_H

#include "base/err.h"

#include <stddef.h>

/* Read all of path, at most max_bytes of it, else ERR_LIMIT.  The text is NUL-terminated
 * behind its length and the caller frees it. */
int file_read(char **text, size_t *length, const char *path, size_t max_bytes,
              struct err *err);

#endif
