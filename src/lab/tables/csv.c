/* csv.c - tables of measurements and traces, row by row */
#include "lab/tables/csv.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The fields of one row, NUL-terminated one behind the other. */
struct csv_row {
    struct str text;
    int count;
    size_t start[CSV_MAX_FIELDS]; /* (count) into text */
};

struct csv {
    char *name;
    char *text; /* (length) the whole file */
    size_t length;
    size_t at;        /* what is read next */
    size_t next_line; /* its line */
    size_t line;      /* of the present row */
    size_t rows;
    struct csv_row header;
    struct csv_row row;
};

int csv_refuse(const struct csv *csv, struct err *err, enum err_code code,
               const char *format, ...)
{
    char sentence[sizeof(err->text)];
    va_list args;

    va_start(args, format);
    vsnprintf(sentence, sizeof(sentence), format, args);
    va_end(args);
    err_set(err, code, "%s", sentence);
    return err_prefix(err, "%s line %zu", csv->name, csv->line);
}

static int peek(const struct csv *csv)
{
    return csv->at < csv->length ? (unsigned char)csv->text[csv->at] : EOF;
}

static bool at_line_end(const struct csv *csv)
{
    int c = peek(csv);

    return c == EOF || c == '\n' ||
           (c == '\r' && (csv->at + 1 == csv->length || csv->text[csv->at + 1] == '\n'));
}

static void pass_line_end(struct csv *csv)
{
    csv->at += peek(csv) == '\r';
    csv->at += peek(csv) == '\n';
    csv->next_line++;
}

/* The opening quote has been passed; stops behind the closing one. */
static int read_quoted(struct csv *csv, struct csv_row *row, struct err *err)
{
    size_t first = csv->at;

    for (;;) {
        int c = peek(csv);

        if (c == EOF || csv->at - first > CSV_MAX_LINE)
            return csv_refuse(csv, err, ERR_FORMAT,
                              "a quoted field does not end: close its quotes");
        csv->at++;
        if (c == '\n')
            csv->next_line++;
        if (c == '"') {
            if (peek(csv) != '"')
                return 0;
            csv->at++;
        }
        str_add_bytes(&row->text, &csv->text[csv->at - 1], 1);
    }
}

static int read_field(struct csv *csv, struct csv_row *row, struct err *err)
{
    if (peek(csv) == '"') {
        csv->at++;
        if (read_quoted(csv, row, err) < 0)
            return -1;
        if (peek(csv) != ',' && !at_line_end(csv))
            return csv_refuse(csv, err, ERR_FORMAT,
                              "text behind a closing quote: double the quotes inside");
    } else {
        size_t first = csv->at;

        while (peek(csv) != ',' && !at_line_end(csv))
            csv->at++;
        str_add_bytes(&row->text, csv->text + first, csv->at - first);
    }
    str_add_bytes(&row->text, "", 1);
    return 0;
}

static int read_row(struct csv *csv, struct csv_row *row, struct err *err)
{
    size_t first = csv->at;

    row->count = 0;
    str_clear(&row->text);
    csv->line = csv->next_line;
    for (;;) {
        if (row->count == CSV_MAX_FIELDS)
            return csv_refuse(csv, err, ERR_LIMIT, "more than %d fields", CSV_MAX_FIELDS);
        row->start[row->count++] = row->text.length;
        if (read_field(csv, row, err) < 0)
            return -1;
        if (csv->at - first > CSV_MAX_LINE)
            return csv_refuse(csv, err, ERR_LIMIT, "longer than %zu bytes", CSV_MAX_LINE);
        if (at_line_end(csv))
            break;
        csv->at++; /* the comma */
    }
    pass_line_end(csv);
    return 0;
}

static void pass_empty_lines(struct csv *csv)
{
    while (csv->at < csv->length && at_line_end(csv))
        pass_line_end(csv);
}

static int read_header(struct csv *csv, struct err *err)
{
    if (csv->length >= 3 && !memcmp(csv->text, "\xef\xbb\xbf", 3))
        csv->at = 3;
    pass_empty_lines(csv);
    csv->line = csv->next_line;
    if (memchr(csv->text, '\0', csv->length))
        return err_set(err, ERR_FORMAT, "%s holds a NUL byte: it is no CSV text",
                       csv->name);
    if (csv->at == csv->length)
        return err_set(err, ERR_FORMAT,
                       "%s is empty: its first line must name the "
                       "columns",
                       csv->name);
    if (read_row(csv, &csv->header, err) < 0)
        return -1;
    for (int i = 0; i < csv->header.count; i++)
        if (csv_column(csv, csv->header.text.text + csv->header.start[i]) != i)
            return csv_refuse(csv, err, ERR_FORMAT, "column \"%s\" is named twice",
                              csv->header.text.text + csv->header.start[i]);
    return 0;
}

/* Takes text, also when it fails. */
static int open_text(struct csv **opened, char *text, size_t length, const char *name,
                     struct err *err)
{
    struct csv *csv = mem_new(struct csv);

    csv->name = mem_strdup(name);
    csv->text = text;
    csv->length = length;
    csv->next_line = 1;
    if (read_header(csv, err) < 0) {
        csv_destroy(csv);
        return -1;
    }
    *opened = csv;
    return 0;
}

int csv_load(struct csv **csv, const char *path, struct err *err)
{
    char *text;
    size_t length;

    if (file_read(path, CSV_MAX_BYTES, &text, &length, err) < 0)
        return -1;
    return open_text(csv, text, length, path, err);
}

void csv_destroy(struct csv *csv)
{
    if (!csv)
        return;
    str_fini(&csv->header.text);
    str_fini(&csv->row.text);
    free(csv->text);
    free(csv->name);
    free(csv);
}

int csv_column(const struct csv *csv, const char *name)
{
    for (int i = 0; i < csv->header.count; i++)
        if (!strcmp(csv->header.text.text + csv->header.start[i], name))
            return i;
    return -1;
}

int csv_need(const struct csv *csv, const char *name, int *column, struct err *err)
{
    int found = csv_column(csv, name);

    if (found < 0)
        return err_set(err, ERR_FORMAT, "%s has no column \"%s\": add it to the header",
                       csv->name, name);
    *column = found;
    return 0;
}

int csv_next(struct csv *csv, struct err *err)
{
    pass_empty_lines(csv);
    if (csv->at == csv->length)
        return 0;
    if (++csv->rows > CSV_MAX_ROWS)
        return csv_refuse(csv, err, ERR_LIMIT, "more than %zu rows", CSV_MAX_ROWS);
    if (read_row(csv, &csv->row, err) < 0)
        return -1;
    if (csv->row.count != csv->header.count)
        return csv_refuse(csv, err, ERR_FORMAT, "%d fields where the header has %d",
                          csv->row.count, csv->header.count);
    return 1;
}

const char *csv_field(const struct csv *csv, int column)
{
    if (column < 0 || column >= csv->row.count)
        return "";
    return csv->row.text.text + csv->row.start[column];
}

size_t csv_line(const struct csv *csv)
{
    return csv->line;
}

static const char *title(const struct csv *csv, int column)
{
    if (column < 0 || column >= csv->header.count)
        return "?";
    return csv->header.text.text + csv->header.start[column];
}

int csv_double(const struct csv *csv, int column, double min, double max, double *value,
               struct err *err)
{
    double found;

    if (!parse_double(csv_field(csv, column), &found))
        return csv_refuse(csv, err, ERR_FORMAT, "%s is \"%.60s\", want a number",
                          title(csv, column), csv_field(csv, column));
    if (!(found >= min && found <= max))
        return csv_refuse(csv, err, ERR_INVALID, "%s is %g, want %g to %g",
                          title(csv, column), found, min, max);
    *value = found;
    return 0;
}

int csv_int(const struct csv *csv, int column, int min, int max, int *value,
            struct err *err)
{
    int found;

    if (!parse_int(csv_field(csv, column), &found))
        return csv_refuse(csv, err, ERR_FORMAT, "%s is \"%.60s\", want a whole number",
                          title(csv, column), csv_field(csv, column));
    if (found < min || found > max)
        return csv_refuse(csv, err, ERR_INVALID, "%s is %d, want %d to %d",
                          title(csv, column), found, min, max);
    *value = found;
    return 0;
}
