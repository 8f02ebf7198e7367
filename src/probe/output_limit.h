/* output_limit.h - a file of output that does not fill the disk
 *
 * The beginning of a long output tells what a job was given, its end how it ended; what
 * is between is seldom read.  So a file that reaches its limit loses its middle, and a
 * line at that place says how much is missing.  The limit is kept at every moment,
 * however fast the job writes: the end is moved forward and the file cut, which costs no
 * disk, where holes in the file would be written out first. */
#pragma once

#include <stddef.h>

/* Of the beginning so many bytes stay, the line included. */
#define OUTPUT_LIMIT_HEAD_BYTES  (64 << 10)
#define OUTPUT_LIMIT_LEAST_BYTES (256 << 10)

struct output_limit {
    int fd;             /* for the middle of the file; -1: there is no limit */
    double limit_bytes; /* of the file */
    double room_bytes;  /* until the file has to be looked at again */
    double dropped_bytes;
};

/* The file must be there and be a plain one, else it is not bounded.  A limit of 0 means
 * none, one below OUTPUT_LIMIT_LEAST_BYTES means that. */
void output_limit_open(struct output_limit *limit, const char *path, double limit_bytes);
void output_limit_close(struct output_limit *limit);

/* Before so many bytes are written to the end of the file. */
void output_limit_make_room(struct output_limit *limit, size_t bytes);
