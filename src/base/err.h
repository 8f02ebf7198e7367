/* err.h - what went wrong, as a code to test and a sentence to show
 *
 * A function that can fail takes a struct err last, returns 0 or -1, and fills it once.
 * The sentence names the thing (file, line, key) and what to do; whoever handles it shows
 * it. */
#pragma once

/* The one table of codes: name, short text for logs and JSON. */
#define ERR_CODES(X)                                                                     \
    X(NONE, "none")                                                                      \
    X(INVALID, "invalid") /* a value outside what is allowed */                          \
    X(FORMAT, "format")   /* a file or message that cannot be read as such */            \
    X(NOT_FOUND, "not_found")                                                            \
    X(EXISTS, "exists")                                                                  \
    X(LIMIT, "limit")           /* too large, too many, too deep */                      \
    X(INFEASIBLE, "infeasible") /* understood, but it cannot be done */                  \
    X(UNSUPPORTED, "unsupported")                                                        \
    X(BUSY, "busy")     /* too much is under way: try again later */                     \
    X(USAGE, "usage")   /* wrong command line */                                         \
    X(SYSTEM, "system") /* the operating system said no; text holds errno's */

enum err_code {
#define ERR_ENUM(name, text) ERR_##name,
    ERR_CODES(ERR_ENUM)
#undef ERR_ENUM
        ERR_CODE_COUNT
};

struct err {
    enum err_code code;
    char text[1200]; /* one line; of a config file, a line a mistake */
};

/* Fill err (NULL is fine) and return -1, so that callers can `return err_set(...)`. */
int err_set(struct err *err, enum err_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with errno's text appended, code ERR_SYSTEM. */
int err_sys(struct err *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Put "context: " before the sentence that is already there; returns -1. */
int err_prefix(struct err *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

const char *err_code_name(enum err_code code);
