/* helper_link.h - the daemon's end of the line to corgi-engine-slurm
 *
 * Starts the helper, or connects to one that systemd started, says hello, sends requests
 * and hands out answers.  Whatever goes wrong there (it dies, hangs, is of another
 * version, sends no JSON or too much) ends the line: `down` is called once with a
 * sentence, and the line is tried again after a while, longer each time.  Nothing here
 * blocks.  What is said is in docs/slurm.md. */
#pragma once

#include "base/err.h"
#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

struct helper_link;

struct helper_link_options {
    const char *helper; /* a program, or unix:PATH */
    bool read_only;     /* only a helper that refuses to change anything will do */
    double within_s;    /* a request's time; so much more and a bit ends the line */
};

struct helper_link_sink {
    void (*up)(void *ctx); /* it has said hello */
    void (*down)(void *ctx, const char *why);
    /* An answer; value NULL: refused, and error says why.  Values are borrowed. */
    void (*answer)(void *ctx, const char *op, const struct json_value *value,
                   const char *error);
    /* The answer to an order; value NULL: code as in docs/slurm.md, and error says why.
     * NULL: nobody orders.  Orders on a line that goes down are never answered. */
    void (*ordered)(void *ctx, uint64_t tag, const struct json_value *value,
                    const char *code, const char *error);
    void *ctx;
};

/* Descriptors are watched by the poller. */
struct helper_link *helper_link_create(int poller,
                                       const struct helper_link_options *options,
                                       struct helper_link_sink sink);
void helper_link_destroy(struct helper_link *link); /* NULL is fine */

bool helper_link_is_up(const struct helper_link *link);

/* Send a request; op is a text that lasts.  Nothing happens while the line is down, or
 * while the same request is not answered. */
void helper_link_ask(struct helper_link *link, const char *op);

/* Send a request that changes something.  members: of the request, as JSON without
 * braces; tag: the client's own.  False: the line is down, or too much waits for an
 * answer. */
bool helper_link_order(struct helper_link *link, const char *op, const char *members,
                       uint64_t tag);

/* Do what is due by this time on the monotonic clock; returns when the next thing is. */
double helper_link_advance(struct helper_link *link, double now_s);
