/* end_why.h - why an attempt ended, in words that people read */
#pragma once

#include <stddef.h>

struct engine_event;
struct why;

#define END_WHY_SIZE 208

/* Of an ENGINE_ENDED.  What the engine says of it, as only it has seen the job; status
 * and signal of a job that failed by itself; else what the kind of end means.  The text
 * is in buffer, or constant, or the event's. */
struct why end_why(const struct engine_event *e, char buffer[END_WHY_SIZE]);
