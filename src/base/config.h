/* config.h - YAML files bound to structs by a table
 *
 * The table names each key, where it goes, what it may be, its default and what it is
 * for; reading, refusing and the documented defaults all come from it.
 *
 *     static const struct config_key node_keys[] = {
 *         {.name = "name", .type = CONFIG_STRING, .required = true,
 *          .offset = offsetof(struct node_config, name), .help = "the node's name"},
 *         CONFIG_NUMBER(INT, "gpus", offsetof(struct node_config, gpus), 1, 64, "1",
 *                       "how many it has"),
 *         {0},
 *     };
 *     static const struct config_key keys[] = {
 *         CONFIG_KEY(WATTS, "budget", offsetof(struct cluster_config, budget_watts),
 *                    "20kW", "..."),
 *         {.name = "nodes", .type = CONFIG_LIST, .keys = node_keys,
 *          .item_size = sizeof(struct node_config),
 *          .offset = offsetof(struct cluster_config, nodes), .help = "the machines"},
 *         {0},
 *     };
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "base/parse.h"

#include <stdbool.h>
#include <stddef.h>

enum config_type {
    CONFIG_BOOL = VALUE_BOOL,
    CONFIG_STRING = VALUE_TEXT, /* char *, the config's own; NULL without a default */
    CONFIG_INT = VALUE_INT,
    CONFIG_U64 = VALUE_U64,
    CONFIG_DOUBLE = VALUE_DOUBLE,
    CONFIG_SECONDS = VALUE_SECONDS,
    CONFIG_WATTS = VALUE_WATTS,
    CONFIG_CHOICE = VALUE_CHOICE,
    CONFIG_STRINGS = VALUE_TYPE_COUNT, /* struct config_list of char * */
    CONFIG_PAIRS, /* the same of a mapping with any keys: KEY=VALUE each */
    CONFIG_GROUP, /* a mapping of `keys`, in a struct at the offset */
    CONFIG_LIST,  /* struct config_list of structs of item_size, mappings of `keys` */
    CONFIG_OWN,   /* a text, or a list of texts joined by commas, that the key's parse()
                     puts in its place */
    CONFIG_LINE, /* int: not a key but the line where the mapping begins, 0 when it is not
                    in the file; for checks that need more than one key */
};

struct config_list {
    void *items;
    size_t count;
};

#define CONFIG_MAX_ITEMS 10000 /* of a list, unless its max says less */

struct config_key {
    const char *name; /* NULL ends the table */
    enum config_type type;
    size_t offset;
    double min, max; /* of a number, as in struct value_rule; of a list, its count */
    const char *const *choices;
    const char *default_text; /* as in the file, read the same way; NULL: zero */
    bool required;
    const struct config_key *keys;
    size_t item_size;
    /* Of CONFIG_OWN: put the text in its place, or fill err and return -1; what such a
     * text is, for refusals: "a power". */
    int (*parse)(const char *text, void *value, struct err *err);
    const char *takes;
    /* More to say about a value, given its place in the struct: fill err, return -1. */
    int (*check)(const void *value, struct err *err);
    const char *help; /* lower case, no full stop */
};

/* Rows of a table: a key as it is, a number in a range, one of some words, a group. */
#define CONFIG_KEY(kind, key, at, otherwise, what)                                       \
    {                                                                                    \
        .name = (key), .type = CONFIG_##kind, .offset = (at),                            \
        .default_text = (otherwise), .help = (what)                                      \
    }
#define CONFIG_NUMBER(kind, key, at, low, high, otherwise, what)                         \
    {                                                                                    \
        .name = (key), .type = CONFIG_##kind, .offset = (at), .min = (low),              \
        .max = (high), .default_text = (otherwise), .help = (what)                       \
    }
#define CONFIG_ONE_OF(key, at, words, otherwise, what)                                   \
    {                                                                                    \
        .name = (key), .type = CONFIG_CHOICE, .offset = (at), .choices = (words),        \
        .default_text = (otherwise), .help = (what)                                      \
    }
#define CONFIG_NESTED(key, at, table, what)                                              \
    {                                                                                    \
        .name = (key), .type = CONFIG_GROUP, .offset = (at), .keys = (table),            \
        .help = (what)                                                                   \
    }

/* Read the file over the defaults into the struct of that size, which is overwritten on
 * success and untouched on failure: then err holds all mistakes, a line each, as many as
 * it has room for.  End it with config_fini(). */
int config_read(const struct config_key *keys, void *config, size_t size,
                const char *path, struct err *err);
int config_parse(const struct config_key *keys, void *config, size_t size,
                 const char *name, const char *text, size_t count, struct err *err);

/* The defaults alone, into a zeroed struct. */
void config_defaults(const struct config_key *keys, void *config);
void config_fini(const struct config_key *keys, void *config);

/* All keys with their defaults and help, as a YAML file that config_parse() takes. */
void config_document(const struct config_key *keys, struct str *out);
