/* clock.h - the time, for programs: the loop is told the time as an argument */
#pragma once

/* Processor seconds of this thread so far, monotonic seconds, seconds since the epoch. */
double clock_cpu_s(void);
double clock_wall_s(void);
double clock_epoch_s(void);
