/* yaml.h - a YAML file as a small tree that knows its lines
 *
 * Only what a config file needs: mappings, lists and plain values.  Aliases, anchors,
 * tags, several documents and keys that occur twice are refused, and so is anything
 * beyond the limits below, so that a tree is never larger than its file. */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define YAML_MAX_BYTES ((size_t)4 << 20)
#define YAML_MAX_DEPTH 32
#define YAML_MAX_TEXT  4096 /* bytes of one value */

enum yaml_kind { YAML_VALUE, YAML_LIST, YAML_MAPPING };

struct yaml_node {
    enum yaml_kind kind;
    int line, column; /* from 1 */
    char *text;       /* a value's; "" when it was left out */
    bool quoted;
    char *key;                  /* in a mapping; else NULL */
    int key_line, key_column;   /* where the key stands */
    struct yaml_node *children; /* a list's items or a mapping's values, in file order */
    size_t child_count;
};

/* The name is for messages, which begin with name:line:column.  An empty text is an empty
 * mapping.  The caller ends *root with yaml_destroy(). */
int yaml_parse(struct yaml_node **root, const char *name, const char *text, size_t count,
               struct err *err);
void yaml_destroy(struct yaml_node *root); /* NULL is fine */

/* A mapping's value; NULL when there is no such key. */
const struct yaml_node *yaml_get(const struct yaml_node *mapping, const char *key);
