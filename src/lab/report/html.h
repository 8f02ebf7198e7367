/* html.h - text that cannot break out of a page
 *
 * Names come from traces and command lines: every one of them goes through html_text().
 * What comes out is well-formed XML, too. */
#ifndef CORGI_LAB_REPORT_HTML_H
#define CORGI_LAB_REPORT_HTML_H

#include "base/str.h"
#include "lab/sim/sweep.h"

/* Escaped for text and for attributes in double quotes.  Bytes that are no UTF-8 and
 * control characters become U+FFFD. */
void html_text(struct str *out, const char *text);

/* "<tag>text</tag>" with the text escaped. */
void html_element(struct str *out, const char *tag, const char *text);

/* With so many digits behind the point; what is not a number becomes a dash, and -0.0
 * loses its sign. */
void html_number(struct str *out, double value, int digits);

/* "12.3 ±0.4", or "12.3" without an interval; with `sign` also "+12.3". */
void html_mean(struct str *out, struct sweep_mean mean, int digits, bool sign);

/* Digits that suit a number of this size: 3 significant ones, none of them behind the
 * point from 100 on. */
int html_digits(double value);

#endif
