/* sse_parse.c - client.c feeds it the bytes of an event stream and gets whole events */
#include "http/sse_parse.h"

#include <string.h>

void sse_parse_fini(struct sse_parse *p)
{
    str_fini(&p->line);
    str_fini(&p->type);
    str_fini(&p->data);
    str_fini(&p->id);
}

static int take_field(struct sse_parse *p, const char *name, const char *value,
                      struct err *err)
{
    if (!strcmp(name, "event")) {
        str_clear(&p->type);
        str_add(&p->type, value);
    } else if (!strcmp(name, "id")) {
        str_clear(&p->id);
        str_add(&p->id, value);
    } else if (!strcmp(name, "data")) {
        if (p->data.length + strlen(value) >= SSE_PARSE_MAX_DATA)
            return err_set(err, ERR_LIMIT, "an event is larger than %zu bytes",
                           SSE_PARSE_MAX_DATA);
        if (p->has_data)
            str_add(&p->data, "\n");
        str_add(&p->data, value);
        p->has_data = true;
    }
    return 0; /* others are for other readers */
}

static int end_event(struct sse_parse *p)
{
    bool go_on = true;

    if (p->has_data)
        go_on =
            p->event(p->ctx, str_text(&p->id),
                     p->type.length ? str_text(&p->type) : "message", str_text(&p->data));
    str_clear(&p->type);
    str_clear(&p->data);
    p->has_data = false;
    return go_on ? 0 : 1;
}

static int take_line(struct sse_parse *p, struct err *err)
{
    char *text = p->line.text, *colon;
    int rc = 0;

    if (p->line.length == 0)
        return end_event(p);
    colon = strchr(text, ':');
    if (colon != text) { /* else a comment */
        if (colon)
            *colon++ = '\0';
        rc = take_field(p, text, colon ? colon + (*colon == ' ') : "", err);
    }
    str_clear(&p->line);
    return rc;
}

int sse_parse_feed(struct sse_parse *p, const char *bytes, size_t count, struct err *err)
{
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++) {
        char c = bytes[i];

        if (p->after_cr && c == '\n') {
            p->after_cr = false;
            continue;
        }
        p->after_cr = c == '\r';
        if (c == '\r' || c == '\n') {
            rc = take_line(p, err);
            continue;
        }
        if (p->line.length >= SSE_PARSE_MAX_LINE)
            return err_set(err, ERR_LIMIT,
                           "a line of the events is longer than %zu bytes",
                           SSE_PARSE_MAX_LINE);
        if (c) /* a NUL means nothing in text */
            str_add_bytes(&p->line, &c, 1);
        if (!p->begun && p->line.length == 3) {
            p->begun = true;
            if (!memcmp(p->line.text, "\xef\xbb\xbf", 3))
                str_clear(&p->line);
        }
    }
    return rc;
}
