/* decimal.c - json_out.c writes numbers with this, the shortest text that reads back the
 * same
 *
 * A number m * 2^e of everyday size has a whole part of 64 bits and a fraction of few
 * enough bits that ten times it fits into 128: its digits come out exactly, one
 * multiplication each.  Beside it goes the distance up to which other decimals read back
 * as the same number, grown tenfold with every digit, so that it is seen at once whether
 * 15 digits will do.  Everything else is left to printf(). */
#include "base/decimal.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_LEAST  15
#define DIGITS_MOST   17
#define MANTISSA_BITS 53

__extension__ typedef unsigned __int128 wide;

size_t decimal_u64(char *text, uint64_t number)
{
    char backwards[24];
    size_t count = 0;

    do
        backwards[count++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    for (size_t i = 0; i < count; i++)
        text[i] = backwards[count - 1 - i];
    text[count] = '\0';
    return count;
}

size_t decimal_i64(char *text, int64_t number)
{
    if (number >= 0)
        return decimal_u64(text, (uint64_t)number);
    text[0] = '-';
    return 1 + decimal_u64(text + 1, 0 - (uint64_t)number);
}

/* ---- the usual way ----------------------------------------------------------------- */

static size_t print(char *text, double number)
{
    for (int digits = DIGITS_LEAST; digits <= DIGITS_MOST; digits++) {
        snprintf(text, DECIMAL_SIZE, "%.*g", digits, number);
        if (strtod(text, NULL) == number)
            break;
    }
    for (char *c = text; *c; c++)
        if (*c == ',') /* the decimal point of some locales */
            *c = '.';
    return strlen(text);
}

/* ---- the quick way ----------------------------------------------------------------- */

struct exact_decimal {
    uint64_t whole;
    wide fraction; /* of 2^bits */
    wide reach;    /* half the gap to the next number, likewise */
    int bits;
    bool even; /* the mantissa: then what lies half way reads back as it too */
};

struct digits {
    char text[24]; /* the whole part, then what follows the point */
    int whole;     /* how many are before the point; 0: only a zero is */
    int count;
    int leading; /* zeros after the point that do not count as digits */
};

static struct exact_decimal take_apart(double number)
{
    int exponent;
    uint64_t mantissa = (uint64_t)ldexp(frexp(number, &exponent), MANTISSA_BITS);
    struct exact_decimal x = {
        .bits = MANTISSA_BITS - exponent + 1, .reach = 1, .even = mantissa % 2 == 0};
    wide all = (wide)mantissa << 1;

    x.whole = (uint64_t)(all >> x.bits);
    x.fraction = all & (((wide)1 << x.bits) - 1);
    return x;
}

static void next_digit(struct exact_decimal *x, struct digits *d)
{
    int digit;

    x->fraction *= 10;
    x->reach *= 10;
    digit = (int)(x->fraction >> x->bits);
    x->fraction &= ((wide)1 << x->bits) - 1;
    if (d->count == 0 && digit == 0)
        d->leading++;
    else
        d->text[d->count++] = (char)('0' + digit);
}

/* Is it the same number when the digits so far are rounded to the nearest? */
static bool reads_back(const struct exact_decimal *x, bool *up)
{
    wide one = (wide)1 << x->bits, half = one >> 1, off;

    /* Half way goes to the even digit, which takes a look at it: printf() may do that. */
    *up = x->fraction > half;
    off = *up ? one - x->fraction : x->fraction;
    return off < x->reach || (off == x->reach && x->even);
}

/* One more in the last place; false when it carries into a digit that is not there. */
static bool round_up(struct digits *d)
{
    int at = d->count - 1;

    while (at >= 0 && d->text[at] == '9')
        d->text[at--] = '0';
    if (at < 0)
        return false;
    d->text[at]++;
    return true;
}

static bool find_digits(struct exact_decimal *x, struct digits *d)
{
    bool up = false;

    if (x->whole > 0)
        d->whole = d->count = (int)decimal_u64(d->text, x->whole);
    while (d->count < DIGITS_LEAST)
        next_digit(x, d);
    while (!reads_back(x, &up) && d->count < DIGITS_MOST)
        next_digit(x, d);
    if (x->fraction == (wide)1 << (x->bits - 1))
        return false;
    return !up || round_up(d);
}

static size_t put_together(char *text, const struct digits *d, bool negative)
{
    int count = d->count;
    size_t n = 0;

    while (count > d->whole && d->text[count - 1] == '0')
        count--;
    if (negative)
        text[n++] = '-';
    if (d->whole == 0)
        text[n++] = '0';
    for (int i = 0; i < d->whole; i++)
        text[n++] = d->text[i];
    if (count > d->whole)
        text[n++] = '.';
    for (int i = 0; i < d->leading; i++)
        text[n++] = '0';
    for (int i = d->whole; i < count; i++)
        text[n++] = d->text[i];
    text[n] = '\0';
    return n;
}

size_t decimal_double(char *text, double number)
{
    double size = fabs(number);
    struct digits d = {0};
    struct exact_decimal x;
    int exponent;

    /* Others are written with an exponent; below a power of two numbers lie closer. */
    if (!(size >= 1e-4 && size < 1e14) || frexp(size, &exponent) == 0.5)
        return print(text, number);
    x = take_apart(size);
    return find_digits(&x, &d) ? put_together(text, &d, number < 0) : print(text, number);
}
