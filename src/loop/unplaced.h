/* unplaced.h - why a job waits, in words: quotes say it before, `corgi why` afterwards */
#pragma once

#include "loop/types.h"

/* By what the planner said of it; NULL: it has a place. */
const char *unplaced_sentence(enum unplaced_reason reason, const struct job *job);
