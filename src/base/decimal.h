/* decimal.h - numbers as decimal text, quickly
 *
 * The daemon writes hundreds of numbers into an answer, and printf() takes about a
 * microsecond for each.  The common ones are written here in a twentieth of that, byte
 * for byte as printf() would. */
#ifndef CORGI_BASE_DECIMAL_H
#define CORGI_BASE_DECIMAL_H

#include <stddef.h>
#include <stdint.h>

#define DECIMAL_SIZE 40 /* bytes that hold any of these, and the zero at the end */

/* With the fewest of 15, 16 or 17 digits that read back as the same number: what "%.15g",
 * "%.16g" or "%.17g" gives, always with a point.  The number is finite; text has
 * DECIMAL_SIZE bytes. */
size_t decimal_double(char *text, double number);

size_t decimal_u64(char *text, uint64_t number);
size_t decimal_i64(char *text, int64_t number);

#endif
