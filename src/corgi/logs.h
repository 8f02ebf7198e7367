/* logs.h - the end of a job's output, for commands that tell how a job ended */
#pragma once

#include "corgi/daemon.h"

#include <stdio.h>

/* Print the last lines of the job's newest attempt, a title before them; nothing when
 * there are none. */
void logs_print_end(const struct daemon_args *daemon, const char *job, int lines,
                    FILE *to);
