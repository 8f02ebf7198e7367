/* services.h - what a service could do, from what it is seen to do
 *
 * A probe counts the requests that were answered; that is what the service was asked for,
 * not what it can do.  Three things tell more:
 *
 * - Where requests are worked on one at a time, the busy share of the devices grows with
 *   them: what was answered, over the busy share, is the capacity.  More workers at work
 *   than requests inside (Little's law), or hardly any waiting on devices that never
 *   rest, say that it is not so: such a server batches, and its busy share says nothing.
 * - Once fewer requests are answered than are asked for, or answers come far later than
 *   at light load, what is answered is about the capacity.
 * - Else it can do at least what it does: a floor.
 *
 * One record is of a service in one place, beside whoever is there, under one cap. */
#pragma once

#include <stdbool.h>

/* What a probe saw; 0: not told. */
struct service_window {
    double window_s;
    double answered;  /* requests/s */
    double asked;     /* requests/s, at least, all the window long; NaN: not known */
    double owed;      /* of these so many as were reserved; NaN likewise */
    double busy;      /* share of the window its devices worked for it */
    double latency_s; /* 99th percentile */
    double median_s;
    double held; /* requests inside, on average */
    double
        workers; /* that can be at work for it: devices, or cores as far as it has them */
    bool shared; /* what an answer costs depends on what else the machine does */
};

/* Sums over the windows, each counts less with every one that follows. */
struct service_seen {
    double answered, owed; /* requests counted, where it is known what was asked */
    double counted;        /* requests answered, of all windows */
    double work_windows;   /* windows whose busy share is of use, and of these */
    double work, work_busy, squares; /* answered, it times busy, it squared */
    double most;                     /* most requests/s it surely answered */
    double at_once;                  /* requests/s it would answer one after the other */
    double full, full_windows;       /* ln requests/s answered when it had too many */
    double light_s;                  /* shortest 99th percentile; 0: none told */
    double batching; /* evidence that it batches; below 0: that it does not */
    bool late;       /* the newest window: its queue grows */
    bool shared;     /* see service_window */
};

/* Requests/s it can do.  A floor: at least so many, nothing is known beyond. */
struct service_capacity {
    double rate;
    double sd_log;
    bool floor;
};

void services_note(struct service_seen *seen, const struct service_window *window);
struct service_capacity services_capacity(const struct service_seen *seen);

/* Answers it what it is asked for, beyond the noise of counting?  Also while nothing is
 * known of what is asked. */
bool services_keeps_up(const struct service_seen *seen);

/* The same of one window, and so much less is forgiven. */
bool services_answers(double answered, double asked, double window_s, double tolerance);

/* Another place: what a server does with its requests is remembered, nothing else. */
void services_moved(struct service_seen *seen);
