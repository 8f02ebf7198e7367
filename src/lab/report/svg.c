/* svg.c - see svg.h */
#include "lab/report/svg.h"

#include "lab/report/html.h"

#include <math.h>
#include <string.h>

/* Mean advance of a letter at 11 px in the sans-serif faces there are, rounded up. */
#define LETTER_WIDTH 6.3

void svg_number(struct str *out, double value)
{
    double tenths = isfinite(value) ? round(value * 10) : 0;

    str_addf(out, "%.7g", tenths == 0 ? 0 : tenths / 10);
}

static void attribute(struct str *out, const char *name, double value)
{
    str_addf(out, " %s=\"", name);
    svg_number(out, value);
    str_add(out, "\"");
}

void svg_begin(struct str *out, int id, double width, double height, const char *title,
               const char *description)
{
    str_add(out, "<svg role=\"img\" viewBox=\"0 0 ");
    svg_number(out, width);
    str_add(out, " ");
    svg_number(out, height);
    str_addf(out, "\" aria-labelledby=\"t%d d%d\"><title id=\"t%d\">", id, id, id);
    html_text(out, title);
    str_addf(out, "</title><desc id=\"d%d\">", id);
    html_text(out, description);
    str_add(out, "</desc>\n");
}

void svg_end(struct str *out)
{
    str_add(out, "</svg>\n");
}

void svg_line(struct str *out, const char *cls, double x1, double y1, double x2,
              double y2)
{
    str_addf(out, "<line class=\"%s\"", cls);
    attribute(out, "x1", x1);
    attribute(out, "y1", y1);
    attribute(out, "x2", x2);
    attribute(out, "y2", y2);
    str_add(out, "/>\n");
}

/* The end of a shape's tag, with its tip inside. */
static void close_shape(struct str *out, const char *tag, const char *tip)
{
    if (!tip) {
        str_add(out, "/>\n");
        return;
    }
    str_add(out, ">");
    html_element(out, "title", tip);
    str_addf(out, "</%s>\n", tag);
}

void svg_rect(struct str *out, const char *cls, double x, double y, double width,
              double height, const char *tip)
{
    str_addf(out, "<rect class=\"%s\"", cls);
    attribute(out, "x", x);
    attribute(out, "y", y);
    attribute(out, "width", fmax(0, width));
    attribute(out, "height", fmax(0, height));
    close_shape(out, "rect", tip);
}

void svg_text(struct str *out, const char *cls, double x, double y,
              enum svg_anchor anchor, const char *text)
{
    static const char *const anchors[] = {"", " text-anchor=\"middle\"",
                                          " text-anchor=\"end\""};

    str_addf(out, "<text class=\"%s\"%s", cls, anchors[anchor]);
    attribute(out, "x", x);
    attribute(out, "y", y);
    str_add(out, ">");
    html_text(out, text);
    str_add(out, "</text>\n");
}

void svg_point(struct str *out, char letter, double x, double y)
{
    str_addf(out, "%c", letter);
    svg_number(out, x);
    str_add(out, " ");
    svg_number(out, y);
}

void svg_mark(struct str *out, const char *cls, enum svg_shape shape, double x, double y,
              double size, const char *tip)
{
    /* Corners of each shape around its middle; a circle is drawn as such. */
    static const double corners[][8] = {
        [SVG_SQUARE] = {-0.9, -0.9, 0.9, -0.9, 0.9, 0.9, -0.9, 0.9},
        [SVG_TRIANGLE] = {0, -1.1, 1.1, 0.9, -1.1, 0.9, 0, -1.1},
        [SVG_DIAMOND] = {0, -1.3, 1.3, 0, 0, 1.3, -1.3, 0},
    };

    if (shape == SVG_CIRCLE) {
        str_addf(out, "<circle class=\"%s\"", cls);
        attribute(out, "cx", x);
        attribute(out, "cy", y);
        attribute(out, "r", size);
        close_shape(out, "circle", tip);
        return;
    }
    str_addf(out, "<path class=\"%s\" d=\"", cls);
    for (size_t i = 0; i < 4; i++)
        svg_point(out, i ? 'L' : 'M', x + size * corners[shape][2 * i],
                  y + size * corners[shape][2 * i + 1]);
    str_add(out, "Z\"");
    close_shape(out, "path", tip);
}

double svg_text_width(const char *text)
{
    size_t letters = 0;

    for (; *text; text++)
        letters += ((unsigned char)*text & 0xC0) != 0x80;
    return LETTER_WIDTH * (double)letters;
}
