/* config.c - files of keys in YAML into a struct, by a table: corgid's config, the loop's
 * settings */
#include "base/config.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "base/yaml.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file that is being read.  Whoever meets a mistake fills err and tells it; reading
 * goes on, so that one look at a file finds all of them. */
struct binding {
    const char *file;
    struct err err; /* the newest mistake */
    struct err all; /* a line each */
    int left_out;   /* those that had no room there */
};

static void *at(void *config, const struct config_key *key)
{
    return (char *)config + key->offset;
}

static bool is_value(const struct config_key *key)
{
    return (int)key->type < VALUE_TYPE_COUNT;
}

static struct value_rule rule_of(const struct config_key *key)
{
    return (struct value_rule){.type = (enum value_type)key->type,
                               .min = key->min,
                               .max = key->max,
                               .choices = key->choices};
}

/* Put a value's text in its place; false when it does not fit the key. */
static bool set_value(const struct config_key *key, const char *text, void *target)
{
    const struct value_rule rule = rule_of(key);

    if (key->type == CONFIG_OWN)
        return key->parse(text, target, NULL) == 0;
    if (key->type != CONFIG_STRING)
        return value_parse(&rule, text, target);
    if (!*text)
        return false;
    free(*(char **)target);
    *(char **)target = mem_strdup(text);
    return true;
}

void config_defaults(const struct config_key *keys, void *config)
{
    for (const struct config_key *key = keys; key->name; key++) {
        if (key->type == CONFIG_GROUP) {
            config_defaults(key->keys, at(config, key));
        } else if (key->default_text) {
            bool fits = set_value(key, key->default_text, at(config, key));

            assert(fits);
            (void)fits;
        }
    }
}

static bool is_list(const struct config_key *key)
{
    return key->type == CONFIG_LIST || key->type == CONFIG_STRINGS ||
           key->type == CONFIG_PAIRS;
}

static void fini_list(const struct config_key *key, struct config_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (key->type != CONFIG_LIST)
            free(((char **)list->items)[i]);
        else
            config_fini(key->keys, (char *)list->items + i * key->item_size);
    }
    free(list->items);
    *list = (struct config_list){0};
}

void config_fini(const struct config_key *keys, void *config)
{
    for (const struct config_key *key = keys; key->name; key++) {
        void *target = at(config, key);

        if (key->type == CONFIG_STRING) {
            free(*(char **)target);
            *(char **)target = NULL;
        } else if (key->type == CONFIG_GROUP) {
            config_fini(key->keys, target);
        } else if (is_list(key)) {
            fini_list(key, target);
        }
    }
}

static int tell(struct binding *b, int line, int column)
{
    size_t used = strlen(b->all.text), room = sizeof(b->all.text) - used;
    const size_t last_line = sizeof("\nand 10000 more mistakes");

    err_prefix(&b->err, "%s:%d:%d", b->file, line, column);
    if (used == 0)
        b->all = b->err;
    else if (strlen(b->err.text) + 2 + last_line > room)
        b->left_out++;
    else
        snprintf(b->all.text + used, room, "\n%s", b->err.text);
    return -1;
}

static int tell_at(struct binding *b, const struct yaml_node *node)
{
    return tell(b, node->line, node->column);
}

static void describe(const struct config_key *key, struct str *out)
{
    const struct value_rule rule = rule_of(key);

    if (is_value(key))
        value_describe(&rule, out);
    else if (key->type == CONFIG_OWN)
        str_add(out, key->takes);
    else
        str_add(out, key->type == CONFIG_GROUP   ? "a mapping of keys"
                     : key->type == CONFIG_LIST  ? "a list of mappings"
                     : key->type == CONFIG_PAIRS ? "a mapping of texts"
                                                 : "a list of texts");
}

static int refuse(struct binding *b, const struct config_key *key,
                  const struct yaml_node *node)
{
    static const char *const kinds[] = {"", "a list", "a mapping"};
    struct str wanted = {0};

    describe(key, &wanted);
    if (node->kind == YAML_VALUE && !*node->text)
        err_set(&b->err, ERR_INVALID, "'%s' has no value, it takes %s", key->name,
                str_text(&wanted));
    else if (node->kind == YAML_VALUE)
        err_set(&b->err, ERR_INVALID, "'%s' takes %s, not %s'%.60s'", key->name,
                str_text(&wanted), node->quoted ? "the text " : "", node->text);
    else
        err_set(&b->err, ERR_INVALID, "'%s' takes %s, not %s", key->name,
                str_text(&wanted), kinds[node->kind]);
    str_fini(&wanted);
    return tell_at(b, node);
}

/* In YAML quotes make a text; units and choices are texts anyway. */
static bool text_fits(const struct config_key *key, const struct yaml_node *node)
{
    if (node->kind != YAML_VALUE)
        return false;
    if (!node->quoted)
        return strcmp(node->text, "~") != 0 && strcmp(node->text, "null") != 0;
    return key->type != CONFIG_BOOL && key->type != CONFIG_INT &&
           key->type != CONFIG_U64 && key->type != CONFIG_DOUBLE;
}

static int bind_mapping(struct binding *b, const struct config_key *keys,
                        const struct yaml_node *mapping, void *config);

static int bind_item(struct binding *b, const struct config_key *key,
                     const struct yaml_node *node, void *item)
{
    struct str pair = {0};

    if (key->type == CONFIG_LIST) {
        if (node->kind != YAML_MAPPING)
            return refuse(b, key, node);
        config_defaults(key->keys, item);
        return bind_mapping(b, key->keys, node, item);
    }
    if (!text_fits(key, node) || !*node->text)
        return refuse(b, key, node);
    if (key->type == CONFIG_PAIRS)
        str_addf(&pair, "%s=", node->key);
    str_add(&pair, node->text);
    *(char **)item = str_take(&pair);
    return 0;
}

static int bind_list(struct binding *b, const struct config_key *key,
                     const struct yaml_node *node, struct config_list *list)
{
    size_t size = key->type == CONFIG_LIST ? key->item_size : sizeof(char *);
    size_t most = key->max > 0 ? (size_t)key->max : CONFIG_MAX_ITEMS;
    int rc = 0;

    if (node->kind != (key->type == CONFIG_PAIRS ? YAML_MAPPING : YAML_LIST))
        return refuse(b, key, node);
    if (node->child_count > most || (double)node->child_count < key->min) {
        err_set(&b->err, ERR_LIMIT, "'%s' takes %.0f to %zu items, not %zu", key->name,
                key->min, most, node->child_count);
        return tell_at(b, node);
    }
    list->items = mem_zeroed(node->child_count, size);
    list->count = node->child_count; /* config_fini() takes half-filled items */
    for (size_t i = 0; i < node->child_count; i++)
        if (bind_item(b, key, &node->children[i], (char *)list->items + i * size) < 0)
            rc = -1;
    return rc;
}

/* A value the key's own function reads, told as that tells it. */
static int bind_own(struct binding *b, const struct config_key *key,
                    const struct yaml_node *node, void *target)
{
    const struct yaml_node *texts = node->kind == YAML_LIST ? node->children : node;
    size_t count = node->kind == YAML_LIST ? node->child_count : 1;
    struct str text = {0};
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++) {
        if (!text_fits(key, &texts[i]) || !*texts[i].text)
            rc = refuse(b, key, &texts[i]);
        else
            str_addf(&text, "%s%s", i > 0 ? ", " : "", texts[i].text);
    }
    if (rc == 0 && count == 0)
        rc = refuse(b, key, node);
    if (rc == 0 && key->parse(str_text(&text), target, &b->err) < 0) {
        err_prefix(&b->err, "'%s'", key->name);
        rc = tell_at(b, node);
    }
    str_fini(&text);
    return rc;
}

/* A group whose keys are all commented out is an empty one. */
static bool is_group(const struct yaml_node *node)
{
    return node->kind == YAML_MAPPING ||
           (node->kind == YAML_VALUE && !node->quoted && !*node->text);
}

static int bind_key(struct binding *b, const struct config_key *key,
                    const struct yaml_node *node, void *target)
{
    int rc = 0;

    if (is_list(key))
        rc = bind_list(b, key, node, target);
    else if (key->type == CONFIG_OWN)
        rc = bind_own(b, key, node, target);
    else if (key->type == CONFIG_GROUP && is_group(node))
        rc = bind_mapping(b, key->keys, node, target);
    else if (key->type == CONFIG_GROUP || !text_fits(key, node) ||
             !set_value(key, node->text, target))
        rc = refuse(b, key, node);
    if (rc == 0 && key->check && key->check(target, &b->err) < 0)
        rc = tell_at(b, node);
    return rc;
}

static int refuse_unknown(struct binding *b, const struct config_key *keys,
                          const struct yaml_node *node)
{
    struct str known = {0};
    struct suggest nearest = {.typed = node->key};

    for (const struct config_key *key = keys; key->name; key++) {
        if (key->type == CONFIG_LINE)
            continue;
        suggest_try(&nearest, key->name);
        str_addf(&known, "%s%s", known.length ? ", " : "", key->name);
    }
    if (nearest.best)
        err_set(&b->err, ERR_INVALID, "unknown key '%.60s', did you mean '%s'?",
                node->key, nearest.best);
    else
        err_set(&b->err, ERR_INVALID, "unknown key '%.60s', known are %.250s", node->key,
                str_text(&known));
    str_fini(&known);
    return tell(b, node->key_line, node->key_column);
}

static const struct config_key *key_named(const struct config_key *keys, const char *name)
{
    for (const struct config_key *key = keys; key->name; key++)
        if (key->type != CONFIG_LINE && !strcmp(key->name, name))
            return key;
    return NULL;
}

static int bind_mapping(struct binding *b, const struct config_key *keys,
                        const struct yaml_node *mapping, void *config)
{
    bool misspelt = false; /* an unknown key may be the one that is missing */
    int rc = 0;

    for (size_t i = 0; i < mapping->child_count; i++) {
        const struct yaml_node *node = &mapping->children[i];
        const struct config_key *key = key_named(keys, node->key);

        if (!key) {
            rc = refuse_unknown(b, keys, node);
            misspelt = true;
        } else if (bind_key(b, key, node, at(config, key)) < 0) {
            rc = -1;
        }
    }
    for (const struct config_key *key = keys; key->name; key++) {
        if (key->type == CONFIG_LINE)
            *(int *)at(config, key) = mapping->line;
        if (key->required && !misspelt && !yaml_get(mapping, key->name)) {
            err_set(&b->err, ERR_INVALID, "the key '%s' (%s) is missing", key->name,
                    key->help);
            rc = tell_at(b, mapping);
        }
    }
    return rc;
}

/* All mistakes that were told, into the caller's err. */
static void tell_caller(struct binding *b, struct err *err)
{
    if (b->left_out > 0)
        err_set(err, b->all.code, "%s\nand %d more mistakes", b->all.text, b->left_out);
    else if (err)
        *err = b->all;
}

int config_parse(const struct config_key *keys, void *config, size_t size,
                 const char *name, const char *text, size_t count, struct err *err)
{
    struct binding b = {.file = name};
    struct yaml_node *root = NULL;
    void *fresh;
    int rc = -1;

    if (yaml_parse(&root, name, text, count, err) < 0)
        return -1;
    fresh = mem_zeroed(1, size);
    config_defaults(keys, fresh);
    if (root->kind == YAML_MAPPING)
        rc = bind_mapping(&b, keys, root, fresh);
    else
        err_set(&b.all, ERR_FORMAT, "%s:%d:%d: a config is a mapping of keys", name,
                root->line, root->column);
    if (rc == 0) {
        memcpy(config, fresh, size);
    } else {
        config_fini(keys, fresh);
        tell_caller(&b, err);
    }
    free(fresh);
    yaml_destroy(root);
    return rc;
}

int config_read(const struct config_key *keys, void *config, size_t size,
                const char *path, struct err *err)
{
    char *text = NULL;
    size_t count = 0;
    int rc;

    if (file_read(path, YAML_MAX_BYTES, &text, &count, err) < 0)
        return -1;
    rc = config_parse(keys, config, size, path, text, count, err);
    free(text);
    return rc;
}

/* ---- every key with its default, for `corgi config show` --------------------------- */

/* Quotes where YAML would not read the text back as it is. */
static void add_text(struct str *out, const char *text)
{
    bool plain = isalnum((unsigned char)*text) || *text == '/' || *text == '.';

    for (const char *c = text; *c; c++)
        plain = plain && (isalnum((unsigned char)*c) || strchr("/._-", *c));
    if (plain) {
        str_add(out, text);
        return;
    }
    str_add(out, "'");
    for (const char *c = text; *c; c++)
        str_addf(out, "%s%c", *c == '\'' ? "'" : "", *c);
    str_add(out, "'");
}

static void add_help(const struct config_key *key, struct str *out)
{
    str_addf(out, "# %s", key->help ? key->help : key->name);
    if (key->type == CONFIG_OWN ||
        (key->type != CONFIG_BOOL && key->type != CONFIG_STRING && is_value(key))) {
        str_add(out, "; ");
        describe(key, out);
    }
    str_add(out, key->required ? "; required\n" : "\n");
}

/* Every line begins with the lead; a key without a value to show is commented out.  A
 * list that must be there is shown with one item, so that the whole can be read back. */
static void document(const struct config_key *keys, const char *lead, struct str *out)
{
    for (const struct config_key *key = keys; key->name; key++) {
        struct str deeper = {0};

        if (key->type == CONFIG_LINE)
            continue;
        str_add(out, lead);
        add_help(key, out);
        if (key->type == CONFIG_GROUP) {
            str_addf(out, "%s%s:\n", lead, key->name);
            str_addf(&deeper, "%s  ", lead);
            document(key->keys, str_text(&deeper), out);
        } else if (key->type == CONFIG_LIST) {
            const char *mark = key->required ? "" : "# ";

            str_addf(out, "%s%s%s:\n%s%s  -\n", lead, mark, key->name, lead, mark);
            str_addf(&deeper, "%s%s    ", lead, mark);
            document(key->keys, str_text(&deeper), out);
        } else if (key->default_text) {
            str_addf(out, "%s%s: ", lead, key->name);
            if (key->type == CONFIG_INT || key->type == CONFIG_DOUBLE)
                str_add(out, key->default_text); /* "-10" would be a text */
            else
                add_text(out, key->default_text);
            str_add(out, "\n");
        } else {
            str_addf(out, "%s# %s:\n", lead, key->name);
        }
        str_fini(&deeper);
    }
}

void config_document(const struct config_key *keys, struct str *out)
{
    document(keys, "", out);
}
