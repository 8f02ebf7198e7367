/* json.h - JSON from outside, read whole and walked by borrowed values
 *
 *     struct json_doc *doc;
 *     if (json_doc_parse(&doc, text, length, path, err) < 0)
 *         return -1;
 *     rate = json_value_get(json_doc_root(doc), "rate");
 *     json_doc_destroy(doc);
 *
 * Size and depth are bounded, a key given twice is refused, and syntax errors name file,
 * line and column.  Members keep the order of the file. */
#pragma once

#include "base/err.h"
#include "base/json_out.h"

#include <stdbool.h>
#include <stddef.h>

#define JSON_MAX_BYTES   ((size_t)64 << 20)
#define JSON_MAX_NESTING 64

struct json_doc;
struct json_value; /* borrowed from its document */

enum json_kind {
    JSON_KIND_NULL,
    JSON_KIND_BOOL,
    JSON_KIND_NUMBER,
    JSON_KIND_STRING,
    JSON_KIND_ARRAY,
    JSON_KIND_OBJECT,
};

/* The caller owns *doc; on failure it is untouched.  name is for messages. */
int json_doc_parse(struct json_doc **doc, const char *text, size_t length,
                   const char *name, struct err *err);
/* The same of a text that has at most so many values (members and items, and what holds
 * them), else ERR_LIMIT: what a text may cost is bounded before the first is made. */
int json_doc_parse_few(struct json_doc **doc, const char *text, size_t length,
                       const char *name, size_t most_values, struct err *err);
void json_doc_destroy(struct json_doc *doc);                        /* NULL is fine */
const struct json_value *json_doc_root(const struct json_doc *doc); /* NULL: NULL */

/* All of these take NULL, which is of kind null: json_value_get(json_value_get(..)) needs
 * no checks in between. */
enum json_kind json_value_kind(const struct json_value *value);
const char *json_value_kind_name(const struct json_value *value); /* "a number" */
size_t json_value_count(const struct json_value *value); /* items or members; else 0 */
const struct json_value *json_value_item(const struct json_value *array, size_t index);
const struct json_value *json_value_get(const struct json_value *object, const char *key);
const char *json_value_string(const struct json_value *value); /* NULL if not a string */
/* False, and the output untouched, when the value is of another kind. */
bool json_value_number(const struct json_value *value, double *number);
bool json_value_bool(const struct json_value *value, bool *flag);

/* The member of this key, or `otherwise` when it is of another kind or not there. */
double json_member_number(const struct json_value *object, const char *key,
                          double otherwise);
bool json_member_bool(const struct json_value *object, const char *key, bool otherwise);
const char *json_member_string(const struct json_value *object,
                               const char *key); /* NULL: none */

/* The value written again. */
void json_value_write(const struct json_value *value, struct json_out *out);

/* The member of this key as the kind asked for; err names the key and what is there. */
int json_value_need_number(const struct json_value *object, const char *key, double min,
                           double max, double *number, struct err *err);
int json_value_need_string(const struct json_value *object, const char *key,
                           const char **text, struct err *err);

/* A walk through the members of an object, in the order of the file:
 *     struct json_iter it = {.object = object};
 *     while (json_iter_next(&it)) ... it.key, it.value ... */
struct json_iter {
    const struct json_value *object;
    const char *key;
    const struct json_value *value;
    void *cursor;
};

bool json_iter_next(struct json_iter *it); /* false behind the last */
