/* yaml.c - config and cluster files, as a tree with line numbers; only this file knows
 * libyaml */
#include "base/yaml.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct yaml_reader {
    yaml_parser_t parser;
    const char *name;
    struct err *err;
};

/* libyaml counts from 0. */
static int refuse(struct yaml_reader *r, yaml_mark_t at, enum err_code code,
                  const char *what)
{
    return err_set(r->err, code, "%s:%zu:%zu: %s", r->name, at.line + 1, at.column + 1,
                   what);
}

static int refuse_syntax(struct yaml_reader *r)
{
    const yaml_parser_t *p = &r->parser;
    bool has_mark = p->problem_mark.line || p->problem_mark.column;
    const char *problem = p->problem ? p->problem : "not YAML";

    if (p->error == YAML_READER_ERROR)
        return err_set(r->err, ERR_FORMAT, "%s: not readable text at byte %zu: %s",
                       r->name, p->problem_offset, problem);
    return refuse(r, has_mark ? p->problem_mark : p->context_mark, ERR_FORMAT, problem);
}

static int next_event(struct yaml_reader *r, yaml_event_t *event)
{
    if (!yaml_parser_parse(&r->parser, event))
        return refuse_syntax(r);
    return 0;
}

static void node_fini(struct yaml_node *node)
{
    for (size_t i = 0; i < node->child_count; i++)
        node_fini(&node->children[i]);
    free(node->children);
    free(node->text);
    free(node->key);
}

void yaml_destroy(struct yaml_node *root)
{
    if (!root)
        return;
    node_fini(root);
    free(root);
}

/* A place for one more child, zeroed. */
static struct yaml_node *add_child(struct yaml_node *parent)
{
    size_t count = parent->child_count;

    if ((count & (count - 1)) == 0) /* full at every power of two */
        parent->children = mem_resize(parent->children, count, count ? count * 2 : 1,
                                      sizeof(*parent->children));
    parent->child_count++;
    return &parent->children[count];
}

static int take_text(struct yaml_reader *r, const yaml_event_t *event, char **text)
{
    size_t length = event->data.scalar.length;

    if (event->data.scalar.tag || event->data.scalar.anchor)
        return refuse(r, event->start_mark, ERR_UNSUPPORTED,
                      "tags and anchors are not allowed, write the value out");
    if (length > YAML_MAX_TEXT)
        return refuse(r, event->start_mark, ERR_LIMIT, "the value is too long");
    if (memchr(event->data.scalar.value, '\0', length))
        return refuse(r, event->start_mark, ERR_FORMAT,
                      "the value holds a NUL character");
    *text = mem_strdup((const char *)event->data.scalar.value);
    return 0;
}

static int read_children(struct yaml_reader *r, struct yaml_node *node, int depth);

/* Fill the node from the event that begins it and, for a list or mapping, those after. */
static int read_node(struct yaml_reader *r, const yaml_event_t *event,
                     struct yaml_node *node, int depth)
{
    yaml_mark_t at = event->start_mark;

    node->line = (int)at.line + 1;
    node->column = (int)at.column + 1;
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        node->kind = YAML_VALUE;
        node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
        return take_text(r, event, &node->text);
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        if (event->type == YAML_SEQUENCE_START_EVENT) {
            node->kind = YAML_LIST;
            if (event->data.sequence_start.tag || event->data.sequence_start.anchor)
                break;
        } else {
            node->kind = YAML_MAPPING;
            if (event->data.mapping_start.tag || event->data.mapping_start.anchor)
                break;
        }
        if (depth >= YAML_MAX_DEPTH)
            return refuse(r, at, ERR_LIMIT, "nested too deeply");
        return read_children(r, node, depth + 1);
    case YAML_ALIAS_EVENT:
        return refuse(r, at, ERR_UNSUPPORTED,
                      "aliases are not allowed, write the value out");
    default:
        return refuse(r, at, ERR_FORMAT, "not YAML");
    }
    return refuse(r, at, ERR_UNSUPPORTED,
                  "tags and anchors are not allowed, write the value out");
}

static int refuse_twice(struct yaml_reader *r, const struct yaml_node *first,
                        const struct yaml_node *second)
{
    return err_set(
        r->err, ERR_FORMAT,
        "%s:%d:%d: the key '%.60s' is there twice (first in line %d), remove one",
        r->name, second->key_line, second->key_column, second->key, first->key_line);
}

/* The event is the key; the value's event follows. */
static int read_pair(struct yaml_reader *r, const yaml_event_t *key,
                     struct yaml_node *parent, int depth)
{
    struct yaml_node *node;
    yaml_event_t event;
    int rc;

    if (key->type != YAML_SCALAR_EVENT)
        return refuse(r, key->start_mark, ERR_FORMAT, "a key must be a plain name");
    node = add_child(parent);
    if (take_text(r, key, &node->key) < 0)
        return -1;
    node->key_line = (int)key->start_mark.line + 1;
    node->key_column = (int)key->start_mark.column + 1;
    for (size_t i = 0; i + 1 < parent->child_count; i++)
        if (!strcmp(parent->children[i].key, node->key))
            return refuse_twice(r, &parent->children[i], node);
    if (next_event(r, &event) < 0)
        return -1;
    rc = read_node(r, &event, node, depth);
    yaml_event_delete(&event);
    return rc;
}

static int read_children(struct yaml_reader *r, struct yaml_node *node, int depth)
{
    bool mapping = node->kind == YAML_MAPPING, ended;
    yaml_event_t event;
    int rc = 0;

    do {
        if (next_event(r, &event) < 0)
            return -1;
        ended =
            event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT;
        /* Looking for a key that is there twice takes time by the square. */
        if (mapping && node->child_count >= 1000 && !ended)
            rc = refuse(r, event.start_mark, ERR_LIMIT, "too many keys in one mapping");
        else if (!ended && mapping)
            rc = read_pair(r, &event, node, depth);
        else if (!ended)
            rc = read_node(r, &event, add_child(node), depth);
        yaml_event_delete(&event);
    } while (rc == 0 && !ended);
    return rc;
}

/* Skip to the first event of the document's content; an empty stream gives its end. */
static int read_document(struct yaml_reader *r, struct yaml_node *root)
{
    yaml_event_t event;
    bool started = false, done = false;
    int rc = 0;

    while (rc == 0 && !done) {
        if (next_event(r, &event) < 0)
            return -1;
        if (event.type == YAML_STREAM_END_EVENT)
            done = true;
        else if (event.type == YAML_DOCUMENT_START_EVENT && started)
            rc = refuse(r, event.start_mark, ERR_UNSUPPORTED,
                        "a second document, a config is one");
        else if (event.type == YAML_DOCUMENT_START_EVENT)
            started = true;
        else if (event.type != YAML_STREAM_START_EVENT &&
                 event.type != YAML_DOCUMENT_END_EVENT)
            rc = read_node(r, &event, root, 0);
        yaml_event_delete(&event);
    }
    if (rc == 0 && !started)
        *root = (struct yaml_node){.kind = YAML_MAPPING, .line = 1, .column = 1};
    return rc;
}

int yaml_parse(struct yaml_node **root, const char *name, const char *text, size_t count,
               struct err *err)
{
    struct yaml_reader r = {.name = name, .err = err};
    struct yaml_node *node = mem_new(struct yaml_node);
    int rc;

    if (count > YAML_MAX_BYTES || !yaml_parser_initialize(&r.parser)) {
        free(node);
        return err_set(err, ERR_LIMIT, "%s is larger than the %zu bytes that are allowed",
                       name, YAML_MAX_BYTES);
    }
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, count);
    rc = read_document(&r, node);
    yaml_parser_delete(&r.parser);
    if (rc == 0)
        *root = node;
    else
        yaml_destroy(node);
    return rc;
}

const struct yaml_node *yaml_get(const struct yaml_node *mapping, const char *key)
{
    for (size_t i = 0; mapping->kind == YAML_MAPPING && i < mapping->child_count; i++)
        if (!strcmp(mapping->children[i].key, key))
            return &mapping->children[i];
    return NULL;
}
