/* http_answer.h - an HTTP/1.x answer as it arrives: status, headers, the body's bytes
 *
 * Only what a scrape needs: a 2xx status, and a body that ends by its length, by chunks
 * or with the connection. */
#ifndef CORGI_BASE_HTTP_ANSWER_H
#define CORGI_BASE_HTTP_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#define HTTP_ANSWER_MAX_LINE 1024 /* of a header; what is longer is cut */

enum http_answer_state { HTTP_ANSWER_MORE, HTTP_ANSWER_DONE, HTTP_ANSWER_BAD };

struct http_answer {
    void (*body)(void *ctx, const char *bytes, size_t count); /* NULL: not wanted */
    void *ctx;
    int stage; /* status line, headers, body, chunk size, chunk, its end, trailers */
    bool chunked, has_length, bad;
    size_t left;   /* of the body or of this chunk */
    size_t budget; /* bytes that may still come */
    size_t length; /* of the line so far */
    char line[HTTP_ANSWER_MAX_LINE];
};

/* body and ctx stay as they are. */
void http_answer_begin(struct http_answer *answer, size_t max_bytes);
enum http_answer_state http_answer_feed(struct http_answer *answer, const char *bytes,
                                        size_t count);
enum http_answer_state http_answer_eof(struct http_answer *answer);

#endif
