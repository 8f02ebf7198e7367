/* clock.h - time as an argument
 *
 * The loop is told the time; programs ask a clock.  A real clock counts seconds since it
 * was made; a virtual one stands where it was put, which is how the simulator moves time.
 */
#ifndef CORGI_BASE_CLOCK_H
#define CORGI_BASE_CLOCK_H

struct clock {
    double (*now_s)(const struct clock *clock);
    double value_s; /* real: the start; virtual: the present */
};

struct clock clock_real(void);
struct clock clock_virtual(double now_s);
double clock_now_s(const struct clock *clock);
void clock_set(struct clock *clock, double now_s); /* virtual only; never backwards */

/* Processor seconds of this thread so far, monotonic seconds, seconds since the epoch. */
double clock_cpu_s(void);
double clock_wall_s(void);
double clock_epoch_s(void);

#endif
