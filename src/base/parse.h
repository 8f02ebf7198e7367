/* parse.h - text from outside to numbers, strictly
 *
 * The whole text must be the number: no leading blanks, no rest, no NaN or infinity
 * unless the range allows it.  False leaves the output untouched. */
#ifndef CORGI_BASE_PARSE_H
#define CORGI_BASE_PARSE_H

#include <stdbool.h>
#include <stdint.h>

bool parse_double(const char *text, double *value); /* finite */
bool parse_u64(const char *text, uint64_t *value);
bool parse_int(const char *text, int *value);
bool parse_bool(const char *text, bool *value); /* true/false, yes/no, on/off */

/* A number with a unit: 90, 90s, 10m, 2h, 5d -> seconds; 250, 250W, 20kW, 1MW -> watts.
 */
bool parse_seconds(const char *text, double *seconds);
bool parse_watts(const char *text, double *watts);

#endif
