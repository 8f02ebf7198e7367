/* slurm_hosts.h - every host of a list as Slurm writes it */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define SLURM_HOST_SIZE 64

/* Every host of "gpu[01-04,7],login1" in order, until visit returns false.  ERR_FORMAT
 * when it is no such list, ERR_LIMIT when it has more than max hosts. */
int slurm_hosts(const char *list, size_t max, bool (*visit)(void *ctx, const char *host),
                void *ctx, struct err *err);
