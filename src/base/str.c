/* str.c - text that grows */
#include "base/str.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void str_fini(struct str *s)
{
    free(s->text);
    *s = (struct str){0};
}

void str_clear(struct str *s)
{
    s->length = 0;
    if (s->text)
        s->text[0] = '\0';
}

static void room_for(struct str *s, size_t more)
{
    size_t wanted = s->length + more + 1;
    size_t capacity = s->capacity ? s->capacity * 2 : 64;

    if (wanted <= s->capacity)
        return;
    if (capacity < wanted)
        capacity = wanted;
    s->text = mem_resize(s->text, s->capacity, capacity, 1);
    s->capacity = capacity;
}

char *str_grow(struct str *s, size_t count)
{
    char *begin;

    room_for(s, count);
    begin = s->text + s->length;
    s->length += count;
    s->text[s->length] = '\0';
    return begin;
}

void str_add_bytes(struct str *s, const char *bytes, size_t count)
{
    memcpy(str_grow(s, count), bytes, count);
}

void str_add(struct str *s, const char *text)
{
    str_add_bytes(s, text, strlen(text));
}

void str_addf(struct str *s, const char *format, ...)
{
    size_t room = s->capacity - s->length;
    va_list args;
    int needed;

    /* Mostly there is room: then the first try is the last. */
    va_start(args, format);
    needed = vsnprintf(room ? s->text + s->length : NULL, room, format, args);
    va_end(args);
    if (needed >= 0 && (size_t)needed < room) {
        s->length += (size_t)needed;
        return;
    }
    if (room)
        s->text[s->length] = '\0';
    if (needed < 0)
        return;
    room_for(s, (size_t)needed);
    va_start(args, format);
    vsnprintf(s->text + s->length, (size_t)needed + 1, format, args);
    va_end(args);
    s->length += (size_t)needed;
}

const char *str_text(const struct str *s)
{
    return s->text ? s->text : "";
}

char *str_take(struct str *s)
{
    char *text = s->text ? s->text : mem_strdup("");

    *s = (struct str){0};
    return text;
}

bool str_starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *text, const char *suffix)
{
    size_t length = strlen(text), end = strlen(suffix);

    return length >= end && strcmp(text + length - end, suffix) == 0;
}

bool str_next_word(const char **list, char *word, size_t size)
{
    size_t length;

    if (!*list || !**list)
        return false;
    length = strcspn(*list, ",");
    snprintf(word, size, "%.*s", length < size ? (int)length : 0, *list);
    *list += length + ((*list)[length] == ',');
    return true;
}

bool str_in_list(const char *list, char between, const char *word)
{
    const char separators[] = {between, '\0'};
    size_t length = strlen(word);

    while (*list) {
        size_t this = strcspn(list, separators);

        if (this == length && !memcmp(list, word, length))
            return true;
        list += this;
        list += *list == between;
    }
    return false;
}

size_t str_utf8_length(const char *text)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)text;
    size_t length = s[0] < 0x80             ? 1
                    : (s[0] & 0xe0) == 0xc0 ? 2
                    : (s[0] & 0xf0) == 0xe0 ? 3
                    : (s[0] & 0xf8) == 0xf0 ? 4
                                            : 0;
    uint32_t point = length > 1 ? s[0] & (0xffu >> (length + 1)) : s[0];

    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (s[i] & 0x3f);
    }
    if (length == 0 || point < least[length] || point > 0x10ffff ||
        (point >= 0xd800 && point <= 0xdfff))
        return 0;
    return length;
}

bool str_copy(char *to, size_t size, const char *from)
{
    size_t length = strlen(from);

    if (size == 0)
        return false;
    if (length >= size) {
        memcpy(to, from, size - 1);
        to[size - 1] = '\0';
        return false;
    }
    memcpy(to, from, length + 1);
    return true;
}
