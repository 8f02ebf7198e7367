/* html.c - the characters of the report's page: all of report/ writes text through here
 */
#include "lab/report/html.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLACEMENT "\xEF\xBF\xBD"

/* Length of the UTF-8 character at s; 0 when it is none that XML may hold. */
static int character(const unsigned char *s)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    int length = s[0] < 0x80   ? 1
                 : s[0] < 0xC0 ? 0
                 : s[0] < 0xE0 ? 2
                 : s[0] < 0xF0 ? 3
                               : 4;
    uint32_t code;

    if (length <= 1)
        return length && (s[0] >= 0x20 || s[0] == '\t' || s[0] == '\n') && s[0] != 0x7F;
    if (s[0] > 0xF4)
        return 0;
    code = s[0] & (0x7Fu >> length);
    for (int i = 1; i < length; i++) {
        if ((s[i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (s[i] & 0x3F);
    }
    if (code < least[length] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF) ||
        code == 0xFFFE || code == 0xFFFF || (code >= 0x80 && code < 0xA0))
        return 0;
    return length;
}

static const char *entity(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void html_text(struct str *out, const char *text)
{
    while (*text) {
        const char *escaped = entity(*text);
        int length = character((const unsigned char *)text);

        if (escaped)
            str_add(out, escaped);
        else if (length > 0)
            str_add_bytes(out, text, (size_t)length);
        else
            str_add(out, REPLACEMENT);
        text += length > 0 ? length : 1;
    }
}

void html_element(struct str *out, const char *tag, const char *text)
{
    str_addf(out, "<%s>", tag);
    html_text(out, text);
    str_addf(out, "</%.*s>", (int)strcspn(tag, " "), tag);
}

void html_elementf(struct str *out, const char *tag, const char *format, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        abort();
    va_end(args);
    html_element(out, tag, text);
    free(text);
}

/* Rounded first: what prints as zero has no sign. */
static double rounded(double value, int digits)
{
    return fabs(value) < pow(10, -digits) / 2 ? 0 : value;
}

struct html_figure html_number(double value, int digits)
{
    struct html_figure f = {"–"};
    double shown = rounded(value, digits);

    if (isfinite(value))
        snprintf(f.text, sizeof(f.text), "%s%.*f", shown < 0 ? "−" : "", digits,
                 fabs(shown));
    return f;
}

struct html_figure html_mean(struct sweep_mean mean, int digits, bool sign)
{
    bool spread = isfinite(mean.mean) && isfinite(mean.half_width);
    struct html_figure f;

    snprintf(f.text, sizeof(f.text), "%s%.32s%s%.32s",
             sign && rounded(mean.mean, digits) > 0 ? "+" : "",
             html_number(mean.mean, digits).text, spread ? " ±" : "",
             spread ? html_number(mean.half_width, digits).text : "");
    return f;
}

int html_digits(double value)
{
    double size = fabs(value);

    return size >= 100 || !isfinite(size) ? 0 : size >= 10 ? 1 : 2;
}
