/* uri.c - see uri.h */
#include "http/uri.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Bytes of the UTF-8 character that begins here; 0 when it is malformed, overlong, a
 * surrogate or past the last. */
static size_t utf8_length(const unsigned char *s)
{
    size_t length = s[0] < 0x80             ? 1
                    : (s[0] & 0xe0) == 0xc0 ? 2
                    : (s[0] & 0xf0) == 0xe0 ? 3
                    : (s[0] & 0xf8) == 0xf0 ? 4
                                            : 0;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t point = length > 1 ? s[0] & (0xffu >> (length + 1)) : s[0];

    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (s[i] & 0x3f);
    }
    if (length == 0 || point < least[length] || point > 0x10ffff ||
        (point >= 0xd800 && point <= 0xdfff))
        return 0;
    return length;
}

static bool is_text(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;

    while (*s) {
        size_t length = utf8_length(s);

        if (length == 0 || *s < 0x20 || *s == 0x7f)
            return false;
        s += length;
    }
    return true;
}

bool uri_decode(char *text)
{
    char *to = text;

    for (const char *from = text; *from; from++) {
        if (*from == '%') {
            int high = hex_digit(from[1]);
            int low = high < 0 ? -1 : hex_digit(from[2]);

            if (low < 0 || (high == 0 && low == 0))
                return false;
            *to++ = (char)(high << 4 | low);
            from += 2;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
    return is_text(text);
}

static int take_pair(struct uri_query *query, char *text, struct err *err)
{
    char *equals = strchr(text, '=');
    char *value = equals ? equals + 1 : text + strlen(text);

    for (char *c = text; *c; c++)
        if (*c == '+')
            *c = ' ';
    if (equals)
        *equals = '\0';
    if (!uri_decode(text) || !uri_decode(value) || !*text)
        return err_set(err, ERR_INVALID, "the query is not properly encoded");
    if (uri_query_get(query, text))
        return err_set(err, ERR_INVALID, "'%.60s' is given twice", text);
    if (query->count == URI_MAX_PAIRS)
        return err_set(err, ERR_LIMIT, "the query has more than %d parameters",
                       URI_MAX_PAIRS);
    query->pairs[query->count++] = (struct uri_pair){text, value};
    return 0;
}

int uri_query_parse(struct uri_query *query, char *text, struct err *err)
{
    char *next;

    query->count = 0;
    for (; text; text = next) {
        next = strchr(text, '&');
        if (next)
            *next++ = '\0';
        if (*text && take_pair(query, text, err) < 0)
            return -1;
    }
    return 0;
}

const char *uri_query_get(const struct uri_query *query, const char *name)
{
    for (size_t i = 0; i < query->count; i++)
        if (!strcmp(query->pairs[i].name, name))
            return query->pairs[i].value;
    return NULL;
}
