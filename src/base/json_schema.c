/* schema.c - request_checks.c has each JSON body checked here before a handler sees it */
#include "http/schema.h"

#include "base/str.h"
#include "base/suggest.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Where in the body the check is; grows and shrinks as it walks. */
struct schema_place {
    char path[SCHEMA_PATH_SIZE];
    struct err *err;
};

static int refuse(const struct schema_place *p, enum err_code code, const char *format,
                  ...) __attribute__((format(printf, 3, 4)));

static int refuse(const struct schema_place *p, enum err_code code, const char *format,
                  ...)
{
    char text[300];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return err_set(p->err, code, "%s %s", *p->path ? p->path : "the body", text);
}

static size_t enter(struct schema_place *p, const char *name)
{
    size_t before = strlen(p->path);

    snprintf(p->path + before, sizeof(p->path) - before, "%s%.64s", before ? "." : "",
             name);
    return before;
}

static size_t enter_item(struct schema_place *p, size_t index)
{
    size_t before = strlen(p->path);

    snprintf(p->path + before, sizeof(p->path) - before, "[%zu]", index);
    return before;
}

static int check_number(const struct schema_field *f, const struct json_value *value,
                        const struct schema_place *p)
{
    bool whole = f->type == SCHEMA_INTEGER;
    double number;

    if (!json_value_number(value, &number))
        return refuse(p, ERR_INVALID, "is %s, want a %s", json_value_kind_name(value),
                      whole ? "whole number" : "number");
    if (whole && number != floor(number))
        return refuse(p, ERR_INVALID, "is %g, want a whole number", number);
    if (f->above_min && !(number > f->min))
        return refuse(p, ERR_INVALID, "is %g, want more than %g", number, f->min);
    if (!(number >= f->min && number <= f->max))
        return refuse(p, ERR_INVALID, "is %.15g, want %.15g to %.15g", number, f->min,
                      f->max);
    return 0;
}

static int check_choice(const struct schema_field *f, const char *text,
                        const struct schema_place *p)
{
    struct str known = {0};

    for (int i = 0; f->choices[i]; i++) {
        if (!strcmp(text, f->choices[i]))
            return 0;
    }
    for (int i = 0; f->choices[i]; i++)
        str_addf(&known, "%s%s", i ? ", " : "", f->choices[i]);
    refuse(p, ERR_INVALID, "is '%.40s', want one of %s", text, str_text(&known));
    str_fini(&known);
    return -1;
}

static int check_string(const struct schema_field *f, const struct json_value *value,
                        const struct schema_place *p)
{
    const char *text = json_value_string(value);
    size_t length;

    if (!text)
        return refuse(p, ERR_INVALID, "is %s, want a string",
                      json_value_kind_name(value));
    length = strlen(text);
    if ((double)length < f->min)
        return refuse(p, ERR_INVALID, "is empty");
    if ((double)length > f->max)
        return refuse(p, ERR_INVALID, "is longer than %g bytes", f->max);
    for (const char *c = text; *c && !f->text; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return refuse(p, ERR_INVALID, "contains a control character");
    return f->choices ? check_choice(f, text, p) : 0;
}

static int check_value(const struct schema_field *f, const struct json_value *value,
                       struct schema_place *p);

static int check_array(const struct schema_field *f, const struct json_value *value,
                       struct schema_place *p)
{
    size_t count = json_value_count(value);

    if (json_value_kind(value) != JSON_KIND_ARRAY)
        return refuse(p, ERR_INVALID, "is %s, want an array",
                      json_value_kind_name(value));
    if ((double)count < f->min || (double)count > f->max)
        return refuse(p, ERR_INVALID, "has %zu items, want %g to %g", count, f->min,
                      f->max);
    for (size_t i = 0; i < count; i++) {
        size_t before = enter_item(p, i);

        if (check_value(f->item, json_value_item(value, i), p) < 0)
            return -1;
        p->path[before] = '\0';
    }
    return 0;
}

static int check_map(const struct schema_field *f, const struct json_value *value,
                     struct schema_place *p)
{
    struct json_iter it = {.object = value};

    if (json_value_kind(value) != JSON_KIND_OBJECT)
        return refuse(p, ERR_INVALID, "is %s, want an object",
                      json_value_kind_name(value));
    if ((double)json_value_count(value) > f->max)
        return refuse(p, ERR_INVALID, "has more than %g members", f->max);
    while (json_iter_next(&it)) {
        size_t before = enter(p, it.key);

        if (check_value(f->item, it.value, p) < 0)
            return -1;
        p->path[before] = '\0';
    }
    return 0;
}

static const struct schema_field *field_named(const struct schema *schema,
                                              const char *name)
{
    for (const struct schema_field *f = schema->fields; f->name; f++)
        if (!strcmp(f->name, name))
            return f;
    return NULL;
}

static int refuse_unknown(const struct schema *schema, const char *name,
                          struct schema_place *p)
{
    struct suggest nearest;

    suggest_init(&nearest, name);
    for (const struct schema_field *f = schema->fields; f->name; f++)
        suggest_try(&nearest, f->name);
    enter(p, name);
    if (nearest.best)
        return refuse(p, ERR_INVALID, "is not known (did you mean '%s'?)", nearest.best);
    return refuse(p, ERR_INVALID, "is not known");
}

static int check_object(const struct schema *schema, const struct json_value *value,
                        struct schema_place *p)
{
    struct json_iter it = {.object = value};

    if (json_value_kind(value) != JSON_KIND_OBJECT)
        return refuse(p, ERR_INVALID, "is %s, want an object",
                      json_value_kind_name(value));
    for (const struct schema_field *f = schema->fields; f->name; f++) {
        if (f->required && !json_value_get(value, f->name)) {
            enter(p, f->name);
            return refuse(p, ERR_INVALID, "is missing");
        }
    }
    if (schema->one_at_least && json_value_count(value) == 0)
        return refuse(p, ERR_INVALID, "is empty: name at least one thing to change");
    while (json_iter_next(&it)) {
        const struct schema_field *f = field_named(schema, it.key);
        size_t before;

        if (!f)
            return refuse_unknown(schema, it.key, p);
        before = enter(p, it.key);
        if (check_value(f, it.value, p) < 0)
            return -1;
        p->path[before] = '\0';
    }
    return 0;
}

static int check_value(const struct schema_field *f, const struct json_value *value,
                       struct schema_place *p)
{
    bool flag;

    if (f->nullable && json_value_kind(value) == JSON_KIND_NULL)
        return 0;
    switch (f->type) {
    case SCHEMA_BOOL:
        if (json_value_bool(value, &flag))
            return 0;
        return refuse(p, ERR_INVALID, "is %s, want true or false",
                      json_value_kind_name(value));
    case SCHEMA_NUMBER:
    case SCHEMA_INTEGER:
        return check_number(f, value, p);
    case SCHEMA_STRING:
        return check_string(f, value, p);
    case SCHEMA_OBJECT:
        return check_object(f->schema, value, p);
    case SCHEMA_ARRAY:
        return check_array(f, value, p);
    case SCHEMA_MAP:
        return check_map(f, value, p);
    }
    return refuse(p, ERR_INVALID, "has no known type");
}

int schema_check(const struct schema *schema, const struct json_value *body,
                 char field[SCHEMA_PATH_SIZE], struct err *err)
{
    struct schema_place p = {.err = err};

    *field = '\0';
    if (check_object(schema, body, &p) == 0)
        return 0;
    memcpy(field, p.path, sizeof(p.path));
    return -1;
}
