/* http_answer.c - see http_answer.h */
#include "base/http_answer.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum stage {
    STAGE_STATUS,
    STAGE_HEADERS,
    STAGE_BODY,       /* `left` bytes, or to the end of the connection */
    STAGE_CHUNK_SIZE, /* chunked from here on */
    STAGE_CHUNK,
    STAGE_CHUNK_END,
    STAGE_TRAILERS,
    STAGE_DONE,
};

void http_answer_begin(struct http_answer *answer, size_t max_bytes)
{
    answer->stage = STAGE_STATUS;
    answer->chunked = answer->has_length = answer->bad = false;
    answer->left = 0;
    answer->budget = max_bytes;
    answer->length = 0;
}

/* Only digits of the base; false when there is none or it is absurd. */
static bool read_size(const char *text, int base, size_t *size)
{
    char *end;
    unsigned long long value;

    if (!isxdigit((unsigned char)*text))
        return false;
    value = strtoull(text, &end, base);
    if (end == text || value > ((uint64_t)1 << 40))
        return false;
    *size = (size_t)value;
    return true;
}

static void begin_body(struct http_answer *answer)
{
    if (answer->chunked)
        answer->stage = STAGE_CHUNK_SIZE;
    else if (answer->has_length && answer->left == 0)
        answer->stage = STAGE_DONE;
    else
        answer->stage = STAGE_BODY;
}

static void take_header(struct http_answer *answer)
{
    const char *value = strchr(answer->line, ':');
    size_t name;

    if (answer->length == 0) {
        begin_body(answer);
        return;
    }
    if (!value)
        return;
    name = (size_t)(value - answer->line);
    for (value++; *value == ' ' || *value == '\t';)
        value++;
    if (name == 14 && !strncasecmp(answer->line, "Content-Length", 14)) {
        answer->has_length = read_size(value, 10, &answer->left);
        answer->bad |= !answer->has_length;
    } else if (name == 17 && !strncasecmp(answer->line, "Transfer-Encoding", 17)) {
        answer->chunked = !strncasecmp(value, "chunked", 7);
    }
}

static void take_line(struct http_answer *answer)
{
    switch ((enum stage)answer->stage) {
    case STAGE_STATUS:
        answer->bad |= strncmp(answer->line, "HTTP/1.", 7) || answer->length < 12 ||
                       answer->line[9] != '2';
        answer->stage = STAGE_HEADERS;
        break;
    case STAGE_HEADERS:
        take_header(answer);
        break;
    case STAGE_CHUNK_SIZE:
        answer->bad |= !read_size(answer->line, 16, &answer->left);
        answer->stage = answer->left > 0 ? STAGE_CHUNK : STAGE_TRAILERS;
        break;
    case STAGE_CHUNK_END:
        answer->bad |= answer->length > 0;
        answer->stage = STAGE_CHUNK_SIZE;
        break;
    case STAGE_TRAILERS:
        if (answer->length == 0)
            answer->stage = STAGE_DONE;
        break;
    case STAGE_BODY:
    case STAGE_CHUNK:
    case STAGE_DONE:
        break;
    }
}

static void take_line_byte(struct http_answer *answer, char c)
{
    if (c != '\n') {
        if (answer->length + 1 < sizeof(answer->line))
            answer->line[answer->length++] = c;
        return;
    }
    if (answer->length > 0 && answer->line[answer->length - 1] == '\r')
        answer->length--;
    answer->line[answer->length] = '\0';
    take_line(answer);
    answer->length = 0;
}

static size_t take_body(struct http_answer *answer, const char *bytes, size_t count)
{
    bool bounded = answer->stage == STAGE_CHUNK || answer->has_length;

    if (bounded && count > answer->left)
        count = answer->left;
    if (answer->body)
        answer->body(answer->ctx, bytes, count);
    if (bounded) {
        answer->left -= count;
        if (answer->left == 0)
            answer->stage = answer->stage == STAGE_CHUNK ? STAGE_CHUNK_END : STAGE_DONE;
    }
    return count;
}

enum http_answer_state http_answer_feed(struct http_answer *answer, const char *bytes,
                                        size_t count)
{
    if (count > answer->budget)
        return HTTP_ANSWER_BAD;
    answer->budget -= count;
    while (count > 0 && !answer->bad && answer->stage != STAGE_DONE) {
        size_t taken = 1;

        if (answer->stage == STAGE_BODY || answer->stage == STAGE_CHUNK)
            taken = take_body(answer, bytes, count);
        else
            take_line_byte(answer, *bytes);
        bytes += taken;
        count -= taken;
    }
    if (answer->bad)
        return HTTP_ANSWER_BAD;
    return answer->stage == STAGE_DONE ? HTTP_ANSWER_DONE : HTTP_ANSWER_MORE;
}

enum http_answer_state http_answer_eof(struct http_answer *answer)
{
    bool open_end = answer->stage == STAGE_BODY && !answer->has_length;

    return !answer->bad && (open_end || answer->stage == STAGE_DONE) ? HTTP_ANSWER_DONE
                                                                     : HTTP_ANSWER_BAD;
}
