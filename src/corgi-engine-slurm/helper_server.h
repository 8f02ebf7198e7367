/* helper_server.h - requests in, answers out, and nobody waits for libslurm
 *
 * The main thread reads lines of JSON from its clients and hands each request to one of
 * four worker threads, where libslurm may block as long as it likes.  A request that is
 * not answered within its own time gets the answer "late", and what the worker brings
 * afterwards is dropped.  Lines and answers are in docs/slurm.md. */
#pragma once

#include "base/err.h"

#include <stdbool.h>

struct helper_options {
    bool read_only;
    const char *socket; /* listen there; NULL: one client, at standard input and output */
    const char
        *allow; /* who may connect there beside root and our own user; NULL: nobody */
};

/* Until standard input ends, or for ever on a socket. */
int helper_server_run(const struct helper_options *options, struct err *err);
