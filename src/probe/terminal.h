/* terminal.h - a pseudo-terminal for a job whose output would have been a terminal
 *
 * Programs draw bars and colours only on a terminal, so a job started from one gets one:
 * its output is copied from there, keys go there, and the window keeps its size.  Jobs
 * with any other output get plain pipes. */
#ifndef CORGI_PROBE_TERMINAL_H
#define CORGI_PROBE_TERMINAL_H

#include "base/err.h"
#include "base/poller.h"

#include <stdbool.h>
#include <termios.h>

struct terminal {
    int master, slave; /* -1: none */
    bool raw;          /* our own terminal hands keys on as they come */
    struct termios before;
    int poller;
    struct poller_watch keys;
};

void terminal_init(struct terminal *terminal);

/* A pair with the size and settings of our own terminal on fd `like`. */
int terminal_open(struct terminal *terminal, int like, struct err *err);

/* Send what is typed on stdin to the job, until terminal_fini(). */
void terminal_forward_keys(struct terminal *terminal, int poller);
void terminal_resize(const struct terminal *terminal, int like);

/* Our terminal as it was.  The master belongs to whoever copies the output by then. */
void terminal_fini(struct terminal *terminal);

#endif
