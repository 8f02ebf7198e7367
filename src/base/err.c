/* err.c - every function that can fail fills one of these; programs print it or log it */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *err, enum err_code code, const char *format, ...)
{
    va_list args;

    if (!err)
        return -1;
    err->code = code;
    va_start(args, format);
    vsnprintf(err->text, sizeof(err->text), format, args);
    va_end(args);
    return -1;
}

int err_sys(struct err *err, const char *format, ...)
{
    int saved = errno;
    va_list args;
    size_t used;

    if (!err)
        return -1;
    err->code = ERR_SYSTEM;
    va_start(args, format);
    vsnprintf(err->text, sizeof(err->text), format, args);
    va_end(args);
    used = strlen(err->text);
    snprintf(err->text + used, sizeof(err->text) - used, ": %s", strerror(saved));
    return -1;
}

int err_prefix(struct err *err, const char *format, ...)
{
    char old[sizeof(err->text)];
    va_list args;
    size_t used;

    if (!err)
        return -1;
    memcpy(old, err->text, sizeof(old));
    va_start(args, format);
    vsnprintf(err->text, sizeof(err->text), format, args);
    va_end(args);
    used = strlen(err->text);
    snprintf(err->text + used, sizeof(err->text) - used, ": %s", old);
    return -1;
}

const char *err_code_name(enum err_code code)
{
    static const char *const names[] = {
#define ERR_NAME(name, text) text,
        ERR_CODES(ERR_NAME)
#undef ERR_NAME
    };

    return (unsigned)code < ERR_CODE_COUNT ? names[code] : "unknown";
}
