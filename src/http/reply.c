/* reply.c - see reply.h */
#include "http/reply.h"

#include "base/parse.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What the headers say about the body. */
struct framing {
    bool has_length, wrong, coded;
};

static void take_field(struct reply *reply, const char *name, const char *value,
                       struct framing *framing)
{
    uint64_t length;

    if (!strcasecmp(name, "content-length")) {
        if (framing->has_length || !parse_u64(value, &length) || length > SIZE_MAX / 2)
            framing->wrong = true;
        else
            reply->length = (size_t)length;
        framing->has_length = true;
    } else if (!strcasecmp(name, "transfer-encoding")) {
        framing->coded = true;
        framing->wrong |= strcasecmp(value, "chunked") != 0;
    } else if (!strcasecmp(name, "content-type")) {
        str_copy(reply->content_type, sizeof(reply->content_type), value);
    } else if (!strcasecmp(name, "connection")) {
        reply->keep_alive = strcasecmp(value, "close") != 0;
    }
}

static bool read_status(struct reply *reply, const char *line)
{
    if (strncmp(line, "HTTP/1.", 7) != 0 || !isdigit((unsigned char)line[7]) ||
        line[8] != ' ' || strspn(line + 9, "0123456789") != 3)
        return false;
    reply->status = atoi(line + 9);
    reply->keep_alive = line[7] != '0';
    return reply->status >= 100;
}

static int read_lines(struct reply *reply, char *text, struct err *err)
{
    struct framing framing = {0};
    char *next = NULL, *line = strtok_r(text, "\r\n", &next);

    if (!line || !read_status(reply, line))
        return err_set(err, ERR_FORMAT, "the answer is not HTTP");
    while ((line = strtok_r(NULL, "\r\n", &next)) != NULL) {
        char *colon = strchr(line, ':');

        if (!colon)
            return err_set(err, ERR_FORMAT, "a header of the answer is not NAME: VALUE");
        *colon = '\0';
        take_field(reply, line, colon + 1 + strspn(colon + 1, " \t"), &framing);
    }
    if (framing.wrong)
        return err_set(err, ERR_FORMAT, "the answer does not tell its length clearly");
    reply->framing = framing.coded        ? REPLY_CHUNKED
                     : framing.has_length ? REPLY_LENGTH
                                          : REPLY_CLOSE;
    return 0;
}

long reply_head(struct reply *reply, const char *bytes, size_t count, bool head_only,
                struct err *err)
{
    const char *end = memmem(bytes, count, "\r\n\r\n", 4);
    struct reply made = {.framing = REPLY_CLOSE};
    struct str text = {0};
    int rc;

    if (!end && count > REPLY_MAX_HEAD)
        return err_set(err, ERR_LIMIT, "the answer's headers are too large");
    if (!end)
        return 0;
    str_add_bytes(&text, bytes, (size_t)(end - bytes));
    rc = read_lines(&made, text.text ? text.text : (char[1]){0}, err);
    str_fini(&text);
    if (rc < 0)
        return -1;
    if (head_only || made.status == 204 || made.status == 304 || made.status < 200) {
        made.framing = REPLY_LENGTH;
        made.length = 0;
    }
    *reply = made;
    return end - bytes + 4;
}

enum { SIZE, EXTENSION, SIZE_LF, DATA, DATA_CR, DATA_LF, TRAILER, TRAILER_LF };

static int hex_value(char c)
{
    const char *digits = "0123456789abcdef";
    const char *found = c ? strchr(digits, tolower((unsigned char)c)) : NULL;

    return found ? (int)(found - digits) : -1;
}

/* A byte of the lines between the chunks. */
static bool take_frame_byte(struct reply_chunks *k, char c)
{
    int value = hex_value(c);

    switch (k->state) {
    case SIZE:
        if (value >= 0 && k->digits++ < 8) {
            k->left = k->left << 4 | (size_t)value;
            return true;
        }
        k->state = c == '\r' ? SIZE_LF : EXTENSION;
        return k->digits > 0 && (c == '\r' || c == ';' || c == ' ');
    case EXTENSION:
        k->state = c == '\r' ? SIZE_LF : EXTENSION;
        return true;
    case SIZE_LF:
        k->state = k->left ? DATA : TRAILER;
        k->digits = 0;
        return c == '\n';
    case DATA_CR:
        k->state = DATA_LF;
        return c == '\r';
    case DATA_LF:
        k->state = SIZE;
        return c == '\n';
    case TRAILER: /* digits: length of the line */
        if (c == '\r')
            k->state = TRAILER_LF;
        else
            k->digits++;
        return true;
    default:
        k->done = k->digits == 0;
        k->digits = 0;
        k->state = TRAILER;
        return c == '\n';
    }
}

int reply_dechunk(struct reply_chunks *k, const char *bytes, size_t count, struct str *to,
                  struct err *err)
{
    for (size_t i = 0; i < count && !k->done; i++) {
        if (k->state == DATA) {
            size_t here = count - i < k->left ? count - i : k->left;

            str_add_bytes(to, bytes + i, here);
            k->left -= here;
            i += here - 1;
            if (k->left == 0)
                k->state = DATA_CR;
        } else if (!take_frame_byte(k, bytes[i])) {
            return err_set(err, ERR_FORMAT, "the answer's chunks are malformed");
        }
    }
    return 0;
}
