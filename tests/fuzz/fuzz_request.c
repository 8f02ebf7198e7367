/* fuzz_request.c - whatever is taken as a request is well-formed to its last byte */
#include "fuzz/fuzz.h"

#include "base/mem.h"
#include "http/api.h"
#include "http/head.h"

#include <stdlib.h>
#include <string.h>

#define ROUTE(op, ...) {API_ROUTE(op, __VA_ARGS__)},

static const struct route routes[] = {API_ROUTES(ROUTE){0}};

/* Decoded text has no control characters. */
static void check_text(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            abort();
}

static void check_path(const struct head *head)
{
    char *path = mem_strdup(head->path);
    struct route_match match;

    if (route_find(routes, head->method, path, &match)) {
        if (match.route && !(match.allow & 1u << match.route->method))
            abort();
        for (int i = 0; i < match.param_count; i++) {
            check_text(match.values[i]);
            if (!*match.values[i])
                abort();
        }
    }
    free(path);
}

static void check_query(const struct head *head)
{
    char *text = head->query ? mem_strdup(head->query) : NULL;
    struct uri_query query;
    struct err err = {0};

    if (uri_query_parse(&query, text, &err) == 0) {
        for (size_t i = 0; i < query.count; i++) {
            check_text(query.pairs[i].name);
            check_text(query.pairs[i].value);
        }
    }
    free(text);
}

/* What follows the head as the body of each schema. */
static void check_body(const char *bytes, size_t count)
{
    struct json_doc *doc = NULL;
    char field[SCHEMA_PATH_SIZE];
    struct err err = {0};

    if (json_doc_parse(&doc, bytes, count, "body", &err) < 0)
        return;
    for (const struct route *r = routes; r->operation; r++) {
        err = (struct err){0};
        if (r->body && schema_check(r->body, json_doc_root(doc), field, &err) < 0 &&
            !*err.text)
            abort();
    }
    json_doc_destroy(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *blank = memmem(data, size, "\r\n\r\n", 4);
    size_t end = blank ? (size_t)(blank - data) + 4 : 0;
    struct head head;
    struct err err = {0};
    int status = 0;
    char *text;

    if (end == 0)
        return 0;
    text = mem_array(char, end + 1);
    memcpy(text, data, end);
    if (head_parse(&head, text, end, &status, &err) < 0) {
        if (status < 400 || status > 599 || !*err.text)
            abort();
    } else {
        if (*head.path != '/' && strcmp(head.path, "*") != 0)
            abort();
        if (!head.http_1_0 && !head_field(&head, "host"))
            abort();
        check_path(&head);
        check_query(&head);
        check_body((const char *)data + end, size - end);
    }
    free(text);
    return 0;
}
