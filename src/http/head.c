/* head.c - conn.c gives it the bytes of a request's head, request.c the segments of its
 * path and its query; it does no I/O */
#include "http/head.h"

#include "base/str.h"

#include <string.h>
#include <strings.h>

/* ---- methods and statuses ---------------------------------------------------------- */

const char *const http_method_names[HTTP_METHOD_COUNT] = {
    [HTTP_GET] = "GET",         [HTTP_HEAD] = "HEAD",   [HTTP_POST] = "POST",
    [HTTP_PUT] = "PUT",         [HTTP_PATCH] = "PATCH", [HTTP_DELETE] = "DELETE",
    [HTTP_OPTIONS] = "OPTIONS",
};

const char *http_status_name(int status)
{
    static const struct {
        int status;
        const char *name;
    } known[] = {
        {100, "Continue"},
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {411, "Length Required"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {422, "Unprocessable Content"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].status == status)
            return known[i].name;
    return "Status";
}

/* ---- the request line and the headers ---------------------------------------------- */

#define MAX_LENGTH_DIGITS 15 /* of a Content-Length: a petabyte */

struct head_reading {
    struct head *head;
    int *status;
    struct err *err;
};

/* Given at most once: two of them and nobody knows which one counts. */
static const char *const single[] = {"host",          "content-length",
                                     "content-type",  "transfer-encoding",
                                     "authorization", "expect",
                                     "last-event-id", "idempotency-key",
                                     "range",         NULL};

static int refuse(const struct head_reading *r, int status, const char *why)
{
    *r->status = status;
    return err_set(r->err, status == 431 ? ERR_LIMIT : ERR_FORMAT, "%s", why);
}

static bool is_token(const char *text, size_t length)
{
    static const char marks[] = "!#$%&'*+-.^_`|~";

    for (size_t i = 0; i < length; i++) {
        char c = text[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              (c >= '0' && c <= '9') || (c && strchr(marks, c))))
            return false;
    }
    return length > 0;
}

/* "GET http://host/path" is as good as "GET /path" with that Host. */
static char *without_authority(char *target)
{
    char *slash;

    if (strncasecmp(target, "http://", 7) != 0)
        return target;
    slash = strchr(target + 7, '/');
    return slash ? slash : target;
}

static int read_target(const struct head_reading *r, char *target)
{
    for (const char *c = target; *c; c++)
        if (*c <= ' ' || *c >= 0x7f || strchr("\"<>\\^`{|}#", *c))
            return refuse(r, 400, "the path contains a character that must be encoded");
    target = without_authority(target);
    if (*target != '/' && !(r->head->method == HTTP_OPTIONS && !strcmp(target, "*")))
        return refuse(r, 400, "the path does not begin with '/'");
    r->head->path = target;
    r->head->query = strchr(target, '?');
    if (r->head->query)
        *r->head->query++ = '\0';
    return 0;
}

static int read_version(const struct head_reading *r, const char *version)
{
    if (!strcmp(version, "HTTP/1.1")) {
        r->head->keep_alive = true;
        return 0;
    }
    if (!strcmp(version, "HTTP/1.0")) {
        r->head->http_1_0 = true;
        return 0;
    }
    if (strncmp(version, "HTTP/", 5) != 0)
        return refuse(r, 400, "the request line does not end in HTTP/1.1");
    return refuse(r, 505, "only HTTP/1.1 and HTTP/1.0 are spoken here");
}

static int read_method(const struct head_reading *r, const char *name)
{
    for (int m = 0; m < HTTP_METHOD_COUNT; m++) {
        if (!strcmp(http_method_names[m], name)) {
            r->head->method = (enum http_method)m;
            return 0;
        }
    }
    return refuse(r, 501, "the method is not known");
}

static int read_request_line(const struct head_reading *r, char *line)
{
    char *target = strchr(line, ' ');
    char *version = target ? strchr(target + 1, ' ') : NULL;

    if (!version)
        return refuse(r, 400, "the request line is not METHOD PATH HTTP/1.1");
    *target++ = *version++ = '\0';
    if (!is_token(line, strlen(line)))
        return refuse(r, 400, "the request line is not METHOD PATH HTTP/1.1");
    if (read_version(r, version) < 0 || read_method(r, line) < 0)
        return -1;
    return read_target(r, target);
}

static int read_field(const struct head_reading *r, char *line)
{
    struct head *head = r->head;
    char *colon = strchr(line, ':');
    char *value, *end;

    if (*line == ' ' || *line == '\t')
        return refuse(r, 400, "a header is folded");
    if (!colon || !is_token(line, (size_t)(colon - line)))
        return refuse(r, 400, "a header is not NAME: VALUE");
    *colon = '\0';
    value = colon + 1 + strspn(colon + 1, " \t");
    end = value + strlen(value);
    while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
        *--end = '\0';
    for (const char *c = value; *c; c++)
        if (((unsigned char)*c < 0x20 && *c != '\t') || *c == 0x7f)
            return refuse(r, 400, "a header contains a control character");
    for (int i = 0; single[i]; i++)
        if (!strcasecmp(single[i], line) && head_field(head, line))
            return refuse(r, 400, "a header that may come once comes twice");
    if (head->field_count == HEAD_MAX_FIELDS)
        return refuse(r, 431, "there are too many headers");
    head->fields[head->field_count++] = (struct head_field){line, value};
    return 0;
}

static int read_length(const struct head_reading *r)
{
    const char *length = head_field(r->head, "content-length");
    const char *coding = head_field(r->head, "transfer-encoding");

    if (length && coding)
        return refuse(r, 400, "Content-Length and Transfer-Encoding exclude each other");
    if (coding)
        return refuse(r, r->head->http_1_0 ? 400 : 411,
                      "send the body with a Content-Length, not with Transfer-Encoding");
    if (!length)
        return 0;
    if (!*length || strspn(length, "0123456789") != strlen(length))
        return refuse(r, 400, "Content-Length is not a number");
    if (strlen(length) > MAX_LENGTH_DIGITS)
        return refuse(r, 413, "the body is too large");
    r->head->has_length = true;
    for (; *length; length++)
        r->head->length = r->head->length * 10 + (size_t)(*length - '0');
    return 0;
}

static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);

    while (list && *list) {
        list += strspn(list, ", \t");
        if (!strncasecmp(list, word, length) &&
            (!list[length] || strchr(", \t", list[length])))
            return true;
        list += strcspn(list, ",");
    }
    return false;
}

static int read_meaning(const struct head_reading *r)
{
    struct head *head = r->head;
    const char *host = head_field(head, "host");
    const char *expect = head_field(head, "expect");
    const char *connection = head_field(head, "connection");

    if (!host && !head->http_1_0)
        return refuse(r, 400, "the header Host is missing");
    if (host && strpbrk(host, " \t/@?#\\,"))
        return refuse(r, 400, "the header Host is not a host");
    if (expect && strcasecmp(expect, "100-continue") != 0)
        return refuse(r, 417, "nothing but 100-continue can be expected");
    head->expects_continue = expect && !head->http_1_0;
    if (has_word(connection, "close"))
        head->keep_alive = false;
    else if (head->http_1_0)
        head->keep_alive = has_word(connection, "keep-alive");
    return read_length(r);
}

int head_parse(struct head *head, char *text, size_t length, int *status, struct err *err)
{
    const struct head_reading r = {.head = head, .status = status, .err = err};
    char *line = text, *end = text + length;
    bool first = true;

    memset(head, 0, sizeof(*head));
    if (memchr(text, '\0', length))
        return refuse(&r, 400, "the head contains a NUL");
    while (line < end) {
        char *stop = strstr(line, "\r\n");
        char *bare = strpbrk(line, "\r\n");

        if (!stop)
            return refuse(&r, 400, "the head is cut short");
        if (bare != stop)
            return refuse(&r, 400, "a line does not end in CR LF");
        *stop = '\0';
        if (!*line && !first)
            return read_meaning(&r);
        if ((first ? read_request_line(&r, line) : read_field(&r, line)) < 0)
            return -1;
        first = false;
        line = stop + 2;
    }
    return refuse(&r, 400, "the head is cut short");
}

const char *head_field(const struct head *head, const char *name)
{
    for (size_t i = 0; i < head->field_count; i++)
        if (!strcasecmp(head->fields[i].name, name))
            return head->fields[i].value;
    return NULL;
}

/* ---- paths and queries ------------------------------------------------------------- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static bool is_text(const char *text)
{
    while (*text) {
        size_t length = str_utf8_length(text);

        if (length == 0 || (unsigned char)*text < 0x20 || *text == 0x7f)
            return false;
        text += length;
    }
    return true;
}

bool uri_decode(char *text)
{
    char *to = text;

    for (const char *from = text; *from; from++) {
        if (*from == '%') {
            int high = hex_digit(from[1]);
            int low = high < 0 ? -1 : hex_digit(from[2]);

            if (low < 0 || (high == 0 && low == 0))
                return false;
            *to++ = (char)(high << 4 | low);
            from += 2;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
    return is_text(text);
}

static int take_pair(struct uri_query *query, char *text, struct err *err)
{
    char *equals = strchr(text, '=');
    char *value = equals ? equals + 1 : text + strlen(text);

    for (char *c = text; *c; c++)
        if (*c == '+')
            *c = ' ';
    if (equals)
        *equals = '\0';
    if (!uri_decode(text) || !uri_decode(value) || !*text)
        return err_set(err, ERR_INVALID, "the query is not properly encoded");
    if (uri_query_get(query, text))
        return err_set(err, ERR_INVALID, "'%.60s' is given twice", text);
    if (query->count == URI_MAX_PAIRS)
        return err_set(err, ERR_LIMIT, "the query has more than %d parameters",
                       URI_MAX_PAIRS);
    query->pairs[query->count++] = (struct uri_pair){text, value};
    return 0;
}

int uri_query_parse(struct uri_query *query, char *text, struct err *err)
{
    char *next;

    query->count = 0;
    for (; text; text = next) {
        next = strchr(text, '&');
        if (next)
            *next++ = '\0';
        if (*text && take_pair(query, text, err) < 0)
            return -1;
    }
    return 0;
}

const char *uri_query_get(const struct uri_query *query, const char *name)
{
    for (size_t i = 0; i < query->count; i++)
        if (!strcmp(query->pairs[i].name, name))
            return query->pairs[i].value;
    return NULL;
}
