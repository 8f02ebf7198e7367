/* fields.c - key=value lines, see fields.h
 *
 * probe_report.c reads and writes its lines with these, heartbeat.c reads datagrams. */
#include "probe/fields.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_over(const struct fields *f)
{
    return f->at == f->end || *f->at == '\n' || *f->at == '\r' || !*f->at;
}

static bool is_key_byte(char c)
{
    return islower((unsigned char)c) || isdigit((unsigned char)c) || c == '_';
}

static int read_key(struct fields *f)
{
    size_t length = 0;

    for (; f->at < f->end && is_key_byte(*f->at); f->at++) {
        if (length + 1 >= sizeof(f->key))
            return -1;
        f->key[length++] = *f->at;
    }
    f->key[length] = '\0';
    if (length == 0 || f->at == f->end || *f->at != '=')
        return -1;
    f->at++;
    return 0;
}

static int read_quoted(struct fields *f)
{
    size_t length = 0;

    for (f->at++; !is_over(f) && *f->at != '"'; f->at++) {
        if (*f->at == '\\') {
            f->at++;
            if (is_over(f) || (*f->at != '"' && *f->at != '\\'))
                return -1;
        }
        if (length + 1 >= sizeof(f->value))
            return -1;
        f->value[length++] = *f->at;
    }
    f->value[length] = '\0';
    if (is_over(f))
        return -1;
    f->at++;
    return is_over(f) || is_blank(*f->at) ? 0 : -1;
}

static int read_plain(struct fields *f)
{
    size_t length = 0;

    for (; !is_over(f) && !is_blank(*f->at); f->at++) {
        if (length + 1 >= sizeof(f->value) || *f->at == '"')
            return -1;
        f->value[length++] = *f->at;
    }
    f->value[length] = '\0';
    return 0;
}

int fields_next(struct fields *f)
{
    int rc;

    while (!is_over(f) && is_blank(*f->at))
        f->at++;
    if (is_over(f))
        return 0;
    if (read_key(f) < 0)
        return -1;
    rc = !is_over(f) && *f->at == '"' ? read_quoted(f) : read_plain(f);
    return rc < 0 ? -1 : 1;
}

/* The largest count of bytes up to max that does not end inside of a character. */
static size_t whole_characters(const char *text, size_t max)
{
    size_t length = strnlen(text, max);

    if (text[length] == '\0')
        return length;
    while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--;
    return length;
}

void fields_add_text(struct str *line, const char *key, const char *text,
                     size_t max_bytes)
{
    size_t length = whole_characters(text, max_bytes);

    str_addf(line, " %s=\"", key);
    for (size_t i = 0; i < length; i++) {
        char c = text[i];

        if ((unsigned char)c < 0x20 || c == 0x7f)
            c = ' ';
        if (c == '"' || c == '\\')
            str_add_bytes(line, "\\", 1);
        str_add_bytes(line, &c, 1);
    }
    str_add(line, "\"");
}

void fields_add_number(struct str *line, const char *key, double number)
{
    char digits[32];

    if (!isfinite(number))
        return;
    for (int precision = 6; precision <= 17; precision++) {
        snprintf(digits, sizeof(digits), "%.*g", precision, number);
        if (strtod(digits, NULL) == number)
            break;
    }
    str_addf(line, " %s=%s", key, digits);
}
