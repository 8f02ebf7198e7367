/* admit_check.h - is a request well formed? */
#pragma once

#include "base/err.h"
#include "loop/types.h"

/* Refuses a malformed request: numbers that are not finite, out of range or contradict
 * each other.  err names the field. */
int admit_check(const struct job *job, const struct cluster *cluster, struct err *err);
