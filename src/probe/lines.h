/* lines.h - lines out of a stream of bytes as a terminal would show them
 *
 * Output comes in pieces of any size, with carriage returns that redraw a line, colours
 * and other escape sequences, backspaces, and sometimes it is no text at all.  Each line
 * is handed on cleaned: no escapes, no control bytes, at most LINES_MAX bytes.  A line
 * with bytes no text has is passed over. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define LINES_MAX 2048

struct lines {
    /* The text has a NUL behind it; at_s is when its last byte came, which can be long
     * before its line was ended. */
    void (*line)(void *ctx, double at_s, const char *text, size_t length);
    void *ctx;
    double at_s;
    size_t length;
    int escape; /* where in an escape sequence we are */
    bool binary;
    char text[LINES_MAX + 1];
};

void lines_init(struct lines *lines, void (*line)(void *, double, const char *, size_t),
                void *ctx);
void lines_feed(struct lines *lines, double now_s, const char *bytes, size_t count);

/* Hand on what has no end yet: a progress bar ends its line only when it redraws it.  At
 * the end of the stream, and when it has been quiet for a while. */
void lines_flush(struct lines *lines);

/* Bytes were left out here: forget the line that was cut in two. */
void lines_skip(struct lines *lines);
