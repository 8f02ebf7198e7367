/* openapi.h - a small validator: does this JSON satisfy a schema of the OpenAPI file?
 *
 * Knows what docs/openapi.yaml uses, and fails on a word it does not know. */
#pragma once

#include "base/file.h"
#include "base/json.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/yaml.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* docs/openapi.yaml, found from where this file was compiled. */
static inline struct yaml_node *openapi_load(void)
{
    struct yaml_node *root = NULL;
    struct str path = {0};
    char *text = NULL;
    size_t length = 0;
    struct err err = {0};
    const char *end = strstr(__FILE__, "tests/support/");

    assert_non_null(end);
    str_add_bytes(&path, __FILE__, (size_t)(end - __FILE__));
    str_add(&path, "docs/openapi.yaml");
    if (file_read(str_text(&path), YAML_MAX_BYTES, &text, &length, &err) < 0 ||
        yaml_parse(&root, str_text(&path), text, length, &err) < 0)
        fail_msg("%s", err.text);
    free(text);
    str_fini(&path);
    return root;
}

static inline const struct yaml_node *openapi_get(const struct yaml_node *node,
                                                  const char *key)
{
    return node && node->kind == YAML_MAPPING ? yaml_get(node, key) : NULL;
}

static inline const char *openapi_text(const struct yaml_node *node, const char *key)
{
    const struct yaml_node *value = openapi_get(node, key);

    return value && value->kind == YAML_VALUE ? value->text : NULL;
}

static inline double openapi_number(const struct yaml_node *node, const char *key,
                                    double otherwise)
{
    const char *text = openapi_text(node, key);
    double number = otherwise;

    if (text && !parse_double(text, &number))
        fail_msg("line %d: %s is not a number", node->line, key);
    return number;
}

static inline bool openapi_flag(const struct yaml_node *node, const char *key)
{
    const char *text = openapi_text(node, key);

    return text && !strcmp(text, "true");
}

/* Follow $ref, if it is one. */
static inline const struct yaml_node *openapi_resolve(const struct yaml_node *root,
                                                      const struct yaml_node *node)
{
    const char *ref = openapi_text(node, "$ref");
    char word[100];

    if (!ref)
        return node;
    assert_true(str_starts(ref, "#/"));
    node = root;
    for (ref += 2; *ref; ref += *ref == '/') {
        size_t length = strcspn(ref, "/");

        snprintf(word, sizeof(word), "%.*s", (int)length, ref);
        node = openapi_get(node, word);
        if (!node)
            fail_msg("$ref to %s leads nowhere", word);
        ref += length;
    }
    return openapi_resolve(root, node);
}

static inline bool openapi_listed(const struct yaml_node *list, const char *text)
{
    for (size_t i = 0; list && i < list->child_count; i++)
        if (!strcmp(list->children[i].text, text))
            return true;
    return false;
}

static inline bool openapi_valid(const struct yaml_node *root,
                                 const struct yaml_node *schema,
                                 const struct json_value *value);

static inline bool openapi_valid_object(const struct yaml_node *root,
                                        const struct yaml_node *schema,
                                        const struct json_value *value)
{
    const struct yaml_node *required = openapi_get(schema, "required");
    const struct yaml_node *more = openapi_get(schema, "additionalProperties");
    double count = (double)json_value_count(value);
    struct json_iter it = {.object = value};

    if (json_value_kind(value) != JSON_KIND_OBJECT ||
        count < openapi_number(schema, "minProperties", 0) ||
        count > openapi_number(schema, "maxProperties", INFINITY))
        return false;
    for (size_t i = 0; required && i < required->child_count; i++)
        if (!json_value_get(value, required->children[i].text))
            return false;
    while (json_iter_next(&it)) {
        const struct yaml_node *property =
            openapi_get(openapi_get(schema, "properties"), it.key);

        if (property && !openapi_valid(root, property, it.value))
            return false;
        if (!property && more && more->kind == YAML_VALUE && !strcmp(more->text, "false"))
            return false;
        if (!property && more && more->kind == YAML_MAPPING &&
            !openapi_valid(root, more, it.value))
            return false;
    }
    return true;
}

static inline bool openapi_valid_number(const struct yaml_node *schema,
                                        const struct json_value *value, bool whole)
{
    double number, least = openapi_number(schema, "minimum", -INFINITY);

    if (!json_value_number(value, &number) || (whole && number != floor(number)))
        return false;
    if (openapi_flag(schema, "exclusiveMinimum") && !(number > least))
        return false;
    return number >= least && number <= openapi_number(schema, "maximum", INFINITY);
}

static inline bool openapi_valid_string(const struct yaml_node *schema,
                                        const struct json_value *value)
{
    const char *text = json_value_string(value);
    const struct yaml_node *choices = openapi_get(schema, "enum");
    double length = text ? (double)strlen(text) : 0;

    return text && length >= openapi_number(schema, "minLength", 0) &&
           length <= openapi_number(schema, "maxLength", INFINITY) &&
           (!choices || openapi_listed(choices, text));
}

static inline bool openapi_valid_array(const struct yaml_node *root,
                                       const struct yaml_node *schema,
                                       const struct json_value *value)
{
    double count = (double)json_value_count(value);

    if (json_value_kind(value) != JSON_KIND_ARRAY ||
        count < openapi_number(schema, "minItems", 0) ||
        count > openapi_number(schema, "maxItems", INFINITY))
        return false;
    for (size_t i = 0; i < json_value_count(value); i++)
        if (!openapi_valid(root, openapi_get(schema, "items"), json_value_item(value, i)))
            return false;
    return true;
}

static inline bool openapi_valid(const struct yaml_node *root,
                                 const struct yaml_node *schema,
                                 const struct json_value *value)
{
    const struct yaml_node *all;
    const char *type;
    bool flag;

    schema = openapi_resolve(root, schema);
    if (openapi_flag(schema, "nullable") && json_value_kind(value) == JSON_KIND_NULL)
        return true;
    all = openapi_get(schema, "allOf");
    for (size_t i = 0; all && i < all->child_count; i++)
        if (!openapi_valid(root, &all->children[i], value))
            return false;
    type = openapi_text(schema, "type");
    if (!type)
        return all != NULL;
    if (!strcmp(type, "object"))
        return openapi_valid_object(root, schema, value);
    if (!strcmp(type, "array"))
        return openapi_valid_array(root, schema, value);
    if (!strcmp(type, "string"))
        return openapi_valid_string(schema, value);
    if (!strcmp(type, "number") || !strcmp(type, "integer"))
        return openapi_valid_number(schema, value, *type == 'i');
    if (!strcmp(type, "boolean"))
        return json_value_bool(value, &flag);
    fail_msg("line %d: type %s is not known", schema->line, type);
    return false;
}

/* A schema of components/schemas by name. */
static inline const struct yaml_node *openapi_schema(const struct yaml_node *root,
                                                     const char *name)
{
    const struct yaml_node *schema =
        openapi_get(openapi_get(openapi_get(root, "components"), "schemas"), name);

    if (!schema)
        fail_msg("components/schemas has no %s", name);
    return schema;
}
