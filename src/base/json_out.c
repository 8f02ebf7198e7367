/* json_out.c - JSON as it goes out: answers of the API, exports, results */
#include "base/json_out.h"

#include "base/decimal.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void json_out_init(struct json_out *out, struct str *to, bool pretty)
{
    *out = (struct json_out){.to = to, .pretty = pretty};
}

static void new_line(struct json_out *out)
{
    if (!out->pretty)
        return;
    str_add(out->to, "\n");
    for (int i = 0; i < out->depth; i++)
        str_add(out->to, "  ");
}

/* What stands before a key or an item of an array. */
static void separate(struct json_out *out)
{
    if (out->depth == 0)
        return;
    if (out->filled[out->depth - 1])
        str_add_bytes(out->to, ",", 1);
    out->filled[out->depth - 1] = true;
    new_line(out);
}

static void before_value(struct json_out *out)
{
    if (out->after_key) {
        out->after_key = false;
        return;
    }
    assert(out->depth == 0 || out->closers[out->depth - 1] == ']');
    separate(out);
}

static void begin(struct json_out *out, const char *opener, char closer)
{
    before_value(out);
    assert(out->depth < JSON_OUT_MAX_NESTING);
    str_add(out->to, opener);
    out->closers[out->depth] = closer;
    out->filled[out->depth] = false;
    out->depth++;
}

void json_out_begin_object(struct json_out *out)
{
    begin(out, "{", '}');
}

void json_out_begin_array(struct json_out *out)
{
    begin(out, "[", ']');
}

void json_out_end(struct json_out *out)
{
    assert(out->depth > 0 && !out->after_key);
    out->depth--;
    if (out->filled[out->depth])
        new_line(out);
    str_add_bytes(out->to, &out->closers[out->depth], 1);
    if (out->depth == 0 && out->pretty)
        str_add(out->to, "\n");
}

/* Bytes of the well-formed UTF-8 character at s, 0 when there is none. */
static size_t utf8_length(const unsigned char *s)
{
    static const struct {
        unsigned char mask, lead, second_min, second_max;
        size_t length;
    } forms[] = {
        {0xff, 0xe0, 0xa0, 0xbf, 3}, /* not overlong */
        {0xff, 0xed, 0x80, 0x9f, 3}, /* no surrogates */
        {0xff, 0xf0, 0x90, 0xbf, 4}, /* not overlong */
        {0xff, 0xf4, 0x80, 0x8f, 4}, /* not past the last */
        {0xe0, 0xc0, 0x80, 0xbf, 2}, {0xf0, 0xe0, 0x80, 0xbf, 3},
        {0xfc, 0xf0, 0x80, 0xbf, 4},
    };

    if (s[0] < 0x80)
        return 1;
    if (s[0] == 0xc0 || s[0] == 0xc1)
        return 0;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if ((s[0] & forms[i].mask) != forms[i].lead)
            continue;
        if (s[1] < forms[i].second_min || s[1] > forms[i].second_max)
            return 0;
        for (size_t k = 2; k < forms[i].length; k++)
            if ((s[k] & 0xc0) != 0x80)
                return 0;
        return forms[i].length;
    }
    return 0;
}

static void add_character(struct str *to, const char *text, size_t length)
{
    static const char escaped[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *found = length == 1 ? strchr(escaped, *text) : NULL;

    if (length == 0)
        str_add(to, "\\ufffd"); /* what stands for a byte that is no text */
    else if (found)
        str_addf(to, "\\%c", letters[found - escaped]);
    else if ((unsigned char)*text < 0x20 || *text == 0x7f)
        str_addf(to, "\\u%04x", (unsigned)*text);
    else
        str_add_bytes(to, text, length);
}

/* Bytes that stand for themselves, as most do: taken together. */
static size_t plain_length(const char *text)
{
    size_t length = 0;

    while ((unsigned char)text[length] >= 0x20 && (unsigned char)text[length] < 0x7f &&
           text[length] != '"' && text[length] != '\\')
        length++;
    return length;
}

static void add_quoted(struct str *to, const char *text)
{
    size_t length = plain_length(text);

    if (!text[length]) { /* nearly always */
        char *to_here = str_grow(to, length + 2);

        to_here[0] = '"';
        memcpy(to_here + 1, text, length);
        to_here[length + 1] = '"';
        return;
    }
    str_add_bytes(to, "\"", 1);
    while (*text) {
        length = plain_length(text);
        if (length > 0) {
            str_add_bytes(to, text, length);
        } else {
            length = utf8_length((const unsigned char *)text);
            add_character(to, text, length);
        }
        text += length ? length : 1;
    }
    str_add_bytes(to, "\"", 1);
}

void json_out_key(struct json_out *out, const char *key)
{
    assert(out->depth > 0 && out->closers[out->depth - 1] == '}' && !out->after_key);
    separate(out);
    add_quoted(out->to, key);
    str_add_bytes(out->to, ": ", out->pretty ? 2 : 1);
    out->after_key = true;
}

void json_out_string(struct json_out *out, const char *text)
{
    if (!text) {
        json_out_null(out);
        return;
    }
    before_value(out);
    add_quoted(out->to, text);
}

void json_out_number(struct json_out *out, double number)
{
    char digits[DECIMAL_SIZE];

    if (!isfinite(number)) {
        json_out_null(out);
        return;
    }
    /* Most are whole: no need to try how many digits they take. */
    if (fabs(number) < 1e15 && number == trunc(number) &&
        !(number == 0 && signbit(number))) {
        json_out_int(out, (int64_t)number);
        return;
    }
    before_value(out);
    str_add_bytes(out->to, digits, decimal_double(digits, number));
}

void json_out_int(struct json_out *out, int64_t number)
{
    char digits[DECIMAL_SIZE];

    before_value(out);
    str_add_bytes(out->to, digits, decimal_i64(digits, number));
}

void json_out_u64(struct json_out *out, uint64_t number)
{
    char digits[DECIMAL_SIZE];

    before_value(out);
    str_add_bytes(out->to, digits, decimal_u64(digits, number));
}

void json_out_bool(struct json_out *out, bool flag)
{
    before_value(out);
    str_add(out->to, flag ? "true" : "false");
}

void json_out_raw(struct json_out *out, const char *json)
{
    before_value(out);
    str_add(out->to, json);
}

void json_out_null(struct json_out *out)
{
    before_value(out);
    str_add_bytes(out->to, "null", 4);
}

void json_out_key_string(struct json_out *out, const char *key, const char *text)
{
    json_out_key(out, key);
    json_out_string(out, text);
}

void json_out_key_number(struct json_out *out, const char *key, double number)
{
    json_out_key(out, key);
    json_out_number(out, number);
}

void json_out_key_int(struct json_out *out, const char *key, int64_t number)
{
    json_out_key(out, key);
    json_out_int(out, number);
}

void json_out_key_bool(struct json_out *out, const char *key, bool flag)
{
    json_out_key(out, key);
    json_out_bool(out, flag);
}
