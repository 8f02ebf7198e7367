/* json_schema.c - http/request.c has JSON bodies checked here before handlers see them */
#include "base/json_schema.h"

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

__attribute__((format(printf, 2, 3))) static int refuse(const struct schema_place *p,
                                                        const char *format, ...)
{
    char text[300];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return err_set(p->err, ERR_INVALID, "%s %s", *p->path ? p->path : "the body", text);
}

static size_t enter(struct schema_place *p, const char *name)
{
    size_t before = strlen(p->path);

    snprintf(p->path + before, sizeof(p->path) - before, "%s%.64s", before ? "." : "",
             name);
    return before;
}

static int check_number(const struct schema_field *f, const struct json_value *value,
                        const struct schema_place *p)
{
    double number = 0;

    json_value_number(value, &number);
    if (f->type == SCHEMA_INTEGER && number != floor(number))
        return refuse(p, "is %g, want a whole number", number);
    if (f->above_min && !(number > f->min))
        return refuse(p, "is %g, want more than %g", number, f->min);
    if (!(number >= f->min && number <= f->max))
        return refuse(p, "is %.15g, want %.15g to %.15g", number, f->min, f->max);
    return 0;
}

static int check_choice(const struct schema_field *f, const char *text,
                        const struct schema_place *p)
{
    struct str known = {0};

    for (int i = 0; f->choices[i]; i++)
        if (!strcmp(text, f->choices[i]))
            return 0;
    for (int i = 0; f->choices[i]; i++)
        str_addf(&known, "%s%s", i ? ", " : "", f->choices[i]);
    refuse(p, "is '%.40s', want one of %s", text, str_text(&known));
    str_fini(&known);
    return -1;
}

static int check_string(const struct schema_field *f, const struct json_value *value,
                        const struct schema_place *p)
{
    const char *text = json_value_string(value);
    size_t length = strlen(text);

    if ((double)length < f->min)
        return refuse(p, "is empty");
    if ((double)length > f->max)
        return refuse(p, "is longer than %g bytes", f->max);
    for (const char *c = text; *c && !f->text; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return refuse(p, "contains a control character");
    return f->choices ? check_choice(f, text, p) : 0;
}

static int check_value(const struct schema_field *f, const struct json_value *value,
                       struct schema_place *p);

static int check_array(const struct schema_field *f, const struct json_value *value,
                       struct schema_place *p)
{
    size_t count = json_value_count(value), before = strlen(p->path);

    if ((double)count < f->min || (double)count > f->max)
        return refuse(p, "has %zu items, want %g to %g", count, f->min, f->max);
    for (size_t i = 0; i < count; i++) {
        snprintf(p->path + before, sizeof(p->path) - before, "[%zu]", i);
        if (check_value(f->item, json_value_item(value, i), p) < 0)
            return -1;
    }
    p->path[before] = '\0';
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
    struct suggest nearest = {.typed = name};

    for (const struct schema_field *f = schema->fields; f->name; f++)
        suggest_try(&nearest, f->name);
    enter(p, name);
    if (nearest.best)
        return refuse(p, "is not known (did you mean '%s'?)", nearest.best);
    return refuse(p, "is not known");
}

/* The members of an object by their schema, or of a map, each as `item` says. */
static int check_members(const struct schema *schema, const struct schema_field *item,
                         const struct json_value *value, struct schema_place *p)
{
    struct json_iter it = {.object = value};

    while (json_iter_next(&it)) {
        const struct schema_field *f = schema ? field_named(schema, it.key) : item;
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

static int check_object(const struct schema *schema, const struct json_value *value,
                        struct schema_place *p)
{
    for (const struct schema_field *f = schema->fields; f->name; f++) {
        if (f->required && !json_value_get(value, f->name)) {
            enter(p, f->name);
            return refuse(p, "is missing");
        }
    }
    if (schema->one_at_least && json_value_count(value) == 0)
        return refuse(p, "is empty: name at least one thing to change");
    return check_members(schema, NULL, value, p);
}

static int check_value(const struct schema_field *f, const struct json_value *value,
                       struct schema_place *p)
{
    static const struct {
        enum json_kind kind;
        const char *name;
    } wanted[] = {
        [SCHEMA_BOOL] = {JSON_KIND_BOOL, "true or false"},
        [SCHEMA_NUMBER] = {JSON_KIND_NUMBER, "a number"},
        [SCHEMA_INTEGER] = {JSON_KIND_NUMBER, "a whole number"},
        [SCHEMA_STRING] = {JSON_KIND_STRING, "a string"},
        [SCHEMA_OBJECT] = {JSON_KIND_OBJECT, "an object"},
        [SCHEMA_ARRAY] = {JSON_KIND_ARRAY, "an array"},
        [SCHEMA_MAP] = {JSON_KIND_OBJECT, "an object"},
    };
    enum json_kind kind = json_value_kind(value);

    if (f->nullable && kind == JSON_KIND_NULL)
        return 0;
    if (kind != wanted[f->type].kind)
        return refuse(p, "is %s, want %s", json_value_kind_name(value),
                      wanted[f->type].name);
    switch (f->type) {
    case SCHEMA_BOOL:
        return 0;
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
        if ((double)json_value_count(value) > f->max)
            return refuse(p, "has more than %g members", f->max);
        return check_members(NULL, f->item, value, p);
    }
    return refuse(p, "has no known type");
}

int schema_check(const struct schema *schema, const struct json_value *body,
                 char field[SCHEMA_PATH_SIZE], struct err *err)
{
    const struct schema_field whole = {.type = SCHEMA_OBJECT, .schema = schema};
    struct schema_place p = {.err = err};
    int rc = check_value(&whole, body, &p);

    memcpy(field, p.path, sizeof(p.path));
    return rc;
}

/* An empty array or object counts one more: its bracket may hold a value. */
static size_t most_values_of(const struct schema_field *f)
{
    switch (f->type) {
    case SCHEMA_OBJECT:
        return schema_most_values(f->schema);
    case SCHEMA_ARRAY:
    case SCHEMA_MAP:
        return 2 + (size_t)f->max * most_values_of(f->item);
    default:
        return 1;
    }
}

size_t schema_most_values(const struct schema *schema)
{
    size_t most = 2;

    for (const struct schema_field *f = schema->fields; f->name; f++)
        most += most_values_of(f);
    return most;
}
