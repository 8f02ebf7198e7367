/* directives.c - the #CORGI lines of scripts, split into words as a shell would */
#include "base/directives.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct directive_line {
    const char *at, *end;
    const char *name;
    int number;
    struct err *err;
};

void directives_fini(struct directives *d)
{
    for (size_t i = 0; i < d->count; i++) {
        for (int k = 0; k < d->items[i].word_count; k++)
            free(d->items[i].words[k]);
        free(d->items[i].words);
    }
    free(d->items);
    *d = (struct directives){0};
}

static int refuse(const struct directive_line *l, const char *why)
{
    return err_set(l->err, ERR_FORMAT, "%s line %d: %s", l->name, l->number, why);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The next word, which begins here. */
static int read_word(struct directive_line *l, struct str *word)
{
    char quote = '\0';

    for (; l->at < l->end && (quote || !is_blank(*l->at)); l->at++) {
        char c = *l->at;

        if (c == '\0')
            return refuse(l, "there is a NUL");
        if (quote ? c == quote : c == '\'' || c == '"') {
            quote = quote ? '\0' : c;
        } else if (c == '\\' && quote != '\'') {
            if (++l->at == l->end)
                return refuse(l, "it ends in a '\\'");
            str_add_bytes(word, l->at, 1);
        } else {
            str_add_bytes(word, &c, 1);
        }
    }
    return quote ? refuse(l, "a quote is not closed") : 0;
}

static int add_word(struct directive *d, struct directive_line *l)
{
    struct str word = {0};

    if (d->word_count == DIRECTIVES_MAX_WORDS)
        return refuse(l, "there are too many words");
    if (read_word(l, &word) < 0) {
        str_fini(&word);
        return -1;
    }
    d->words[d->word_count++] = word.text ? str_take(&word) : mem_strdup("");
    return 0;
}

static int read_line(struct directives *d, struct directive_line *l, const char *mark)
{
    struct directive *made;

    if (d->count == DIRECTIVES_MAX_LINES)
        return refuse(l, "there are too many such lines");
    d->items = mem_resize(d->items, d->count, d->count + 1, sizeof(*d->items));
    made = &d->items[d->count++];
    made->line = l->number;
    made->words = mem_array(char *, DIRECTIVES_MAX_WORDS + 1);
    made->words[made->word_count++] = mem_strdup(mark);
    for (;;) {
        while (l->at < l->end && is_blank(*l->at))
            l->at++;
        if (l->at == l->end)
            return 0;
        if (add_word(made, l) < 0)
            return -1;
    }
}

static bool is_mark(const struct directive_line *l, const char *mark)
{
    size_t length = strlen(mark), here = (size_t)(l->end - l->at);

    return here >= length && !memcmp(l->at, mark, length) &&
           (here == length || is_blank(l->at[length]));
}

int directives_parse(struct directives *d, const char *mark, const char *text,
                     size_t length, const char *name, struct err *err)
{
    struct directives made = {0};
    const char *end = text + length;
    struct directive_line l = {.name = name, .err = err};

    for (; text < end; text = l.end + 1) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));

        l.at = text;
        l.end = newline ? newline : end;
        l.number++;
        if (is_mark(&l, mark)) {
            l.at += strlen(mark);
            if (read_line(&made, &l, mark) < 0) {
                directives_fini(&made);
                return -1;
            }
            continue;
        }
        while (l.at < l.end && is_blank(*l.at))
            l.at++;
        if (l.at < l.end && *l.at != '#')
            break; /* the first line that does something */
    }
    *d = made;
    return 0;
}
