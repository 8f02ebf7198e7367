/* json_out.c - JSON as it goes out: answers of the API, exports, results
 *
 * The daemon writes hundreds of numbers into an answer, and printf() takes about a
 * microsecond for each.  The common ones are written here in a twentieth of that, byte
 * for byte as printf() would. */
#include "base/json_out.h"

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
            length = str_utf8_length(text);
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

/* ---- numbers ----------------------------------------------------------------------- */

#define NUMBER_SIZE   40 /* bytes that hold any number */
#define DIGITS_LEAST  15
#define DIGITS_MOST   17
#define MANTISSA_BITS 53

__extension__ typedef unsigned __int128 wide;

/* The digits of a whole number, at least so many, backwards from the end; where they
 * begin. */
static char *put_digits(char *end, uint64_t number, int least)
{
    for (; number > 0 || least > 0; number /= 10, least--)
        *--end = (char)('0' + number % 10);
    return end;
}

/* A number m * 2^e of everyday size has a whole part of 64 bits and a fraction of few
 * enough bits that 10^20 times it fits into 128: its digits come out exactly.  Beside it
 * goes the distance up to which other decimals read back as the same number, so that it
 * is seen at once whether 15 digits will do.  NULL when printf() must do it: numbers with
 * an exponent, powers of two (below them numbers lie closer), what lies half way between
 * two decimals, and digits that carry into the place before them. */
static char *put_real(char *end, double size)
{
    int exponent, places = DIGITS_LEAST, most;
    double part = frexp(size, &exponent);
    uint64_t mantissa = (uint64_t)ldexp(part, MANTISSA_BITS), whole, digits;
    int bits = MANTISSA_BITS - exponent + 1;
    wide one, fraction, rest, gap = 1; /* of 2^bits; half the gap to the next number */
    bool up;

    if (!(size >= 1e-4 && size < 1e14) || part == 0.5)
        return NULL;
    one = (wide)1 << bits;
    whole = (uint64_t)(((wide)mantissa << 1) >> bits);
    fraction = ((wide)mantissa << 1) & (one - 1);
    for (uint64_t left = whole; left > 0; left /= 10)
        places--;
    for (wide left = fraction * 10; whole == 0 && left < one; left *= 10)
        places++; /* zeros after the point do not count as digits */
    most = places + DIGITS_MOST - DIGITS_LEAST;
    for (int i = 0; i < places; i++)
        gap *= 10;
    for (;; places++, gap *= 10) {
        wide off;

        digits = (uint64_t)(fraction * gap >> bits);
        rest = fraction * gap & (one - 1);
        up = rest > one / 2;
        off = up ? one - rest : rest;
        if (off < gap || (off == gap && mantissa % 2 == 0) || places == most)
            break;
    }
    digits += up;
    if (rest == one / 2 || digits == gap)
        return NULL;
    for (; places > 0 && digits % 10 == 0; places--)
        digits /= 10;
    if (places > 0) {
        end = put_digits(end, digits, places);
        *--end = '.';
    }
    return put_digits(end, whole, 1);
}

/* With the fewest of 15, 16 or 17 digits that read back as the same number. */
static void print_real(struct str *to, double number)
{
    char text[NUMBER_SIZE];

    for (int digits = DIGITS_LEAST; digits <= DIGITS_MOST; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, number);
        if (strtod(text, NULL) == number)
            break;
    }
    for (char *c = text; *c; c++)
        if (*c == ',') /* the decimal point of some locales */
            *c = '.';
    str_add(to, text);
}

static void add_backwards(struct str *to, char *begin, const char *end, bool negative)
{
    if (negative)
        *--begin = '-';
    str_add_bytes(to, begin, (size_t)(end - begin));
}

void json_out_number(struct json_out *out, double number)
{
    char text[NUMBER_SIZE], *end = text + sizeof(text), *begin;

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
    begin = put_real(end, fabs(number));
    if (begin)
        add_backwards(out->to, begin, end, number < 0);
    else
        print_real(out->to, number);
}

void json_out_int(struct json_out *out, int64_t number)
{
    char text[NUMBER_SIZE], *end = text + sizeof(text);
    uint64_t size = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;

    before_value(out);
    add_backwards(out->to, put_digits(end, size, 1), end, number < 0);
}

void json_out_u64(struct json_out *out, uint64_t number)
{
    char text[NUMBER_SIZE], *end = text + sizeof(text);

    before_value(out);
    add_backwards(out->to, put_digits(end, number, 1), end, false);
}

/* ---- other values ------------------------------------------------------------------ */

void json_out_raw(struct json_out *out, const char *json)
{
    before_value(out);
    str_add(out->to, json);
}
