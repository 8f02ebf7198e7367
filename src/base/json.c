/* json.c - JSON as it comes in: request bodies, answers, tables; only this file knows
 * jansson */
#include "base/json.h"

#include <jansson.h>
#include <stdint.h>
#include <string.h>

/* jansson's values under our names, a document is its root; the library wants them
 * without const even to read. */
static json_t *theirs(const struct json_value *value)
{
    union {
        const struct json_value *ours;
        json_t *theirs;
    } same = {.ours = value};

    return same.theirs;
}

static const struct json_value *ours(const json_t *value)
{
    return (const struct json_value *)value;
}

/* jansson recurses as deep as the text is nested, both to read and to free, and each
 * value costs it a microsecond: bound both before it starts.  A value is the first, or
 * stands behind a comma or a bracket. */
static int check_shape(const char *text, size_t length, const char *name,
                       size_t most_values, struct err *err)
{
    size_t line = 1, line_start = 0, values = 1;
    int depth = 0;
    bool in_string = false;

    for (size_t i = 0; i < length; i++) {
        char c = text[i];

        if (c == '\n') {
            line++;
            line_start = i + 1;
        }
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > JSON_MAX_NESTING)
                return err_set(err, ERR_LIMIT,
                               "%s line %zu column %zu: nested deeper than %d levels",
                               name, line, i - line_start + 1, JSON_MAX_NESTING);
            values++;
        } else if (c == ']' || c == '}') {
            depth--;
        } else if (c == ',') {
            values++;
        }
        if (values > most_values)
            return err_set(err, ERR_LIMIT,
                           "%s line %zu column %zu: more than %zu values, which is more "
                           "than can be used here",
                           name, line, i - line_start + 1, most_values);
    }
    return 0;
}

int json_doc_parse(struct json_doc **doc, const char *text, size_t length,
                   const char *name, struct err *err)
{
    return json_doc_parse_few(doc, text, length, name, SIZE_MAX, err);
}

int json_doc_parse_few(struct json_doc **doc, const char *text, size_t length,
                       const char *name, size_t most_values, struct err *err)
{
    json_error_t where;
    json_t *root;

    if (length > JSON_MAX_BYTES)
        return err_set(err, ERR_LIMIT, "%s is larger than %zu bytes", name,
                       JSON_MAX_BYTES);
    if (check_shape(text, length, name, most_values, err) < 0)
        return -1;
    root = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &where);
    if (!root)
        return err_set(err, ERR_FORMAT, "%s line %d column %d is not JSON: %s", name,
                       where.line, where.column, where.text);
    *doc = (struct json_doc *)root;
    return 0;
}

void json_doc_destroy(struct json_doc *doc)
{
    json_decref((json_t *)doc);
}

const struct json_value *json_doc_root(const struct json_doc *doc)
{
    return (const struct json_value *)doc;
}

enum json_kind json_value_kind(const struct json_value *value)
{
    static const enum json_kind kinds[] = {
        [JSON_OBJECT] = JSON_KIND_OBJECT, [JSON_ARRAY] = JSON_KIND_ARRAY,
        [JSON_STRING] = JSON_KIND_STRING, [JSON_INTEGER] = JSON_KIND_NUMBER,
        [JSON_REAL] = JSON_KIND_NUMBER,   [JSON_TRUE] = JSON_KIND_BOOL,
        [JSON_FALSE] = JSON_KIND_BOOL,    [JSON_NULL] = JSON_KIND_NULL,
    };

    return value ? kinds[json_typeof(theirs(value))] : JSON_KIND_NULL;
}

const char *json_value_kind_name(const struct json_value *value)
{
    static const char *const names[] = {
        [JSON_KIND_NULL] = "nothing",    [JSON_KIND_BOOL] = "true or false",
        [JSON_KIND_NUMBER] = "a number", [JSON_KIND_STRING] = "a string",
        [JSON_KIND_ARRAY] = "an array",  [JSON_KIND_OBJECT] = "an object",
    };

    return names[json_value_kind(value)];
}

size_t json_value_count(const struct json_value *value)
{
    if (json_value_kind(value) == JSON_KIND_OBJECT)
        return json_object_size(theirs(value));
    return json_array_size(theirs(value)); /* 0 for all that is no array */
}

const struct json_value *json_value_item(const struct json_value *array, size_t index)
{
    return ours(json_array_get(theirs(array), index));
}

const struct json_value *json_value_get(const struct json_value *object, const char *key)
{
    return ours(json_object_get(theirs(object), key));
}

const char *json_value_string(const struct json_value *value)
{
    return json_string_value(theirs(value));
}

bool json_value_number(const struct json_value *value, double *number)
{
    if (json_value_kind(value) != JSON_KIND_NUMBER)
        return false;
    *number = json_number_value(theirs(value));
    return true;
}

bool json_value_bool(const struct json_value *value, bool *flag)
{
    if (json_value_kind(value) != JSON_KIND_BOOL)
        return false;
    *flag = json_is_true(theirs(value));
    return true;
}

double json_member_number(const struct json_value *object, const char *key,
                          double otherwise)
{
    json_value_number(json_value_get(object, key), &otherwise);
    return otherwise;
}

bool json_member_bool(const struct json_value *object, const char *key, bool otherwise)
{
    json_value_bool(json_value_get(object, key), &otherwise);
    return otherwise;
}

const char *json_member_string(const struct json_value *object, const char *key)
{
    return json_value_string(json_value_get(object, key));
}

void json_value_write(const struct json_value *value, struct json_out *out)
{
    struct json_iter it = {.object = value};
    double n = 0;
    bool b = false;

    switch (json_value_kind(value)) {
    case JSON_KIND_NULL:
        json_out_null(out);
        break;
    case JSON_KIND_BOOL:
        json_value_bool(value, &b);
        json_out_bool(out, b);
        break;
    case JSON_KIND_NUMBER:
        json_value_number(value, &n);
        json_out_number(out, n);
        break;
    case JSON_KIND_STRING:
        json_out_string(out, json_value_string(value));
        break;
    case JSON_KIND_ARRAY:
        json_out_begin_array(out);
        for (size_t i = 0; i < json_value_count(value); i++)
            json_value_write(json_value_item(value, i), out);
        json_out_end(out);
        break;
    case JSON_KIND_OBJECT:
        json_out_begin_object(out);
        while (json_iter_next(&it)) {
            json_out_key(out, it.key);
            json_value_write(it.value, out);
        }
        json_out_end(out);
        break;
    }
}

int json_value_need_number(const struct json_value *object, const char *key, double min,
                           double max, double *number, struct err *err)
{
    const struct json_value *value = json_value_get(object, key);
    double found;

    if (!json_value_number(value, &found))
        return err_set(err, ERR_FORMAT, "\"%s\" is %s, want a number", key,
                       json_value_kind_name(value));
    if (!(found >= min && found <= max))
        return err_set(err, ERR_INVALID, "\"%s\" is %g, want %g to %g", key, found, min,
                       max);
    *number = found;
    return 0;
}

int json_value_need_string(const struct json_value *object, const char *key,
                           const char **text, struct err *err)
{
    const struct json_value *value = json_value_get(object, key);

    if (json_value_kind(value) != JSON_KIND_STRING)
        return err_set(err, ERR_FORMAT, "\"%s\" is %s, want a string", key,
                       json_value_kind_name(value));
    *text = json_value_string(value);
    return 0;
}

bool json_iter_next(struct json_iter *it)
{
    json_t *o = theirs(it->object);

    it->cursor = it->cursor ? json_object_iter_next(o, it->cursor) : json_object_iter(o);
    if (!it->cursor)
        return false;
    it->key = json_object_iter_key(it->cursor);
    it->value = ours(json_object_iter_value(it->cursor));
    return true;
}
