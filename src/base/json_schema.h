/* json_schema.h - what a JSON object from outside must look like, as a table
 *
 * The server checks a body against its route's schema before the handler sees it, so a
 * handler finds every required member there, of its type and in its range, and no member
 * it does not know.  What depends on state (does that GPU type exist?) is the handler's.
 * docs/openapi.yaml says the same; a test compares the two. */
#pragma once

#include "base/err.h"
#include "base/json.h"

#include <stdbool.h>

enum schema_type {
    SCHEMA_BOOL,
    SCHEMA_NUMBER,  /* min..max */
    SCHEMA_INTEGER, /* min..max, both within 2^53 */
    SCHEMA_STRING,  /* min..max bytes; choices; no control characters unless `text` */
    SCHEMA_OBJECT,  /* of `schema` */
    SCHEMA_ARRAY,   /* min..max items, each as `item` says */
    SCHEMA_MAP,     /* at most max members of any name; values as `item` says */
};

struct schema;

struct schema_field {
    const char *name; /* NULL ends the table */
    enum schema_type type;
    bool required;
    bool nullable; /* null stands for "not given" */
    bool text;     /* a string of several lines */
    double min, max;
    bool above_min;             /* greater than min, not equal to it */
    const char *const *choices; /* ends with NULL */
    const struct schema *schema;
    const struct schema_field *item;
};

struct schema {
    const char *name; /* in components/schemas of the OpenAPI file */
    const struct schema_field *fields;
    bool one_at_least; /* an empty object changes nothing and is refused */
    bool optional;     /* no body at all counts as {} */
};

#define SCHEMA_PATH_SIZE 160

/* 0, or -1 with the reason and the path of the field ("need.rate", "types[3]"; "" for the
 * whole body). */
int schema_check(const struct schema *schema, const struct json_value *body,
                 char field[SCHEMA_PATH_SIZE], struct err *err);

/* How many values (json_doc_parse_few()) an object that passes can have. */
size_t schema_most_values(const struct schema *schema);
