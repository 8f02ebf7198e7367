/* output_file.h - a piece of the file a job's output goes to
 *
 * The daemon may be root and the file is its user's to replace, so it is read only when
 * it is a plain file that belongs to that user.  It may lie on a disk that hangs: this is
 * called on a thread of its own (handle_output.c). */
#pragma once

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define OUTPUT_FILE_MAX_BYTES ((size_t)256 << 10) /* of one piece */

struct output_ask {
    const char *path;
    uid_t uid; /* whose job it is */
    gid_t gid;
    /* The user chose the path: links on the way are followed, with the user's rights.
     * Else it is in the engine's folder, and must be there itself. */
    bool chosen;
    int64_t offset; /* bytes to leave out; more than there are: up to the end */
    int lines;      /* instead: so many of the last lines; 0: by offset */
};

struct output_piece {
    int64_t size;         /* of the file */
    int64_t offset, next; /* the piece begins there, the next one there */
    struct str text;      /* without NUL and without a half character at its end */
};

/* ERR_NOT_FOUND: there is no such file.  The calling thread keeps the user's rights to
 * files when the user chose the path: it ends, or asks for the same user again. */
int output_file_read(const struct output_ask *ask, struct output_piece *piece,
                     struct err *err);
