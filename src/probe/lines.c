/* lines.c - bytes of output to clean lines, see lines.h
 *
 * streams.c feeds what passes through it; each line goes on to job_meter.c.  supervisor.c
 * reads the last line of a job the same way. */
#include "probe/lines.h"

#include <string.h>

enum escape_state {
    ESCAPE_NONE,
    ESCAPE_BEGUN,  /* after ESC */
    ESCAPE_CSI,    /* after ESC [ : until a letter */
    ESCAPE_STRING, /* after ESC ] and the like: until BEL or ESC \ */
    ESCAPE_STRING_END,
    ESCAPE_CHARSET, /* after ESC ( : one byte more */
};

void lines_init(struct lines *lines, void (*line)(void *, double, const char *, size_t),
                void *ctx)
{
    lines->line = line;
    lines->ctx = ctx;
    lines->length = 0;
    lines->escape = ESCAPE_NONE;
    lines->binary = false;
}

void lines_flush(struct lines *lines)
{
    if (lines->length > 0 && !lines->binary) {
        lines->text[lines->length] = '\0';
        lines->line(lines->ctx, lines->at_s, lines->text, lines->length);
    }
    lines->length = 0;
    lines->binary = false;
}

void lines_skip(struct lines *lines)
{
    lines->length = 0;
    lines->escape = ESCAPE_NONE;
    lines->binary = true;
}

/* Moving the cursor to another place begins another line; colours do not. */
static void csi_end(struct lines *lines, char final)
{
    if (strchr("ABEFGHJfdu", final))
        lines_flush(lines);
}

static void in_escape(struct lines *lines, char c)
{
    switch ((enum escape_state)lines->escape) {
    case ESCAPE_BEGUN:
        lines->escape = c == '[' ? ESCAPE_CSI
                        : c && strchr("]PX^_", c)
                            ? ESCAPE_STRING
                            : (c == '(' || c == ')' ? ESCAPE_CHARSET : ESCAPE_NONE);
        break;
    case ESCAPE_CSI:
        if (c >= 0x40 && c <= 0x7e) {
            lines->escape = ESCAPE_NONE;
            csi_end(lines, c);
        } else if ((unsigned char)c < 0x20 || (unsigned char)c >= 0x7f) {
            lines->escape = ESCAPE_NONE;
        }
        break;
    case ESCAPE_STRING:
        lines->escape = c == '\a'     ? ESCAPE_NONE
                        : c == '\033' ? ESCAPE_STRING_END
                        : c == '\n'   ? ESCAPE_NONE
                                      : ESCAPE_STRING;
        break;
    case ESCAPE_STRING_END:
    case ESCAPE_CHARSET:
    case ESCAPE_NONE:
        lines->escape = ESCAPE_NONE;
        break;
    }
}

static void control(struct lines *lines, char c)
{
    switch (c) {
    case '\n':
    case '\r':
    case '\b': /* old progress bars go back byte by byte and draw again */
    case '\f':
        lines_flush(lines);
        break;
    case '\033':
        lines->escape = ESCAPE_BEGUN;
        break;
    case '\t':
        if (lines->length < LINES_MAX)
            lines->text[lines->length++] = c;
        break;
    case '\a':
    case '\016':
    case '\017':
        break;
    default:
        lines->binary = true;
    }
}

void lines_feed(struct lines *lines, double now_s, const char *bytes, size_t count)
{
    const char *end = bytes + count;

    while (bytes < end) {
        unsigned char c = (unsigned char)*bytes;

        if (lines->escape != ESCAPE_NONE) {
            in_escape(lines, *bytes++);
        } else if (c < 0x20 || c == 0x7f) {
            control(lines, *bytes++);
        } else if (lines->length == LINES_MAX || lines->binary) {
            bytes++; /* the rest of it is not kept */
        } else {
            lines->text[lines->length++] = *bytes++;
            lines->at_s = now_s;
        }
    }
}
