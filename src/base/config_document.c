/* config_document.c - `corgi config show`: every key of a table with its default */
#include "base/config.h"

#include <ctype.h>
#include <string.h>

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
    const struct value_rule rule = {.type = (enum value_type)key->type,
                                    .min = key->min,
                                    .max = key->max,
                                    .choices = key->choices};

    str_addf(out, "# %s", key->help ? key->help : key->name);
    if (key->type != CONFIG_BOOL && key->type != CONFIG_STRING &&
        (int)key->type < VALUE_TYPE_COUNT) {
        str_add(out, "; ");
        value_describe(&rule, out);
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
