/* streams.h - where the job's output goes
 *
 * Pipes to the probe's own stdout and stderr or to one file; a single pipe where both go
 * to the same place, so that what the job wrote in order stays in order.
 *
 * Programs draw bars and colours only on a terminal, so a job that is started from one
 * gets a pseudo-terminal: its output is copied from there, keys go there, and the window
 * keeps its size. */
#pragma once

#include "base/err.h"
#include "base/poller.h"
#include "probe/output_limit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <termios.h>

#define OUTPUT_TAIL 8192

/* The end of the output, which explains how the job ended. */
struct output_end {
    char tail[OUTPUT_TAIL]; /* of stderr, or of stdout when that has nothing */
    size_t tail_length;
    double dropped_bytes; /* because the file was to stay small */
    uint64_t lost_bytes;  /* and why */
    int lost_errno;
};

struct relay;

struct streams {
    int child_in, child_out, child_err; /* the job's ends; -1: as the probe's own */
    bool controlling;                   /* child_out is to be its controlling terminal */
    int master, slave;                  /* of the pseudo-terminal; -1: none */
    bool raw;              /* the probe's terminal hands keys on as they come */
    struct termios before; /* its settings until then */
    struct poller_watch keys;
    int poller;                /* -1: the job was not started yet */
    struct output_limit limit; /* of the file it goes to */
    struct relay *relays[2];   /* (count) one for each pipe */
    int count;
};

/* Nothing open yet; streams_fini() is fine from here on. */
void streams_init(struct streams *streams);

/* output: append to this file, of which at most limit_bytes are kept (0: all); NULL: the
 * probe's own stdout and stderr. */
int streams_open(struct streams *streams, const char *output, double limit_bytes,
                 struct err *err);

/* After the job was started: close its ends and copy.  line() as in lines.h. */
void streams_start(struct streams *streams, int poller,
                   void (*line)(void *, double, const char *, size_t), void *ctx);

/* The probe's window has another size now. */
void streams_resize(const struct streams *streams);

double streams_due_s(const struct streams *streams);
void streams_tick(struct streams *streams, double now_s);

/* A line of the probe's own into the job's stderr, before it was started. */
void streams_say(const struct streams *streams, const char *line);

/* All writers are gone: hand on what is still in the pipes, and tell how it ended. */
void streams_end(struct streams *streams, struct output_end *end);

void streams_fini(struct streams *streams);
