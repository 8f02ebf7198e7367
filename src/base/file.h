/* file.h - whole files in and out
 *
 * A file that is written appears complete under its name or not at all: bytes go to a
 * temporary neighbour that is synced and then renamed.  Every error, a full disk at the
 * last byte too, is reported. */
#pragma once

#include "base/err.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* Read all of it; the caller frees *bytes, which has a NUL after *count bytes.  ERR_LIMIT
 * beyond max_bytes, ERR_NOT_FOUND when there is no such file. */
int file_read(const char *path, size_t max_bytes, char **bytes, size_t *count,
              struct err *err);

/* The beginning of a file, as of the small ones of the kernel: at most size - 1 bytes and
 * a NUL.  How many, or -1 with errno. */
ssize_t file_head(const char *path, char *text, size_t size);

int file_write(const char *path, const void *bytes, size_t count, struct err *err);

/* For output made piece by piece: open, write to the stream, then commit or abort (which
 * both end it).  Devices and pipes are written as they are. */
struct file_out;
struct file_out *file_out_open(const char *path, struct err *err); /* NULL: failed */
FILE *file_out_stream(struct file_out *out);                       /* borrowed */
/* Takes room on the disk for so many bytes, so that they can be written when it is full;
 * fine where a file system cannot do that. */
int file_out_reserve(struct file_out *out, size_t bytes, struct err *err);
int file_out_commit(struct file_out *out, struct err *err);
void file_out_abort(struct file_out *out); /* NULL is fine */

/* The directory and those above it; fine when it is there already.  Of a file: only those
 * above it. */
int file_make_dirs(const char *path, struct err *err);
int file_make_parent(const char *path, struct err *err);

/* Give a file that is synced its final name, so that a crash keeps one or the other. */
int file_rename(const char *temp, const char *path, struct err *err);

/* One process at a time uses what the path names: PATH.lock is locked and holds the
 * process id, so that the next one can say who is there.  The kernel unlocks it when the
 * process ends, however it ends; the file stays, as removing it would race with the next.
 * A descriptor to close, or -1, with ERR_EXISTS while another process has it. */
int file_lock(const char *path, struct err *err);

/* "dir/name" in one string; the caller frees. */
char *file_join(const char *dir, const char *name);
