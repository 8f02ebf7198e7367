/* table.c - columns on a terminal or as CSV; only this file knows libsmartcols */
#include "base/table.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

#include <assert.h>
#include <libsmartcols.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct table_column {
    char *title;
    enum table_align align;
};

struct table_cell {
    char *text; /* NULL: empty */
    enum table_colour colour;
};

struct table {
    vec_of(struct table_column) columns;
    vec_of(struct table_cell) cells; /* (rows, columns) */
    size_t filled;                   /* cells of the newest row that are set */
};

struct table *table_create(void)
{
    return mem_new(struct table);
}

void table_destroy(struct table *t)
{
    if (!t)
        return;
    vec_each (struct table_column, column, &t->columns)
        free(column->title);
    vec_each (struct table_cell, cell, &t->cells)
        free(cell->text);
    vec_free(&t->columns);
    vec_free(&t->cells);
    free(t);
}

void table_column(struct table *t, const char *title, enum table_align align)
{
    assert(t->cells.count == 0);
    vec_push(&t->columns, (struct table_column){mem_strdup(title), align});
}

void table_columns(struct table *t, const char *titles)
{
    char title[80];

    for (;; titles++) {
        bool right = *titles == '>';
        size_t length;

        titles += right;
        length = strcspn(titles, "|");
        snprintf(title, sizeof(title), "%.*s", (int)length, titles);
        table_column(t, title, right ? TABLE_RIGHT : TABLE_LEFT);
        titles += length;
        if (!*titles)
            return;
    }
}

void table_row(struct table *t)
{
    for (size_t i = 0; i < t->columns.count; i++)
        vec_push(&t->cells, (struct table_cell){0});
    t->filled = 0;
}

void table_cell(struct table *t, const char *text)
{
    size_t row = t->cells.count - t->columns.count;

    assert(t->cells.count && t->filled < t->columns.count);
    t->cells.items[row + t->filled++].text = mem_strdup(text);
}

void table_cellf(struct table *t, const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    table_cell(t, text);
}

void table_mark(struct table *t, enum table_colour colour)
{
    assert(t->filled > 0);
    t->cells.items[t->cells.count - t->columns.count + t->filled - 1].colour = colour;
}

size_t table_row_count(const struct table *t)
{
    return t->columns.count ? t->cells.count / t->columns.count : 0;
}

static bool colours_wanted(FILE *out)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

    if (no_color && *no_color)
        return false;
    return isatty(fileno(out)) && term && strcmp(term, "dumb") != 0;
}

static const char *colour_name(enum table_colour colour)
{
    static const char *const names[] = {
        [TABLE_GOOD] = "green",
        [TABLE_BAD] = "red",
        [TABLE_DIM] = "darkgray",
        [TABLE_STRONG] = "bold",
    };

    return names[colour];
}

/* 0, or smartcols' negative errno. */
static int add_cell(struct libscols_line *line, size_t at, const struct table_cell *cell,
                    bool colours)
{
    int rc = scols_line_set_data(line, at, cell->text ? cell->text : "");

    if (rc == 0 && colours && cell->colour != TABLE_PLAIN)
        rc = scols_cell_set_color(scols_line_get_cell(line, at),
                                  colour_name(cell->colour));
    return rc;
}

static int fill(struct libscols_table *view, const struct table *t, bool colours)
{
    int rc = 0;

    for (size_t i = 0; i < t->columns.count && rc == 0; i++) {
        const struct table_column *column = &t->columns.items[i];
        int flags = column->align == TABLE_RIGHT ? SCOLS_FL_RIGHT : 0;

        if (!scols_table_new_column(view, column->title, 0, flags))
            rc = -1;
    }
    for (size_t i = 0; i < t->cells.count && rc == 0; i += t->columns.count) {
        struct libscols_line *line = scols_table_new_line(view, NULL);

        if (!line)
            return -1;
        for (size_t j = 0; j < t->columns.count && rc == 0; j++)
            rc = add_cell(line, j, &t->cells.items[i + j], colours);
    }
    return rc;
}

int table_print(const struct table *t, FILE *out, struct err *err)
{
    bool colours = colours_wanted(out);
    struct libscols_table *view = scols_new_table();
    int rc = -1;

    if (!view)
        return err_set(err, ERR_SYSTEM, "cannot make a table: out of memory");
    scols_table_set_stream(view, out);
    scols_table_enable_colors(view, colours);
    /* Cropping to the terminal would hide figures. */
    scols_table_set_termforce(view, SCOLS_TERMFORCE_NEVER);
    scols_table_set_column_separator(view, "  ");
    if (fill(view, t, colours) != 0) {
        err_set(err, ERR_SYSTEM, "cannot make a table: out of memory");
    } else if (table_row_count(t) && scols_print_table(view) != 0) {
        err_set(err, ERR_SYSTEM, "cannot print a table");
    } else if (ferror(out)) {
        err_sys(err, "cannot write a table");
    } else {
        rc = 0;
    }
    scols_unref_table(view);
    return rc;
}

static void put_csv(FILE *out, const char *text, bool last)
{
    if (strpbrk(text, ",\"\r\n")) {
        fputc('"', out);
        for (; *text; text++) {
            if (*text == '"')
                fputc('"', out);
            fputc(*text, out);
        }
        fputc('"', out);
    } else {
        fputs(text, out);
    }
    fputc(last ? '\n' : ',', out);
}

int table_print_csv(const struct table *t, FILE *out, struct err *err)
{
    size_t columns = t->columns.count;

    for (size_t i = 0; i < columns; i++)
        put_csv(out, t->columns.items[i].title, i + 1 == columns);
    for (size_t row = 0; row < table_row_count(t); row++) {
        for (size_t i = 0; i < columns; i++) {
            const char *text = t->cells.items[row * columns + i].text;

            put_csv(out, text ? text : "", i + 1 == columns);
        }
    }
    if (ferror(out))
        return err_sys(err, "cannot write a table");
    return 0;
}
