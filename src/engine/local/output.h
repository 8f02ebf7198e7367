/* output.h - the output of a job, kept within bounds
 *
 * A job may write for weeks.  The file in the state folder keeps its beginning, where
 * programs say what they are, and its end, where they say what became of them; what is
 * between becomes a hole that takes no room on the disk. */
#ifndef CORGI_ENGINE_LOCAL_OUTPUT_H
#define CORGI_ENGINE_LOCAL_OUTPUT_H

#include <sys/types.h>

#define OUTPUT_HEAD_BYTES 65536

/* Free what is beyond limit_bytes on the disk; bytes that were dropped now.  Only a plain
 * file of this user is touched: the folder is the user's, and may hold a link. */
double output_keep_small(const char *path, uid_t owner, double limit_bytes);

#endif
