/* table.c - commands fill a table here and have it printed: aligned for a terminal by
 * libsmartcols, which only this file knows, or plainly for programs */
#include "base/table.h"

#include "base/mem.h"
#include "base/str.h"

#include <assert.h>
#include <libsmartcols.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#define BETWEEN     "  "
#define LEAST_WORDS 18 /* before that optional columns go */
#define NARROWEST   12

struct table {
    struct libscols_table *rows;
    struct libscols_line *line; /* the newest */
    size_t filled;              /* of its cells */
    uint64_t optional;          /* a bit a column that a narrow terminal goes without */
    bool failed;                /* memory was out */
};

struct table *table_create(const char *titles)
{
    struct table *t = mem_new(struct table);

    t->rows = scols_new_table();
    table_columns(t, titles);
    return t;
}

void table_destroy(struct table *t)
{
    scols_unref_table(t->rows);
    free(t);
}

void table_columns(struct table *t, const char *titles)
{
    char title[80];

    for (;; titles++) {
        bool optional = *titles == '?', right = titles[optional] == '>';
        size_t length;

        titles += optional + right;
        if (optional)
            t->optional |= 1ULL << scols_table_get_ncols(t->rows);
        length = strcspn(titles, "|");
        snprintf(title, sizeof(title), "%.*s", (int)length, titles);
        if (!scols_table_new_column(t->rows, title, 0, right ? SCOLS_FL_RIGHT : 0))
            t->failed = true;
        titles += length;
        if (!*titles)
            return;
    }
}

void table_row(struct table *t)
{
    t->line = scols_table_new_line(t->rows, NULL);
    t->filled = 0;
    t->failed = t->failed || !t->line;
}

void table_cell(struct table *t, const char *text)
{
    assert(t->failed || t->filled < scols_table_get_ncols(t->rows));
    if (scols_line_set_data(t->line, t->filled++, text) != 0)
        t->failed = true;
}

void table_cellf(struct table *t, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    table_cell(t, text);
}

void table_mark(struct table *t, enum table_colour colour)
{
    static const char *const names[] = {
        [TABLE_GOOD] = "green",
        [TABLE_BAD] = "red",
        [TABLE_DIM] = "\033[2m", /* "darkgray" is black on black in places */
    };

    assert(t->filled > 0);
    if (names[colour])
        scols_cell_set_color(scols_line_get_cell(t->line, t->filled - 1), names[colour]);
}

bool table_colours_wanted(FILE *out)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

    if (no_color && *no_color)
        return false;
    return isatty(fileno(out)) && term && strcmp(term, "dumb") != 0;
}

/* Columns on a terminal. */
static size_t width_of(const char *text)
{
    wchar_t wide[512] = {0};
    size_t count = text ? mbstowcs(wide, text, 512) : 0;
    int width = count == (size_t)-1 || count == 512 ? -1 : wcswidth(wide, count);

    return width >= 0 ? (size_t)width : strlen(text);
}

static size_t column_width(const struct table *t, size_t column)
{
    struct libscols_column *c = scols_table_get_column(t->rows, column);
    size_t widest = width_of(scols_cell_get_data(scols_column_get_header(c)));

    for (size_t i = 0; i < scols_table_get_nlines(t->rows); i++) {
        struct libscols_line *line = scols_table_get_line(t->rows, i);
        size_t width = width_of(scols_cell_get_data(scols_line_get_cell(line, column)));

        widest = width > widest ? width : widest;
    }
    return widest;
}

/* A new line behind the last blank or comma that fits, again and again. */
static void break_lines(const char *text, size_t width, struct str *out)
{
    size_t length;

    while ((length = strlen(text)) > width) {
        size_t fits = 0;

        for (size_t at = 0; at < length && (at <= width || fits == 0); at++)
            if (text[at] == ' ' || (at < width && text[at] == ',' && text[at + 1]))
                fits = at + 1;
        if (fits == 0)
            break;
        str_add_bytes(out, text, fits - (text[fits - 1] == ' '));
        str_add(out, "\n");
        text += fits;
    }
    str_add(out, text);
}

/* Its words go on below each other in so much room. */
static void wrap_column(const struct table *t, size_t column, size_t room)
{
    struct libscols_column *c = scols_table_get_column(t->rows, column);

    for (size_t i = 0; i < scols_table_get_nlines(t->rows); i++) {
        struct libscols_cell *cell =
            scols_line_get_cell(scols_table_get_line(t->rows, i), column);
        const char *text = scols_cell_get_data(cell);
        struct str broken = {0};

        break_lines(text ? text : "", room, &broken);
        scols_cell_set_data(cell, str_text(&broken));
        str_fini(&broken);
    }
    scols_column_set_flags(c, SCOLS_FL_WRAP);
    scols_column_set_safechars(c, "\n");
    scols_column_set_wrapfunc(c, scols_wrapnl_chunksize, scols_wrapnl_nextchunk, NULL);
}

/* See TABLE_ALIGNED. */
static void fit_terminal(const struct table *t, FILE *out)
{
    size_t last = scols_table_get_ncols(t->rows) - 1, others = 0, wanted, least;
    bool words = !scols_column_is_right(scols_table_get_column(t->rows, last));
    struct winsize size;

    if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &size) < 0 ||
        size.ws_col == 0)
        return;
    for (size_t i = 0; i < last; i++)
        others += column_width(t, i) + strlen(BETWEEN);
    wanted = column_width(t, last);
    least = words && wanted > LEAST_WORDS ? LEAST_WORDS : wanted;
    for (size_t i = last; i-- > 0 && others + least > size.ws_col;) {
        if (!(t->optional >> i & 1))
            continue;
        scols_column_set_flags(scols_table_get_column(t->rows, i), SCOLS_FL_HIDDEN);
        others -= column_width(t, i) + strlen(BETWEEN);
    }
    if (words && others + wanted > size.ws_col)
        wrap_column(t, last,
                    size.ws_col > others + NARROWEST ? size.ws_col - others : NARROWEST);
}

static bool print_aligned(const struct table *t, FILE *out)
{
    scols_table_set_stream(t->rows, out);
    scols_table_enable_colors(t->rows, table_colours_wanted(out));
    scols_table_set_termforce(t->rows, SCOLS_TERMFORCE_NEVER); /* it would cut figures */
    fit_terminal(t, out);
    scols_table_set_column_separator(t->rows, BETWEEN);
    return scols_table_get_nlines(t->rows) == 0 || scols_print_table(t->rows) == 0;
}

static void put_csv(const char *text, FILE *out)
{
    bool quoted = strpbrk(text, ",\"\r\n") != NULL;

    fputs(quoted ? "\"" : "", out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputs(quoted ? "\"" : "", out);
}

static void put_parsable(const char *text, FILE *out)
{
    for (; *text; text++) {
        if (*text == '|' || *text == '\\')
            fputc('\\', out);
        if (*text == '\n')
            fputs("\\n", out);
        else
            fputc(*text, out);
    }
}

static void put_cell(const struct libscols_cell *cell, enum table_style style, bool last,
                     FILE *out)
{
    const char *text = scols_cell_get_data(cell);

    (style == TABLE_CSV ? put_csv : put_parsable)(text ? text : "", out);
    fputc(last ? '\n' : style == TABLE_CSV ? ',' : '|', out);
}

static bool print_plain(const struct table *t, enum table_style style, FILE *out)
{
    struct libscols_iter *rows = scols_new_iter(SCOLS_ITER_FORWARD);
    size_t columns = scols_table_get_ncols(t->rows);
    struct libscols_line *line;

    for (size_t i = 0; i < columns; i++)
        put_cell(scols_column_get_header(scols_table_get_column(t->rows, i)), style,
                 i + 1 == columns, out);
    while (rows && scols_table_next_line(t->rows, rows, &line) == 0)
        for (size_t i = 0; i < columns; i++)
            put_cell(scols_line_get_cell(line, i), style, i + 1 == columns, out);
    scols_free_iter(rows);
    return rows != NULL;
}

int table_finish(struct table *t, enum table_style style, FILE *out, struct err *err)
{
    int rc = 0;

    if (t->failed)
        rc = err_set(err, ERR_SYSTEM, "cannot make a table: out of memory");
    else if (!(style == TABLE_ALIGNED ? print_aligned(t, out)
                                      : print_plain(t, style, out)))
        rc = err_set(err, ERR_SYSTEM, "cannot print a table");
    if (rc == 0 && ferror(out))
        rc = err_sys(err, "cannot write a table");
    table_destroy(t);
    return rc;
}
