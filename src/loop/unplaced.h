/* unplaced.h - why a job waits, in words: quotes say it before, `corgi why` afterwards */
#pragma once

#include "loop/types.h"

/* By what the planner said of it; NULL: it has a place. */
const char *unplaced_sentence(enum unplaced_reason reason, const struct job *job);

/* The same with the present: whom it waits for, if one of the devices it could use is
 * only waiting to be left. */
void unplaced_say(char *to, size_t size, enum unplaced_reason reason,
                  const struct job *job, const struct cluster *cluster);

/* "NODE:INDEX is being left by job N", of a device the job may use (type -1: of any type
 * it may use); false: there is none. */
bool unplaced_leaving(char *to, size_t size, const struct job *job, int type,
                      const struct cluster *cluster);
