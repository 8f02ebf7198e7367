/* reader.h - a connection that only reads
 *
 * Each thread that reads has one of its own; it never waits for the writer, sees all
 * that was committed before its read began, and needs no running store: tools open one
 * beside a daemon.  The read functions stand with their rows: store_jobs.h and so on.
 *
 * Reads give rows to a function, one by one; strings in a row are borrowed for the call.
 * The function returns 0 to go on, anything else to stop (which is no error). */
#ifndef CORGI_STORE_READER_H
#define CORGI_STORE_READER_H

#include "base/err.h"

struct store_reader;

int store_reader_open(struct store_reader **reader, const char *path, struct err *err);
void store_reader_close(struct store_reader *reader); /* NULL is fine */

#endif
