/* html.h - text that cannot break out of a page, and figures as people read them
 *
 * Names come from traces and command lines: every one of them goes through html_text().
 * What comes out is well-formed XML, too. */
#pragma once

#include "base/str.h"
#include "lab/sim/sweep.h"

/* Escaped for text and for attributes in double quotes.  Bytes that are no UTF-8 and
 * control characters become U+FFFD. */
void html_text(struct str *out, const char *text);

/* "<tag>text</tag>" with the text escaped; the tag may bring attributes along, which are
 * written as they are. */
void html_element(struct str *out, const char *tag, const char *text);
void html_elementf(struct str *out, const char *tag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A figure as text, for the format of the same expression: html_number(x, 1).text. */
struct html_figure {
    char text[80];
};

/* With so many digits behind the point; what is not a number becomes a dash, and -0.0
 * loses its sign. */
struct html_figure html_number(double value, int digits);

/* "12.3 ±0.4", or "12.3" without an interval; with `sign` also "+12.3". */
struct html_figure html_mean(struct sweep_mean mean, int digits, bool sign);

/* Digits that suit a number of this size: 3 significant ones, none of them behind the
 * point from 100 on. */
int html_digits(double value);
